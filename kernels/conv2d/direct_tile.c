/* SPDX-License-Identifier: MIT */
#include "kernels/conv2d/conv2d.h"
#include "core/err.h"
#include "kernels/conv2d/direct.h"

#include <assert.h>
#include <math.h>

struct conv_shape direct_flat_shape(const struct workload *w)
{
    struct conv_shape z = conv_shape_of(w);

    if (z.r * z.s * z.stride_h * z.stride_w == 1 && z.p == z.h && z.q == z.w) {
        z.w = z.q = z.h * z.w;
        z.h = z.p = 1;
    }
    return z;
}

/* Does a window reach beyond the input? */
static bool is_padded(const struct conv_shape *z)
{
    return z->top || z->left || conv_reach(z->p, z->stride_h, z->r, z->dil_h) > z->h ||
           conv_reach(z->q, z->stride_w, z->s, z->dil_w) > z->w;
}

/* Does each tap of the window see at most the first or the last output of a row beyond the input? */
static bool is_thinly_padded(const struct conv_shape *z)
{
    const int64_t right = conv_reach(z->q, z->stride_w, z->s, z->dil_w) - z->left - z->w;
    /* Taps below `left` see the first output beyond the left edge, those from `from` on the last one beyond the right.
     */
    const int64_t from = z->left + z->w - (z->q - 1) * z->stride_w;

    return z->left <= z->stride_w && right <= z->stride_w && CEIL(from, z->dil_w) * z->dil_w >= z->left;
}

/* Channels of x that stand together within a group. */
static int64_t channels_together(const struct conv_shape *z)
{
    return z->c / z->groups % z->x_lanes ? 1 : z->x_lanes;
}

/* May x be read where it lies, whatever the tile? */
static bool lies_ready(const struct conv_shape *z, enum dtype dtype)
{
    return !is_padded(z) && dtype == DTYPE_F32 && channels_together(z) == z->x_lanes;
}

/* Bytes of local memory of the smallest config: what two outputs read of one block of channels, and their sums. */
static int64_t least_local(const struct conv_shape *z, enum dtype dtype)
{
    const int64_t rows = conv_reach(z->q == 1 && z->p > 1 ? 2 : 1, z->r == 1 ? 1 : z->stride_h, z->r, z->dil_h);
    const int64_t columns = conv_reach(z->q == 1 ? 1 : 2, z->s == 1 ? 1 : z->stride_w, z->s, z->dil_w);

    return 4 * ((lies_ready(z, dtype) ? 0 : rows * columns * channels_together(z)) + 2 * 2 * 4);
}

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    const struct conv_shape z = conv_shape_of(w);
    const int64_t least = least_local(&z, w->dtype);

    if (conv_within("conv2d/direct_tile", CONV_F16 | CONV_GROUPS | CONV_LAYOUTS | CONV_EPILOGUE, w, why) ||
        conv_not_cuda("conv2d/direct_tile", "conv2d/implicit_gemm, conv2d/direct or conv2d/group", d, why))
        return FIT_NONE;
    if (least > build_max_local(d)) {
        why_set(why, ERR_UNSUPPORTED,
                "conv2d/direct_tile keeps a window in local memory: %lld bytes, the device has %lld", (long long)least,
                (long long)build_max_local(d));
        return FIT_NONE;
    }
    return d->kind == DEVICE_CPU ? FIT_GOOD : FIT_POSSIBLE;
}

static const struct build_knob knobs[] = {
    {"vec", {4, 8, 16, BUILD_END}},
    {"nv", {1, 2, 3, 4, BUILD_END}},
    {"vh", {1, 2, 3, 4, 7, BUILD_END}},
    {"vw", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 16, 28, BUILD_END}},
    {"cb", {1, 2, 3, 4, 8, 16, 32, 64, 128, 256, 512, BUILD_END}},
    {"ku", {1, 2, 4, 8, 16, BUILD_END}},
    {"us", {0, 1, BUILD_END}},
    {"tp", {1, 2, 4, 7, 8, 14, 16, 28, BUILD_END}},
    {"tq", {1, 2, 4, 7, 8, 14, 16, 28, 32, 64, BUILD_END}},
    {"kt", {1, 2, 4, 8, 16, 32, BUILD_END}},
    {"pass", {0, 1, BUILD_END}},
    {"pack", {0, 1, BUILD_END}},
    {"skip", {0, 1, BUILD_END}},
    {"order", {0, 1, BUILD_END}},
    {0},
};

static const char *const quantities[][2] = {
    {"accumulators", "vh * vw * nv * ceil_div(vec, max(lanes, 4))"},
    {"registers", "accumulators + nv * ceil_div(vec, max(lanes, 4)) + 1"},
    {"ci", "max(together, (together == 1) * cb)"},
    {"waste_k", "ceil_div(size_kg, nv * vec) * nv * vec / size_kg"},
    {"waste_p", "ceil_div(rows, vh) * vh / rows"},
    {"waste_q", "ceil_div(cols, vw) * vw / cols"},
    {"waste_c", "ceil_div(size_cg, cb) * cb / size_cg"},
    {"waste", "waste_k * waste_p * waste_q * waste_c"},
    {"lane_use", "min(vec, lanes) / max(lanes, 4)"},
    {"loads_per_fma", "(nv + vh * vw) / (vh * vw * nv)"},
    {"weight_bytes", "nv * vec * size_cg * size_r * size_s * elem_bytes"},
    {"block_bytes", "nv * vec * cb * size_r * size_s * elem_bytes"},
    {"region_h", "tp * vh"},
    {"region_w", "tq * vw"},
    {"input_h", "(region_h - 1) * (stride_h - (size_r == 1) * (stride_h - 1)) + (size_r - 1) * dil_h + 1"},
    {"input_w", "(region_w - 1) * (stride_w - (size_s == 1) * (stride_w - 1)) + (size_s - 1) * dil_w + 1"},
    {"copied_c", "pass * cb + (1 - pass) * ceil_div(size_cg, cb) * cb"},
    {"input_bytes", "input_h * input_w * ceil_div(size_cg, cb) * cb * 4"},
    {"copy_bytes", "pack * input_h * input_w * copied_c * 4"},
    {"copies_per_fma", "pack * input_h * input_w / (region_h * region_w * size_r * size_s * nv * vec * kt)"},
    {"sum_bytes", "pass * kt * region_h * region_w * nv * vec * 4"},
    {"turned_bytes", "(y_lanes == 1) * region_h * min(region_w, cols) * nv * vec * 4"},
    {"pass_bytes", "block_bytes + input_h * input_w * cb * 4 + sum_bytes"},
    {"groups", "size_n * groups_n * ceil_div(ceil_div(size_kg, nv * vec), kt) * ceil_div(rows, region_h) * "
               "ceil_div(cols, region_w)"},
    {"body", "accumulators * ku * (1 + us * (size_s - 1)) * (1 + 2 * skip)"},
    {NULL, NULL},
};

/* A register file holds 32 vectors; a few more spill but can still be fair. Long unrolled bodies compile for seconds.
 */
static const char *const constraints[] = {
    "registers <= 33",
    "accumulators >= min(2, rows * cols)",
    "vec <= max(lanes, 4)",
    "ku <= ci",
    "ku == 1 or ci % ku == 0",
    "body <= 512",
    "us == 0 or size_s > 1",
    "cb <= max(4, size_cg)",
    "cb % together == 0",
    "vh <= rows",
    "vw <= cols",
    "tp == 1 or (tp - 1) * vh < rows",
    "tq == 1 or (tq - 1) * vw < cols",
    "kt == 1 or (kt - 1) * nv * vec < size_kg",
    "pass == 0 or cb < size_cg",
    "pack == 1 or (together == x_lanes and size_cg % cb == 0 and elem_bytes == 4)",
    "pack == 1 or padded == 0 or (thin_padded == 1 and skip == 1 and vh == 1 and vw > 1)",
    "skip == 0 or (padded == 1 and size_s > 1 and us == 0 and vw > 1)",
    "copy_bytes + sum_bytes + turned_bytes <= max_local",
    "(nv - 1) * vec < size_kg",
    "order == 0 or (kt * nv * vec < size_kg and (region_h < rows or region_w < cols))",
    NULL,
};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct conv_shape z = direct_flat_shape(w);
    const struct build_named own[] = {{"rows", (double)z.p},
                                      {"cols", (double)z.q},
                                      {"padded", is_padded(&z)},
                                      {"thin_padded", is_thinly_padded(&z)},
                                      {"together", (double)channels_together(&z)},
                                      {NULL, 0}};
    const enum err e = build_constants(s, own, why);

    return e ? e : conv_space(w, d, knobs, quantities, constraints, s, why);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

struct tile {
    int64_t nv, vh, vw;
};

/* Cycles of one tile a tap and channel, on a core with two FMAs and two loads a cycle: the default's model. */
static double tile_cycles(const struct tile *t)
{
    const double sums = (double)(t->nv * t->vh * t->vw), loads = (double)(t->nv + t->vh * t->vw), latency = 4;

    return fmax(fmax(sums / 2, latency), (sums + loads + 1) / 4) + 0.3;
}

/* Of all tiles. */
static double tile_cost(const struct conv_shape *z, int64_t vec, const struct tile *t)
{
    const double tiles = (double)(CEIL(z->k / z->groups, t->nv * vec) * CEIL(z->p, t->vh) * CEIL(z->q, t->vw));
    const double beyond = (double)(z->top + z->bottom) / (double)(z->p * z->r * z->stride_h);

    /* A tile of one row leaves out the taps that see padding only. */
    return tiles * tile_cycles(t) * (t->vh == 1 ? 1 - fmin(beyond, 0.5) : 1);
}

/* The cheapest tile that registers hold (half as many where vectors are of 256 bits). */
static struct tile best_tile(const struct conv_shape *z, int64_t vec)
{
    const int64_t registers = vec == 8 ? 16 : 32;
    struct tile best = {1, 1, 1};
    double best_cost = tile_cost(z, vec, &best);

    for (struct tile t = {1, 1, 1}; t.nv <= 4; t.nv++)
        for (t.vh = 1; t.vh <= 4 && t.vh <= z->p; t.vh++)
            for (t.vw = 1; t.vw <= 14 && t.vw <= z->q; t.vw++) {
                const double cost = tile_cost(z, vec, &t);

                if (t.vw == 11 || t.nv * (t.vh * t.vw + 1) + 1 > registers || cost >= best_cost)
                    continue;
                best_cost = cost;
                best = t;
            }
    assert(best.vh <= z->p && best.vw <= z->q && best.nv * (best.vh * best.vw + 1) < registers);
    return best;
}

/* Channels summed in one go: 16, or 128 of long 1x1 sums (their weights fill half of a first cache), which divide. */
static int64_t best_block(const struct conv_shape *z)
{
    const int64_t cg = z->c / z->groups, together = channels_together(z);
    int64_t cb = z->r * z->s == 1 && cg > 256 ? 128 : 16;

    if (cg < 4 && z->s > 1)
        return 1;
    while (cb > together && cg % cb)
        cb /= 2;
    assert(cb >= together ? cb % together == 0 : together % cb == 0);
    return cb < together ? together : cb;
}

struct regions {
    const struct conv_shape *z;
    struct tile t;
    int64_t nr;
    bool pack;
};

/* The work-items of kt blocks of channels and tp x tq tiles, in cycles: tiles, input that is copied or read, weights.
 */
static struct build_items region_items(const int64_t *v, const void *arg)
{
    const struct regions *a = arg;
    const struct conv_shape *z = a->z;
    const int64_t k_blocks = CEIL(z->k / z->groups, a->nr), kt = least(v[0], k_blocks), tp = v[1], tq = v[2];
    const double terms = conv_terms(z), channels = (double)(z->c / z->groups);
    const double input = channels * (double)(conv_reach(tp * a->t.vh, z->r == 1 ? 1 : z->stride_h, z->r, z->dil_h) *
                                             conv_reach(tq * a->t.vw, z->s == 1 ? 1 : z->stride_w, z->s, z->dil_w));
    const double element = !a->pack ? 0.1 : z->x_lanes > 1 ? 0.3 : 1;

    const int64_t down = CEIL(z->p, a->t.vh), across = CEIL(z->q, a->t.vw); /* tiles */
    const int64_t regions = CEIL(down, tp) * CEIL(across, tq), times = z->n * z->groups * CEIL(k_blocks, kt);

    return (struct build_items){.n = times * regions,
                                .whole = times > 1 ? (double)(down * across) / (double)(regions * tp * tq) : 1,
                                .cycles = (double)(kt * tp * tq) * terms * tile_cycles(&a->t) + input * element +
                                          (double)(kt * a->nr) * terms * build_weight_cycles((double)z->k * terms * 4) +
                                          BUILD_ITEM_CYCLES};
}

static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const struct conv_shape z = direct_flat_shape(w);
    const int64_t lanes = build_vector(d) < 4 ? 4 : build_vector(d), cg = z.c / z.groups, cb = best_block(&z);
    const struct tile t = best_tile(&z, lanes);
    const bool thin = is_padded(&z) && is_thinly_padded(&z) && t.vw > 1 && z.s > 1;
    const bool in_place = (!is_padded(&z) || (thin && t.vh == 1 && z.x_lanes > 1)) && w->dtype == DTYPE_F32 &&
                          channels_together(&z) == z.x_lanes && (z.x_lanes > 1 || z.h * z.w <= 256);
    const bool pass = z.r * z.s == 1 ? cb == 128 : cg > cb && cb > 1;
    const int64_t tq = least(CEIL(z.q, t.vw), 16), most_tp = (z.r * z.s == 1 ? 4 : 32) / tq,
                  tp = least(CEIL(z.p, t.vh), most_tp < 1 ? 1 : most_tp);
    const int64_t sums = tq * tp * t.vh * t.vw * t.nv * lanes * 4, k_blocks = CEIL(z.k / z.groups, t.nv * lanes);
    const int64_t kt = pass && z.r * z.s > 1 && in_place ? 1 : pass && sums <= 262144 ? 262144 / sums : pass ? 1 : 32;

    const struct regions regions = {.z = &z, .t = t, .nr = t.nv * lanes, .pack = !in_place || cg % cb};
    const char *const blocking[] = {"kt", "tp", "tq", NULL};

    *out = (struct config){{0}};
    build_choose(s,
                 (const struct build_define[]){{"vec", lanes},
                                               {"nv", t.nv},
                                               {"vh", t.vh},
                                               {"vw", t.vw},
                                               {"cb", cb},
                                               {"ku", cb % 4 ? 1 : 4},
                                               {"tp", tp},
                                               {"tq", tq},
                                               {"kt", least(kt, k_blocks)},
                                               {"pass", pass},
                                               {"pack", regions.pack},
                                               {"skip", thin},
                                               {NULL, 0}},
                 out);
    if (build_make_valid(s, blocking, out) == ERR_OK) {
        build_spread(s, d, blocking, region_items, &regions, out);
        return ERR_OK;
    }
    if (build_make_valid(s, (const char *const[]){"ku", "vw", "vh", "nv", "cb", "vec", NULL}, out) == ERR_OK)
        return ERR_OK;
    build_choose(s,
                 (const struct build_define[]){{"cb", channels_together(&z)},
                                               {"vh", z.q == 1 && z.p > 1 ? 2 : 1},
                                               {"vw", z.q == 1 ? 1 : 2},
                                               {"pack", !lies_ready(&z, w->dtype)},
                                               {"pass", cg > channels_together(&z)},
                                               {"skip", 0},
                                               {NULL, 0}},
                 out);
    return space_is_valid(s, out, NULL) ? ERR_OK : ERR_NOT_FOUND;
}

/* Are weights asked for before they are needed? Where tuning measures they stay in the caches, so this is no knob: a
 * network has other layers between two calls. One product of pixels costs about as much as reading one weight from an
 * outer cache; over a thousand pixels that is less than the asking. */
static bool asks_ahead(const struct conv_shape *z, bool pass)
{
    return pass || z->n * z->p * z->q <= 1024;
}

static void program(struct build *b)
{
    const struct conv_shape z = direct_flat_shape(b->w);
    const int64_t nr = build_int(b, "nv") * build_int(b, "vec"), cb = build_int(b, "cb");
    const int64_t high = build_int(b, "vh") * build_int(b, "tp"), wide = build_int(b, "vw") * build_int(b, "tq");
    const int64_t cg = z.c / z.groups, together = channels_together(&z), ci = together > 1 ? together : cb;
    const int64_t k_blocks = CEIL(z.k / z.groups, nr), c_blocks = CEIL(cg, cb) * (cb / ci), one[] = {1, 1, 1};
    const int64_t items = z.n * z.groups * CEIL(k_blocks, build_int(b, "kt")) * CEIL(z.p, high) * CEIL(z.q, wide);
    const int packed =
        build_buffer(b, "wp", ROLE_PACKED, b->w->dtype, z.groups * k_blocks * nr * c_blocks * ci * z.r * z.s);

    assert(cb % ci == 0 && k_blocks * nr >= z.k / z.groups && c_blocks * ci >= cg);
    build_module(b, "conv2d/direct_tile.cl");
    conv_define_shape(b, &z);
    build_define(b, "PF", asks_ahead(&z, build_int(b, "pass")));
    build_launch(b, PHASE_PACK, "direct_tile_pack_w", (const int64_t[]){k_blocks, c_blocks, z.groups}, one,
                 (const int[]){1, packed, -1});
    build_last_launch(b, "direct_tile", (const int64_t[]){items, 1, 1}, one, (const int[]){0, packed, -1});
    b->p->needs_local_bytes = build_int(b, "copy_bytes") + build_int(b, "sum_bytes") + build_int(b, "turned_bytes");
}

const struct template conv2d_direct_tile = {
    .id = "conv2d/direct_tile",
    .stages = true,
    .version = 5,
    .summary =
        "CPU: vector registers hold a tile of pixels x channels over packed weights, input copied lazily or in place",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};
