/* Knobs are those of TVM's conv2d_NCHWc_int8, group_conv2d_NCHWc_int8 and dense_int8 for CUDA, with tails allowed and
 * the same text for all. */
#include "kernels/conv2d/i8.h"

#include "kernels/conv2d/conv2d.h"
#include "kernels/gemm/dot.h"

enum err i8_by_fours(const char *id, const char *others, const struct conv_shape *z, struct why *why)
{
    const int64_t cg = z->c / z->groups, kg = z->k / z->groups;

    if (cg % 4 == 0 && kg % 4 == 0)
        return ERR_OK;
    return why_set(why, ERR_UNSUPPORTED, "%s multiplies channels by fours, not %lld by %lld of a group; %s", id,
                   (long long)cg, (long long)kg, others);
}

static const struct build_knob conv_knobs[] = {
    {"fuse_yx", {0, 1, BUILD_END}}, {"order", {0, 1, 2, 3, 4, 5, BUILD_END}},   {"dbuf_x", {0, 1, BUILD_END}},
    {"dbuf_w", {0, 1, BUILD_END}},  {"unroll_step", {0, 512, 1500, BUILD_END}}, {0}};
static const struct build_knob matrix_knobs[] = {{"unroll_step", {0, 512, 1500, BUILD_END}}, {0}};

/* The axes by one name in both forms. */
static const char *const conv_axes[][2] = {{"n_tile", "n_v * n_t * n_r"},
                                           {"f_tile", "f_v * f_t * f_r"},
                                           {"y_tile", "y_v * y_t * y_r"},
                                           {"x_tile", "x_v * x_t * x_r"},
                                           {"work_items", "n_t * f_t * y_t * x_t"},
                                           {"f_own", "f_v * f_r * g_v"},
                                           {"x_own", "n_v * n_r * y_v * y_r * x_v * x_r"},
                                           {"staged_c", "rc_i"},
                                           {NULL, NULL}};
static const char *const matrix_axes[][2] = {{"n_tile", "1"},
                                             {"f_tile", "n_v * n_t * n_r"},
                                             {"y_tile", "1"},
                                             {"x_tile", "m_v * m_t * m_r"},
                                             {"work_items", "n_t * m_t"},
                                             {"f_own", "n_v * n_r"},
                                             {"x_own", "m_v * m_r"},
                                             {"staged_c", "k_i"},
                                             {NULL, NULL}};

/* Of both forms; a knob that the matrix lacks is a constant there. Channels count by fours. */
static const char *const quantities[][2] = {
    {"accumulators", "f_own * x_own * 4"},
    {"staged_rows", "(y_tile - 1) * stride_h + (ry_i - 1) * dil_h + 1"},
    {"staged_columns", "(x_tile - 1) * stride_w + (rx_i - 1) * dil_w + 1"},
    {"x_staged", "n_tile * g_v * staged_c * staged_rows * staged_columns"},
    {"w_staged", "g_v * f_tile * staged_c * ry_i * rx_i * 4"},
    {"local_bytes", "((1 + dbuf_x) * x_staged + (1 + dbuf_w) * w_staged) * 4"},
    {"steps_c", "ceil_div(size_c4, staged_c)"},
    {"steps_r", "ceil_div(size_r, ry_i)"},
    {"steps_s", "ceil_div(size_s, rx_i)"},
    {"waste_n", "ceil_div(size_n, n_tile) * n_tile / size_n"},
    {"waste_f", "ceil_div(size_k4, f_tile) * f_tile / size_k4"},
    {"waste_y", "ceil_div(size_p, y_tile) * y_tile / size_p"},
    {"waste_x", "ceil_div(size_q, x_tile) * x_tile / size_q"},
    {"waste_c", "steps_c * staged_c * steps_r * ry_i * steps_s * rx_i / (size_c4 * size_r * size_s)"},
    {"waste", "waste_n * waste_f * waste_y * waste_x * waste_c"},
    {"groups", "ceil_div(size_n, n_tile) * (groups_n // g_v) * ceil_div(size_k4, f_tile) * ceil_div(size_p, y_tile) * "
               "ceil_div(size_q, x_tile)"},
    {"loads_per_dot", "1 / (f_own * 4) + 1 / x_own"},
    {"staged_per_dot", "(x_staged + w_staged) / (accumulators * work_items * staged_c * ry_i * rx_i)"},
    {"body", "accumulators * staged_c * ry_i * rx_i"},
    {NULL, NULL},
};

/* Orders and unrollings that come to the same are one config. */
static const char *const constraints[] = {
    "work_items <= max_group",
    "local_bytes <= max_local",
    "accumulators <= 128",
    "groups_n % g_v == 0",
    "n_tile < 2 * size_n",
    "f_tile < 2 * size_k4",
    "y_tile < 2 * size_p",
    "x_tile < 2 * size_q",
    "steps_c > 1 or order == 0 or order == 1",
    "steps_r > 1 or order == 0 or order == 4",
    "steps_s > 1 or order == 0 or order == 2",
    "steps_c * steps_r * steps_s > 1 or dbuf_x + dbuf_w == 0",
    "unroll_step == 0 or body <= unroll_step",
    "unroll_step != 1500 or body > 512",
    NULL,
};

static const char *const conv_sides[] = {
    "fuse_yx == 1 or (x_t <= max_x and y_t <= max_y and n_t * f_t <= max_z)",
    "fuse_yx == 0 or (x_t * y_t <= max_x and f_t <= max_y and n_t <= max_z)",
    NULL,
};
static const char *const matrix_sides[] = {"m_t <= max_x and n_t <= max_z", NULL};

struct split {
    const char *name;
    int64_t n, most;
};

static enum err add_splits(const struct conv_shape *z, bool matrix, int64_t items, struct space *s, struct why *why)
{
    const int64_t k4 = z->k / z->groups / 4, c4 = z->c / z->groups / 4;
    const struct split conv[] = {{"n_v", z->n, 4},     {"n_t", z->n, 16},  {"n_r", z->n, 4},   {"g_v", z->groups, 8},
                                 {"f_v", k4, 8},       {"f_t", k4, items}, {"f_r", k4, 8},     {"y_v", z->p, 8},
                                 {"y_t", z->p, items}, {"y_r", z->p, 16},  {"x_v", z->q, 8},   {"x_t", z->q, items},
                                 {"x_r", z->q, 16},    {"rc_i", c4, 32},   {"ry_i", z->r, 16}, {"rx_i", z->s, 16},
                                 {NULL, 0, 0}};
    const struct split product[] = {{"m_v", z->q, 8},   {"m_t", z->q, items}, {"m_r", z->q, 16}, {"n_v", k4, 8},
                                    {"n_t", k4, items}, {"n_r", k4, 8},       {"k_i", c4, 64},   {NULL, 0, 0}};
    enum err e = ERR_OK;

    for (const struct split *i = matrix ? product : conv; i->name && !e; i++)
        e = build_split_knob(s, i->name, i->n, i->most, why);
    return e;
}

static enum err add_constants(const struct conv_shape *z, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct build_named list[] = {{"size_n", (double)z->n},
                                       {"size_c4", (double)(z->c / z->groups / 4)},
                                       {"size_k4", (double)(z->k / z->groups / 4)},
                                       {"size_h", (double)z->h},
                                       {"size_w", (double)z->w},
                                       {"size_r", (double)z->r},
                                       {"size_s", (double)z->s},
                                       {"size_p", (double)z->p},
                                       {"size_q", (double)z->q},
                                       {"stride_h", (double)z->stride_h},
                                       {"stride_w", (double)z->stride_w},
                                       {"dil_h", (double)z->dil_h},
                                       {"dil_w", (double)z->dil_w},
                                       {"groups_n", (double)z->groups},
                                       {"x_lanes", (double)z->x_lanes},
                                       {"y_lanes", (double)z->y_lanes},
                                       {"max_group", (double)build_max_group(d)},
                                       {"max_x", (double)build_max_side(d, 0)},
                                       {"max_y", (double)build_max_side(d, 1)},
                                       {"max_z", (double)build_max_side(d, 2)},
                                       {"max_local", (double)build_max_local(d)},
                                       {NULL, 0}};

    return build_constants(s, list, why);
}

enum err i8_space(const struct conv_shape *z, bool matrix, const struct device_desc *d, struct space *s,
                  struct why *why)
{
    static const struct build_named absent[] = {{"g_v", 1},    {"ry_i", 1},   {"rx_i", 1}, {"order", 0},
                                                {"dbuf_x", 0}, {"dbuf_w", 0}, {NULL, 0}};
    const int64_t items = build_max_group(d) < 1024 ? build_max_group(d) : 1024;
    enum err e = add_constants(z, d, s, why);

    if (!e && matrix)
        e = build_constants(s, absent, why);
    if (!e)
        e = add_splits(z, matrix, items, s, why);
    if (!e)
        e = dot_add_knob(s, d, DOT_SCALARS, false, why);
    if (!e)
        e = build_knobs(s, matrix ? matrix_knobs : conv_knobs, why);
    if (!e)
        e = build_quantities(s, matrix ? matrix_axes : conv_axes, why);
    if (!e)
        e = build_quantities(s, quantities, why);
    if (!e)
        e = build_constraints(s, matrix ? matrix_sides : conv_sides, why);
    return e ? e : build_constraints(s, constraints, why);
}

/* A GPU: 8 x 4 x 8 items of two fours of channels and 2 pixels each, about as the recorded best. A CPU: one item a
 * group. */
static const struct build_define conv_cpu[] = {{"f_t", 1}, {"f_r", 2},  {"y_t", 1},  {"y_r", 1},  {"x_t", 1},
                                               {"x_r", 8}, {"rc_i", 4}, {"ry_i", 3}, {"rx_i", 3}, {NULL, 0}};
static const struct build_define conv_gpu[] = {{"f_t", 8}, {"f_r", 2},  {"y_t", 4},  {"y_r", 1},  {"x_t", 8},
                                               {"x_r", 2}, {"rc_i", 4}, {"ry_i", 3}, {"rx_i", 3}, {NULL, 0}};
static const struct build_define matrix_cpu[] = {{"n_t", 1}, {"n_r", 4},  {"m_t", 1},
                                                 {"m_r", 8}, {"k_i", 16}, {NULL, 0}};
static const struct build_define matrix_gpu[] = {{"n_t", 16}, {"n_r", 1},  {"m_t", 8},
                                                 {"m_r", 4},  {"k_i", 16}, {NULL, 0}};

enum err i8_fallback(bool matrix, const struct device_desc *d, const struct space *s, struct config *out)
{
    static const char *const lowered[] = {"rc_i", "y_t", "f_t", "x_t", "x_r", "f_r", "ry_i", "rx_i", "n_t", NULL};
    static const char *const lowered_matrix[] = {"k_i", "m_t", "n_t", "m_r", "n_r", NULL};
    const bool cpu = d->kind == DEVICE_CPU;

    *out = (struct config){{0}};
    build_choose(s, matrix ? cpu ? matrix_cpu : matrix_gpu : cpu ? conv_cpu : conv_gpu, out);
    if (space_is_valid(s, out, NULL))
        return ERR_OK;
    return build_make_valid(s, matrix ? lowered_matrix : lowered, out);
}

void i8_program(struct build *b, const struct conv_shape *z, bool matrix)
{
    const int64_t one[] = {1, 1, 1}, tiles_n = CEIL(z->n, build_int(b, "n_tile"));
    const int64_t tiles_g = z->groups / build_int(b, "g_v"), k4 = z->k / z->groups / 4, c4 = z->c / z->groups / 4;
    const int64_t tiles_f = CEIL(k4, build_int(b, "f_tile")), tiles_y = CEIL(z->p, build_int(b, "y_tile"));
    const int64_t tiles_x = CEIL(z->q, build_int(b, "x_tile"));
    const int64_t n_t = matrix ? 1 : build_int(b, "n_t"), f_t = build_int(b, matrix ? "n_t" : "f_t");
    const int64_t y_t = matrix ? 1 : build_int(b, "y_t"), x_t = build_int(b, matrix ? "m_t" : "x_t");
    const int64_t plain_grid[] = {tiles_x, tiles_y, tiles_f * tiles_g * tiles_n}, plain[] = {x_t, y_t, n_t * f_t};
    const int64_t fused_grid[] = {tiles_x * tiles_y, tiles_f * tiles_g, tiles_n}, flat[] = {x_t * y_t, f_t, n_t};
    const bool fused = !matrix && build_int(b, "fuse_yx") != 0;
    const int w4 = build_buffer(b, "w4", ROLE_PACKED, DTYPE_I32, z->k * c4 * z->r * z->s);
    const int x4 = z->x_lanes > 1 ? 0 : build_buffer(b, "x4", ROLE_SCRATCH, DTYPE_I32, z->n * z->c / 4 * z->h * z->w);

    build_module(b, "conv2d/i8.cl");
    conv_define_shape(b, z);
    dot_define(b);
    build_define(b, "VEC", z->y_lanes > 1 ? 4 : 1);
    if (matrix)
        build_define(b, "MATRIX", 1);
    build_launch(b, PHASE_PACK, "i8_pack_w", (const int64_t[]){z->k / 4, c4, 1}, one, (const int[]){1, w4, -1});
    if (z->x_lanes == 1)
        build_launch(b, PHASE_RUN, "i8_pack_x", (const int64_t[]){z->h, z->c / 4, z->n}, one, (const int[]){0, x4, -1});
    b->p->needs_local_bytes = build_int(b, "local_bytes");
    build_last_launch(b, "conv2d_i8", fused ? fused_grid : plain_grid, fused ? flat : plain, (const int[]){x4, w4, -1});
}

static enum fit fit_conv(const char *id, bool grouped, const struct workload *w, const struct device_desc *d,
                         struct why *why)
{
    const struct conv_shape z = conv_shape_of(w);

    if (w->dtype != DTYPE_I8)
        why_set(why, ERR_UNSUPPORTED, "%s computes dtype i8, not %s", id, dtype_name(w->dtype));
    else if ((z.groups > 1) != grouped)
        why_set(why, ERR_UNSUPPORTED, "conv2d/i8 computes one group, conv2d/group_i8 groups > 1; not groups=%lld",
                (long long)z.groups);
    else if (!conv_within(id, CONV_I8 | CONV_GROUPS | CONV_LAYOUTS | CONV_EPILOGUE, w, why) &&
             !i8_by_fours(
                 id, grouped ? "conv2d/group and conv2d/i8_tile take it" : "conv2d/direct and conv2d/i8_tile take it",
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

    return i8_space(&z, false, d, s, why);
}

static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    (void)w;
    return i8_fallback(false, d, s, out);
}

static void program(struct build *b)
{
    const struct conv_shape z = conv_shape_of(b->w);

    i8_program(b, &z, false);
}

const struct template conv2d_i8 = {
    .id = "conv2d/i8",
    .version = 2,
    .summary = "GPU: int8 by fours of channels, tiles in local memory",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};

const struct template conv2d_group_i8 = {
    .id = "conv2d/group_i8",
    .version = 2,
    .summary = "GPU: the int8 form with tiles over groups of channels",
    .fit = fit_group,
    .space = space,
    .fallback = fallback,
    .program = program,
};
