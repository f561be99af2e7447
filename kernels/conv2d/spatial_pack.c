/* SPDX-License-Identifier: MIT */
/* Named after the layouts of its packed tensors; knobs as in TVM's conv2d_nchw_spatial_pack for Mali, with tails
 * allowed. */
#include "core/err.h"
#include "kernels/build.h"
#include "kernels/conv2d/conv2d.h"

#include <assert.h>

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    if (conv_within("conv2d/spatial_pack", CONV_F16 | CONV_I8 | CONV_LAYOUTS | CONV_EPILOGUE, w, why))
        return FIT_NONE;
    return d->kind == DEVICE_MALI ? FIT_GOOD : FIT_POSSIBLE;
}

static const struct build_knob splits[] = {
    {"vc", {1, 2, 4, 8, 16, BUILD_END}},
    {"vh", {1, 2, 3, 4, 5, 6, 7, 8, BUILD_END}},
    {"vw", {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, BUILD_END}},
    {"co_t", {1, 2, 4, 8, 16, 32, 64, BUILD_END}},
    {"oh_t", {1, 2, 4, 7, 8, 14, 16, BUILD_END}},
    {"ow_t", {1, 2, 4, 7, 8, 14, 16, 32, BUILD_END}},
    {0},
};

static const struct build_knob knobs[] = {
    {"chw", {0, 1, BUILD_END}},
    {"unroll_kh", {0, 1, BUILD_END}},
    {"unroll_kw", {0, 1, BUILD_END}},
    {0},
};

/* 0 a loop, 1 unrolled, 2 a vector. A CPU's vectors are of channels. */
static const struct build_knob cpu_loops[] = {
    {"ann_vh", {0, 1, BUILD_END}}, {"ann_vw", {0, 1, BUILD_END}}, {"ann_vc", {0, 1, 2, BUILD_END}}, {0}};
static const struct build_knob loops[] = {
    {"ann_vh", {0, 1, 2, BUILD_END}}, {"ann_vw", {0, 1, 2, BUILD_END}}, {"ann_vc", {0, 1, 2, BUILD_END}}, {0}};

static const char *const quantities[][2] = {
    {"tile", "vc * vh * vw"},
    {"accumulators", "(ann_vh == 2) * vw * vc * ceil_div(vh, lanes) + (ann_vw == 2) * vh * vc * ceil_div(vw, lanes) + "
                     "(ann_vh < 2 and ann_vw < 2) * vh * vw * ceil_div(vc, lanes)"},
    {"work_items", "co_t * oh_t * ow_t"},
    {"tiles_k", "ceil_div(size_k, vc)"},
    {"tiles_p", "ceil_div(size_p, vh)"},
    {"tiles_q", "ceil_div(size_q, vw)"},
    {"waste_k", "ceil_div(tiles_k, co_t) * co_t * vc / size_k"},
    {"waste_p", "ceil_div(tiles_p, oh_t) * oh_t * vh / size_p"},
    {"waste_q", "ceil_div(tiles_q, ow_t) * ow_t * vw / size_q"},
    {"waste", "waste_k * waste_p * waste_q"},
    {"groups", "size_n * ceil_div(tiles_k, co_t) * ceil_div(tiles_p, oh_t) * ceil_div(tiles_q, ow_t)"},
    {"loads_per_fma", "(vc + vh * vw) / tile"},
    {"window", "((vh - 1) * stride_h + size_r) * ((vw - 1) * stride_w + size_s)"},
    {"input_growth", "window / (vh * vw * stride_h * stride_w)"},
    {"weight_bytes", "vc * co_t * size_c * size_r * size_s * elem_bytes"},
    {"body", "(1 + unroll_kh * (size_r - 1)) * (1 + unroll_kw * (size_s - 1)) * (1 + (ann_vh == 1) * (vh - 1)) * "
             "(1 + (ann_vw == 1) * (vw - 1)) * (1 + (ann_vc == 1) * (vc - 1))"},
    {NULL, NULL},
};

/* A vector of channels takes part in no loop order, so chw with it would be the same config twice; so would annotations
 * of loops of one pass. */
static const char *const constraints[] = {
    "work_items <= max_group",
    "ow_t <= max_x and oh_t <= max_y and co_t <= max_z",
    "ceil_div(tiles_p, oh_t) <= max_grid and size_n * ceil_div(tiles_k, co_t) <= max_grid",
    "max(size_c, size_k) <= max_grid",
    "co_t < 2 * tiles_k",
    "oh_t < 2 * tiles_p",
    "ow_t < 2 * tiles_q",
    "vc < 2 * size_k and vh < 2 * size_p and vw < 2 * size_q",
    "accumulators <= 64 and tile <= 512",
    "body <= 600",
    "(ann_vh == 2) + (ann_vw == 2) + (ann_vc == 2) <= 1",
    "ann_vh != 2 or vh in {2, 4, 8, 16}",
    "ann_vw != 2 or vw in {2, 4, 8, 16}",
    "ann_vc != 2 or (vc in {2, 4, 8, 16} and chw == 0)",
    "vh > 1 or ann_vh == 0",
    "vw > 1 or ann_vw == 0",
    "vc > 1 or (ann_vc == 0 and chw == 0)",
    "size_r > 1 or unroll_kh == 0",
    "size_s > 1 or unroll_kw == 0",
    NULL,
};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct conv_shape z = conv_shape_of(w);
    const int64_t items = build_max_group(d);
    const struct build_axis axes[] = {{"vc", {z.k}, 16},
                                      {"vh", {z.p}, 16},
                                      {"vw", {z.q}, 16},
                                      {"co_t", {z.k}, items},
                                      {"oh_t", {z.p}, items},
                                      {"ow_t", {z.q}, items},
                                      {0}};
    enum err e = build_knobs_or_divisors(s, d, splits, axes, why);

    if (!e)
        e = build_knobs(s, knobs, why);
    return e ? e : conv_space(w, d, d->kind == DEVICE_CPU ? cpu_loops : loops, quantities, constraints, s, why);
}

struct tile {
    int64_t vc, vh, vw;
};

/* 128 bits of channels by four pixels that divide the image, as most records of a Mali-T860 have it (TopHub); where the
 * width is odd more channels stand for them. */
static struct tile mali_tile(const struct conv_shape *z, int64_t lanes)
{
    if (z->q % 4 == 0)
        return (struct tile){lanes, 1, 4};
    if (z->q % 2 == 0)
        return z->p % 2 == 0 ? (struct tile){lanes, 2, 2} : (struct tile){lanes, 1, 2};
    if (z->q % 5 == 0)
        return (struct tile){lanes, 1, 5};
    return (struct tile){16, 1, 1};
}

/* A CPU wants its whole vectors and a row of pixels in the other registers. */
static struct tile cpu_tile(const struct conv_shape *z, int64_t lanes)
{
    return (struct tile){lanes, z->p > 1 ? 2 : 1, z->q % 14 == 0 ? 14 : z->q % 7 == 0 ? 7 : 8};
}

static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const struct conv_shape z = conv_shape_of(w);
    const bool cpu = d->kind == DEVICE_CPU;
    const int64_t lanes = cpu ? build_vector(d) : w->dtype == DTYPE_F16 ? 8 : 4, warp = build_warp(d);
    struct tile t = cpu ? cpu_tile(&z, lanes) : mali_tile(&z, lanes);

    if (z.k == 1)
        t.vc = 1;
    *out = (struct config){{0}};
    build_choose(s,
                 (const struct build_define[]){{"vc", t.vc},
                                               {"vh", t.vh},
                                               {"vw", t.vw},
                                               {"co_t", cpu            ? 1
                                                        : lanes > warp ? lanes
                                                                       : warp},
                                               {"oh_t", 1},
                                               {"ow_t", 1},
                                               {"unroll_kh", 0},
                                               {"unroll_kw", z.s > 1 && z.s <= 5},
                                               {"ann_vh", t.vh > 1},
                                               {"ann_vw", t.vw > 1 && z.q > 1},
                                               {"ann_vc", t.vc > 1 ? 2 : 0},
                                               {NULL, 0}},
                 out);
    if (space_is_valid(s, out, NULL))
        return ERR_OK;
    return build_make_valid(
        s, (const char *const[]){"vw", "co_t", "ow_t", "vc", "vh", "unroll_kw", "ann_vw", "ann_vh", "ann_vc", NULL},
        out);
}

/* Elements of one packed tile of one channel. */
static int64_t tile_elems(const struct conv_shape *z, int64_t vh, int64_t vw)
{
    if (z->dil_h > 1 || z->dil_w > 1)
        return z->r * z->s * vh * vw;
    return ((vh - 1) * z->stride_h + z->r) * ((vw - 1) * z->stride_w + z->s);
}

/* Lanes of the kernel's vectors; vc = 3 has none. */
static int64_t vector(const struct build *b, int64_t vc, int64_t vh, int64_t vw)
{
    const int64_t n = build_int(b, "ann_vh") == 2 ? vh : build_int(b, "ann_vw") == 2 ? vw : vc;

    return (n & (n - 1)) == 0 ? n : 1;
}

static void program(struct build *b)
{
    const struct conv_shape z = conv_shape_of(b->w);
    const int64_t vc = build_int(b, "vc"), vh = build_int(b, "vh"), vw = build_int(b, "vw"), one[] = {1, 1, 1};
    const int64_t kt = build_int(b, "tiles_k"), pt = build_int(b, "tiles_p"), qt = build_int(b, "tiles_q");
    const int64_t block[] = {build_int(b, "ow_t"), build_int(b, "oh_t"), build_int(b, "co_t")};
    const int64_t grid[] = {CEIL(qt, block[0]), CEIL(pt, block[1]), z.n * CEIL(kt, block[2])};
    const int data_vec =
        build_buffer(b, "data_vec", ROLE_SCRATCH, b->w->dtype, z.n * pt * qt * z.c * tile_elems(&z, vh, vw));
    const int kernel_vec = build_buffer(b, "kernel_vec", ROLE_PACKED, b->w->dtype, kt * vc * z.c * z.r * z.s);
    const int conv = build_buffer(b, "conv", ROLE_SCRATCH, build_sums(b), z.n * kt * pt * qt * vh * vw * vc);

    struct conv_pack pack;

    assert(kt * vc >= z.k && pt * vh >= z.p && qt * vw >= z.q);
    assert(block[0] * block[1] * block[2] == build_int(b, "work_items"));
    build_module(b, "conv2d/spatial_pack.cl");
    conv_define_shape(b, &z);
    build_defines(b, (const struct build_define[]){{"VEC", vector(b, vc, vh, vw)},
                                                   {"UNROLL_R", build_int(b, "unroll_kh")},
                                                   {"UNROLL_S", build_int(b, "unroll_kw")},
                                                   {NULL, 0}});
    build_launch(b, PHASE_PACK, "spatial_pack_w", (const int64_t[]){kt, z.c, 1}, one, (const int[]){1, kernel_vec, -1});
    pack = conv_pack_define(b, z.q);
    build_launch(b, PHASE_RUN, "spatial_pack_x", (const int64_t[]){CEIL(pt * qt, pack.run), z.c, z.n},
                 (const int64_t[]){pack.group, 1, 1}, (const int[]){0, data_vec, -1});
    build_launch(b, PHASE_RUN, "spatial_pack", grid, block, (const int[]){data_vec, kernel_vec, conv, -1});
    build_last_launch(b, "spatial_unpack", (const int64_t[]){CEIL(z.p * z.q, pack.run), z.k, z.n},
                      (const int64_t[]){pack.group, 1, 1}, (const int[]){conv, -1});
}

const struct template conv2d_spatial_pack = {
    .id = "conv2d/spatial_pack",
    .version = 5,
    .summary = "Mali: input and weights packed into tiles, a register tile a work-item, unpacking",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};
