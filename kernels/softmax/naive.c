/* SPDX-License-Identifier: MIT */
#include "kernels/naive.h"
#include "kernels/softmax/softmax.h"

static void program(struct build *b)
{
    const int64_t wg = build_int(b, "wg");

    build_module(b, "softmax/naive.cl");
    softmax_launch(b, "softmax_naive", CEIL(workload_get(b->w, "m"), wg), (const int64_t[]){wg, 1});
}

const struct template softmax_naive = {
    .id = "softmax/naive",
    .version = 1,
    .summary = "one row a work-item: the baseline",
    .fit = naive_fit,
    .space = naive_space,
    .fallback = naive_fallback,
    .program = program,
    .numerics = softmax_numerics,
};
