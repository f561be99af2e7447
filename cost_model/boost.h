/* SPDX-License-Identifier: MIT */
/* boost.h - rounds of boosting on the rows of a coded table: gradients of the loss, a tree, its answers, and again. */
#ifndef TUNE_COST_MODEL_BOOST_H
#define TUNE_COST_MODEL_BOOST_H

#include "cost_model/gbdt_model.h"

struct booster;

/* Borrows the data as long as it lives. ERR_NOMEM. */
enum err booster_new(struct booster **out, const struct gbdt_options *options, uint64_t seed,
                     const struct coded_data *data);
void booster_free(struct booster *b);

/* The score to begin with: the mean of what is to be learnt, by weight; 0 for losses that only rank. */
double booster_base(const struct booster *b);

/* Begins a forest: scores are base + offset + the answers of forest i_forest of `earlier` (NULL: none). ERR_NOMEM. */
enum err booster_start(struct booster *b, double base, const struct gbdt_fit *earlier, size_t i_forest);

/* Grows up to n_trees into out[n_trees] and gives their number; fewer when the loss of held-back rows stops falling:
 * then those of the best round, at least one. On errors *n_grown trees are there all the same. ERR_NOMEM. */
enum err booster_run(struct booster *b, size_t n_trees, struct tree *out, size_t *n_grown);

/* Adds the loss reductions of all trees so far by feature. */
void booster_add_gains(const struct booster *b, double *gains);

#endif
