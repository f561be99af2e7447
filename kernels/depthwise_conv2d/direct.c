/* SPDX-License-Identifier: MIT */
/* Knobs are those of TVM's depthwise_conv2d_nchw for Mali, with tails allowed. */
#include "core/err.h"
#include "kernels/build.h"
#include "kernels/depthwise_conv2d/depthwise_conv2d.h"

#include <assert.h>

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    if (conv_within("depthwise_conv2d/direct", CONV_F16 | CONV_I8 | CONV_GROUPS | CONV_EPILOGUE, w, why))
        return FIT_NONE;
    return d->kind == DEVICE_MALI ? FIT_GOOD : FIT_POSSIBLE;
}

/* 0 a loop, 1 unrolled, 2 a vector. */
static const struct build_knob last_knobs[] = {
    {"ann_c", {0, 1, 2, BUILD_END}}, {"ann_y", {0, 1, 2, BUILD_END}}, {"ann_x", {0, 1, 2, BUILD_END}}, {0}};

static const char *const quantities[][2] = {
    {"work_items", "c_t * y_t * x_t"},
    {"outputs", "c_r * y_r * x_r"},
    {"vector", "(ann_c == 2) * (c_r - 1) + (ann_y == 2) * (y_r - 1) + (ann_x == 2) * (x_r - 1) + 1"},
    {"accumulators", "outputs / vector * ceil_div(vector, max(lanes, 4))"},
    {"waste_c", "ceil_div(size_k, c_t * c_r) * c_t * c_r / size_k"},
    {"waste_y", "ceil_div(size_p, y_t * y_r) * y_t * y_r / size_p"},
    {"waste_x", "ceil_div(size_q, x_t * x_r) * x_t * x_r / size_q"},
    {"waste", "waste_c * waste_y * waste_x"},
    {"groups", "size_n * ceil_div(size_k, c_t * c_r) * ceil_div(size_p, y_t * y_r) * ceil_div(size_q, x_t * x_r)"},
    {"contiguous", "(ann_x == 2) * (stride_w == 1)"},
    {"unrolled", "((ann_c == 1) * (c_r - 1) + 1) * ((ann_y == 1) * (y_r - 1) + 1) * ((ann_x == 1) * (x_r - 1) + 1)"},
    {"body", "unrolled * size_r * size_s * vector"},
    {NULL, NULL},
};

static const char *const constraints[] = {
    "work_items <= max_group",
    "x_t <= max_x and y_t <= max_y and c_t <= max_z",
    "(ann_c == 2) + (ann_y == 2) + (ann_x == 2) <= 1",
    "ann_c != 2 or c_r in {2, 4, 8, 16}",
    "ann_y != 2 or y_r in {2, 4, 8, 16}",
    "ann_x != 2 or x_r in {2, 4, 8, 16}",
    "c_r > 1 or ann_c == 0",
    "y_r > 1 or ann_y == 0",
    "x_r > 1 or ann_x == 0",
    "outputs <= most_outputs",
    "c_t * c_r < 2 * size_k",
    "y_t * y_r < 2 * size_p",
    "x_t * x_r < 2 * size_q",
    "body <= most_body or unrolled == 1",
    NULL,
};

/* Mali's recorded best compute up to 2,048 outputs an item, their loops left rolled. */
static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct conv_shape z = conv_shape_of(w);
    const int64_t items = build_max_group(d) < 1024 ? build_max_group(d) : 1024;
    const bool mali = d->kind == DEVICE_MALI;
    const int64_t own = mali ? 128 : 16;
    const struct build_named most[] = {
        {"most_outputs", mali ? 2048 : 256}, {"most_body", mali ? 2048 : 1024}, {NULL, 0}};
    const struct build_split all[] = {{"c_t", z.k, items}, {"c_r", z.k, own}, {"y_t", z.p, items}, {"y_r", z.p, own},
                                      {"x_t", z.q, items}, {"x_r", z.q, own}, {NULL, 0, 0}};
    enum err e = build_split_knobs(s, all, why);

    if (!e)
        e = build_constants(s, most, why);

    return e ? e : conv_space(w, d, last_knobs, quantities, constraints, s, why);
}

static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const struct conv_shape z = conv_shape_of(w);
    const bool cpu = d->kind == DEVICE_CPU;
    const int64_t x_r = cpu ? build_vector(d) : 4, row = x_r < z.q ? x_r : z.q < 2 ? 1 : z.q < 4 ? 2 : 4;

    *out = (struct config){{0}};
    build_choose(s,
                 (const struct build_define[]){{"x_t", cpu ? 1 : 8},
                                               {"y_t", cpu ? 1 : 4},
                                               {"x_r", row},
                                               {"y_r", z.p < 2 ? 1 : 2},
                                               {"ann_y", z.p < 2 ? 0 : 1},
                                               {"ann_x", row > 1 ? 2 : 0},
                                               {NULL, 0}},
                 out);
    if (space_is_valid(s, out, NULL))
        return ERR_OK;
    return build_make_valid(s, (const char *const[]){"ann_x", "ann_y", "x_t", "y_t", "y_r", "x_r", NULL}, out);
}

/* Groups along x, y and z; all along x where there are more than CUDA has along the others. */
static const int64_t *grid_of(bool flat, int64_t out[3])
{
    if (flat) {
        out[0] *= out[1] * out[2];
        out[1] = out[2] = 1;
    }
    return out;
}

static void program(struct build *b)
{
    const struct conv_shape z = conv_shape_of(b->w);
    const int64_t c_t = build_int(b, "c_t"), y_t = build_int(b, "y_t"), x_t = build_int(b, "x_t");
    const int64_t tiles_c = CEIL(z.k, c_t * build_int(b, "c_r")), tile_y = y_t * build_int(b, "y_r");
    const int64_t tile_x = x_t * build_int(b, "x_r"),
                  pad_wg = build_max_side(b->d, 0) < 64 ? build_max_side(b->d, 0) : 64;
    const int64_t hp = (CEIL(z.p, tile_y) * tile_y - 1) * z.stride_h + (z.r - 1) * z.dil_h + 1;
    const int64_t wp = (CEIL(z.q, tile_x) * tile_x - 1) * z.stride_w + (z.s - 1) * z.dil_w + 1;
    int64_t grid[] = {CEIL(z.q, tile_x), CEIL(z.p, tile_y), z.n * tiles_c}, pads[] = {CEIL(wp, pad_wg), hp, z.n * z.c};
    const int64_t block[] = {x_t, y_t, c_t}, most = 65535;
    const bool flat = z.n * z.k > most || hp > most;
    const int xp = build_buffer(b, "xp", ROLE_SCRATCH, b->w->dtype, z.n * z.c * hp * wp);

    assert(tiles_c * c_t * build_int(b, "c_r") >= z.k && x_t * y_t * c_t == build_int(b, "work_items"));
    build_module(b, "depthwise_conv2d/direct.cl");
    conv_define_shape(b, &z);
    build_define(b, "VEC", build_int(b, "vector"));
    build_define(b, "PAD_WG", pad_wg);
    build_define(b, "FLAT", flat);
    build_launch(b, PHASE_RUN, "depthwise_pad", grid_of(flat, pads), (const int64_t[]){pad_wg, 1, 1},
                 (const int[]){0, xp, -1});
    build_last_launch(b, "depthwise_direct", grid_of(flat, grid), block, (const int[]){xp, 1, -1});
}

const struct template depthwise_direct = {
    .id = "depthwise_conv2d/direct",
    .version = 2,
    .summary = "Mali: a block of neighbouring outputs a work-item over a padded copy, loops or one axis as a vector",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};
