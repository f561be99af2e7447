/* SPDX-License-Identifier: MIT */
#include "kernels/concat/concat.h"
#include "kernels/naive.h"

static void program(struct build *b)
{
    const int64_t wg = build_int(b, "wg");

    build_module(b, "concat/naive.cl");
    concat_launch(b, "concat_naive", CEIL(concat_elems(b->w), wg), wg);
}

const struct template concat_naive = {
    .id = "concat/naive",
    .version = 1,
    .summary = "one element a work-item: the baseline",
    .fit = naive_fit,
    .space = naive_space,
    .fallback = naive_fallback,
    .program = program,
    .numerics = numerics_exact,
};
