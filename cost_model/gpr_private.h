/* SPDX-License-Identifier: MIT */
/* gpr_private.h - what a Gaussian process is made of; shared by gpr*.c. */
#ifndef TUNE_COST_MODEL_GPR_PRIVATE_H
#define TUNE_COST_MODEL_GPR_PRIVATE_H

#include "cost_model/gpr.h"

#include <stdbool.h>
#include <stdint.h>

/* Logarithms of the lengths, of the noise's deviation and of the scale, in this order. */
struct gpr_shape {
    size_t n_columns;
    double logs[GPR_MAX_COLUMNS + 2];
};

struct gpr {
    struct gpr_shape shape;
    float *rows;      /* [n][n_columns] */
    uint64_t *serial; /* [n] a number for each row with its factor: equal ones need no work anew */
    uint64_t last;    /* serial given */
    double *factor;   /* [n][n], lower: of the kernel matrix */
    double *weighed;  /* [n] factor^-1 targets */
    size_t n, cap;
};

static inline double gpr_log_noise(const struct gpr_shape *s)
{
    return s->logs[s->n_columns];
}

static inline double gpr_log_scale(const struct gpr_shape *s)
{
    return s->logs[s->n_columns + 1];
}

/* Always summed in the same order. */
static inline double gpr_dot(const double *a, const double *b, size_t n)
{
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    size_t i = 0;

    for (; i + 4 <= n; i += 4) {
        s0 += a[i] * b[i];
        s1 += a[i + 1] * b[i + 1];
        s2 += a[i + 2] * b[i + 2];
        s3 += a[i + 3] * b[i + 3];
    }
    for (; i < n; i++)
        s0 += a[i] * b[i];
    return (s0 + s1) + (s2 + s3);
}

/* The most likely start: what the priors say. */
void gpr_shape_init(struct gpr_shape *s, size_t n_columns);

/* Up to n_steps of resilient descent (Riedmiller and Braun 1993) on the negative log posterior. ERR_NOMEM. */
enum err gpr_shape_improve(struct gpr_shape *s, const float *rows, const double *targets, size_t n, size_t n_steps);

/* The kernel at a squared distance in lengths, without the scale; *slope: its derivative by that, or NULL. */
double gpr_kernel(double distance2, double *slope);

/* out[d] = 1 / length. */
void gpr_inverse_lengths(const struct gpr_shape *s, double *out);

/* The squared distance of two rows in lengths. */
double gpr_distance2(const float *a, const float *b, const double *inverse, size_t n_columns);

/* Turns rows first..n-1 of the lower triangle of a matrix [n][stride] into its Cholesky factor, given that the rows
 * before are done. False: not positive definite. */
bool gpr_factor(double *matrix, size_t first, size_t n, size_t stride);

/* x := factor^-1 x, from element `first` on, those before being done. */
void gpr_solve_lower(const double *factor, size_t first, size_t n, size_t stride, double *x);

#endif
