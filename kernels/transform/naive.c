/* SPDX-License-Identifier: MIT */
#include "kernels/naive.h"
#include "kernels/transform/transform.h"

static void program(struct build *b)
{
    const struct conv_shape z = transform_shape(b->w);
    const int64_t wg = build_int(b, "wg"), grid[] = {CEIL(z.n * z.k * z.p * z.q, wg), 1, 1}, block[] = {wg, 1, 1};

    build_module(b, "transform/naive.cl");
    conv_define_shape(b, &z);
    build_launch(b, PHASE_RUN, "transform_naive", grid, block, (const int[]){0, 1, -1});
}

const struct template transform_naive = {
    .id = "transform/naive",
    .version = 1,
    .summary = "one element a work-item: the baseline",
    .fit = naive_fit,
    .space = naive_space,
    .fallback = naive_fallback,
    .program = program,
    .numerics = numerics_exact,
};
