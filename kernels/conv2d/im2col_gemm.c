/* SPDX-License-Identifier: MIT */
#include "core/err.h"
#include "kernels/conv/panels.h"
#include "kernels/conv2d/conv2d.h"

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    if (conv_within("conv2d/im2col_gemm", CONV_F16 | CONV_I8 | CONV_LAYOUTS | CONV_EPILOGUE, w, why))
        return FIT_NONE;
    return d->kind == DEVICE_GPU && kernel_lang(d) != LANG_CUDA_C ? FIT_GOOD : FIT_POSSIBLE; /* there: implicit_gemm */
}

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    return panels_space(w, d, 2, s, why);
}

static void program(struct build *b)
{
    panels_program(b, &(struct panels){"conv2d/im2col_gemm.cl", "im2col", workload_get(b->w, "c"), -1});
}

const struct template conv2d_im2col_gemm = {
    .id = "conv2d/im2col_gemm",
    .stages = true,
    .version = 6,
    .summary = "matrix product over patches of the input: written out first, or gathered while loading",
    .fit = fit,
    .space = space,
    .fallback = panels_fallback,
    .program = program,
};
