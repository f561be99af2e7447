/* SPDX-License-Identifier: MIT */
#include "cost_model/linear.h"

#include <math.h>

bool linear_factor(double *matrix, size_t first, size_t n, size_t stride, double least)
{
    for (size_t i = first; i < n; i++) {
        double *row = matrix + i * stride;

        for (size_t j = 0; j < i; j++)
            row[j] = (row[j] - linear_dot(row, matrix + j * stride, j)) / matrix[j * stride + j];
        row[i] -= linear_dot(row, row, i);
        if (!(row[i] > least))
            return false;
        row[i] = sqrt(row[i]);
    }
    return true;
}

void linear_solve_lower(const double *factor, size_t first, size_t n, size_t stride, double *x)
{
    for (size_t i = first; i < n; i++)
        x[i] = (x[i] - linear_dot(factor + i * stride, x, i)) / factor[i * stride + i];
}

void linear_solve_upper(const double *factor, size_t n, size_t stride, double *x)
{
    for (size_t i = n; i-- > 0;) {
        x[i] /= factor[i * stride + i];
        for (size_t j = 0; j < i; j++)
            x[j] -= factor[i * stride + j] * x[i];
    }
}
