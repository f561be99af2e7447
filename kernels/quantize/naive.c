/* SPDX-License-Identifier: MIT */
#include "kernels/naive.h"
#include "kernels/quantize/quantize.h"
#include "kernels/workload.h"

static void program(struct build *b)
{
    const int64_t wg = build_int(b, "wg");

    build_module(b, "quantize/naive.cl");
    quantize_launch(b, "quantize_naive", CEIL(workload_get(b->w, "n"), wg), wg);
}

const struct template quantize_naive = {
    .id = "quantize/naive",
    .version = 1,
    .summary = "one element a work-item: the baseline",
    .fit = naive_fit,
    .space = naive_space,
    .fallback = naive_fallback,
    .program = program,
    .numerics = numerics_exact,
};
