/* SPDX-License-Identifier: MIT */
/* i8_tile.h - the CPU's int8 template over a convolution's shape, for the operators that are such: conv2d, and dense as
 * one row of m pixels whose k channels lie together. */
#ifndef TUNE_KERNELS_CONV2D_I8_TILE_H
#define TUNE_KERNELS_CONV2D_I8_TILE_H

#include "core/err.h"
#include "kernels/conv/shape.h"

#include <stdint.h>

/* Members of struct template; `z` with all sizes and lanes, c = x_lanes and k = y_lanes for a matrix; `x` i8 or u8. */
enum err i8_tile_space(const struct conv_shape *z, enum dtype x, const struct device_desc *d, struct space *s,
                       struct why *why);
enum err i8_tile_fallback(const struct conv_shape *z, enum dtype x, const struct device_desc *d, const struct space *s,
                          struct config *out);
void i8_tile_program(struct build *b, const struct conv_shape *z);

/* Lanes of one store (VEC) of kernels with vectors of vk channels: those of a vector, or the channels that y stores
 * together; a group may not begin amidst them. */
int64_t i8_store_lanes(const struct conv_shape *z, int64_t vk);

#endif
