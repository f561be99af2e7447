/* SPDX-License-Identifier: MIT */
/* Knobs are those of TVM's conv2d_nchw_winograd for CUDA, with tails allowed. */
#include "kernels/conv2d/conv2d.h"
#include "core/err.h"
#include "kernels/conv2d/winograd_shape.h"

#include <assert.h>

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    if (winograd_within("conv2d/winograd_shared", CONV_F16 | CONV_LAYOUTS | CONV_EPILOGUE, w, why))
        return FIT_NONE;
    return d->kind == DEVICE_CPU || d->kind == DEVICE_MALI ? FIT_POSSIBLE : FIT_GOOD;
}

static const struct build_knob forms[] = {{"m", {2, 4, BUILD_END}}, {0}};

static const struct build_knob splits[] = {
    {"f_v", {1, 2, 4, 8, BUILD_END}},
    {"f_t", {1, 2, 4, 8, 16, 32, 64, BUILD_END}},
    {"f_r", {1, 2, 3, 4, 5, 6, 8, BUILD_END}},
    {"p_v", {1, 2, 4, 8, BUILD_END}},
    {"p_t", {1, 2, 4, 7, 8, 14, 16, 28, 32, 49, 64, 98, 128, BUILD_END}},
    {"p_r", {1, 2, 3, 4, 5, 6, 7, 8, BUILD_END}},
    {"rc_i", {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, BUILD_END}},
    {0},
};

static const struct build_knob knobs[] = {
    {"stages", {1, 2, BUILD_END}},
    {"unroll_step", {0, 128, 1500, BUILD_END}},
    {"wg", {1, 32, 64, 128, 256, BUILD_END}},
    {0},
};

static const char *const quantities[][2] = {
    {"area", "(m + 2) * (m + 2)"},
    {"tiles", "size_n * ceil_div(size_p, m) * ceil_div(size_q, m)"},
    {"f_tile", "f_v * f_t * f_r"},
    {"p_tile", "p_v * p_t * p_r"},
    {"p_lanes", "(p_r % 4 == 0) * 2 + (p_r % 2 == 0) + 1"}, /* the vector that divides p_r, up to 4 */
    {"work_items", "f_t * p_t"},
    {"accumulators", "f_v * f_r * p_v * p_r"},
    {"held", "(stages == 2) * (f_tile + p_tile) * rc_i / work_items"},
    {"local_bytes", "stages * (f_tile + p_tile) * rc_i * sum_elem_bytes"},
    {"padded_k", "ceil_div(size_k, f_tile) * f_tile"},
    {"padded_c", "ceil_div(size_c, rc_i) * rc_i"},
    {"padded_tiles", "ceil_div(tiles, p_tile) * p_tile"},
    {"waste", "padded_k * padded_c * padded_tiles * m * m / (size_k * size_c * size_n * size_p * size_q)"},
    {"products_share", "waste * area / (9 * m * m)"},
    {"loads_per_fma", "1 / (f_v * f_r) + 1 / (p_v * p_r)"},
    {"staged_per_fma", "(f_tile + p_tile) / (f_tile * p_tile)"},
    {"scratch_bytes", "area * padded_tiles * (padded_c + padded_k) * 4"},
    {"weight_bytes", "area * padded_c * padded_k * 4"},
    {"groups", "area * padded_tiles // p_tile * padded_k // f_tile"},
    {"groups_in", "ceil_div(padded_tiles * padded_c, wg)"},
    {"groups_out", "ceil_div(tiles * size_k, wg)"},
    {"body", "accumulators * rc_i"},
    {NULL, NULL},
};

/* Values of unroll_step that come to the same are one config. */
static const char *const constraints[] = {
    "m == 2 or elem_bytes > 2",
    "work_items <= max_group and p_t <= max_x and f_t <= max_y",
    "wg <= min(max_group, max_x)",
    "local_bytes <= max_local",
    "padded_k // f_tile <= max_grid and padded_c <= max_grid",
    "accumulators <= 128",
    "f_tile < 2 * size_k",
    "p_tile < 2 * tiles",
    "rc_i == 1 or rc_i < 2 * size_c",
    "stages == 1 or (work_items > 1 and padded_c > rc_i and held <= 64)",
    "unroll_step == 0 or (rc_i > 1 and body <= unroll_step and body > (unroll_step > 128) * 128)",
    NULL,
};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct conv_shape z = conv_shape_of(w);
    const int64_t t2 = z.n * CEIL(z.p, 2) * CEIL(z.q, 2), t4 = z.n * CEIL(z.p, 4) * CEIL(z.q, 4);
    const struct build_axis axes[] = {
        {"f_v", {z.k}, 8},       {"f_t", {z.k}, 256},   {"f_r", {z.k}, 16},   {"p_v", {t2, t4}, 16},
        {"p_t", {t2, t4}, 1024}, {"p_r", {t2, t4}, 16}, {"rc_i", {z.c}, 128}, {0}};
    enum err e = build_knobs(s, forms, why);

    if (!e)
        e = build_knobs_or_divisors(s, d, splits, axes, why);
    return e ? e : conv_space(w, d, knobs, quantities, constraints, s, why);
}

/* A GPU: 16 x 16 items of 4 channels and 4 tiles each; a CPU: one item a group. */
static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    static const struct build_define cpu[] = {{"f_v", 1}, {"f_t", 1},  {"f_r", 8},         {"p_v", 1}, {"p_t", 1},
                                              {"p_r", 8}, {"rc_i", 8}, {"unroll_step", 0}, {"wg", 1},  {NULL, 0}};
    static const struct build_define gpu[] = {{"f_v", 1}, {"f_t", 16}, {"f_r", 4},         {"p_v", 1},  {"p_t", 16},
                                              {"p_r", 4}, {"rc_i", 8}, {"unroll_step", 0}, {"wg", 128}, {NULL, 0}};

    const struct conv_shape z = conv_shape_of(w);

    *out = (struct config){{0}};
    build_choose(s, d->kind == DEVICE_CPU ? cpu : gpu, out);
    build_choose(s, (const struct build_define[]){{"m", w->dtype == DTYPE_F16 ? 2 : 4}, {NULL, 0}}, out);
    if (d->kind == DEVICE_GPU && CEIL(z.c, 16) * 16 * 10 <= z.c * 11) /* a whole vector of each factor an item */
        build_choose(s, (const struct build_define[]){{"rc_i", 16}, {NULL, 0}}, out);
    if (!space_is_valid(s, out, NULL) &&
        build_make_valid(s, (const char *const[]){"p_t", "f_t", "rc_i", "wg", "p_r", "f_r", NULL}, out))
        return ERR_NOT_FOUND;
    if (d->kind == DEVICE_GPU)
        build_choose_if_valid(s, (const struct build_define[]){{"stages", 2}, {NULL, 0}}, out);
    return ERR_OK;
}

static void program(struct build *b)
{
    const struct conv_shape z = conv_shape_of(b->w);
    const int64_t area = build_int(b, "area"), c = build_int(b, "padded_c"), k = build_int(b, "padded_k");
    const int64_t tiles = build_int(b, "padded_tiles"), wg = build_int(b, "wg"), one[] = {1, 1, 1};
    const int64_t grid[] = {tiles / build_int(b, "p_tile"), k / build_int(b, "f_tile"), area};
    const enum dtype sum = sums_in_half(b->w, b->d) ? DTYPE_F16 : DTYPE_F32;
    const int u = build_buffer(b, "u", ROLE_PACKED, sum, area * k * c);
    const int v = build_buffer(b, "v", ROLE_SCRATCH, sum, area * tiles * c);
    const int products = build_buffer(b, "products", ROLE_SCRATCH, sum, area * k * tiles);

    assert(tiles % build_int(b, "p_tile") == 0 && k % build_int(b, "f_tile") == 0 && c % build_int(b, "rc_i") == 0);
    assert(tiles >= build_int(b, "tiles") && k >= z.k && c >= z.c);
    build_module(b, "conv2d/winograd_shared.cl");
    conv_define_shape(b, &z);
    build_define(b, "VEC", build_int(b, "p_lanes"));
    b->p->needs_local_bytes = build_int(b, "local_bytes");
    build_launch(b, PHASE_PACK, "winograd_pack", (const int64_t[]){k, c, 1}, one, (const int[]){1, u, -1});
    build_launch(b, PHASE_RUN, "winograd_in", (const int64_t[]){build_int(b, "groups_in"), 1, 1},
                 (const int64_t[]){wg, 1, 1}, (const int[]){0, v, -1});
    build_launch(b, PHASE_RUN, "winograd_gemm", grid, (const int64_t[]){build_int(b, "p_t"), build_int(b, "f_t"), 1},
                 (const int[]){u, v, products, -1});
    build_last_launch(b, "winograd_out", (const int64_t[]){build_int(b, "groups_out"), 1, 1},
                      (const int64_t[]){wg, 1, 1}, (const int[]){products, -1});
}

const struct template conv2d_winograd_shared = {
    .id = "conv2d/winograd_shared",
    .stages = true,
    .version = 3,
    .summary = "GPU: Winograd's transforms, and products through tiles in local memory, strips a work-item",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
    .numerics = winograd_numerics,
};
