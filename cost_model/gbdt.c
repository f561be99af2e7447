/* SPDX-License-Identifier: MIT */
#include "cost_model/gbdt.h"

#include "cost_model/boost.h"
#include "cost_model/data.h"
#include "cost_model/gbdt_model.h"
#include "cost_model/loss.h"

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
                                 .min_gain = 1e-12,
                                 .n_threads = 1};
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
    if (!(o->held_back >= 0 && o->held_back < 1) || (unsigned)o->loss > GBDT_LISTWISE)
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

/* Targets, weights and offsets that a loss can work with. */
static enum err check(const struct model *m, const struct coded_data *data)
{
    const bool takes_failed = loss_table[m->options.loss]->takes_failed;
    double sum = 0;

    if (data->n == 0)
        return ERR_INPUT;
    if (data->n > MODEL_MAX_ROWS)
        return ERR_LIMIT;
    for (size_t i = 0; i < data->n; i++) {
        const double weight = data->weights ? (double)data->weights[i] : 1.0;

        if ((data->rows ? data->rows[i] : i) >= data->table->n || (data->offsets && !isfinite(data->offsets[i])))
            return ERR_INPUT;
        if (!isfinite(data->targets[i]) && !(takes_failed && data->targets[i] > 0))
            return ERR_INPUT;
        if (!isfinite(weight) || weight < 0)
            return ERR_INPUT;
        sum += weight;
    }
    return sum > 0 && isfinite(sum) ? ERR_OK : ERR_INPUT;
}

static enum err copy_tree(const struct tree *t, struct tree *out)
{
    struct tree copy = {malloc((t->n_nodes + 1) * sizeof(*t->nodes)), malloc(t->n_leaves * sizeof(*t->leaves)),
                        t->n_nodes, t->n_leaves};

    if (!copy.nodes || !copy.leaves) {
        tree_fini(&copy);
        return ERR_NOMEM;
    }
    memcpy(copy.nodes, t->nodes, t->n_nodes * sizeof(*t->nodes));
    memcpy(copy.leaves, t->leaves, t->n_leaves * sizeof(*t->leaves));
    *out = copy;
    return ERR_OK;
}

/* Copies the trees of one forest of the old fit behind those of the new one. */
static enum err keep_trees(const struct model *m, size_t i_forest, struct gbdt_fit *f)
{
    const struct gbdt_fit *old = &m->fit;
    enum err e = ERR_OK;

    assert(old->cuts == f->cuts && i_forest < m->options.n_forests);
    for (size_t i = old->first[i_forest]; e == ERR_OK && i < old->first[i_forest + 1]; i++) {
        e = copy_tree(&old->trees[i], &f->trees[f->first[i_forest + 1]]);
        f->first[i_forest + 1] += e == ERR_OK;
        f->first[m->options.n_forests] = f->first[i_forest + 1];
    }
    return e;
}

/* Fits n_trees more to each forest, behind those of the old fit when `keep`. */
static enum err boost_all(const struct model *m, struct booster *b, size_t n_trees, bool keep, struct gbdt_fit *f)
{
    const size_t n_forests = m->options.n_forests;
    enum err e = ERR_OK;

    for (size_t i = 0; e == ERR_OK && i < n_forests; i++) {
        size_t n_grown = 0;

        f->first[i + 1] = f->first[i];
        if (keep)
            e = keep_trees(m, i, f);
        if (e)
            break;
        e = booster_start(b, f->base, keep ? &m->fit : NULL, i);
        if (e == ERR_OK)
            e = booster_run(b, n_trees, f->trees + f->first[i + 1], &n_grown);
        f->first[i + 1] += n_grown;
        f->first[n_forests] = f->first[i + 1];
    }
    return e;
}

static enum err new_fit(struct model *m, const struct coded_data *data, size_t n_trees, bool keep)
{
    const size_t n_forests = m->options.n_forests, n_old = keep ? m->fit.first[n_forests] : 0;
    struct gbdt_fit f = {.cuts = coded_cuts_keep(data->table->cuts)};
    struct booster *b = NULL;
    enum err e = ERR_NOMEM;

    f.trees = calloc(n_old + n_forests * n_trees, sizeof(*f.trees));
    f.first = calloc(n_forests + 1, sizeof(*f.first));
    f.gains = calloc(f.cuts->bins.n_features, sizeof(*f.gains));
    if (f.trees && f.first && f.gains)
        e = booster_new(&b, &m->options, keep ? rng_at(m->seed, n_old) : m->seed, data);
    if (e == ERR_OK) {
        f.base = keep ? m->fit.base : booster_base(b);
        if (keep)
            memcpy(f.gains, m->fit.gains, f.cuts->bins.n_features * sizeof(*f.gains));
        e = boost_all(m, b, n_trees, keep, &f);
        booster_add_gains(b, f.gains);
    }
    assert(e || (f.first[n_forests] > n_old && f.first[n_forests] <= n_old + n_forests * n_trees));
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

enum err gbdt_fit_coded(struct model *m, const struct coded_data *data)
{
    const enum err e = check(m, data);

    return e ? e : new_fit(m, data, m->options.n_trees, false);
}

enum err gbdt_continue_coded(struct model *m, const struct coded_data *data, size_t n_more)
{
    const enum err e = check(m, data);

    if (e)
        return e;
    if (!m->fit.cuts || m->fit.cuts != data->table->cuts || n_more == 0)
        return ERR_INPUT;
    if (n_more > GBDT_MAX_TREES / m->options.n_forests ||
        gbdt_n_trees(m) + n_more * m->options.n_forests > GBDT_MAX_TREES)
        return ERR_LIMIT;
    return new_fit(m, data, n_more, true);
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

enum err gbdt_continue(struct model *m, const struct model_data *data, size_t n_more)
{
    struct coded *table;
    enum err e;

    if (!m->fit.cuts || data->n_features != m->fit.cuts->bins.n_features)
        return ERR_INPUT;
    e = coded_like_cuts(&table, m->fit.cuts, data->rows, data->n);
    if (e)
        return e;
    e = gbdt_continue_coded(
        m, &(struct coded_data){.table = table, .targets = data->targets, .weights = data->weights, .n = data->n},
        n_more);
    coded_free(table);
    return e;
}

void gbdt_set_threads(struct model *m, size_t n_threads)
{
    m->options.n_threads = n_threads;
}

size_t gbdt_n_trees(const struct model *m)
{
    return m->fit.cuts ? m->fit.first[m->options.n_forests] : 0;
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
