/* SPDX-License-Identifier: MIT */
/* gpr_private.h - what a Gaussian process is made of; shared by gpr*.c. */
#ifndef TUNE_COST_MODEL_GPR_PRIVATE_H
#define TUNE_COST_MODEL_GPR_PRIVATE_H

#include "core/err.h"
#include "cost_model/gpr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPR_LEAST 1e-10 /* squared pivot of a kernel matrix that counts as positive definite */

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

#endif
