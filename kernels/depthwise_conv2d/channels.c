/* SPDX-License-Identifier: MIT */
#include "core/err.h"
#include "kernels/build.h"
#include "kernels/depthwise_conv2d/depthwise_conv2d.h"

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    const char *id = "depthwise_conv2d/channels";
    const struct conv_shape z = conv_shape_of(w);

    if (conv_within(id, CONV_F16 | CONV_I8 | CONV_U8 | CONV_GROUPS | CONV_LAYOUTS | CONV_NHWC | CONV_EPILOGUE, w, why))
        return FIT_NONE;
    if (z.layout == IMAGES_NCHW || z.x_lanes != z.y_lanes || z.k != z.c) {
        why_set(
            why, ERR_UNSUPPORTED,
            "%s takes pixels' channels together, x and y alike: nhwc or blocks, mult=1, not layout=%s c=%lld k=%lld",
            id, images_layouts[z.layout], (long long)z.c, (long long)z.k);
        return FIT_NONE;
    }
    return d->kind == DEVICE_CPU ? FIT_POSSIBLE : FIT_GOOD;
}

static const char *const quantities[][2] = {
    {"work_items", "wg"},
    {"strips", "ceil_div(size_q, px)"},
    {"chunks", "ceil_div(size_p, vh)"},
    {"items", "size_n * size_k / vec * chunks * strips"},
    {"groups", "ceil_div(items, wg)"},
    {"in_h", "(vh - 1) * stride_h + (size_r - 1) * dil_h + 1"},
    {"in_w", "(px - 1) * stride_w + (size_s - 1) * dil_w + 1"},
    {"loads_per_output", "in_h * in_w / (vh * px)"},
    {"accumulators", "vh * px * ceil_div(vec, max(lanes, 4))"},
    {"held", "vh * px * vec"}, /* sums in registers */
    {"waste_q", "strips * px / size_q"},
    {"waste_p", "chunks * vh / size_p"},
    {"lane_use", "min(vec, lanes) / max(lanes, 4)"},
    {"body", "vh * px * size_r * size_s"},
    {NULL, NULL},
};

static const char *const constraints[] = {
    "wg <= max_group and wg <= max_x",
    "wg == 1 or wg < 2 * items",
    "px == 1 or px < 2 * size_q",
    "vh == 1 or vh < 2 * size_p",
    "held <= 128",
    "vh * px == 1 or (body <= 512 and in_h * in_w <= 256)",
    NULL,
};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct build_knob knobs[] = {build_vectors(conv_shape_of(w).y_lanes),
                                       {"px", {1, 2, 3, 4, 6, 7, 8, BUILD_END}},
                                       {"vh", {1, 2, 3, 4, 7, 8, BUILD_END}},
                                       {"wg", {1, 32, 64, 128, 256, BUILD_END}},
                                       {0}};

    return conv_space(w, d, knobs, quantities, constraints, s, why);
}

/* The largest tile of which there are two groups for each multiprocessor; the smallest where there are none. */
static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    static const int64_t tiles[][2] = {{4, 2}, {4, 1}, {2, 1}, {1, 1}};
    const bool cpu = d->kind == DEVICE_CPU;
    const int64_t wg = cpu ? 1 : 128;

    (void)w;
    for (size_t i = 0; i < sizeof tiles / sizeof tiles[0]; i++) {
        double groups;

        *out = (struct config){{0}};
        build_choose(
            s,
            (const struct build_define[]){{"vec", 4}, {"px", tiles[i][0]}, {"vh", tiles[i][1]}, {"wg", wg}, {NULL, 0}},
            out);
        if (build_make_valid(s, (const char *const[]){"px", "vh", "wg", "vec", NULL}, out))
            return ERR_NOT_FOUND;
        if (space_eval(s, out, "groups", &groups) || groups >= 2 * (double)build_threads(d))
            break;
    }
    return ERR_OK;
}

static void program(struct build *b)
{
    const struct conv_shape z = conv_shape_of(b->w);
    const int64_t grid[] = {build_int(b, "groups"), 1, 1}, block[] = {build_int(b, "wg"), 1, 1};

    build_module(b, "depthwise_conv2d/channels.cl");
    conv_define_shape(b, &z);
    build_last_launch(
        b, "depthwise_channels", grid, block,
        (const int[]){0, conv_pack_weights(b, "depthwise_pack_channels", conv_sums(b->w, b->d), z.k * z.r * z.s), -1});
}

const struct template depthwise_channels = {
    .id = "depthwise_conv2d/channels",
    .version = 1,
    .summary = "GPU: nhwc and blocks, vectors of a pixel's channels, tiles of pixels in registers",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};
