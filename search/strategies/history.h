/* SPDX-License-Identifier: MIT */
/* history.h - what a strategy was told: one value per config, failures included. */
#ifndef TUNE_SEARCH_STRATEGIES_HISTORY_H
#define TUNE_SEARCH_STRATEGIES_HISTORY_H

#include "core/err.h"
#include "search/strategies/ground.h"
#include "search/strategy.h"

#include <stddef.h>

struct history {
    struct outcome *items;
    size_t n, cap;
    size_t n_ok;   /* of them with a value */
    double spread; /* see history_spread, as of n_spread values */
    size_t n_spread;
};

void history_init(struct history *h);
void history_fini(struct history *h);

/* Adds outcomes and takes their configs from `ground`. A later value of a config replaces the earlier one, a failure
 * does not. Infinite values count as failed. ERR_INPUT for a config out of the space's range, with nothing added;
 * ERR_NOMEM. */
enum err history_tell(struct history *h, struct ground *ground, const struct outcome *outcomes, size_t n);

/* The number of a config's item; h->n when it was never told. */
size_t history_find(const struct history *h, const struct space *space, const struct config *c);

/* The least value; needs n_ok > 0. */
double history_best(const struct history *h);

/* What separates the median value from the least; 0 with fewer than three values. */
double history_spread(struct history *h);

/* Numbers of the `n` best configs, ascending by value (ties: first told first), into best[n]; returns how many. */
size_t history_top(const struct history *h, size_t n, size_t *best);

#endif
