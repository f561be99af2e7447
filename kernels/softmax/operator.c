/* SPDX-License-Identifier: MIT */
#include "kernels/softmax/softmax.h"

#include "core/err.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

static const struct operator_key keys[] = {
    {"m", KEY_INT, true, 1, IMAGES_MAX_SIZE, 0, NULL, "rows: the batch"},
    {"n", KEY_INT, true, 1, IMAGES_MAX_SIZE, 0, NULL, "columns: the classes of a row"},
    {0},
};

/* Columns of the projection's axis: weighted sums of so many f32 are exact where all are equal. */
#define EXACT_AXIS 512

static enum err check(const struct workload *w, struct why *why)
{
    return images_check_elems(w, "y", (const int64_t[]){1, 1, workload_get(w, "m"), workload_get(w, "n")}, why);
}

static double flops(const struct workload *w)
{
    return 5.0 * (double)workload_get(w, "m") * (double)workload_get(w, "n");
}

static struct tensor matrix(const struct workload *w, const char *name, enum buffer_role role, enum dtype t)
{
    const int64_t m = workload_get(w, "m"), n = workload_get(w, "n");

    return (struct tensor){
        .name = name, .role = role, .dtype = t, .n_dims = 2, .shape = {m, n}, .n_elems = m * n, .layout = "mn"};
}

/* Values round 100, whose powers no float holds; all 100 in the exact pass, where a row's values are 1 / n. */
static size_t tensors(const struct workload *w, struct tensor out[OPERATOR_MAX_TENSORS])
{
    const bool is_i8 = w->dtype == DTYPE_I8;

    out[0] = matrix(w, "x", ROLE_INPUT, is_i8 ? DTYPE_I32 : w->dtype);
    out[1] = matrix(w, "y", ROLE_OUTPUT, is_i8 ? DTYPE_F32 : w->dtype);
    out[0].exact = (struct program_fill){.kind = FILL_VALUE, .lo = is_i8 ? 10000 : 100};
    out[0].random = (struct program_fill){.kind = FILL_NORMAL, .seed = SEED_X + SEED_RANDOM, .lo = 100, .hi = 2};
    if (!is_i8)
        return 2;
    out[0].random = (struct program_fill){.kind = FILL_INT, .seed = SEED_X + SEED_RANDOM, .lo = 9400, .hi = 10600};
    out[2] = (struct tensor){.name = "scale",
                             .role = ROLE_WEIGHT,
                             .dtype = DTYPE_F32,
                             .n_dims = 1,
                             .shape = {1},
                             .n_elems = 1,
                             .layout = "",
                             .exact = {.kind = FILL_VALUE, .lo = 0.01},
                             .random = {.kind = FILL_VALUE, .lo = 0.01}};
    return 3;
}

/* Of each row, in double: the largest value and the sum of powers above it. */
struct row {
    double top, sum;
};

struct softmax_ref {
    int64_t n;
    struct glue_data data;
    struct row *rows; /* of the random pass */
    int32_t *ints;    /* its x where it is i32, which floats do not hold; else NULL */
    double least;     /* below it errors are absolute */
};

static double value(const struct softmax_ref *ref, bool is_exact, int64_t index)
{
    const float *scale = ref->data.of[is_exact][1];
    const double x = ref->ints && !is_exact ? ref->ints[index] : (double)ref->data.of[is_exact][0][index];

    return x * (scale ? (double)scale[0] : 1);
}

static struct row row_of(const struct softmax_ref *ref, int64_t m)
{
    struct row r = {value(ref, false, m * ref->n), 0};

    for (int64_t i = m * ref->n; i < (m + 1) * ref->n; i++)
        r.top = fmax(r.top, value(ref, false, i));
    for (int64_t i = m * ref->n; i < (m + 1) * ref->n; i++)
        r.sum += exp(value(ref, false, i) - r.top);
    assert(r.sum >= 1); /* the largest's share */
    return r;
}

static double element(const void *arg, bool is_exact, int64_t index, double *scale)
{
    const struct softmax_ref *ref = arg;
    const struct row *r = &ref->rows[index / ref->n];
    const double y = is_exact ? (double)(float)(1 / (double)ref->n) : exp(value(ref, false, index) - r->top) / r->sum;

    *scale = fmax(y, ref->least);
    return y;
}

static enum err expect(const struct workload *w, struct softmax_ref *ref, struct expected *e)
{
    const int64_t m = workload_get(w, "m"), n = ref->n;
    struct images y = {.n = m, .c = 1, .h = 1, .w = n, .lanes = 1};

    ref->rows = malloc((size_t)m * sizeof *ref->rows);
    if (!ref->rows)
        return ERR_NOMEM;
    for (int64_t i = 0; i < m; i++)
        ref->rows[i] = row_of(ref, i);
    for (int64_t k = 2; k <= EXACT_AXIS; k++)
        if (m % k == 0) {
            y.n = m / k;
            y.c = k;
        }
    assert(y.n * y.c == m);
    return glue_expect(&y, 1, element, ref, e);
}

static enum err make_ints(const struct tensor *x, int32_t **out)
{
    *out = malloc((size_t)x->n_elems * sizeof **out);
    return *out ? fill_elems(&x->random, DTYPE_I32, *out, x->n_elems, NULL) : ERR_NOMEM;
}

/* As many rows differ as 2^18 elements are, and eight at the least: one of each kind. Of rows so long that eight are no
 * blob samples are compared. */
static void fold_rows(const struct workload *w, struct expected *e)
{
    const int64_t m = workload_get(w, "m"), n = workload_get(w, "n"), few = (1 << 18) / n > 8 ? (1 << 18) / n : 8;

    if (n * 8 > EXPECT_MAX_VALUES)
        return;
    expected_tensor(e, "x")->random.fold =
        (struct program_fold){.inner = n, .cols = m, .of = few < m ? few : m, .seed = expected_pick(e, 0) >> 16};
}

static enum err reference(const struct workload *w, enum exact_data data, struct expected *e)
{
    struct softmax_ref ref = {.n = workload_get(w, "n"), .least = w->dtype == DTYPE_F16 ? 0x1p-14 : 0x1p-100};
    enum err failed;

    if (expected_in_full(e))
        fold_rows(w, e);
    failed = glue_data_make(e, (const char *const[GLUE_MAX_TENSORS]){"x", "scale"}, &ref.data);

    (void)data;
    if (!failed && w->dtype == DTYPE_I8)
        failed = make_ints(expected_tensor(e, "x"), &ref.ints);
    if (!failed)
        failed = expect(w, &ref, e);
    free(ref.ints);
    free(ref.rows);
    glue_data_fini(&ref.data);
    return failed;
}

void softmax_numerics(const struct workload *w, const struct space *s, const struct config *c, struct numerics *inout)
{
    (void)s;
    (void)c;
    *inout = w->dtype == DTYPE_F16
                 ? (struct numerics){.name = "f16-f32-softmax", .data = EXACT_PLAIN, .tolerance = 2e-3}
                 : (struct numerics){.name = "f32-softmax", .data = EXACT_PLAIN, .tolerance = 1e-5};
}

void softmax_launch(struct build *b, const char *kernel, int64_t n_groups, const int64_t group[2])
{
    const int64_t grid[] = {n_groups, 1, 1}, block[] = {group[0], group[1], 1};

    build_define(b, "M", workload_get(b->w, "m"));
    build_define(b, "N", workload_get(b->w, "n"));
    build_launch(b, PHASE_RUN, kernel, grid, block,
                 b->w->dtype == DTYPE_I8 ? (const int[]){0, 1, 2, -1} : (const int[]){0, 1, -1});
}

static const struct template *const templates[] = {&softmax_rows, &softmax_naive, NULL};

const struct operator_desc operator_softmax = {
    .name = "softmax",
    .summary = "each row's powers of e as parts of their sum",
    .formula = "y[m,n] = exp(x[m,n]) / sum over n of exp(x[m,n]); i8: x is i32, times scale[0], y f32",
    .keys = keys,
    .dtypes = 1u << DTYPE_F32 | 1u << DTYPE_F16 | 1u << DTYPE_I8,
    .check = check,
    .flops = flops,
    .bytes_min = operator_bytes_min,
    .tensors = tensors,
    .reference = reference,
    .templates = templates,
};
