/* SPDX-License-Identifier: MIT */
/* linear.h - positive definite systems: the factor L of a matrix L L^T (Cholesky) and triangular solutions. Matrices
 * are row-major [n][stride], of which the lower triangle counts. Sums are always in the same order. */
#ifndef TUNE_COST_MODEL_LINEAR_H
#define TUNE_COST_MODEL_LINEAR_H

#include <stdbool.h>
#include <stddef.h>

static inline double linear_dot(const double *a, const double *b, size_t n)
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

/* Turns rows first..n-1 of a matrix into those of its factor, given that the rows before are done. False: not positive
 * definite, a squared pivot being no more than `least`. */
bool linear_factor(double *matrix, size_t first, size_t n, size_t stride, double least);

/* x := L^-1 x, from element `first` on, those before being done. */
void linear_solve_lower(const double *factor, size_t first, size_t n, size_t stride, double *x);

/* x := L^-T x */
void linear_solve_upper(const double *factor, size_t n, size_t stride, double *x);

#endif
