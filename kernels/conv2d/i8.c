/* SPDX-License-Identifier: MIT */
/* Knobs are those of TVM's conv2d_NCHWc_int8, group_conv2d_NCHWc_int8 and dense_int8 for CUDA, with tails allowed and
 * the same text for all. */
#include "kernels/conv2d/i8.h"

#include "core/err.h"
#include "kernels/conv/strips.h"
#include "kernels/conv2d/conv2d.h"
#include "kernels/gemm/dot.h"

#include <assert.h>

enum err i8_by_fours(const char *id, const char *others, const struct conv_shape *z, struct why *why)
{
    const int64_t cg = z->c / z->groups, kg = z->k / z->groups;

    if (cg % 4 == 0 && kg % 4 == 0)
        return ERR_OK;
    return why_set(why, ERR_UNSUPPORTED, "%s multiplies channels by fours, not %lld by %lld of a group; %s", id,
                   (long long)cg, (long long)kg, others);
}

static const char *const matrix_axes[][2] = {{"n_tile", "1"},
                                             {"f_tile", "n_v * n_t * n_r"},
                                             {"y_tile", "1"},
                                             {"x_tile", "m_v * m_t * m_r"},
                                             {"n_items", "1"},
                                             {"f_items", "n_t"},
                                             {"y_items", "1"},
                                             {"x_items", "m_t"},
                                             {"f_own", "n_v * n_r"},
                                             {"x_own", "m_v * m_r"},
                                             {"staged_c", "k_i"},
                                             {"f_unit", "n_unit"},
                                             {"size_f", "size_k // n_unit"},
                                             {NULL, NULL}};

/* Ints: four bytes each. */
static const char *const staged[][2] = {
    {"x_staged", "n_tile * g_v * staged_c * staged_rows * staged_columns"},
    {"w_staged", "ceil_div(g_v * f_tile * terms * f_unit, 4) * 4"},
    {"local_bytes", "((1 + dbuf_x) * x_staged + (1 + dbuf_w) * w_staged) * 4"},
    {NULL, NULL},
};

static const char *const constraints[] = {"size_c <= 4 * max_grid", NULL};

/* Features that one index of n stands for; TVM's dense_int8 counts them singly. */
static const struct build_knob unit_knobs[] = {{"n_unit", {4, 1, BUILD_END}}, {0}};
static const struct build_named unit[] = {{"n_unit", 4}, {NULL, 0}};

static enum err add_unit(struct space *s, const struct device_desc *d, struct why *why)
{
    return d->kind == DEVICE_CPU ? build_constants(s, unit, why) : build_knobs(s, unit_knobs, why);
}

static enum err add_rest(struct space *s, enum dtype x, const struct device_desc *d, struct why *why)
{
    enum err e = dot_add_knob(s, d, DOT_SCALARS, x, false, why);

    if (!e)
        e = build_quantities(s, staged, why);
    if (!e)
        e = strips_add_constraints(s, d, why);
    return e ? e : build_constraints(s, constraints, why);
}

enum err i8_space(const struct conv_shape *z, enum dtype x, bool matrix, const struct device_desc *d, struct space *s,
                  struct why *why)
{
    const int64_t k4 = z->k / z->groups / 4, c4 = z->c / z->groups / 4;
    const int64_t items = build_max_group(d) < 1024 ? build_max_group(d) : 1024;
    const int64_t n = d->kind == DEVICE_CPU ? k4 : z->k, most_k = d->kind == DEVICE_CPU ? 64 : 256;
    const struct build_split product[] = {{"m_v", z->q, 8},  {"m_t", z->q, items}, {"m_r", z->q, 16},   {"n_v", n, 8},
                                          {"n_t", n, items}, {"n_r", n, 8},        {"k_i", c4, most_k}, {NULL, 0, 0}};
    const struct strips form = {.f = k4,
                                .g = z->groups,
                                .c = c4,
                                .f_unit = 4,
                                .most_f = 8,
                                .most_c = d->kind == DEVICE_CPU ? 32 : 128,
                                .most_window = d->kind == DEVICE_CPU ? 16 : 512,
                                .unroll = 512,
                                .grouped = !matrix,
                                .staged = !matrix,
                                .splits = !matrix,
                                .ahead = true,
                                .elem = DTYPE_I8,
                                .sum = DTYPE_I32,
                                .knobs = matrix ? product : NULL,
                                .axes = matrix ? matrix_axes : NULL};
    enum err e = matrix ? add_unit(s, d, why) : ERR_OK;

    if (!e)
        e = strips_add_knobs(s, &form, z, d, why);
    return e ? e : add_rest(s, x, d, why);
}

/* A CPU: one item a group. */
static const struct build_define conv_cpu[] = {{"f_t", 1}, {"f_r", 2},  {"y_t", 1},  {"y_r", 1},  {"x_t", 1},
                                               {"x_r", 8}, {"rc_i", 4}, {"ry_i", 3}, {"rx_i", 3}, {NULL, 0}};
static const struct build_define matrix_cpu[] = {{"n_t", 1}, {"n_r", 4},  {"m_t", 1},
                                                 {"m_r", 8}, {"k_i", 16}, {NULL, 0}};
static const struct build_define matrix_gpu[] = {{"n_t", 16}, {"n_r", 1},  {"m_t", 8},
                                                 {"m_r", 4},  {"k_i", 16}, {NULL, 0}};

enum err i8_fallback(const struct conv_shape *z, bool matrix, const struct device_desc *d, const struct space *s,
                     struct config *out)
{
    static const char *const lowered[] = {"k_i", "m_t", "n_t", "m_r", "n_r", NULL};

    return matrix ? strips_choose(s, d, d->kind == DEVICE_CPU ? matrix_cpu : matrix_gpu, lowered, out)
                  : strips_fallback(s, z, d, 0, conv_cpu, out);
}

void i8_program(struct build *b, const struct conv_shape *z, bool matrix)
{
    const int x4 = z->x_lanes > 1 ? 0 : build_buffer(b, "x4", ROLE_SCRATCH, DTYPE_I32, z->n * z->c / 4 * z->h * z->w);
    struct conv_pack pack;
    int wp, around;

    assert(z->k % 4 == 0 && z->c / z->groups % 4 == 0); /* by fours */
    build_module(b, "conv2d/i8.cl");
    conv_define_shape(b, z);
    dot_define(b);
    pack = conv_pack_define(b, z->w);
    build_define(b, "VEC", z->y_lanes > 1 && (!matrix || build_int(b, "n_unit") == 4) ? 4 : 1);
    if (matrix)
        build_define(b, "MATRIX", 1);
    wp = strips_pack_weights(b, DTYPE_I32);
    around = build_fold_zero(b, z->k, z->c / z->groups * z->r * z->s);
    if (z->x_lanes == 1)
        build_launch(b, PHASE_RUN, "i8_pack_x", (const int64_t[]){CEIL(z->h * z->w, pack.run), z->c / 4, z->n},
                     (const int64_t[]){pack.group, 1, 1}, (const int[]){0, x4, -1});
    strips_launch(b, z, "conv2d_i8", (const int[]){x4, wp, around, -1});
}

static enum fit fit_conv(const char *id, bool grouped, const struct workload *w, const struct device_desc *d,
                         struct why *why)
{
    const struct conv_shape z = conv_shape_of(w);

    if (!dtype_is_bytes(w->dtype))
        why_set(why, ERR_UNSUPPORTED, "%s computes dtype i8 or u8, not %s", id, dtype_name(w->dtype));
    else if ((z.groups > 1) != grouped)
        why_set(why, ERR_UNSUPPORTED, "conv2d/i8 computes one group, conv2d/group_i8 groups > 1; not groups=%lld",
                (long long)z.groups);
    else if (!conv_within(id, CONV_I8 | CONV_U8 | CONV_GROUPS | CONV_LAYOUTS | CONV_EPILOGUE, w, why) &&
             !i8_by_fours(id,
                          w->dtype == DTYPE_U8 ? "conv2d/implicit_gemm and conv2d/i8_tile take it"
                          : grouped            ? "conv2d/group and conv2d/i8_tile take it"
                                               : "conv2d/direct and conv2d/i8_tile take it",
                          &z, why))
        return d->kind == DEVICE_CPU ? FIT_POSSIBLE : FIT_GOOD;
    return FIT_NONE;
}

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    return fit_conv("conv2d/i8", false, w, d, why);
}

static enum fit fit_group(const struct workload *w, const struct device_desc *d, struct why *why)
{
    return fit_conv("conv2d/group_i8", true, w, d, why);
}

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct conv_shape z = conv_shape_of(w);

    return i8_space(&z, w->dtype, false, d, s, why);
}

static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const struct conv_shape z = conv_shape_of(w);

    return i8_fallback(&z, false, d, s, out);
}

static void program(struct build *b)
{
    const struct conv_shape z = conv_shape_of(b->w);

    i8_program(b, &z, false);
}

const struct template conv2d_i8 = {
    .id = "conv2d/i8",
    .stages = true,
    .version = 7,
    .summary = "GPU: i8 and u8 by fours of channels, tiles in local memory",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};

const struct template conv2d_group_i8 = {
    .id = "conv2d/group_i8",
    .stages = true,
    .version = 7,
    .summary = "GPU: the int8 form with tiles over groups of channels",
    .fit = fit_group,
    .space = space,
    .fallback = fallback,
    .program = program,
};
