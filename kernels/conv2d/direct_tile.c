#include "kernels/build.h"
#include "kernels/conv2d/conv2d.h"

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    if (conv_within("conv2d/direct_tile", 0, w, why))
        return FIT_NONE;
    return d->kind == DEVICE_CPU ? FIT_GOOD : FIT_POSSIBLE;
}

static const struct build_knob knobs[] = {
    {"vec", {4, 8, 16, BUILD_END}},
    {"nv", {1, 2, 3, 4, BUILD_END}},
    {"vh", {1, 2, 3, 4, 7, BUILD_END}},
    {"vw", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 16, 28, BUILD_END}},
    {"cb", {1, 2, 3, 4, 8, 16, 32, 64, BUILD_END}},
    {"ku", {1, 2, 4, 8, BUILD_END}},
    {"us", {0, 1, BUILD_END}},
    {"tiles", {1, 2, 4, 8, BUILD_END}},
    {"pass", {0, 1, BUILD_END}},
    {"wg", {1, 2, 4, 8, 16, BUILD_END}},
    {"order", {0, 1, 2, BUILD_END}},
    {0},
};

static const char *const quantities[][2] = {
    {"accumulators", "vh * vw * nv * ceil_div(vec, max(lanes, 4))"},
    {"registers", "accumulators + nv * ceil_div(vec, max(lanes, 4)) + 1"},
    {"waste_k", "ceil_div(size_k, nv * vec) * nv * vec / size_k"},
    {"waste_p", "ceil_div(size_p, vh) * vh / size_p"},
    {"waste_q", "ceil_div(size_q, vw * tiles) * vw * tiles / size_q"},
    {"waste_c", "ceil_div(size_c, cb) * cb / size_c"},
    {"waste", "waste_k * waste_p * waste_q * waste_c"},
    {"lane_use", "min(vec, lanes) / max(lanes, 4)"},
    {"loads_per_fma", "(nv + vh * vw) / (vh * vw * nv)"},
    {"weight_bytes", "nv * vec * size_c * size_r * size_s * 4"},
    {"block_bytes", "nv * vec * cb * size_r * size_s * 4"},
    {"sum_bytes", "pass * tiles * vh * vw * nv * vec * 4"},
    {"input_bytes", "(vh * stride_h + size_r) * (vw * tiles * stride_w + size_s) * size_c * 4"},
    {"items", "size_n * ceil_div(size_k, nv * vec) * ceil_div(size_p, vh) * ceil_div(size_q, vw * tiles)"},
    {"groups", "ceil_div(items, wg)"},
    {"body", "accumulators * ku * (1 + us * (size_s - 1))"},
    {NULL, NULL},
};

/* A register file holds 32 vectors; a few more spill but can still be fair. Long unrolled bodies compile for seconds.
 */
static const char *const constraints[] = {
    "registers <= 33",
    "accumulators >= min(2, size_p * size_q)",
    "vec <= max(lanes, 4)",
    "ku <= cb",
    "body <= 512",
    "cb <= max(4, size_c)",
    "vh <= size_p",
    "vw < 2 * size_q",
    "tiles == 1 or vw * tiles < size_q + vw",
    "pass == 0 or (tiles > 1 and cb < size_c)",
    "sum_bytes <= 32768",
    "wg <= max_group and wg <= items",
    "(nv - 1) * vec < size_k",
    NULL,
};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    return conv_space(w, d, knobs, quantities, constraints, s, why);
}

/* The width of a row of pixels up to 14 that wastes least, the wider one of two equals. */
static int64_t best_width(int64_t q)
{
    int64_t best = 1;
    double best_cost = 1e9;

    for (int64_t v = 1; v <= 14; v++) {
        const double cost = (double)(CEIL(q, v) * v) * (1.0 + 2.0 / (double)v);

        if (v != 11 && cost <= best_cost) {
            best_cost = cost;
            best = v;
        }
    }
    return best;
}

static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const struct conv_shape z = conv_shape_of(w);
    const int64_t lanes = build_vector(d) < 4 ? 4 : build_vector(d), width = best_width(z.q);
    const int64_t nv = z.k > lanes ? 2 : 1, vh = width <= 7 && z.p > 1 ? (width <= 4 ? 3 : 2) : 1;
    const int64_t cb = z.c < 16 ? (z.c < 4 ? z.c : 4) : 16, across = CEIL(z.q, width);
    const int64_t tiles = across >= 8 ? 8 : across >= 4 ? 4 : across >= 2 ? 2 : 1;

    *out = (struct config){{0}};
    build_choose(s,
                 (const struct build_define[]){{"vec", lanes},
                                               {"nv", nv},
                                               {"vh", vh < z.p ? vh : z.p},
                                               {"vw", width},
                                               {"cb", cb},
                                               {"ku", 1},
                                               {"tiles", tiles},
                                               {"pass", tiles > 1 && cb < z.c},
                                               {"wg", 1},
                                               {"order", 0},
                                               {NULL, 0}},
                 out);
    if (space_is_valid(s, out, NULL))
        return ERR_OK;
    return build_make_valid(s, (const char *const[]){"tiles", "vw", "vh", "pass", "nv", NULL}, out);
}

/* Extent of the packed input along one axis: what `n` outputs read. */
static int64_t reach(int64_t n, int64_t stride, int64_t window, int64_t dilation)
{
    return (n - 1) * stride + (window - 1) * dilation + 1;
}

static void program(struct build *b)
{
    const struct conv_shape z = conv_shape_of(b->w);
    const int64_t nr = build_int(b, "nv") * build_int(b, "vec"), cb = build_int(b, "cb"), vh = build_int(b, "vh");
    const int64_t wide = build_int(b, "vw") * build_int(b, "tiles"), wg = build_int(b, "wg");
    const int64_t c_blocks = CEIL(z.c, cb), k_blocks = CEIL(z.k, nr);
    const int64_t hp = reach(CEIL(z.p, vh) * vh, z.stride_h, z.r, z.dil_h);
    const int64_t wp = reach(CEIL(z.q, wide) * wide, z.stride_w, z.s, z.dil_w), one[] = {1, 1, 1};
    const int64_t items = z.n * k_blocks * CEIL(z.p, vh) * CEIL(z.q, wide);
    const int xp = build_buffer(b, "xp", ROLE_SCRATCH, DTYPE_F32, z.n * c_blocks * cb * hp * wp);
    const int packed = build_buffer(b, "wp", ROLE_PACKED, DTYPE_F32, k_blocks * nr * c_blocks * cb * z.r * z.s);

    build_module(b, "conv2d/direct_tile.cl");
    conv_define_shape(b, &z);
    build_launch(b, PHASE_PACK, "direct_tile_pack_w", (const int64_t[]){k_blocks, c_blocks, 1}, one,
                 (const int[]){1, packed, -1});
    build_launch(b, PHASE_RUN, "direct_tile_pack_x", (const int64_t[]){hp, c_blocks, z.n}, one,
                 (const int[]){0, xp, -1});
    build_last_launch(b, "direct_tile", (const int64_t[]){CEIL(items, wg), 1, 1}, (const int64_t[]){wg, 1, 1},
                      (const int[]){xp, packed, -1});
}

const struct template conv2d_direct_tile = {
    .id = "conv2d/direct_tile",
    .version = 2,
    .summary = "CPU: vector registers hold a tile of pixels x channels over packed weights and padded input",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};
