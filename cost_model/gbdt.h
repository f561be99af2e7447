/* SPDX-License-Identifier: MIT */
/* gbdt.h - gradient-boosted regression trees; several forests, each on its own sample of the rows: their mean is the
 * score, their standard deviation the spread. Squared error. (Friedman 2001, 2002; Chen and Guestrin 2016.) */
#ifndef TUNE_COST_MODEL_GBDT_H
#define TUNE_COST_MODEL_GBDT_H

#include "core/err.h"
#include "cost_model/coded.h"
#include "cost_model/model.h"

#include <stddef.h>
#include <stdint.h>

#define GBDT_MAX_TREES 65536u /* of all forests of a model */

struct gbdt_options {
    size_t n_forests, n_trees; /* trees in each forest */
    size_t max_depth;          /* 1 to 8; leaf by leaf also more, or 0: no limit */
    double rate;               /* shrinkage of each tree; (0, 1] */
    double row_share;          /* of the rows for each tree, without replacement; (0, 1] */
    double column_share;       /* of the columns for each tree; (0, 1] */
    double l2, min_child;      /* in units of one row's mean weight; min_child > 0 */
    size_t max_leaves;         /* 0: depth by depth; 2 to 256: always the leaf that gains most, up to so many */
    double min_gain;           /* least loss reduction of a split; >= 0 */
};

extern const struct model_ops gbdt_ops;

/* What gbdt_ops.init takes. */
struct gbdt_options gbdt_defaults(void);

/* As gbdt_ops.init, with other options; ERR_INPUT for those outside their range. */
enum err gbdt_new(struct model **out, uint64_t seed, const struct gbdt_options *options);

#endif
