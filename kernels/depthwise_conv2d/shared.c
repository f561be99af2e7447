/* Knobs are those of TVM's depthwise_conv2d_nchw for CUDA, with tails allowed. */
#include "kernels/build.h"
#include "kernels/depthwise_conv2d/depthwise_conv2d.h"

/* Of the smallest tile. */
static int64_t least_local_bytes(const struct conv_shape *z)
{
    return (((z->r - 1) * z->dil_h + 1) * ((z->s - 1) * z->dil_w + 1) + z->r * z->s) * 4;
}

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    const struct conv_shape z = conv_shape_of(w);

    if (conv_within("depthwise_conv2d/shared", CONV_F16 | CONV_I8 | CONV_GROUPS | CONV_LAYOUTS | CONV_EPILOGUE, w, why))
        return FIT_NONE;
    if (least_local_bytes(&z) > build_max_local(d)) {
        why_set(why, ERR_UNSUPPORTED,
                "depthwise_conv2d/shared stages a window in local memory: %lld bytes, the device has %lld",
                (long long)least_local_bytes(&z), (long long)build_max_local(d));
        return FIT_NONE;
    }
    return d->kind == DEVICE_CPU || d->kind == DEVICE_MALI ? FIT_POSSIBLE : FIT_GOOD;
}

static const struct build_knob last_knobs[] = {{"unroll_step", {0, 256, 1500, BUILD_END}}, {0}};

static const char *const quantities[][2] = {
    {"f_tile", "f_v * f_t * f_r"},
    {"y_tile", "y_v * y_t * y_r"},
    {"x_tile", "x_v * x_t * x_r"},
    {"work_items", "f_t * y_t * x_t"},
    {"accumulators", "f_v * f_r * y_v * y_r * x_v * x_r"},
    {"staged_rows", "(y_tile - 1) * stride_h + (size_r - 1) * dil_h + 1"},
    {"staged_columns", "(x_tile - 1) * stride_w + (size_s - 1) * dil_w + 1"},
    {"staged", "f_tile * staged_rows * staged_columns"},
    {"local_bytes", "(staged + f_tile * size_r * size_s) * 4"},
    {"waste_f", "ceil_div(size_k, f_tile) * f_tile / size_k"},
    {"waste_y", "ceil_div(size_p, y_tile) * y_tile / size_p"},
    {"waste_x", "ceil_div(size_q, x_tile) * x_tile / size_q"},
    {"waste", "waste_f * waste_y * waste_x"},
    {"staged_per_output", "staged / (f_tile * y_tile * x_tile)"},
    {"groups", "size_n * ceil_div(size_k, f_tile) * ceil_div(size_p, y_tile) * ceil_div(size_q, x_tile)"},
    {"body", "accumulators * size_r * size_s"},
    {NULL, NULL},
};

static const char *const constraints[] = {
    "work_items <= max_group",
    "x_t <= max_x and y_t <= max_y and f_t <= max_z",
    "local_bytes <= max_local",
    "accumulators <= 128",
    "f_tile < 2 * size_k",
    "y_tile < 2 * size_p",
    "x_tile < 2 * size_q",
    "unroll_step == 0 or body <= unroll_step",
    "unroll_step != 1500 or body > 256",
    NULL,
};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct conv_shape z = conv_shape_of(w);
    const int64_t items = build_max_group(d) < 1024 ? build_max_group(d) : 1024;
    const struct build_split all[] = {{"f_v", z.k, 8},     {"f_t", z.k, items}, {"f_r", z.k, 16}, {"y_v", z.p, 8},
                                      {"y_t", z.p, items}, {"y_r", z.p, 16},    {"x_v", z.q, 8},  {"x_t", z.q, items},
                                      {"x_r", z.q, 16},    {NULL, 0, 0}};
    const enum err e = build_split_knobs(s, all, why);

    return e ? e : conv_space(w, d, last_knobs, quantities, constraints, s, why);
}

/* Neighbouring work-items read neighbouring columns; a few rows each, so that staged rows are used again. */
static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    static const struct build_define cpu[] = {{"y_r", 4}, {"x_r", 16}, {NULL, 0}};
    static const struct build_define gpu[] = {{"f_t", 2}, {"y_t", 4}, {"y_r", 4}, {"x_t", 16}, {NULL, 0}};

    (void)w;
    *out = (struct config){{0}};
    build_choose(s, d->kind == DEVICE_CPU ? cpu : gpu, out);
    if (space_is_valid(s, out, NULL))
        return ERR_OK;
    return build_make_valid(s, (const char *const[]){"f_t", "y_r", "x_t", "y_t", "x_r", NULL}, out);
}

static void program(struct build *b)
{
    const struct conv_shape z = conv_shape_of(b->w);
    const int64_t block[] = {build_int(b, "x_t"), build_int(b, "y_t"), build_int(b, "f_t")};
    const int64_t grid[] = {CEIL(z.q, build_int(b, "x_tile")), CEIL(z.p, build_int(b, "y_tile")),
                            z.n * CEIL(z.k, build_int(b, "f_tile"))};

    build_module(b, "depthwise_conv2d/shared.cl");
    conv_define_shape(b, &z);
    b->p->needs_local_bytes = build_int(b, "local_bytes");
    build_last_launch(b, "depthwise_shared", grid, block, (const int[]){0, 1, -1});
}

const struct template depthwise_shared = {
    .id = "depthwise_conv2d/shared",
    .version = 2,
    .summary = "GPU: the input of a tile and its weights in local memory, strips of outputs a work-item",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};
