/* SPDX-License-Identifier: MIT */
#include "kernels/attention/attention.h"
#include "kernels/naive.h"

static void program(struct build *b)
{
    const struct attention_shape s = attention_shape_of(b->w);
    const int64_t wg = build_int(b, "wg"), grid[] = {CEIL(s.b * s.heads * s.q, wg), 1, 1}, block[] = {wg, 1, 1};

    build_module(b, "attention/naive.cl");
    attention_define(b);
    attention_launch(b, "attention_naive", grid, block, NULL);
}

const struct template attention_naive = {
    .id = "attention/naive",
    .version = 1,
    .summary = "one query a work-item: the baseline",
    .fit = naive_fit,
    .space = naive_space,
    .fallback = naive_fallback,
    .program = program,
    .numerics = attention_numerics,
};
