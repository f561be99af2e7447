/* SPDX-License-Identifier: MIT */
#include "core/err.h"
#include "kernels/resize2d/resize2d.h"

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    (void)why;
    return d->kind == DEVICE_CPU && resize2d_shape(w).lanes == 1 ? FIT_POSSIBLE : FIT_GOOD;
}

static const char *const quantities[][2] = {
    {"work_items", "wg"},
    {"strips", "ceil_div(size_q, px)"},
    {"chunks", "ceil_div(size_p, rows)"},
    {"items", "planes * lanes_n / vec * chunks * strips"},
    {"groups", "ceil_div(items, wg)"},
    {"waste_q", "strips * px / size_q"},
    {"waste_p", "chunks * rows / size_p"},
    {"lane_use", "min(vec, lanes) / max(lanes, 4)"},
    {"loads_per_output", "1 + 3 * is_linear"},
    {NULL, NULL},
};

static const char *const constraints[] = {
    "wg <= max_group and wg <= max_x",
    "wg == 1 or wg < 2 * items",
    "px == 1 or px < 2 * size_q",
    "rows == 1 or rows < 2 * size_p",
    NULL,
};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct build_knob knobs[] = {build_vectors(resize2d_shape(w).lanes),
                                       {"px", {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, BUILD_END}},
                                       {"rows", {1, 2, 4, 7, 8, 14, 16, 28, 32, 56, 64, 128, BUILD_END}},
                                       {"wg", {1, 2, 4, 8, 16, 32, 64, 128, 256, BUILD_END}},
                                       {0}};

    return resize2d_space(w, d, knobs, quantities, constraints, s, why);
}

static struct build_items pixel_items(const int64_t *v, const void *arg)
{
    const struct resize_shape *z = arg;

    return (struct build_items){.n = z->n * z->c / z->lanes * CEIL(z->rows.size, v[0]) * CEIL(z->cols.size, v[1]),
                                .cycles = (double)(v[0] * v[1] * (z->is_linear ? 8 : 3)) + BUILD_ITEM_CYCLES};
}

/* CPUs: rows of a block. Others: one pixel a work-item. */
static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const struct resize_shape z = resize2d_shape(w);
    const bool cpu = d->kind == DEVICE_CPU;

    *out = (struct config){{0}};
    build_choose(s,
                 (const struct build_define[]){{"vec", cpu ? z.lanes : 4},
                                               {"px", cpu ? z.cols.size : 1},
                                               {"rows", cpu ? 16 : 1},
                                               {"wg", cpu ? 1 : 64},
                                               {NULL, 0}},
                 out);
    if (build_make_valid(s, (const char *const[]){"rows", "px", "wg", NULL}, out))
        return ERR_NOT_FOUND;
    if (cpu)
        build_spread(s, d, (const char *const[]){"rows", "px", NULL}, pixel_items, &z, out);
    return ERR_OK;
}

static void program(struct build *b)
{
    const int64_t grid[] = {build_int(b, "groups"), 1, 1}, block[] = {build_int(b, "wg"), 1, 1};

    build_module(b, "resize2d/pixels.cl");
    resize2d_define(b);
    build_launch(b, PHASE_RUN, "resize2d_pixels", grid, block, (const int[]){0, 1, -1});
}

const struct template resize2d_pixels = {
    .id = "resize2d/pixels",
    .version = 1,
    .summary = "pixels in a row a work-item, rows of them; lanes along channels",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
    .numerics = resize2d_numerics,
};
