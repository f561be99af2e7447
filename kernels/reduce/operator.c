/* SPDX-License-Identifier: MIT */
#include "kernels/reduce/reduce.h"

#include "core/err.h"
#include "kernels/glue/glue.h"

#include <math.h>

static const char *const kinds[] = {"sum", "mean",       "max",     "min",         "prod", "l1",
                                    "l2",  "sum_square", "log_sum", "log_sum_exp", NULL};

static const struct operator_key keys[] = {
    {"outer", KEY_INT, false, 1, IMAGES_MAX_SIZE, 1, NULL, "rows of y"},
    {"n", KEY_INT, true, 1, IMAGES_MAX_SIZE, 0, NULL, "numbers that become one"},
    {"inner", KEY_INT, false, 1, IMAGES_MAX_SIZE, 1, NULL, "columns of y: the distance between those numbers"},
    {"kind", KEY_WORD, false, 0, 0, 0, kinds, "what they become"},
    {0},
};

static int64_t outer_of(const struct workload *w)
{
    return workload_get(w, "outer");
}

static int64_t n_of(const struct workload *w)
{
    return workload_get(w, "n");
}

static int64_t inner_of(const struct workload *w)
{
    return workload_get(w, "inner");
}

static enum err check(const struct workload *w, struct why *why)
{
    return images_check_elems(w, "x", (const int64_t[]){1, outer_of(w), n_of(w), inner_of(w)}, why);
}

static double flops(const struct workload *w)
{
    return (double)outer_of(w) * (double)n_of(w) * (double)inner_of(w);
}

bool reduce_takes_any(const struct workload *w)
{
    const int64_t kind = workload_get(w, "kind");

    return kind != REDUCE_PROD && kind != REDUCE_LOG_SUM && (w->dtype == DTYPE_F32 || kind != REDUCE_SUM_SQUARE);
}

/* Whole numbers up to it fill the exact pass: their sums, or those of their squares, are below 2^24, and what is stored
 * of f16 below 2^11; means are whole, of multiples of n. 0: the kind is not exact, or there are none. */
static double whole_bound(const struct workload *w)
{
    const int64_t kind = workload_get(w, "kind");
    const double n = (double)n_of(w), most = w->dtype == DTYPE_F16 ? 2048 : 16777216;

    for (double b = 7; b >= 1; b--)
        if (kind == REDUCE_MAX || kind == REDUCE_MIN || ((kind == REDUCE_SUM || kind == REDUCE_L1) && n * b <= most) ||
            (kind == REDUCE_SUM_SQUARE && n * b * b <= most) ||
            (kind == REDUCE_MEAN && n * b <= most && n * n * b <= 16777216))
            return b;
    return 0;
}

static size_t tensors(const struct workload *w, struct tensor out[OPERATOR_MAX_TENSORS])
{
    const int64_t outer = outer_of(w), n = n_of(w), inner = inner_of(w), kind = workload_get(w, "kind");
    const double bound = whole_bound(w);

    out[0] = (struct tensor){.name = "x",
                             .role = ROLE_INPUT,
                             .dtype = w->dtype,
                             .n_dims = 3,
                             .shape = {outer, n, inner},
                             .n_elems = outer * n * inner,
                             .layout = ""};
    out[1] = (struct tensor){.name = "y",
                             .role = ROLE_OUTPUT,
                             .dtype = w->dtype,
                             .n_dims = 2,
                             .shape = {outer, inner},
                             .n_elems = outer * inner,
                             .layout = ""};
    tensor_fills(&out[0], SEED_X, bound > 0 ? bound : 1,
                 kind == REDUCE_PROD      ? 0.05
                 : kind == REDUCE_LOG_SUM ? 0.25
                                          : 1);
    out[0].random.lo = kind == REDUCE_PROD ? 1 : kind == REDUCE_LOG_SUM ? 2 : 0;
    if (kind == REDUCE_MAX || kind == REDUCE_MIN) /* all on one side of 0 */
        out[0].random.lo = kind == REDUCE_MAX ? -16 : 16;
    if (kind == REDUCE_MEAN)
        out[0].exact.step = (double)n;
    return 2;
}

struct reduce_ref {
    struct glue_data data;
    int64_t n, inner, kind;
    double least; /* of a scale */
};

/* Of the numbers x[0], x[step] ...: their sum, sum of magnitudes, of squares, product, largest, least. */
struct totals {
    double sum, l1, squares, product, top, bottom;
};

static struct totals totals_of(const float *x, int64_t n, int64_t step)
{
    struct totals t = {0, 0, 0, 1, -INFINITY, INFINITY};

    for (int64_t i = 0; i < n; i++) {
        const double v = (double)x[i * step];

        t.sum += v;
        t.l1 += fabs(v);
        t.squares += v * v;
        t.product *= v;
        t.top = fmax(t.top, v);
        t.bottom = fmin(t.bottom, v);
    }
    return t;
}

static double log_sum_exp(const float *x, int64_t n, int64_t step, double top)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += exp((double)x[i * step] - top);
    return top + log(sum);
}

static double element(const void *arg, bool is_exact, int64_t index, double *scale)
{
    const struct reduce_ref *ref = arg;
    const float *x = ref->data.of[is_exact][0] + index / ref->inner * ref->n * ref->inner + index % ref->inner;
    const struct totals t = totals_of(x, ref->n, ref->inner);
    const double n = (double)ref->n;
    double y = t.sum;

    *scale = t.l1;
    switch ((enum reduce_kind)ref->kind) {
    case REDUCE_SUM:
        break;
    case REDUCE_MEAN:
        y = t.sum / n;
        *scale = t.l1 / n;
        break;
    case REDUCE_MAX:
        y = t.top;
        break;
    case REDUCE_MIN:
        y = t.bottom;
        break;
    case REDUCE_PROD:
        y = t.product;
        *scale = fabs(y) * (1 + n / 16); /* a rounding each */
        break;
    case REDUCE_L1:
        y = t.l1;
        break;
    case REDUCE_L2:
        *scale = y = sqrt(t.squares);
        break;
    case REDUCE_SUM_SQUARE:
        *scale = y = t.squares;
        break;
    case REDUCE_LOG_SUM:
        y = log(t.sum);
        *scale = 1 + fabs(y); /* the sum's error, relative, is absolute behind log */
        break;
    case REDUCE_LOG_SUM_EXP:
        y = log_sum_exp(x, ref->n, ref->inner, t.top);
        *scale = 1 + fabs(y);
        break;
    }
    *scale = fmax(*scale, ref->least);
    return y;
}

static enum err reference(const struct workload *w, enum exact_data kind, struct expected *e)
{
    const struct images y = {.n = outer_of(w), .c = 1, .h = 1, .w = inner_of(w), .lanes = 1};
    struct reduce_ref ref = {.n = n_of(w),
                             .inner = inner_of(w),
                             .kind = workload_get(w, "kind"),
                             .least = w->dtype == DTYPE_F16 ? 0x1p-14 : 0x1p-100};
    enum err failed = glue_data_make(e, (const char *const[GLUE_MAX_TENSORS]){"x"}, &ref.data);

    (void)kind;
    if (!failed)
        failed = glue_expect(&y, (double)ref.n, element, &ref, e);
    glue_data_fini(&ref.data);
    return failed;
}

void reduce_numerics(const struct workload *w, const struct space *s, const struct config *c, struct numerics *inout)
{
    const int64_t kind = workload_get(w, "kind");
    const enum exact_data data = whole_bound(w) > 0 ? EXACT_PLAIN : EXACT_NONE;

    (void)s;
    (void)c;
    *inout = kind == REDUCE_MAX || kind == REDUCE_MIN
                 ? (struct numerics){.name = "exact", .data = EXACT_PLAIN, .tolerance = 0}
             : w->dtype == DTYPE_F16 ? (struct numerics){.name = "f16-f32-reduce", .data = data, .tolerance = 2e-3}
                                     : (struct numerics){.name = "f32-reduce", .data = data, .tolerance = 2e-6};
}

void reduce_launch(struct build *b, const char *kernel, int64_t n_groups, const int64_t group[2])
{
    const int64_t grid[] = {n_groups, 1, 1}, block[] = {group[0], group[1], 1};

    build_define(b, "OUTER", outer_of(b->w));
    build_define(b, "N", n_of(b->w));
    build_define(b, "INNER", inner_of(b->w));
    build_define(b, "KIND", workload_get(b->w, "kind"));
    build_launch(b, PHASE_RUN, kernel, grid, block, (const int[]){0, 1, -1});
}

static const struct template *const templates[] = {&reduce_rows, &reduce_naive, NULL};

const struct operator_desc operator_reduce = {
    .name = "reduce",
    .summary = "the sum, mean, largest ... of the numbers along an axis",
    .formula = "y[o,i] = sum over n of x[o,n,i]; mean, max, min, prod; of |x|, of x^2 and its root; log(sum x), "
               "log(sum exp x)",
    .keys = keys,
    .dtypes = 1u << DTYPE_F32 | 1u << DTYPE_F16,
    .check = check,
    .flops = flops,
    .bytes_min = operator_bytes_min,
    .tensors = tensors,
    .reference = reference,
    .templates = templates,
};
