/* SPDX-License-Identifier: MIT */
#include "kernels/pool2d/pool2d.h"

#include "core/err.h"

bool pool2d_is_plane(const struct conv_shape *z)
{
    return z->y_lanes == 1 && z->r == z->h && z->s == z->w && z->p == 1 && z->q == 1 && z->top + z->left == 0;
}

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    const struct conv_shape z = conv_shape_of(w);

    if (conv_within("pool2d/plane", CONV_F16 | CONV_I8 | CONV_GROUPS, w, why))
        return FIT_NONE;
    if (pool2d_is_plane(&z))
        return d->kind == DEVICE_MALI && z.h * z.w < 1024 ? FIT_POSSIBLE : FIT_GOOD;
    why_set(why, ERR_UNSUPPORTED,
            "pool2d/plane takes whole planes, r=h s=w without pad, not r=%lld s=%lld of h=%lld w=%lld", (long long)z.r,
            (long long)z.s, (long long)z.h, (long long)z.w);
    return FIT_NONE;
}

static const struct build_knob knobs[] = {
    {"vec", {1, 2, 4, 8, 16, BUILD_END}},
    {"wg", {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, BUILD_END}},
    {"planes", {1, 2, 4, 8, 16, 32, 64, 128, BUILD_END}},
    {0},
};

static const char *const quantities[][2] = {
    {"work_items", "wg"},
    {"area", "size_h * size_w"},
    {"turns", "ceil_div(area, wg * vec)"},
    {"waste", "turns * wg * vec / area"},
    {"lane_use", "min(vec, lanes) / max(lanes, 4)"},
    {"groups", "ceil_div(size_n * size_k, planes)"},
    {"local_bytes", "(wg > 1) * sum_elem_bytes * wg"},
    {NULL, NULL},
};

static const char *const constraints[] = {
    "wg <= max_group and wg <= max_x",
    "local_bytes <= max_local",
    "vec == 1 or vec <= area",
    "wg == 1 or wg * vec < 2 * area",
    "planes == 1 or planes < 2 * size_n * size_k",
    NULL,
};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    return conv_space(w, d, knobs, quantities, constraints, s, why);
}

static struct build_items plane_items(const int64_t *v, const void *arg)
{
    const struct conv_shape *z = arg;

    return (struct build_items){.n = CEIL(z->n * z->k, v[0]),
                                .cycles = (double)(v[0] * z->h * z->w) + BUILD_ITEM_CYCLES};
}

static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const struct conv_shape z = conv_shape_of(w);
    const bool cpu = d->kind == DEVICE_CPU;
    const int64_t vec = cpu ? build_vector(d) : 1;

    *out = (struct config){{0}};
    build_choose(s,
                 (const struct build_define[]){{"vec", vec < z.h * z.w ? vec : z.h * z.w},
                                               {"wg", cpu ? 1 : 64},
                                               {"planes", cpu ? CEIL(z.n * z.k, 4) : 1},
                                               {NULL, 0}},
                 out);
    if (build_make_valid(s, (const char *const[]){"planes", "wg", "vec", NULL}, out))
        return ERR_NOT_FOUND;
    if (cpu)
        build_spread(s, d, (const char *const[]){"planes", NULL}, plane_items, &z, out);
    return ERR_OK;
}

static void program(struct build *b)
{
    const struct conv_shape z = conv_shape_of(b->w);
    const int64_t grid[] = {build_int(b, "groups"), 1, 1}, block[] = {build_int(b, "wg"), 1, 1};

    build_module(b, "pool2d/plane.cl");
    pool2d_define_shape(b, &z);
    b->p->needs_local_bytes = build_int(b, "local_bytes");
    build_launch(b, PHASE_RUN, "pool2d_plane", grid, block, (const int[]){0, 1, -1});
}

const struct template pool2d_plane = {
    .id = "pool2d/plane",
    .stages = true,
    .version = 2,
    .summary = "nchw, whole planes (global pooling): one array each, shared by a group's work-items",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
    .numerics = pool2d_numerics,
};
