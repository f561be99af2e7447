/* SPDX-License-Identifier: MIT */
#include "core/err.h"
#include "kernels/build.h"
#include "kernels/dense/dense.h"

#define MAX_ROWS 64 /* or columns */

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    const struct dense_shape z = dense_shape_of(w);

    if (dense_within("dense/small_batch", DENSE_F16 | DENSE_EPILOGUE, w, why))
        return FIT_NONE;
    if (z.m > MAX_ROWS && z.n > MAX_ROWS) {
        why_set(why, ERR_UNSUPPORTED, "dense/small_batch computes m or n = 1 to %d, not m=%lld n=%lld", MAX_ROWS,
                (long long)z.m, (long long)z.n);
        return FIT_NONE;
    }
    return dense_is_few(w, d) ? FIT_GOOD : FIT_POSSIBLE;
}

static const struct build_knob knobs[] = {
    {"kt", {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, BUILD_END}},
    {"m_r", {1, 2, 3, 4, 6, 8, BUILD_END}},
    {"n_r", {1, 2, 4, 8, BUILD_END}},
    {"vec", {1, 2, 4, 8, 16, BUILD_END}},
    {0},
};

static const char *const quantities[][2] = {
    {"accumulators", "m_r * n_r * vec"},
    {"local_bytes", "m_r * n_r * kt * sum_bytes"},
    {"m_groups", "ceil_div(size_m, m_r)"},
    {"n_groups", "ceil_div(size_n, n_r)"},
    {"groups", "m_groups * n_groups"},
    {"waste", "m_groups * m_r * n_groups * n_r * ceil_div(size_k, kt * vec) * kt * vec / (size_m * size_n * size_k)"},
    {"loads_per_fma", "(m_r + n_r) / (m_r * n_r)"},
    {NULL, NULL},
};

static const char *const constraints[] = {
    "kt <= max_group and kt <= max_x",
    "local_bytes <= max_local",
    "m_r * n_r * ceil_div(vec, max(lanes, 4)) <= 32",
    "m_r == 1 or m_r < 2 * size_m",
    "n_r == 1 or n_r < 2 * size_n",
    "kt == 1 or kt * vec < 2 * size_k",
    "vec == 1 or vec <= size_k",
    NULL,
};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    return dense_space(w, d, knobs, quantities, constraints, s, why);
}

/* GPUs: four turns of 16 bytes an item, as many as are on their way at a time, in groups of a warp or more; groups of
 * more than 128 where all of them are few. */
static int64_t items_of(const struct dense_shape *z, const struct device_desc *d, int64_t vec, int64_t groups)
{
    const int64_t units = d->units > 0 ? d->units : 16;
    int64_t kt = 32;

    while (kt < 512 && 8 * kt * vec <= z->k && (kt < 128 || groups * kt < 512 * units))
        kt *= 2;
    return kt;
}

static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const struct dense_shape z = dense_shape_of(w);
    const bool cpu = d->kind == DEVICE_CPU;
    const int64_t vec = cpu ? build_vector(d) : 16 / (int64_t)dtype_bytes(w->dtype);
    const int64_t rows = z.m < z.n ? 4 : 2, columns = cpu || rows == 2 ? 4 : 2;
    const int64_t m_r = z.m < rows ? z.m : rows, n_r = z.n < columns ? z.n : columns;

    *out = (struct config){{0}};
    build_choose(s,
                 (const struct build_define[]){{"kt", cpu ? 1 : items_of(&z, d, vec, CEIL(z.m, m_r) * CEIL(z.n, n_r))},
                                               {"m_r", m_r},
                                               {"n_r", n_r},
                                               {"vec", vec},
                                               {NULL, 0}},
                 out);
    if (build_make_valid(s, (const char *const[]){"kt", NULL}, out) == ERR_OK)
        return ERR_OK;
    return build_make_valid(s, (const char *const[]){"kt", "vec", "n_r", "m_r", NULL}, out);
}

/* Work-items that add up an output's sums: up to eight, a power of two. */
static int64_t parts_of(int64_t kt, int64_t outputs)
{
    int64_t parts = 1;

    while (parts < 8 && 2 * parts * outputs <= kt)
        parts *= 2;
    return parts;
}

static void program(struct build *b)
{
    const struct dense_shape z = dense_shape_of(b->w);
    const int64_t kt = build_int(b, "kt");

    build_module(b, "dense/small_batch.cl");
    dense_define_shape(b, &z);
    build_define(b, "PARTS", parts_of(kt, build_int(b, "m_r") * build_int(b, "n_r")));
    b->p->needs_local_bytes = build_int(b, "local_bytes");
    build_last_launch(b, "dense_small_batch", (const int64_t[]){build_int(b, "groups"), 1, 1},
                      (const int64_t[]){kt, 1, 1}, (const int[]){0, 1, -1});
}

const struct template dense_small_batch = {
    .id = "dense/small_batch",
    .stages = true,
    .version = 2,
    .summary = "GPU, few rows or columns: the work-items of a group share a sum over k",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};
