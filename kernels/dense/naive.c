/* SPDX-License-Identifier: MIT */
#include "kernels/dense/dense.h"
#include "kernels/naive.h"

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    return dense_within("dense/naive", DENSE_F16 | DENSE_BF16 | DENSE_I8 | DENSE_U8 | DENSE_EPILOGUE, w, why)
               ? FIT_NONE
               : naive_fit(w, d, why);
}

static void program(struct build *b)
{
    const struct dense_shape z = dense_shape_of(b->w);
    const int64_t wg = build_int(b, "wg"), grid[] = {CEIL(z.m * z.n, wg), 1, 1}, block[] = {wg, 1, 1};

    build_module(b, "dense/naive.cl");
    dense_define_shape(b, &z);
    build_last_launch(b, "dense_naive", grid, block, (const int[]){0, 1, -1});
}

const struct template dense_naive = {
    .id = "dense/naive",
    .version = 3,
    .summary = "one output a work-item, from the definition: the baseline",
    .fit = fit,
    .space = naive_space,
    .fallback = naive_fallback,
    .program = program,
};
