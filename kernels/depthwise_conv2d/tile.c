/* SPDX-License-Identifier: MIT */
/* Three texts: nchw has neighbours along q in a vector's lanes (tile_rows.cl), nchw4c .. nchw16c channels
 * (tile_lanes.cl), bytes in nchw16c by dot products (tile_dots.cl). */
#include "core/err.h"
#include "kernels/build.h"
#include "kernels/depthwise_conv2d/depthwise_conv2d.h"
#include "kernels/gemm/dot.h"

#include <string.h>

#define MAX_TAPS 128           /* whose sum of products of bytes is exact in f32, too */
#define MAX_SPAN 400           /* of a dilated window, rows x columns */
#define MAX_STAGED_BYTES 65536 /* of private memory: a CPU keeps it in its first two caches */

/* Sums are made in `float`, or what the sums of this dtype are; none is larger. */
#define SUM_BYTES 4

static bool is_blocked(const struct conv_shape *z)
{
    return z->x_lanes > 1 || z->y_lanes > 1;
}

/* May products of four neighbours be made at once? The knob `dot` says whether they are. */
static bool can_dots(const struct workload *w, const struct conv_shape *z)
{
    return dtype_is_bytes(w->dtype) && z->y_lanes == 16 && z->dil_w == 1;
}

static bool uses_dots(const struct space *s, const struct config *c)
{
    const int dot = space_find_knob(s, "dot");

    return dot >= 0 && strcmp(space_value(s, c, (size_t)dot).text, "vnni") == 0;
}

static int64_t span(int64_t n, int64_t stride, int64_t window, int64_t dilation)
{
    return (n - 1) * stride + (window - 1) * dilation + 1;
}

/* Of tile_rows.cl with one row an item. */
static int64_t least_staged_bytes(const struct conv_shape *z)
{
    return span(1, z->stride_h, z->r, z->dil_h) * (z->q + (z->s - 1) * z->dil_w / z->stride_w + 32) * z->stride_w *
           SUM_BYTES;
}

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    const char *id = "depthwise_conv2d/tile";
    const struct conv_shape z = conv_shape_of(w);
    const int64_t taps = z.r * z.s, area = span(1, 1, z.r, z.dil_h) * span(1, 1, z.s, z.dil_w);

    if (conv_within(id, CONV_F16 | CONV_I8 | CONV_U8 | CONV_GROUPS | CONV_LAYOUTS | CONV_EPILOGUE, w, why) ||
        conv_not_cuda(id, "depthwise_conv2d/shared", d, why))
        return FIT_NONE;
    if (taps > MAX_TAPS || area > MAX_SPAN) {
        why_set(why, ERR_UNSUPPORTED, "%s unrolls windows of up to %d elements that span up to %d, not %lld and %lld",
                id, MAX_TAPS, MAX_SPAN, (long long)taps, (long long)area);
        return FIT_NONE;
    }
    if (is_blocked(&z) && (z.x_lanes != z.y_lanes || z.k != z.c)) {
        why_set(why, ERR_UNSUPPORTED, "%s computes mult=1 in layout=%s, not mult=%lld", id,
                images_layouts[workload_get(w, "layout")], (long long)(z.k / z.c));
        return FIT_NONE;
    }
    if (!is_blocked(&z) && least_staged_bytes(&z) > MAX_STAGED_BYTES) {
        why_set(why, ERR_UNSUPPORTED, "%s keeps the rows of a window in %d bytes, not %lld", id, MAX_STAGED_BYTES,
                (long long)least_staged_bytes(&z));
        return FIT_NONE;
    }
    return d->kind == DEVICE_CPU ? FIT_GOOD : FIT_POSSIBLE;
}

/* Candidates below `all`, then `all`. */
static struct build_knob knob_up_to(const char *name, int64_t all)
{
    static const int64_t candidates[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 28, 32, 56, 64, 112};
    struct build_knob k = {name, {0}};
    size_t n = 0;

    for (size_t i = 0; i < sizeof candidates / sizeof candidates[0] && candidates[i] < all; i++)
        k.values[n++] = candidates[i];
    k.values[n++] = all;
    k.values[n] = BUILD_END;
    return k;
}

static const char *const quantities[][2] = {
    {"blocked", "y_lanes > 1"},
    {"columns", "vw * (blocked + (1 - blocked) * vec)"}, /* outputs of a tile's row */
    {"accumulators", "vh * vw * ceil_div(vec, max(lanes, 4))"},
    {"in_h", "(vh - 1) * stride_h + (size_r - 1) * dil_h + 1"},
    {"in_w", "(vw - 1) * stride_w + (size_s - 1) * dil_w + 1"},
    {"loads", "in_h * (blocked * in_w + (1 - blocked) * size_s * vw)"},
    {"loads_per_fma", "loads / (vh * vw * size_r * size_s)"},
    {"tiles", "ceil_div(size_q, columns)"},
    {"waste_p", "ceil_div(rows, vh) * vh * ceil_div(size_p, rows) / size_p"},
    {"waste_q", "ceil_div(size_q, vec) * vec / size_q"},
    {"lane_use", "min(vec, lanes) / max(lanes, 4)"},
    {"in_rows", "(ceil_div(rows, vh) * vh - 1) * stride_h + (size_r - 1) * dil_h + 1"},
    {"row_reuse", "in_rows / rows"},
    {"pitch", "ceil_div(tiles * columns + (size_s - 1) * dil_w // stride_w, vec) * vec"},
    {"staged_bytes", "(1 - blocked) * kb * in_rows * stride_w * pitch * 4"},
    {"items", "ceil_div(size_n * size_k / y_lanes, kb) * ceil_div(size_p, rows)"},
    {"body", "accumulators * size_r * size_s"},
    {NULL, NULL},
};

/* A register file holds 32 vectors. Long unrolled bodies compile for seconds; edge tiles repeat them in blocked
 * layouts. */
static const char *const constraints[] = {
    "accumulators <= 28",
    "body <= 512 or vh * vw == 1",
    "rows % vh == 0 or rows == size_p",
    "vh <= rows",
    "vec <= max(lanes, 4) or blocked",
    "blocked or vw < ceil_div(size_q, vec) + 1",
    "staged_bytes <= max_staged",
    "kb == 1 or kb <= size_n * size_k",
    NULL,
};

/* Where the knob `dot` is. */
static const char *const dot_quantities[][2] = {
    {"staged_pixels", "in_rows * ((tiles * vw - 1) * stride_w + 4 * ceil_div(size_s, 4))"},
    {NULL, NULL},
};
static const char *const dot_constraints[] = {
    "dot != 'vnni' or 16 * staged_pixels <= max_staged",
    "dot != 'vnni' or vh * vw + size_r * ceil_div(size_s, 4) <= 30",
    NULL,
};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct conv_shape z = conv_shape_of(w);
    const struct build_knob any = {"vec", {4, 8, 16, BUILD_END}}, lanes = {"vec", {z.y_lanes, BUILD_END}};
    const struct build_knob several = {"kb", {1, 2, 4, 8, BUILD_END}}, one = {"kb", {1, BUILD_END}};
    const struct build_knob knobs[] = {is_blocked(&z) ? lanes : any,          knob_up_to("vh", z.p < 14 ? z.p : 14),
                                       knob_up_to("vw", z.q < 14 ? z.q : 14), knob_up_to("rows", z.p),
                                       is_blocked(&z) ? one : several,        {0}};
    enum err e = space_add_constant(s, "max_staged", MAX_STAGED_BYTES, why);

    if (!e && can_dots(w, &z))
        e = dot_add_knob(s, d, DOT_TAPS, w->dtype, true, why);
    if (!e)
        e = conv_space(w, d, knobs, quantities, constraints, s, why);
    if (!e && can_dots(w, &z))
        e = build_quantities(s, dot_quantities, why);
    return !e && can_dots(w, &z) ? build_constraints(s, dot_constraints, why) : e;
}

/* The width from 4 to 8 that wastes least of a row of q outputs, the wider one of two equals. */
static int64_t best_width(int64_t q)
{
    int64_t best = q < 4 ? q : 4;

    for (int64_t v = 5; v <= 8; v++)
        if (CEIL(q, v) * v <= CEIL(q, best) * best)
            best = v;
    return best;
}

struct chunks {
    const struct conv_shape *z;
    int64_t vec, vh; /* vh 0: the third value */
};

/* The work-items of `rows` rows and kb channels: vectors of sums, and of input that is read. */
static struct build_items chunk_items(const int64_t *v, const void *arg)
{
    const struct chunks *a = arg;
    const struct conv_shape *z = a->z;
    const int64_t vh = a->vh ? a->vh : v[2], rows = CEIL(v[0], vh) * vh, across = is_blocked(z) ? 1 : a->vec;
    const double sums = (double)(rows * CEIL(z->q, across) * z->r * z->s);
    const double input = (double)(span(rows, z->stride_h, z->r, z->dil_h) * CEIL(z->w, across));

    return (struct build_items){.n = CEIL(z->n * z->k / z->y_lanes, v[1]) * CEIL(z->p, v[0]),
                                .cycles = (double)v[1] * (sums / 2 + 2 * input) + BUILD_ITEM_CYCLES};
}

/* Both forms are bound by memory on layers of networks: what counts is few instructions a byte, not reuse of registers.
 */
static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const struct conv_shape z = conv_shape_of(w);
    const bool blocked = is_blocked(&z);
    const bool dots = uses_dots(s, &(struct config){{0}});
    const int64_t width = blocked ? best_width(z.q) : 1, lanes = build_vector(d);
    const int64_t vh = !blocked ? (z.p < 7 ? z.p : 7) : dots ? (z.p < 3 ? z.p : 3) : width < 6 && z.p > 1 ? 2 : 1;
    const struct chunks chunks = {&z, blocked ? z.y_lanes : lanes, dots ? 0 : vh};

    *out = (struct config){{0}};
    build_choose(s,
                 (const struct build_define[]){{"vec", lanes > 8 && z.q <= 8 ? 8 : lanes},
                                               {"vh", vh},
                                               {"vw", width},
                                               {"rows", z.p < 28  ? z.p
                                                        : blocked ? 14
                                                                  : 28},
                                               {"kb", z.h * z.w > 256 ? 1
                                                      : z.n * z.k < 8 ? z.n * z.k
                                                                      : 8},
                                               {NULL, 0}},
                 out);
    if (build_make_valid(s, (const char *const[]){"kb", "rows", "vh", "vw", NULL}, out))
        return ERR_NOT_FOUND;
    build_spread(s, d, (const char *const[]){"rows", "kb", dots ? "vh" : NULL, NULL}, chunk_items, &chunks, out);
    return ERR_OK;
}

static void program_dots(struct build *b, const struct conv_shape *z, const int64_t grid[3])
{
    const int64_t one[] = {1, 1, 1}, blocks[] = {z->k / 16, 1, 1};
    const int wp = build_buffer(b, "wp", ROLE_PACKED, DTYPE_I32, z->k * z->r * CEIL(z->s, 4));
    const int sums = build_buffer(b, "sums", ROLE_PACKED, DTYPE_I32, z->k);

    build_module(b, "depthwise_conv2d/tile_dots.cl");
    conv_define_shape(b, z);
    dot_define(b);
    build_launch(b, PHASE_PACK, "depthwise_pack_w", blocks, one,
                 (const int[]){1, wp, sums, build_tensor(b, "zero"), -1});
    build_last_launch(b, "depthwise_tile", grid, one, (const int[]){0, wp, sums, -1});
}

static void program(struct build *b)
{
    const struct conv_shape z = conv_shape_of(b->w);
    const int64_t blocks = z.k / z.y_lanes, one[] = {1, 1, 1};
    const int64_t grid[] = {CEIL(z.n * blocks, build_int(b, "kb")) * CEIL(z.p, build_int(b, "rows")), 1, 1};
    const enum dtype sums = sums_in_half(b->w, b->d) ? DTYPE_F16 : DTYPE_F32; /* bytes: products as floats */
    int weights = 1;

    if (uses_dots(b->s, b->c)) {
        program_dots(b, &z, grid);
        return;
    }
    if (is_blocked(&z))
        weights = build_buffer(b, "wp", ROLE_PACKED, sums, z.k * z.r * z.s);
    build_module(b, is_blocked(&z) ? "depthwise_conv2d/tile_lanes.cl" : "depthwise_conv2d/tile_rows.cl");
    conv_define_shape(b, &z);
    if (weights != 1)
        build_launch(b, PHASE_PACK, "depthwise_pack_w", (const int64_t[]){blocks, 1, 1}, one,
                     (const int[]){1, weights, -1});
    build_last_launch(b, "depthwise_tile", grid, one, (const int[]){0, weights, -1});
}

const struct template depthwise_tile = {
    .id = "depthwise_conv2d/tile",
    .version = 3,
    .summary = "CPU: register tiles over rows, every input vector loaded once; lanes along a row or along channels",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};
