/* SPDX-License-Identifier: MIT */
#include "kernels/conv2d/conv2d.h"
#include "core/err.h"
#include "kernels/naive.h"

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    return conv_within("conv2d/naive",
                       CONV_F16 | CONV_BF16 | CONV_I8 | CONV_U8 | CONV_GROUPS | CONV_LAYOUTS | CONV_NHWC |
                           CONV_EPILOGUE,
                       w, why)
               ? FIT_NONE
               : naive_fit(w, d, why);
}

static void program(struct build *b)
{
    const struct conv_shape z = conv_shape_of(b->w);
    const int64_t wg = build_int(b, "wg"), grid[] = {CEIL(z.n * z.k * z.p * z.q, wg), 1, 1}, block[] = {wg, 1, 1};

    build_module(b, "conv2d/naive.cl");
    conv_define_shape(b, &z);
    build_last_launch(b, "conv2d_naive", grid, block, (const int[]){0, 1, -1});
}

const struct template conv2d_naive = {
    .id = "conv2d/naive",
    .version = 3,
    .summary = "one output a work-item, from the definition: the baseline",
    .fit = fit,
    .space = naive_space,
    .fallback = naive_fallback,
    .program = program,
};
