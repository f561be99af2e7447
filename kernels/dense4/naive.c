/* SPDX-License-Identifier: MIT */
#include "kernels/dense4/dense4.h"
#include "kernels/naive.h"

static void program(struct build *b)
{
    const int64_t n = workload_get(b->w, "m") * workload_get(b->w, "n"), wg = build_int(b, "wg");

    build_module(b, "dense4/naive.cl");
    dense4_define(b);
    dense4_launch(b, "dense4_naive", (const int64_t[]){CEIL(n, wg), 1, 1}, (const int64_t[]){wg, 1, 1}, 2);
}

const struct template dense4_naive = {
    .id = "dense4/naive",
    .version = 1,
    .summary = "one output a work-item, from the definition: the baseline",
    .fit = naive_fit,
    .space = naive_space,
    .fallback = naive_fallback,
    .program = program,
};
