/* SPDX-License-Identifier: MIT */
/* prior.h - what is likely before anything is measured, from facts about parallel machines and from the structure of a
 * space, never from names: sizes that are powers of two divide problems and memory evenly, and some 64 to 256
 * work-items in a work-group suit most devices. Doubts only, no constraints: what is measured overrules them. */
#ifndef TUNE_SEARCH_STRATEGIES_PRIOR_H
#define TUNE_SEARCH_STRATEGIES_PRIOR_H

#include "core/err.h"
#include "search_space/bounds.h"
#include "search_space/space.h"

#include <stddef.h>

struct prior {
    const struct space *space;
    size_t sizes[SPACE_MAX_KNOBS], n_sizes; /* knobs of more than two values, all whole numbers */
    struct bounds *items;                   /* products bounded as a work-group is */
};

/* Keeps `space`. ERR_NOMEM. */
enum err prior_init(struct prior *p, const struct space *space);
void prior_fini(struct prior *p);

/* How much speaks against a config: one for each size that is no power of two (0 is none either way), one for a
 * work-group outside 64 to 256. */
double prior_doubts(const struct prior *p, const struct config *c);

#endif
