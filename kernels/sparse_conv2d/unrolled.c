/* SPDX-License-Identifier: MIT */
/* unrolled.c - sparse convolutions on CUDA in one launch: a work-item sums k_t channels in registers, each input that
 * it loads from local memory is used by all of them that have a weight there. */
#include "core/buf.h"
#include "core/err.h"
#include "kernels/build.h"
#include "kernels/conv/shape.h"
#include "kernels/sparse_conv2d/sparse.h"
#include "runtime/cuda_arch.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TEXT ((size_t)8 << 20)
#define ALL (1 << 24)    /* tiles */
#define MAX_CHANNELS 512 /* input channels, for each branch: code brings them, and its predicates take NVRTC long */
#define MAX_FMAS 32768   /* five seconds of NVRTC */

/* Groups of k_t output channels, none of them across groups of the convolution. */
static int64_t branches(const struct conv_shape *z, int64_t k_t)
{
    return z->groups * CEIL(z->k / z->groups, k_t);
}

static const struct build_knob knobs[] = {
    {"y_r", {1, 2, 4, BUILD_END}},
    {"stages", {2, 3, 4, BUILD_END}},
    {"resident", {1, 2, 3, 4, 5, 6, 8, BUILD_END}},
    {"run", {1, 32, 128, 256, 512, 1024, ALL, BUILD_END}},
    {0},
};

/* piece: columns that are fetched together, four where each row and each tile begin at a multiple of 16 bytes.
 * stage_row: where there is such a length, one by which neighbours in a warp that spans several rows fall on different
 * banks. registers: beside the sums addresses, inputs on their way, pieces to bring; without cp.async pieces wait in
 * registers. */
static const char *const quantities[][2] = {
    {"accumulators", "k_t * y_r"},
    {"group", "wg_x * wg_y"},
    {"tiles_x", "ceil_div(size_q, wg_x)"},
    {"tiles_y", "ceil_div(size_p, wg_y * y_r)"},
    {"tiles", "size_n * tiles_x * tiles_y"},
    {"groups_k", "groups_n * ceil_div(size_kg, k_t)"},
    {"waste", "tiles_x * wg_x * tiles_y * wg_y * y_r / (size_p * size_q)"},
    {"stage_rows", "(wg_y * y_r - 1) * stride_h + (size_r - 1) * dil_h + 1"},
    {"piece", "1 + 3 * (size_w % 4 == 0 and (wg_x >= size_q or wg_x * stride_w % 4 == 0))"},
    {"shift", "(piece - pad_left % piece) % piece"},
    {"stage_columns", "ceil_div(shift + (wg_x - 1) * stride_w + (size_s - 1) * dil_w + 1, piece) * piece"},
    {"below", "y_r * stride_h"},
    {"banks", "max(32 // below, 1)"},
    {"skewed", "wg_x % 32 > 0 and 32 % (below * piece) == 0 and wg_x * stride_w % (below * piece) == 0"},
    {"stage_row", "stage_columns + skewed * ((wg_x * stride_w // below + 32 * stage_columns - stage_columns) % banks)"},
    {"share", "ceil_div(c_blk * stage_rows * stage_columns / piece, group)"},
    {"local_bytes", "4 * stages * c_blk * stage_rows * stage_row"},
    {"total_fmas", "nnz * y_r"},
    {"step_fmas", "total_fmas / groups_k * c_blk / size_cg"},
    {"used", "min(1, nnz / (size_k * size_cg * size_r * size_s) * k_t)"},
    {"loads",
     "used * groups_k * size_cg * size_s * min(size_r * y_r, (size_r - 1) * dil_h + 1 + (y_r - 1) * stride_h)"},
    {"oi", "total_fmas / (2 * loads)"},
    {"copies", "share * groups_k * size_cg / c_blk"},
    {"code", "total_fmas + loads + 2 * size_k * y_r + 5 * copies"},
    {"issued", "code * tiles * group"},
    {"bytes", "4 * size_n * (size_c * size_h * size_w + size_k * size_p * size_q)"},
    {"predicted_flops", "max(2 * issued, bytes / .08)"},
    {"registers", "accumulators + 12 + (4 + waiting * (piece - 1)) * share"},
    {NULL, NULL},
};

static const char *const constraints[] = {
    "accumulators <= 128",
    "group <= max_group and wg_x <= max_x and wg_y <= max_y",
    "group >= 32 or tiles_x * tiles_y == 1",
    "waste <= 2 or group <= 128",
    "y_r <= size_p",
    "size_cg % c_blk == 0",
    "share <= 12",
    "local_bytes <= min(max_local, 49152)",
    "registers <= 250",
    "resident == 1 or group * resident <= unit_threads and (local_bytes + 1024) * resident <= unit_local",
    "8 * ceil_div(registers, 8) * 128 * ceil_div(group, 128) * resident <= unit_registers",
    "run == 1 or groups_k > 1 and (run < tiles or run == 16777216)",
    "total_fmas <= max(24576, nnz) and copies <= 1024 and code <= 2 * nnz + 24576",
    "step_fmas <= 4096",
    NULL,
};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct conv_shape z = conv_shape_of(w);
    const struct build_split splits[] = {{"k_t", z.k / z.groups, 64},
                                         {"wg_x", z.q, 128},
                                         {"wg_y", z.p, 32},
                                         {"c_blk", z.c / z.groups, 16},
                                         {NULL, 0, 0}};
    const struct build_named constants[] = {{"nnz", (double)sparse_nnz(w)},
                                            {"pad_left", (double)z.left},
                                            {"waiting", !cuda_arch_has(d, "cp_async")},
                                            {"unit_threads", (double)d->unit_threads},
                                            {"unit_local", (double)d->local_unit_bytes},
                                            {"unit_registers", (double)d->registers},
                                            {NULL, 0}};
    enum err e = build_constants(s, constants, why);

    if (!e)
        e = build_split_knobs(s, splits, why);
    return e ? e : conv_space(w, d, knobs, quantities, constraints, s, why);
}

/* The first valid config when knobs are lowered, the last one first. */
static bool settle(const struct space *s, const char *const *names, struct config *c)
{
    const int i = *names ? space_find_knob(s, *names) : -1;

    if (i < 0)
        return space_is_valid(s, c, NULL);
    for (struct config at = *c;; at.choice[i]--) {
        *c = at;
        if (settle(s, names + 1, c))
            return true;
        if (at.choice[i] == 0)
            return false;
    }
}

/* Where groups of the usual size take too much code or local memory: the largest one of most channels, one input
 * channel a stage. */
static bool settle_any(const struct space *s, struct config *out)
{
    static const char *const lowered[] = {"k_t", "wg_x", "wg_y", NULL};

    *out = (struct config){{0}};
    for (const char *const *name = lowered; *name; name++) {
        const int i = space_find_knob(s, *name);

        out->choice[i] = (uint16_t)(space_n_values(s, (size_t)i) - 1);
    }
    return settle(s, lowered, out);
}

/* So many channels that an input is used six times, fewer where tiles are few; groups of about 256. */
static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    static const char *const lowered[] = {"wg_x", "wg_y", "stages", "c_blk", "resident", NULL};
    const struct conv_shape z = conv_shape_of(w);
    const double density = (double)sparse_nnz(w) / (double)sparse_n_weights(&z);
    const int64_t wanted = 2 * (d->units > 0 ? d->units : 32), wg_x = CEIL(z.q, CEIL(z.q, 64));
    int64_t k_t = density < .15 ? 64 : 32, wg_y = 256 / wg_x, tiles;

    while (wg_y > 1 && wg_y / 2 * wg_x >= 64 && z.n * CEIL(z.q, wg_x) * CEIL(z.p, wg_y) * CEIL(z.k, k_t) < wanted)
        wg_y /= 2;
    if (branches(&z, k_t) * z.c / z.groups > MAX_CHANNELS)
        k_t = 64;
    while (k_t > 8 && density * (double)k_t >= 2 && branches(&z, k_t / 2) * z.c / z.groups <= MAX_CHANNELS &&
           z.n * CEIL(z.q, wg_x) * CEIL(z.p, wg_y) * CEIL(z.k, k_t) < wanted)
        k_t /= 2;
    tiles = z.n * CEIL(z.q, wg_x) * CEIL(z.p, wg_y);
    *out = (struct config){{0}};
    build_choose(s,
                 (const struct build_define[]){{"k_t", k_t},
                                               {"wg_x", wg_x},
                                               {"wg_y", wg_y},
                                               {"c_blk", z.c / z.groups < 128 ? 4 : z.c / z.groups / 32},
                                               {"y_r", 1},
                                               {"stages", cuda_arch_has(d, "cp_async") ? 3 : 2},
                                               {"resident", k_t > 32 ? 3 : 4},
                                               {"run", k_t >= z.k / z.groups && z.groups == 1 ? 1
                                                       : tiles > 512                          ? 512
                                                                                              : ALL},
                                               {NULL, 0}},
                 out);
    return settle(s, lowered, out) || settle_any(s, out) ? ERR_OK : ERR_NOT_FOUND;
}

/* Is there any group for the layer? A space takes less than a millisecond. */
static bool has_default(const struct workload *w, const struct device_desc *d)
{
    struct space *s = NULL;
    struct config c;
    const bool has = !space_new(&s) && !space(w, d, s, NULL) && !space_seal(s, NULL) && !fallback(w, d, s, &c);

    space_free(s);
    return has;
}

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    const struct conv_shape z = conv_shape_of(w);

    if (conv_within("sparse_conv2d/unrolled", CONV_GROUPS | CONV_EPILOGUE, w, why))
        return FIT_NONE;
    if (strcmp(d->api, "cuda") != 0) {
        why_set(why, ERR_UNSUPPORTED, "sparse_conv2d/unrolled is for CUDA (sparse_conv2d/generated for others)");
        return FIT_NONE;
    }
    if (sparse_nnz(w) > MAX_FMAS) {
        why_set(why, ERR_UNSUPPORTED,
                "sparse_conv2d/unrolled is code for at most %d nonzeros; this layer has %lld (sparse_conv2d/csr has no "
                "limit)",
                MAX_FMAS, (long long)sparse_nnz(w));
        return FIT_NONE;
    }
    if (branches(&z, 64) * z.c / z.groups > MAX_CHANNELS) {
        why_set(why, ERR_UNSUPPORTED, "sparse_conv2d/unrolled: too many channels; sparse_conv2d/csr has no limit");
        return FIT_NONE;
    }
    if (z.c / z.groups * z.h * z.w > INT32_MAX / 4) {
        why_set(why, ERR_UNSUPPORTED, "sparse_conv2d/unrolled: an image of more than 2 GiB");
        return FIT_NONE;
    }
    if (!has_default(w, d)) {
        why_set(why, ERR_UNSUPPORTED,
                "sparse_conv2d/unrolled: no group has local memory and registers for the inputs of its windows (large "
                "strides, dilations or kernels); sparse_conv2d/csr has no limit");
        return FIT_NONE;
    }
    return FIT_GOOD;
}

struct writer {
    const struct conv_shape *z;
    const float *weights;
    struct buf *out;
    int64_t k0, k1, y_r, c_blk;
};

static unsigned bits_of(float v)
{
    unsigned bits;

    memcpy(&bits, &v, sizeof bits);
    return bits;
}

/* The products with the input in column s of a tile's row `row`; its load comes before the first. */
static void put_input(const struct writer *w, int64_t c, int64_t row, int64_t s)
{
    const struct conv_shape *z = w->z;
    const int64_t cg = z->c / z->groups;
    bool loaded = false;

    for (int64_t j = 0; j < w->y_r; j++) {
        const int64_t r = (row - j * z->stride_h) / z->dil_h;

        if (row < j * z->stride_h || (row - j * z->stride_h) % z->dil_h || r >= z->r)
            continue;
        for (int64_t k = w->k0; k < w->k1; k++) {
            const unsigned bits = bits_of(w->weights[((k * cg + c) * z->r + r) * z->s + s]);

            if (!(bits << 1)) /* 0 or -0 */
                continue;
            if (!loaded)
                buf_printf(w->out, "{ const float v = X(%lld, %lld, %lld, %lld);\n", (long long)(c / w->c_blk),
                           (long long)(c % w->c_blk), (long long)row, (long long)(s * z->dil_w));
            loaded = true;
            buf_printf(w->out, "F(s%lld_%lld, v, %08X)\n", (long long)(k - w->k0), (long long)j, bits);
        }
    }
    if (loaded)
        buf_puts(w->out, "}\n");
}

static void put_branch(const struct writer *w, int64_t i)
{
    const struct conv_shape *z = w->z;
    const int64_t rows = (w->y_r - 1) * z->stride_h + (z->r - 1) * z->dil_h + 1;

    assert(w->k0 < w->k1 && w->k1 <= z->k);
    buf_printf(w->out, "if (group == %lld) { /* channels %lld to %lld */\n", (long long)i, (long long)w->k0,
               (long long)(w->k1 - 1));
    for (int64_t e = 0; e < (w->k1 - w->k0) * w->y_r; e++)
        buf_printf(w->out, "float s%lld_%lld = 0.0f;\n", (long long)(e / w->y_r), (long long)(e % w->y_r));
    for (int64_t c = 0; c < z->c / z->groups; c++) {
        if (c % w->c_blk == 0)
            buf_printf(w->out, "STEP(%lld)\n", (long long)(c / w->c_blk));
        for (int64_t row = 0; row < rows; row++)
            for (int64_t s = 0; s < z->s; s++)
                put_input(w, c, row, s);
    }
    for (int64_t e = 0; e < (w->k1 - w->k0) * w->y_r; e++)
        buf_printf(w->out, "PUT(%lld, %lld, s%lld_%lld);\n", (long long)(w->k0 + e / w->y_r), (long long)(e % w->y_r),
                   (long long)(e / w->y_r), (long long)(e % w->y_r));
    buf_puts(w->out, "}\n");
}

/* The code of the weights. */
static enum err text(const struct build *b, const struct conv_shape *z, struct buf *out)
{
    const int64_t k_t = build_int(b, "k_t"), kg = z->k / z->groups, per_group = CEIL(kg, k_t);
    float *weights;
    const enum err e = sparse_weights(b->w, &weights, b->why);

    if (e)
        return e;
    assert(build_int(b, "groups_k") ==
           z->groups * per_group); /* each group that is launched has a branch, and no more */
    buf_puts(out, "KERNEL_BEGIN\n");
    for (int64_t step = 0; step + 1 < build_int(b, "stages"); step++)
        buf_printf(out, "BRING(%lld)\n", (long long)step);
    for (int64_t i = 0; i < z->groups * per_group; i++) {
        const int64_t first = i / per_group * kg, part = i % per_group;
        const struct writer w = {z,
                                 weights,
                                 out,
                                 first + kg * part / per_group,
                                 first + kg * (part + 1) / per_group,
                                 build_int(b, "y_r"),
                                 build_int(b, "c_blk")};

        put_branch(&w, i);
    }
    buf_puts(out, "KERNEL_END\n");
    free(weights);
    return out->failed;
}

static void add_module(struct build *b, const struct conv_shape *z)
{
    struct buf out;

    if (b->e)
        return;
    buf_init(&out, MAX_TEXT);
    b->e = text(b, z, &out);
    if (b->e == ERR_LIMIT)
        why_set(b->why, b->e, "sparse_conv2d/unrolled: more than %zu bytes of kernel text", MAX_TEXT);
    build_module_behind(b, "sparse_conv2d/unrolled.cl", &out);
    buf_fini(&out);
}

static void program(struct build *b)
{
    const struct conv_shape z = conv_shape_of(b->w);
    const int64_t run = build_int(b, "run"), tiles = build_int(b, "tiles"), groups_k = build_int(b, "groups_k");
    const int64_t in_a_row = run < tiles ? run : tiles, groups = CEIL(tiles, in_a_row) * in_a_row * groups_k;

    add_module(b, &z);
    conv_define_shape(b, &z);
    build_defines(b, (const struct build_define[]){{"STAGE_ROWS", build_int(b, "stage_rows")},
                                                   {"STAGE_ROW", build_int(b, "stage_row")},
                                                   {"STAGE_COLUMNS", build_int(b, "stage_columns")},
                                                   {"SHIFT", build_int(b, "shift")},
                                                   {"PIECE", build_int(b, "piece")},
                                                   {"TILES_X", build_int(b, "tiles_x")},
                                                   {"TILES_Y", build_int(b, "tiles_y")},
                                                   {"GROUPS_K", groups_k},
                                                   {"IN_A_ROW", in_a_row},
                                                   {"ASYNC", cuda_arch_has(b->d, "cp_async")},
                                                   {NULL, 0}});
    b->p->needs_local_bytes = build_int(b, "local_bytes");
    build_last_launch(b, "sparse_unrolled", (const int64_t[]){groups, 1, 1},
                      (const int64_t[]){build_int(b, "wg_x"), build_int(b, "wg_y"), 1},
                      (const int[]){build_tensor(b, "x"), -1});
}

const struct template sparse_conv2d_unrolled = {
    .id = "sparse_conv2d/unrolled",
    .version = 2,
    .summary = "CUDA: code from the weights in one launch, sums of many channels in registers, inputs through local "
               "memory",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};
