/* SPDX-License-Identifier: MIT */
/* boost.h - rounds of boosting on the rows of a coded table: gradients of the squared error, a tree, its answers, and
 * again. */
#ifndef TUNE_COST_MODEL_BOOST_H
#define TUNE_COST_MODEL_BOOST_H

#include "core/err.h"
#include "cost_model/gbdt_model.h"

#include <stddef.h>
#include <stdint.h>

struct booster;

/* Borrows the data as long as it lives. ERR_NOMEM. */
enum err booster_new(struct booster **out, const struct gbdt_options *options, uint64_t seed,
                     const struct coded_data *data);
void booster_free(struct booster *b);

/* The score to begin with: the mean target, by weight. */
double booster_base(const struct booster *b);

/* Begins a forest: all scores are `base`. */
void booster_start(struct booster *b, double base);

/* Grows n_trees into out[n_trees]. On errors *n_grown of them are there all the same. ERR_NOMEM. */
enum err booster_run(struct booster *b, size_t n_trees, struct tree *out, size_t *n_grown);

/* Adds the loss reductions of all trees so far by feature. */
void booster_add_gains(const struct booster *b, double *gains);

#endif
