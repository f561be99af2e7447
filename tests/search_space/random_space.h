/* SPDX-License-Identifier: MIT */
/* random_space.h - small random spaces for tests: numbers (also 0, negative, broken), words, constants, quantities, and
 * constraints of every operator, with divisions by zero and words in wrong places among them. */
#ifndef TUNE_TESTS_SEARCH_SPACE_RANDOM_SPACE_H
#define TUNE_TESTS_SEARCH_SPACE_RANDOM_SPACE_H

#include "search_space/space.h"

/* A sealed space of `n_knobs` knobs (2 to 8) with at most `max_values` values each and a constraint or more; the same
 * for the same state of `rng`. */
struct space *random_space(struct rng *rng, size_t n_knobs, size_t max_values);

#endif
