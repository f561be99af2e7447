/* SPDX-License-Identifier: MIT */
#include "kernels/batch_gemm/batch_gemm.h"

#include "core/err.h"

#include <assert.h>

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    if (w->dtype == DTYPE_BF16) {
        why_set(why, ERR_UNSUPPORTED, "batch_gemm/tiled does not compute dtype bf16");
        return FIT_NONE;
    }
    return d->kind == DEVICE_CPU && w->dtype != DTYPE_I8 ? FIT_POSSIBLE : FIT_GOOD;
}

static const struct build_knob knobs[] = {
    {"v_k", {1, 2, 4, 8, 16, BUILD_END}},        {"pad", {0, 1, 4, BUILD_END}},          {"stages", {1, 2, BUILD_END}},
    {"unroll_step", {8, 16, 32, 64, BUILD_END}}, {"unroll_explicit", {0, 1, BUILD_END}}, {0},
};

static const char *const quantities[][2] = {
    {"work_items", "m_t * n_t"},
    {"accumulators", "m_r * n_r"},
    {"a_elems", "ceil_div(k_i * (m_t * m_r + pad), 8) * 8"},
    {"b_elems", "ceil_div(k_i * (n_t * n_r + pad), 8) * 8"},
    {"stage_bytes", "(a_elems + b_elems) * sum_bytes"},
    {"stages_local", "1 + (stages == 2 and 4 * stage_bytes <= max_local)"},
    {"local_bytes", "stages_local * stage_bytes"},
    {"a_held", "ceil_div(k_i // v_k * m_t * m_r, work_items) * v_k"},
    {"b_held", "ceil_div(k_i // v_k * n_t * n_r, work_items) * v_k"},
    {"fetch_bytes", "v_k * elem_bytes"},
    {"m_groups", "ceil_div(size_m, m_t * m_r)"},
    {"n_groups", "ceil_div(size_n, n_t * n_r)"},
    {"groups", "size_b * m_groups * n_groups"},
    {"waste", "m_groups * m_t * m_r * n_groups * n_t * n_r / (size_m * size_n)"},
    {"waste_k", "ceil_div(size_k, k_i) * k_i / size_k"},
    {"loads_per_fma", "(m_r + n_r) / (m_r * n_r)"},
    {"body", "accumulators * k_i"},
    {NULL, NULL},
};

/* Steps of unrolling that come to the same are one config. */
static const char *const constraints[] = {
    "work_items <= max_group",
    "n_t <= max_x and m_t <= max_y",
    "local_bytes <= max_local",
    "size_k % v_k == 0 and k_i % v_k == 0 and fetch_bytes <= 16",
    "accumulators <= 64",
    "stages == 1 or (k_i < size_k and a_held + b_held <= 64)",
    "m_r == 1 or m_t * m_r < 2 * size_m",
    "n_r == 1 or n_t * n_r < 2 * size_n",
    "unroll_explicit == 0 or (body <= 512 and unroll_step == 8)",
    "unroll_step == 8 or (accumulators * 2 <= unroll_step and body > unroll_step // 2)",
    NULL,
};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct gemm_shape z = gemm_shape_of(w);
    const bool cpu = d->kind == DEVICE_CPU;
    const int64_t items = cpu ? 64 : 256, own = cpu ? 16 : 32;
    const struct build_split splits[] = {{"m_t", z.m, items},          {"m_r", z.m, own},
                                         {"n_t", z.n, items},          {"n_r", z.n, own},
                                         {"k_i", z.k, cpu ? 64 : 128}, {NULL, 0, 0}};
    const enum err e = build_split_knobs(s, splits, why);

    return e ? e : gemm_space(w, &z, d, knobs, quantities, constraints, s, why);
}

/* Work-items with 4 outputs each along an axis of a large product: 16, but 8 where tiles of 64 have over a tenth more
 * beyond the edge. */
static int64_t side_of(int64_t size)
{
    return CEIL(size, 64) * 64 * 10 <= CEIL(size, 32) * 32 * 11 ? 16 : 8;
}

static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const struct gemm_shape z = gemm_shape_of(w);
    const bool gpu = d->kind == DEVICE_GPU;
    const int64_t big = z.b * CEIL(z.m, 64) * CEIL(z.n, 64), wide = 16 / (int64_t)dtype_bytes(w->dtype);
    const int64_t deep = gpu && z.k % 32 == 0 ? 32 : 16;
    const bool large = gpu && big >= 2 * (d->units > 0 ? d->units : 16);
    const int64_t side = d->kind == DEVICE_CPU ? 4 : 8;

    *out = (struct config){{0}};
    build_choose(s,
                 (const struct build_define[]){{"m_t", large ? side_of(z.m) : side},
                                               {"m_r", 4},
                                               {"n_t", large ? side_of(z.n) : side},
                                               {"n_r", 4},
                                               {"k_i", deep},
                                               {"v_k", gpu && z.k % wide == 0 ? wide : 1},
                                               {"pad", gpu ? 4 : 0},
                                               {"stages", gpu && z.k > deep ? 2 : 1},
                                               {"unroll_step", gpu ? 64 : 32},
                                               {"unroll_explicit", 0},
                                               {NULL, 0}},
                 out);
    return build_make_valid(
        s, (const char *const[]){"unroll_step", "stages", "v_k", "m_r", "n_r", "k_i", "m_t", "n_t", NULL}, out);
}

/* Work-items that fetch along k, of a tile of so many rows. GPUs: as few as bring all rows at once, for what they put
 * is turned and neighbours along k meet in banks of local memory; but 8 elements, a sector of memory where they are
 * floats. */
static int64_t along(const struct build *b, int64_t rows)
{
    const int64_t v_k = build_int(b, "v_k"), vectors = build_int(b, "k_i") / v_k, items = build_int(b, "work_items");
    int64_t a = b->d->kind == DEVICE_CPU ? vectors : 1;

    while (a < vectors && (vectors % a || items % a || a * rows < items || a * v_k < 8))
        a++;
    return a;
}

static void program(struct build *b)
{
    const struct gemm_shape z = gemm_shape_of(b->w);
    const int64_t tile = build_int(b, "accumulators"), step = build_int(b, "unroll_step");
    const int64_t n_r = build_int(b, "n_r");
    int64_t body = 1;

    while (2 * body * tile <= step && 2 * body <= build_int(b, "k_i"))
        body *= 2;
    assert(build_int(b, "n_t") * build_int(b, "m_t") == build_int(b, "work_items") && n_r > 0);
    build_module(b, "batch_gemm/tiled.cl");
    gemm_define_shape(b, &z);
    build_define(b, "STAGES_LOCAL", build_int(b, "stages_local"));
    build_define(b, "UNROLL_BODY", body);
    build_define(b, "A_ALONG", along(b, build_int(b, "m_t") * build_int(b, "m_r")));
    build_define(b, "B_ALONG", along(b, build_int(b, "n_t") * n_r));
    build_define(b, "VEC", n_r % 4 == 0 ? 4 : n_r % 2 == 0 ? 2 : 1);
    b->p->needs_local_bytes = build_int(b, "local_bytes");
    build_last_launch(b, "gemm_rows", (const int64_t[]){build_int(b, "groups"), 1, 1},
                      (const int64_t[]){build_int(b, "n_t"), build_int(b, "m_t"), 1}, (const int[]){0, 1, -1});
}

const struct template batch_gemm_tiled = {
    .id = "batch_gemm/tiled",
    .stages = true,
    .version = 3,
    .summary = "GPU: rows of both factors staged in local memory, a tile of outputs a work-item",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};
