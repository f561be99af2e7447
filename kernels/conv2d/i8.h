/* SPDX-License-Identifier: MIT */
/* i8.h - the GPU's int8 template over a convolution's shape, for the operators that are such: conv2d, and dense as one
 * row of m pixels whose k channels lie together (a matrix: knobs m, n, k instead of x, f, rc). */
#ifndef TUNE_KERNELS_CONV2D_I8_H
#define TUNE_KERNELS_CONV2D_I8_H

#include "core/err.h"
#include "kernels/conv/shape.h"

#include <stdbool.h>

/* ERR_UNSUPPORTED, naming the templates that take it, unless the channels of each group come by fours. */
enum err i8_by_fours(const char *template_id, const char *others, const struct conv_shape *z, struct why *why);

/* Members of struct template; `z` with all sizes and lanes, c = x_lanes and k = y_lanes for a matrix. */
enum err i8_space(const struct conv_shape *z, enum dtype x, bool matrix, const struct device_desc *d, struct space *s,
                  struct why *why);
enum err i8_fallback(const struct conv_shape *z, bool matrix, const struct device_desc *d, const struct space *s,
                     struct config *out);
void i8_program(struct build *b, const struct conv_shape *z, bool matrix);

#endif
