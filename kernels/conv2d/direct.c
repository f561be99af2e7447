/* SPDX-License-Identifier: MIT */
/* Knobs are those of TVM's conv2d_nchw and group_conv2d_nchw for CUDA, with tails allowed and the same text for both:
 * conv2d/direct is the case of one group and one image a tile. */
#include "core/err.h"
#include "kernels/conv/strips.h"
#include "kernels/conv2d/conv2d.h"

#define CAPS (CONV_F16 | CONV_I8 | CONV_GROUPS | CONV_LAYOUTS | CONV_EPILOGUE)

static enum fit suits(const struct device_desc *d)
{
    return d->kind == DEVICE_CPU || d->kind == DEVICE_MALI ? FIT_POSSIBLE : FIT_GOOD;
}

static enum fit fit_direct(const struct workload *w, const struct device_desc *d, struct why *why)
{
    return conv_within("conv2d/direct", CAPS & ~(unsigned)CONV_GROUPS, w, why) ? FIT_NONE : suits(d);
}

static enum fit fit_group(const struct workload *w, const struct device_desc *d, struct why *why)
{
    if (workload_get(w, "groups") == 1) {
        why_set(why, ERR_UNSUPPORTED, "conv2d/group computes groups > 1; conv2d/direct computes one group");
        return FIT_NONE;
    }
    return conv_within("conv2d/group", CAPS, w, why) ? FIT_NONE : suits(d);
}

static const char *const staged[][2] = {
    {"x_staged", "n_tile * g_v * rc_i * staged_rows * staged_columns"},
    {"f_lanes", "(f_r % 4 == 0) * 2 + (f_r % 2 == 0) + 1"}, /* the vector that divides f_r, up to 4 */
    {"w_staged", "ceil_div(g_v * terms * f_tile, 4) * 4"},
    {"local_bytes", "((1 + dbuf_x) * x_staged + (1 + dbuf_w) * w_staged) * sum_elem_bytes"},
    {NULL, NULL},
};

static enum err space_of(const struct workload *w, const struct device_desc *d, bool grouped, struct space *s,
                         struct why *why)
{
    const struct conv_shape z = conv_shape_of(w);
    const struct strips form = {.f = z.k / z.groups,
                                .g = z.groups,
                                .c = z.c / z.groups,
                                .f_unit = 1,
                                .most_f = 16,
                                .most_c = d->kind == DEVICE_CPU ? 64 : 512,
                                .most_window = d->kind == DEVICE_CPU ? 16 : 512,
                                .unroll = 512,
                                .grouped = grouped,
                                .staged = true,
                                .splits = true,
                                .ahead = true,
                                .elem = w->dtype,
                                .sum = conv_sums(w, d)};
    enum err e = strips_add_knobs(s, &form, &z, d, why);

    if (!e)
        e = build_quantities(s, staged, why);
    return e ? e : strips_add_constraints(s, d, why);
}

static enum err space_direct(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    return space_of(w, d, false, s, why);
}

static enum err space_group(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    return space_of(w, d, true, s, why);
}

/* A CPU: one item a group, a row of pixels for each of 4 channels. */
static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    static const struct build_define cpu[] = {{"f_t", 1},  {"f_r", 4},  {"y_t", 1},  {"y_r", 1},  {"x_t", 1},
                                              {"x_r", 16}, {"rc_i", 4}, {"ry_i", 3}, {"rx_i", 3}, {NULL, 0}};
    const struct conv_shape z = conv_shape_of(w);

    return strips_fallback(s, &z, d, 0, cpu, out);
}

static void program(struct build *b)
{
    const struct conv_shape z = conv_shape_of(b->w);

    build_module(b, "conv2d/direct.cl");
    conv_define_shape(b, &z);
    build_define(b, "VEC", build_int(b, "f_lanes"));
    strips_launch(b, &z, "conv2d_direct", (const int[]){0, strips_pack_weights(b, b->w->dtype), -1});
}

const struct template conv2d_direct = {
    .id = "conv2d/direct",
    .stages = true,
    .version = 7,
    .summary = "GPU: tiles of input and weights in local memory, strips of outputs a work-item",
    .fit = fit_direct,
    .space = space_direct,
    .fallback = fallback,
    .program = program,
};

const struct template conv2d_group = {
    .id = "conv2d/group",
    .stages = true,
    .version = 7,
    .summary = "GPU: the direct form with tiles over images and groups of channels",
    .fit = fit_group,
    .space = space_group,
    .fallback = fallback,
    .program = program,
};
