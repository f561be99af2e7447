/* SPDX-License-Identifier: MIT */
#include "kernels/conv2d/i8_amx.h"

#include "core/err.h"
#include "kernels/conv2d/conv2d.h"
#include "kernels/conv2d/i8_tile.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define WORD "tune_amx"
#define SIDE 16 /* pixels and output channels of a tile */
#define FIRST_CACHE 40960

static const struct build_knob knobs[] = {
    {"cb", {16, 32, 64, BUILD_END}},
    {"mv", {1, 2, BUILD_END}},
    {"nv", {1, 2, BUILD_END}},
    {"tiles", {1, 2, 4, 8, 16, BUILD_END}},
    {"kt", {1, 2, 4, 8, 16, 32, BUILD_END}},
    {"order", {0, 1, BUILD_END}},
    {"ahead", {0, 1, 2, 4, BUILD_END}},
    {"in_place", {0, 1, BUILD_END}},
    {0},
};

/* As the kernel has them: lines of pixels, with those of the padding between the rows of one that is flat. */
static const char *const quantities[][2] = {
    {"one_pixel", "size_r * size_s == 1"},
    {"step", "max(stride_h, stride_w) * (in_place == 1 or one_pixel == 0) + (in_place == 0 and one_pixel == 1)"},
    {"width", "size_q + (size_s - 1) * dil_w"},
    {"length", "(step == 1) * ((size_p - 1) * width + size_q) + (step > 1) * size_q"},
    {"lines", "size_p - (step == 1) * (size_p - 1)"},
    {"pixels", "mv * (16 - in_place * max(16 - length, 0))"},
    {"parts", "ceil_div(length, pixels * tiles)"},
    {"blocks_c", "ceil_div(size_cg, cb)"},
    {"blocks_k", "ceil_div(size_kg, 16 * nv)"},
    {"items", "size_n * groups_n * lines * parts * ceil_div(blocks_k, kt)"},
    {"products", "blocks_c * size_r * size_s * mv * nv * tiles * min(kt, blocks_k)"},
    {"waste_k", "blocks_k * 16 * nv / size_kg"},
    {"waste_c", "blocks_c * cb / size_cg"},
    {"waste_q", "ceil_div(length, pixels) * pixels * lines / (size_p * size_q)"},
    {"waste", "waste_k * waste_c * waste_q"},
    {"loads_per_product", "(mv + nv) / (mv * nv)"},
    {"weight_bytes", "nv * 16 * blocks_c * cb * size_r * size_s"},
    {"packed_bytes", "(1 - in_place) * size_n * size_c * size_h * size_w"},
    {NULL, NULL},
};

static const char *const constraints[] = {
    "cb == 16 or cb < 2 * size_cg",
    "nv == 1 or 16 < size_kg",
    "mv == 1 or 16 < length",
    "in_place == 0 or can_in_place % cb == 0",
    "in_place == 0 or mv == 1 or length >= 16 * mv",
    "tiles == 1 or pixels * tiles < length + pixels",
    "kt == 1 or kt < 2 * blocks_k",
    "order == 0 or kt < blocks_k",
    NULL,
};

/* The channels of which blocks can be read where they lie: those of a group that are stored together, where no window
 * is over the border and each is a pixel; else 1, which no block divides. */
static int64_t can_in_place(const struct conv_shape *z)
{
    const int64_t cg = z->c / z->groups;
    const bool reads_all = z->r * z->s == 1 && z->top == 0 && z->left == 0 && (z->p - 1) * z->stride_h < z->h &&
                           (z->q - 1) * z->stride_w < z->w && (z->stride_h > 1 || z->q == z->w);

    if (!reads_all)
        return 1;
    return z->x_lanes % cg == 0 ? cg : cg % z->x_lanes == 0 ? z->x_lanes : 1;
}

static bool has_tiles(const struct device_desc *d)
{
    return strstr(d->dots, WORD) != NULL;
}

enum fit i8_amx_fit(const char *id, const struct conv_shape *z, const struct device_desc *d, struct why *why)
{
    if (!has_tiles(d)) {
        why_set(why, ERR_UNSUPPORTED, "%s needs a CPU with AMX (%s among its dots)", id, WORD);
        return FIT_NONE;
    }
    return z->c / z->groups >= 32 && z->k / z->groups >= 16 && z->p * z->q >= 16 ? FIT_GOOD : FIT_POSSIBLE;
}

enum err i8_amx_space(const struct conv_shape *z, enum dtype x, const struct device_desc *d, struct space *s,
                      struct why *why)
{
    const struct build_named constants[] = {{"can_in_place", (double)can_in_place(z)}, {NULL, 0}};
    enum err e = conv_add_constants(z, x, DTYPE_I32, d, s, why);

    return e ? e : build_space(s, constants, knobs, quantities, constraints, why);
}

struct items_of {
    const struct conv_shape *z;
    int64_t length, lines, nv, mv, steps;
};

/* The work-items of kt blocks of channels and `tiles` tiles: a step takes 16 cycles for each product of its tiles, and
 * as many for its loads where they are not all in the first cache; the sums' way into memory 10 a pixel and vector. */
static struct build_items items_of(const int64_t *v, const void *arg)
{
    const struct items_of *a = arg;
    const int64_t blocks = CEIL(a->z->k / a->z->groups, SIDE * a->nv), kt = v[0] < blocks ? v[0] : blocks;
    const int64_t tiles = a->mv * a->nv;

    return (struct build_items){
        .n = a->z->n * a->z->groups * a->lines * CEIL(a->length, SIDE * a->mv * v[1]) * CEIL(blocks, kt),
        .cycles = (double)(kt * v[1] * tiles) * (double)(20 * a->steps + 10 * SIDE) + BUILD_ITEM_CYCLES};
}

/* The largest power of two up to `most` that is not over n. */
static int64_t power_within(int64_t n, int64_t most)
{
    while (most > 1 && most > n)
        most /= 2;
    return most;
}

enum err i8_amx_fallback(const struct conv_shape *z, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const int64_t cg = z->c / z->groups, kg = z->k / z->groups, lie = can_in_place(z);
    const int64_t cb = cg > 32 ? 64 : cg > 16 ? 32 : 16, in_place = lie % cb == 0;
    const bool flat = z->stride_h * z->stride_w == 1 || (z->r * z->s == 1 && !in_place);
    const int64_t length = flat ? (z->p - 1) * (z->q + (z->s - 1) * z->dil_w) + z->q : z->q;
    const int64_t mv = length > SIDE ? 2 : 1, nv = kg > SIDE ? 2 : 1;
    const struct items_of a = {z, length, flat ? 1 : z->p, nv, mv, CEIL(cg, cb) * z->r * z->s};
    const bool stay = SIDE * nv * a.steps * cb <= FIRST_CACHE; /* a block's weights, while tiles pass */
    const int64_t blocks = CEIL(kg, SIDE * nv), kt = z->r * z->s == 1 ? power_within(2 * blocks - 1, 32) : 1;

    *out = (struct config){{0}};
    build_choose(s,
                 (const struct build_define[]){{"cb", cb},
                                               {"mv", mv},
                                               {"nv", nv},
                                               {"tiles", power_within(CEIL(length, SIDE * mv), stay ? 8 : 4)},
                                               {"kt", kt},
                                               {"order", 0},
                                               {"ahead", stay ? 0 : 2},
                                               {"in_place", in_place},
                                               {NULL, 0}},
                 out);
    if (!space_is_valid(s, out, NULL)) {
        const enum err e =
            build_make_valid(s, (const char *const[]){"kt", "tiles", "mv", "nv", "cb", "in_place", NULL}, out);

        if (e)
            return e;
    }
    build_spread(s, d, (const char *const[]){"kt", "tiles", NULL}, items_of, &a, out);
    return ERR_OK;
}

/* Sizes that the program and the kernel share: rows and columns of packed x, blocks of 16 output channels of all
 * groups. */
struct sizes {
    int64_t cb, rows, columns, blocks_c, blocks_k;
};

static struct sizes sizes_of(const struct build *b, const struct conv_shape *z)
{
    const bool one_pixel = z->r * z->s == 1;
    const struct sizes a = {
        .cb = build_int(b, "cb"),
        .rows = one_pixel ? z->p : (z->p - 1) * z->stride_h + (z->r - 1) * z->dil_h + 1,
        .columns = one_pixel ? z->q : (z->q - 1) * z->stride_w + (z->s - 1) * z->dil_w + 1,
        .blocks_c = build_int(b, "blocks_c"),
        .blocks_k = z->groups * build_int(b, "blocks_k") * build_int(b, "nv"),
    };

    assert(a.blocks_c * a.cb >= z->c / z->groups && a.blocks_k * SIDE >= z->k);
    return a;
}

/* Packed x, or x itself. Tiles read on behind the last line: its taps, and pixels that nobody stores. */
static int pack_x(struct build *b, const struct conv_shape *z, const struct sizes *a)
{
    const int64_t one[] = {1, 1, 1};
    const int64_t behind = SIDE * build_int(b, "mv") * z->stride_w + (z->s - 1) * z->dil_w;
    int xp;

    if (build_int(b, "in_place"))
        return 0;
    xp = build_buffer(b, "xp", ROLE_SCRATCH, DTYPE_I8,
                      (z->n * z->groups * a->blocks_c * a->rows * a->columns + behind) * a->cb);
    build_launch(b, PHASE_RUN, "i8_amx_pack_x", (const int64_t[]){a->rows, a->blocks_c, z->n * z->groups}, one,
                 (const int[]){0, xp, build_tensor(b, "zero"), -1});
    return xp;
}

void i8_amx_program(struct build *b, const struct conv_shape *z)
{
    const struct sizes a = sizes_of(b, z);
    const int64_t one[] = {1, 1, 1};
    const int zero = build_tensor(b, "zero"), bias = build_tensor(b, "bias");
    const int wp = build_buffer(b, "wp", ROLE_PACKED, DTYPE_I8, a.blocks_k * SIDE * a.blocks_c * a.cb * z->r * z->s);
    int xp, sums = -1;

    build_module(b, "conv2d/i8_amx.cl");
    snprintf(b->p->extensions, sizeof b->p->extensions, WORD);
    conv_define_shape(b, z);
    build_define(b, "AMX", 1);
    build_define(b, "VEC", i8_store_lanes(z, SIDE));
    build_launch(b, PHASE_PACK, "i8_amx_pack_w", (const int64_t[]){a.blocks_k, a.blocks_c, 1}, one,
                 (const int[]){1, wp, -1});
    if (zero >= 0) {
        sums = build_buffer(b, "sums", ROLE_PACKED, DTYPE_I32, z->k);
        build_launch(b, PHASE_PACK, "i8_amx_sum_w", (const int64_t[]){z->k, 1, 1}, one,
                     (const int[]){1, sums, zero, bias, -1});
    }
    xp = pack_x(b, z, &a);
    build_last_launch(b, "i8_amx", (const int64_t[]){build_int(b, "items"), 1, 1}, one,
                      sums >= 0 ? (const int[]){xp, wp, sums, -1} : (const int[]){xp, wp, -1});
}

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    const struct conv_shape z = conv_shape_of(w);

    if (!dtype_is_bytes(w->dtype)) {
        why_set(why, ERR_UNSUPPORTED, "conv2d/i8_amx computes dtypes i8 and u8, not %s", dtype_name(w->dtype));
        return FIT_NONE;
    }
    if (conv_within("conv2d/i8_amx", CONV_I8 | CONV_U8 | CONV_GROUPS | CONV_LAYOUTS | CONV_EPILOGUE, w, why))
        return FIT_NONE;
    return i8_amx_fit("conv2d/i8_amx", &z, d, why);
}

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct conv_shape z = conv_shape_of(w);

    return i8_amx_space(&z, w->dtype, d, s, why);
}

static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const struct conv_shape z = conv_shape_of(w);

    return i8_amx_fallback(&z, d, s, out);
}

static void program(struct build *b)
{
    const struct conv_shape z = conv_shape_of(b->w);

    i8_amx_program(b, &z);
}

const struct template conv2d_i8_amx = {
    .id = "conv2d/i8_amx",
    .version = 2,
    .summary = "CPU: int8, 16 pixels x 16 channels in the tile registers of AMX, where it is found",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};
