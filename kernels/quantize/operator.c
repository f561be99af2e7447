/* SPDX-License-Identifier: MIT */
#include "core/err.h"
#include "kernels/epilogue.h"
#include "kernels/glue/glue.h"
#include "kernels/quantize/quantize.h"

#include <math.h>

#define MOST_ELEMS (((int64_t)1 << 31) - 1)

static const struct operator_key keys[] = {
    {"n", KEY_INT, true, 1, MOST_ELEMS, 0, NULL, "elements"},
    {"back", KEY_INT, false, 0, 1, 0, NULL, "1: bytes to floats"},
    {0},
};

static enum err check(const struct workload *w, struct why *why)
{
    (void)w;
    (void)why;
    return ERR_OK;
}

static bool is_back(const struct workload *w)
{
    return workload_get(w, "back") != 0;
}

/* A product or quotient, and a zero point. */
static double flops(const struct workload *w)
{
    return 2 * (double)workload_get(w, "n");
}

static struct tensor of(const struct workload *w, const char *name, enum buffer_role role, bool is_bytes)
{
    return (struct tensor){.name = name,
                           .role = role,
                           .dtype = is_bytes ? w->dtype : DTYPE_F32,
                           .n_dims = 1,
                           .shape = {workload_get(w, "n")},
                           .n_elems = workload_get(w, "n"),
                           .layout = ""};
}

/* In the exact pass quotients by 7 of halves: some lie between two bytes, and are rounded to the even one. */
static size_t tensors(const struct workload *w, struct tensor out[OPERATOR_MAX_TENSORS])
{
    out[0] = of(w, "x", ROLE_INPUT, is_back(w));
    out[1] = of(w, "y", ROLE_OUTPUT, !is_back(w));
    if (is_back(w))
        byte_fills(&out[0], SEED_X);
    else
        out[0].exact = (struct program_fill){.kind = FILL_INT, .seed = SEED_X, .lo = -2400, .hi = 2400, .step = 0.5};
    if (!is_back(w))
        out[0].random = (struct program_fill){.kind = FILL_NORMAL, .seed = SEED_X + SEED_RANDOM, .lo = 0, .hi = 1};
    out[2] = (struct tensor){.name = "scale",
                             .role = ROLE_WEIGHT,
                             .dtype = DTYPE_F32,
                             .n_dims = 1,
                             .shape = {1},
                             .n_elems = 1,
                             .layout = "",
                             .exact = {.kind = FILL_VALUE, .lo = 7},
                             .random = {.kind = FILL_NORMAL, .seed = SEED_SCALE, .lo = 0.02, .hi = 0.002}};
    out[3] = zero_points(1);
    return 4;
}

struct quantize_ref {
    struct glue_data data;
    bool back;
};

static double element(const void *arg, bool is_exact, int64_t index, double *scale)
{
    const struct quantize_ref *ref = arg;
    float *const *of = ref->data.of[is_exact];
    const float x = of[0][index], by = of[1][0], zero = of[2][0];
    const double byte = (double)rintf(x / by) + (double)zero;

    *scale = 1;
    return ref->back ? (double)((x - zero) * by) : fmin(fmax(byte, 0), 255);
}

static enum err reference(const struct workload *w, enum exact_data data, struct expected *e)
{
    const struct images y = {1, 1, 1, workload_get(w, "n"), 1};
    struct quantize_ref ref = {{{{NULL}}}, is_back(w)};
    enum err failed = glue_data_make(e, (const char *const[GLUE_MAX_TENSORS]){"x", "scale", "zero"}, &ref.data);

    (void)data;
    if (!failed)
        failed = glue_expect(&y, 1, element, &ref, e);
    glue_data_fini(&ref.data);
    return failed;
}

void quantize_launch(struct build *b, const char *kernel, int64_t n_groups, int64_t group)
{
    const int64_t grid[] = {n_groups, 1, 1}, block[] = {group, 1, 1};

    build_define(b, "N", workload_get(b->w, "n"));
    if (is_back(b->w))
        build_define(b, "BACK", 1);
    build_launch(b, PHASE_RUN, kernel, grid, block, (const int[]){0, 1, 2, 3, -1});
}

static const struct template *const templates[] = {&quantize_stream, &quantize_naive, NULL};

const struct operator_desc operator_quantize = {
    .name = "quantize",
    .summary = "floats made bytes of a scale and zero point, or bytes floats",
    .formula = "y = saturate8(round(x / scale[0]) + zero[0]); back=1: y = (x - zero[0]) * scale[0]",
    .keys = keys,
    .dtypes = 1u << DTYPE_U8,
    .check = check,
    .flops = flops,
    .bytes_min = operator_bytes_min,
    .tensors = tensors,
    .reference = reference,
    .templates = templates,
};
