/* SPDX-License-Identifier: MIT */
#include "kernels/naive.h"
#include "kernels/eltwise/eltwise.h"

static void program(struct build *b)
{
    const int64_t wg = build_int(b, "wg");
    struct eltwise_shape shape;
    struct eltwise chain;

    eltwise_of(b->w, &chain, &shape);
    eltwise_module(b, "eltwise/naive.cl");
    build_define(b, "VEC", 1);
    eltwise_launch(b, "eltwise_naive", CEIL(shape.rows * shape.inner, wg), wg);
}

const struct template eltwise_naive = {
    .id = "eltwise/naive",
    .version = 1,
    .summary = "one element a work-item: the baseline",
    .fit = naive_fit,
    .space = naive_space,
    .fallback = naive_fallback,
    .program = program,
    .numerics = eltwise_numerics,
};
