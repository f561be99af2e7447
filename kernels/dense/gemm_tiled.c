/* Knobs are those of CLBlast's Xgemm, and a split of k for few outputs. */
#include "kernels/build.h"
#include "kernels/dense/dense.h"

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    if (dense_within("dense/gemm_tiled", DENSE_F16 | DENSE_EPILOGUE, w, why))
        return FIT_NONE;
    return d->kind == DEVICE_CPU || workload_get(w, "m") < 16 ? FIT_POSSIBLE : FIT_GOOD;
}

static const struct build_knob knobs[] = {
    {"mwg", {16, 32, 64, 128, BUILD_END}},
    {"nwg", {16, 32, 64, 128, BUILD_END}},
    {"kwg", {16, 32, BUILD_END}},
    {"mdimc", {8, 16, 32, BUILD_END}},
    {"ndimc", {8, 16, 32, BUILD_END}},
    {"mdima", {8, 16, 32, BUILD_END}},
    {"ndimb", {8, 16, 32, BUILD_END}},
    {"kwi", {2, BUILD_END}},
    {"vwm", {1, 2, 4, 8, BUILD_END}},
    {"vwn", {1, 2, 4, 8, BUILD_END}},
    {"strm", {0, 1, BUILD_END}},
    {"strn", {0, 1, BUILD_END}},
    {"sa", {0, 1, BUILD_END}},
    {"sb", {0, 1, BUILD_END}},
    {"split", {1, 2, 4, 8, 16, BUILD_END}},
    {0},
};

static const char *const quantities[][2] = {
    {"work_items", "mdimc * ndimc"},
    {"rows", "mwg / mdimc"},
    {"columns", "nwg / ndimc"},
    {"accumulators", "rows * columns"},
    {"local_bytes", "(sa * kwg * mwg + sb * kwg * nwg) * sum_bytes"},
    {"m_groups", "ceil_div(size_m, mwg)"},
    {"n_groups", "ceil_div(size_n, nwg)"},
    {"padded_k", "ceil_div(size_k, kwg * split) * kwg * split"},
    {"waste", "m_groups * mwg * n_groups * nwg * padded_k / (size_m * size_n * size_k)"},
    {"loads_per_fma", "(rows + columns) / accumulators"},
    {"groups", "m_groups * n_groups * split"},
    {NULL, NULL},
};

/* Load shapes of tiles that are not staged, and strides of one vector, are fixed. */
static const char *const constraints[] = {
    "work_items <= max_group",
    "ndimc <= max_x and mdimc <= max_y",
    "local_bytes <= max_local",
    "mwg % (mdimc * vwm) == 0 and nwg % (ndimc * vwn) == 0",
    "mwg % (mdima * vwm) == 0 and work_items % mdima == 0 and kwg * mdima % work_items == 0",
    "nwg % (ndimb * vwn) == 0 and work_items % ndimb == 0 and kwg * ndimb % work_items == 0",
    "sa == 1 or mdima == mdimc",
    "sb == 1 or ndimb == ndimc",
    "strm == 0 or mwg > mdimc * vwm",
    "strn == 0 or nwg > ndimc * vwn",
    "accumulators <= 128",
    "mwg == 16 or mwg < 2 * size_m",
    "nwg == 16 or nwg < 2 * size_n",
    "split == 1 or kwg * split <= size_k",
    NULL,
};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    return dense_space(w, d, knobs, quantities, constraints, s, why);
}

/* Split k where there are fewer tiles than four a unit. */
static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const struct dense_shape z = dense_shape_of(w);
    const int64_t m = z.m < 64 ? 16 : 64, n = z.n < 64 ? 16 : 64, tiles = CEIL(z.m, m) * CEIL(z.n, n);
    const int64_t wanted = 4 * (d->units > 0 ? d->units : 8) / tiles, deepest = z.k / 128;
    const int64_t split = wanted < deepest ? wanted : deepest;

    *out = (struct config){{0}};
    build_choose(s,
                 (const struct build_define[]){{"mwg", m},
                                               {"nwg", n},
                                               {"kwg", 16},
                                               {"mdimc", m == 64 ? 16 : 8},
                                               {"ndimc", n == 64 ? 16 : 8},
                                               {"mdima", m == 64 ? 16 : 8},
                                               {"ndimb", n == 64 ? 16 : 8},
                                               {"kwi", 2},
                                               {"vwm", 1},
                                               {"vwn", n == 64 ? 4 : 2},
                                               {"strm", 0},
                                               {"strn", 0},
                                               {"sa", 1},
                                               {"sb", 1},
                                               {"split", split < 1 ? 1 : split},
                                               {NULL, 0}},
                 out);
    return build_make_valid(
        s, (const char *const[]){"mdimc", "ndimc", "mdima", "ndimb", "mwg", "nwg", "vwn", "split", "sa", "sb", NULL},
        out);
}

static void program(struct build *b)
{
    const struct dense_shape z = dense_shape_of(b->w);
    const int64_t kp = build_int(b, "padded_k"), split = build_int(b, "split");
    const int64_t w_elems = kp * build_int(b, "n_groups") * build_int(b, "nwg");
    const int64_t x_elems = kp * build_int(b, "m_groups") * build_int(b, "mwg"), block[] = {64, 1, 1};
    const int64_t tile[] = {build_int(b, "ndimc"), build_int(b, "mdimc"), 1}, grid[] = {build_int(b, "groups"), 1, 1};
    const int wt = build_buffer(b, "wt", ROLE_PACKED, b->w->dtype, w_elems);
    const int xt = build_buffer(b, "xt", ROLE_SCRATCH, b->w->dtype, x_elems);

    build_module(b, "dense/gemm_tiled.cl");
    dense_define_shape(b, &z);
    build_define(b, "VEC", build_int(b, "vwn"));
    b->p->needs_local_bytes = build_int(b, "local_bytes");
    build_launch(b, PHASE_PACK, "gemm_tiled_pack_w", (const int64_t[]){CEIL(w_elems, 64), 1, 1}, block,
                 (const int[]){1, wt, -1});
    build_launch(b, PHASE_RUN, "gemm_tiled_pack_x", (const int64_t[]){CEIL(x_elems, 64), 1, 1}, block,
                 (const int[]){0, xt, -1});
    if (split == 1) {
        build_last_launch(b, "gemm_tiled", grid, tile, (const int[]){xt, wt, -1});
    } else {
        const enum dtype sum = sums_in_half(b->w, b->d) ? DTYPE_F16 : DTYPE_F32;
        const int part = build_buffer(b, "part", ROLE_SCRATCH, sum, split * z.m * z.n);

        build_launch(b, PHASE_RUN, "gemm_tiled", grid, tile, (const int[]){xt, wt, part, -1});
        build_last_launch(b, "gemm_tiled_add", (const int64_t[]){CEIL(z.m * z.n, 64), 1, 1}, block,
                          (const int[]){part, -1});
    }
}

const struct template dense_gemm_tiled = {
    .id = "dense/gemm_tiled",
    .version = 1,
    .summary = "GPU: both factors k-major and padded, tiles through local memory, k split where outputs are few",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};
