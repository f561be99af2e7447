/* SPDX-License-Identifier: MIT */
/* The trees of this project. */
#include "contender.h"

#include "cost_model/gbdt.h"

static struct gbdt_options options_of(const struct shape *shape)
{
    struct gbdt_options o = gbdt_defaults();

    o.n_forests = 1;
    o.n_trees = shape->n_trees;
    o.max_depth = shape->depth;
    o.rate = shape->rate;
    o.row_share = o.column_share = 1;
    return o;
}

static bool open(const char *path)
{
    (void)path;
    return true;
}

static void *train(const struct table *t, const struct shape *shape)
{
    const struct gbdt_options o = options_of(shape);
    struct model *m = NULL;

    if (gbdt_new(&m, 1, &o))
        return NULL;
    if (gbdt_ops.fit(m, &(struct model_data){t->rows, t->targets, NULL, t->n, t->n_features})) {
        gbdt_ops.fini(m);
        return NULL;
    }
    return m;
}

static bool predict(void *model, const struct table *t, size_t first, size_t n, float *scores)
{
    return gbdt_ops.predict(model, t->rows + first * t->n_features, n, scores, NULL) == ERR_OK;
}

static void drop(void *model)
{
    gbdt_ops.fini(model);
}

const struct contender ours = {"ours", open, train, predict, drop};
