/* SPDX-License-Identifier: MIT */
/* plan_space.c - rnn/plan's configs: where it fits, its knobs and constraints, its default. */
#include "kernels/rnn/plan.h"

#include "core/err.h"
#include "kernels/build.h"
#include "kernels/rnn/rnn.h"
#include "runtime/cuda_arch.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum fit rnn_plan_fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    if (rnn_shape_of(w).pass == RNN_BWD_WEIGHT) {
        why_set(why, ERR_UNSUPPORTED,
                "rnn/plan computes pass=fwd and pass=bwd_data, not pass=bwd_weight (rnn/wgrad does)");
        return FIT_NONE;
    }
    if (rnn_shape_of(w).cell == RNN_GRU_RESET) {
        why_set(why, ERR_UNSUPPORTED,
                "rnn/plan has all products of a step in one, cell=gru_reset two that wait "
                "(rnn/lanes and rnn/naive compute it)");
        return FIT_NONE;
    }
    return d->kind == DEVICE_CPU || d->kind == DEVICE_GPU ? FIT_GOOD : FIT_POSSIBLE;
}

bool rnn_plan_is_tiled(const struct device_desc *d)
{
    return d->kind == DEVICE_GPU;
}

static const struct build_knob knobs[] = {
    {"comb_gate", {0, 1, BUILD_END}},
    {"streams", {1, 2, 4, 8, BUILD_END}},
    {"fuse_pw", {0, 1, 2, BUILD_END}},
    {"pretrans", {0, 1, BUILD_END}},
    {"comb_in", {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 32, 50, 64, 100, 200, 65536, BUILD_END}},
    {"wave", {0, 1, BUILD_END}},
    {"persist", {0, 1, BUILD_END}},
    {"concat_xh", {0, 1, BUILD_END}},
    {"vec", {1, 2, 4, 8, 16, BUILD_END}},
    {"g_in_mr", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 16, BUILD_END}},
    {"g_in_nv", {1, 2, 3, 4, BUILD_END}},
    {"g_in_ku", {1, 2, 4, 8, BUILD_END}},
    {"g_in_order", {0, 1, BUILD_END}},
    {"g_rec_mr", {1, 2, 3, 4, 6, 8, 9, 10, 12, 13, 14, 16, 20, 24, BUILD_END}},
    {"g_rec_nv", {1, 2, 3, 4, BUILD_END}},
    {"g_rec_ku", {1, 2, 4, 8, BUILD_END}},
    {"pf", {0, 4, 8, 16, BUILD_END}},
    {"wg", {1, 2, 4, 8, 16, 32, 64, BUILD_END}},
    {0},
};

/* GPUs: a tile is a group's. Knobs that mean nothing there have one value. */
static const struct build_knob tiled_knobs[] = {
    {"comb_gate", {0, 1, BUILD_END}},
    {"streams", {1, 2, 4, 8, BUILD_END}},
    {"fuse_pw", {0, 1, 2, BUILD_END}},
    {"pretrans", {0, 1, BUILD_END}},
    {"comb_in", {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 32, 50, 64, 100, 200, 65536, BUILD_END}},
    {"wave", {0, 1, BUILD_END}},
    {"persist", {0, 1, BUILD_END}},
    {"concat_xh", {0, BUILD_END}},
    {"vec", {1, 2, 4, BUILD_END}},
    {"g_in_mr", {1, 2, 4, 8, BUILD_END}},
    {"g_in_nv", {1, 2, BUILD_END}},
    {"g_in_ku", {1, 2, 4, 8, BUILD_END}},
    {"g_in_order", {0, 1, BUILD_END}},
    {"g_in_tn", {1, 2, 4, 8, 16, 32, BUILD_END}},
    {"g_rec_mr", {1, 2, 3, 4, 6, 8, 12, 16, BUILD_END}},
    {"g_rec_nv", {1, 2, BUILD_END}},
    {"g_rec_ku", {1, 2, 4, 8, BUILD_END}},
    {"g_rec_tn", {1, 2, 4, 8, 16, 32, BUILD_END}},
    {"g_rec_ks", {1, 2, 4, 8, BUILD_END}},
    {"kt", {8, 16, 32, BUILD_END}},
    {"pf", {0, BUILD_END}},
    {"wg", {1, 2, 4, 8, 16, 32, 64, 128, 256, BUILD_END}},
    {0},
};

static const char *const tiled_quantities[][2] = {
    {"rec_gates", "1 + (fuse_pw == 2) * fwd * (gates - 1)"},
    {"in_tm", "max(1, wg // g_in_tn)"},
    {"rec_tm", "max(1, wg // (g_rec_tn * g_rec_ks))"},
    {"in_wide", "g_in_tn * g_in_nv * vec"},
    {"rec_wide", "g_rec_tn * g_rec_nv * vec"},
    {"in_rows", "in_tm * g_in_mr"},
    {"rec_rows", "rec_tm * g_rec_mr"},
    {"rec_units", "rec_rows // rec_gates"},
    {"rec_most", "size_h * (1 + fwd * (fuse_pw < 2) * comb_gate * (gates - 1))"},
    {"in_most", "back * min(size_h, size_i) + fwd * size_h * (1 + comb_gate * (gates - 1))"},
    {"rec_k", "size_h * (1 + back * (gates - 1))"},
    {"in_space", "kt * (in_rows + in_wide)"},
    {"rec_space", "max(kt * (rec_rows + rec_wide), (g_rec_ks > 1) * rec_rows * rec_wide)"},
    {"persist_space", "persist * ceil_div(rec_k, kt) * kt * rec_rows"},
    {"in_loads_per_fma", "(g_in_mr + g_in_nv * vec) / (g_in_mr * g_in_nv * vec)"},
    {"rec_loads_per_fma", "(g_rec_mr + g_rec_nv * vec) / (g_rec_mr * g_rec_nv * vec)"},
    {"waste", "ceil_div(rec_most, rec_units) * rec_units / rec_most"},
    {"chunk", "min(comb_in, size_t)"},
    {"rec_groups", "ceil_div(rec_most, max(1, rec_units)) * max(1, size_b // rec_wide)"},
    {"groups_a_unit", "rec_groups * (1 + wave * (size_l - 1)) * (1 + (1 - comb_gate) * (gates - 1)) / units"},
    {"in_groups_a_unit", "ceil_div(in_most, in_rows) * max(1, size_b // in_wide) * chunk / units"},
    {"launches_a_step",
     "(1 - persist) * ((gates - comb_gate * (gates - 1)) * (1 + 1 / chunk) + (fuse_pw == 1) + (fuse_pw == "
     "0) * (3 * gates + 1))"},
    {NULL, NULL},
};

/* persist: its groups wait for each other, so that each must have a unit of its own. */
static const char *const tiled_constraints[] = {
    "size_b % in_wide == 0 and size_b % rec_wide == 0",
    "wg % g_in_tn == 0 and wg % (g_rec_tn * g_rec_ks) == 0",
    "wg >= 32 or size_h * size_b < 4096",
    "wg <= max_group and wg <= max_x",
    "g_in_mr * g_in_nv * vec <= 64 and g_rec_mr * g_rec_nv * vec <= 64",
    "g_rec_mr % rec_gates == 0 and rec_units <= rec_most",
    "in_rows <= in_most",
    "in_space * 4 <= max_local and (rec_space + persist_space) * 4 <= max_local",
    "comb_in <= size_t or comb_in == 65536",
    "comb_in < size_t or comb_in == 65536",
    "comb_gate == 1 or fuse_pw < 2",
    "gates > 1 or comb_gate == 1",
    "comb_gate == 0 or streams <= 2",
    "back == 0 or (comb_gate == 1 and fuse_pw >= 1)",
    "wave == 0 or (size_l >= 2 and streams == 1 and persist == 0)",
    "persist == 0 or (fuse_pw == 2 and comb_gate == 1 and pretrans == 1 and streams == 1)",
    "persist == 0 or (cooperative and rec_groups <= units)",
    NULL,
};

/* rec_gates: gates of one hidden unit within a recurrent tile; *_rows: rows that a tile may not exceed. */
static const char *const quantities[][2] = {
    {"rec_gates", "1 + (fuse_pw == 2) * fwd * (gates - 1)"},
    {"rec_units", "g_rec_mr // rec_gates"},
    {"rec_most", "size_h * (1 + fwd * (fuse_pw < 2) * comb_gate * (gates - 1))"},
    {"in_most", "back * min(size_h, size_i) + fwd * size_h * (1 + comb_gate * (gates - 1))"},
    {"in_registers", "(g_in_mr * g_in_nv + g_in_nv) * ceil_div(vec, max(lanes, 4)) + 1"},
    {"rec_registers", "(g_rec_mr * g_rec_nv + g_rec_nv) * ceil_div(vec, max(lanes, 4)) + 1"},
    {"lane_use", "min(vec, lanes) / max(lanes, 4)"},
    {"in_loads_per_fma", "(g_in_mr + g_in_nv) / (g_in_mr * g_in_nv)"},
    {"rec_loads_per_fma", "(g_rec_mr + g_rec_nv) / (g_rec_mr * g_rec_nv)"},
    {"waste", "ceil_div(rec_most, rec_units) * rec_units / rec_most"},
    {"chunk", "min(comb_in, size_t)"},
    {"launches_a_step", "(gates - comb_gate * (gates - 1)) * (1 + (1 - concat_xh) / chunk) + (fuse_pw == 1) + (fuse_pw "
                        "== 0) * (3 * gates + 1)"},
    {"chunk_bytes", "(size_i + gates * size_h) * size_b * chunk * 4"},
    {"weight_bytes", "gates * size_h * size_h * 4"},
    {"body", "g_rec_mr * g_rec_nv * g_rec_ku + g_in_mr * g_in_nv * g_in_ku"},
    {NULL, NULL},
};

/* Knobs that mean nothing beside another are fixed there. Waves are one launch for all layers and need no queues;
 * packed panels and whole tiles are what local memory holds. */
static const char *const constraints[] = {
    "size_b % (vec * g_in_nv) == 0 and size_b % (vec * g_rec_nv) == 0",
    "vec <= max(lanes, 4)",
    "in_registers <= 33 and rec_registers <= 33",
    "g_rec_mr % rec_gates == 0 and rec_units <= rec_most",
    "g_in_mr <= in_most",
    "body <= 512",
    "comb_in <= size_t or comb_in == 65536",
    "comb_in < size_t or comb_in == 65536",
    "comb_gate == 1 or fuse_pw < 2",
    "gates > 1 or comb_gate == 1",
    "comb_gate == 0 or streams <= 2",
    "back == 0 or (comb_gate == 1 and fuse_pw >= 1 and concat_xh == 0)",
    "wave == 0 or (size_l >= 2 and streams == 1 and persist == 0)",
    "persist == 0 or (fuse_pw == 2 and comb_gate == 1 and pretrans == 1 and streams == 1 and concat_xh == 0)",
    "persist == 0 or (ceil_div(rec_most, rec_units) * g_rec_mr * (1 + back * (gates - 1)) * size_h * 4 <= max_local)",
    /* PoCL 3.1 (LLVM 15) makes wrong code of more than 20 vectors of sums in an unrolled loop within the loop of steps:
     * right without optimisation, and without the unrolling. */
    "persist == 0 or g_rec_ku == 1 or g_rec_mr * g_rec_nv <= 16",
    ("concat_xh == 0 or (fuse_pw >= 1 and streams == 1 and is_gru == 0 and g_in_mr == 1 and g_in_nv == 1 and "
     "g_in_ku == 1 and g_in_order == 0 and (comb_in == 1 or size_t == 1))"),
    "pf == 0 or pretrans == 1",
    "wg <= max_group and wg <= max_x",
    "wg <= size_b * size_h",
    NULL,
};

enum err rnn_plan_space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct rnn_shape z = rnn_shape_of(w);
    const struct build_named constants[] = {{"size_i", (double)z.i},
                                            {"size_h", (double)z.h},
                                            {"size_l", (double)z.l},
                                            {"size_b", (double)z.b},
                                            {"size_t", (double)z.t},
                                            {"gates", (double)z.gates},
                                            {"back", z.pass == RNN_BWD_DATA},
                                            {"fwd", z.pass != RNN_BWD_DATA},
                                            {"is_gru", z.cell == RNN_GRU},
                                            {"units", (double)(d->units > 0 ? d->units : 1)},
                                            {"cooperative", cuda_arch_has(d, "cooperative")},
                                            {NULL, 0}};

    if (rnn_plan_is_tiled(d))
        return build_space_on(d, s, constants, tiled_knobs, tiled_quantities, tiled_constraints, why);
    return build_space_on(d, s, constants, knobs, quantities, constraints, why);
}

/* The widest power of two of lanes that divides the batch. */
static int64_t widest(int64_t b, int64_t lanes)
{
    int64_t vec = lanes < 4 ? 4 : lanes;

    assert(b > 0);
    while (b % vec)
        vec /= 2;
    return vec;
}

static int64_t at_most(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Slices of k within a group: so many that the groups of a step, of all layers where they go in a wave, are four for
 * each unit, as the post counts them, or that a tile is as small as may be. */
static int64_t tiled_slices(const struct rnn_shape *z, int64_t units, int64_t groups)
{
    const int64_t tiles = CEIL(z->gates * z->h * z->b, 64 * 64) * (z->l > 1 ? z->l : 1);
    int64_t ks = 1;

    while (ks < 8 && tiles * ks < groups * units)
        ks *= 2;
    return ks;
}

/* 256 items with 4 x 4 sums each; all layers in a wave; or where units are enough to hold R in local memory all steps
 * in one launch. */
static enum err tiled_fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                               struct config *out)
{
    static const char *const lower[] = {"g_rec_ks", "wg", "g_in_mr", "g_in_tn", "g_rec_tn", "vec", "g_rec_mr", NULL};
    const char *names[8];
    const struct rnn_shape z = rnn_shape_of(w);
    const int64_t units = d->units > 0 ? d->units : 1, gates = z.pass == RNN_BWD_DATA ? 1 : z.gates;
    int64_t vec = 4, tn = 16;

    while (z.b % vec)
        vec /= 2;
    while (z.b % (vec * tn))
        tn /= 2;
    *out = (struct config){{0}};
    build_choose(s,
                 (const struct build_define[]){{"comb_gate", 1},
                                               {"streams", 1},
                                               {"fuse_pw", 2},
                                               {"pretrans", 1},
                                               {"comb_in", z.t <= 4 ? 65536 : 4},
                                               {"wave", z.l > 1},
                                               {"vec", vec},
                                               {"g_in_mr", 4},
                                               {"g_in_nv", 1},
                                               {"g_in_ku", 4},
                                               {"g_in_tn", tn},
                                               {"g_rec_mr", gates == 1 ? 4 : gates},
                                               {"g_rec_nv", 1},
                                               {"g_rec_ku", 4},
                                               {"g_rec_tn", tn},
                                               {"g_rec_ks", tiled_slices(&z, units, 4)},
                                               {"kt", 16},
                                               {"wg", 256},
                                               {NULL, 0}},
                 out);
    if (build_choose_if_valid(
            s,
            (const struct build_define[]){
                {"wave", 0}, {"persist", 1}, {"comb_in", z.t < 25 ? 4 : 25}, {"g_rec_ks", 4}, {NULL, 0}},
            out))
        return ERR_OK;
    memcpy(names, lower, sizeof names);
    if (gates > 1)
        names[6] = NULL; /* an item has whole hidden units */
    return build_make_valid(s, names, out);
}

enum err rnn_plan_fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                           struct config *out)
{
    const struct rnn_shape z = rnn_shape_of(w);
    const bool cpu = d->kind == DEVICE_CPU, back = z.pass == RNN_BWD_DATA;
    const int64_t vec = widest(z.b, build_vector(d)), nv = cpu && z.b / vec % 2 == 0 ? 2 : 1;
    const int64_t gates = back ? 1 : z.gates, rows = !cpu ? 4 : nv == 2 || gates == 3 ? 12 : 16;
    const int64_t in_rows = back ? at_most(z.h, z.i) : z.gates * z.h;
    int64_t wg = cpu ? 1 : at_most(32, build_max_group(d));

    if (rnn_plan_is_tiled(d))
        return tiled_fallback(w, d, s, out);
    while (wg > z.b * z.h)
        wg /= 2;
    *out = (struct config){{0}};
    build_choose(s,
                 (const struct build_define[]){
                     {"comb_gate", 1},
                     {"streams", 1},
                     {"fuse_pw", 2},
                     {"pretrans", 1},
                     {"comb_in", z.t <= 4 ? 65536 : 4},
                     {"vec", vec},
                     {"g_in_mr", at_most(cpu ? nv == 2 ? 14 : 16 : 4, in_rows)},
                     {"g_in_nv", nv},
                     {"g_in_ku", 4},
                     {"g_rec_mr", at_most(rows < gates ? 1 : rows / gates, z.h) * gates}, /* whole hidden units */
                     {"g_rec_nv", nv},
                     {"g_rec_ku", 4},
                     {"pf", cpu ? 16 : 0},
                     {"wg", wg},
                     {NULL, 0}},
                 out);
    return build_make_valid(s, (const char *const[]){"g_in_mr", "g_in_nv", "wg", "g_rec_mr", NULL}, out);
}
