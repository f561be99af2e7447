/* SPDX-License-Identifier: MIT */
/* near.h - distances between configs, and the open config nearest to a point: how moves that leave the valid configs
 * come back to them. */
#ifndef TUNE_SEARCH_STRATEGIES_NEAR_H
#define TUNE_SEARCH_STRATEGIES_NEAR_H

#include "core/err.h"
#include "search/strategies/ground.h"

/* Over knobs, for a different value 1/2, and 1/2 of their distance in the list of values as a share of its length (in
 * full for words). */
double near_distance(const struct space *space, const struct config *a, const struct config *b);

/* Moves `c`, in range, to an open config: itself if open; else the nearest that differs in one knob; else the nearest
 * of a listed ground, or of another the nearest of some draws around it. Ties by lot. ERR_NOT_FOUND with `c` as it
 * was: none is left or was met. */
enum err near_open(const struct ground *g, struct rng *rng, struct config *c);

#endif
