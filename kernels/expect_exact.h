/* SPDX-License-Identifier: MIT */
/* expect_exact.h - whole numbers of a run's own: the exact pass on other data, turned, and at the ends. */
#ifndef TUNE_KERNELS_EXPECT_EXACT_H
#define TUNE_KERNELS_EXPECT_EXACT_H

#include "kernels/expect.h"

/* Zero points at their ends: of x 0 in the exact pass, 255 in others; of the result, at the odd places, 128 there, 0
 * and 255 in others, but behind a ReLU something is left above. Addends and their sum: in turn. */
struct program_fill expect_zero_ends(const struct workload *w, enum expect_mode mode);

/* Products in a sum; 1 without weights. */
double expect_products_in_a_sum(const struct workload *w);

/* Gives an input or weight the exact fill of a mode with data of its own. */
void expect_change_exact(const struct workload *w, enum expect_mode mode, struct tensor *t);

#endif
