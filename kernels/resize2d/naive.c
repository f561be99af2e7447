/* SPDX-License-Identifier: MIT */
#include "kernels/naive.h"
#include "kernels/resize2d/resize2d.h"

static void program(struct build *b)
{
    const struct resize_shape s = resize2d_shape(b->w);
    const int64_t n = s.n * s.c * s.rows.size * s.cols.size, wg = build_int(b, "wg");
    const int64_t grid[] = {CEIL(n, wg), 1, 1}, block[] = {wg, 1, 1};

    build_module(b, "resize2d/naive.cl");
    resize2d_define(b);
    build_launch(b, PHASE_RUN, "resize2d_naive", grid, block, (const int[]){0, 1, -1});
}

const struct template resize2d_naive = {
    .id = "resize2d/naive",
    .version = 1,
    .summary = "one output a work-item: the baseline",
    .fit = naive_fit,
    .space = naive_space,
    .fallback = naive_fallback,
    .program = program,
    .numerics = resize2d_numerics,
};
