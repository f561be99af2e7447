/* SPDX-License-Identifier: MIT */
/* scorer.h - a cost model of the table in the place of the Gaussian process: for more measurements than that takes, or
 * because it was asked for. */
#ifndef TUNE_SEARCH_STRATEGIES_SCORER_H
#define TUNE_SEARCH_STRATEGIES_SCORER_H

#include "core/err.h"
#include "cost_model/model.h"
#include "search/learn/features.h"
#include "search/strategies/pool.h"

#include <stdint.h>

struct scorer {
    const struct model_ops *ops;
    struct features features;
    uint64_t seed;
};

/* Keeps `space`. */
void scorer_init(struct scorer *s, const struct space *space, const struct model_ops *ops, uint64_t seed);
void scorer_fini(struct scorer *s);

/* Fits the model to the history (n_ok >= 1) and says of each config of the pool how good it may be: gain[n], higher =
 * better to measure next. ERR_NOMEM. */
enum err scorer_gain(const struct scorer *s, const struct history *h, const struct pool *p, double *gain);

#endif
