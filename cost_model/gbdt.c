#include "cost_model/gbdt.h"

#include "cost_model/coded_table.h"
#include "cost_model/data.h"
#include "cost_model/tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct fit {
    struct coded_cuts *cuts; /* kept */
    struct tree *trees;      /* forest by forest */
    size_t n_trees;
    double base;
    float *importance; /* [n_features] */
};

struct model {
    struct gbdt_options options;
    uint64_t seed;
    struct fit fit;
};

struct gbdt_options gbdt_defaults(void)
{
    return (struct gbdt_options){.n_forests = 4,
                                 .n_trees = 100,
                                 .max_depth = 6,
                                 .rate = 0.08,
                                 .row_share = 0.7,
                                 .column_share = 1,
                                 .l2 = 1,
                                 .min_child = 1};
}

enum err gbdt_new(struct model **out, uint64_t seed, const struct gbdt_options *options)
{
    const struct gbdt_options *o = options;
    struct model *m;

    if (o->n_forests == 0 || o->n_trees == 0 || o->max_depth == 0 || o->max_depth > TREE_MAX_DEPTH ||
        !(o->rate > 0 && o->rate <= 1) || !(o->row_share > 0 && o->row_share <= 1) ||
        !(o->column_share > 0 && o->column_share <= 1) || !(o->l2 >= 0) || !(o->min_child > 0))
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

static void fit_fini(struct fit *f)
{
    for (size_t i = 0; i < f->n_trees; i++)
        tree_fini(&f->trees[i]);
    free(f->trees);
    free(f->importance);
    coded_cuts_drop(f->cuts);
    *f = (struct fit){0};
}

/* What one fit works with. */
struct work {
    uint8_t *codes;    /* [n_columns][n] */
    float *residuals;  /* [n], of the forest being grown */
    float *weights;    /* [n], mean 1; NULL when the data has none */
    uint32_t *rows;    /* [n], a permutation; the tree takes its first ones */
    bool *use;         /* [n_columns] */
    double *gains;     /* [n_columns] */
    uint32_t *columns; /* [n_columns], a permutation */
    struct tree_grower *grower;
    struct rng rng;
};

static void work_fini(struct work *w)
{
    free(w->codes);
    free(w->residuals);
    free(w->weights);
    free(w->rows);
    free(w->use);
    free(w->gains);
    free(w->columns);
    tree_grower_free(w->grower);
}

static void identity(uint32_t *indices, size_t n)
{
    for (size_t i = 0; i < n; i++)
        indices[i] = (uint32_t)i;
}

static void copy_weights(const struct coded_data *data, float *weights)
{
    double sum = 0;

    for (size_t i = 0; i < data->n; i++)
        sum += (double)data->weights[i];
    for (size_t i = 0; i < data->n; i++)
        weights[i] = (float)((double)data->weights[i] * (double)data->n / sum);
}

static enum err work_init(struct work *w, const struct model *m, const struct coded_data *data)
{
    const struct gbdt_options *o = &m->options;
    const struct tree_options tree = {o->max_depth, o->l2, o->min_child, 1e-12, o->rate};
    const size_t n_columns = data->table->cuts->bins.n_columns;

    w->codes = malloc(n_columns * data->n + 1);
    w->residuals = malloc(data->n * sizeof(*w->residuals));
    w->weights = data->weights ? malloc(data->n * sizeof(*w->weights)) : NULL;
    w->rows = malloc(data->n * sizeof(*w->rows));
    w->use = calloc(n_columns + 1, sizeof(*w->use));
    w->gains = calloc(n_columns + 1, sizeof(*w->gains));
    w->columns = malloc((n_columns + 1) * sizeof(*w->columns));
    if (!w->codes || !w->residuals || (data->weights && !w->weights) || !w->rows || !w->use || !w->gains || !w->columns)
        return ERR_NOMEM;
    for (size_t i = 0; i < n_columns; i++)
        coded_column(data->table, i, data->rows, data->n, w->codes + i * data->n);
    if (data->weights)
        copy_weights(data, w->weights);
    identity(w->rows, data->n);
    identity(w->columns, n_columns);
    rng_init(&w->rng, m->seed);
    return tree_grower_new(&w->grower, &(struct tree_data){w->codes, w->residuals, w->weights, data->n, n_columns},
                           &tree);
}

/* Brings a uniform sample without replacement to the front; returns its size, at least 1. */
static size_t choose(struct rng *rng, uint32_t *indices, size_t n, double share)
{
    size_t n_chosen = (size_t)ceil(share * (double)n - 1e-9);

    n_chosen = n_chosen < 1 ? 1 : n_chosen > n ? n : n_chosen;
    for (size_t i = 0; n_chosen < n && i < n_chosen; i++) {
        const size_t j = i + (size_t)rng_below(rng, n - i);
        const uint32_t index = indices[i];

        indices[i] = indices[j];
        indices[j] = index;
    }
    return n_chosen;
}

static enum err grow_tree(struct work *w, const struct gbdt_options *o, const struct bins *bins, size_t n,
                          struct tree *out)
{
    const size_t n_rows = choose(&w->rng, w->rows, n, o->row_share);
    size_t n_used = 0;
    enum err e;

    if (bins->n_columns > 0)
        n_used = choose(&w->rng, w->columns, bins->n_columns, o->column_share);
    for (size_t i = 0; i < bins->n_columns; i++)
        w->use[w->columns[i]] = i < n_used;
    e = tree_grow(w->grower, w->rows, n_rows, w->use, w->gains, out);
    for (size_t i = 0; e == ERR_OK && i < n; i++)
        w->residuals[i] -= tree_at(out, w->codes, n, i);
    return e;
}

static double known_of(const struct coded_data *data, size_t i)
{
    return data->offsets ? (double)data->offsets[i] : 0;
}

static enum err grow_forest(struct work *w, const struct model *m, const struct coded_data *data, struct fit *f)
{
    for (size_t i = 0; i < data->n; i++)
        w->residuals[i] = (float)((double)data->targets[i] - known_of(data, i) - f->base);
    for (size_t i = 0; i < m->options.n_trees; i++) {
        const enum err e = grow_tree(w, &m->options, &f->cuts->bins, data->n, &f->trees[f->n_trees]);

        if (e)
            return e;
        f->n_trees++;
    }
    return ERR_OK;
}

static enum err keep_importance(const struct work *w, struct fit *f)
{
    const struct bins *bins = &f->cuts->bins;
    double sum = 0;

    f->importance = calloc(bins->n_features, sizeof(*f->importance));
    if (!f->importance)
        return ERR_NOMEM;
    for (size_t i = 0; i < bins->n_columns; i++)
        sum += w->gains[i];
    for (size_t i = 0; sum > 0 && i < bins->n_columns; i++)
        f->importance[bins->columns[i].i_feature] = (float)(w->gains[i] / sum);
    return ERR_OK;
}

/* The mean, by weight, of what is left to learn. */
static double mean_left(const struct coded_data *data)
{
    double sum = 0, sum_weights = 0;

    for (size_t i = 0; i < data->n; i++) {
        const double weight = data->weights ? (double)data->weights[i] : 1.0;

        sum += weight * ((double)data->targets[i] - known_of(data, i));
        sum_weights += weight;
    }
    return sum / sum_weights;
}

static enum err check(const struct coded_data *data)
{
    for (size_t i = 0; i < data->n; i++) {
        if ((data->rows ? data->rows[i] : i) >= data->table->n)
            return ERR_INPUT;
        if (data->offsets && !isfinite(data->offsets[i]))
            return ERR_INPUT;
    }
    return model_data_check(
        &(struct model_data){NULL, data->targets, data->weights, data->n, data->table->cuts->bins.n_features});
}

enum err gbdt_fit_coded(struct model *m, const struct coded_data *data)
{
    struct fit f = {0};
    struct work w = {0};
    enum err e = check(data);

    if (e)
        return e;
    e = work_init(&w, m, data);
    f.cuts = coded_cuts_keep(data->table->cuts);
    f.base = mean_left(data);
    f.trees = calloc(m->options.n_forests * m->options.n_trees, sizeof(*f.trees));
    if (!f.trees)
        e = ERR_NOMEM;
    for (size_t i = 0; e == ERR_OK && i < m->options.n_forests; i++)
        e = grow_forest(&w, m, data, &f);
    if (e == ERR_OK)
        e = keep_importance(&w, &f);
    work_fini(&w);
    if (e) {
        fit_fini(&f);
        return e;
    }
    fit_fini(&m->fit);
    m->fit = f;
    return ERR_OK;
}

static enum err fit(struct model *m, const struct model_data *data)
{
    struct coded *table;
    enum err e = model_data_check(data);

    if (e == ERR_OK)
        e = coded_new(&table, data->rows, data->n, data->n_features);
    if (e)
        return e;
    e = gbdt_fit_coded(
        m, &(struct coded_data){.table = table, .targets = data->targets, .weights = data->weights, .n = data->n});
    coded_free(table);
    return e;
}

/* Mean and standard deviation over forests for n <= BINS_BLOCK rows. */
static void predict_block(const struct model *m, const uint8_t *codes, struct tree_scratch *scratch, size_t n,
                          float *scores, float *spread)
{
    const size_t n_forests = m->options.n_forests, n_trees = m->options.n_trees;
    double sum[BINS_BLOCK] = {0}, squares[BINS_BLOCK] = {0};

    for (size_t i = 0; i < n_forests; i++) {
        float answers[BINS_BLOCK] = {0};

        for (size_t j = 0; j < n_trees; j++)
            tree_add_block(&m->fit.trees[i * n_trees + j], codes, scratch, answers);
        for (size_t j = 0; j < n; j++) {
            sum[j] += (double)answers[j];
            squares[j] += (double)answers[j] * (double)answers[j];
        }
    }
    for (size_t j = 0; j < n; j++) {
        const double mean = sum[j] / (double)n_forests, variance = squares[j] / (double)n_forests - mean * mean;

        scores[j] = (float)(m->fit.base + mean);
        if (spread)
            spread[j] = variance > 0 ? (float)sqrt(variance) : 0;
    }
}

static enum err predict(const struct model *m, const float *rows, size_t n, float *scores, float *spread)
{
    struct tree_scratch scratch;
    const struct bins *bins;
    uint8_t *codes;

    if (m->fit.n_trees == 0)
        return ERR_INPUT;
    bins = &m->fit.cuts->bins;
    codes = malloc((bins->n_columns + 1) * BINS_BLOCK);
    if (!codes)
        return ERR_NOMEM;
    tree_scratch_init(&scratch);
    for (size_t i = 0; i < n; i += BINS_BLOCK) {
        const size_t n_block = n - i < BINS_BLOCK ? n - i : BINS_BLOCK;

        bins_code_block(bins, rows + i * bins->n_features, n_block, codes);
        predict_block(m, codes, &scratch, n_block, scores + i, spread ? spread + i : NULL);
    }
    free(codes);
    return ERR_OK;
}

static enum err check_table(const struct model *m, const struct coded *table)
{
    return m->fit.n_trees > 0 && m->fit.cuts == table->cuts ? ERR_OK : ERR_INPUT;
}

enum err gbdt_predict_coded(const struct model *m, const struct coded *table, size_t first, size_t n, float *scores,
                            float *spread)
{
    struct tree_scratch scratch;
    enum err e = check_table(m, table);

    if (e || first > table->n || n > table->n - first)
        return ERR_INPUT;
    tree_scratch_init(&scratch);
    for (size_t i = first; i < first + n;) {
        const size_t skip = i % BINS_BLOCK, left = first + n - i;
        const size_t n_block = left < BINS_BLOCK - skip ? left : BINS_BLOCK - skip;
        float block[2][BINS_BLOCK];

        predict_block(m, coded_block(table, i / BINS_BLOCK), &scratch, BINS_BLOCK, block[0], spread ? block[1] : NULL);
        memcpy(scores + i - first, block[0] + skip, n_block * sizeof(*scores));
        if (spread)
            memcpy(spread + i - first, block[1] + skip, n_block * sizeof(*spread));
        i += n_block;
    }
    return ERR_OK;
}

enum err gbdt_predict_listed(const struct model *m, const struct coded *table, const uint32_t *rows, size_t n,
                             float *scores, float *spread)
{
    struct tree_scratch scratch;
    uint8_t *codes;
    enum err e = check_table(m, table);

    for (size_t i = 0; i < n; i++)
        if (rows[i] >= table->n)
            return ERR_INPUT;
    if (e)
        return e;
    codes = calloc(table->cuts->bins.n_columns + 1, BINS_BLOCK);
    if (!codes)
        return ERR_NOMEM;
    tree_scratch_init(&scratch);
    for (size_t i = 0; i < n; i += BINS_BLOCK) {
        const size_t n_block = n - i < BINS_BLOCK ? n - i : BINS_BLOCK;

        for (size_t j = 0; j < table->cuts->bins.n_columns; j++)
            coded_column(table, j, rows + i, n_block, codes + j * BINS_BLOCK);
        predict_block(m, codes, &scratch, n_block, scores + i, spread ? spread + i : NULL);
    }
    free(codes);
    return ERR_OK;
}

static enum err importance(const struct model *m, float *out)
{
    if (m->fit.n_trees == 0)
        return ERR_INPUT;
    memcpy(out, m->fit.importance, m->fit.cuts->bins.n_features * sizeof(*out));
    return ERR_OK;
}

static void fini(struct model *m)
{
    if (!m)
        return;
    fit_fini(&m->fit);
    free(m);
}

const struct model_ops gbdt_ops = {
    "gbdt", "gradient-boosted regression trees, mean and spread of several forests", init, fit, predict, importance,
    fini};
