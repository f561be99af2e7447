/* SPDX-License-Identifier: MIT */
/* Knobs are those of CLBlast's Xgemm (explicit form) and Xconvgemm (fused form), with work-groups down to one item for
 * CPUs. */
#include "kernels/conv/panels.h"

#include "core/err.h"
#include "kernels/conv/split.h"

#include <assert.h>

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
    {"stages", {1, 2, BUILD_END}},
    {0},
};

static const char *const quantities[][2] = {
    {"work_items", "mdimc * ndimc"},
    {"rows", "mwg / mdimc"},
    {"columns", "nwg / ndimc"},
    {"accumulators", "rows * columns / vwn * ceil_div(vwn, lanes)"},
    {"held", "(stages == 2) * (sa * mwg + sb * nwg) * kwg / work_items"},
    {"local_bytes", "stages * (sa * kwg * mwg + sb * kwg * nwg) * sum_elem_bytes"},
    {"waste_k", "ceil_div(size_k, mwg) * mwg / size_k"},
    {"waste_pq", "ceil_div((size_p * size_q), nwg) * nwg / (size_p * size_q)"},
    {"waste_i", "ceil_div((size_c * size_r * size_s), kwg) * kwg / (size_c * size_r * size_s)"},
    {"waste", "waste_k * waste_pq * waste_i"},
    {"lane_use", "min(vwn, lanes) / lanes"},
    {"loads_per_fma", "(rows + columns / vwn) / (rows * columns / vwn)"},
    {"steps", "ceil_div(size_c * size_r * size_s, kwg)"},
    {"groups_whole", "size_n * ceil_div(size_k, mwg) * ceil_div((size_p * size_q), nwg)"},
    {"weight_bytes", "mwg * (size_c * size_r * size_s) * elem_bytes"},
    {"panel_bytes", "nwg * (size_c * size_r * size_s) * elem_bytes"},
    {"body", "accumulators * kwi"},
    {NULL, NULL},
};

/* Where a knob has no meaning it stands at its first sensible value, so that no config counts twice. */
static const char *const constraints[] = {
    "work_items <= max_group",
    "mdimc <= max_x and ndimc <= max_y",
    "local_bytes <= max_local",
    "ceil_div(size_k, mwg) <= max_grid and ceil_div(size_p * size_q, nwg) <= max_grid and size_n * split <= max_grid",
    "steps * kwg <= max_grid and size_c * size_r * size_s <= max_grid",
    "mwg % mdimc == 0",
    "nwg % (ndimc * vwn) == 0",
    "kwg % kwi == 0",
    "accumulators <= 64",
    "body <= 256",
    "mwg < 2 * size_k + 2",
    "nwg < 2 * (size_p * size_q) + 4",
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
    "stages == 1 or (sa + sb > 0 and work_items > 1 and ceil_div(steps, split) > 1 and held <= 64)",
    NULL,
};

enum err panels_space(const struct workload *w, const struct device_desc *d, int n_forms, struct space *s,
                      struct why *why)
{
    static const struct build_knob none[] = {{0}};
    static const char *const nothing[] = {NULL};
    enum err e = space_add_knob_words(s, "form", forms, (size_t)n_forms, why);

    if (!e)
        e = build_knobs(s, knobs, why);
    if (!e)
        e = split_add_knob(s, why);
    if (!e)
        e = conv_space(w, d, none, quantities, nothing, s, why);
    if (!e)
        e = split_add_constraints(s, d, why);
    return e ? e : build_constraints(s, constraints, why);
}

static const struct build_define cpu_choice[] = {
    {"mwg", 12}, {"nwg", 32}, {"kwg", 8},  {"mdimc", 1}, {"ndimc", 1}, {"mdima", 1}, {"ndimb", 1}, {"kwi", 2},
    {"vwm", 1},  {"vwn", 16}, {"strm", 0}, {"strn", 0},  {"sa", 0},    {"sb", 0},    {"swap", 1},  {NULL, 0}};
static const struct build_define gpu_choice[] = {
    {"mwg", 32}, {"nwg", 32}, {"kwg", 16}, {"mdimc", 8}, {"ndimc", 8}, {"mdima", 8}, {"ndimb", 8}, {"kwi", 4},
    {"vwm", 4},  {"vwn", 4},  {"strm", 0}, {"strn", 0},  {"sa", 1},    {"sb", 1},    {"swap", 0},  {NULL, 0}};

static const struct build_define gpu_large[] = {
    {"mwg", 64}, {"nwg", 64}, {"kwg", 16}, {"mdimc", 8}, {"ndimc", 16}, {"mdima", 16}, {"ndimb", 16}, {"kwi", 4},
    {"vwm", 4},  {"vwn", 4},  {"strm", 0}, {"strn", 0},  {"sa", 1},     {"sb", 1},     {"swap", 0},   {NULL, 0}};

/* Tiles of 64 x 64 where they are two for each unit, else of 32 x 32; one item a group where there is little to do. */
static const struct build_define *choice_of(const struct conv_shape *z, const struct device_desc *d)
{
    if (d->kind == DEVICE_CPU || z->k < 16 || z->p * z->q < 16)
        return cpu_choice;
    return z->n * (z->k / 64) * (z->p * z->q / 64) < 2 * build_threads(d) ? gpu_choice : gpu_large;
}

enum err panels_fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const struct conv_shape z = conv_shape_of(w);
    const struct build_define *choice = choice_of(&z, d);
    const int64_t lanes = build_vector(d);
    enum err e = ERR_OK;

    *out = (struct config){{0}};
    build_choose(s, choice, out);
    if (choice == cpu_choice)
        build_choose(s,
                     (const struct build_define[]){{"vwn", lanes},
                                                   {"nwg", z.p * z.q < 16  ? 4
                                                           : 2 * lanes < 4 ? 4
                                                                           : 2 * lanes},
                                                   {"mwg", z.k < 12 ? (z.k < 4 ? 2 : 4) : 12},
                                                   {NULL, 0}},
                     out);
    if (!space_is_valid(s, out, NULL))
        e = build_make_valid(s, (const char *const[]){"vwn", "nwg", "mwg", "kwi", NULL}, out);
    if (!e)
        split_spread(s, d, out);
    if (!e && d->kind == DEVICE_GPU)
        build_choose_if_valid(s, (const struct build_define[]){{"stages", 2}, {NULL, 0}}, out);
    return e;
}

void panels_program(struct build *b, const struct panels *from)
{
    const struct conv_shape z = conv_shape_of(b->w);
    const int64_t mwg = build_int(b, "mwg"), nwg = build_int(b, "nwg"), kwg = build_int(b, "kwg");
    const int64_t items = build_int(b, "work_items"), rows = CEIL(z.c * z.r * z.s, kwg) * kwg;
    const int64_t k_tiles = CEIL(z.k, mwg), n_tiles = CEIL(z.p * z.q, nwg), one[] = {1, 1, 1};
    const int64_t block[] = {build_int(b, "mdimc"), build_int(b, "ndimc"), 1};
    const int64_t col_wg = items == 1 ? 1 : items < nwg ? items : nwg;
    const bool fused = build_word(b, "form")[0] == 'f', swap = build_int(b, "swap") != 0;
    const int64_t grid[] = {swap ? n_tiles : k_tiles, swap ? k_tiles : n_tiles, z.n * build_int(b, "split")};
    const int wp = build_buffer(b, "wp", ROLE_PACKED, b->w->dtype, k_tiles * rows * mwg);
    const int cols = fused ? 0 : build_buffer(b, "cols", ROLE_SCRATCH, b->w->dtype, z.n * n_tiles * rows * nwg);

    assert(mwg % block[0] == 0 && nwg % block[1] == 0 && rows % kwg == 0);
    assert(k_tiles * mwg >= z.k && n_tiles * nwg >= z.p * z.q && rows >= z.c * z.r * z.s);
    assert(block[0] * block[1] == items);
    build_module(b, from->file);
    conv_define_shape(b, &z);
    build_defines(b, (const struct build_define[]){
                         {"VEC", build_int(b, "vwn")}, {"FUSED", fused}, {"COL_WG", col_wg}, {NULL, 0}});
    b->p->needs_local_bytes = build_int(b, "local_bytes");
    build_launch(b, PHASE_PACK, "im2col_pack_w", (const int64_t[]){k_tiles, rows, 1}, one, (const int[]){1, wp, -1});
    if (!fused)
        build_launch(b, PHASE_RUN, from->gather, (const int64_t[]){n_tiles, from->gathers, z.n},
                     (const int64_t[]){col_wg, 1, 1},
                     from->other < 0 ? (const int[]){0, cols, -1} : (const int[]){0, from->other, cols, -1});
    split_last_launch(b, &z, "im2col_gemm", grid, block, (const int[]){wp, cols, -1});
}
