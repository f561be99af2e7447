/* SPDX-License-Identifier: MIT */
#include "kernels/transform/transform.h"

#include "core/err.h"

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    (void)d;
    if (transform_is_turned(w))
        return FIT_GOOD;
    why_set(why, ERR_UNSUPPORTED, "transform/turned is for nhwc and another order of elements, not from=%s to=%s",
            images_layouts[workload_get(w, "from")], images_layouts[workload_get(w, "to")]);
    return FIT_NONE;
}

static const struct build_knob knobs[] = {
    {"tc", {4, 8, 16, 32, 64, 128, BUILD_END}},
    {"tp", {4, 8, 16, 32, 64, 128, BUILD_END}},
    {"pad", {0, 1, 2, 4, BUILD_END}},
    {"wg", {1, 8, 16, 32, 64, 128, 256, 512, BUILD_END}},
    {0},
};

static const char *const quantities[][2] = {
    {"work_items", "wg"},
    {"tiles_c", "ceil_div(size_c, tc)"},
    {"tiles_p", "ceil_div(area, tp)"},
    {"groups", "size_n * tiles_c * tiles_p"},
    {"turns", "ceil_div(tc * tp, wg)"},
    {"waste", "tiles_c * tc / size_c * tiles_p * tp / area"},
    {"local_bytes", "tp * (tc + pad) * elem_bytes"},
    {"pitch_bytes", "(tc + pad) * elem_bytes"},
    {NULL, NULL},
};

static const char *const constraints[] = {
    "wg <= max_group and wg <= max_x",
    "local_bytes <= max_local",
    "tc >= min(x_lanes, y_lanes)",
    "tc == 4 or tc < 2 * size_c",
    "tp == 4 or tp < 2 * area",
    "wg <= tc * tp",
    NULL,
};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    return transform_space(w, d, knobs, quantities, constraints, s, why);
}

/* Rows of 64 bytes of both, or more; a tile of a CPU, which has one work-item, stays in its first cache. */
static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const struct conv_shape z = transform_shape(w);
    const bool cpu = d->kind == DEVICE_CPU;
    const int64_t side = dtype_bytes(w->dtype) == 1 ? 64 : 32, area = z.h * z.w;

    *out = (struct config){{0}};
    build_choose(s,
                 (const struct build_define[]){{"tc", z.c < side ? z.c : side},
                                               {"tp", area < side ? area : side},
                                               {"pad", cpu ? 0 : 4 / (int64_t)dtype_bytes(w->dtype)},
                                               {"wg", cpu ? 1 : 256},
                                               {NULL, 0}},
                 out);
    return build_make_valid(s, (const char *const[]){"wg", "tp", "tc", "pad", NULL}, out);
}

static void program(struct build *b)
{
    const struct conv_shape z = transform_shape(b->w);
    const int64_t grid[] = {build_int(b, "groups"), 1, 1}, block[] = {build_int(b, "wg"), 1, 1};

    build_module(b, "transform/turned.cl");
    conv_define_shape(b, &z);
    b->p->needs_local_bytes = build_int(b, "local_bytes");
    build_launch(b, PHASE_RUN, "transform_turned", grid, block, (const int[]){0, 1, -1});
}

const struct template transform_turned = {
    .id = "transform/turned",
    .version = 1,
    .summary = "nhwc from and to other layouts: tiles turned around in local memory",
    .stages = true,
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
    .numerics = numerics_exact,
};
