/* SPDX-License-Identifier: MIT */
/* cpu.c - matrix products for CPUs: the space, the default and the launches of cpu.clh. */
#include "kernels/gemm/gemm.h"

#include "core/err.h"

#include <assert.h>
#include <math.h>

#define PACK_STEP 64
#define ALL 16777216 /* every value not under it: one config says "all of them" */

static const struct build_knob knobs[] = {
    {"vec", {4, 8, 16, BUILD_END}},
    {"mr", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 20, 24, 28, BUILD_END}},
    {"nv", {1, 2, 3, 4, 6, 8, BUILD_END}},
    {"kc", {64, 128, 192, 256, 384, 512, 1024, 2048, ALL, BUILD_END}},
    {"ku", {1, 2, 4, 8, 16, BUILD_END}},
    {"tiles", {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 64, BUILD_END}},
    {"nt", {1, 2, 3, 4, 6, 8, 11, 12, 16, 22, 24, 32, 43, 48, 64, 86, 96, 128, ALL, BUILD_END}},
    {"order", {0, 1, BUILD_END}},
    {"px", {0, 1, 2, BUILD_END}},
    {"pf", {0, 1, 2, BUILD_END}},
    {"py", {0, 1, BUILD_END}},
    {0},
};

static const char *const quantities[][2] = {
    {"accumulators", "mr * nv * ceil_div(vec, max(lanes, 4))"},
    {"registers", "accumulators + nv * ceil_div(vec, max(lanes, 4)) + 1"},
    {"waste_m", "ceil_div(size_m, mr) * mr / size_m"},
    {"waste_n", "ceil_div(size_n, nv * vec) * nv * vec / size_n"},
    {"waste", "waste_m * waste_n"},
    {"lane_use", "min(vec, lanes) / max(lanes, 4)"},
    {"loads_per_fma", "(nv + mr) / (mr * nv)"},
    {"block", "min(kc, size_k)"},
    {"panels", "ceil_div(size_n, nv * vec)"},
    {"panels_item", "min(nt, panels)"},
    {"panel_bytes", "nv * vec * block * elem_bytes"},
    {"rows_bytes", "mr * tiles * block * elem_bytes"},
    {"copy_bytes", "(px == 2) * mr * tiles * (block + 32) * sum_bytes"},
    {"sums_bytes", "(kc < size_k) * panels_item * tiles * mr * nv * vec * sum_bytes"},
    {"local_bytes", "copy_bytes + sums_bytes + packs_w * (block * nv * vec * sum_bytes)"},
    {"passes", "ceil_div(size_k, kc)"},
    {"items", "size_b * ceil_div(size_m, mr * tiles) * ceil_div(panels, nt)"},
    {"body", "accumulators * ku"},
    {NULL, NULL},
};

/* A knob beyond what there is to divide is one config, not several: only the last value says "all". */
static const char *const constraints[] = {
    "registers <= 33",
    "accumulators >= min(4, size_m)",
    "vec <= max(lanes, 4)",
    "body <= 512",
    "ku <= size_k",
    "mr <= size_m",
    "tiles == 1 or mr * (tiles - 1) < size_m",
    "kc < size_k or kc == 16777216",
    "nt < panels or (nt == 16777216 and panels > 1) or (nt == 1 and panels == 1)",
    "kc == 16777216 or kc % ku == 0",
    "nv == 1 or (nv - 1) * vec < size_n",
    "local_bytes <= max_local",
    "order == 0 or ceil_div(size_m, mr * tiles) * ceil_div(panels, nt) > 1",
    "packs_w == 0 or (pf == 0 and px != 1)",
    NULL,
};

enum err gemm_cpu_space(const struct workload *w, const struct gemm_shape *z, const struct device_desc *d, bool packs_w,
                        struct space *s, struct why *why)
{
    const enum err e = space_add_constant(s, "packs_w", packs_w, why);

    return e ? e : gemm_space(w, z, d, knobs, quantities, constraints, s, why);
}

/* The tile of rows x vectors that wastes least of y, and then loads least for each product. Vectors of 8 lanes have 16
 * registers, others 32; three hold factors. */
static void choose_tile(const struct gemm_shape *z, int64_t lanes, int64_t *rows, int64_t *vectors)
{
    const int64_t registers = lanes == 8 ? 16 : 32;
    double best = 1e300;

    for (int64_t v = 1; v <= (z->m <= 6 ? 4 : 3); v++)
        for (int64_t r = 1; r <= 14 && r <= (registers - 3 - v) / v && r <= z->m; r++) {
            const double computed = (double)(CEIL(z->m, r) * r) * (double)(CEIL(z->n, v * lanes) * v * lanes);
            const double cost = computed * (1 + 0.4 * (double)(r + v) / (double)(r * v));

            if (cost > best)
                continue;
            best = cost;
            *rows = r;
            *vectors = v;
        }
    assert(*rows >= 1 && *rows <= z->m && *vectors >= 1);
}

static int64_t clamp(int64_t v, int64_t most)
{
    return v < 1 ? 1 : v > most ? most : v;
}

struct panels {
    const struct gemm_shape *z;
    int64_t rows, nv, nr;
    bool packs_w;
};

/* The work-items of so many tiles of rows and panels of columns: tiles, rows that each item copies or reads where they
 * lie, weights. */
static struct build_items panel_items(const int64_t *v, const void *arg)
{
    const struct panels *a = arg;
    const struct gemm_shape *z = a->z;
    const int64_t all = CEIL(z->n, a->nr), nt = clamp(v[1], all), high = a->rows * v[0];
    const double k = (double)z->k, sums = (double)(a->rows * a->nv), copies = v[2] == 2 ? 0.3 : 0;
    const double in_place = v[2] == 2 ? 1 : v[2] == 0 ? z->k % 1024 == 0 ? 1.1 : 1.05 : INFINITY; /* no launch more */
    const double weight = a->packs_w ? 1 : build_weight_cycles((double)(z->n * z->k) * 4);

    return (struct build_items){.n = z->b * CEIL(z->m, high) * CEIL(all, nt),
                                .cycles = (double)(v[0] * nt) * k * (sums < 8 ? 4 : sums / 2) * in_place +
                                          (double)high * k * copies + (double)(nt * a->nr) * k * weight +
                                          BUILD_ITEM_CYCLES};
}

/* Rows of x that are used together fill half of a second-level cache, sums that wait a quarter; one work-item takes all
 * columns unless there are several threads to feed. */
enum err gemm_cpu_fallback(const struct gemm_shape *z, const struct device_desc *d, bool packs_w, const struct space *s,
                           struct config *out)
{
    const int64_t lanes = build_vector(d) < 4 ? 4 : build_vector(d);
    int64_t rows = 1, nv = 1;

    choose_tile(z, lanes, &rows, &nv);

    const int64_t panels = CEIL(z->n, nv * lanes);
    const int64_t local = build_max_local(d) < (896 << 10) ? build_max_local(d) : 896 << 10;
    const int64_t fitting = packs_w ? local / 4 / (nv * lanes * 4) : 2048, most = fitting < 64 ? 64 : fitting;
    const int64_t kc = z->k <= most || (z->m <= 4 && !packs_w) ? ALL : most < 1024 ? most : 1024;
    const int64_t block = kc < z->k ? kc : z->k;
    const int64_t tiles = clamp(local / 2 / ((block + 32) * 4 * rows), CEIL(z->m, rows));
    const int64_t waiting = local / 4 / (tiles * rows * nv * lanes * 4);
    const int64_t nt = clamp(ALL, kc < z->k ? waiting : ALL);
    const struct panels panel = {z, rows, nv, nv * lanes, packs_w};

    *out = (struct config){{0}};
    build_choose(s,
                 (const struct build_define[]){{"vec", lanes},
                                               {"mr", rows},
                                               {"nv", nv},
                                               {"kc", kc},
                                               {"ku", z->k < 4 ? 1 : 4},
                                               {"tiles", tiles},
                                               {"nt", nt < panels  ? nt
                                                      : panels > 1 ? ALL
                                                                   : 1},
                                               {"order", 0},
                                               {"px", z->m > 1 ? 2 : 0},
                                               {"pf", packs_w ? 0 : 2},
                                               {"py", z->k >= 256},
                                               {NULL, 0}},
                 out);
    for (size_t i = 0; i < 4 && !space_is_valid(s, out, NULL); i++) {
        static const char *const names[][2] = {{"tiles", NULL}, {"px", NULL}, {"nt", NULL}, {"order", NULL}};

        (void)build_make_valid(s, names[i], out);
    }
    if (!space_is_valid(s, out, NULL))
        return build_make_valid(s, (const char *const[]){"mr", "ku", "nv", NULL}, out);
    build_spread(s, d, (const char *const[]){"tiles", "nt", "px", NULL}, panel_items, &panel, out);
    return ERR_OK;
}

static int64_t odd_lines(int64_t n)
{
    return (CEIL(n, 16) | 1) * 16;
}

void gemm_cpu_program(struct build *b, const struct gemm_shape *z, const char *kernel_file, bool packs_w)
{
    const int64_t nr = build_int(b, "nv") * build_int(b, "vec"), panels = CEIL(z->n, nr), one[] = {1, 1, 1};
    const bool copy_x = build_int(b, "px") == 1;
    const enum dtype sum = sums_in_half(b->w, b->d) ? DTYPE_F16 : DTYPE_F32;
    const int wp = packs_w ? 1 : build_buffer(b, "wp", ROLE_PACKED, b->w->dtype, panels * nr * z->k);
    const int xp = copy_x ? build_buffer(b, "xp", ROLE_SCRATCH, sum, z->m * odd_lines(z->k)) : 0;

    assert(panels * nr >= z->n && (panels - 1) * nr < z->n);
    build_module(b, kernel_file);
    gemm_define_shape(b, z);
    b->p->needs_local_bytes = build_int(b, "local_bytes");
    if (!packs_w)
        build_launch(b, PHASE_PACK, "gemm_pack_w", (const int64_t[]){panels, CEIL(z->k, PACK_STEP), 1}, one,
                     (const int[]){1, wp, -1});
    if (copy_x)
        build_launch(b, PHASE_RUN, "gemm_copy_x", (const int64_t[]){z->m, 1, 1}, one, (const int[]){0, xp, -1});
    build_last_launch(b, "gemm", (const int64_t[]){build_int(b, "items"), 1, 1}, one, (const int[]){xp, wp, -1});
}
