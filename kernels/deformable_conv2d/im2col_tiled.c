/* SPDX-License-Identifier: MIT */
#include "core/err.h"
#include "kernels/conv/panels.h"
#include "kernels/deformable_conv2d/deformable_conv2d.h"

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    if (conv_within("deformable_conv2d/im2col_tiled", CONV_F16, w, why))
        return FIT_NONE;
    return d->kind == DEVICE_GPU ? FIT_GOOD : FIT_POSSIBLE;
}

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    return panels_space(w, d, 1, s, why);
}

static void program(struct build *b)
{
    const int64_t places = workload_get(b->w, "deformable_groups") * workload_get(b->w, "r") * workload_get(b->w, "s");

    panels_program(
        b, &(struct panels){"deformable_conv2d/im2col_tiled.cl", "deformable_cols", places, build_tensor(b, "offset")});
    build_define(b, "DG", workload_get(b->w, "deformable_groups"));
}

const struct template deformable_im2col_tiled = {
    .id = "deformable_conv2d/im2col_tiled",
    .stages = true,
    .version = 3,
    .summary = "GPU: samples written out in panels, then a tiled matrix product through local memory",
    .fit = fit,
    .space = space,
    .fallback = panels_fallback,
    .program = program,
};
