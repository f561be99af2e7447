/* SPDX-License-Identifier: MIT */
#include "kernels/deformable_conv2d/deformable_conv2d.h"
#include "kernels/naive.h"

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    (void)d;
    return conv_within("deformable_conv2d/naive", CONV_F16, w, why) ? FIT_NONE : FIT_BASELINE;
}

static void program(struct build *b)
{
    const struct conv_shape z = conv_shape_of(b->w);
    const int64_t wg = build_int(b, "wg"), grid[] = {CEIL(z.n * z.k * z.p * z.q, wg), 1, 1}, block[] = {wg, 1, 1};

    build_module(b, "deformable_conv2d/naive.cl");
    deformable_define_shape(b, &z);
    build_last_launch(b, "deformable_naive", grid, block, (const int[]){0, build_tensor(b, "offset"), 1, -1});
}

const struct template deformable_naive = {
    .id = "deformable_conv2d/naive",
    .version = 2,
    .summary = "one output a work-item, from the definition: the baseline",
    .fit = fit,
    .space = naive_space,
    .fallback = naive_fallback,
    .program = program,
};
