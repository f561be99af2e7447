/* SPDX-License-Identifier: MIT */
#include "cost_model/gpr_private.h"
#include "core/err.h"
#include "cost_model/linear.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define JITTER 1e-6

enum err gpr_new(struct gpr **out, size_t n_columns)
{
    struct gpr *g;

    if (n_columns == 0 || n_columns > GPR_MAX_COLUMNS)
        return ERR_LIMIT;
    g = calloc(1, sizeof(*g));
    if (!g)
        return ERR_NOMEM;
    gpr_shape_init(&g->shape, n_columns);
    *out = g;
    return ERR_OK;
}

void gpr_free(struct gpr *g)
{
    if (!g)
        return;
    free(g->rows);
    free(g->serial);
    free(g->factor);
    free(g->weighed);
    free(g);
}

static enum err check(const struct gpr *g, const float *rows, const double *targets, size_t n)
{
    if (n == 0)
        return ERR_INPUT;
    if (n > GPR_MAX_ROWS)
        return ERR_LIMIT;
    for (size_t i = 0; i < n * g->shape.n_columns; i++)
        if (!isfinite(rows[i]))
            return ERR_INPUT;
    for (size_t i = 0; i < n; i++)
        if (!isfinite(targets[i]))
            return ERR_INPUT;
    return ERR_OK;
}

/* Room for n rows; the factor's rows stay where they are, each `cap` long. */
static enum err widen(struct gpr *g, size_t n)
{
    const size_t cap = n <= 64 ? 64 : n <= 128 ? 128 : n <= 256 ? 256 : GPR_MAX_ROWS;
    float *rows;
    uint64_t *serial;
    double *factor, *weighed;

    if (n <= g->cap)
        return ERR_OK;
    rows = malloc(cap * g->shape.n_columns * sizeof(*rows));
    serial = calloc(cap, sizeof(*serial));
    factor = calloc(cap * cap, sizeof(*factor));
    weighed = calloc(cap, sizeof(*weighed));
    free(g->rows);
    free(g->serial);
    free(g->factor);
    free(g->weighed);
    g->rows = rows;
    g->serial = serial;
    g->factor = factor;
    g->weighed = weighed;
    g->n = 0;
    g->cap = rows && serial && factor && weighed ? cap : 0;
    return g->cap ? ERR_OK : ERR_NOMEM;
}

/* How many rows are the first ones of the last fit. */
static size_t n_kept(const struct gpr *g, const float *rows, size_t n)
{
    const size_t width = g->shape.n_columns;
    size_t i = 0;

    while (i < n && i < g->n && memcmp(g->rows + i * width, rows + i * width, width * sizeof(*rows)) == 0)
        i++;
    return i;
}

/* The factor's rows from `first` on; noise grows until the matrix has one. */
static bool factor_from(struct gpr *g, size_t first, size_t n)
{
    const double scale = exp(2 * gpr_log_scale(&g->shape)), noise = exp(2 * gpr_log_noise(&g->shape)) + JITTER;
    const size_t width = g->shape.n_columns;
    double inverse[GPR_MAX_COLUMNS];

    gpr_inverse_lengths(&g->shape, inverse);
    for (size_t i = first; i < n; i++)
        for (size_t j = 0; j <= i; j++)
            g->factor[i * g->cap + j] =
                scale * gpr_kernel(gpr_distance2(g->rows + i * width, g->rows + j * width, inverse, width), NULL) +
                (i == j ? noise : 0);
    return linear_factor(g->factor, first, n, g->cap, GPR_LEAST);
}

enum err gpr_fit(struct gpr *g, const float *rows, const double *targets, size_t n, size_t n_steps)
{
    const size_t width = g->shape.n_columns;
    enum err e = check(g, rows, targets, n);
    size_t first;

    if (e == ERR_OK && n_steps > 0)
        e = gpr_shape_improve(&g->shape, rows, targets, n, n_steps);
    if (e == ERR_OK)
        e = widen(g, n);
    if (e)
        return e;
    first = n_steps > 0 ? 0 : n_kept(g, rows, n);
    assert(n <= g->cap && first <= n && first <= (n_steps > 0 ? n : g->n));
    memcpy(g->rows, rows, n * width * sizeof(*rows));
    while (!factor_from(g, first, n)) {
        g->shape.logs[width] += 0.7;
        first = 0;
    }
    for (size_t i = first; i < n; i++)
        g->serial[i] = ++g->last;
    memcpy(g->weighed, targets, n * sizeof(*targets));
    linear_solve_lower(g->factor, 0, n, g->cap, g->weighed);
    g->n = n;
    return ERR_OK;
}

size_t gpr_n_rows(const struct gpr *g)
{
    return g->n;
}

double gpr_mean_of(const struct gpr *g, const float *row)
{
    const size_t width = g->shape.n_columns;
    const double scale = exp(2 * gpr_log_scale(&g->shape));
    double inverse[GPR_MAX_COLUMNS], part[GPR_MAX_ROWS];

    assert(g->n <= g->cap && g->n <= GPR_MAX_ROWS);
    gpr_inverse_lengths(&g->shape, inverse);
    for (size_t i = 0; i < g->n; i++)
        part[i] = scale * gpr_kernel(gpr_distance2(g->rows + i * width, row, inverse, width), NULL);
    linear_solve_lower(g->factor, 0, g->n, g->cap, part);
    return linear_dot(part, g->weighed, g->n);
}
