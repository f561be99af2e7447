/* SPDX-License-Identifier: MIT */
/* gbdt_parts.h - a fit put together from parts that came from outside; what does not make a tree or ascending cuts is
 * refused. For readers of model files. */
#ifndef TUNE_COST_MODEL_GBDT_PARTS_H
#define TUNE_COST_MODEL_GBDT_PARTS_H

#include "core/err.h"
#include "core/json.h"
#include "cost_model/gbdt_model.h"

#include <stddef.h>

struct gbdt_parts {
    struct coded_cuts *cuts;
    struct tree *trees;
    size_t n_trees, n_room;
    size_t *first; /* [n_forests + 1] */
    size_t i_forest, n_forests, n_features;
    double base;
    double *gains; /* [n_features], 0 */
};

enum err gbdt_parts_init(struct gbdt_parts *p, size_t n_features, size_t n_forests, struct why *why);
void gbdt_parts_fini(struct gbdt_parts *p);

/* Makes room for n columns, then fills each: its cuts are copied. */
enum err gbdt_parts_columns(struct gbdt_parts *p, size_t n, struct why *why);
enum err gbdt_parts_column(struct gbdt_parts *p, size_t i, size_t i_feature, const double *cuts, size_t n_cuts,
                           struct why *why);

/* Copies a tree to the end of the present forest. */
enum err gbdt_parts_tree(struct gbdt_parts *p, const struct tree *t, struct why *why);
void gbdt_parts_end_forest(struct gbdt_parts *p);

/* Moves all into the model, whose old fit is dropped. */
enum err gbdt_parts_take(struct gbdt_parts *p, struct model *m, struct why *why);

#endif
