/* SPDX-License-Identifier: MIT */
/* split.h - sums in several parts, added up by a second kernel (conv/split.clh). */
#ifndef TUNE_KERNELS_CONV_SPLIT_H
#define TUNE_KERNELS_CONV_SPLIT_H

#include "core/err.h"
#include "kernels/conv/shape.h"

#include <stdint.h>

/* The knob split, and when it makes sense: no part without a stage of the sum, parts of at most 2^24 elements together,
 * and fewer groups without it than 16 for each unit of the device. Wants the quantities "steps" and "groups_whole"
 * (groups without splitting) by then; defines "groups". */
enum err split_add_knob(struct space *s, struct why *why);
enum err split_add_constraints(struct space *s, const struct device_desc *d, struct why *why);

/* Raises the knob until a GPU has two groups for each unit, or as far as the space goes and the parts have no more
 * bytes than the layer's own tensors. */
void split_spread(const struct space *s, const struct device_desc *d, struct config *c);

/* The last launch of a program: `kernel` over `buffers` (ended by -1) writes y, or with split > 1 parts, which
 * conv_sum_parts then adds up. */
void split_last_launch(struct build *b, const struct conv_shape *z, const char *kernel, const int64_t grid[3],
                       const int64_t block[3], const int *buffers);

#endif
