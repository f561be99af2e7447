/* SPDX-License-Identifier: MIT */
#include "kernels/batch_gemm/batch_gemm.h"
#include "kernels/naive.h"

static void program(struct build *b)
{
    const struct gemm_shape z = gemm_shape_of(b->w);
    const int64_t wg = build_int(b, "wg"), grid[] = {CEIL(z.b * z.m * z.n, wg), 1, 1}, block[] = {wg, 1, 1};

    build_module(b, "batch_gemm/naive.cl");
    gemm_define_shape(b, &z);
    build_last_launch(b, "batch_gemm_naive", grid, block, (const int[]){0, 1, -1});
}

const struct template batch_gemm_naive = {
    .id = "batch_gemm/naive",
    .version = 2,
    .summary = "one output a work-item, from the definition: the baseline",
    .fit = naive_fit,
    .space = naive_space,
    .fallback = naive_fallback,
    .program = program,
};
