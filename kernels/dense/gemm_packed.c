#include "kernels/build.h"
#include "kernels/dense/dense.h"

#define PACK_STEP 64

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    if (dense_within("dense/gemm_packed", 0, w, why))
        return FIT_NONE;
    return d->kind == DEVICE_CPU ? FIT_GOOD : FIT_POSSIBLE;
}

static const struct build_knob knobs[] = {
    {"vec", {4, 8, 16, BUILD_END}},
    {"mr", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 20, 24, 28, BUILD_END}},
    {"nv", {1, 2, 3, 4, 6, 8, BUILD_END}},
    {"kc", {64, 128, 192, 256, 384, 512, 1024, 16777216, BUILD_END}},
    {"ku", {1, 2, 4, 8, 16, BUILD_END}},
    {"tiles", {1, 2, 4, 8, 16, 32, BUILD_END}},
    {"wg", {1, 2, 4, 8, 16, BUILD_END}},
    {"order", {0, 1, BUILD_END}},
    {"px", {0, 1, BUILD_END}},
    {0},
};

static const char *const quantities[][2] = {
    {"accumulators", "mr * nv * ceil_div(vec, max(lanes, 4))"},
    {"registers", "accumulators + nv * ceil_div(vec, max(lanes, 4)) + 1"},
    {"waste_m", "ceil_div(size_m, mr) * mr / size_m"},
    {"waste_n", "ceil_div(size_n, nv * vec) * nv * vec / size_n"},
    {"waste", "waste_m * waste_n"},
    {"lane_use", "min(vec, lanes) / max(lanes, 4)"},
    {"loads_per_fma", "(nv + mr) / (mr * nv)"},
    {"block", "min(kc, size_k)"},
    {"panel_bytes", "nv * vec * block * 4"},
    {"rows_bytes", "mr * tiles * block * 4"},
    {"passes", "ceil_div(size_k, kc)"},
    {"items", "ceil_div(size_m, mr * tiles) * ceil_div(size_n, nv * vec)"},
    {"groups", "ceil_div(items, wg)"},
    {"body", "accumulators * ku"},
    {NULL, NULL},
};

/* kc beyond k is one config, not several: only the last value says "all of k". */
static const char *const constraints[] = {
    "registers <= 33",
    "accumulators >= min(4, size_m)",
    "vec <= max(lanes, 4)",
    "body <= 512",
    "ku <= size_k",
    "mr < size_m + 2 or mr == 1",
    "tiles == 1 or mr * tiles < 2 * size_m + mr",
    "kc < size_k or kc == 16777216",
    "kc == 16777216 or kc % ku == 0",
    "wg <= max_group and wg <= items",
    "nv == 1 or (nv - 1) * vec < size_n",
    "px == 0 or size_m > 1",
    NULL,
};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    return dense_space(w, d, knobs, quantities, constraints, s, why);
}

/* The number of rows up to `most` that wastes least of m, the larger of two equals. */
static int64_t best_rows(int64_t m, int64_t most)
{
    int64_t best = 1;
    double best_cost = 1e30;

    for (int64_t v = 1; v <= most; v++) {
        const double cost = (double)(CEIL(m, v) * v) * (1.0 + 2.0 / (double)v);

        if (cost <= best_cost) {
            best_cost = cost;
            best = v;
        }
    }
    return best;
}

static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const struct dense_shape z = dense_shape_of(w);
    const int64_t lanes = build_vector(d) < 4 ? 4 : build_vector(d), rows = best_rows(z.m, 14);

    *out = (struct config){{0}};
    build_choose(s,
                 (const struct build_define[]){{"vec", lanes},
                                               {"mr", rows},
                                               {"nv", rows <= 2 ? 4 : 2},
                                               {"kc", z.k > 1024 && z.m > 14 ? 512 : 16777216},
                                               {"ku", z.k < 4 ? 1 : 4},
                                               {"tiles", 1},
                                               {"wg", 1},
                                               {"order", 0},
                                               {"px", z.m > 1},
                                               {NULL, 0}},
                 out);
    if (space_is_valid(s, out, NULL))
        return ERR_OK;
    return build_make_valid(s, (const char *const[]){"nv", "ku", "mr", NULL}, out);
}

static void program(struct build *b)
{
    const struct dense_shape z = dense_shape_of(b->w);
    const int64_t nr = build_int(b, "nv") * build_int(b, "vec"), mr = build_int(b, "mr"), wg = build_int(b, "wg");
    const int64_t blocks = CEIL(z.n, nr), tiles = CEIL(z.m, mr), steps = CEIL(z.k, PACK_STEP), one[] = {1, 1, 1};
    const int64_t items = CEIL(z.m, mr * build_int(b, "tiles")) * blocks;
    const bool pack_x = build_int(b, "px") != 0;
    const int wp = build_buffer(b, "wp", ROLE_PACKED, DTYPE_F32, blocks * nr * z.k);
    const int xp = pack_x ? build_buffer(b, "xp", ROLE_SCRATCH, DTYPE_F32, tiles * mr * z.k) : 0;

    build_module(b, "dense/gemm_packed.cl");
    dense_define_shape(b, &z);
    build_launch(b, PHASE_PACK, "gemm_packed_pack_w", (const int64_t[]){blocks, steps, 1}, one,
                 (const int[]){1, wp, -1});
    if (pack_x)
        build_launch(b, PHASE_RUN, "gemm_packed_pack_x", (const int64_t[]){tiles, steps, 1}, one,
                     (const int[]){0, xp, -1});
    build_last_launch(b, "gemm_packed", (const int64_t[]){CEIL(items, wg), 1, 1}, (const int64_t[]){wg, 1, 1},
                      (const int[]){xp, wp, -1});
}

const struct template dense_gemm_packed = {
    .id = "dense/gemm_packed",
    .version = 2,
    .summary = "CPU: vector registers hold rows x columns over packed weights, k in blocks",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};
