/* SPDX-License-Identifier: MIT */
/* Knobs are those of TVM's depthwise_conv2d_nchw for CUDA, with tails allowed. */
#include "core/err.h"
#include "kernels/conv/strips.h"
#include "kernels/depthwise_conv2d/depthwise_conv2d.h"
#include "runtime/cuda_arch.h"

#include <math.h>

/* Of a multiprocessor, a cycle; of an item, in instructions: guesses, with which the tiles come near those of TVM's
 * records of MobileNet on a 1080 Ti. */
#define ISSUED 128
#define COPY_BYTES 20        /* from the second cache */
#define WORD_INSTRUCTIONS 12 /* of x, staged */
#define ITEM_INSTRUCTIONS 60 /* besides products, reads, copies and stores */
#define STORE_INSTRUCTIONS 6
#define APART 4          /* cycles between two instructions of an item that has its multiprocessor alone */
#define WAIT_CYCLES 1500 /* of a group, for memory */
#define SECTOR 8         /* words that come together: rows that begin and end within some cost another one */
#define REGISTERS 40
#define WARP 32
#define MOST_ITEMS 256
#define MOST_ROWS 8
#define LEAST_BESIDE .1 /* of what takes less time than the slowest part */

/* Of the smallest tile. */
static int64_t least_local_bytes(const struct conv_shape *z)
{
    return (((z->r - 1) * z->dil_h + 1) * ((z->s - 1) * z->dil_w + 1) + CEIL(z->r * z->s, 4) * 4) * 4;
}

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    const struct conv_shape z = conv_shape_of(w);

    if (conv_within("depthwise_conv2d/shared",
                    CONV_F16 | CONV_I8 | CONV_U8 | CONV_GROUPS | CONV_LAYOUTS | CONV_EPILOGUE, w, why))
        return FIT_NONE;
    if (least_local_bytes(&z) > build_max_local(d)) {
        why_set(why, ERR_UNSUPPORTED,
                "depthwise_conv2d/shared stages a window in local memory: %lld bytes, the device has %lld",
                (long long)least_local_bytes(&z), (long long)build_max_local(d));
        return FIT_NONE;
    }
    return d->kind == DEVICE_CPU || d->kind == DEVICE_MALI ? FIT_POSSIBLE : FIT_GOOD;
}

static const char *const staged[][2] = {
    {"x_staged", "f_tile * staged_rows * staged_columns"},
    {"w_staged", "ceil_div(terms * f_tile, 4) * 4"},
    {"local_bytes", "(x_staged + w_staged) * sum_elem_bytes"},
    {"staged_per_output", "x_staged / (f_tile * y_tile * x_tile)"},
    {NULL, NULL},
};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct conv_shape z = conv_shape_of(w);
    const struct strips form = {
        .f = z.k, .g = 1, .c = 1, .f_unit = 1, .most_f = 16, .unroll = 256, .elem = w->dtype, .sum = conv_sums(w, d)};
    enum err e = strips_add_knobs(s, &form, &z, d, why);

    if (!e)
        e = build_quantities(s, staged, why);
    return e ? e : strips_add_constraints(s, d, why);
}

struct tile {
    int64_t f_t, y_t, y_r, x_t;
};

/* Cycles until all is done on a GPU. */
static double cycles_of(const struct conv_shape *z, const struct device_desc *d, const struct tile *t)
{
    const int64_t items = t->f_t * t->y_t * t->x_t, warps = CEIL(items, WARP), units = build_threads(d);
    const int64_t down = z->r == 1 ? 1 : z->stride_h, across = z->s == 1 ? 1 : z->stride_w;
    const int64_t lines = t->f_t * conv_reach(t->y_t * t->y_r, down, z->r, z->dil_h);
    const int64_t columns = conv_reach(t->x_t, across, z->s, z->dil_w), taps = z->r * z->s;
    const int64_t bytes = 4 * (lines * columns + CEIL(taps * t->f_t, 4) * 4);
    const int64_t rows = conv_reach(t->y_r, down, z->r, z->dil_h);
    const int64_t reads = (rows < t->y_r * z->r ? rows : t->y_r * z->r) * z->s + taps;
    const double instructions = (double)(t->y_r * taps + reads + WORD_INSTRUCTIONS * CEIL(lines * columns, items) +
                                         STORE_INSTRUCTIONS * t->y_r + ITEM_INSTRUCTIONS);
    const double issue = instructions * (double)(warps * WARP) / ISSUED;
    const int64_t moved = lines * (columns + (t->x_t < z->q ? SECTOR : 0)) + items * t->y_r;
    const double memory = 4.0 * (double)moved / COPY_BYTES;
    const double busy = fmax(issue, memory) + LEAST_BESIDE * fmin(issue, memory);
    const double alone = WAIT_CYCLES + APART * instructions;
    const int64_t groups = z->n * CEIL(z->k, t->f_t) * CEIL(z->p, t->y_t * t->y_r) * CEIL(z->q, t->x_t);
    const int64_t each = CEIL(groups, units), beside = d->sm ? cuda_arch_resident(d, items, REGISTERS, bytes) : 2;

    if (bytes > build_max_local(d))
        return INFINITY;
    return (double)each * fmax(busy, alone / (double)(beside < 1 ? 1 : beside)) + alone;
}

static bool lies_along(int64_t tile, int64_t size)
{
    return tile == 1 || tile < 2 * size;
}

static int64_t value_at(const struct space *s, int knob, size_t i)
{
    return (int64_t)space_knob_value(s, (size_t)knob, i).number;
}

static void try_tile(const struct conv_shape *z, const struct device_desc *d, const struct tile *t, double *least,
                     struct tile *best)
{
    const double cycles = cycles_of(z, d, t);

    if (cycles >= *least)
        return;
    *least = cycles;
    *best = *t;
}

/* The tile of the fewest cycles: neighbouring work-items read neighbouring columns; some rows each, where staged rows
 * are used again. */
static struct tile best_tile(const struct space *s, const struct conv_shape *z, const struct device_desc *d)
{
    const int f_t = space_find_knob(s, "f_t"), y_t = space_find_knob(s, "y_t"), x_t = space_find_knob(s, "x_t");
    const int y_r = space_find_knob(s, "y_r");
    const int64_t most = build_max_group(d) < MOST_ITEMS ? build_max_group(d) : MOST_ITEMS;
    struct tile t, best = {1, 1, 1, 1};
    double least = INFINITY;

    for (size_t h = 0; h < space_n_values(s, (size_t)x_t); h++)
        for (size_t i = 0; i < space_n_values(s, (size_t)y_t); i++)
            for (size_t j = 0; j < space_n_values(s, (size_t)f_t); j++) {
                t = (struct tile){.f_t = value_at(s, f_t, j), .y_t = value_at(s, y_t, i), .x_t = value_at(s, x_t, h)};
                if (t.f_t * t.y_t * t.x_t > most || !lies_along(t.f_t, z->k) || !lies_along(t.x_t, z->q))
                    continue;
                for (size_t k = 0; k < space_n_values(s, (size_t)y_r); k++) {
                    t.y_r = value_at(s, y_r, k);
                    if (t.y_r <= MOST_ROWS && lies_along(t.y_t * t.y_r, z->p))
                        try_tile(z, d, &t, &least, &best);
                }
            }
    return best;
}

static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    static const char *const lowered[] = {"f_t", "y_r", "x_t", "y_t", "x_r", NULL};
    static const struct build_define cpu[] = {{"y_r", 4}, {"x_r", 16}, {NULL, 0}};
    static const struct build_define other[] = {{"f_t", 2}, {"y_t", 4}, {"y_r", 4}, {"x_t", 16}, {NULL, 0}};
    const struct conv_shape z = conv_shape_of(w);
    struct tile t;

    if (d->kind != DEVICE_GPU)
        return strips_choose(s, d, d->kind == DEVICE_CPU ? cpu : other, lowered, out);
    t = best_tile(s, &z, d);
    return strips_choose(
        s, d, (const struct build_define[]){{"f_t", t.f_t}, {"y_t", t.y_t}, {"y_r", t.y_r}, {"x_t", t.x_t}, {NULL, 0}},
        lowered, out);
}

static void program(struct build *b)
{
    const struct conv_shape z = conv_shape_of(b->w);

    build_module(b, "depthwise_conv2d/shared.cl");
    conv_define_shape(b, &z);
    build_define(b, "VEC", 1);
    strips_launch(b, &z, "depthwise_shared", (const int[]){0, strips_pack_weights(b, b->w->dtype), -1});
}

const struct template depthwise_shared = {
    .id = "depthwise_conv2d/shared",
    .stages = true,
    .version = 6,
    .summary = "GPU: the input of a tile and its weights in local memory, strips of outputs a work-item",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};
