/* SPDX-License-Identifier: MIT */
#include "core/err.h"
#include "kernels/build.h"
#include "kernels/dense/dense.h"

#include <assert.h>

#define PACK_STEP 64
#define MAX_ROWS 8 /* of x */
#define AHEAD 2048 /* elements, of a stream: what an item begins with comes late */

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    const int64_t m = workload_get(w, "m");

    if (dense_within("dense/gemv", DENSE_F16 | DENSE_EPILOGUE, w, why) ||
        gemm_not_cuda("dense/gemv", "dense/small_batch", d, why))
        return FIT_NONE;
    if (m > MAX_ROWS) {
        why_set(why, ERR_UNSUPPORTED, "dense/gemv computes m = 1 to %d, not m=%lld", MAX_ROWS, (long long)m);
        return FIT_NONE;
    }
    return d->kind == DEVICE_CPU ? FIT_GOOD : FIT_POSSIBLE;
}

static const struct build_knob knobs[] = {
    {"vec", {1, 2, 4, 8, 16, BUILD_END}},
    {"rows", {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, BUILD_END}},
    {"chains", {1, 2, 4, 8, BUILD_END}},
    {"turns", {1, 2, 3, 4, 5, 8, 10, 16, 25, 32, 50, 64, 128, 256, BUILD_END}},
    {"ahead", {0, 256, 512, 1024, 1536, 2048, 3072, 4096, 8192, BUILD_END}},
    {"packed", {0, 1, BUILD_END}},
    {0},
};

static const char *const quantities[][2] = {
    {"columns", "rows * (packed == 1) * vec + rows * (packed == 0)"},
    {"registers", "size_m * rows * chains * ceil_div(vec, max(lanes, 4))"},
    {"streams", "1 + (packed == 0) * (rows - 1)"},
    {"lane_use", "min(vec, lanes) / max(lanes, 4)"},
    {"groups", "ceil_div(size_n, columns * turns)"},
    {"waste", "groups * columns * turns / size_n"},
    {"tail", "size_k % (vec * chains) * (packed == 0)"},
    {"body", "size_m * rows * chains"},
    {NULL, NULL},
};

static const char *const constraints[] = {
    "vec <= max(lanes, 4)",
    "registers <= 28",
    "rows == 1 or rows <= size_n",
    "turns == 1 or columns * (turns - 1) < size_n",
    "chains == 1 or vec * chains <= size_k",
    NULL,
};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    return dense_space(w, d, knobs, quantities, constraints, s, why);
}

struct streams {
    int64_t n, k, rows;
};

static struct build_items stream_items(const int64_t *v, const void *arg)
{
    const struct streams *a = arg;
    const int64_t columns = a->rows * v[0];

    return (struct build_items){.n = CEIL(a->n, columns),
                                .cycles = (double)(columns * a->k + a->rows * AHEAD) + BUILD_ITEM_CYCLES};
}

/* Four streams keep more lines on their way than one; long ones, so that asking ahead rarely runs over an end. */
static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const struct dense_shape z = dense_shape_of(w);
    const int64_t lanes = build_vector(d);
    const int64_t vec = lanes < z.k ? lanes : 1, rows = z.n < 4 ? 1 : 4;
    const int64_t turns = z.n / (rows * 4);

    *out = (struct config){{0}};
    build_choose(s,
                 (const struct build_define[]){{"vec", vec},
                                               {"rows", rows},
                                               {"chains", z.m <= 2 && z.k >= 2 * vec ? 2 : 1},
                                               {"turns", turns < 1     ? 1
                                                         : turns < 128 ? turns
                                                                       : 128},
                                               {"ahead", AHEAD},
                                               {"packed", 0},
                                               {NULL, 0}},
                 out);
    if (build_make_valid(s, (const char *const[]){"chains", "turns", "rows", "vec", NULL}, out))
        return ERR_NOT_FOUND;
    build_spread(s, d, (const char *const[]){"turns", NULL}, stream_items, &(const struct streams){z.n, z.k, rows},
                 out);
    return ERR_OK;
}

static void program(struct build *b)
{
    const struct dense_shape z = dense_shape_of(b->w);
    const int64_t columns = build_int(b, "columns"), one[] = {1, 1, 1}, panels = CEIL(z.n, columns);
    const bool packed = build_int(b, "packed") != 0;
    const int wp = packed ? build_buffer(b, "wp", ROLE_PACKED, b->w->dtype, panels * columns * z.k) : 1;

    assert(panels * columns >= z.n && z.m <= MAX_ROWS);
    build_module(b, "dense/gemv.cl");
    dense_define_shape(b, &z);
    if (packed)
        build_launch(b, PHASE_PACK, "gemv_pack_w", (const int64_t[]){panels, CEIL(z.k, PACK_STEP), 1}, one,
                     (const int[]){1, wp, -1});
    build_last_launch(b, "gemv", (const int64_t[]){build_int(b, "groups"), 1, 1}, one, (const int[]){0, wp, -1});
}

const struct template dense_gemv = {
    .id = "dense/gemv",
    .version = 1,
    .summary = "CPU, few rows: several streams of weights, asked for in advance",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};
