/* SPDX-License-Identifier: MIT */
#include "core/err.h"
#include "kernels/dense4/dense4.h"
#include "kernels/gemm/dot.h"

#define AHEAD 1024 /* bytes */

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    if (dense4_not("dense4/panels", false, "dense4/streams", w, d, why))
        return FIT_NONE;
    return d->kind == DEVICE_CPU ? FIT_GOOD : FIT_POSSIBLE;
}

static const struct build_knob knobs[] = {
    {"vec", {4, 8, 16, BUILD_END}},
    {"mr", {1, 2, 3, 4, 5, 6, 8, BUILD_END}},
    {"nv", {1, 2, 3, 4, BUILD_END}},
    {"turns", {1, 2, 3, 4, 5, 8, 10, 16, 25, 32, 50, 64, 128, BUILD_END}},
    {"ahead", {0, 256, 512, 1024, 2048, 4096, BUILD_END}},
    {0},
};

static const char *const quantities[][2] = {
    {"accumulators", "mr * nv"},
    {"registers", "(2 * mr * nv + 2 * nv) * ceil_div(vec, max(lanes, 4))"},
    {"lane_use", "min(vec, lanes) / max(lanes, 4)"},
    {"n_panels", "ceil_div(size_n, nv * vec)"},
    {"n_groups", "ceil_div(n_panels, turns)"},
    {"m_groups", "ceil_div(size_m, mr)"},
    {"groups", "n_groups * m_groups"},
    {"waste", "n_groups * turns * nv * vec * m_groups * mr / (size_n * size_m)"},
    {"body", "mr * nv * min(block / 8, 4)"},
    {NULL, NULL},
};

static const char *const constraints[] = {
    "vec <= max(lanes, 4)",
    "dot != 'vnni' or vec == 16",
    "dot != 'sdot' or vec == 4",
    "registers <= 40",
    "body <= 64",
    "mr == 1 or mr < 2 * size_m",
    "nv == 1 or (nv - 1) * vec < size_n",
    "turns == 1 or turns <= n_panels",
    NULL,
};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct gemm_shape z = gemm_shape_of(w);
    const struct build_named block = {"block", (double)workload_get(w, "block")};
    enum err e = dot_add_knob(s, d, DOT_VECTORS, DTYPE_I8, false, why);

    if (!e)
        e = build_constants(s, (const struct build_named[]){block, {NULL, 0}}, why);
    return e ? e : gemm_space(w, &z, d, knobs, quantities, constraints, s, why);
}

struct panels {
    struct gemm_shape z;
    int64_t rows, mr;
};

static struct build_items panel_items(const int64_t *v, const void *arg)
{
    const struct panels *a = arg;
    const int64_t columns = a->rows * v[0];

    return (struct build_items){.n = CEIL(a->z.n, columns) * CEIL(a->z.m, a->mr),
                                .cycles = (double)(columns * a->z.k * (a->mr + 2)) / 40 + BUILD_ITEM_CYCLES};
}

static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const struct gemm_shape z = gemm_shape_of(w);
    const int64_t vec = build_vector(d) < 4 ? 4 : build_vector(d), mr = z.m < 4 ? z.m : 4, turns = z.n / vec / 4;

    *out = (struct config){{0}};
    build_choose(s,
                 (const struct build_define[]){{"vec", vec},
                                               {"mr", mr},
                                               {"nv", 1},
                                               {"turns", turns < 1    ? 1
                                                         : turns < 32 ? turns
                                                                      : 32},
                                               {"ahead", AHEAD},
                                               {NULL, 0}},
                 out);
    if (build_make_valid(s, (const char *const[]){"turns", "mr", "vec", NULL}, out))
        return ERR_NOT_FOUND;
    build_spread(s, d, (const char *const[]){"turns", NULL}, panel_items, &(const struct panels){z, vec, mr}, out);
    return ERR_OK;
}

/* What is packed at load: weights, scales, zero points. */
static void pack(struct build *b, int out[3])
{
    const int64_t panels = build_int(b, "n_panels"), blocks = dense4_blocks(b->w), one[] = {1, 1, 1};
    const int64_t n_scales = panels * blocks * build_int(b, "nv") * build_int(b, "vec");
    const bool zeros = workload_get(b->w, "zeros") != 0;
    int from[8] = {1, 2, 3};
    size_t n = zeros ? 3 : 2;

    out[0] = build_buffer(b, "wp", ROLE_PACKED, DTYPE_I32, n_scales * workload_get(b->w, "block") / 8);
    out[1] = build_buffer(b, "sp", ROLE_PACKED, DTYPE_F32, n_scales);
    out[2] = build_buffer(b, "zp", ROLE_PACKED, DTYPE_U8, n_scales);
    for (int i = 0; i < 3; i++)
        from[n++] = out[i];
    from[n] = -1;
    build_launch(b, PHASE_PACK, "dense4_pack_panels", (const int64_t[]){panels, blocks, 1}, one, from);
}

static void program(struct build *b)
{
    const int64_t m = workload_get(b->w, "m"), n_blocks = m * dense4_blocks(b->w), one[] = {1, 1, 1};
    int packed[3], xq, steps, sums;

    build_module(b, "dense4/panels.cl");
    dense4_define(b);
    dot_define(b);
    pack(b, packed);
    xq = build_buffer(b, "xq", ROLE_SCRATCH, DTYPE_I8, n_blocks * workload_get(b->w, "block"));
    steps = build_buffer(b, "steps", ROLE_SCRATCH, DTYPE_F32, n_blocks);
    sums = build_buffer(b, "sums", ROLE_SCRATCH, DTYPE_I32, n_blocks);
    build_launch(b, PHASE_RUN, "dense4_round_x", (const int64_t[]){m, 1, 1}, one,
                 (const int[]){0, xq, steps, sums, -1});
    build_last_launch(b, "dense4_panels", (const int64_t[]){build_int(b, "n_groups"), build_int(b, "m_groups"), 1}, one,
                      workload_get(b->w, "zeros") ? (const int[]){xq, steps, sums, packed[0], packed[1], packed[2], -1}
                                                  : (const int[]){xq, steps, sums, packed[0], packed[1], -1});
}

const struct template dense4_panels = {
    .id = "dense4/panels",
    .version = 1,
    .summary = "CPU, bytes=1: whole sums of rounded x by packed weights, VNNI where it is found",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};
