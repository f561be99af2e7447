/* SPDX-License-Identifier: MIT */
#include "kernels/transform/transform.h"

#include "core/err.h"

static const struct operator_key keys[] = {
    {"n", KEY_INT, true, 1, IMAGES_MAX_SIZE, 0, NULL, "batch"},
    {"c", KEY_INT, true, 1, IMAGES_MAX_SIZE, 0, NULL, "channels"},
    {"h", KEY_INT, true, 1, IMAGES_MAX_SIZE, 0, NULL, "rows"},
    {"w", KEY_INT, true, 1, IMAGES_MAX_SIZE, 0, NULL, "columns"},
    {"from", KEY_WORD, false, 0, 0, 0, images_layouts, "layout of x"},
    {"to", KEY_WORD, false, 0, 0, 0, images_layouts, "layout of y; that of x: a copy"},
    {0},
};

static bool is_of_nhwc(const struct workload *w)
{
    return workload_get(w, "from") == IMAGES_NHWC || workload_get(w, "to") == IMAGES_NHWC;
}

bool transform_is_turned(const struct workload *w)
{
    return is_of_nhwc(w) && workload_get(w, "from") != workload_get(w, "to") && workload_get(w, "c") > 1 &&
           workload_get(w, "h") * workload_get(w, "w") > 1;
}

struct conv_shape transform_shape(const struct workload *w)
{
    const bool is_copy = is_of_nhwc(w) && !transform_is_turned(w);
    const struct images x = images_of(w, is_copy ? IMAGES_NCHW : workload_get(w, "from"));

    return (struct conv_shape){.n = x.n,
                               .c = x.c,
                               .h = x.h,
                               .w = x.w,
                               .k = x.c,
                               .r = 1,
                               .s = 1,
                               .stride_h = 1,
                               .stride_w = 1,
                               .dil_h = 1,
                               .dil_w = 1,
                               .groups = x.c,
                               .p = x.h,
                               .q = x.w,
                               .x_lanes = x.lanes,
                               .y_lanes = images_lanes(is_copy ? IMAGES_NCHW : workload_get(w, "to"), x.c)};
}

enum err transform_space(const struct workload *w, const struct device_desc *d, const struct build_knob *knobs,
                         const char *const (*quantities)[2], const char *const *constraints, struct space *s,
                         struct why *why)
{
    const struct conv_shape z = transform_shape(w);
    const struct build_named area[] = {{"area", (double)(z.h * z.w)}, {NULL, 0}};
    const enum err e = conv_add_constants(&z, w->dtype, w->dtype, d, s, why);

    return e ? e : build_space(s, area, knobs, quantities, constraints, why);
}

static enum err check(const struct workload *w, struct why *why)
{
    const struct images s = images_of(w, IMAGES_NCHW);
    enum err e = images_check_layout(w, "from", why);

    if (!e)
        e = images_check_layout(w, "to", why);
    return e ? e : images_check_elems(w, "y", (const int64_t[]){s.n, s.c, s.h, s.w}, why);
}

/* None: an element that is moved counts as one. */
static double flops(const struct workload *w)
{
    const struct conv_shape s = transform_shape(w);

    return (double)(s.n * s.c) * (double)(s.h * s.w);
}

static size_t tensors(const struct workload *w, struct tensor out[OPERATOR_MAX_TENSORS])
{
    const struct conv_shape s = transform_shape(w);
    const int64_t shape[] = {s.n, s.c, s.h, s.w};

    out[0] = images_tensor("x", ROLE_INPUT, w->dtype, workload_get(w, "from"), shape);
    out[1] = images_tensor("y", ROLE_OUTPUT, w->dtype, workload_get(w, "to"), shape);
    if (dtype_is_bytes(w->dtype))
        byte_fills(&out[0], SEED_X);
    else
        tensor_fills(&out[0], SEED_X, 1000, 1);
    return 2;
}

struct transform_ref {
    struct conv_shape s;
    struct glue_data data;
};

static double element(const void *arg, bool is_exact, int64_t index, double *scale)
{
    const struct transform_ref *ref = arg;
    const struct conv_shape *s = &ref->s;
    const int64_t area = s->h * s->w, pixel = index / s->y_lanes % area;
    const int64_t channel = index / s->y_lanes / area * s->y_lanes + index % s->y_lanes; /* of all images */

    *scale = 1;
    return (double)ref->data.of[is_exact][0][(channel / s->x_lanes * area + pixel) * s->x_lanes + channel % s->x_lanes];
}

static enum err reference(const struct workload *w, enum exact_data data, struct expected *e)
{
    struct transform_ref ref = {transform_shape(w), {{{NULL}}}};
    const struct images y = conv_output(&ref.s);
    enum err failed = glue_data_make(e, (const char *const[GLUE_MAX_TENSORS]){"x"}, &ref.data);

    (void)data;
    if (!failed)
        failed = glue_expect(&y, 1, element, &ref, e);
    glue_data_fini(&ref.data);
    return failed;
}

static const struct template *const templates[] = {&transform_lanes, &transform_turned, &transform_naive, NULL};

const struct operator_desc operator_transform = {
    .name = "transform",
    .summary = "the same images in another layout",
    .formula = "y[n,c,h,w] = x[n,c,h,w], x stored as `from`, y as `to`",
    .keys = keys,
    .dtypes = 1u << DTYPE_F32 | 1u << DTYPE_F16 | 1u << DTYPE_I8 | 1u << DTYPE_U8,
    .check = check,
    .flops = flops,
    .bytes_min = operator_bytes_min,
    .tensors = tensors,
    .reference = reference,
    .templates = templates,
};
