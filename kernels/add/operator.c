/* SPDX-License-Identifier: MIT */
#include "kernels/add/add.h"

#include "core/err.h"
#include "kernels/epilogue.h"

#include <math.h>

static const struct operator_key keys[] = {
    {"n", KEY_INT, true, 1, IMAGES_MAX_SIZE, 0, NULL, "batch"},
    {"c", KEY_INT, true, 1, IMAGES_MAX_SIZE, 0, NULL, "channels"},
    {"h", KEY_INT, true, 1, IMAGES_MAX_SIZE, 0, NULL, "rows"},
    {"w", KEY_INT, true, 1, IMAGES_MAX_SIZE, 0, NULL, "columns"},
    {"layout", KEY_WORD, false, 0, 0, 0, images_layouts, "layout of all tensors"},
    {"relu", KEY_INT, false, 0, 1, 0, NULL, "1: negative sums become 0"},
    {0},
};

static struct images shape_of(const struct workload *w)
{
    return images_of(w, workload_get(w, "layout"));
}

int64_t add_elems(const struct workload *w)
{
    const struct images s = shape_of(w);

    return s.n * s.c * s.h * s.w;
}

static enum err check(const struct workload *w, struct why *why)
{
    const struct images s = shape_of(w);
    const enum err e = images_check_layout(w, "layout", why);

    return e ? e : images_check_elems(w, "y", (const int64_t[]){s.n, s.c, s.h, s.w}, why);
}

static double flops(const struct workload *w)
{
    const int64_t each = (dtype_is_bytes(w->dtype) ? 3 : 1) + workload_get(w, "relu");

    return (double)add_elems(w) * (double)each;
}

static size_t tensors(const struct workload *w, struct tensor out[OPERATOR_MAX_TENSORS])
{
    const struct images s = shape_of(w);
    const int64_t shape[] = {s.n, s.c, s.h, s.w}, layout = workload_get(w, "layout");

    out[0] = images_tensor("a", ROLE_INPUT, w->dtype, layout, shape);
    out[1] = images_tensor("b", ROLE_INPUT, w->dtype, layout, shape);
    out[2] = images_tensor("y", ROLE_OUTPUT, w->dtype, layout, shape);
    if (!dtype_is_bytes(w->dtype)) {
        tensor_fills(&out[0], SEED_X, 1000, 1);
        tensor_fills(&out[1], SEED_RESIDUAL, 1000, 1);
        return 3;
    }
    byte_fills(&out[0], SEED_X);
    byte_fills(&out[1], SEED_RESIDUAL);
    out[3] = (struct tensor){.name = "scale",
                             .role = ROLE_WEIGHT,
                             .dtype = DTYPE_F32,
                             .n_dims = 1,
                             .shape = {2},
                             .n_elems = 2,
                             .layout = "",
                             .exact = {.kind = FILL_VALUE, .lo = SCALE_NEAR_HALF},
                             .random = {.kind = FILL_NORMAL, .seed = SEED_SCALE, .lo = 0.75, .hi = 0.125}};
    if (w->dtype == DTYPE_I8)
        return 4;
    out[4] = zero_points(3);
    return 5;
}

struct add_ref {
    struct glue_data data;
    enum dtype dtype;
    bool relu;
};

static double element(const void *arg, bool is_exact, int64_t index, double *scale)
{
    const struct add_ref *ref = arg;
    float *const *of = ref->data.of[is_exact];
    const float *zero = of[3];
    double v = (double)of[0][index] + (double)of[1][index];

    *scale = 1;
    if (dtype_is_bytes(ref->dtype))
        v = (double)fmaf(of[1][index] - (zero ? zero[1] : 0), of[2][1],
                         (of[0][index] - (zero ? zero[0] : 0)) * of[2][0]);
    v = ref->relu && v < 0 ? 0 : v;
    return dtype_is_bytes(ref->dtype) ? rint(v) + (zero ? (double)zero[2] : 0) : v;
}

static enum err reference(const struct workload *w, enum exact_data data, struct expected *e)
{
    const struct images s = shape_of(w);
    struct add_ref ref = {{{{NULL}}}, w->dtype, workload_get(w, "relu") != 0};
    enum err failed = glue_data_make(e, (const char *const[]){"a", "b", "scale", "zero"}, &ref.data);

    (void)data;
    if (!failed)
        failed = glue_expect(&s, 1, element, &ref, e);
    glue_data_fini(&ref.data);
    return failed;
}

void add_launch(struct build *b, const char *kernel, int64_t n_groups, int64_t group)
{
    const int64_t grid[] = {n_groups, 1, 1}, block[] = {group, 1, 1};

    build_define(b, "N", add_elems(b->w));
    if (workload_get(b->w, "relu"))
        build_define(b, "RELU", 1);
    build_launch(b, PHASE_RUN, kernel, grid, block,
                 b->w->dtype == DTYPE_U8   ? (const int[]){0, 1, 2, 3, 4, -1}
                 : b->w->dtype == DTYPE_I8 ? (const int[]){0, 1, 2, 3, -1}
                                           : (const int[]){0, 1, 2, -1});
}

static const struct template *const templates[] = {&add_stream, &add_naive, NULL};

const struct operator_desc operator_add = {
    .name = "add",
    .summary = "the sum of two tensors of one shape, with ReLU: a shortcut that no layer takes up",
    .formula = "y = [relu](a + b); i8: y = saturate8(round([relu](fma(b, scale[1], a * scale[0]))))",
    .keys = keys,
    .dtypes = 1u << DTYPE_F32 | 1u << DTYPE_F16 | 1u << DTYPE_I8 | 1u << DTYPE_U8,
    .check = check,
    .flops = flops,
    .bytes_min = operator_bytes_min,
    .tensors = tensors,
    .reference = reference,
    .templates = templates,
};
