/* SPDX-License-Identifier: MIT */
#include "core/err.h"
#include "kernels/dense4/dense4.h"

#define AHEAD 1024 /* bytes of a stream */

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    if (dense4_not("dense4/streams", true, "dense4/panels", w, d, why))
        return FIT_NONE;
    return d->kind == DEVICE_CPU ? FIT_GOOD : FIT_POSSIBLE;
}

static const struct build_knob knobs[] = {
    {"vec", {4, 8, 16, BUILD_END}},
    {"mr", {1, 2, 3, 4, 5, 6, 8, BUILD_END}},
    {"rows", {1, 2, 3, 4, 5, 6, 8, 10, BUILD_END}},
    {"turns", {1, 2, 3, 4, 5, 8, 10, 16, 25, 32, 50, 64, 128, 256, BUILD_END}},
    {"ahead", {0, 256, 512, 1024, 2048, 4096, BUILD_END}},
    {0},
};

static const char *const quantities[][2] = {
    {"accumulators", "mr * rows"},
    {"registers", "2 * (mr * rows + mr + 1) * ceil_div(vec, max(lanes, 4))"},
    {"lane_use", "min(vec, lanes) / max(lanes, 4)"},
    {"n_groups", "ceil_div(size_n, rows * turns)"},
    {"m_groups", "ceil_div(size_m, mr)"},
    {"groups", "n_groups * m_groups"},
    {"waste", "n_groups * rows * turns * m_groups * mr / (size_n * size_m)"},
    {"body", "mr * rows * block / (2 * vec)"},
    {NULL, NULL},
};

static const char *const constraints[] = {
    "vec <= max(lanes, 4) and 2 * vec <= block",
    "registers <= 48",
    "body <= 128",
    "mr == 1 or mr < 2 * size_m",
    "rows == 1 or rows <= size_n",
    "turns == 1 or rows * (turns - 1) < size_n",
    NULL,
};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct gemm_shape z = gemm_shape_of(w);
    const struct build_named block = {"block", (double)workload_get(w, "block")};
    const enum err e = build_constants(s, (const struct build_named[]){block, {NULL, 0}}, why);

    return e ? e : gemm_space(w, &z, d, knobs, quantities, constraints, s, why);
}

struct streams {
    struct gemm_shape z;
    int64_t rows, mr;
};

static struct build_items stream_items(const int64_t *v, const void *arg)
{
    const struct streams *a = arg;
    const int64_t columns = a->rows * v[0];

    return (struct build_items){.n = CEIL(a->z.n, columns) * CEIL(a->z.m, a->mr),
                                .cycles = (double)(columns * a->z.k * (a->mr + 1)) / 8 + BUILD_ITEM_CYCLES};
}

/* Streams as those of dense/gemv, and fewer where rows of x share what is unpacked. */
static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const struct gemm_shape z = gemm_shape_of(w);
    const int64_t mr = z.m < 4 ? z.m : 4, rows = z.n < 4 ? 1 : mr > 2 ? 2 : 4, turns = z.n / (rows * 4);

    *out = (struct config){{0}};
    build_choose(s,
                 (const struct build_define[]){{"vec", build_vector(d)},
                                               {"mr", mr},
                                               {"rows", rows},
                                               {"turns", turns < 1     ? 1
                                                         : turns < 128 ? turns
                                                                       : 128},
                                               {"ahead", AHEAD},
                                               {NULL, 0}},
                 out);
    if (build_make_valid(s, (const char *const[]){"turns", "mr", "rows", "vec", NULL}, out))
        return ERR_NOT_FOUND;
    build_spread(s, d, (const char *const[]){"turns", NULL}, stream_items, &(const struct streams){z, rows, mr}, out);
    return ERR_OK;
}

static void program(struct build *b)
{
    const struct gemm_shape z = gemm_shape_of(b->w);
    const int64_t bytes = z.n * dense4_blocks(b->w) * workload_get(b->w, "block") / 2, one[] = {1, 1, 1};
    const int wp = build_buffer(b, "wp", ROLE_PACKED, DTYPE_U8, bytes);

    build_module(b, "dense4/streams.cl");
    dense4_define(b);
    build_launch(b, PHASE_PACK, "dense4_pack_w", (const int64_t[]){z.n, 1, 1}, one, (const int[]){2, wp, -1});
    dense4_launch(b, "dense4_streams", (const int64_t[]){build_int(b, "n_groups"), build_int(b, "m_groups"), 1}, one,
                  wp);
}

const struct template dense4_streams = {
    .id = "dense4/streams",
    .version = 1,
    .summary = "CPU: several streams of packed weights, made floats in registers",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};
