/* SPDX-License-Identifier: MIT */
/* Knobs are those of TVM's conv2d_nchw_winograd for Mali, with tails allowed. */
#include "kernels/conv2d/conv2d.h"
#include "core/err.h"
#include "kernels/conv2d/winograd_shape.h"

#include <assert.h>

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    if (winograd_within("conv2d/winograd", CONV_F16 | CONV_LAYOUTS | CONV_EPILOGUE, w, why))
        return FIT_NONE;
    return d->kind == DEVICE_MALI ? FIT_GOOD : FIT_POSSIBLE;
}

static const struct build_knob first_knobs[] = {
    {"m", {2, 4, BUILD_END}},
    {"bna", {1, 2, 4, 8, 16, BUILD_END}},
    {"bnb", {1, 2, 4, 8, 16, BUILD_END}},
    {0},
};

static const struct build_knob group_knobs[] = {
    {"wg_in", {1, 2, 3, 4, 6, 7, 8, 12, 14, 16, 24, 28, 32, 48, 56, 64, 96, 112, 128, BUILD_END}},
    {"wg_out", {1, 2, 3, 4, 6, 7, 8, 12, 14, 16, 24, 28, 32, 48, 56, 64, 96, 112, 128, BUILD_END}},
    {0},
};

static const struct build_knob last_knobs[] = {
    {"c_unroll", {1, 2, 3, 4, 5, 6, 7, 8, BUILD_END}},
    {"yt", {1, 2, 4, 8, 16, 32, BUILD_END}},
    {0},
};

static const char *const quantities[][2] = {
    {"area", "(m + 2) * (m + 2)"},
    {"tiles", "size_n * ceil_div(size_p, m) * ceil_div(size_q, m)"},
    {"tiles_t", "ceil_div(tiles, bnb)"},
    {"tiles_k", "ceil_div(size_k, bna)"},
    {"accumulators", "bna * ceil_div(bnb, lanes)"},
    {"waste_tiles", "tiles_t * bnb * m * m / (size_n * size_p * size_q)"},
    {"waste_k", "ceil_div(tiles_k, yt) * yt * bna / size_k"},
    {"products_share", "waste_tiles * waste_k * area / (9 * m * m)"},
    {"loads_per_fma", "(bna + bnb) / (bna * bnb)"},
    {"scratch_bytes", "area * tiles_t * bnb * (size_c + tiles_k * bna) * 4"},
    {"weight_bytes", "area * size_c * tiles_k * bna * 4"},
    {"groups", "area * tiles_t * ceil_div(tiles_k, yt)"},
    {"groups_in", "ceil_div(tiles_t * bnb * size_c, wg_in)"},
    {"groups_out", "ceil_div(tiles * size_k, wg_out)"},
    {"body", "bna * bnb * c_unroll"},
    {NULL, NULL},
};

/* m = 4 in half: only where sums in half are permitted, which lose as much. */
static const char *const constraints[] = {
    "m == 2 or elem_bytes > 2 or sum_elem_bytes == 2",
    "max(wg_in, max(wg_out, yt)) <= min(max_group, max_x)",
    "tiles_k <= max_grid and size_c <= max_grid",
    "bna < 2 * size_k",
    "bnb < 2 * tiles",
    "yt < 2 * tiles_k",
    "wg_in == 1 or wg_in <= tiles_t * bnb * size_c",
    "wg_out == 1 or wg_out <= tiles * size_k",
    "c_unroll == 1 or c_unroll <= size_c",
    "body <= 1024",
    NULL,
};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct conv_shape z = conv_shape_of(w);
    const struct build_axis groups[] = {{"wg_in", {z.c}, 128}, {"wg_out", {z.k}, 128}, {0}};
    enum err e = build_knobs(s, first_knobs, why);

    if (!e)
        e = build_knobs_or_divisors(s, d, group_knobs, groups, why);
    return e ? e : conv_space(w, d, last_knobs, quantities, constraints, s, why);
}

/* Most records of a Mali-T860 (TopHub) have four channels by 128 bits of tiles, four work-items a group and two
 * channels a turn; a CPU wants whole vectors and one work-item a group. */
static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const bool cpu = d->kind == DEVICE_CPU;
    const int64_t lanes = build_vector(d) < 4 ? 4 : build_vector(d), warp = build_warp(d);

    *out = (struct config){{0}};
    build_choose(s,
                 (const struct build_define[]){{"m", w->dtype == DTYPE_F16 ? 2 : 4},
                                               {"bna", cpu ? 16 : 4},
                                               {"bnb", cpu                     ? lanes
                                                       : w->dtype == DTYPE_F16 ? 8
                                                                               : 4},
                                               {"wg_in", cpu ? 16 : 64},
                                               {"wg_out", cpu ? 16 : 64},
                                               {"c_unroll", cpu ? 4 : 2},
                                               {"yt", cpu        ? 1
                                                      : warp > 4 ? warp
                                                                 : 4},
                                               {NULL, 0}},
                 out);
    if (space_is_valid(s, out, NULL))
        return ERR_OK;
    return build_make_valid(s, (const char *const[]){"wg_in", "wg_out", "yt", "bnb", "bna", "c_unroll", NULL}, out);
}

static void program(struct build *b)
{
    const struct conv_shape z = conv_shape_of(b->w);
    const int64_t area = build_int(b, "area"), bna = build_int(b, "bna"), bnb = build_int(b, "bnb");
    const int64_t tiles_k = build_int(b, "tiles_k"), tiles_t = build_int(b, "tiles_t"), yt = build_int(b, "yt");
    const int64_t in = build_int(b, "wg_in"), out = build_int(b, "wg_out"), one[] = {1, 1, 1};
    const enum dtype sum = sums_in_half(b->w, b->d) ? DTYPE_F16 : DTYPE_F32;
    const int u = build_buffer(b, "u", ROLE_PACKED, sum, area * tiles_k * bna * z.c);
    const int v = build_buffer(b, "v", ROLE_SCRATCH, sum, area * tiles_t * bnb * z.c);
    const int products = build_buffer(b, "products", ROLE_SCRATCH, sum, area * tiles_k * bna * tiles_t * bnb);

    assert(tiles_k * bna >= z.k && tiles_t * bnb >= build_int(b, "tiles"));
    build_module(b, "conv2d/winograd.cl");
    conv_define_shape(b, &z);
    build_define(b, "VEC", bnb);
    build_launch(b, PHASE_PACK, "winograd_pack", (const int64_t[]){tiles_k * bna, z.c, 1}, one,
                 (const int[]){1, u, -1});
    build_launch(b, PHASE_RUN, "winograd_in", (const int64_t[]){build_int(b, "groups_in"), 1, 1},
                 (const int64_t[]){in, 1, 1}, (const int[]){0, v, -1});
    build_launch(b, PHASE_RUN, "winograd_gemm", (const int64_t[]){tiles_t, CEIL(tiles_k, yt), area},
                 (const int64_t[]){yt, 1, 1}, (const int[]){u, v, products, -1});
    build_last_launch(b, "winograd_out", (const int64_t[]){build_int(b, "groups_out"), 1, 1},
                      (const int64_t[]){out, 1, 1}, (const int[]){products, -1});
}

const struct template conv2d_winograd = {
    .id = "conv2d/winograd",
    .version = 1,
    .summary = "Mali: Winograd's transforms, and products of a tile of channels and tiles in a work-item's registers",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
    .numerics = winograd_numerics,
};
