/* Knobs are those of TVM's deformable_conv2d_nchw for CUDA, with tails allowed. */
#include "kernels/deformable_conv2d/deformable_conv2d.h"

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    if (conv_within("deformable_conv2d/direct", CONV_F16, w, why))
        return FIT_NONE;
    return d->kind == DEVICE_CPU ? FIT_POSSIBLE : FIT_GOOD;
}

static const struct build_knob last_knobs[] = {
    {"order", {0, 1, 2, 3, 4, 5, BUILD_END}}, {"unroll_step", {0, 512, 1500, BUILD_END}}, {0}};

static const char *const quantities[][2] = {
    {"f_tile", "f_v * f_t * f_r"},
    {"y_tile", "y_v * y_t * y_r"},
    {"x_tile", "x_v * x_t * x_r"},
    {"work_items", "f_t * y_t * x_t"},
    {"accumulators", "f_v * f_r * y_v * y_r * x_v * x_r"},
    {"terms", "rc_i * ry_i * rx_i"},
    {"x_staged", "terms * y_tile * x_tile"},
    {"w_staged", "terms * f_tile"},
    {"local_bytes", "(x_staged + w_staged) * 4"},
    {"steps_c", "ceil_div(size_c, rc_i)"},
    {"steps_r", "ceil_div(size_r, ry_i)"},
    {"steps_s", "ceil_div(size_s, rx_i)"},
    {"waste_f", "ceil_div(size_k, f_tile) * f_tile / size_k"},
    {"waste_y", "ceil_div(size_p, y_tile) * y_tile / size_p"},
    {"waste_x", "ceil_div(size_q, x_tile) * x_tile / size_q"},
    {"waste_c", "steps_c * rc_i * steps_r * ry_i * steps_s * rx_i / (size_c * size_r * size_s)"},
    {"waste", "waste_f * waste_y * waste_x * waste_c"},
    {"resampled", "ceil_div(size_k, f_tile)"}, /* how often each sample is computed */
    {"groups", "size_n * ceil_div(size_k, f_tile) * ceil_div(size_p, y_tile) * ceil_div(size_q, x_tile)"},
    {"loads_per_fma", "1 / (f_v * f_r) + 1 / (y_v * y_r * x_v * x_r)"},
    {"staged_per_fma", "(x_staged + w_staged) / (accumulators * work_items * terms)"},
    {"body", "accumulators * terms"},
    {NULL, NULL},
};

/* Orders and unrollings that come to the same are one config. */
static const char *const constraints[] = {
    "work_items <= max_group",
    "x_t <= max_x and y_t <= max_y and f_t <= max_z",
    "local_bytes <= max_local",
    "accumulators <= 128",
    "f_tile < 2 * size_k",
    "y_tile < 2 * size_p",
    "x_tile < 2 * size_q",
    "steps_c > 1 or order == 0 or order == 1",
    "steps_r > 1 or order == 0 or order == 4",
    "steps_s > 1 or order == 0 or order == 2",
    "unroll_step == 0 or body <= unroll_step",
    "unroll_step != 1500 or body > 512",
    NULL,
};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct conv_shape z = conv_shape_of(w);
    const int64_t items = build_max_group(d) < 1024 ? build_max_group(d) : 1024;
    const struct build_split all[] = {{"f_v", z.k, 8},     {"f_t", z.k, items}, {"f_r", z.k, 16},  {"y_v", z.p, 8},
                                      {"y_t", z.p, items}, {"y_r", z.p, 16},    {"x_v", z.q, 8},   {"x_t", z.q, items},
                                      {"x_r", z.q, 16},    {"rc_i", z.c, 64},   {"ry_i", z.r, 16}, {"rx_i", z.s, 16},
                                      {NULL, 0, 0}};
    const enum err e = build_split_knobs(s, all, why);

    return e ? e : conv_space(w, d, last_knobs, quantities, constraints, s, why);
}

/* Many channels a tile, for each tile of channels computes its samples anew. */
static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    static const struct build_define cpu[] = {{"f_t", 1},  {"f_r", 16}, {"f_v", 4},  {"x_r", 8},
                                              {"rc_i", 8}, {"ry_i", 1}, {"rx_i", 1}, {NULL, 0}};
    static const struct build_define gpu[] = {{"f_t", 16}, {"f_r", 4},  {"f_v", 2},  {"y_t", 2},  {"x_t", 8},
                                              {"x_r", 2},  {"rc_i", 8}, {"ry_i", 1}, {"rx_i", 1}, {NULL, 0}};

    (void)w;
    *out = (struct config){{0}};
    build_choose(s, d->kind == DEVICE_CPU ? cpu : gpu, out);
    if (space_is_valid(s, out, NULL))
        return ERR_OK;
    return build_make_valid(s, (const char *const[]){"rc_i", "f_v", "x_t", "f_t", "y_t", "x_r", "f_r", NULL}, out);
}

static void program(struct build *b)
{
    const struct conv_shape z = conv_shape_of(b->w);
    const int64_t block[] = {build_int(b, "x_t"), build_int(b, "y_t"), build_int(b, "f_t")};
    const int64_t grid[] = {CEIL(z.q, build_int(b, "x_tile")), CEIL(z.p, build_int(b, "y_tile")),
                            z.n * CEIL(z.k, build_int(b, "f_tile"))};

    build_module(b, "deformable_conv2d/direct.cl");
    deformable_define_shape(b, &z);
    b->p->needs_local_bytes = build_int(b, "local_bytes");
    build_last_launch(b, "deformable_direct", grid, block, (const int[]){0, build_tensor(b, "offset"), 1, -1});
}

const struct template deformable_direct = {
    .id = "deformable_conv2d/direct",
    .version = 2,
    .summary = "GPU: samples and weights staged in local memory, strips of outputs a work-item",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};
