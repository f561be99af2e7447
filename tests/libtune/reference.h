/* SPDX-License-Identifier: MIT */
/* reference.h - what layers must give, from their definitions alone: for tests of libtune. */
#ifndef TUNE_TESTS_LIBTUNE_REFERENCE_H
#define TUNE_TESTS_LIBTUNE_REFERENCE_H

/* Whole numbers from -3 to 3 that depend on `seed` and `i` alone: sums of their products are exact in f32. */
int reference_value(unsigned seed, long long i);

/* y[m,n] = sum over k of x[m,k] * w[n,k], x of reference_value seed 1, w of seed 2; element `i` of y. */
double reference_dense(const long long size[3], long long i);

/* n c h w k r s stride pad: y[n,k,p,q] of x[n,c,h,w] (seed 1) and w[k,c,r,s] (seed 2), + bias[k] (seed 3) and max(0, .)
 * where asked for; element `i` of y. */
struct reference_conv {
    long long n, c, h, w, k, r, s, stride, pad;
    int bias_relu;
};
double reference_conv(const struct reference_conv *a, long long i);

#endif
