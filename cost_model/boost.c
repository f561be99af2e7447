/* SPDX-License-Identifier: MIT */
#include "cost_model/boost.h"

#include "cost_model/grow.h"
#include "cost_model/loss.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PATIENT 1e-4 /* least share by which the loss of held-back rows has to fall to count as a gain */

struct booster {
    struct gbdt_options options;
    const struct loss *loss;
    const struct coded_data *data;
    struct packed packed;
    struct grower *grower;
    struct rng rng;
    size_t n;
    float *weights;    /* [n], mean 1; NULL when all are 1 */
    float *scores;     /* [n] of the forest being grown */
    float *gradients;  /* [n] */
    float *curvatures; /* [n], NULL when they are the weights */
    uint32_t *rows;    /* [n], a permutation: those to learn from, then those held back */
    uint32_t *sample;  /* [n] rows to learn from, a permutation */
    size_t n_learn;
    uint32_t *columns; /* [n_columns], a permutation */
    bool *use;         /* [n_columns] */
    double *gains;     /* [n_columns] */
};

void booster_free(struct booster *b)
{
    if (!b)
        return;
    grower_free(b->grower);
    packed_fini(&b->packed);
    free(b->weights);
    free(b->scores);
    free(b->gradients);
    free(b->curvatures);
    free(b->rows);
    free(b->sample);
    free(b->columns);
    free(b->use);
    free(b->gains);
    free(b);
}

static void identity(uint32_t *indices, size_t n)
{
    for (size_t i = 0; i < n; i++)
        indices[i] = (uint32_t)i;
}

/* Brings a uniform sample without replacement to the front; returns its size, at least 1 of n >= 1. */
static size_t choose(struct rng *rng, uint32_t *indices, size_t n, double share)
{
    size_t n_chosen = (size_t)ceil(share * (double)n - 1e-9);

    assert(n >= 1);
    n_chosen = n_chosen < 1 ? 1 : n_chosen > n ? n : n_chosen;
    for (size_t i = 0; n_chosen < n && i < n_chosen; i++) {
        const size_t j = i + (size_t)rng_below(rng, n - i);
        const uint32_t index = indices[i];

        indices[i] = indices[j];
        indices[j] = index;
    }
    return n_chosen;
}

static void copy_weights(struct booster *b)
{
    double sum = 0;

    for (size_t i = 0; i < b->n; i++)
        sum += (double)b->data->weights[i];
    for (size_t i = 0; i < b->n; i++)
        b->weights[i] = (float)((double)b->data->weights[i] * (double)b->n / sum);
}

static bool make_room(struct booster *b, size_t n_columns)
{
    const size_t n = b->n;

    b->weights = b->data->weights ? malloc(n * sizeof(*b->weights)) : NULL;
    b->scores = malloc(n * sizeof(*b->scores));
    b->gradients = calloc(n, sizeof(*b->gradients));
    b->curvatures = b->loss->is_flat ? NULL : calloc(n, sizeof(*b->curvatures));
    b->rows = malloc(n * sizeof(*b->rows));
    b->sample = malloc(n * sizeof(*b->sample));
    b->columns = malloc((n_columns + 1) * sizeof(*b->columns));
    b->use = calloc(n_columns + 1, sizeof(*b->use));
    b->gains = calloc(n_columns + 1, sizeof(*b->gains));
    return (b->weights || !b->data->weights) && b->scores && b->gradients && (b->curvatures || b->loss->is_flat) &&
           b->rows && b->sample && b->columns && b->use && b->gains;
}

static struct grow_options grow_options_of(const struct gbdt_options *o)
{
    return (struct grow_options){.max_depth = o->max_depth,
                                 .max_leaves = o->max_leaves > 0 ? o->max_leaves : TREE_MAX_LEAVES,
                                 .leaf_wise = o->max_leaves > 0,
                                 .l2 = o->l2,
                                 .min_child = o->min_child,
                                 .min_gain = o->min_gain,
                                 .rate = o->rate};
}

enum err booster_new(struct booster **out, const struct gbdt_options *options, uint64_t seed,
                     const struct coded_data *data)
{
    const struct bins *bins = &data->table->cuts->bins;
    const struct grow_options grow = grow_options_of(options);
    struct booster *b = calloc(1, sizeof(*b));
    enum err e = ERR_NOMEM;

    if (!b)
        return e;
    b->options = *options;
    b->loss = loss_table[options->loss];
    b->data = data;
    b->n = data->n;
    rng_init(&b->rng, seed);
    if (make_room(b, bins->n_columns))
        e = packed_init(&b->packed, data->table, data->rows, data->n);
    if (e == ERR_OK)
        e = grower_new(&b->grower, &b->packed, bins, &grow);
    if (e) {
        booster_free(b);
        return e;
    }
    if (data->weights)
        copy_weights(b);
    identity(b->rows, b->n);
    identity(b->columns, bins->n_columns);
    b->n_learn = b->n;
    if (options->patience > 0 && options->held_back > 0 && b->n > 1)
        b->n_learn = choose(&b->rng, b->rows, b->n, 1 - options->held_back);
    assert(b->n_learn >= 1 && b->n_learn <= b->n);
    *out = b;
    return ERR_OK;
}

static double known_of(const struct booster *b, size_t i)
{
    return b->data->offsets ? (double)b->data->offsets[i] : 0;
}

double booster_base(const struct booster *b)
{
    double sum = 0, sum_weights = 0;

    if (!b->loss->has_base)
        return 0;
    for (size_t i = 0; i < b->n; i++) {
        const double weight = b->weights ? (double)b->weights[i] : 1.0;

        sum += weight * ((double)b->data->targets[i] - known_of(b, i));
        sum_weights += weight;
    }
    return sum / sum_weights;
}

/* Adds the answers of an earlier forest, block by block. */
static enum err add_earlier(struct booster *b, const struct gbdt_fit *earlier, size_t i_forest)
{
    const struct forest *f = &earlier->forest;
    const size_t first = earlier->first[i_forest], n_trees = earlier->first[i_forest + 1] - first;
    const size_t n_columns = b->data->table->cuts->bins.n_columns;
    uint8_t *columns = calloc(n_columns + 1, BINS_BLOCK);
    int8_t *planes = calloc(f->n_planes + 1, BINS_BLOCK);
    enum err e = columns && planes ? ERR_OK : ERR_NOMEM;

    for (size_t i = 0; e == ERR_OK && i < b->n; i += BINS_BLOCK) {
        const size_t n = b->n - i < BINS_BLOCK ? b->n - i : BINS_BLOCK;
        float sums[BINS_BLOCK] = {0};

        for (size_t j = 0; j < n; j++) {
            const size_t row = b->data->rows ? b->data->rows[i + j] : i + j;
            const uint8_t *codes = coded_block(b->data->table, row / BINS_BLOCK) + row % BINS_BLOCK;

            for (size_t k = 0; k < n_columns; k++)
                columns[k * BINS_BLOCK + j] = codes[k * BINS_BLOCK];
        }
        forest_planes(f, columns, planes);
        f->path->add(f, first, n_trees, planes, 1, sums);
        for (size_t j = 0; j < n; j++)
            b->scores[i + j] += sums[j];
    }
    free(columns);
    free(planes);
    return e;
}

enum err booster_start(struct booster *b, double base, const struct gbdt_fit *earlier, size_t i_forest)
{
    for (size_t i = 0; i < b->n; i++)
        b->scores[i] = (float)(base + known_of(b, i));
    memcpy(b->sample, b->rows, b->n_learn * sizeof(*b->sample));
    return earlier ? add_earlier(b, earlier, i_forest) : ERR_OK;
}

/* Brings the mean curvature to 1, so that options in units of a row mean the same for every loss. */
static void level(struct booster *b)
{
    double sum = 0, scale;

    for (size_t i = 0; i < b->n_learn; i++)
        sum += (double)b->curvatures[b->rows[i]];
    scale = sum > 0 ? (double)b->n_learn / sum : 1;
    for (size_t i = 0; i < b->n; i++) {
        b->curvatures[i] = (float)((double)b->curvatures[i] * scale);
        b->gradients[i] = (float)((double)b->gradients[i] * scale);
    }
}

static enum err grow_one(struct booster *b, struct tree *out)
{
    const size_t n_columns = b->data->table->cuts->bins.n_columns;
    const bool all_columns = b->options.column_share >= 1 || n_columns == 0;
    const struct loss_rows learn = {b->data->targets, b->weights, b->rows, b->n_learn};
    struct grow_round round = {.gradients = b->gradients,
                               .weights = b->curvatures ? b->curvatures : b->weights,
                               .n_rows = b->n_learn,
                               .use = all_columns ? NULL : b->use};
    const enum err e = b->loss->slopes(&learn, b->scores, &b->rng, b->gradients, b->curvatures);

    if (e)
        return e;
    if (b->curvatures)
        level(b);
    if (b->options.row_share < 1)
        round.n_rows = choose(&b->rng, b->sample, b->n_learn, b->options.row_share);
    assert(round.n_rows >= 1 && round.n_rows <= b->n_learn);
    round.rows = round.n_rows < b->n ? b->sample : NULL;
    if (!all_columns) {
        const size_t n_used = choose(&b->rng, b->columns, n_columns, b->options.column_share);

        for (size_t i = 0; i < n_columns; i++)
            b->use[b->columns[i]] = i < n_used;
    }
    return grower_grow(b->grower, &round, b->scores, b->gains, out);
}

/* When the loss of the rows held back was least. */
struct best_round {
    double loss;
    size_t n_trees;
};

/* Looks at the rows held back; true when there was no gain for too long. */
static enum err look(struct booster *b, size_t n_trees, struct best_round *best, bool *is_over)
{
    const struct loss_rows held = {b->data->targets, b->weights, b->rows + b->n_learn, b->n - b->n_learn};
    double loss;
    const enum err e = b->loss->value(&held, b->scores, &loss);

    if (e)
        return e;
    assert(n_trees > best->n_trees && b->n_learn < b->n);
    if (best->n_trees == 0 || loss < best->loss - PATIENT * fabs(best->loss))
        *best = (struct best_round){loss, n_trees};
    *is_over = n_trees - best->n_trees >= b->options.patience;
    return ERR_OK;
}

enum err booster_run(struct booster *b, size_t n_trees, struct tree *out, size_t *n_grown)
{
    struct best_round best = {0};
    bool is_over = false;
    enum err e = ERR_OK;

    *n_grown = 0;
    while (e == ERR_OK && !is_over && *n_grown < n_trees) {
        e = grow_one(b, &out[*n_grown]);
        if (e)
            break;
        ++*n_grown;
        if (b->n_learn < b->n)
            e = look(b, *n_grown, &best, &is_over);
    }
    while (e == ERR_OK && b->n_learn<b->n && * n_grown> best.n_trees)
        tree_fini(&out[--*n_grown]);
    assert(*n_grown <= n_trees && (e || *n_grown >= 1));
    return e;
}

void booster_add_gains(const struct booster *b, double *gains)
{
    const struct bins *bins = &b->data->table->cuts->bins;

    for (size_t i = 0; i < bins->n_columns; i++)
        gains[bins->columns[i].i_feature] += b->gains[i];
}
