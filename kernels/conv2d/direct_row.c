/* SPDX-License-Identifier: MIT */
#include "kernels/conv2d/conv2d.h"
#include "core/err.h"
#include "kernels/conv2d/direct.h"

#include <assert.h>

/* Floats of local memory of the smallest config: 4 columns of one row, one channel. */
static int64_t least_local(const struct conv_shape *z)
{
    const int64_t phases = (z->r == 1 ? 1 : z->stride_h) * (z->s == 1 ? 1 : z->stride_w);

    return phases * (1 + (z->r - 1) * z->dil_h / z->stride_h) * (4 + (z->s - 1) * z->dil_w / z->stride_w) + 8;
}

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    const struct conv_shape z = conv_shape_of(w);

    if (conv_within("conv2d/direct_row", CONV_F16 | CONV_GROUPS | CONV_EPILOGUE, w, why) ||
        conv_not_cuda("conv2d/direct_row", "conv2d/implicit_gemm, conv2d/direct or conv2d/group", d, why))
        return FIT_NONE;
    if (4 * least_local(&z) > build_max_local(d)) {
        why_set(why, ERR_UNSUPPORTED,
                "conv2d/direct_row keeps windows of a row in local memory: %lld bytes, the device has %lld",
                (long long)(4 * least_local(&z)), (long long)build_max_local(d));
        return FIT_NONE;
    }
    return d->kind == DEVICE_CPU ? FIT_GOOD : FIT_POSSIBLE;
}

static const struct build_knob knobs[] = {
    {"vec", {4, 8, 16, BUILD_END}},
    {"nv", {1, 2, 3, 4, 6, BUILD_END}},
    {"mr", {1, 2, 3, 4, 6, 7, 8, 9, 10, 12, 13, 14, 16, 24, 28, BUILD_END}},
    {"tp", {1, 2, 3, 4, 5, 7, 8, 10, 14, 28, BUILD_END}},
    {"tq", {1, 2, 3, 4, 5, 7, 8, 14, 16, 32, BUILD_END}},
    {"ku", {1, 2, 4, 8, BUILD_END}},
    {"kt", {1, 2, 4, 8, 16, 32, 64, 128, BUILD_END}},
    {"swap", {0, 1, BUILD_END}},
    {"order", {0, 1, BUILD_END}},
    {"pf", {0, 1, BUILD_END}},
    {0},
};

static const char *const quantities[][2] = {
    {"accumulators", "mr * nv * ceil_div(vec, max(lanes, 4))"},
    {"registers", "accumulators + nv * ceil_div(vec, max(lanes, 4)) + 1"},
    {"region_w", "min(cols, tq * nv * vec)"},
    {"phases", "(stride_h - (size_r == 1) * (stride_h - 1)) * (stride_w - (size_s == 1) * (stride_w - 1))"},
    {"pitch", "region_w + (size_s - 1) * dil_w // stride_w"},
    {"pixels", "(tp - 1) * pitch + region_w"},
    {"vectors", "ceil_div(pixels, vec)"},
    {"whole_tiles", "vectors // nv"},
    {"tail", "vectors % nv"},
    {"waste_k", "ceil_div(size_kg, mr) * mr / size_kg"},
    {"waste_p", "ceil_div(rows, tp) * tp / rows"},
    {"waste_q", "ceil_div(cols, region_w) * vectors * vec / (tp * cols)"},
    {"waste_c", "ceil_div(size_cg, cb) * cb / size_cg"},
    {"waste", "waste_k * waste_p * waste_q * waste_c"},
    {"lane_use", "min(vec, lanes) / max(lanes, 4)"},
    {"loads_per_fma", "(nv + mr) / (mr * nv)"},
    {"tail_cost", "tail * max(4, mr / 2) / max(1, vectors)"},
    {"flat", "rows * size_r * size_s == 1"},
    {"run", "flat * (swap * ceil_div(region_w, nv * vec) + 1 - swap) * nv * vec + (1 - flat) * pitch"},
    {"input_bytes", "(cb * phases * ceil_div((tp + (size_r - 1) * dil_h // stride_h) * run, vec) + 1) * vec * 4"},
    {"blocks_c", "ceil_div(size_cg, cb)"},
    {"k_blocks", "ceil_div(size_kg, mr)"},
    {"k_together", "min(kt, k_blocks)"},
    {"sum_bytes", "(rows > 1 or blocks_c > 1) * k_together * mr * vectors * vec * 4"},
    {"local_bytes", "input_bytes + sum_bytes"},
    {"weight_bytes", "mr * k_together * cb * size_r * size_s * 4"},
    {"block_bytes", "mr * cb * size_r * size_s * 4"},
    {"tile_bytes", "nv * vec * cb * size_r * 4"},
    {"groups", "size_n * groups_n * ceil_div(k_blocks, k_together) * ceil_div(rows, tp) * ceil_div(cols, region_w)"},
    {"body", "mr * (nv + tail) * ku"},
    {NULL, NULL},
};

static const char *const constraints[] = {
    "registers <= 33",
    "accumulators >= min(min(4, pixels), size_kg * vectors)",
    "vec <= max(lanes, 4)",
    "(nv - 1) * vec < pixels",
    "tp <= rows",
    "tq == 1 or (tq - 1) * nv * vec < cols",
    "mr < 2 * size_kg",
    "kt == 1 or kt / 2 * mr < size_kg",
    "ku <= cb and cb % ku == 0",
    "body <= 512",
    "swap == 0 or (vectors > nv and k_together > 1)",
    "pf == 0 or swap == 1 or flat == 1",
    "local_bytes <= max_local",
    "order == 0 or (kt < k_blocks and (tp < rows or region_w < cols))",
    NULL,
};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct conv_shape z = direct_flat_shape(w);
    const struct build_named own[] = {{"rows", (double)z.p}, {"cols", (double)z.q}, {NULL, 0}};
    enum err e = build_constants(s, own, why);

    if (!e)
        e = build_split_knob(s, "cb", z.c / z.groups, 512, why);
    return e ? e : conv_space(w, d, knobs, quantities, constraints, s, why);
}

/* Rows of a region: at most 14, as many as waste least at the lower edge. */
static int64_t best_rows(const struct conv_shape *z)
{
    static const int64_t rows[] = {14, 10, 8, 7, 5, 4, 3, 2};
    int64_t best = 1;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i] <= z->p && (best == 1 || CEIL(z->p, rows[i]) * rows[i] < CEIL(z->p, best) * best))
            best = rows[i];
    return best;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Channels summed in one go, at most so many: a divisor, as a last block that is not full costs what a full one does;
 * else a power of two. */
static int64_t best_channels(int64_t cg, int64_t most)
{
    int64_t power = 1;

    most = least(cg, most);
    for (int64_t cb = most; cb > most / 4; cb--)
        if (cg % cb == 0)
            return cb;
    while (2 * power <= most)
        power *= 2;
    return power;
}

struct regions {
    const struct conv_shape *z;
    int64_t vec, nv, mr;
};

/* The work-items of kt blocks of channels, tp rows and tq tiles, in cycles: tiles, input that is copied, weights. */
static struct build_items region_items(const int64_t *v, const void *arg)
{
    const struct regions *a = arg;
    const struct conv_shape *z = a->z;
    const int64_t blocks = CEIL(z->k / z->groups, a->mr), kt = least(v[0], blocks), tp = v[1];
    const int64_t wide = least(z->q, v[2] * a->nv * a->vec), pitch = wide + (z->s - 1) * z->dil_w / z->stride_w;
    const double tiles = (double)(kt * CEIL((tp - 1) * pitch + wide, a->nv * a->vec)), terms = conv_terms(z);
    const double sums = (double)(a->mr * a->nv);
    const int64_t phases = (z->r == 1 ? 1 : z->stride_h) * (z->s == 1 ? 1 : z->stride_w);
    const double copied = (double)(phases * (tp + (z->r - 1) * z->dil_h / z->stride_h) * pitch);
    const int64_t regions = CEIL(z->p, tp) * CEIL(z->q, wide), times = z->n * z->groups * CEIL(blocks, kt);

    return (struct build_items){.n = times * regions,
                                .whole = times > 1 ? (double)(z->p * z->q) / (double)(regions * tp * wide) : 1,
                                .cycles = tiles * terms * (sums < 8 ? 4 : sums / 2) +
                                          (double)(z->c / z->groups) * copied * (z->stride_w == 1 ? 0.3 : 1) +
                                          (double)(kt * a->mr) * terms * build_weight_cycles((double)z->k * terms * 4) +
                                          BUILD_ITEM_CYCLES};
}

/* 1x1 windows of many pixels and few weights: one tile after the other, all channels of one are copied before its sums,
 * and the next one's are asked for where x does not stay in a second cache. Where x or y is larger than one, eight
 * tiles at a time: rows are read and written in longer runs, which the core's own prefetching follows. Other long rows:
 * all channels that 400 KB of local memory hold, one block of weights after the other over all tiles. Others: 16
 * channels of up to 14 whole rows, all blocks of weights over one tile after the other. */
static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const struct conv_shape z = direct_flat_shape(w);
    const int64_t lanes = build_vector(d) < 4 ? 4 : build_vector(d), cg = z.c / z.groups, kg = z.k / z.groups;
    const int64_t room = least(build_max_local(d), 440000) / 4;
    /* 1x1 windows pay for copying: once for all channels. */
    const int64_t rows = z.r * z.s == 1 ? least(best_rows(&z), 1 + room / (kg * (z.q + 1))) : best_rows(&z);
    const int64_t mr = least(lanes == 8 ? 6 : 8, kg);
    const int64_t nv = least(mr == 1 ? 4 : lanes == 8 ? 2 : 3, CEIL(rows * z.q, lanes));
    const bool flat = z.p * z.r * z.s == 1, few = cg < 4;
    const int64_t cb = best_channels(cg, flat             ? 512
                                         : z.r * z.s == 1 ? 64
                                                          : 16),
                  across = CEIL(z.q, nv * lanes), blocks = CEIL(kg, mr);
    const bool by_tile = flat && cb == cg && across >= 16 && kg * cg <= 1 << 18;
    const bool in_runs = by_tile && 4 * z.q * (z.c > z.k ? z.c : z.k) > 1 << 21;
    const int64_t tq = in_runs   ? least(8, 1 + room / (cb * nv * lanes))
                       : by_tile ? least(across, 32)
                       : flat    ? least(across, 1 + room / (cb * nv * lanes))
                                 : least(across, 5);
    const int64_t sums = flat && cb == cg ? 1 : rows * (least(z.q, tq * nv * lanes) + z.s) * mr;

    const char *const blocking[] = {"kt", "tp", "tq", NULL};

    *out = (struct config){{0}};
    build_choose(s,
                 (const struct build_define[]){{"vec", lanes},
                                               {"nv", nv},
                                               {"mr", mr},
                                               {"tp", rows},
                                               {"tq", tq},
                                               {"cb", cb},
                                               {"ku", cb % 4 == 0   ? 4
                                                      : cb % 2 == 0 ? 2
                                                                    : 1},
                                               {"kt", least(2 * blocks - 1, 1 + room / sums)},
                                               {"swap", (flat && !by_tile) || few || in_runs},
                                               {"pf", in_runs || (by_tile && z.c * z.q * 4 > 1 << 20)},
                                               {NULL, 0}},
                 out);
    if (!space_is_valid(s, out, NULL))
        build_choose(s, (const struct build_define[]){{"swap", 0}, {NULL, 0}}, out);
    if (build_make_valid(s, (const char *const[]){"kt", "tq", "tp", "ku", NULL}, out) == ERR_OK) {
        build_spread(s, d, blocking, region_items, &(const struct regions){&z, lanes, nv, mr}, out);
        return ERR_OK;
    }
    if (build_make_valid(s, (const char *const[]){"nv", "cb", "mr", "vec", NULL}, out) == ERR_OK)
        return ERR_OK;
    build_choose(s, (const struct build_define[]){{"mr", least(4, 2 * kg - 1)}, {NULL, 0}}, out);
    return space_is_valid(s, out, NULL) ? ERR_OK : ERR_NOT_FOUND;
}

static void program(struct build *b)
{
    const struct conv_shape z = direct_flat_shape(b->w);
    const int64_t mr = build_int(b, "mr"), cb = build_int(b, "cb"), one[] = {1, 1, 1};
    const int64_t k_blocks = CEIL(z.k / z.groups, mr), c_blocks = CEIL(z.c / z.groups, cb);
    const enum dtype sum = sums_in_half(b->w, b->d) ? DTYPE_F16 : DTYPE_F32;
    const int packed = build_buffer(b, "wp", ROLE_PACKED, sum, z.groups * k_blocks * mr * c_blocks * cb * z.r * z.s);

    assert(k_blocks * mr >= z.k / z.groups && c_blocks * cb >= z.c / z.groups);
    build_module(b, "conv2d/direct_row.cl");
    conv_define_shape(b, &z);
    build_launch(b, PHASE_PACK, "direct_row_pack_w", (const int64_t[]){k_blocks, c_blocks, z.groups}, one,
                 (const int[]){1, packed, -1});
    build_last_launch(b, "direct_row", (const int64_t[]){build_int(b, "groups"), 1, 1}, one,
                      (const int[]){0, packed, -1});
    b->p->needs_local_bytes = build_int(b, "local_bytes");
}

const struct template conv2d_direct_row = {
    .id = "conv2d/direct_row",
    .stages = true,
    .version = 2,
    .summary = "CPU: vector registers hold a tile of neighbours along a row x channels; nchw without transposing",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};
