/* SPDX-License-Identifier: MIT */
/* i8_amx.h - the template of AMX's tiles over a convolution's shape, for the operators that are such: conv2d, and dense
 * as one row of m pixels whose k channels lie together. */
#ifndef TUNE_KERNELS_CONV2D_I8_AMX_H
#define TUNE_KERNELS_CONV2D_I8_AMX_H

#include "core/err.h"
#include "kernels/conv/shape.h"

/* Members of struct template; `z` with all sizes and lanes, c = x_lanes and k = y_lanes for a matrix; `x` i8 or u8. Fit
 * is FIT_NONE, with words that begin with `id`, on a device whose `dots` do not say tune_amx. */
enum fit i8_amx_fit(const char *id, const struct conv_shape *z, const struct device_desc *d, struct why *why);
enum err i8_amx_space(const struct conv_shape *z, enum dtype x, const struct device_desc *d, struct space *s,
                      struct why *why);
enum err i8_amx_fallback(const struct conv_shape *z, const struct device_desc *d, const struct space *s,
                         struct config *out);
void i8_amx_program(struct build *b, const struct conv_shape *z);

#endif
