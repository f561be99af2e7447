/* SPDX-License-Identifier: MIT */
#include "kernels/naive.h"
#include "kernels/strided_copy/strided_copy.h"

static void program(struct build *b)
{
    const struct strided_copy s = strided_copy_of(b->w);
    const int64_t wg = build_int(b, "wg");

    build_module(b, "strided_copy/naive.cl");
    strided_copy_launch(b, "strided_copy_naive", CEIL(strided_copy_elems(&s), wg), wg);
}

const struct template strided_copy_naive = {
    .id = "strided_copy/naive",
    .version = 1,
    .summary = "one element a work-item: the baseline",
    .fit = naive_fit,
    .space = naive_space,
    .fallback = naive_fallback,
    .program = program,
    .numerics = numerics_exact,
};
