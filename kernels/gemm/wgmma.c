/* SPDX-License-Identifier: MIT */
#include "kernels/gemm/wgmma.h"

#include "core/err.h"
#include "kernels/build.h"
#include "kernels/gemm/gemm.h"
#include "runtime/cuda_arch.h"

#include <assert.h>
#include <stdint.h>

#define ROW_ALIGNED 16 /* bytes: rows whose length is a multiple of it are what the copy engine takes */
#define MAP_BYTES 256  /* two tensor maps a group */
#define KEPT_BYTES 512 /* of shared memory, for tensor maps in the making and for barriers */
#define GOOD_ROWS 64   /* fewer leave most of an instruction's 64 rows empty */

static int64_t row_bytes(const struct workload *w)
{
    return workload_get(w, "k") * (int64_t)dtype_bytes(w->dtype);
}

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    const char *id = workload_has(w, "b") ? "batch_gemm/wgmma" : "dense/wgmma";

    if (w->dtype != DTYPE_F16 && w->dtype != DTYPE_BF16 && !dtype_is_bytes(w->dtype)) {
        why_set(why, ERR_UNSUPPORTED, "%s computes f16, bf16, i8 and u8, not %s", id, dtype_name(w->dtype));
        return FIT_NONE;
    }
    if (!cuda_arch_has(d, "wgmma")) {
        why_set(why, ERR_UNSUPPORTED, "%s needs a CUDA device of sm_90, with products of warpgroups", id);
        return FIT_NONE;
    }
    if (row_bytes(w) % ROW_ALIGNED) {
        why_set(why, ERR_UNSUPPORTED, "%s needs rows of k of whole %d bytes, not %lld", id, ROW_ALIGNED,
                (long long)row_bytes(w));
        return FIT_NONE;
    }
    return workload_get(w, "m") < GOOD_ROWS ? FIT_POSSIBLE : FIT_GOOD;
}

static const struct build_knob knobs[] = {
    {"nt", {64, 128, 192, 256, BUILD_END}},
    {"wgs", {1, 2, BUILD_END}},
    {"stages", {2, 3, 4, 5, 6, 8, BUILD_END}},
    {"cluster", {1, 2, BUILD_END}},
    {"band", {1, 2, 4, 8, 16, BUILD_END}},
    {"gather", {0, 1, BUILD_END}},
    {"turns", {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18,
               19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 40, 48, 64, BUILD_END}},
    {0},
};

/* tile_units: what a cluster computes at a time; wave: clusters that the device has room for. The warp that brings
 * tiles takes as many registers as a warpgroup: each quarter of a multiprocessor has room for its warps alone. */
static const char *const quantities[][2] = {
    {"work_items", "wgs * 128 + 32"},
    {"accumulators", "mt * nt / (wgs * 128)"},
    {"local_bytes", "stages * (mt + nt) * 128 + kept_bytes"},
    {"m_units", "ceil_div(m_tiles, cluster)"},
    {"n_tiles", "ceil_div(size_outputs, nt)"},
    {"tile_units", "size_b * m_units * n_tiles"},
    {"registers", "accumulators + 40"},
    {"resident", "min(max_unit_local // (local_bytes + reserved), max_registers // (registers * (wgs + 1) * 128))"},
    {"wave", "max(1, units * resident // cluster)"},
    {"groups", "cluster * ceil_div(tile_units, turns)"},
    {"rounds", "ceil_div(tile_units, wave)"},
    {"waste", "m_units * cluster * mt * n_tiles * nt * steps * 128 / (size_rows * size_outputs * k_bytes)"},
    {"staged_per_mma", "1 / (mt * cluster) + 1 / nt"},
    {NULL, NULL},
};

/* Groups take several turns so that all of them run at the same time: fewer turns than rounds do not. */
static const char *const constraints[] = {
    "mt % (wgs * 64) == 0",
    "accumulators <= 128",
    "local_bytes <= max_local",
    "stages <= steps * turns + 1",
    "gather == 0 or (elem_bytes == 2 and size_outputs % 8 == 0)",
    "cluster == 1 or m_tiles > 1",
    "band == 1 or (band < 2 * m_units and n_tiles > 1)",
    "turns == 1 or (turns <= tile_units and rounds <= turns <= 2 * rounds)",
    "nt == 64 or nt < 2 * size_outputs",
    NULL,
};

enum err wgmma_space(const struct wgmma_shape *z, const struct wgmma_tiles *tiles, const struct device_desc *d,
                     struct space *s, struct why *why)
{
    const struct build_named constants[] = {{"size_b", (double)z->b},
                                            {"size_rows", (double)z->rows},
                                            {"size_outputs", (double)z->outputs},
                                            {"k_bytes", (double)z->k_bytes},
                                            {"steps", (double)z->steps},
                                            {"elem_bytes", (double)z->elem_bytes},
                                            {"units", d->units > 0 ? (double)d->units : 1.0},
                                            {"kept_bytes", KEPT_BYTES},
                                            {"max_local", (double)d->local_max_bytes},
                                            {"max_unit_local", (double)d->local_unit_bytes},
                                            {"reserved", (double)d->local_reserved},
                                            {"max_registers", (double)d->registers},
                                            {NULL, 0}};
    enum err e = build_constants(s, constants, why);

    if (!e)
        e = build_knobs(s, tiles->knobs, why);
    if (!e)
        e = build_knobs(s, knobs, why);
    if (!e)
        e = build_quantities(s, tiles->quantities, why);
    if (!e)
        e = build_quantities(s, quantities, why);
    if (!e)
        e = build_constraints(s, tiles->constraints, why);
    return e ? e : build_constraints(s, constraints, why);
}

static const struct build_knob gemm_knobs[] = {{"mt", {64, 128, 256, BUILD_END}}, {0}};
static const char *const gemm_quantities[][2] = {{"m_tiles", "ceil_div(size_rows, mt)"}, {NULL, NULL}};
static const char *const gemm_constraints[] = {"mt == 64 or mt < 2 * size_rows", NULL};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct gemm_shape z = gemm_shape_of(w);
    const struct wgmma_shape shape = {
        z.b, z.m, z.n, row_bytes(w), CEIL(row_bytes(w), 128), (int64_t)dtype_bytes(w->dtype)};
    const struct wgmma_tiles tiles = {gemm_knobs, gemm_quantities, gemm_constraints};

    return wgmma_space(&shape, &tiles, d, s, why);
}

struct wgmma_tile wgmma_tile_for(int64_t b, int64_t rows, int64_t outputs, const struct device_desc *d)
{
    static const struct wgmma_tile tiles[] = {{128, 256, 2}, {128, 128, 2}, {64, 128, 1}, {64, 64, 1}};
    size_t i = 0;

    while (i + 1 < sizeof tiles / sizeof *tiles &&
           (2 * b * CEIL(rows, tiles[i].m) * CEIL(outputs, tiles[i].n) < d->units || tiles[i].m >= 2 * rows ||
            tiles[i].n >= 2 * outputs))
        i++;
    return tiles[i];
}

/* The least number of turns in which all groups run at the same time; 1 where it is more than the knob has. */
static int64_t turns_for(int64_t rounds)
{
    return rounds <= 32 ? rounds : rounds <= 40 ? 40 : rounds <= 48 ? 48 : rounds <= 64 ? 64 : 1;
}

static int64_t band_for(int64_t m_units)
{
    int64_t band = 8;

    while (band > 1 && band >= 2 * m_units)
        band /= 2;
    return band;
}

enum err wgmma_choose(const struct wgmma_tile *t, int64_t m_tiles, int64_t outputs, int64_t elem_bytes,
                      const struct space *s, struct config *inout)
{
    const int64_t cluster = m_tiles > 1 ? 2 : 1;
    int64_t turns, steps; /* of a group */

    build_choose(s,
                 (const struct build_define[]){{"nt", t->n},
                                               {"wgs", t->wgs},
                                               {"cluster", cluster},
                                               {"band", outputs > t->n ? band_for(CEIL(m_tiles, cluster)) : 1},
                                               {"gather", elem_bytes == 2 && outputs % 8 == 0},
                                               {NULL, 0}},
                 inout);
    turns = turns_for(space_int(s, inout, "rounds"));
    steps = space_int(s, inout, "steps") * turns;
    build_choose(s, (const struct build_define[]){{"turns", turns}, {"stages", steps < 3 ? steps + 1 : 4}, {NULL, 0}},
                 inout);
    return build_make_valid(s, (const char *const[]){"stages", "turns", "band", "cluster", "nt", "wgs", NULL}, inout);
}

static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const struct gemm_shape z = gemm_shape_of(w);
    const struct wgmma_tile t = wgmma_tile_for(z.b, z.m, z.n, d);

    *out = (struct config){{0}};
    build_choose(s, (const struct build_define[]){{"mt", t.m}, {NULL, 0}}, out);
    return wgmma_choose(&t, CEIL(z.m, t.m), z.n, (int64_t)dtype_bytes(w->dtype), s, out);
}

void wgmma_launch(struct build *b, int w, int64_t outputs)
{
    const int64_t groups = build_int(b, "groups"), block[] = {build_int(b, "work_items"), 1, 1};
    const int maps = build_buffer(b, "maps", ROLE_SCRATCH, DTYPE_I32, groups * MAP_BYTES / 4);

    assert(groups % build_int(b, "cluster") == 0);
    build_arch_specific(b);
    build_defines(b, (const struct build_define[]){{"BLOCKS", groups}, {"VEC", outputs % 2 ? 1 : 2}, {NULL, 0}});
    gemm_need(b, "wgmma");
    build_last_launch(b, "gemm_wgmma", (const int64_t[]){groups, 1, 1}, block, (const int[]){0, w, maps, -1});
    if (!b->e)
        b->p->launches[b->p->n_launches - 1].dyn_local = build_int(b, "local_bytes");
}

static void program(struct build *b)
{
    const struct gemm_shape z = gemm_shape_of(b->w);

    build_module(b, "gemm/wgmma.cl");
    gemm_define_shape(b, &z);
    (void)build_fold_zero(b, z.n, z.k);
    wgmma_launch(b, 1, z.n);
}

const struct template dense_wgmma = {
    .id = "dense/wgmma",
    .version = 1,
    .summary = "CUDA, sm_90: products of warpgroups on f16, bf16, i8 and u8, tiles brought by the copy engine",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};

const struct template batch_gemm_wgmma = {
    .id = "batch_gemm/wgmma",
    .version = 1,
    .summary = "CUDA, sm_90: products of warpgroups on f16, bf16 and i8, tiles brought by the copy engine",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};
