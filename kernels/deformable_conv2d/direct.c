/* SPDX-License-Identifier: MIT */
/* Knobs are those of TVM's deformable_conv2d_nchw for CUDA, with tails allowed. */
#include "core/err.h"
#include "kernels/conv/strips.h"
#include "kernels/deformable_conv2d/deformable_conv2d.h"

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    if (conv_within("deformable_conv2d/direct", CONV_F16, w, why))
        return FIT_NONE;
    return d->kind == DEVICE_CPU ? FIT_POSSIBLE : FIT_GOOD;
}

static const char *const staged[][2] = {
    {"x_staged", "terms * y_tile * x_tile"},
    {"f_lanes", "(f_r % 4 == 0) * 2 + (f_r % 2 == 0) + 1"}, /* the vector that divides f_r, up to 4 */
    {"w_staged", "ceil_div(terms * f_tile, 4) * 4"},
    {"local_bytes", "((1 + dbuf_x) * x_staged + (1 + dbuf_w) * w_staged) * sum_elem_bytes"},
    {"resampled", "ceil_div(size_k, f_tile)"}, /* how often each sample is computed */
    {NULL, NULL},
};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct conv_shape z = conv_shape_of(w);
    const struct strips form = {.f = z.k,
                                .g = 1,
                                .c = z.c,
                                .f_unit = 1,
                                .most_f = 16,
                                .most_c = d->kind == DEVICE_CPU ? 64 : 512,
                                .most_window = d->kind == DEVICE_CPU ? 16 : 512,
                                .unroll = 512,
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

/* Many channels a tile, for each tile of channels computes its samples anew; and many a step, for those share places.
 */
static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    static const char *const lowered[] = {"rc_i", "f_v", "x_t", "f_t", "y_t", "x_r", "f_r", NULL};
    static const struct build_define cpu[] = {{"f_t", 1},  {"f_r", 16}, {"f_v", 4},  {"x_r", 8},
                                              {"rc_i", 8}, {"ry_i", 1}, {"rx_i", 1}, {NULL, 0}};
    static const struct build_define mali[] = {{"f_t", 16}, {"f_r", 4},   {"f_v", 2},  {"y_t", 2},  {"x_t", 8},
                                               {"x_r", 2},  {"rc_i", 32}, {"ry_i", 1}, {"rx_i", 1}, {NULL, 0}};
    const struct conv_shape z = conv_shape_of(w);

    if (d->kind == DEVICE_GPU)
        return strips_fallback(s, &z, d, z.c / workload_get(w, "deformable_groups"), NULL, out);
    return strips_choose(s, d, d->kind == DEVICE_CPU ? cpu : mali, lowered, out);
}

static void program(struct build *b)
{
    const struct conv_shape z = conv_shape_of(b->w);

    build_module(b, "deformable_conv2d/direct.cl");
    deformable_define_shape(b, &z);
    build_define(b, "VEC", build_int(b, "f_lanes"));
    strips_launch(b, &z, "deformable_direct",
                  (const int[]){0, build_tensor(b, "offset"), strips_pack_weights(b, b->w->dtype), -1});
}

const struct template deformable_direct = {
    .id = "deformable_conv2d/direct",
    .stages = true,
    .version = 6,
    .summary = "GPU: samples and weights staged in local memory, strips of outputs a work-item",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};
