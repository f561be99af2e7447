/* SPDX-License-Identifier: MIT */
#include "kernels/gather/gather.h"
#include "kernels/naive.h"

static void program(struct build *b)
{
    const int64_t wg = build_int(b, "wg"), rows = workload_get(b->w, "outer") * workload_get(b->w, "m");

    build_module(b, "gather/naive.cl");
    gather_launch(b, "gather_naive", CEIL(rows * workload_get(b->w, "inner"), wg), wg);
}

const struct template gather_naive = {
    .id = "gather/naive",
    .version = 1,
    .summary = "one element a work-item: the baseline",
    .fit = naive_fit,
    .space = naive_space,
    .fallback = naive_fallback,
    .program = program,
    .numerics = numerics_exact,
};
