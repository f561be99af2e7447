/* SPDX-License-Identifier: MIT */
#include "kernels/naive.h"
#include "kernels/reduce/reduce.h"

static void program(struct build *b)
{
    const int64_t wg = build_int(b, "wg");

    build_module(b, "reduce/naive.cl");
    reduce_launch(b, "reduce_naive", CEIL(workload_get(b->w, "outer") * workload_get(b->w, "inner"), wg),
                  (const int64_t[]){wg, 1});
}

const struct template reduce_naive = {
    .id = "reduce/naive",
    .version = 1,
    .summary = "one output a work-item: the baseline",
    .fit = naive_fit,
    .space = naive_space,
    .fallback = naive_fallback,
    .program = program,
    .numerics = reduce_numerics,
};
