/* SPDX-License-Identifier: MIT */
#include "kernels/norm/epsilon.h"
#include "kernels/norm/norm.h"

#include "core/err.h"
#include "kernels/glue/glue.h"
#include "kernels/images.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KIND_LAYER, KIND_RMS };

static const char *const kinds[] = {"layer", "rms", NULL};

static const struct operator_key keys[] = {
    {"m", KEY_INT, true, 1, IMAGES_MAX_SIZE, 0, NULL, "rows"},
    {"n", KEY_INT, true, 1, IMAGES_MAX_SIZE, 0, NULL, "numbers of a row"},
    {"kind", KEY_WORD, false, 0, 0, 0, kinds, "layer: mean and variance; rms: the mean of squares alone, no bias"},
    {"epsilon", KEY_INT, false, 0, 1000000000000, 10000000, NULL, "added to the variance, in 10^-12"},
    {0},
};

bool norm_is_layer(const struct workload *w)
{
    return workload_get(w, "kind") == KIND_LAYER;
}

static float epsilon_of(const struct workload *w)
{
    return (float)((double)workload_get(w, "epsilon") * NORM_UNIT);
}

static enum err check(const struct workload *w, struct why *why)
{
    return images_check_elems(w, "y", (const int64_t[]){1, 1, workload_get(w, "m"), workload_get(w, "n")}, why);
}

static double flops(const struct workload *w)
{
    return (norm_is_layer(w) ? 7.0 : 4.0) * (double)workload_get(w, "m") * (double)workload_get(w, "n");
}

static struct tensor tensor_of(const struct workload *w, const char *name, enum buffer_role role, int64_t rows)
{
    const int64_t n = workload_get(w, "n");
    struct tensor t = {.name = name, .role = role, .dtype = w->dtype, .n_dims = 1, .shape = {n}, .n_elems = rows * n};

    t.layout = "n";
    if (role != ROLE_WEIGHT) {
        t.n_dims = 2;
        t.shape[0] = rows;
        t.shape[1] = n;
        t.layout = "mn";
    }
    return t;
}

/* Rows whose mean is half their deviation. */
static size_t tensors(const struct workload *w, struct tensor out[OPERATOR_MAX_TENSORS])
{
    const int64_t m = workload_get(w, "m");
    size_t n = 2;

    out[0] = tensor_of(w, "x", ROLE_INPUT, m);
    out[1] = tensor_of(w, "w", ROLE_WEIGHT, 1);
    tensor_fills(&out[0], SEED_X, 7, 2);
    out[0].random.lo = 1;
    tensor_fills(&out[1], SEED_W, 7, 1);
    if (norm_is_layer(w)) {
        out[n] = tensor_of(w, "bias", ROLE_WEIGHT, 1);
        tensor_fills(&out[n++], SEED_BIAS, 7, 1);
    }
    out[n++] = tensor_of(w, "y", ROLE_OUTPUT, m);
    return n;
}

/* Of a row, in double: its mean, the mean of magnitudes, 1 / root of the variance and epsilon; rms: the mean is 0. */
struct row {
    double mean, size, inverse;
};

struct norm_ref {
    int64_t n;
    bool centres;
    double epsilon, least;
    struct glue_data data;
    struct row *rows;
};

static struct row row_of(const struct norm_ref *ref, int64_t m)
{
    const float *x = ref->data.of[0][0] + m * ref->n;
    struct row r = {0, 0, 0};
    double squares = 0;

    for (int64_t i = 0; i < ref->n && ref->centres; i++) {
        r.mean += (double)x[i] / (double)ref->n;
        r.size += fabs((double)x[i]) / (double)ref->n;
    }
    for (int64_t i = 0; i < ref->n; i++)
        squares += ((double)x[i] - r.mean) * ((double)x[i] - r.mean);
    r.inverse = 1 / sqrt(squares / (double)ref->n + ref->epsilon);
    return r;
}

/* The mean's error is a part of the mean of magnitudes, that of a difference a part of both; the rest is relative. */
static double element(const void *arg, bool is_exact, int64_t index, double *scale)
{
    const struct norm_ref *ref = arg;
    const struct row *r = &ref->rows[index / ref->n];
    const double x = (double)ref->data.of[0][0][index], w = (double)ref->data.of[0][1][index % ref->n];
    const double bias = ref->data.of[0][2] ? (double)ref->data.of[0][2][index % ref->n] : 0;

    (void)is_exact;
    *scale = fmax(fabs(w) * r->inverse * (fabs(x - r->mean) + r->size) + fabs(bias), ref->least);
    return (x - r->mean) * r->inverse * w + bias;
}

/* As many rows differ as 2^18 elements are, and eight at the least. */
static void fold_rows(const struct workload *w, struct expected *e)
{
    const int64_t m = workload_get(w, "m"), n = workload_get(w, "n"), few = (1 << 18) / n > 8 ? (1 << 18) / n : 8;

    expected_tensor(e, "x")->random.fold =
        (struct program_fold){.inner = n, .cols = m, .of = few < m ? few : m, .seed = expected_pick(e, 0) >> 16};
}

static enum err reference(const struct workload *w, enum exact_data data, struct expected *e)
{
    const int64_t m = workload_get(w, "m");
    struct norm_ref ref = {.n = workload_get(w, "n"),
                           .centres = norm_is_layer(w),
                           .epsilon = (double)epsilon_of(w),
                           .least = w->dtype == DTYPE_F16 ? 0x1p-14 : 0x1p-100};
    const struct images y = {.n = 1, .c = m, .h = 1, .w = ref.n, .lanes = 1};
    enum err failed;

    (void)data;
    if (expected_in_full(e))
        fold_rows(w, e);
    failed = glue_data_make(e, (const char *const[GLUE_MAX_TENSORS]){"x", "w", "bias"}, &ref.data);
    ref.rows = malloc((size_t)m * sizeof *ref.rows);
    if (!ref.rows)
        failed = ERR_NOMEM;
    for (int64_t i = 0; !failed && i < m; i++)
        ref.rows[i] = row_of(&ref, i);
    if (!failed)
        failed = glue_expect(&y, 1, element, &ref, e);
    free(ref.rows);
    glue_data_fini(&ref.data);
    return failed;
}

void norm_numerics(const struct workload *w, const struct space *s, const struct config *c, struct numerics *inout)
{
    (void)s;
    (void)c;
    *inout = w->dtype == DTYPE_F16 ? (struct numerics){.name = "f16-f32-norm", .data = EXACT_NONE, .tolerance = 1e-3}
                                   : (struct numerics){.name = "f32-norm", .data = EXACT_NONE, .tolerance = 2e-6};
}

void norm_launch(struct build *b, const char *kernel, int64_t n_groups, const int64_t group[2])
{
    const int64_t grid[] = {n_groups, 1, 1}, block[] = {group[0], group[1], 1};
    const float epsilon = epsilon_of(b->w);
    uint32_t bits;

    memcpy(&bits, &epsilon, sizeof bits);
    build_define(b, "M", workload_get(b->w, "m"));
    build_define(b, "N", workload_get(b->w, "n"));
    build_define(b, "CENTRES", norm_is_layer(b->w));
    build_define(b, "EPSILON_BITS", bits);
    build_launch(b, PHASE_RUN, kernel, grid, block,
                 norm_is_layer(b->w) ? (const int[]){0, 1, 2, 3, -1} : (const int[]){0, 1, 2, -1});
}

static const struct template *const templates[] = {&norm_rows, &norm_naive, NULL};

const struct operator_desc operator_norm = {
    .name = "norm",
    .summary = "rows brought to the mean 0 and the variance 1, or to the mean of squares 1",
    .formula = "y[m,n] = (x[m,n] - mean) / sqrt(variance + epsilon) * w[n] + bias[n]; rms: x[m,n] / sqrt(mean of x^2 + "
               "epsilon) * w[n]",
    .keys = keys,
    .dtypes = 1u << DTYPE_F32 | 1u << DTYPE_F16,
    .check = check,
    .flops = flops,
    .bytes_min = operator_bytes_min,
    .tensors = tensors,
    .reference = reference,
    .templates = templates,
};
