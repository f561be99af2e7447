/* SPDX-License-Identifier: MIT */
#include "core/err.h"
#include "kernels/build.h"
#include "kernels/conv2d/conv2d.h"
#include "kernels/conv2d/winograd_shape.h"

#include <assert.h>

/* Of fewer channels the transforms cost more than the products that they save: beside direct_tile, both defaults, 112 x
 * 112 and 64 filters on AVX-512, 0.61x with 3 channels, 1.26x with 8, 2.1x with 16. */
#define LEAST_CHANNELS 8

/* Local memory of the smallest config: one row of tiles of nchw tensors. */
static int64_t least_local_bytes(const struct conv_shape *z)
{
    const int64_t vec = z->x_lanes > 1 ? z->x_lanes : z->y_lanes > 1 ? z->y_lanes : 4;
    const int64_t strip = z->x_lanes == 1 ? 4 * (CEIL(z->q, 2) * 2 + 2) : 0, pixels = z->y_lanes == 1 ? 2 * z->q : 0;

    return (strip + pixels) * vec * 4 + 1024;
}

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    const struct conv_shape z = conv_shape_of(w);

    if (winograd_within("conv2d/winograd_tile", CONV_F16 | CONV_LAYOUTS | CONV_EPILOGUE, w, why) ||
        conv_not_cuda("conv2d/winograd_tile", "conv2d/winograd_shared", d, why))
        return FIT_NONE;
    if (least_local_bytes(&z) > build_max_local(d)) {
        why_set(why, ERR_UNSUPPORTED, "conv2d/winograd_tile needs %lld bytes of local memory for a row; here are %lld",
                (long long)least_local_bytes(&z), (long long)build_max_local(d));
        return FIT_NONE;
    }
    return d->kind == DEVICE_CPU && z.c >= LEAST_CHANNELS ? FIT_GOOD : FIT_POSSIBLE;
}

static const struct build_knob knobs[] = {
    {"m", {2, 4, BUILD_END}},
    {"vec", {4, 8, 16, BUILD_END}},
    {"nv", {1, 2, 3, 4, BUILD_END}},
    {"mr", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 20, 24, 28, BUILD_END}},
    {"rows", {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 28, BUILD_END}},
    {"ku", {1, 2, 4, 8, 16, BUILD_END}},
    {"fused", {0, 1, BUILD_END}},
    {"ahead", {0, 1, BUILD_END}},
    {0},
};

static const char *const quantities[][2] = {
    {"area", "(m + 2) * (m + 2)"},
    {"tiles_h", "ceil_div(size_p, m)"},
    {"tiles_w", "ceil_div(size_q, m)"},
    {"tiles", "rows * tiles_w"},
    {"panels", "ceil_div(tiles, mr)"},
    {"blocks", "size_n * ceil_div(tiles_h, rows)"},
    {"padded_c", "ceil_div(size_c, vec) * vec"},
    {"padded_k", "ceil_div(size_k, nv * vec) * nv * vec"},
    {"registers", "(mr * nv + nv + 1) * ceil_div(vec, max(lanes, 4))"},
    {"input_bytes", "area * panels * mr * padded_c * 4"},
    {"product_bytes", "area * panels * mr * nv * vec * 4"},
    {"strip_bytes", "(x_lanes == 1) * (rows * m + 2) * (tiles_w * m + 2) * vec * 4"},
    {"pixel_bytes", "(y_lanes == 1) * rows * m * size_q * vec * 4"},
    {"local_bytes", "strip_bytes + pixel_bytes + fused * (input_bytes + "
                    "product_bytes) + 1024"},
    {"weight_bytes", "area * padded_c * padded_k * 4"},
    {"weights_read", "weight_bytes * (fused * (blocks - 1) + 1)"},
    {"waste_tiles", "blocks * panels * mr * m * m / (size_n * size_p * size_q)"},
    {"waste_channels", "padded_c * padded_k / (size_c * size_k)"},
    {"products_share", "waste_tiles * waste_channels * area / (9 * m * m)"},
    {"loads_per_fma", "(nv + mr) / (mr * nv)"},
    {"groups", "fused * blocks + (1 - fused) * area * ceil_div(size_k, nv * vec)"},
    {"body", "mr * nv * ku"},
    {NULL, NULL},
};

static const char *const constraints[] = {
    "m == 2 or elem_bytes > 2",
    "vec <= max(max(lanes, 4), max(x_lanes, y_lanes))",
    "x_lanes == 1 or vec == x_lanes",
    "y_lanes == 1 or vec == y_lanes",
    "registers <= 33",
    "body <= 512",
    "(nv - 1) * vec < size_k",
    "rows == 1 or rows <= tiles_h",
    "mr == 1 or mr < 2 * tiles",
    "local_bytes <= max_local",
    NULL,
};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    return conv_space(w, d, knobs, quantities, constraints, s, why);
}

/* The fewest groups of a launch that transforms. */
static int64_t transform_groups(const struct space *s, const struct config *c)
{
    const int64_t vec = space_int(s, c, "vec"), blocks = space_int(s, c, "blocks");
    const int64_t in = space_int(s, c, "padded_c") / vec,
                  out = space_int(s, c, "padded_k") / vec / space_int(s, c, "nv");

    return space_int(s, c, "fused") ? blocks : blocks * (in < out ? in : out);
}

/* Cycles until n items that share them are done. */
static double evenly(const struct device_desc *d, int64_t n, double cycles)
{
    return build_makespan(d, (struct build_items){.n = n, .cycles = cycles / (double)n});
}

/* Cycles of a core, roughly: two products of vectors a cycle where the
 * registers' tile allows, and what caches and memory add. Constants fitted to
 * one AVX-512 core with 1 MiB of second-level cache. */
static double cost_of(const struct space *s, const struct config *c, const struct device_desc *d)
{
    const double mr = (double)space_int(s, c, "mr"), nv = (double)space_int(s, c, "nv");
    const double vec = (double)space_int(s, c, "vec"), fused = (double)space_int(s, c, "fused");
    const double rows = (double)(space_int(s, c, "blocks") * space_int(s, c, "panels")) * mr;
    const double planes = (double)space_int(s, c, "area") * rows / vec;
    const double padded_c = (double)space_int(s, c, "padded_c"), padded_k = (double)space_int(s, c, "padded_k");
    const double weights = (double)space_int(s, c, "weight_bytes"), near = 1 << 20, far = 1 << 24;
    const double block = fused * (double)(space_int(s, c, "input_bytes") + space_int(s, c, "product_bytes"));
    const double scratch = (1 - fused) * 4 * vec * planes * (padded_c + padded_k);
    const double weight_rate = weights + block < near ? 0.02 : weights < far ? 0.1 : 0.25;
    const double scratch_rate = scratch < near / 2 ? 0.02 : scratch < far ? 0.3 : 0.8;
    double step = mr * nv / 2, products, transforms; /* cycles of one channel, of all */

    step = step < (mr + nv) / 2 ? (mr + nv) / 2 : step;
    step = step < 4 ? 4 : step;
    products =
        planes * padded_c * padded_k / (mr * nv) * (step + 0.5) + (double)space_int(s, c, "weights_read") * weight_rate;
    transforms = 3 * planes * (padded_c + padded_k) + scratch * scratch_rate;
    return evenly(d, space_int(s, c, "groups"), products) + evenly(d, transform_groups(s, c), transforms);
}

/* The cheapest by cost_of among the sizes that matter. */
static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    static const int64_t heights[] = {1, 2, 4, 7, 14}, tiles[] = {1, 2, 4, 6, 7, 8, 10, 12, 13, 14};
    const struct conv_shape z = conv_shape_of(w);
    const int64_t lanes = build_vector(d) < 4 ? 4 : build_vector(d);
    const int64_t vec = z.x_lanes > 1 ? z.x_lanes : z.y_lanes > 1 ? z.y_lanes : lanes;
    const int64_t widest = z.k > vec && vec <= lanes ? 2 : 1, narrowest = build_threads(d) > 1 ? 1 : widest;
    double best = -1;

    for (size_t i = 0; i < 4 * sizeof heights / sizeof heights[0] * (sizeof tiles / sizeof tiles[0]); i++)
        for (int64_t nv = widest; nv >= narrowest; nv--) {
            struct config c = {{0}};

            assert(i / 40 < sizeof heights / sizeof heights[0]);
            build_choose(s,
                         (const struct build_define[]){{"m", i % 2 ? 4 : 2},
                                                       {"vec", vec},
                                                       {"nv", nv},
                                                       {"mr", tiles[i / 4 % 10]},
                                                       {"rows", heights[i / 40]},
                                                       {"ku", 1},
                                                       {"fused", i / 2 % 2},
                                                       {"ahead", 1},
                                                       {NULL, 0}},
                         &c);
            if (space_is_valid(s, &c, NULL) && (best < 0 || cost_of(s, &c, d) < best)) {
                best = cost_of(s, &c, d);
                *out = c;
            }
        }
    return best < 0 ? ERR_NOT_FOUND : ERR_OK;
}

static void program(struct build *b)
{
    const struct conv_shape z = conv_shape_of(b->w);
    const int64_t vec = build_int(b, "vec"), blocks = build_int(b, "blocks"), area = build_int(b, "area");
    const int64_t padded_c = build_int(b, "padded_c"), padded_k = build_int(b, "padded_k");
    const int64_t kb = padded_k / (vec * build_int(b, "nv")),
                  rows = blocks * build_int(b, "panels") * build_int(b, "mr");
    const int64_t one[] = {1, 1, 1};
    const enum dtype sum = sums_in_half(b->w, b->d) ? DTYPE_F16 : DTYPE_F32;
    const int u = build_buffer(b, "u", ROLE_PACKED, sum, area * padded_c * padded_k);
    int v, products;

    assert(padded_c % vec == 0 && padded_k % (vec * build_int(b, "nv")) == 0 && padded_c >= z.c && padded_k >= z.k);
    build_module(b, "conv2d/winograd_tile.cl");
    conv_define_shape(b, &z);
    b->p->needs_local_bytes = build_int(b, "local_bytes");
    build_launch(b, PHASE_PACK, "winograd_tile_pack", (const int64_t[]){kb, padded_c, 1}, one, (const int[]){1, u, -1});
    if (build_int(b, "fused")) {
        build_last_launch(b, "winograd_tile", (const int64_t[]){blocks, 1, 1}, one, (const int[]){0, u, -1});
        return;
    }
    v = build_buffer(b, "v", ROLE_SCRATCH, sum, area * rows * padded_c);
    products = build_buffer(b, "products", ROLE_SCRATCH, sum, area * rows * padded_k);
    build_launch(b, PHASE_RUN, "winograd_tile_in", (const int64_t[]){padded_c / vec, blocks, 1}, one,
                 (const int[]){0, v, -1});
    build_launch(b, PHASE_RUN, "winograd_tile_gemm", (const int64_t[]){kb, area, 1}, one,
                 (const int[]){u, v, products, -1});
    build_last_launch(b, "winograd_tile_out", (const int64_t[]){kb, blocks, 1}, one, (const int[]){products, -1});
}

const struct template conv2d_winograd_tile = {
    .id = "conv2d/winograd_tile",
    .stages = true,
    .version = 1,
    .summary = "CPU: Winograd's transforms and products on blocks of tiles "
               "that stay in the cache, in vectors of channels",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
    .numerics = winograd_numerics,
};
