/* Knobs are those of CLBlast's Xgemm (explicit form) and Xconvgemm (fused form), with work-groups down to one item for
 * CPUs. */
#include "kernels/build.h"
#include "kernels/conv2d/conv2d.h"

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    if (conv_supported(w, why))
        return FIT_NONE;
    return d->kind == DEVICE_GPU ? FIT_GOOD : FIT_POSSIBLE;
}

static const char *const forms[] = {"explicit", "fused"};

static const struct build_knob knobs[] = {
    {"mwg", {2, 4, 6, 8, 12, 14, 16, 24, 28, 32, 64, 128, BUILD_END}},
    {"nwg", {4, 8, 16, 32, 64, 128, BUILD_END}},
    {"kwg", {4, 8, 16, 32, BUILD_END}},
    {"mdimc", {1, 2, 4, 8, 16, 32, BUILD_END}},
    {"ndimc", {1, 2, 4, 8, 16, 32, BUILD_END}},
    {"mdima", {1, 2, 4, 8, 16, 32, BUILD_END}},
    {"ndimb", {1, 2, 4, 8, 16, 32, BUILD_END}},
    {"kwi", {1, 2, 4, BUILD_END}},
    {"vwm", {1, 2, 4, 8, BUILD_END}},
    {"vwn", {1, 2, 4, 8, 16, BUILD_END}},
    {"strm", {0, 1, BUILD_END}},
    {"strn", {0, 1, BUILD_END}},
    {"sa", {0, 1, BUILD_END}},
    {"sb", {0, 1, BUILD_END}},
    {"swap", {0, 1, BUILD_END}},
    {0},
};

static const char *const quantities[][2] = {
    {"work_items", "mdimc * ndimc"},
    {"rows", "mwg / mdimc"},
    {"columns", "nwg / ndimc"},
    {"accumulators", "rows * columns / vwn * ceil_div(vwn, lanes)"},
    {"local_bytes", "(sa * kwg * mwg + sb * kwg * nwg) * 4"},
    {"waste_k", "ceil_div(size_k, mwg) * mwg / size_k"},
    {"waste_pq", "ceil_div(size_pq, nwg) * nwg / size_pq"},
    {"waste_i", "ceil_div(size_i, kwg) * kwg / size_i"},
    {"waste", "waste_k * waste_pq * waste_i"},
    {"lane_use", "min(vwn, lanes) / lanes"},
    {"loads_per_fma", "(rows + columns / vwn) / (rows * columns / vwn)"},
    {"groups", "size_n * ceil_div(size_k, mwg) * ceil_div(size_pq, nwg)"},
    {"weight_bytes", "mwg * size_i * 4"},
    {"panel_bytes", "nwg * size_i * 4"},
    {"body", "accumulators * kwi"},
    {NULL, NULL},
};

/* Where a knob has no meaning it stands at its first sensible value, so that no config counts twice. */
static const char *const constraints[] = {
    "work_items <= max_group",
    "mdimc <= max_x and ndimc <= max_y",
    "local_bytes <= max_local",
    "mwg % mdimc == 0",
    "nwg % (ndimc * vwn) == 0",
    "kwg % kwi == 0",
    "accumulators <= 64",
    "body <= 256",
    "mwg < 2 * size_k + 2",
    "nwg < 2 * size_pq + 4",
    "sa == 1 or (mdima == mdimc and vwm == 1)",
    "sa == 0 or (mwg % (mdima * vwm) == 0 and work_items % mdima == 0)",
    "sa == 0 or kwg * mdima % work_items == 0",
    "sb == 1 or ndimb == ndimc",
    "sb == 0 or (nwg % (ndimb * vwn) == 0 and work_items % ndimb == 0)",
    "sb == 0 or kwg * ndimb % work_items == 0",
    "form == 'explicit' or sb == 1",
    "mdimc > 1 or strm == 0",
    "ndimc > 1 or strn == 0",
    "rows > 1 or strm == 0",
    "columns > vwn or strn == 0",
    "sa == 0 or work_items > 1",
    "sb == 0 or work_items > 1 or form == 'fused'",
    NULL,
};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct conv_shape z = conv_shape_of(w);
    const struct build_named constants[] = {
        {"size_n", (double)z.n},
        {"size_k", (double)z.k},
        {"size_pq", (double)(z.p * z.q)},
        {"size_i", (double)(z.c * z.r * z.s)},
        {"lanes", (double)build_vector(d)},
        {"max_group", (double)build_max_group(d)},
        {"max_local", (double)build_max_local(d)},
        {"max_x", (double)(d->max_local[0] > 0 ? d->max_local[0] : build_max_group(d))},
        {"max_y", (double)(d->max_local[1] > 0 ? d->max_local[1] : build_max_group(d))},
        {NULL, 0}};
    enum err e = build_constants(s, constants, why);

    if (!e)
        e = space_add_knob_words(s, "form", forms, 2, why);
    if (!e)
        e = build_knobs(s, knobs, why);
    if (!e)
        e = build_quantities(s, quantities, why);
    return e ? e : build_constraints(s, constraints, why);
}

static const struct build_define cpu_choice[] = {
    {"mwg", 12}, {"nwg", 32}, {"kwg", 8},  {"mdimc", 1}, {"ndimc", 1}, {"mdima", 1}, {"ndimb", 1}, {"kwi", 2},
    {"vwm", 1},  {"vwn", 16}, {"strm", 0}, {"strn", 0},  {"sa", 0},    {"sb", 0},    {"swap", 1},  {NULL, 0}};
static const struct build_define gpu_choice[] = {
    {"mwg", 32}, {"nwg", 32}, {"kwg", 16}, {"mdimc", 8}, {"ndimc", 8}, {"mdima", 8}, {"ndimb", 8}, {"kwi", 2},
    {"vwm", 1},  {"vwn", 4},  {"strm", 0}, {"strn", 0},  {"sa", 1},    {"sb", 1},    {"swap", 0},  {NULL, 0}};

static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const struct conv_shape z = conv_shape_of(w);
    const bool small = z.k < 16 || z.p * z.q < 16, one_item = d->kind == DEVICE_CPU || small;
    const int64_t lanes = build_vector(d);

    *out = (struct config){{0}};
    build_choose(s, one_item ? cpu_choice : gpu_choice, out);
    if (one_item)
        build_choose(s,
                     (const struct build_define[]){{"vwn", lanes},
                                                   {"nwg", z.p * z.q < 16  ? 4
                                                           : 2 * lanes < 4 ? 4
                                                                           : 2 * lanes},
                                                   {"mwg", z.k < 12 ? (z.k < 4 ? 2 : 4) : 12},
                                                   {NULL, 0}},
                     out);
    if (space_is_valid(s, out, NULL))
        return ERR_OK;
    return build_make_valid(s, (const char *const[]){"vwn", "nwg", "mwg", "kwi", NULL}, out);
}

static enum err add_defines(struct program_module *m, const struct conv_shape *z, const struct space *s,
                            const struct config *c, bool fused, int64_t col_wg)
{
    static const char *const same[][2] = {
        {"MWG", "mwg"},     {"NWG", "nwg"},     {"KWG", "kwg"}, {"MDIMC", "mdimc"}, {"NDIMC", "ndimc"},
        {"MDIMA", "mdima"}, {"NDIMB", "ndimb"}, {"KWI", "kwi"}, {"VWM", "vwm"},     {"VEC", "vwn"},
        {"STRM", "strm"},   {"STRN", "strn"},   {"SA", "sa"},   {"SB", "sb"},       {"SWAP", "swap"}};
    enum err e = conv_define_shape(m, z);

    for (size_t i = 0; !e && i < sizeof same / sizeof same[0]; i++)
        e = program_define(m, same[i][0], space_int(s, c, same[i][1]));
    if (!e)
        e = program_define(m, "FUSED", fused);
    return e ? e : program_define(m, "COL_WG", col_wg);
}

/* Sizes that buffers and launches share. */
struct plan {
    bool fused;
    int64_t rows, k_tiles, n_tiles, col_wg; /* rows: padded i */
    int wp, cols;
};

static enum err add_launches(const struct conv_shape *z, const struct plan *a, const struct space *s,
                             const struct config *c, struct program *p)
{
    const int64_t block[] = {space_int(s, c, "mdimc"), space_int(s, c, "ndimc"), 1}, one[] = {1, 1, 1};
    const bool swap = space_int(s, c, "swap") != 0;
    const int64_t grid[] = {swap ? a->n_tiles : a->k_tiles, swap ? a->k_tiles : a->n_tiles, z->n};
    enum err e = build_launch(p, PHASE_PACK, "im2col_pack_w", (const int64_t[]){a->k_tiles, a->rows, 1}, one,
                              (const int[]){1, a->wp, -1});

    if (!e && !a->fused)
        e = build_launch(p, PHASE_RUN, "im2col", (const int64_t[]){a->n_tiles, z->c, z->n},
                         (const int64_t[]){a->col_wg, 1, 1}, (const int[]){0, a->cols, -1});
    if (!e)
        e = build_launch(p, PHASE_RUN, "im2col_gemm", grid, block, (const int[]){a->wp, a->cols, 2, -1});
    return e;
}

static enum err program(const struct workload *w, const struct device_desc *d, const struct space *s,
                        const struct config *c, struct program *p, struct blobs *blobs, struct why *why)
{
    const struct conv_shape z = conv_shape_of(w);
    const int64_t mwg = space_int(s, c, "mwg"), nwg = space_int(s, c, "nwg"), kwg = space_int(s, c, "kwg");
    const int64_t items = space_int(s, c, "work_items");
    struct plan a = {.rows = CEIL(z.c * z.r * z.s, kwg) * kwg, .k_tiles = CEIL(z.k, mwg)};
    struct program_module *m;
    enum err e = build_tensors(w, p);

    (void)d;
    a.n_tiles = CEIL(z.p * z.q, nwg);
    a.fused = space_value(s, c, 0).text && space_value(s, c, 0).text[0] == 'f';
    a.col_wg = items == 1 ? 1 : items < nwg ? items : nwg;
    if (!e)
        e = build_buffer(p, "wp", ROLE_PACKED, a.k_tiles * a.rows * mwg, &a.wp, why);
    if (!e && !a.fused)
        e = build_buffer(p, "cols", ROLE_SCRATCH, z.n * a.n_tiles * a.rows * nwg, &a.cols, why);
    if (!e)
        e = build_module(p, blobs, "conv2d/im2col_gemm.cl", &m, why);
    if (!e)
        e = add_defines(m, &z, s, c, a.fused, a.col_wg);
    p->needs_local_bytes = space_int(s, c, "local_bytes");
    return e ? e : add_launches(&z, &a, s, c, p);
}

const struct template conv2d_im2col_gemm = {
    .id = "conv2d/im2col_gemm",
    .operator_name = "conv2d",
    .version = 1,
    .summary = "matrix product over patches of the input: written out first, or gathered while loading",
    .tolerance = 2e-6,
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};
