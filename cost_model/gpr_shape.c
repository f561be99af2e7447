/* SPDX-License-Identifier: MIT */
#include "cost_model/gpr_private.h"
#include "cost_model/linear.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Priors, normal over the logarithms: a length of 1.6 column widths, noise of 5 % of the targets' deviation. */
#define LENGTH_MEAN 0.5
#define LENGTH_SD 1.0
#define NOISE_MEAN (-3.0)
#define NOISE_SD 1.0
#define SCALE_SD 1.0
#define MOST 4.0 /* of any logarithm, both ways */
#define JITTER 1e-6

void gpr_shape_init(struct gpr_shape *s, size_t n_columns)
{
    *s = (struct gpr_shape){.n_columns = n_columns};
    for (size_t i = 0; i < n_columns; i++)
        s->logs[i] = LENGTH_MEAN;
    s->logs[n_columns] = NOISE_MEAN;
    s->logs[n_columns + 1] = 0;
}

double gpr_kernel(double distance2, double *slope)
{
    const double r = sqrt(5 * distance2), fall = exp(-r);

    if (slope)
        *slope = -5.0 / 6 * (1 + r) * fall;
    return (1 + r + r * r / 3) * fall;
}

void gpr_inverse_lengths(const struct gpr_shape *s, double *out)
{
    for (size_t i = 0; i < s->n_columns; i++)
        out[i] = exp(-s->logs[i]);
}

double gpr_distance2(const float *a, const float *b, const double *inverse, size_t n_columns)
{
    double sum = 0;

    for (size_t i = 0; i < n_columns; i++) {
        const double apart = ((double)a[i] - (double)b[i]) * inverse[i];

        sum += apart * apart;
    }
    return sum;
}

/* Room for one look at the posterior; all matrices [n][n]. */
struct look {
    const float *rows;
    const double *targets;
    size_t n;
    double *kernel, *slope, *factor, *inverse; /* lower triangles */
    double *weighed;                           /* [n] kernel^-1 targets */
};

static void fill(const struct gpr_shape *s, struct look *l)
{
    const double scale = exp(2 * gpr_log_scale(s)), noise = exp(2 * gpr_log_noise(s)) + JITTER;
    double inverse[GPR_MAX_COLUMNS];

    gpr_inverse_lengths(s, inverse);
    for (size_t i = 0; i < l->n; i++)
        for (size_t j = 0; j <= i; j++) {
            const size_t at = i * l->n + j;
            const float *a = l->rows + i * s->n_columns, *b = l->rows + j * s->n_columns;
            double slope;

            l->kernel[at] = scale * gpr_kernel(gpr_distance2(a, b, inverse, s->n_columns), &slope);
            l->slope[at] = scale * slope;
            l->factor[at] = l->kernel[at] + (i == j ? noise : 0);
        }
}

/* inverse := (factor factor^T)^-1, its lower triangle; weighed := that times targets. */
static void invert(struct look *l)
{
    const size_t n = l->n;

    for (size_t c = 0; c < n; c++) { /* the upper triangle holds factor^-1, transposed */
        double *column = l->inverse + c * n;

        memset(column, 0, n * sizeof(*column));
        column[c] = 1;
        for (size_t i = c; i < n; i++) {
            const double *row = l->factor + i * n;

            column[i] = (column[i] - linear_dot(row + c, column + c, i - c)) / row[i];
        }
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++)
            l->inverse[i * n + j] = linear_dot(l->inverse + i * n + i, l->inverse + j * n + i, n - i);
    for (size_t i = 0; i < n; i++) {
        l->weighed[i] = linear_dot(l->inverse + i * n, l->targets, i);
        for (size_t j = i; j < n; j++)
            l->weighed[i] += l->inverse[j * n + i] * l->targets[j];
    }
}

/* The prior's part of the slopes. */
static void add_prior(const struct gpr_shape *s, double *slopes)
{
    const size_t n = s->n_columns;

    for (size_t i = 0; i < n; i++)
        slopes[i] = (s->logs[i] - LENGTH_MEAN) / (LENGTH_SD * LENGTH_SD);
    slopes[n] = (gpr_log_noise(s) - NOISE_MEAN) / (NOISE_SD * NOISE_SD);
    slopes[n + 1] = gpr_log_scale(s) / (SCALE_SD * SCALE_SD);
}

/* The slopes of the negative log posterior by shape.logs; false when the kernel matrix is none. */
static bool slopes_of(const struct gpr_shape *s, struct look *l, double *slopes)
{
    const double noise = exp(2 * gpr_log_noise(s));
    double inverse[GPR_MAX_COLUMNS];

    fill(s, l);
    if (!linear_factor(l->factor, 0, l->n, l->n, GPR_LEAST))
        return false;
    invert(l);
    gpr_inverse_lengths(s, inverse);
    add_prior(s, slopes);
    for (size_t i = 0; i < l->n; i++)
        for (size_t j = 0; j <= i; j++) {
            const size_t at = i * l->n + j;
            const float *a = l->rows + i * s->n_columns, *b = l->rows + j * s->n_columns;
            const double part = l->inverse[at] - l->weighed[i] * l->weighed[j], pull = -2 * part * l->slope[at];

            slopes[s->n_columns] += i == j ? part * noise : 0;
            slopes[s->n_columns + 1] += (i == j ? 1 : 2) * part * l->kernel[at];
            for (size_t k = 0; i != j && k < s->n_columns; k++) {
                const double apart = ((double)a[k] - (double)b[k]) * inverse[k];

                slopes[k] += pull * apart * apart;
            }
        }
    return true;
}

static enum err look_init(struct look *l, const float *rows, const double *targets, size_t n)
{
    *l = (struct look){.rows = rows, .targets = targets, .n = n};
    l->kernel = malloc((4 * n * n + n) * sizeof(*l->kernel));
    if (!l->kernel)
        return ERR_NOMEM;
    l->slope = l->kernel + n * n;
    l->factor = l->slope + n * n;
    l->inverse = l->factor + n * n;
    l->weighed = l->inverse + n * n;
    return ERR_OK;
}

/* One step of each logarithm: faster while its slope keeps its sign, slower after a turn. */
static void step(struct gpr_shape *s, const double *slopes, double *last, double *pace)
{
    for (size_t i = 0; i < s->n_columns + 2; i++) {
        const double turn = slopes[i] * last[i];

        pace[i] = turn > 0 ? fmin(pace[i] * 1.3, 0.5) : turn < 0 ? pace[i] * 0.5 : pace[i];
        last[i] = slopes[i];
        s->logs[i] -= slopes[i] > 0 ? pace[i] : slopes[i] < 0 ? -pace[i] : 0;
        s->logs[i] = fmin(fmax(s->logs[i], -MOST), MOST);
    }
}

enum err gpr_shape_improve(struct gpr_shape *s, const float *rows, const double *targets, size_t n, size_t n_steps)
{
    double slopes[GPR_MAX_COLUMNS + 2], last[GPR_MAX_COLUMNS + 2] = {0}, pace[GPR_MAX_COLUMNS + 2];
    struct look l;
    const enum err e = look_init(&l, rows, targets, n);

    if (e)
        return e;
    for (size_t i = 0; i < s->n_columns + 2; i++)
        pace[i] = 0.2;
    for (size_t i = 0; i < n_steps && slopes_of(s, &l, slopes); i++)
        step(s, slopes, last, pace);
    free(l.kernel);
    return ERR_OK;
}
