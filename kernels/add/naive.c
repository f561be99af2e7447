/* SPDX-License-Identifier: MIT */
#include "kernels/add/add.h"
#include "kernels/naive.h"

static void program(struct build *b)
{
    const int64_t wg = build_int(b, "wg");

    build_module(b, "add/naive.cl");
    add_launch(b, "add_naive", CEIL(add_elems(b->w), wg), wg);
}

const struct template add_naive = {
    .id = "add/naive",
    .version = 1,
    .summary = "one sum a work-item: the baseline",
    .fit = naive_fit,
    .space = naive_space,
    .fallback = naive_fallback,
    .program = program,
    .numerics = numerics_exact,
};
