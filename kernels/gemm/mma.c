/* SPDX-License-Identifier: MIT */
#include "kernels/gemm/mma.h"

#include "core/err.h"
#include "runtime/cuda_arch.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#define MAX_INPUTS 4

/* Of a device's extensions, what multiplies the type; NULL = nothing does. */
static const char *word_of(enum dtype t)
{
    return t == DTYPE_F16 ? "mma_f16" : t == DTYPE_BF16 ? "mma_bf16" : dtype_is_bytes(t) ? "mma_i8" : NULL;
}

enum err mma_within(const char *id, const struct workload *w, const struct device_desc *d, struct why *why)
{
    const char *word = word_of(w->dtype);

    if (!word)
        return why_set(why, ERR_UNSUPPORTED, "%s computes f16, bf16, i8 and u8, not %s", id, dtype_name(w->dtype));
    if (!cuda_arch_has(d, word))
        return why_set(why, ERR_UNSUPPORTED, "%s needs a CUDA device with tensor cores for %s (%s)", id,
                       dtype_name(w->dtype), w->dtype == DTYPE_BF16 ? "sm_80 and up" : "sm_75 and up");
    return ERR_OK;
}

int64_t mma_width(int64_t n_bytes, int64_t most)
{
    while (most > 1 && n_bytes % most)
        most /= 2;
    assert(most > 0 && n_bytes % most == 0);
    return most;
}

static const struct build_knob knobs[] = {
    {"mt", {16, 32, 64, 96, 128, 192, 256, BUILD_END}},
    {"nt", {8, 16, 32, 64, 96, 128, 192, 256, BUILD_END}},
    {"kt", {32, 64, 128, BUILD_END}},
    {"wm", {1, 2, 4, 8, BUILD_END}},
    {"wn", {1, 2, 4, 8, BUILD_END}},
    {"stages", {1, 2, 3, 4, 5, BUILD_END}},
    {"ldm", {0, 1, BUILD_END}},
    {"ahead", {0, 1, BUILD_END}},
    {"split", {1, 2, 4, 8, 16, BUILD_END}},
    {"band", {1, 4, 16, BUILD_END}},
    {0},
};

static const char *const quantities[][2] = {
    {"work_items", "wm * wn * 32"},
    {"accumulators", "mt * nt / work_items"},
    {"local_bytes", "max(least_local, max(stages * (mt + nt) * kt, 4 * wn * wm * (20 * nt // wn + 128)))"},
    {"steps", "ceil_div(k_bytes, kt)"},
    {"a_tiles", "ceil_div(size_a, mt)"},
    {"b_tiles", "ceil_div(size_b, nt)"},
    {"groups", "products * a_tiles * b_tiles * split"},
    {"waste", "a_tiles * mt * b_tiles * nt * steps * kt / (size_a * size_b * k_bytes)"},
    {"chunks", "ceil_div((mt + nt) * kt // 16, work_items)"}, /* that a thread brings; without cp.async by registers */
    {"registers",
     "accumulators + (1 + ahead) * (mt // (wm * 4) + nt // (wn * 4)) + (2 + 3 * (1 - async)) * chunks + 32"},
    {"loads_per_mma", "(16 * wm / mt + 8 * wn / nt) / 2"},
    {"staged_per_mma", "1 / mt + 1 / nt"},
    {"resident", "min(max_unit_local // (local_bytes + reserved), max_registers // (registers * work_items))"},
    {NULL, NULL},
};

/* Without cp.async more than two stages have nothing under way. */
static const char *const constraints[] = {
    "mt % (wm * 16) == 0 and nt % (wn * 8) == 0",
    "work_items <= max_group",
    "local_bytes <= max_local",
    "accumulators <= 128",
    "chunks <= 24",
    "registers <= 256 and registers * work_items <= max_registers",
    "async == 1 or stages <= 2",
    "ahead == 0 or kt >= 64",
    "stages <= steps + 1",
    "split == 1 or 2 * split <= steps",
    "band == 1 or (band < 2 * a_tiles and b_tiles > 1)",
    "mt == 16 or mt < 2 * size_a",
    "nt == 8 or nt < 2 * size_b",
    NULL,
};

/* Does cp.async bring the pieces? */
static bool is_async(const struct mma_shape *z, const struct device_desc *d)
{
    return cuda_arch_has(d, "cp_async") && z->width >= 4;
}

enum err mma_space(const struct mma_shape *z, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct build_named constants[] = {{"size_a", (double)z->a},
                                            {"size_b", (double)z->b},
                                            {"products", (double)z->products},
                                            {"k_bytes", (double)z->k_bytes},
                                            {"width", (double)z->width},
                                            {"async", is_async(z, d)},
                                            {"least_local", (double)z->least_local},
                                            {"max_group", (double)build_max_group(d)},
                                            {"max_local", (double)d->local_max_bytes},
                                            {"max_unit_local", (double)d->local_unit_bytes},
                                            {"reserved", (double)d->local_reserved},
                                            {"max_registers", (double)d->registers},
                                            {NULL, 0}};

    return build_space(s, constants, knobs, quantities, constraints, why);
}

/* A default's tile, and the parts of k. */
struct tiling {
    int64_t mt, nt, split;
};

/* Groups a multiprocessor. */
static int64_t groups_of(struct tiling t)
{
    return t.mt * t.nt > 128 * 128 ? 1 : 2;
}

/* What a tiling costs, in cycles of a multiprocessor: the slowest of its products (half a product of f16 a byte of k,
 * 1,024 a cycle), of what it fetches (48 bytes a cycle), of the way of 512 bytes of k (800 cycles) and of what all
 * fetch from the second cache (24 bytes a cycle for each multiprocessor), the begin of its groups, and where k is split
 * a second launch and the sums' way to memory and back. Orders of magnitude of sm_80 and sm_90; nothing was measured.
 */
static double tiling_cycles(const struct mma_shape *z, double units, struct tiling t)
{
    const double groups = (double)(z->products * CEIL(z->a, t.mt) * CEIL(z->b, t.nt) * t.split);
    const double rounds = ceil(groups / units), k_bytes = (double)CEIL(z->k_bytes, t.split);
    const double products = rounds * k_bytes * (double)(t.mt * t.nt) / 2048, rows = (double)(t.mt + t.nt);
    const double fetched = fmax(rounds * k_bytes * rows / 48, groups * k_bytes * rows / (24 * units));
    const double turns = ceil(rounds / (double)groups_of(t)), waited = turns * k_bytes * 1.6;
    const double sums = t.split > 1 ? 6000 + groups * (double)(t.mt * t.nt) * 8 / (24 * units) : 0;

    return fmax(fmax(products, fetched), waited) + 1500 * turns + sums;
}

/* The cheapest, of equal ones the largest, with up to 64 x 64 sums for each of eight warps, no tile twice as long as it
 * needs to be, and at least four stages of 128 bytes a part. */
static struct tiling choose_tiling(const struct mma_shape *z, const struct device_desc *d)
{
    const double units = d->units > 0 ? (double)d->units : 32;
    struct tiling best = {16, 8, 1};

    for (int64_t mt = 16; mt <= 256 && (mt == 16 || mt < 2 * z->a); mt *= 2)
        for (int64_t nt = 8; nt <= 256 && (nt == 8 || nt < 2 * z->b) && mt * nt <= 256 * 128; nt *= 2)
            for (int64_t split = 1; split <= 16 && (split == 1 || 512 * split <= z->k_bytes); split *= 2) {
                const struct tiling t = {mt, nt, split};

                if (tiling_cycles(z, units, t) <= tiling_cycles(z, units, best))
                    best = t;
            }
    return best;
}

/* Bytes of k in a stage, and stages, in the room of a group: whole lines of 128 bytes where three such stages fit, else
 * 64 and up to four. Without cp.async two stages of 64. */
static void choose_stages(const struct mma_shape *z, const struct device_desc *d, struct tiling t, int64_t *kt,
                          int64_t *stages)
{
    const int64_t rows = t.mt + t.nt, share = d->local_unit_bytes / groups_of(t) - d->local_reserved;
    const int64_t room = share < d->local_max_bytes ? share : d->local_max_bytes;

    *kt = z->k_bytes > 32 ? 64 : 32;
    *stages = 2;
    if (!is_async(z, d))
        return;
    if (z->k_bytes >= 512 && room >= 3 * rows * 128)
        *kt = 128;
    while (*stages < 4 && *stages * *kt < z->k_bytes && room >= (*stages + 1) * rows * *kt)
        ++*stages;
}

struct warps {
    int64_t m, n;
};

/* Warps of up to 64 x 64 sums, two or more where the tile is not the smallest. A tile of 256 x 32 is four of 64 x 32:
 * of 64 x 16, each would read 2.5 KB of shared memory, 20 cycles, for what tensor cores of sm_80 multiply in 16. */
static struct warps choose_warps(struct tiling t, bool async)
{
    const bool four = t.nt >= 256 || (t.mt == 128 && t.nt == 128 && !async), two = t.nt >= (t.mt >= 256 ? 64 : 32);

    return (struct warps){t.mt >= 256 ? 4 : t.mt >= 64 ? 2 : 1, four ? 4 : two ? 2 : 1};
}

enum err mma_fallback(const struct mma_shape *z, const struct device_desc *d, const struct space *s, struct config *out)
{
    const struct tiling t = choose_tiling(z, d);
    const struct warps warps = choose_warps(t, is_async(z, d));
    int64_t kt, stages;

    choose_stages(z, d, t, &kt, &stages);
    *out = (struct config){{0}};
    build_choose(s,
                 (const struct build_define[]){{"mt", t.mt},
                                               {"nt", t.nt},
                                               {"kt", kt},
                                               {"wm", warps.m},
                                               {"wn", warps.n},
                                               {"stages", stages},
                                               {"ldm", 1},
                                               {"ahead", kt > 32},
                                               {"band", CEIL(z->a, t.mt) > 4 && z->b > t.nt ? 4 : 1},
                                               {"split", t.split},
                                               {NULL, 0}},
                 out);
    return build_make_valid(
        s, (const char *const[]){"band", "split", "stages", "ahead", "kt", "wn", "wm", "nt", "mt", NULL}, out);
}

void mma_define(struct build *b, const struct mma_shape *z)
{
    const struct device_desc *d = b->d;

    gemm_need(b, word_of(b->w->dtype)); /* without it a time of tensor cores is taken for too fast to be true */
    build_defines(b, (const struct build_define[]){{"MMA_WIDE", cuda_arch_has(d, "mma_k16")},
                                                   {"ASYNC", is_async(z, d)},
                                                   {"WIDTH", z->width},
                                                   {"RUN", z->run},
                                                   {NULL, 0}});
}

/* A launch in shared memory whose size the launch tells. */
static void shared_launch(struct build *b, const char *kernel, const int64_t grid[3], const int64_t block[3],
                          const int *buffers, bool last)
{
    if (last)
        build_last_launch(b, kernel, grid, block, buffers);
    else
        build_launch(b, PHASE_RUN, kernel, grid, block, buffers);
    if (!b->e)
        b->p->launches[b->p->n_launches - 1].dyn_local = build_int(b, "local_bytes");
}

void mma_launch(struct build *b, const char *kernel, const int *inputs, int64_t n_outputs)
{
    const int64_t split = build_int(b, "split"), block[] = {build_int(b, "work_items"), 1, 1};
    const int64_t grid[] = {build_int(b, "groups"), 1, 1};
    int buffers[MAX_INPUTS + 2], n = 0;
    char add[64];

    assert(block[0] % 32 == 0 && grid[0] % split == 0 && n_outputs > 0); /* whole warps, whole parts */
    for (; inputs[n] >= 0; n++) {
        assert(n < MAX_INPUTS);
        buffers[n] = inputs[n];
    }
    buffers[n] = buffers[n + 1] = -1;
    if (split == 1) {
        shared_launch(b, kernel, grid, block, buffers, true);
        return;
    }
    buffers[n] =
        build_buffer(b, "part", ROLE_SCRATCH, dtype_is_bytes(b->w->dtype) ? DTYPE_I32 : DTYPE_F32, split * n_outputs);
    snprintf(add, sizeof add, "%s_add", kernel);
    shared_launch(b, kernel, grid, block, buffers, false);
    build_last_launch(b, add, (const int64_t[]){CEIL(n_outputs, 128), 1, 1}, (const int64_t[]){128, 1, 1},
                      (const int[]){buffers[n], -1});
}
