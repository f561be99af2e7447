/* SPDX-License-Identifier: MIT */
#include "cost_model/boost.h"

#include "core/err.h"
#include "cost_model/grow.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct booster {
    struct gbdt_options options;
    const struct coded_data *data;
    struct packed packed;
    struct grower *grower;
    struct rng rng;
    size_t n;
    float *weights;    /* [n], mean 1; NULL when all are 1 */
    float *scores;     /* [n] of the forest being grown */
    float *gradients;  /* [n] */
    uint32_t *sample;  /* [n] rows, a permutation */
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
    b->sample = malloc(n * sizeof(*b->sample));
    b->columns = malloc((n_columns + 1) * sizeof(*b->columns));
    b->use = calloc(n_columns + 1, sizeof(*b->use));
    b->gains = calloc(n_columns + 1, sizeof(*b->gains));
    return (b->weights || !b->data->weights) && b->scores && b->gradients && b->sample && b->columns && b->use &&
           b->gains;
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
    identity(b->columns, bins->n_columns);
    *out = b;
    return ERR_OK;
}

double booster_base(const struct booster *b)
{
    double sum = 0, sum_weights = 0;

    for (size_t i = 0; i < b->n; i++) {
        const double weight = b->weights ? (double)b->weights[i] : 1.0;

        sum += weight * (double)b->data->targets[i];
        sum_weights += weight;
    }
    return sum / sum_weights;
}

void booster_start(struct booster *b, double base)
{
    for (size_t i = 0; i < b->n; i++)
        b->scores[i] = (float)base;
    identity(b->sample, b->n);
}

/* What the scores lack, by weight: minus the first derivative of the squared error; the second one is the weight. */
static void find_gradients(struct booster *b)
{
    for (size_t i = 0; i < b->n; i++) {
        b->gradients[i] = b->data->targets[i] - b->scores[i];
        if (b->weights)
            b->gradients[i] *= b->weights[i];
    }
}

static enum err grow_one(struct booster *b, struct tree *out)
{
    const size_t n_columns = b->data->table->cuts->bins.n_columns;
    const bool all_columns = b->options.column_share >= 1 || n_columns == 0;
    struct grow_round round = {
        .gradients = b->gradients, .weights = b->weights, .n_rows = b->n, .use = all_columns ? NULL : b->use};

    find_gradients(b);
    if (b->options.row_share < 1)
        round.n_rows = choose(&b->rng, b->sample, b->n, b->options.row_share);
    assert(round.n_rows >= 1 && round.n_rows <= b->n);
    round.rows = round.n_rows < b->n ? b->sample : NULL;
    if (!all_columns) {
        const size_t n_used = choose(&b->rng, b->columns, n_columns, b->options.column_share);

        for (size_t i = 0; i < n_columns; i++)
            b->use[b->columns[i]] = i < n_used;
    }
    return grower_grow(b->grower, &round, b->scores, b->gains, out);
}

enum err booster_run(struct booster *b, size_t n_trees, struct tree *out, size_t *n_grown)
{
    enum err e = ERR_OK;

    for (*n_grown = 0; e == ERR_OK && *n_grown < n_trees; *n_grown += e == ERR_OK)
        e = grow_one(b, &out[*n_grown]);
    return e;
}

void booster_add_gains(const struct booster *b, double *gains)
{
    const struct bins *bins = &b->data->table->cuts->bins;

    for (size_t i = 0; i < bins->n_columns; i++)
        gains[bins->columns[i].i_feature] += b->gains[i];
}
