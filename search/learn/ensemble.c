/* SPDX-License-Identifier: MIT */
#include "search/learn/ensemble_parts.h"

#include "core/err.h"
#include "cost_model/gbdt.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RATE 0.05
#define SHARE 0.8   /* of rows and of columns, for each tree */
#define N_TREES 300 /* in each forest */
#define GP_SHARPNESS 2
#define GP_STEPS 40
#define GP_HALF 256 /* rows at which the Gaussian process counts half as much as all forests; less with more */

/* What the forests are: sharpness s makes the target -(best / time)^s, 0 the logarithm of time; care c weighs a row by
 * (best / time)^c, so that trees are spent where it is fast. */
const struct ensemble_recipe ensemble_recipes[ENSEMBLE_N_FORESTS] = {
    {0, 2, FEATURES_ALL, 64}, {0, 0, FEATURES_SOME, 0}, {1, 0, FEATURES_ALL, 64},
    {1, 0, FEATURES_SOME, 0}, {3, 0, FEATURES_ALL, 64}, {3, 0, FEATURES_SOME, 0},
};

static double least_time(const struct ensemble_data *d)
{
    double least = INFINITY;

    for (size_t i = 0; i < d->n; i++)
        least = fmin(least, d->times[i]); /* of a number and NAN the number */
    return least;
}

/* Fills targets of mean 0 and deviation 1, and weights. */
static void aim(const struct ensemble_data *d, double sharpness, double care, float *targets, float *weights)
{
    const double least = least_time(d);
    double longest = 0, sum = 0, squares = 0, mean, scale;

    for (size_t i = 0; i < d->n; i++)
        longest = fmax(longest, isnan(d->times[i]) ? 0 : d->times[i]);
    for (size_t i = 0; i < d->n; i++) {
        const bool failed = isnan(d->times[i]);
        const double share = failed ? 0 : least / d->times[i];
        const double y = sharpness > 0 ? -pow(share, sharpness) : log(failed ? longest / least : 1 / share);

        targets[i] = (float)y;
        weights[i] = (float)(care > 0 ? pow(share, care) + ENSEMBLE_LEAST_WEIGHT : 1);
        sum += y;
        squares += y * y;
    }
    assert(d->n > 0 && isfinite(sum) && isfinite(squares)); /* times are finite and above 0 */
    mean = sum / (double)d->n;
    scale = sqrt(fmax(squares / (double)d->n - mean * mean, 1e-30));
    for (size_t i = 0; i < d->n; i++)
        targets[i] = (float)(((double)targets[i] - mean) / scale);
}

/* Rows of one set of features, extra ones behind them; free it. NULL: no memory. */
static float *rows_of(const struct ensemble *m, enum features_set set, const double *values, const float *extra,
                      size_t n)
{
    const struct features *f = &m->features[set == FEATURES_ALL];
    const size_t width = f->n + m->n_extra;

    assert(f->n_knobs == m->n_knobs && f->n == f->n_columns);
    float *rows = malloc(n * width * sizeof *rows + 1);

    for (size_t i = 0; rows && i < n; i++) {
        features_of(f, values + i * m->n_knobs, rows + i * width);
        for (size_t j = 0; j < m->n_extra; j++)
            rows[i * width + f->n + j] = extra ? extra[i * m->n_extra + j] : NAN;
    }
    return rows;
}

static enum err fit_forest(struct ensemble *m, size_t i, const struct ensemble_data *d, uint64_t seed,
                           const struct coded *table, float *targets, float *weights)
{
    const struct ensemble_recipe *r = &ensemble_recipes[i];
    struct gbdt_options o = gbdt_defaults();
    enum err e;

    o.n_forests = 1;
    o.n_trees = N_TREES;
    o.rate = RATE;
    o.row_share = o.column_share = SHARE;
    o.max_leaves = r->max_leaves;
    o.max_depth = r->max_leaves > 0 ? 0 : 6;
    aim(d, r->sharpness, r->care, targets, weights);
    e = gbdt_new(&m->forests[i], rng_at(seed, i), &o);
    if (e)
        return e;
    return gbdt_fit_coded(m->forests[i],
                          &(struct coded_data){.table = table, .targets = targets, .weights = weights, .n = d->n});
}

static enum err fit_forests(struct ensemble *m, const struct ensemble_data *d, uint64_t seed)
{
    float *targets = malloc(2 * d->n * sizeof *targets);
    enum err e = targets ? ERR_OK : ERR_NOMEM;

    for (int all = 0; e == ERR_OK && all < 2; all++) {
        const enum features_set set = all ? FEATURES_ALL : FEATURES_SOME;
        float *rows = rows_of(m, set, d->values, d->extra, d->n);
        struct coded *table = NULL;

        e = rows ? coded_new(&table, rows, d->n, m->features[all].n + m->n_extra) : ERR_NOMEM;
        for (size_t i = 0; e == ERR_OK && i < ENSEMBLE_N_FORESTS; i++)
            if (ensemble_recipes[i].set == set)
                e = fit_forest(m, i, d, seed, table, targets, targets + d->n);
        coded_free(table);
        free(rows);
    }
    free(targets);
    return e;
}

static enum err fit_process(struct ensemble *m, const struct ensemble_data *d)
{
    float *rows, *targets = malloc(2 * d->n * sizeof *targets);
    double *y = malloc(d->n * sizeof *y);
    enum err e = targets && y ? points_init(&m->points, d->knobs, d->n_knobs, d->values, d->n) : ERR_NOMEM;

    rows = malloc(d->n * m->points.n * sizeof *rows + 1);
    if (e == ERR_OK && !rows)
        e = ERR_NOMEM;
    if (e == ERR_OK && m->points.n > 0)
        e = gpr_new(&m->process, m->points.n);
    if (e == ERR_OK && m->process) {
        aim(d, GP_SHARPNESS, 0, targets, targets + d->n);
        for (size_t i = 0; i < d->n; i++) {
            y[i] = (double)targets[i];
            points_of(&m->points, d->values + i * d->n_knobs, rows + i * m->points.n);
        }
        e = gpr_fit(m->process, rows, y, d->n, GP_STEPS);
    }
    free(rows);
    free(targets);
    free(y);
    return e;
}

static bool rows_differ(const struct ensemble_data *d)
{
    for (size_t i = 1; i < d->n; i++) {
        if (memcmp(d->values, d->values + i * d->n_knobs, d->n_knobs * sizeof *d->values) != 0)
            return true;
        if (d->n_extra > 0 && memcmp(d->extra, d->extra + i * d->n_extra, d->n_extra * sizeof *d->extra) != 0)
            return true;
    }
    return false;
}

static enum err check(const struct ensemble_data *d, struct why *why)
{
    size_t n_ok = 0;
    bool differ = false;
    const double least = least_time(d);

    for (size_t i = 0; i < d->n; i++) {
        if (isnan(d->times[i]))
            continue;
        if (!(d->times[i] > 0) || !isfinite(d->times[i]))
            return why_set(why, ERR_INPUT, "row %zu: time %g, expected a finite one above 0", i + 1, d->times[i]);
        n_ok++;
        differ = differ || d->times[i] > least;
    }
    if (n_ok < 2)
        return why_set(why, ERR_INPUT, "%zu of %zu rows are ok, expected at least 2 to learn from", n_ok, d->n);
    if (!differ)
        return why_set(why, ERR_INPUT, "all times are %g: nothing to learn", least);
    if (d->n_knobs == 0 || d->n_knobs > FEATURES_MAX_KNOBS || d->n_extra > ENSEMBLE_MAX_EXTRA)
        return why_set(why, ERR_LIMIT, "%zu columns, expected 1 to %d", d->n_knobs, FEATURES_MAX_KNOBS);
    return ERR_OK;
}

enum err ensemble_fit_process(struct ensemble *m, const struct ensemble_data *d, struct why *why)
{
    enum err e = check(d, why);

    if (e)
        return e;
    e = fit_process(m, d);
    if (e)
        return why_set(why, e, "%s", err_words(e));
    m->process_weight = m->process ? ENSEMBLE_N_FORESTS / (1 + (double)d->n / GP_HALF) : 0;
    assert(m->process_weight >= 0 && m->process_weight <= ENSEMBLE_N_FORESTS);
    return ERR_OK;
}

/* A copy of the rows that the Gaussian process has, for the file. */
static enum err keep(struct ensemble *m, const struct ensemble_data *d)
{
    m->values = malloc(d->n * d->n_knobs * sizeof *m->values);
    m->times = malloc(d->n * sizeof *m->times);
    if (!m->values || !m->times)
        return ERR_NOMEM;
    memcpy(m->values, d->values, d->n * d->n_knobs * sizeof *m->values);
    memcpy(m->times, d->times, d->n * sizeof *m->times);
    m->n = d->n;
    return ERR_OK;
}

enum err ensemble_new(struct ensemble **out, const struct features_knob *knobs, size_t n_knobs, size_t n_extra,
                      struct why *why)
{
    struct ensemble *m = calloc(1, sizeof *m);
    enum err e = m ? ERR_OK : ERR_NOMEM;

    if (e == ERR_OK)
        e = features_list(&m->features[0], knobs, n_knobs, FEATURES_SOME);
    if (e == ERR_OK)
        e = features_list(&m->features[1], knobs, n_knobs, FEATURES_ALL);
    if (e) {
        free(m);
        return why_set(why, e, "%s", err_words(e));
    }
    m->n_knobs = n_knobs;
    m->n_extra = n_extra;
    *out = m;
    return ERR_OK;
}

enum err ensemble_fit(struct ensemble **out, const struct ensemble_data *data, uint64_t seed, struct why *why)
{
    struct ensemble *m = NULL;
    enum err e = check(data, why);

    if (e == ERR_OK && !rows_differ(data))
        e = why_set(why, ERR_INPUT, "no column takes two values: nothing to learn from");
    if (e == ERR_OK)
        e = ensemble_new(&m, data->knobs, data->n_knobs, data->n_extra, why);
    if (e)
        return e;
    e = fit_forests(m, data, seed);
    if (e == ERR_OK && data->n <= ENSEMBLE_GP_ROWS)
        e = keep(m, data);
    if (e)
        why_set(why, e, "%s", err_words(e));
    else if (m->n > 0)
        e = ensemble_fit_process(m, data, why);
    if (e)
        ensemble_free(m);
    else
        *out = m;
    return e;
}

void ensemble_free(struct ensemble *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < ENSEMBLE_N_FORESTS; i++)
        gbdt_ops.fini(m->forests[i]);
    gpr_free(m->process);
    points_fini(&m->points);
    free(m->values);
    free(m->times);
    free(m);
}

size_t ensemble_n_extra(const struct ensemble *m)
{
    return m->n_extra;
}

static enum err add_forests(const struct ensemble *m, bool all, const float *rows, size_t n, float *part, double *sums)
{
    enum err e = ERR_OK;

    for (size_t i = 0; e == ERR_OK && i < ENSEMBLE_N_FORESTS; i++) {
        if ((ensemble_recipes[i].set == FEATURES_ALL) != all)
            continue;
        e = gbdt_ops.predict(m->forests[i], rows, n, part, NULL);
        for (size_t j = 0; e == ERR_OK && j < n; j++)
            sums[j] += (double)part[j];
    }
    return e;
}

static void add_process(const struct ensemble *m, const double *values, size_t n, double *sums)
{
    float point[POINTS_MAX];

    for (size_t i = 0; m->process && i < n; i++) {
        points_of(&m->points, values + i * m->n_knobs, point);
        sums[i] += m->process_weight * gpr_mean_of(m->process, point);
    }
}

enum err ensemble_predict(const struct ensemble *m, const double *values, const float *extra, size_t n, float *scores)
{
    enum err e = ERR_OK;

    for (size_t i = 0; e == ERR_OK && i < n; i += ENSEMBLE_BLOCK) {
        const size_t n_block = n - i < ENSEMBLE_BLOCK ? n - i : ENSEMBLE_BLOCK;
        double sums[ENSEMBLE_BLOCK] = {0};
        float part[ENSEMBLE_BLOCK];

        for (int all = 0; e == ERR_OK && all < 2; all++) {
            float *rows = rows_of(m, all ? FEATURES_ALL : FEATURES_SOME, values + i * m->n_knobs,
                                  extra ? extra + i * m->n_extra : NULL, n_block);

            e = rows ? add_forests(m, all, rows, n_block, part, sums) : ERR_NOMEM;
            free(rows);
        }
        add_process(m, values + i * m->n_knobs, n_block, sums);
        for (size_t j = 0; j < n_block; j++)
            scores[i + j] = (float)(sums[j] / (ENSEMBLE_N_FORESTS + m->process_weight));
    }
    return e;
}
