/* SPDX-License-Identifier: MIT */
/* transfer_recorded.h - transfers between spaces: the target's knobs are a space's, sources are recorded spaces. */
#ifndef TUNE_SEARCH_LEARN_TRANSFER_RECORDED_H
#define TUNE_SEARCH_LEARN_TRANSFER_RECORDED_H

#include "core/err.h"
#include "search_space/recorded.h"
#include "search/learn/transfer.h"

#include <stdint.h>

/* A config's row of knobs in the space's order, [space_n_knobs]; words as transfer_word. */
void transfer_knobs_of(const struct space *space, const struct config *c, double *row);

/* As transfer_new with the knobs of a sealed space. */
enum err transfer_new_for(struct transfer **out, const struct space *space, uint64_t seed);

/* As transfer_add_source with all rows of a recording; its name is the label. */
enum err transfer_add_recorded(struct transfer *t, const struct recorded *r, struct why *why);

#endif
