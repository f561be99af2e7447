/* SPDX-License-Identifier: MIT */
#include "cost_model/gbdt.h"

#include "core/err.h"
#include "cost_model/boost.h"
#include "cost_model/data.h"
#include "cost_model/gbdt_model.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct gbdt_options gbdt_defaults(void)
{
    return (struct gbdt_options){.n_forests = 4,
                                 .n_trees = 100,
                                 .max_depth = 6,
                                 .rate = 0.08,
                                 .row_share = 0.7,
                                 .column_share = 1,
                                 .l2 = 1,
                                 .min_child = 1,
                                 .min_gain = 1e-12};
}

static bool in_range(double value, double above, double most)
{
    return value > above && value <= most;
}

static bool are_valid(const struct gbdt_options *o)
{
    if (o->n_forests == 0 || o->n_trees == 0 || !in_range(o->rate, 0, 1) || !in_range(o->row_share, 0, 1) ||
        !in_range(o->column_share, 0, 1) || !(o->l2 >= 0) || !isfinite(o->l2) || !(o->min_child > 0) ||
        !isfinite(o->min_child) || !(o->min_gain >= 0))
        return false;
    if (o->n_forests > GBDT_MAX_TREES || o->n_trees > GBDT_MAX_TREES / o->n_forests)
        return false;
    if (o->max_leaves == 0)
        return o->max_depth >= 1 && o->max_depth <= TREE_MAX_DEPTH;
    return o->max_leaves >= 2 && o->max_leaves <= TREE_MAX_LEAVES;
}

enum err gbdt_new(struct model **out, uint64_t seed, const struct gbdt_options *options)
{
    struct model *m;

    if (!are_valid(options))
        return ERR_INPUT;
    m = calloc(1, sizeof(*m));
    if (!m)
        return ERR_NOMEM;
    m->options = *options;
    m->seed = seed;
    *out = m;
    return ERR_OK;
}

static enum err init(struct model **out, uint64_t seed)
{
    const struct gbdt_options options = gbdt_defaults();

    return gbdt_new(out, seed, &options);
}

void gbdt_fit_fini(struct gbdt_fit *f, size_t n_forests)
{
    for (size_t i = 0; f->trees && f->first && i < f->first[n_forests]; i++)
        tree_fini(&f->trees[i]);
    free(f->trees);
    free(f->first);
    free(f->gains);
    forest_fini(&f->forest);
    coded_cuts_drop(f->cuts);
    *f = (struct gbdt_fit){0};
}

enum err gbdt_fit_finish(struct gbdt_fit *f, size_t n_forests)
{
    return forest_init(&f->forest, f->trees, f->first[n_forests]);
}

/* Rows, targets and weights that can be learnt from. */
static enum err check(const struct coded_data *data)
{
    double sum = 0;

    if (data->n == 0)
        return ERR_INPUT;
    if (data->n > MODEL_MAX_ROWS)
        return ERR_LIMIT;
    for (size_t i = 0; i < data->n; i++) {
        const double weight = data->weights ? (double)data->weights[i] : 1.0;

        if ((data->rows ? data->rows[i] : i) >= data->table->n || !isfinite(data->targets[i]))
            return ERR_INPUT;
        if (!isfinite(weight) || weight < 0)
            return ERR_INPUT;
        sum += weight;
    }
    return sum > 0 && isfinite(sum) ? ERR_OK : ERR_INPUT;
}

/* Fits every forest anew. */
static enum err boost_all(const struct model *m, struct booster *b, struct gbdt_fit *f)
{
    const size_t n_forests = m->options.n_forests, n_trees = m->options.n_trees;
    enum err e = ERR_OK;

    for (size_t i = 0; e == ERR_OK && i < n_forests; i++) {
        size_t n_grown = 0;

        booster_start(b, f->base);
        e = booster_run(b, n_trees, f->trees + f->first[i], &n_grown);
        f->first[n_forests] = f->first[i + 1] = f->first[i] + n_grown;
    }
    return e;
}

enum err gbdt_fit_coded(struct model *m, const struct coded_data *data)
{
    const size_t n_forests = m->options.n_forests;
    struct gbdt_fit f = {.base = 0};
    struct booster *b = NULL;
    enum err e = check(data);

    if (e)
        return e;
    f.cuts = coded_cuts_keep(data->table->cuts);
    f.trees = calloc(n_forests * m->options.n_trees, sizeof(*f.trees));
    f.first = calloc(n_forests + 1, sizeof(*f.first));
    f.gains = calloc(f.cuts->bins.n_features, sizeof(*f.gains));
    e = f.trees && f.first && f.gains ? booster_new(&b, &m->options, m->seed, data) : ERR_NOMEM;
    if (e == ERR_OK) {
        f.base = booster_base(b);
        e = boost_all(m, b, &f);
        booster_add_gains(b, f.gains);
    }
    if (e == ERR_OK)
        e = gbdt_fit_finish(&f, n_forests);
    booster_free(b);
    if (e) {
        gbdt_fit_fini(&f, n_forests);
        return e;
    }
    gbdt_fit_fini(&m->fit, n_forests);
    m->fit = f;
    return ERR_OK;
}

static enum err fit(struct model *m, const struct model_data *data)
{
    struct coded *table;
    enum err e = coded_new(&table, data->rows, data->n, data->n_features);

    if (e)
        return e;
    e = gbdt_fit_coded(
        m, &(struct coded_data){.table = table, .targets = data->targets, .weights = data->weights, .n = data->n});
    coded_free(table);
    return e;
}

static enum err importance(const struct model *m, float *out)
{
    const struct gbdt_fit *f = &m->fit;
    double sum = 0;

    if (!f->cuts)
        return ERR_INPUT;
    for (size_t i = 0; i < f->cuts->bins.n_features; i++)
        sum += f->gains[i];
    for (size_t i = 0; i < f->cuts->bins.n_features; i++)
        out[i] = sum > 0 ? (float)(f->gains[i] / sum) : 0;
    return ERR_OK;
}

static void fini(struct model *m)
{
    if (!m)
        return;
    gbdt_fit_fini(&m->fit, m->options.n_forests);
    free(m);
}

const struct model_ops gbdt_ops = {
    "gbdt",       "gradient-boosted regression trees, mean and spread of several forests",
    init,         fit,
    gbdt_predict, importance,
    fini};
