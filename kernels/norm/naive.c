/* SPDX-License-Identifier: MIT */
#include "kernels/naive.h"
#include "kernels/build.h"
#include "kernels/norm/norm.h"

static void program(struct build *b)
{
    const int64_t wg = build_int(b, "wg");

    build_module(b, "norm/naive.cl");
    norm_launch(b, "norm_naive", CEIL(workload_get(b->w, "m"), wg), (const int64_t[]){wg, 1});
}

const struct template norm_naive = {
    .id = "norm/naive",
    .version = 2,
    .summary = "one row a work-item: the baseline",
    .fit = naive_fit,
    .space = naive_space,
    .fallback = naive_fallback,
    .program = program,
    .numerics = norm_numerics,
};
