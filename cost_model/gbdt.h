/* SPDX-License-Identifier: MIT */
/* gbdt.h - gradient-boosted regression trees; several forests, each on its own sample of the rows: their mean is the
 * score, their standard deviation the spread. (Friedman 2001, 2002; Chen and Guestrin 2016.) */
#ifndef TUNE_COST_MODEL_GBDT_H
#define TUNE_COST_MODEL_GBDT_H

#include "cost_model/coded.h"
#include "cost_model/model.h"

#define GBDT_MAX_TREES 65536u /* of all forests of a model */

/* What the trees minimise; the two rankings give scores whose order alone has a meaning, and they take an infinite
 * target as a row that failed and comes last. */
enum gbdt_loss {
    GBDT_SQUARED,
    GBDT_PAIRWISE,
    GBDT_LISTWISE,
};

struct gbdt_options {
    size_t n_forests, n_trees; /* trees in each forest, at most */
    size_t max_depth;          /* 1 to 8; leaf by leaf also more, or 0: no limit */
    double rate;               /* shrinkage of each tree; (0, 1] */
    double row_share;          /* of the rows for each tree, without replacement; (0, 1] */
    double column_share;       /* of the columns for each tree; (0, 1] */
    double l2, min_child;      /* in units of one row's mean weight; min_child > 0 */
    size_t max_leaves;         /* 0: depth by depth; 2 to 256: always the leaf that gains most, up to so many */
    double min_gain;           /* least loss reduction of a split; >= 0 */
    enum gbdt_loss loss;
    double held_back; /* share of the rows that no tree is grown on, to judge when to stop; [0, 1) */
    size_t patience;  /* a forest ends after so many trees without gain on them, and keeps its best; 0: never */
    size_t n_threads; /* of predictions; used only where there is much to do. 0 counts as 1 */
};

extern const struct model_ops gbdt_ops;

/* What gbdt_ops.init takes. */
struct gbdt_options gbdt_defaults(void);

/* As gbdt_ops.init, with other options; ERR_INPUT for those outside their range. */
enum err gbdt_new(struct model **out, uint64_t seed, const struct gbdt_options *options);

/* Continued training: keeps the trees and adds up to n_more to each forest, on what these leave of other or more rows.
 * The table must share the cuts of the fit (coded_like, or the same). The old fit stays on failure. ERR_INPUT without a
 * fit, and as gbdt_fit_coded. */
enum err gbdt_continue_coded(struct model *m, const struct coded_data *data, size_t n_more);

/* The same for floats, which are coded by the cuts of the fit. */
enum err gbdt_continue(struct model *m, const struct model_data *data, size_t n_more);

/* Changes options.n_threads. */
void gbdt_set_threads(struct model *m, size_t n_threads);

size_t gbdt_n_trees(const struct model *m); /* of all forests; 0 without a fit */

#endif
