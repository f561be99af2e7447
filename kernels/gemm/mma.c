/* SPDX-License-Identifier: MIT */
#include "kernels/gemm/mma.h"

#include "core/err.h"
#include "runtime/cuda_arch.h"

#include <assert.h>
#include <stdio.h>

enum err mma_within(const char *id, const struct workload *w, const struct device_desc *d, struct why *why)
{
    const char *word = w->dtype == DTYPE_F16    ? "mma_f16"
                       : w->dtype == DTYPE_BF16 ? "mma_bf16"
                       : w->dtype == DTYPE_I8   ? "mma_i8"
                                                : NULL;

    if (!word)
        return why_set(why, ERR_UNSUPPORTED, "%s computes f16, bf16 and i8, not %s", id, dtype_name(w->dtype));
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
    {"mt", {16, 32, 64, 128, 256, BUILD_END}},
    {"nt", {8, 16, 32, 64, 128, 256, BUILD_END}},
    {"kt", {32, 64, 128, BUILD_END}},
    {"wm", {1, 2, 4, 8, BUILD_END}},
    {"wn", {1, 2, 4, 8, BUILD_END}},
    {"stages", {1, 2, 3, 4, 5, BUILD_END}},
    {"ldm", {0, 1, BUILD_END}},
    {"split", {1, 2, 4, 8, 16, BUILD_END}},
    {"band", {1, 4, 16, BUILD_END}},
    {0},
};

static const char *const quantities[][2] = {
    {"work_items", "wm * wn * 32"},
    {"accumulators", "mt * nt / work_items"},
    {"local_bytes", "stages * (mt + nt) * (kt + 16)"},
    {"steps", "ceil_div(k_bytes, kt)"},
    {"a_tiles", "ceil_div(size_a, mt)"},
    {"b_tiles", "ceil_div(size_b, nt)"},
    {"groups", "products * a_tiles * b_tiles * split"},
    {"waste", "a_tiles * mt * b_tiles * nt * steps * kt / (size_a * size_b * k_bytes)"},
    {"registers", "accumulators + mt // (wm * 4) + nt // (wn * 4) + 56"},
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
    "registers * work_items <= max_registers",
    "async == 1 or stages <= 2",
    "stages <= steps + 1",
    "split == 1 or 2 * split <= steps",
    "band == 1 or (band < 2 * a_tiles and b_tiles > 1)",
    "mt == 16 or mt < 2 * size_a",
    "nt == 8 or nt < 2 * size_b",
    NULL,
};

enum err mma_space(const struct mma_shape *z, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct build_named constants[] = {{"size_a", (double)z->a},
                                            {"size_b", (double)z->b},
                                            {"products", (double)z->products},
                                            {"k_bytes", (double)z->k_bytes},
                                            {"width", (double)z->width},
                                            {"async", cuda_arch_has(d, "cp_async") ? 1 : 0},
                                            {"max_group", (double)build_max_group(d)},
                                            {"max_local", (double)d->local_max_bytes},
                                            {"max_unit_local", (double)d->local_unit_bytes},
                                            {"reserved", (double)d->local_reserved},
                                            {"max_registers", (double)d->registers},
                                            {NULL, 0}};

    return build_space(s, constants, knobs, quantities, constraints, why);
}

/* Powers of two from `least` to `most`, not over twice n. */
static int64_t tile_for(int64_t n, int64_t least, int64_t most)
{
    int64_t t = least;

    while (t < most && t < n)
        t *= 2;
    return t;
}

enum err mma_fallback(const struct mma_shape *z, const struct device_desc *d, const struct space *s, struct config *out)
{
    const int64_t wanted = 2 * (d->units > 0 ? d->units : 32), steps = CEIL(z->k_bytes, 64);
    int64_t mt = tile_for(z->a, 16, 128), nt = tile_for(z->b, 8, 128), groups;

    while (z->products * CEIL(z->a, mt) * CEIL(z->b, nt) < wanted && (mt > 64 || nt > 64))
        *(mt >= nt ? &mt : &nt) /= 2;
    groups = z->products * CEIL(z->a, mt) * CEIL(z->b, nt);
    *out = (struct config){{0}};
    build_choose(
        s,
        (const struct build_define[]){
            {"mt", mt},
            {"nt", nt},
            {"kt", z->k_bytes > 32 ? 64 : 32},
            {"wm", mt >= 64 ? 2 : 1},
            {"wn", nt >= 128  ? 4
                   : nt >= 32 ? 2
                              : 1},
            {"stages", steps < 3                      ? 2
                       : cuda_arch_has(d, "cp_async") ? 3
                                                      : 2},
            {"ldm", 1},
            {"band", CEIL(z->a, mt) > 4 && z->b > nt ? 4 : 1},
            {"split",
             groups < wanted && steps >= 8 ? CEIL(wanted, groups) < steps / 4 ? CEIL(wanted, groups) : steps / 4 : 1},
            {NULL, 0}},
        out);
    return build_make_valid(s, (const char *const[]){"band", "split", "stages", "kt", "wn", "wm", "nt", "mt", NULL},
                            out);
}

void mma_define(struct build *b, const struct mma_shape *z)
{
    const struct device_desc *d = b->d;

    build_defines(b,
                  (const struct build_define[]){{"MMA_WIDE", cuda_arch_has(d, "mma_k16")},
                                                {"ASYNC", cuda_arch_has(d, "cp_async") && build_int(b, "stages") > 1},
                                                {"WIDTH", z->width},
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

void mma_launch(struct build *b, const char *kernel, const int inputs[2], int64_t n_outputs)
{
    const int64_t split = build_int(b, "split"), block[] = {build_int(b, "work_items"), 1, 1};
    const int64_t grid[] = {build_int(b, "groups"), 1, 1};
    char add[64];
    int part;

    assert(block[0] % 32 == 0 && grid[0] % split == 0 && n_outputs > 0); /* whole warps, whole parts */
    if (split == 1) {
        shared_launch(b, kernel, grid, block, (const int[]){inputs[0], inputs[1], -1}, true);
        return;
    }
    part = build_buffer(b, "part", ROLE_SCRATCH, b->w->dtype == DTYPE_I8 ? DTYPE_I32 : DTYPE_F32, split * n_outputs);
    snprintf(add, sizeof add, "%s_add", kernel);
    shared_launch(b, kernel, grid, block, (const int[]){inputs[0], inputs[1], part, -1}, false);
    build_last_launch(b, add, (const int64_t[]){CEIL(n_outputs, 128), 1, 1}, (const int64_t[]){128, 1, 1},
                      (const int[]){part, -1});
}
