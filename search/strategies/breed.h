/* SPDX-License-Identifier: MIT */
/* breed.h - new configs from old ones; they need not be valid. */
#ifndef TUNE_SEARCH_STRATEGIES_BREED_H
#define TUNE_SEARCH_STRATEGIES_BREED_H

#include "core/rng.h"
#include "search_space/space.h"

#include <stddef.h>

/* Each knob from either parent; then each turns, with probability 1 / number of knobs that can, to another value: half
 * the time the next one in its list, else any. */
void breed(const struct space *space, struct rng *rng, const struct config *mother, const struct config *father,
           struct config *child);

/* Turns one knob, drawn among those that can, to another value in the same way. */
void breed_turn(const struct space *space, struct rng *rng, struct config *c);

/* Number of knobs with more than one value. */
size_t breed_n_turning(const struct space *space);

#endif
