/* SPDX-License-Identifier: MIT */
#include "kernels/conv2d/i8_tile.h"

#include "core/err.h"
#include "kernels/conv2d/conv2d.h"
#include "kernels/gemm/dot.h"

#include <assert.h>

/* Of bytes, whose sum is exact in f32: 1024 * 2^14 = 2^24; with unsigned ones half as many. */
static int64_t exact_products(enum dtype x)
{
    return x == DTYPE_U8 ? 512 : 1024;
}

/* Weights of a layer that the layers of a network drive out of the second cache, bytes. */
#define FAR_WEIGHTS 131072

static const struct build_knob knobs[] = {
    {"vk", {4, 8, 16, BUILD_END}},
    {"nv", {1, 2, 3, 4, 6, 8, BUILD_END}},
    {"vh", {1, 2, 3, 4, 7, BUILD_END}},
    {"vw", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 16, 28, BUILD_END}},
    {"cb", {4, 8, 16, 32, 64, 128, 256, BUILD_END}},
    {"ku", {1, 2, 4, 8, BUILD_END}},
    {"us", {0, 1, BUILD_END}},
    {"tiles", {1, 2, 4, 8, 16, BUILD_END}},
    {"wg", {1, 2, 4, 8, 16, BUILD_END}},
    {"order", {0, 1, BUILD_END}},
    {"in_place", {0, 1, BUILD_END}},
    {"ahead", {0, 4, 8, 16, 32, BUILD_END}},
    {"ahead_x", {0, 1, 2, 4, BUILD_END}},
    {"kt", {1, 2, 4, 8, 16, 32, BUILD_END}},
    {"next", {0, 1, BUILD_END}},
    {0},
};

/* rows and columns: of pixels as the kernel sees them, one row where the window is one pixel. */
static const char *const quantities[][2] = {
    {"one_row", "size_r * size_s == 1 and (in_place == 0 or stride_h * stride_w == 1)"},
    {"rows", "size_p - one_row * (size_p - 1)"},
    {"columns", "size_q + one_row * (size_p - 1) * size_q"},
    {"block", "cb + in_place * (x_block - cb)"},
    {"steps", "ceil_div(block, 4 - 3 * (dot == 'fma'))"},
    {"accumulators", "vh * vw * nv * ceil_div(vk, max(lanes, 4))"},
    {"weight_registers", "nv * ceil_div(vk, max(lanes, 4)) * (1 + 3 * (dot == 'mul4'))"},
    {"registers", "accumulators + weight_registers + 1"},
    {"waste_k", "ceil_div(size_kg, nv * vk) * nv * vk / size_kg"},
    {"waste_p", "ceil_div(rows, vh) * vh / rows"},
    {"waste_q", "ceil_div(columns, vw) * vw / columns"},
    {"waste_c", "ceil_div(size_cg, block) * block / size_cg"},
    {"waste", "waste_k * waste_p * waste_q * waste_c"},
    {"lane_use", "min(vk, lanes) / max(lanes, 4)"},
    {"loads_per_fma", "(nv + vh * vw) / (vh * vw * nv)"},
    {"operand_bytes", "1 + 3 * (dot == 'fma')"},
    {"weight_bytes", "nv * vk * size_cg * size_r * size_s * operand_bytes"},
    {"input_bytes", "((vh - 1) * stride_h + size_r) * ((vw - 1) * stride_w + size_s) * size_cg * operand_bytes"},
    {"packed_bytes", "(1 - in_place) * size_n * size_c * size_h * size_w * operand_bytes"},
    {"blocks_k", "ceil_div(size_kg, nv * vk)"},
    {"items", "size_n * groups_n * ceil_div(blocks_k, kt) * ceil_div(rows, vh) * ceil_div(columns, vw * tiles)"},
    {"groups", "ceil_div(items, wg)"},
    {"body", "accumulators * ku * (1 + us * (size_s - 1))"},
    {NULL, NULL},
};

/* A register file holds 32 vectors; a few more spill but can still be fair. Long unrolled bodies compile for seconds.
 */
static const char *const constraints[] = {
    "registers <= 33 or accumulators == 1",
    "vk <= max(lanes, 4)",
    "dot != 'vnni' or vk == 16",
    "(dot != 'sdot' and dot != 'usdot') or vk == 4",
    "in_place == 0 or (can_in_place == 1 and dot != 'fma' and cb == 4)",
    "in_place == 0 or (vh <= rows and vw <= columns)",
    "dot != 'fma' or cb * size_r * size_s <= exact_products",
    "cb == 4 or cb < 2 * size_cg",
    "in_place == 1 or x_block % 4 != 0 or x_block % cb == 0",
    "vh <= rows and vw < columns + 2",
    "tiles == 1 or vw * tiles < columns + vw",
    "ku == 1 or ku <= steps",
    "us == 0 or size_s > 1",
    "ahead_x == 0 or (size_r * size_s == 1 and ahead_x < ceil_div(size_cg, block))",
    "kt == 1 or kt < 2 * blocks_k",
    "next == 0 or (order == 0 and kt < blocks_k and items > ceil_div(blocks_k, kt) * size_n * groups_n)",
    "body <= 512",
    "wg <= max_group and wg <= items",
    "nv == 1 or (nv - 1) * vk < size_kg",
    NULL,
};

/* Channels of one block of x as stored that belong to one group. */
static int64_t own_block(const struct conv_shape *z)
{
    int64_t a = z->x_lanes, b = z->c / z->groups;

    while (b) {
        const int64_t rest = a % b;

        a = b;
        b = rest;
    }
    assert(a > 0 && z->x_lanes % a == 0 && z->c / z->groups % a == 0);
    return a;
}

/* Can x be read as it lies: channels by fours, no window over the border. */
static bool can_in_place(const struct conv_shape *z)
{
    return z->x_lanes % 4 == 0 && own_block(z) % 4 == 0 && z->top == 0 && z->left == 0 &&
           (z->p - 1) * z->stride_h + (z->r - 1) * z->dil_h < z->h &&
           (z->q - 1) * z->stride_w + (z->s - 1) * z->dil_w < z->w;
}

enum err i8_tile_space(const struct conv_shape *z, enum dtype x, const struct device_desc *d, struct space *s,
                       struct why *why)
{
    const struct build_named constants[] = {{"x_block", (double)own_block(z)},
                                            {"can_in_place", can_in_place(z)},
                                            {"exact_products", (double)exact_products(x)},
                                            {NULL, 0}};
    enum err e = dot_add_knob(s, d, DOT_VECTORS, x, 4 * z->r * z->s <= exact_products(x), why);

    if (!e)
        e = conv_add_constants(z, x, DTYPE_I32, d, s, why);
    return e ? e : build_space(s, constants, knobs, quantities, constraints, why);
}

/* The shape of a tile with at most `most` accumulators: what it wastes at the borders and its loads decide. */
struct tile {
    int64_t nv, vh, vw;
};

/* Pixels as the kernel sees them: one row where the window is one pixel. */
struct pixels {
    const struct conv_shape *z;
    int64_t rows, columns;
    bool skips; /* taps on padding can be left out: x is packed, the window has rows */
};

/* Is the tile a whole row of the image, whose first and last pixels leave out columns of the window? */
static bool whole_row(const struct pixels *a, const struct tile *t)
{
    return a->skips && t->vh == 1 && t->vw >= a->columns;
}

/* The share of n outputs' taps along an axis that meet the image, `size` long behind `before` of padding. */
static double share_inside(int64_t n, int64_t stride, int64_t window, int64_t dilation, int64_t before, int64_t size)
{
    int64_t inside = 0;

    for (int64_t i = 0; i < n; i++)
        for (int64_t tap = 0; tap < window; tap++)
            inside += i * stride + tap * dilation >= before && i * stride + tap * dilation < before + size;
    return (double)inside / (double)(n * window);
}

static double share_computed(const struct pixels *a, const struct tile *t)
{
    const struct conv_shape *z = a->z;
    const double rows = share_inside(z->p, z->stride_h, z->r, z->dil_h, z->top, z->h);

    if (!a->skips || t->vh > 1)
        return 1;
    return whole_row(a, t) ? rows * share_inside(z->q, z->stride_w, z->s, z->dil_w, z->left, z->w) : rows;
}

static double cost(const struct pixels *a, const struct tile *t, int64_t vk)
{
    const int64_t kg = a->z->k / a->z->groups;
    const double waste_k = (double)(CEIL(kg, t->nv * vk) * t->nv * vk) / (double)kg;
    const double waste_p = (double)(CEIL(a->rows, t->vh) * t->vh) / (double)a->rows;
    const double waste_q = (double)(CEIL(a->columns, t->vw) * t->vw) / (double)a->columns;
    const double pixels = (double)(t->vh * t->vw), n = pixels * (double)t->nv;
    const bool streams = own_block(a->z) > 64 && pixels > 8; /* of x, a line apart: the first cache has few ways */

    return (streams ? 1.1 : 1) * waste_k * waste_p * waste_q * share_computed(a, t) *
           (1 + ((double)t->nv + pixels) / n) * (n < 8 ? 8 / n : 1);
}

static struct tile best_tile(const struct pixels *a, int64_t vk, int64_t most)
{
    const int64_t kg = a->z->k / a->z->groups, rows = a->rows, columns = a->columns;
    struct tile best = {1, 1, 1};
    double least = 1e30;

    for (int64_t nv = 1; nv <= (columns < 10 ? 4 : 2); nv++)
        for (int64_t vh = 1; vh <= 4 && vh <= rows; vh++)
            for (int64_t vw = 1; vw <= 16 && vw <= columns; vw++) {
                const struct tile t = {nv, vh, vw};

                if (nv * vh * vw > most || nv * (vh * vw + 1) > (a->skips ? 32 : 31) || vw == 11 || vw == 15 ||
                    (nv > 1 && (nv - 1) * vk >= kg))
                    continue;
                if (cost(a, &t, vk) < least) {
                    least = cost(a, &t, vk);
                    best = t;
                }
            }
    assert(best.vh <= rows && best.vw <= columns && best.nv * best.vh * best.vw <= most);
    return best;
}

/* The largest power of two up to `most` that is not over n. */
static int64_t power_within(int64_t n, int64_t most)
{
    while (most > 1 && most > n)
        most /= 2;
    return most;
}

struct rows_of {
    const struct conv_shape *z;
    struct tile t;
    int64_t rows, columns, nr;
};

/* The work-items of kt blocks of channels and `tiles` tiles, in cycles: a step takes four channels. */
static struct build_items row_items(const int64_t *v, const void *arg)
{
    const struct rows_of *a = arg;
    const struct conv_shape *z = a->z;
    const int64_t blocks = CEIL(z->k / z->groups, a->nr), kt = v[0] < blocks ? v[0] : blocks;
    const double steps = conv_terms(z) / 4, sums = (double)(a->t.nv * a->t.vh * a->t.vw);

    return (struct build_items){
        .n = z->n * z->groups * CEIL(blocks, kt) * CEIL(a->rows, a->t.vh) * CEIL(a->columns, a->t.vw * v[1]),
        .cycles = (double)(kt * v[1]) * steps * (sums < 8 ? 4 : sums / 2) +
                  (double)(kt * a->nr) * steps * build_weight_cycles((double)z->k * steps * 4) + BUILD_ITEM_CYCLES};
}

/* Blocks of channels that a work-item does in place, for one load of its pixels: one where weights are far and a tile's
 * pixels few, so that the other blocks' weights can be asked for while its tiles are computed; i8 sums its pixels for
 * each item. */
static int64_t blocks_at_once(const struct tile *t, int64_t cg, enum dtype x, bool far)
{
    return far && x == DTYPE_U8 && t->vh * t->vw * cg <= 8192 ? 1 : 8;
}

/* Is the loop over s unrolled, so that columns of padding are left out? With blocks of few channels that costs more
 * than it saves in rows of more than 10 pixels (docs/notes/int8.md). */
static bool leaves_out_columns(const struct pixels *a, const struct tile *t, int64_t cb)
{
    const struct conv_shape *z = a->z;

    return whole_row(a, t) && share_computed(a, t) < 1 &&
           (cb >= 16 || share_inside(z->q, z->stride_w, z->s, z->dil_w, z->left, z->w) < .94);
}

enum err i8_tile_fallback(const struct conv_shape *z, enum dtype x, const struct device_desc *d, const struct space *s,
                          struct config *out)
{
    const int64_t lanes = build_vector(d) < 4 ? 4 : build_vector(d), kg = z->k / z->groups;
    const char *dot = space_knob_value(s, (size_t)space_find_knob(s, "dot"), 0).text;
    const bool vnni = dot[0] == 'v', floats = dot[0] == 'f', one = z->r * z->s == 1;
    const bool in_place = vnni && can_in_place(z) && one, row = one && (!in_place || z->stride_h * z->stride_w == 1);
    const int64_t rows = row ? 1 : z->p, columns = row ? z->p * z->q : z->q;
    const struct pixels pixels = {z, rows, columns, !in_place && z->r > 1};
    const struct tile t = best_tile(&pixels, lanes, dot[0] == 'm' ? 18 : 28);
    const int64_t across = CEIL(columns, t.vw), tiles = in_place || across < 2 ? 1 : across < 4 ? 2 : 4;
    const int64_t cg = z->c / z->groups, near = t.nv * lanes * cg <= 16384; /* weights of a block stay in the cache */
    const bool far = conv_terms(z) * (double)kg >= FAR_WEIGHTS; /* from the second cache when whole networks run */
    const int64_t kt = in_place ? power_within(CEIL(kg, t.nv * lanes), blocks_at_once(&t, cg, x, far)) : 1;
    const int64_t most = floats ? exact_products(x) / (z->r * z->s) : 16;
    const int64_t cb = in_place ? 4 : own_block(z) % 4 ? (floats ? 16 : 4) : own_block(z) & -own_block(z);

    *out = (struct config){{0}};
    build_choose(
        s,
        (const struct build_define[]){{"vk", lanes},
                                      {"nv", t.nv},
                                      {"vh", t.vh},
                                      {"vw", t.vw},
                                      {"cb", cb < most ? cb : most},
                                      {"ku", power_within((in_place ? own_block(z) : cb) / 4, 4)},
                                      {"us", leaves_out_columns(&pixels, &t, cb)},
                                      {"tiles", tiles},
                                      {"wg", 1},
                                      {"order", 0},
                                      {"in_place", in_place},
                                      {"ahead", in_place && near ? 0 : 16},
                                      {"ahead_x", one && cg > 2 * own_block(z) ? 2 : 0},
                                      {"kt", kt},
                                      {"next", far && kt * t.nv * lanes < kg && rows * columns > t.vh * t.vw * tiles},
                                      {NULL, 0}},
        out);
    if (!space_is_valid(s, out, NULL))
        return build_make_valid(
            s, (const char *const[]){"us", "next", "ahead_x", "kt", "ku", "tiles", "cb", "vw", "vh", "nv", NULL}, out);
    build_spread(s, d, (const char *const[]){"kt", "tiles", NULL}, row_items,
                 &(const struct rows_of){z, t, rows, columns, t.nv * lanes}, out);
    return ERR_OK;
}

int64_t i8_store_lanes(const struct conv_shape *z, int64_t vk)
{
    const int64_t lanes = z->y_lanes % vk == 0 || z->y_lanes == z->k ? vk : vk % z->y_lanes == 0 ? z->y_lanes : 1;

    assert(lanes > 0 && vk % lanes == 0);
    return z->groups == 1 || z->k / z->groups % lanes == 0 ? lanes : 1;
}

/* Sizes that the program and the kernel share. */
struct sizes {
    int64_t rows, columns, nr, block, c_blocks, k_blocks, hp, wp;
    int64_t sums;                  /* of weights that a channel has: SUM_R * SUM_S of the kernel */
    bool in_place, turned, floats; /* turned: TURNED of the kernel */
};

static struct sizes sizes_of(const struct build *b, const struct conv_shape *z)
{
    const int64_t wide = build_int(b, "vw") * build_int(b, "tiles"), vh = build_int(b, "vh");
    const bool one_row = build_int(b, "one_row") != 0;
    struct sizes a = {.rows = build_int(b, "rows"),
                      .columns = build_int(b, "columns"),
                      .nr = build_int(b, "nv") * build_int(b, "vk"),
                      .block = build_int(b, "block"),
                      .in_place = build_int(b, "in_place") != 0,
                      .turned = build_word(b, "dot")[0] == 'v' && b->w->dtype == DTYPE_I8,
                      .floats = build_word(b, "dot")[0] == 'f'};

    a.sums = a.in_place || z->r == 1 || vh > 1
                 ? 1
                 : z->r * (build_int(b, "us") && wide <= build_int(b, "vw") && wide >= z->q ? z->s : 1);
    a.c_blocks = CEIL(z->c / z->groups, a.block);
    a.k_blocks = z->groups * CEIL(z->k / z->groups, a.nr);
    a.hp = conv_reach(CEIL(a.rows, vh) * vh, one_row ? 1 : z->stride_h, z->r, z->dil_h);
    a.wp = conv_reach(CEIL(a.columns, wide) * wide, one_row ? 1 : z->stride_w, z->s, z->dil_w);
    assert(a.in_place || a.floats || a.block % 4 == 0);
    assert(a.k_blocks * a.nr >= z->k && a.c_blocks * a.block >= z->c / z->groups);
    return a;
}

/* Packed x as operands of the kernel, or x itself; the sums' corrections where there are any: -1 when not. */
static int pack_x(struct build *b, const struct conv_shape *z, const struct sizes *a)
{
    const int64_t one[] = {1, 1, 1}, per_step = a->floats ? 1 : 4;
    const int64_t packed_rows = z->r * z->s == 1 ? z->p : a->hp;
    int xp;

    if (a->in_place)
        return 0;
    xp = build_buffer(b, "xp", ROLE_SCRATCH, a->floats ? DTYPE_F32 : DTYPE_I32,
                      z->n * z->groups * a->c_blocks * a->hp * a->wp * (a->block / per_step));
    build_launch(b, PHASE_RUN, "i8_tile_pack_x", (const int64_t[]){packed_rows, a->c_blocks, z->n * z->groups}, one,
                 (const int[]){0, xp, build_tensor(b, "zero"), -1});
    return xp;
}

/* Does each work-item add up its own pixels (OWN_SUMS of the kernel)? */
static bool own_sums(const struct conv_shape *z, const struct sizes *a)
{
    return a->turned && a->in_place && z->r * z->s == 1 && own_block(z) == z->x_lanes && z->x_lanes >= 16;
}

static int pack_sums(struct build *b, const struct conv_shape *z, const struct sizes *a)
{
    const int64_t one[] = {1, 1, 1};
    const int zero = build_tensor(b, "zero");
    int sums;

    if (zero >= 0 || (a->turned && !a->in_place)) {
        sums = build_buffer(b, "sums", ROLE_PACKED, DTYPE_I32, a->k_blocks * a->nr * a->sums);
        build_launch(b, PHASE_PACK, "i8_tile_sum_w", (const int64_t[]){a->k_blocks, 1, 1}, one,
                     (const int[]){1, sums, zero, -1});
        return sums;
    }
    if (!a->turned || own_sums(z, a))
        return -1;
    sums = build_buffer(b, "sums", ROLE_SCRATCH, DTYPE_I32, z->n * z->groups * z->h * z->w);
    build_launch(b, PHASE_RUN, "i8_tile_sum_x", (const int64_t[]){CEIL(z->h * z->w, 16), z->n * z->groups, 1}, one,
                 (const int[]){0, sums, -1});
    return sums;
}

void i8_tile_program(struct build *b, const struct conv_shape *z)
{
    const struct sizes a = sizes_of(b, z);
    const int64_t one[] = {1, 1, 1}, wg = build_int(b, "wg"), per_step = a.floats ? 1 : 4;
    const int64_t n_weights = a.k_blocks * a.nr * a.c_blocks * (a.block / per_step) * z->r * z->s;
    const int wp = build_buffer(b, "wp", ROLE_PACKED, a.floats ? DTYPE_F32 : DTYPE_I32, n_weights);
    int xp, sums;

    build_module(b, "conv2d/i8_tile.cl");
    conv_define_shape(b, z);
    dot_define(b);
    build_define(b, "XBLOCK", own_block(z));
    build_define(b, "VEC", i8_store_lanes(z, build_int(b, "vk")));
    build_launch(b, PHASE_PACK, "i8_tile_pack_w", (const int64_t[]){a.k_blocks, a.c_blocks, 1}, one,
                 (const int[]){1, wp, -1});
    xp = pack_x(b, z, &a);
    sums = pack_sums(b, z, &a);
    build_last_launch(b, "i8_tile", (const int64_t[]){CEIL(build_int(b, "items"), wg), 1, 1},
                      (const int64_t[]){wg, 1, 1},
                      sums >= 0 ? (const int[]){xp, wp, sums, -1} : (const int[]){xp, wp, -1});
}

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    if (!dtype_is_bytes(w->dtype)) {
        why_set(why, ERR_UNSUPPORTED, "conv2d/i8_tile computes dtypes i8 and u8, not %s", dtype_name(w->dtype));
        return FIT_NONE;
    }
    if (conv_within("conv2d/i8_tile", CONV_I8 | CONV_U8 | CONV_GROUPS | CONV_LAYOUTS | CONV_EPILOGUE, w, why) ||
        conv_not_cuda("conv2d/i8_tile", "conv2d/implicit_gemm, conv2d/i8 or conv2d/group_i8", d, why))
        return FIT_NONE;
    return d->kind == DEVICE_CPU ? FIT_GOOD : FIT_POSSIBLE;
}

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct conv_shape z = conv_shape_of(w);

    return i8_tile_space(&z, w->dtype, d, s, why);
}

static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const struct conv_shape z = conv_shape_of(w);

    return i8_tile_fallback(&z, w->dtype, d, s, out);
}

static void program(struct build *b)
{
    const struct conv_shape z = conv_shape_of(b->w);

    i8_tile_program(b, &z);
}

const struct template conv2d_i8_tile = {
    .id = "conv2d/i8_tile",
    .version = 3,
    .summary = "CPU: int8, four channels a step in vector registers (VNNI where it is found)",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};
