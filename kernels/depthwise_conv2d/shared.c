/* SPDX-License-Identifier: MIT */
/* Knobs are those of TVM's depthwise_conv2d_nchw for CUDA, with tails allowed. */
#include "core/err.h"
#include "kernels/conv/strips.h"
#include "kernels/depthwise_conv2d/depthwise_conv2d.h"

/* Of the smallest tile. */
static int64_t least_local_bytes(const struct conv_shape *z)
{
    return (((z->r - 1) * z->dil_h + 1) * ((z->s - 1) * z->dil_w + 1) + CEIL(z->r * z->s, 4) * 4) * 4;
}

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    const struct conv_shape z = conv_shape_of(w);

    if (conv_within("depthwise_conv2d/shared", CONV_F16 | CONV_I8 | CONV_GROUPS | CONV_LAYOUTS | CONV_EPILOGUE, w, why))
        return FIT_NONE;
    if (least_local_bytes(&z) > build_max_local(d)) {
        why_set(why, ERR_UNSUPPORTED,
                "depthwise_conv2d/shared stages a window in local memory: %lld bytes, the device has %lld",
                (long long)least_local_bytes(&z), (long long)build_max_local(d));
        return FIT_NONE;
    }
    return d->kind == DEVICE_CPU || d->kind == DEVICE_MALI ? FIT_POSSIBLE : FIT_GOOD;
}

static const char *const staged[][2] = {
    {"x_staged", "f_tile * staged_rows * staged_columns"},
    {"w_staged", "ceil_div(terms * f_tile, 4) * 4"},
    {"local_bytes", "(x_staged + w_staged) * sum_elem_bytes"},
    {"staged_per_output", "x_staged / (f_tile * y_tile * x_tile)"},
    {NULL, NULL},
};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct conv_shape z = conv_shape_of(w);
    const struct strips form = {
        .f = z.k, .g = 1, .c = 1, .f_unit = 1, .most_f = 16, .unroll = 256, .elem = w->dtype, .sum = conv_sums(w, d)};
    enum err e = strips_add_knobs(s, &form, &z, d, why);

    if (!e)
        e = build_quantities(s, staged, why);
    return e ? e : strips_add_constraints(s, d, why);
}

/* Neighbouring work-items read neighbouring columns; a few rows each, so that staged rows are used again. */
static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    static const char *const lowered[] = {"f_t", "y_r", "x_t", "y_t", "x_r", NULL};
    static const struct build_define cpu[] = {{"y_r", 4}, {"x_r", 16}, {NULL, 0}};
    static const struct build_define gpu[] = {{"f_t", 2}, {"y_t", 4}, {"y_r", 4}, {"x_t", 16}, {NULL, 0}};

    (void)w;
    return strips_choose(s, d, d->kind == DEVICE_CPU ? cpu : gpu, lowered, out);
}

static void program(struct build *b)
{
    const struct conv_shape z = conv_shape_of(b->w);

    build_module(b, "depthwise_conv2d/shared.cl");
    conv_define_shape(b, &z);
    build_define(b, "VEC", 1);
    strips_launch(b, &z, "depthwise_shared", (const int[]){0, strips_pack_weights(b, b->w->dtype), -1});
}

const struct template depthwise_shared = {
    .id = "depthwise_conv2d/shared",
    .stages = true,
    .version = 5,
    .summary = "GPU: the input of a tile and its weights in local memory, strips of outputs a work-item",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};
