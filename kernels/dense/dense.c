/* SPDX-License-Identifier: MIT */
#include "kernels/dense/dense.h"
#include "core/err.h"
#include "kernels/build.h"

#include <assert.h>

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    if (dense_within("dense/dense", DENSE_F16 | DENSE_EPILOGUE, w, why))
        return FIT_NONE;
    return d->kind == DEVICE_MALI || d->kind == DEVICE_OTHER ? FIT_GOOD : FIT_POSSIBLE;
}

static const struct build_knob knobs[] = {
    {"n_r", {1, 2, 4, 8, 16, BUILD_END}},
    {0},
};

static const struct build_knob sums[] = {{"k_unroll", {1, 2, 4, 8, 16, 32, 64, BUILD_END}}, {0}};

static const char *const quantities[][2] = {
    {"work_items", "m_t * n_t"},
    {"accumulators", "m_r * n_r"},
    {"m_groups", "ceil_div(size_m, m_t * m_r)"},
    {"n_groups", "ceil_div(size_n, n_t * n_r)"},
    {"groups", "m_groups * n_groups"},
    {"waste", "m_groups * m_t * m_r * n_groups * n_t * n_r / (size_m * size_n)"},
    {"lane_use", "min(n_r, lanes) / lanes"},
    {"loads_per_fma", "(m_r + 1) / m_r"},
    {"body", "m_r * k_unroll * ceil_div(n_r, max(lanes, 4))"},
    {NULL, NULL},
};

static const char *const constraints[] = {
    "work_items <= max_group",
    "n_t <= max_x and m_t <= max_y",
    "accumulators <= 256",
    "body <= 512",
    "k_unroll <= size_k",
    "n_r == 1 or n_r < 2 * size_n",
    "m_r == 1 or m_t * m_r < 2 * size_m",
    "n_t == 1 or n_t * n_r < 2 * size_n",
    NULL,
};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct dense_shape z = dense_shape_of(w);
    enum err e = build_split_knob(s, "m_t", z.m, 64, why);

    if (!e)
        e = build_split_knob(s, "m_r", z.m, 16, why);
    if (!e)
        e = build_split_knob(s, "n_t", z.n, 256, why);
    if (!e)
        e = build_knobs_or_divisors(s, d, sums, (const struct build_axis[]){{"k_unroll", {z.k}, 64}}, why);
    return e ? e : dense_space(w, d, knobs, quantities, constraints, s, why);
}

/* Vectors of columns side by side, and rows where these are no warp; an item has up to four rows. */
static void choose_other(const struct dense_shape *z, int64_t lanes, const struct space *s, struct config *out)
{
    const int64_t n_r = z->n < lanes ? 1 : lanes;
    int64_t n_t = 32, m_t, m_r;

    while (n_t > 1 && n_t * n_r >= 2 * z->n)
        n_t /= 2;
    m_r = z->m * n_t / 32 < 1 ? 1 : z->m * n_t / 32 < 4 ? z->m * n_t / 32 : 4;
    for (m_t = 32 / n_t; m_t > 1 && m_t * m_r >= 2 * z->m;)
        m_t /= 2;
    build_choose(s,
                 (const struct build_define[]){
                     {"m_t", m_t}, {"m_r", m_r}, {"n_t", n_t}, {"n_r", n_r}, {"k_unroll", z->k < 4 ? 1 : 4}, {NULL, 0}},
                 out);
}

static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const struct dense_shape z = dense_shape_of(w);
    const int64_t lanes = build_vector(d) < 4 ? 4 : build_vector(d);

    *out = (struct config){{0}};
    if (d->kind == DEVICE_CPU)
        build_choose(s,
                     (const struct build_define[]){
                         {"m_t", 1}, {"m_r", 8}, {"n_t", 1}, {"n_r", lanes}, {"k_unroll", 4}, {NULL, 0}},
                     out);
    else
        choose_other(&z, lanes, s, out);
    return build_make_valid(s, (const char *const[]){"k_unroll", "n_t", "m_r", "n_r", NULL}, out);
}

static void program(struct build *b)
{
    const struct dense_shape z = dense_shape_of(b->w);
    const int64_t n_r = build_int(b, "n_r"), packed = CEIL(z.n, n_r) * n_r * z.k;
    const int wp = build_buffer(b, "wp", ROLE_PACKED, b->w->dtype, packed);

    assert(packed % (n_r * z.k) == 0 && packed >= z.n * z.k);
    build_module(b, "dense/dense.cl");
    dense_define_shape(b, &z);
    build_define(b, "VEC", n_r);
    build_launch(b, PHASE_PACK, "dense_pack_w", (const int64_t[]){CEIL(packed, 64), 1, 1}, (const int64_t[]){64, 1, 1},
                 (const int[]){1, wp, -1});
    build_last_launch(b, "dense", (const int64_t[]){build_int(b, "groups"), 1, 1},
                      (const int64_t[]){build_int(b, "n_t"), build_int(b, "m_t"), 1}, (const int[]){0, wp, -1});
}

const struct template dense_dense = {
    .id = "dense/dense",
    .version = 1,
    .summary = "Mali: a vector of columns x some rows a work-item, no local memory",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};
