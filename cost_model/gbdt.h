/* gbdt.h - gradient-boosted regression trees on squared error; several forests, each on its own sample of the rows:
 * their mean is the score, their standard deviation the spread. (Friedman 2001, 2002; histograms as in LightGBM.) */
#ifndef TUNE_COST_MODEL_GBDT_H
#define TUNE_COST_MODEL_GBDT_H

#include "cost_model/model.h"

struct gbdt_options {
    size_t n_forests, n_trees; /* trees in each forest */
    size_t max_depth;          /* 1 to 7 */
    double rate;               /* shrinkage of each tree */
    double row_share;          /* of the rows for each tree, without replacement; (0, 1] */
    double column_share;       /* of the columns for each tree; (0, 1] */
    double l2, min_child;      /* in units of one row's mean weight; min_child > 0 */
};

extern const struct model_ops gbdt_ops;

/* What gbdt_ops.init takes. */
struct gbdt_options gbdt_defaults(void);

/* As gbdt_ops.init, with other options; ERR_INPUT for those outside their range. */
enum err gbdt_new(struct model **out, uint64_t seed, const struct gbdt_options *options);

#endif
