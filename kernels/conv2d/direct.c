/* Knobs are those of TVM's conv2d_nchw and group_conv2d_nchw for CUDA, with tails allowed and the same text for both:
 * conv2d/direct is the case of one group and one image a tile. */
#include "kernels/conv2d/conv2d.h"

#define CAPS (CONV_F16 | CONV_I8 | CONV_GROUPS | CONV_LAYOUTS | CONV_EPILOGUE)

static enum fit suits(const struct workload *w, const struct device_desc *d)
{
    (void)w;
    return d->kind == DEVICE_CPU || d->kind == DEVICE_MALI ? FIT_POSSIBLE : FIT_GOOD;
}

static enum fit fit_direct(const struct workload *w, const struct device_desc *d, struct why *why)
{
    return conv_within("conv2d/direct", CAPS & ~(unsigned)CONV_GROUPS, w, why) ? FIT_NONE : suits(w, d);
}

static enum fit fit_group(const struct workload *w, const struct device_desc *d, struct why *why)
{
    if (workload_get(w, "groups") == 1) {
        why_set(why, ERR_UNSUPPORTED, "conv2d/group computes groups > 1; conv2d/direct computes one group");
        return FIT_NONE;
    }
    return conv_within("conv2d/group", CAPS, w, why) ? FIT_NONE : suits(w, d);
}

static const struct build_knob last_knobs[] = {
    {"order", {0, 1, 2, 3, 4, 5, BUILD_END}}, {"unroll_step", {0, 512, 1500, BUILD_END}}, {0}};
static const struct build_knob group_knobs[] = {{"fuse_yx", {0, 1, BUILD_END}},
                                                {"order", {0, 1, 2, 3, 4, 5, BUILD_END}},
                                                {"unroll_step", {0, 512, 1500, BUILD_END}},
                                                {0}};

/* Of both forms; a knob that one form lacks is a constant 1 there (fuse_yx 0). */
static const char *const quantities[][2] = {
    {"n_tile", "n_v * n_t * n_r"},
    {"f_tile", "f_v * f_t * f_r"},
    {"y_tile", "y_v * y_t * y_r"},
    {"x_tile", "x_v * x_t * x_r"},
    {"work_items", "n_t * f_t * y_t * x_t"},
    {"accumulators", "g_v * n_v * n_r * f_v * f_r * y_v * y_r * x_v * x_r"},
    {"staged_rows", "(y_tile - 1) * stride_h + (ry_i - 1) * dil_h + 1"},
    {"staged_columns", "(x_tile - 1) * stride_w + (rx_i - 1) * dil_w + 1"},
    {"x_staged", "n_tile * g_v * rc_i * staged_rows * staged_columns"},
    {"w_staged", "g_v * f_tile * rc_i * ry_i * rx_i"},
    {"local_bytes", "(x_staged + w_staged) * 4"},
    {"steps_c", "ceil_div(size_cg, rc_i)"},
    {"steps_r", "ceil_div(size_r, ry_i)"},
    {"steps_s", "ceil_div(size_s, rx_i)"},
    {"waste_n", "ceil_div(size_n, n_tile) * n_tile / size_n"},
    {"waste_f", "ceil_div(size_kg, f_tile) * f_tile / size_kg"},
    {"waste_y", "ceil_div(size_p, y_tile) * y_tile / size_p"},
    {"waste_x", "ceil_div(size_q, x_tile) * x_tile / size_q"},
    {"waste_c", "steps_c * rc_i * steps_r * ry_i * steps_s * rx_i / (size_cg * size_r * size_s)"},
    {"waste", "waste_n * waste_f * waste_y * waste_x * waste_c"},
    {"groups", "ceil_div(size_n, n_tile) * (groups_n // g_v) * ceil_div(size_kg, f_tile) * ceil_div(size_p, y_tile) * "
               "ceil_div(size_q, x_tile)"},
    {"loads_per_fma", "1 / (f_v * f_r) + 1 / (n_v * n_r * y_v * y_r * x_v * x_r)"},
    {"staged_per_fma", "(x_staged + w_staged) / (accumulators * work_items * rc_i * ry_i * rx_i)"},
    {"body", "accumulators * rc_i * ry_i * rx_i"},
    {NULL, NULL},
};

/* Orders and unrollings that come to the same are one config. */
static const char *const constraints[] = {
    "work_items <= max_group",
    "fuse_yx == 1 or (x_t <= max_x and y_t <= max_y and n_t * f_t <= max_z)",
    "fuse_yx == 0 or (x_t * y_t <= max_x and f_t <= max_y and n_t <= max_z)",
    "local_bytes <= max_local",
    "accumulators <= 128",
    "groups_n % g_v == 0",
    "n_tile < 2 * size_n",
    "f_tile < 2 * size_kg",
    "y_tile < 2 * size_p",
    "x_tile < 2 * size_q",
    "steps_c > 1 or order == 0 or order == 1",
    "steps_r > 1 or order == 0 or order == 4",
    "steps_s > 1 or order == 0 or order == 2",
    "unroll_step == 0 or body <= unroll_step",
    "unroll_step != 1500 or body > 512",
    NULL,
};

struct split {
    const char *name;
    int64_t n, most;
};

/* Splits of all axes. Work-items go up to the device's groups; strips and neighbours as far as registers reach. */
static enum err add_splits(const struct conv_shape *z, int64_t items, bool grouped, struct space *s, struct why *why)
{
    const int64_t kg = z->k / z->groups, cg = z->c / z->groups;
    const struct split all[] = {{"n_v", z->n, 4},     {"n_t", z->n, 16},  {"n_r", z->n, 4},   {"g_v", z->groups, 8},
                                {"f_v", kg, 8},       {"f_t", kg, items}, {"f_r", kg, 16},    {"y_v", z->p, 8},
                                {"y_t", z->p, items}, {"y_r", z->p, 16},  {"x_v", z->q, 8},   {"x_t", z->q, items},
                                {"x_r", z->q, 16},    {"rc_i", cg, 64},   {"ry_i", z->r, 16}, {"rx_i", z->s, 16}};
    enum err e = ERR_OK;

    for (size_t i = grouped ? 0 : 4; i < sizeof all / sizeof all[0] && !e; i++)
        e = build_split_knob(s, all[i].name, all[i].n, all[i].most, why);
    return e;
}

static enum err space_of(const struct workload *w, const struct device_desc *d, bool grouped, struct space *s,
                         struct why *why)
{
    static const struct build_named absent[] = {{"n_v", 1}, {"n_t", 1},     {"n_r", 1},
                                                {"g_v", 1}, {"fuse_yx", 0}, {NULL, 0}};
    const struct conv_shape z = conv_shape_of(w);
    enum err e = grouped ? ERR_OK : build_constants(s, absent, why);

    if (!e)
        e = add_splits(&z, build_max_group(d) < 1024 ? build_max_group(d) : 1024, grouped, s, why);
    return e ? e : conv_space(w, d, grouped ? group_knobs : last_knobs, quantities, constraints, s, why);
}

static enum err space_direct(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    return space_of(w, d, false, s, why);
}

static enum err space_group(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    return space_of(w, d, true, s, why);
}

/* A GPU: 8 x 4 x 8 items of 4 channels and 2 pixels each, about as the recorded best (128 to 224 items, 4 to 56
 * accumulators). A CPU: one item a group, a row of pixels for each of 4 channels. */
static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    static const struct build_define cpu[] = {{"f_t", 1},  {"f_r", 4},   {"y_t", 1},         {"y_r", 1},
                                              {"x_t", 1},  {"x_r", 16},  {"rc_i", 4},        {"ry_i", 3},
                                              {"rx_i", 3}, {"order", 0}, {"unroll_step", 0}, {NULL, 0}};
    static const struct build_define gpu[] = {{"f_t", 8},  {"f_r", 4},   {"y_t", 4},         {"y_r", 1},
                                              {"x_t", 8},  {"x_r", 2},   {"rc_i", 4},        {"ry_i", 3},
                                              {"rx_i", 3}, {"order", 0}, {"unroll_step", 0}, {NULL, 0}};

    (void)w;
    *out = (struct config){{0}};
    build_choose(s, d->kind == DEVICE_CPU ? cpu : gpu, out);
    if (space_is_valid(s, out, NULL))
        return ERR_OK;
    return build_make_valid(
        s, (const char *const[]){"rc_i", "y_t", "f_t", "x_t", "x_r", "f_r", "ry_i", "rx_i", "n_t", NULL}, out);
}

/* The value of a knob that only the grouped form has. */
static int64_t part(const struct build *b, const char *name)
{
    return space_find_knob(b->s, name) < 0 ? 1 : build_int(b, name);
}

static void program(struct build *b)
{
    const struct conv_shape z = conv_shape_of(b->w);
    const int64_t n_t = part(b, "n_t"), f_t = build_int(b, "f_t"), y_t = build_int(b, "y_t"), x_t = build_int(b, "x_t");
    const int64_t tiles_n = CEIL(z.n, build_int(b, "n_tile")), tiles_g = z.groups / part(b, "g_v");
    const int64_t tiles_f = CEIL(z.k / z.groups, build_int(b, "f_tile")), tiles_y = CEIL(z.p, build_int(b, "y_tile"));
    const int64_t tiles_x = CEIL(z.q, build_int(b, "x_tile"));
    const bool fused = space_find_knob(b->s, "fuse_yx") >= 0 && build_int(b, "fuse_yx") != 0;
    const int64_t plain_grid[] = {tiles_x, tiles_y, tiles_f * tiles_g * tiles_n}, plain[] = {x_t, y_t, n_t * f_t};
    const int64_t fused_grid[] = {tiles_x * tiles_y, tiles_f * tiles_g, tiles_n}, flat[] = {x_t * y_t, f_t, n_t};

    build_module(b, "conv2d/direct.cl");
    conv_define_shape(b, &z);
    b->p->needs_local_bytes = build_int(b, "local_bytes");
    build_last_launch(b, "conv2d_direct", fused ? fused_grid : plain_grid, fused ? flat : plain,
                      (const int[]){0, 1, -1});
}

const struct template conv2d_direct = {
    .id = "conv2d/direct",
    .version = 2,
    .summary = "GPU: tiles of input and weights in local memory, strips of outputs a work-item",
    .fit = fit_direct,
    .space = space_direct,
    .fallback = fallback,
    .program = program,
};

const struct template conv2d_group = {
    .id = "conv2d/group",
    .version = 2,
    .summary = "GPU: the direct form with tiles over images and groups of channels",
    .fit = fit_group,
    .space = space_group,
    .fallback = fallback,
    .program = program,
};
