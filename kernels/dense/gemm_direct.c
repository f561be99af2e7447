/* SPDX-License-Identifier: MIT */
/* Knobs are those of CLBlast's XgemmDirect, with work-groups down to one item for CPUs and the arithmetic's lanes
 * apart. */
#include "core/err.h"
#include "kernels/build.h"
#include "kernels/dense/dense.h"

#include <assert.h>

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    if (dense_within("dense/gemm_direct", DENSE_F16 | DENSE_EPILOGUE, w, why))
        return FIT_NONE;
    return d->kind == DEVICE_CPU || dense_is_few(w, d) ? FIT_POSSIBLE : FIT_GOOD;
}

static const struct build_knob knobs[] = {
    {"wgd", {8, 16, 32, 64, BUILD_END}},
    {"mdimcd", {1, 2, 4, 8, 16, 32, BUILD_END}},
    {"ndimcd", {1, 2, 4, 8, 16, 32, BUILD_END}},
    {"mdimad", {1, 2, 4, 8, 16, 32, BUILD_END}},
    {"ndimbd", {1, 2, 4, 8, 16, 32, BUILD_END}},
    {"kwid", {1, 2, 8, 16, BUILD_END}},
    {"vwmd", {1, 2, 4, 8, BUILD_END}},
    {"vwnd", {1, 2, 4, 8, BUILD_END}},
    {"vec", {1, 2, 4, 8, 16, BUILD_END}},
    {"pada", {0, 1, 4, BUILD_END}},
    {"padb", {0, 1, 4, BUILD_END}},
    {"stages", {1, 2, BUILD_END}},
    {"split", {1, 2, 4, 8, 16, BUILD_END}},
    {0},
};

static const char *const quantities[][2] = {
    {"work_items", "mdimcd * ndimcd"},
    {"rows", "wgd / mdimcd"},
    {"columns", "wgd / ndimcd"},
    {"accumulators", "rows * columns / vec * ceil_div(vec, lanes)"},
    {"held", "2 * wgd * wgd / work_items"},
    {"stage_bytes", "wgd * (2 * wgd + pada + padb) * sum_bytes"},
    {"stages_local", "1 + (stages == 2 and 4 * stage_bytes <= max_local)"},
    {"local_bytes", "stages_local * stage_bytes"},
    {"waste_m", "ceil_div(size_m, wgd) * wgd / size_m"},
    {"waste_n", "ceil_div(size_n, wgd) * wgd / size_n"},
    {"steps", "ceil_div(size_k, wgd * split)"},
    {"waste_k", "steps * split * wgd / size_k"},
    {"waste", "waste_m * waste_n * waste_k"},
    {"lane_use", "min(vec, lanes) / lanes"},
    {"loads_per_fma", "(rows + columns / vec) / (rows * columns / vec)"},
    {"groups", "ceil_div(size_m, wgd) * ceil_div(size_n, wgd) * split"},
    {"body", "accumulators * kwid"},
    {NULL, NULL},
};

static const char *const constraints[] = {
    "work_items <= max_group",
    "ndimcd <= max_x and mdimcd <= max_y",
    "local_bytes <= max_local",
    "wgd % kwid == 0",
    "wgd % mdimcd == 0",
    "wgd % (ndimcd * vec) == 0",
    "wgd % (mdimad * vwmd) == 0 and work_items % mdimad == 0 and wgd * mdimad % work_items == 0",
    "wgd % (ndimbd * vwnd) == 0 and work_items % ndimbd == 0 and wgd * ndimbd % work_items == 0",
    "size_k % vwmd == 0 and size_k % vwnd == 0",
    "accumulators <= 64",
    "stages == 1 or (steps > 1 and held <= 64)",
    "split == 1 or wgd * split <= size_k",
    "body <= 512",
    "wgd == 8 or wgd < 2 * max(size_m, size_n)",
    NULL,
};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    return dense_space(w, d, knobs, quantities, constraints, s, why);
}

/* A GPU's: 4 x 4 sums an item, but 2 x 4 of tiles of 16, so that these have a warp. */
static struct dense_tile tile_of(const struct dense_shape *z, const struct device_desc *d)
{
    struct dense_tile best = {0};

    for (int64_t side = 64; side >= 16; side /= 2)
        dense_tile_try(z, d, (struct dense_tile){side, side, side == 16 ? 8 : side / 4, side / 4, side, 1}, &best);
    return best;
}

/* Few items load along k: what they put is turned, and neighbours along k meet in banks of local memory; but 8
 * elements, a sector. */
static void choose_gpu(const struct dense_shape *z, const struct device_desc *d, const struct space *s,
                       struct config *out)
{
    const struct dense_tile t = tile_of(z, d);
    const int64_t along = z->k % 4 == 0 ? 4 : 1, loads = along == 1 ? 8 : t.m == 64 ? 4 : 2;

    build_choose(s,
                 (const struct build_define[]){{"wgd", t.m},
                                               {"mdimcd", t.m_items},
                                               {"ndimcd", t.n_items},
                                               {"mdimad", loads},
                                               {"ndimbd", loads},
                                               {"kwid", 8},
                                               {"vwmd", along},
                                               {"vwnd", along},
                                               {"vec", 4},
                                               {"pada", 4},
                                               {"padb", 4},
                                               {"stages", 2},
                                               {"split", t.split},
                                               {NULL, 0}},
                 out);
}

static void choose_other(const struct device_desc *d, const struct space *s, struct config *out)
{
    const bool cpu = d->kind == DEVICE_CPU;
    const int64_t lanes = build_vector(d), tile = cpu ? (lanes < 8 ? 8 : lanes) : 32, items = cpu ? 1 : 8;

    build_choose(s,
                 (const struct build_define[]){{"wgd", tile},
                                               {"mdimcd", items},
                                               {"ndimcd", items},
                                               {"mdimad", items},
                                               {"ndimbd", items},
                                               {"kwid", 2},
                                               {"vec", cpu ? lanes : 4},
                                               {NULL, 0}},
                 out);
}

static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const struct dense_shape z = dense_shape_of(w);

    *out = (struct config){{0}};
    if (d->kind == DEVICE_GPU)
        choose_gpu(&z, d, s, out);
    else
        choose_other(d, s, out);
    if (space_is_valid(s, out, NULL) || build_make_valid(s, (const char *const[]){"stages", NULL}, out) == ERR_OK)
        return ERR_OK;
    return build_make_valid(
        s, (const char *const[]){"wgd", "vec", "mdimcd", "ndimcd", "mdimad", "ndimbd", "kwid", "split", NULL}, out);
}

static void program(struct build *b)
{
    const struct gemm_shape z = gemm_shape_of(b->w);
    const int64_t grid[] = {build_int(b, "groups"), 1, 1};
    const int64_t block[] = {build_int(b, "ndimcd"), build_int(b, "mdimcd"), 1};

    assert(block[0] * block[1] == build_int(b, "work_items"));
    assert(build_int(b, "wgd") % block[0] == 0 && build_int(b, "wgd") % block[1] == 0);
    build_module(b, "dense/gemm_direct.cl");
    gemm_define_shape(b, &z);
    build_define(b, "STAGES_LOCAL", build_int(b, "stages_local"));
    b->p->needs_local_bytes = build_int(b, "local_bytes");
    gemm_launch(b, &z, "gemm_rows", grid, block, (const int[]){0, 1});
}

const struct template dense_gemm_direct = {
    .id = "dense/gemm_direct",
    .stages = true,
    .version = 6,
    .summary = "tiles through local memory, any size, nothing packed, k split where outputs are few",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};
