/* SPDX-License-Identifier: MIT */
/* Knobs are those of CLBlast's Xgemm, and a split of k for few outputs. */
#include "core/err.h"
#include "kernels/build.h"
#include "kernels/dense/dense.h"
#include "runtime/cuda_arch.h"

#include <assert.h>
#include <string.h>

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    if (dense_within("dense/gemm_tiled", DENSE_F16 | DENSE_EPILOGUE, w, why))
        return FIT_NONE;
    return d->kind == DEVICE_CPU || workload_get(w, "m") < DENSE_FEW || dense_is_few(w, d) ? FIT_POSSIBLE : FIT_GOOD;
}

static const struct build_knob knobs[] = {
    {"mwg", {16, 32, 64, 128, BUILD_END}},
    {"nwg", {16, 32, 64, 128, BUILD_END}},
    {"kwg", {16, 32, BUILD_END}},
    {"mdimc", {8, 16, 32, BUILD_END}},
    {"ndimc", {8, 16, 32, BUILD_END}},
    {"mdima", {8, 16, 32, BUILD_END}},
    {"ndimb", {8, 16, 32, BUILD_END}},
    {"kwi", {2, 4, 8, 16, BUILD_END}},
    {"vwm", {1, 2, 4, 8, BUILD_END}},
    {"vwn", {1, 2, 4, 8, BUILD_END}},
    {"strm", {0, 1, BUILD_END}},
    {"strn", {0, 1, BUILD_END}},
    {"sa", {0, 1, BUILD_END}},
    {"sb", {0, 1, BUILD_END}},
    {"split", {1, 2, 4, 8, 16, BUILD_END}},
    {0},
};

/* Packing turns squares of 16 x 17 around in local memory. */
static const char *const quantities[][2] = {
    {"work_items", "mdimc * ndimc"},
    {"rows", "mwg / mdimc"},
    {"columns", "nwg / ndimc"},
    {"accumulators", "rows * columns"},
    {"held", "(stages == 2) * (sa * mwg + sb * nwg) * kwg / work_items"},
    {"tile_bytes", "stages * (sa * kwg * mwg + sb * kwg * nwg) * sum_bytes"},
    {"local_bytes", "max(tile_bytes, 272 * sum_bytes)"},
    {"m_groups", "ceil_div(size_m, mwg)"},
    {"n_groups", "ceil_div(size_n, nwg)"},
    {"steps", "ceil_div(size_k, kwg * split)"},
    {"padded_k", "steps * kwg * split"},
    {"waste", "m_groups * mwg * n_groups * nwg * padded_k / (size_m * size_n * size_k)"},
    {"loads_per_fma", "(rows + columns) / accumulators"},
    {"groups", "m_groups * n_groups * split"},
    {NULL, NULL},
};

/* Load shapes of tiles that are not staged, and strides of one vector, are fixed. More stages than two go past the
 * registers, so elements are not converted on the way. */
static const char *const constraints[] = {
    "work_items <= max_group",
    "ndimc <= max_x and mdimc <= max_y",
    "local_bytes <= max_dynamic",
    "mwg % (mdimc * vwm) == 0 and nwg % (ndimc * vwn) == 0",
    "mwg % (mdima * vwm) == 0 and work_items % mdima == 0 and kwg * mdima % work_items == 0",
    "nwg % (ndimb * vwn) == 0 and work_items % ndimb == 0 and kwg * ndimb % work_items == 0",
    "sa == 1 or mdima == mdimc",
    "sb == 1 or ndimb == ndimc",
    "strm == 0 or mwg > mdimc * vwm",
    "strn == 0 or nwg > ndimc * vwn",
    "accumulators <= 128",
    "accumulators + held + rows + columns <= 200",
    "mwg == 16 or mwg < 2 * size_m",
    "nwg == 16 or nwg < 2 * size_n",
    "split == 1 or kwg * split <= size_k",
    "stages == 1 or (sa + sb > 0 and stages <= steps)",
    "stages <= 2 or (elem_bytes == sum_bytes and min(vwm, vwn) * elem_bytes >= 4)",
    NULL,
};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    static const int64_t stages[] = {1, 2, 3, 4};
    const enum err e = space_add_knob_ints(s, "stages", why, cuda_arch_has(d, "cp_async") ? 4 : 2, stages);

    return e ? e : dense_space(w, d, knobs, quantities, constraints, s, why);
}

/* Work-items along an axis of a tile: two, four or eight elements each. */
static int64_t items_of(int64_t tile)
{
    return tile >= 64 ? 16 : 8;
}

/* The tile that costs least; none has as much again beyond an edge. */
static struct dense_tile tile_of(const struct dense_shape *z, const struct device_desc *d)
{
    struct dense_tile best = {0};

    for (int64_t m = 128; m >= 16; m /= 2)
        for (int64_t n = 128; n >= 16; n /= 2)
            if ((m == 16 || m < 2 * z->m) && (n == 16 || n < 2 * z->n))
                dense_tile_try(z, d, (struct dense_tile){m, n, items_of(m), items_of(n), 16, 1}, &best);
    return best;
}

static void choose_gpu(const struct dense_shape *z, const struct device_desc *d, const struct space *s,
                       struct config *out)
{
    const struct dense_tile t = tile_of(z, d);
    const int64_t rows = t.m / t.m_items, columns = t.n / t.n_items, items = t.m_items * t.n_items;
    const int64_t vwm = rows < 4 ? 2 : 4, vwn = columns < 4 ? 2 : 4;
    const bool async = cuda_arch_has(d, "cp_async");

    build_choose(s,
                 (const struct build_define[]){{"stages", async ? 3 : 2},
                                               {"mwg", t.m},
                                               {"nwg", t.n},
                                               {"kwg", 16},
                                               {"mdimc", t.m_items},
                                               {"ndimc", t.n_items},
                                               {"mdima", t.m / vwm < items ? t.m / vwm : items},
                                               {"ndimb", t.n / vwn < items ? t.n / vwn : items},
                                               {"kwi", 8},
                                               {"vwm", vwm},
                                               {"vwn", vwn},
                                               {"strm", rows > 4},
                                               {"strn", columns > 4},
                                               {"sa", 1},
                                               {"sb", 1},
                                               {"split", t.split},
                                               {NULL, 0}},
                 out);
}

static void choose_other(const struct dense_shape *z, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const int64_t m = z->m < 64 ? 16 : 64, n = z->n < 64 ? 16 : 64, tiles = CEIL(z->m, m) * CEIL(z->n, n);
    const int64_t wanted = 4 * (d->units > 0 ? d->units : 8) / tiles, deepest = z->k / 128;

    build_choose(s,
                 (const struct build_define[]){{"mwg", m},
                                               {"nwg", n},
                                               {"kwg", 16},
                                               {"mdimc", m == 64 ? 16 : 8},
                                               {"ndimc", n == 64 ? 16 : 8},
                                               {"mdima", m == 64 ? 16 : 8},
                                               {"ndimb", n == 64 ? 16 : 8},
                                               {"vwn", n == 64 ? 4 : 2},
                                               {"sa", 1},
                                               {"sb", 1},
                                               {"split", wanted < deepest ? wanted : deepest},
                                               {NULL, 0}},
                 out);
}

static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    static const char *const stages[] = {"stages", NULL};
    static const char *const lowered[] = {"mdimc", "ndimc", "mdima", "ndimb", "mwg", "nwg", "vwn", "split", NULL};
    const struct dense_shape z = dense_shape_of(w);

    *out = (struct config){{0}};
    if (d->kind == DEVICE_GPU)
        choose_gpu(&z, d, s, out);
    else
        choose_other(&z, d, s, out);
    if (build_make_valid(s, stages, out) == ERR_OK)
        return ERR_OK;
    return build_make_valid(s, lowered, out);
}

static void program(struct build *b)
{
    const struct gemm_shape z = gemm_shape_of(b->w);
    const int64_t kp = build_int(b, "padded_k"), tile_bytes = build_int(b, "tile_bytes");
    const int64_t n_padded = build_int(b, "n_groups") * build_int(b, "nwg");
    const int64_t m_padded = build_int(b, "m_groups") * build_int(b, "mwg"), block[] = {16, 4, 1};
    const int64_t tile[] = {build_int(b, "ndimc"), build_int(b, "mdimc"), 1}, grid[] = {build_int(b, "groups"), 1, 1};
    const int wt = build_buffer(b, "wt", ROLE_PACKED, b->w->dtype, kp * n_padded);
    const int xt = build_buffer(b, "xt", ROLE_SCRATCH, b->w->dtype, kp * m_padded);
    const bool dynamic = tile_bytes > build_max_local(b->d);

    assert(kp % 16 == 0 && n_padded % 16 == 0 && m_padded % 16 == 0); /* packed in squares of 16 */
    assert(kp >= z.k && n_padded >= z.n && m_padded >= z.m);
    assert(tile[0] * tile[1] == build_int(b, "work_items"));
    build_module(b, "dense/gemm_tiled.cl");
    gemm_define_shape(b, &z);
    build_define(b, "VEC", build_int(b, "vwn"));
    b->p->needs_local_bytes = build_int(b, "local_bytes");
    if (build_int(b, "stages") > 2)
        gemm_need(b, "cp_async");
    if (dynamic)
        build_define(b, "DYN_LOCAL", 1);
    build_launch(b, PHASE_PACK, "gemm_tiled_pack_w", (const int64_t[]){kp / 16 * (n_padded / 16), 1, 1}, block,
                 (const int[]){1, wt, -1});
    build_launch(b, PHASE_RUN, "gemm_tiled_pack_x", (const int64_t[]){kp / 16 * (m_padded / 16), 1, 1}, block,
                 (const int[]){0, xt, -1});
    gemm_launch(b, &z, "gemm_tiled", grid, tile, (const int[]){xt, wt});
    for (size_t i = 0; !b->e && dynamic && i < b->p->n_launches; i++)
        if (strcmp(b->p->launches[i].kernel, "gemm_tiled") == 0)
            b->p->launches[i].dyn_local = tile_bytes;
}

const struct template dense_gemm_tiled = {
    .id = "dense/gemm_tiled",
    .stages = true,
    .version = 2,
    .summary =
        "GPU: both factors k-major and padded, tiles through local memory in stages, k split where outputs are few",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};
