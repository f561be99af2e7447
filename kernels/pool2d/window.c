/* SPDX-License-Identifier: MIT */
#include "kernels/pool2d/pool2d.h"

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    const struct conv_shape z = conv_shape_of(w);
    const bool is_rows = d->kind == DEVICE_CPU && z.y_lanes == 1;

    (void)why;
    return is_rows || pool2d_is_plane(&z) ? FIT_POSSIBLE : FIT_GOOD;
}

static const char *const quantities[][2] = {
    {"work_items", "wg"},
    {"strips", "ceil_div(size_q, px * tiles)"},
    {"chunks", "ceil_div(size_p, rows)"},
    {"items", "size_n * size_k / vec * chunks * strips"},
    {"groups", "ceil_div(items, wg)"},
    {"in_w", "(px - 1) * stride_w + size_s"},
    {"loads_per_output", "in_w * size_r / px"},
    {"accumulators", "px * ceil_div(vec, max(lanes, 4))"},
    {"waste_q", "strips * px * tiles / size_q"},
    {"waste_p", "chunks * rows / size_p"},
    {"lane_use", "min(vec, lanes) / max(lanes, 4)"},
    {"body", "px * size_s"},
    {NULL, NULL},
};

static const char *const constraints[] = {
    "wg <= max_group and wg <= max_x",
    "wg == 1 or wg < 2 * items",
    "px == 1 or px < 2 * size_q",
    "tiles == 1 or px * tiles < 2 * size_q",
    "rows == 1 or rows < 2 * size_p",
    "px == 1 or (body <= 64 and in_w <= 64)",
    NULL,
};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct conv_shape z = conv_shape_of(w);
    const struct build_knob knobs[] = {build_vectors(z.y_lanes),
                                       {"px", {1, 2, 3, 4, 6, 7, 8, BUILD_END}},
                                       {"tiles", {1, 2, 4, 8, 16, 32, 64, 128, BUILD_END}},
                                       {"rows", {1, 2, 4, 7, 8, 14, 16, 28, 32, 56, 64, 112, 128, BUILD_END}},
                                       {"wg", {1, 2, 4, 8, 16, 32, 64, 128, 256, BUILD_END}},
                                       {0}};

    return conv_space(w, d, knobs, quantities, constraints, s, why);
}

/* The work-items of `rows` rows and `tiles` tiles of 8 pixels: vectors that they load. */
static struct build_items window_items(const int64_t *v, const void *arg)
{
    const struct conv_shape *z = arg;

    return (struct build_items){.n = z->n * z->k / z->y_lanes * CEIL(z->p, v[0]) * CEIL(z->q, 8 * v[1]),
                                .cycles = (double)(v[0] * v[1] * z->r * (7 * z->stride_w + z->s)) + BUILD_ITEM_CYCLES};
}

/* CPUs: rows of a block, tile by tile. Others: one tile a work-item. */
static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const struct conv_shape z = conv_shape_of(w);
    const bool cpu = d->kind == DEVICE_CPU;
    const int64_t px = z.s > 16 ? 1 : cpu ? 8 : z.y_lanes > 1 ? 2 : 1;

    *out = (struct config){{0}};
    build_choose(s,
                 (const struct build_define[]){{"vec", cpu ? z.y_lanes : 4},
                                               {"px", px < z.q ? px : z.q},
                                               {"tiles", cpu ? CEIL(z.q, px) : 1},
                                               {"rows", cpu ? 14 : 1},
                                               {"wg", cpu ? 1 : 64},
                                               {NULL, 0}},
                 out);
    if (build_make_valid(s, (const char *const[]){"rows", "tiles", "wg", "px", NULL}, out))
        return ERR_NOT_FOUND;
    if (cpu)
        build_spread(s, d, (const char *const[]){"rows", "tiles", NULL}, window_items, &z, out);
    return ERR_OK;
}

static void program(struct build *b)
{
    const struct conv_shape z = conv_shape_of(b->w);
    const int64_t grid[] = {build_int(b, "groups"), 1, 1}, block[] = {build_int(b, "wg"), 1, 1};

    build_module(b, "pool2d/window.cl");
    pool2d_define_shape(b, &z);
    build_launch(b, PHASE_RUN, "pool2d_window", grid, block, (const int[]){0, 1, -1});
}

const struct template pool2d_window = {
    .id = "pool2d/window",
    .version = 1,
    .summary = "neighbouring windows a work-item, each element loaded once for all of a row; lanes along channels",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
    .numerics = pool2d_numerics,
};
