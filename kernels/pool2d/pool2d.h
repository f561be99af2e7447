/* SPDX-License-Identifier: MIT */
/* pool2d.h - this operator and its templates. */
#ifndef TUNE_KERNELS_POOL2D_POOL2D_H
#define TUNE_KERNELS_POOL2D_POOL2D_H

#include "core/err.h"
#include "kernels/conv/shape.h"
#include "kernels/glue/glue.h"
#include "kernels/template.h"

#include <stdbool.h>
#include <stdint.h>

enum pool_kind { POOL_MAX, POOL_AVG };

/* Defines of pool2d/pool.clh: those of conv/conv.clh, and AVG for averages. */
void pool2d_define_shape(struct build *b, const struct conv_shape *s);

/* template->numerics: a largest element is exact; averages of floats are so where all of a workload's counts of pixels
 * divide data that fits the type. */
void pool2d_numerics(const struct workload *w, const struct space *s, const struct config *c, struct numerics *inout);

/* Data of the exact pass: multiples of `step`, up to `bound` times it. bound 0: there are none. */
struct pool_data {
    int64_t step, bound;
};
struct pool_data pool2d_exact_data(const struct workload *w);

enum err pool2d_reference(const struct workload *w, enum exact_data data, struct expected *e);

/* nchw, and one window is the whole image. */
bool pool2d_is_plane(const struct conv_shape *z);

extern const struct operator_desc operator_pool2d;
extern const struct template pool2d_rows, pool2d_plane, pool2d_window, pool2d_naive;

#endif
