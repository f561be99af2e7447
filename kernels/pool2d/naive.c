/* SPDX-License-Identifier: MIT */
#include "kernels/naive.h"
#include "kernels/pool2d/pool2d.h"

static void program(struct build *b)
{
    const struct conv_shape z = conv_shape_of(b->w);
    const int64_t wg = build_int(b, "wg"), grid[] = {CEIL(z.n * z.k * z.p * z.q, wg), 1, 1}, block[] = {wg, 1, 1};

    build_module(b, "pool2d/naive.cl");
    pool2d_define_shape(b, &z);
    build_launch(b, PHASE_RUN, "pool2d_naive", grid, block, (const int[]){0, 1, -1});
}

const struct template pool2d_naive = {
    .id = "pool2d/naive",
    .version = 1,
    .summary = "one output a work-item, from the definition: the baseline",
    .fit = naive_fit,
    .space = naive_space,
    .fallback = naive_fallback,
    .program = program,
    .numerics = pool2d_numerics,
};
