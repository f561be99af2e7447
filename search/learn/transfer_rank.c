/* SPDX-License-Identifier: MIT */
/* transfer_rank.c - orders of configs: the first picks, and one ranking out of several. */
#include "search/learn/transfer.h"
#include "search/learn/transfer_private.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define SLACK 8     /* added to ranks, so that the very first places do not decide alone */
#define TOLD_FEW 32 /* measurements up to which the sources' own order counts fully, and from which on models do */
#define WITHOUT 2   /* a model without sources counts for the two that it stands in for */

/* Configs in the order of a weighted sum of sources, as numbers into order[n]. */
static void order_by(const struct transfer *t, const float *shares, size_t n, const double *weights,
                     struct ranked *order)
{
    for (size_t i = 0; i < n; i++) {
        double value = 0;

        for (size_t k = 0; k < t->n_sources; k++)
            value += weights[k] * (double)shares[i * t->n_sources + k];
        order[i] = (struct ranked){value, i};
    }
    transfer_sort(order, n);
}

/* Is value i behind value j in ascending order, ties by place? */
static bool is_behind(const double *values, size_t i, size_t j)
{
    return i > j ? values[i] >= values[j] : values[i] > values[j];
}

size_t transfer_best_of(const struct transfer *t, size_t i_source, size_t n, double *knobs)
{
    const struct transfer_source *s = &t->sources[i_source];
    size_t n_out = 0, last = SIZE_MAX;

    while (n_out < n) {
        size_t best = SIZE_MAX;

        for (size_t i = 0; i < s->n_groups; i++) {
            const bool later = last == SIZE_MAX || is_behind(s->values, i, last);

            if (later && (best == SIZE_MAX ? !isnan(s->values[i]) : s->values[i] < s->values[best]))
                best = i;
        }
        if (best == SIZE_MAX)
            break;
        for (size_t j = 0; j < t->n_knobs; j++)
            knobs[n_out * t->n_knobs + j] = (double)NAN;
        for (size_t j = 0; j < s->n_shared; j++)
            knobs[n_out * t->n_knobs + s->shared[j]] = s->keys[best * s->n_shared + j];
        assert(last == SIZE_MAX || is_behind(s->values, best, last)); /* ascending, each once */
        last = best;
        n_out++;
    }
    return n_out;
}

static bool is_among(const size_t *picks, size_t n_picks, size_t i)
{
    for (size_t j = 0; j < n_picks; j++) {
        if (picks[j] == i)
            return true;
    }
    return false;
}

/* Turn 0 belongs to all sources, the others to one each. */
static const double *turn_weights(const struct transfer *t, size_t i_turn, double *weights)
{
    for (size_t k = 0; k < t->n_sources; k++)
        weights[k] = i_turn == 0 || i_turn == k + 1 ? 1 : 0;
    return weights;
}

enum err transfer_first(const struct transfer *t, const float *columns, size_t n, size_t *picks, size_t n_picks,
                        size_t *n_out)
{
    const size_t n_orders = t->n_sources > 1 ? t->n_sources + 1 : t->n_sources;
    float *shares = malloc(n * t->n_sources * sizeof(*shares) + 1);
    struct ranked *orders = malloc(n_orders * n * sizeof(*orders) + 1);
    size_t next[TRANSFER_MAX_SOURCES + 1] = {0}, n_picked = 0;
    double weights[TRANSFER_MAX_SOURCES];
    const enum err e = shares && orders ? ERR_OK : ERR_NOMEM;

    if (e == ERR_OK)
        transfer_shares(t, columns, n, shares);
    for (size_t k = 0; e == ERR_OK && k < n_orders; k++)
        order_by(t, shares, n, turn_weights(t, k, weights), orders + k * n);
    for (size_t k = 0; e == ERR_OK && k < n_orders && n_picked < n_picks && n_picked < n;
         k = k + 1 < n_orders ? k + 1 : 0) {
        while (next[k] < n && is_among(picks, n_picked, orders[k * n + next[k]].i))
            next[k]++;
        if (next[k] < n)
            picks[n_picked++] = orders[k * n + next[k]].i;
    }
    assert(n_picked <= n_picks && n_picked <= n);
    if (e == ERR_OK)
        *n_out = n_picked;
    free(shares);
    free(orders);
    return e;
}

/* Adds weight * ln(rank + SLACK) to scores[n]; `order` has the values and is sorted. */
static void add_ranks(struct ranked *order, size_t n, double weight, double *scores)
{
    transfer_sort(order, n);
    for (size_t i = 0; i < n; i++)
        scores[order[i].i] += weight * log((double)i + SLACK);
}

static void add_floats(const float *values, size_t n, double weight, struct ranked *order, double *scores)
{
    for (size_t i = 0; i < n; i++)
        order[i] = (struct ranked){isfinite(values[i]) ? (double)values[i] : (double)INFINITY, i};
    add_ranks(order, n, weight, scores);
}

/* The sources' own order, each by its trust. */
static enum err add_sources(const struct transfer *t, const float *columns, size_t n, double weight,
                            struct ranked *order, double *scores)
{
    float *shares = malloc(n * t->n_sources * sizeof(*shares) + 1);
    double weights[TRANSFER_MAX_SOURCES];

    if (!shares)
        return ERR_NOMEM;
    for (size_t k = 0; k < t->n_sources; k++)
        weights[k] = transfer_trust(t, k);
    transfer_shares(t, columns, n, shares);
    order_by(t, shares, n, weights, order);
    add_ranks(order, n, weight, scores);
    free(shares);
    return ERR_OK;
}

/* What transfer_predict says. */
static enum err add_process(const struct transfer *t, const double *knobs, const float *columns, size_t n,
                            double weight, struct ranked *order, double *scores)
{
    struct transfer_score *process = malloc(n * sizeof(*process) + 1);
    const enum err e = process ? transfer_predict(t, knobs, columns, n, process) : ERR_NOMEM;

    for (size_t i = 0; e == ERR_OK && i < n; i++)
        order[i] = (struct ranked){process[i].mean, i};
    if (e == ERR_OK)
        add_ranks(order, n, weight, scores);
    free(process);
    return e;
}

enum err transfer_rank(const struct transfer *t, const double *knobs, const float *columns, size_t n, const float *with,
                       const float *without, double *scores)
{
    const double belief = transfer_belief(t), told = (double)t->n_told;
    const double own_order = belief * fmin(1, TOLD_FEW / fmax(told, 1));
    const double models = told / (told + TOLD_FEW), doubt = without ? (1 - belief) * models : 0;
    const double process = (1 - doubt) * fmin(1, GP_MAX_ROWS / fmax(told, 1));
    struct ranked *order = malloc(n * sizeof(*order) + 1);
    enum err e = order ? ERR_OK : ERR_NOMEM;

    assert(belief >= 0 && belief <= 1 && doubt >= 0 && process >= 0);
    for (size_t i = 0; i < n; i++)
        scores[i] = 0;
    if (e == ERR_OK && own_order > 0)
        e = add_sources(t, columns, n, own_order, order, scores);
    if (e == ERR_OK && told > 0)
        e = add_process(t, knobs, columns, n, process, order, scores);
    if (e == ERR_OK && told > 0 && with)
        add_floats(with, n, belief * models, order, scores);
    if (e == ERR_OK && told > 0 && without)
        add_floats(without, n, WITHOUT * doubt, order, scores);
    free(order);
    return e;
}
