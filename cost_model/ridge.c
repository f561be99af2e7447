/* SPDX-License-Identifier: MIT */
#include "cost_model/ridge.h"

#include "core/err.h"
#include "cost_model/data.h"
#include "cost_model/linear.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PENALTY 1.0 /* in rows of mean weight */

struct fit {
    size_t n_features;
    double base;
    double *means, *scales, *slopes; /* one block at `means`; scale 0 = a feature that tells nothing */
};

struct model {
    struct fit fit;
};

static enum err init(struct model **out, uint64_t seed)
{
    (void)seed;
    *out = calloc(1, sizeof(**out));
    return *out ? ERR_OK : ERR_NOMEM;
}

/* Mean and 1 / standard deviation of the finite values of one feature. */
static void standardise(const struct model_data *data, size_t i_feature, struct fit *f)
{
    double sum = 0, squares = 0, mean, variance;
    size_t n = 0;

    for (size_t i = 0; i < data->n; i++) {
        const double v = (double)data->rows[i * data->n_features + i_feature];

        if (isfinite(v)) {
            sum += v;
            n++;
        }
    }
    mean = n > 0 ? sum / (double)n : 0;
    for (size_t i = 0; i < data->n; i++) {
        const double v = (double)data->rows[i * data->n_features + i_feature];

        if (isfinite(v))
            squares += (v - mean) * (v - mean);
    }
    variance = n > 0 ? squares / (double)n : 0;
    f->means[i_feature] = mean;
    f->scales[i_feature] = variance > 1e-12 * (1 + mean * mean) ? 1 / sqrt(variance) : 0;
}

static double at(const struct fit *f, const float *row, size_t i)
{
    const double v = (double)row[i];

    return isfinite(v) ? (v - f->means[i]) * f->scales[i] : 0;
}

/* Normal equations: the lower triangle of matrix[p][p] and right[p]. */
static void sum_products(const struct model_data *data, const struct fit *f, double *matrix, double *right, double *row)
{
    const size_t p = f->n_features;
    double sum_weights = 0;

    for (size_t i = 0; i < data->n; i++) {
        const double weight = data->weights ? (double)data->weights[i] : 1.0;

        sum_weights += weight;
        for (size_t j = 0; j < p; j++)
            row[j] = at(f, data->rows + i * p, j);
        for (size_t j = 0; j < p; j++) {
            right[j] += weight * row[j] * ((double)data->targets[i] - f->base);
            for (size_t k = 0; k <= j; k++)
                matrix[j * p + k] += weight * row[j] * row[k];
        }
    }
    for (size_t j = 0; j < p; j++)
        matrix[j * p + j] += PENALTY * sum_weights / (double)data->n;
}

/* x begins as the right side. The penalty keeps the matrix positive, unless no row has any weight. */
static void solve(double *matrix, size_t p, double *x)
{
    if (!linear_factor(matrix, 0, p, p, 0)) {
        memset(x, 0, p * sizeof(*x));
        return;
    }
    linear_solve_lower(matrix, 0, p, p, x);
    linear_solve_upper(matrix, p, p, x);
}

static enum err fit(struct model *m, const struct model_data *data)
{
    const size_t p = data->n_features;
    struct fit f = {.n_features = p};
    double *matrix, *row;
    enum err e = model_data_check(data);

    if (e)
        return e;
    if (p > RIDGE_MAX_FEATURES)
        return ERR_LIMIT;
    f.means = calloc(3 * p, sizeof(*f.means));
    matrix = calloc(p * p, sizeof(*matrix));
    row = calloc(p, sizeof(*row));
    if (!f.means || !matrix || !row) {
        free(f.means);
        e = ERR_NOMEM;
    } else {
        f.scales = f.means + p;
        f.slopes = f.scales + p;
        f.base = model_data_mean(data);
        for (size_t i = 0; i < p; i++)
            standardise(data, i, &f);
        sum_products(data, &f, matrix, f.slopes, row);
        solve(matrix, p, f.slopes);
        free(m->fit.means);
        m->fit = f;
    }
    free(matrix);
    free(row);
    return e;
}

static enum err predict(const struct model *m, const float *rows, size_t n, float *scores, float *spread)
{
    const struct fit *f = &m->fit;

    if (f->n_features == 0)
        return ERR_INPUT;
    for (size_t i = 0; i < n; i++) {
        double sum = f->base;

        for (size_t j = 0; j < f->n_features; j++)
            sum += f->slopes[j] * at(f, rows + i * f->n_features, j);
        scores[i] = (float)sum;
    }
    if (spread)
        memset(spread, 0, n * sizeof(*spread));
    return ERR_OK;
}

/* Of standardised features the slope itself says how much each moves the score. */
static enum err importance(const struct model *m, float *out)
{
    const struct fit *f = &m->fit;
    double sum = 0;

    if (f->n_features == 0)
        return ERR_INPUT;
    for (size_t i = 0; i < f->n_features; i++)
        sum += fabs(f->slopes[i]);
    for (size_t i = 0; i < f->n_features; i++)
        out[i] = sum > 0 ? (float)(fabs(f->slopes[i]) / sum) : 0;
    return ERR_OK;
}

static void fini(struct model *m)
{
    if (!m)
        return;
    free(m->fit.means);
    free(m);
}

const struct model_ops ridge_ops = {
    "ridge", "linear regression with an L2 penalty: a baseline", init, fit, predict, importance, fini};
