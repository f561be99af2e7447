/* SPDX-License-Identifier: MIT */
#include "kernels/resize2d/resize2d.h"

#include "core/err.h"

#include <math.h>
#include <stdlib.h>

#define MOST ((int64_t)INT32_MAX)

static const char *const kinds[] = {"nearest", "linear", NULL};

static const struct operator_key keys[] = {
    {"n", KEY_INT, true, 1, IMAGES_MAX_SIZE, 0, NULL, "batch"},
    {"c", KEY_INT, true, 1, IMAGES_MAX_SIZE, 0, NULL, "channels"},
    {"h", KEY_INT, true, 1, IMAGES_MAX_SIZE, 0, NULL, "input rows"},
    {"w", KEY_INT, true, 1, IMAGES_MAX_SIZE, 0, NULL, "input columns"},
    {"size", KEY_PAIR, true, 1, IMAGES_MAX_SIZE, 0, NULL, "output rows and columns"},
    {"step", KEY_PAIR, true, -MOST, MOST, 0, NULL, "from one output to the next, in units"},
    {"first", KEY_PAIR, false, -MOST, MOST, 0, NULL, "place of the first output, in units"},
    {"unit", KEY_PAIR, false, 1, MOST, 1, NULL, "of which so many are from one element of x to the next"},
    {"kind", KEY_WORD, false, 0, 0, 0, kinds, "the element in front of the place, or the mean of those around it"},
    {"layout", KEY_WORD, false, 0, 0, 0, images_layouts, "layout of input and output"},
    {0},
};

static struct resize_axis axis_of(const struct workload *w, const char *size, int part)
{
    return (struct resize_axis){.n = workload_get(w, size),
                                .size = workload_part(w, "size", part),
                                .step = workload_part(w, "step", part),
                                .first = workload_part(w, "first", part),
                                .unit = workload_part(w, "unit", part)};
}

struct resize_shape resize2d_shape(const struct workload *w)
{
    return (struct resize_shape){.n = workload_get(w, "n"),
                                 .c = workload_get(w, "c"),
                                 .lanes = images_lanes(workload_get(w, "layout"), workload_get(w, "c")),
                                 .rows = axis_of(w, "h", 0),
                                 .cols = axis_of(w, "w", 1),
                                 .is_linear = workload_get(w, "kind") == 1};
}

/* Places are computed in 32 bits. */
static bool fits(const struct resize_axis *a)
{
    return llabs((a->size - 1) * a->step) + llabs(a->first) <= MOST && a->n * a->unit <= MOST;
}

static enum err check(const struct workload *w, struct why *why)
{
    const struct resize_shape s = resize2d_shape(w);
    enum err e = images_check_layout(w, "layout", why);

    if (!e && (!fits(&s.rows) || !fits(&s.cols)))
        e = why_set(why, ERR_LIMIT, "resize2d: places over %lld units", (long long)MOST);
    if (!e)
        e = images_check_elems(w, "x", (const int64_t[]){s.n, s.c, s.rows.n, s.cols.n}, why);
    return e ? e : images_check_elems(w, "y", (const int64_t[]){s.n, s.c, s.rows.size, s.cols.size}, why);
}

/* An element that is taken counts as one, a mean of four as two multiplications and an addition of two, three times. */
static double flops(const struct workload *w)
{
    const struct resize_shape s = resize2d_shape(w);

    return (s.is_linear ? 9.0 : 1.0) * (double)(s.n * s.c) * (double)(s.rows.size * s.cols.size);
}

/* Elements of an axis that are read. */
static int64_t touched(const struct resize_axis *a, bool is_linear)
{
    int64_t n = 0, before = -1;

    for (int64_t i = 0; i < a->size; i++) {
        const int64_t at = i * a->step + a->first, k = at < 0 ? 0 : at / a->unit < a->n ? at / a->unit : a->n - 1;
        const int64_t more = is_linear && at > 0 && at % a->unit && k + 1 < a->n;

        n += (k != before) + more;
        before = more ? k + 1 : k;
    }
    return n < a->n ? n : a->n;
}

static double bytes_min(const struct workload *w)
{
    const struct resize_shape s = resize2d_shape(w);
    const double read = (double)touched(&s.rows, s.is_linear) * (double)touched(&s.cols, s.is_linear);

    return (double)(s.n * s.c) * (read + (double)(s.rows.size * s.cols.size)) * (double)dtype_bytes(w->dtype);
}

/* Multiples of `step` fill the exact pass, up to `bound` times it: their means are whole, and fit the type. bound 0:
 * there are none. */
static int64_t exact_data(const struct workload *w, int64_t *step)
{
    const struct resize_shape s = resize2d_shape(w);
    const int64_t units = s.rows.unit > 4096 || s.cols.unit > 4096 ? MOST : s.rows.unit * s.cols.unit;
    const int64_t most = w->dtype == DTYPE_F16 ? 2048 : 1 << 20;

    *step = s.is_linear ? units : 1;
    if (!s.is_linear)
        return 1000;
    if ((s.rows.unit & (s.rows.unit - 1)) || (s.cols.unit & (s.cols.unit - 1)))
        return 0; /* weights are rounded */
    return most / units < 7 ? most / units : 7;
}

static size_t tensors(const struct workload *w, struct tensor out[OPERATOR_MAX_TENSORS])
{
    const struct resize_shape s = resize2d_shape(w);
    int64_t step;
    const int64_t bound = exact_data(w, &step);

    out[0] = images_tensor("x", ROLE_INPUT, w->dtype, workload_get(w, "layout"),
                           (const int64_t[]){s.n, s.c, s.rows.n, s.cols.n});
    out[1] = images_tensor("y", ROLE_OUTPUT, w->dtype, workload_get(w, "layout"),
                           (const int64_t[]){s.n, s.c, s.rows.size, s.cols.size});
    tensor_fills(&out[0], SEED_X, (double)(bound ? bound : 1), 1);
    if (bound && step > 1)
        out[0].exact.step = (double)step;
    return 2;
}

struct resize_ref {
    struct resize_shape s;
    struct glue_data data;
};

/* The place of output i between the elements of an axis. */
static double place(const struct resize_axis *a, int64_t i)
{
    const double at = (double)(i * a->step + a->first) / (double)a->unit;

    return fmin(fmax(at, 0), (double)(a->n - 1));
}

static double element(const void *arg, bool is_exact, int64_t index, double *scale)
{
    const struct resize_ref *ref = arg;
    const struct resize_shape *s = &ref->s;
    const int64_t area = s->rows.size * s->cols.size, pixel = index / s->lanes % area;
    const float *plane = ref->data.of[is_exact][0] + index / s->lanes / area * s->rows.n * s->cols.n * s->lanes;
    const double h = place(&s->rows, pixel / s->cols.size), w = place(&s->cols, pixel % s->cols.size);
    double y = 0;

    *scale = 0;
    for (int64_t r = 0; r < 2; r++)
        for (int64_t c = 0; c < 2; c++) {
            const double part_h = s->is_linear ? fabs(1 - (double)r - (h - floor(h))) : (double)!r;
            const double part_w = s->is_linear ? fabs(1 - (double)c - (w - floor(w))) : (double)!c;
            const int64_t row = (int64_t)h + (part_h > 0 ? r : 0), column = (int64_t)w + (part_w > 0 ? c : 0);
            const double v = (double)plane[(row * s->cols.n + column) * s->lanes + index % s->lanes];

            y += part_h * part_w * v;
            *scale += part_h * part_w * fabs(v);
        }
    return y;
}

static enum err reference(const struct workload *w, enum exact_data data, struct expected *e)
{
    struct resize_ref ref = {resize2d_shape(w), {{{NULL}}}};
    const struct resize_shape *s = &ref.s;
    const struct images y = {s->n, s->c, s->rows.size, s->cols.size, s->lanes};
    struct tensor *x = expected_tensor(e, "x");
    const int64_t planes = s->n * s->c / s->lanes;
    enum err failed;

    (void)data;
    if (e->mode == EXPECT_FOLDED)
        x->random.fold = expected_fold(e, x->n_elems / planes, planes, flops(w) / (double)planes,
                                       (double)(s->rows.size * s->cols.size * s->lanes));
    failed = glue_data_make(e, (const char *const[GLUE_MAX_TENSORS]){"x"}, &ref.data);
    if (!failed)
        failed = glue_expect(&y, 4, element, &ref, e);
    glue_data_fini(&ref.data);
    return failed;
}

static int64_t divisor(int64_t a, int64_t b)
{
    return b ? divisor(b, a % b) : a;
}

struct resize_period resize2d_period(const struct resize_axis *a)
{
    const int64_t common = divisor(a->unit, a->step);

    return (struct resize_period){a->unit / common, a->step / common};
}

enum err resize2d_space(const struct workload *w, const struct device_desc *d, const struct build_knob *knobs,
                        const char *const (*quantities)[2], const char *const *constraints, struct space *s,
                        struct why *why)
{
    const struct resize_shape z = resize2d_shape(w);
    const struct build_named constants[] = {{"planes", (double)(z.n * z.c / z.lanes)},
                                            {"lanes_n", (double)z.lanes},
                                            {"size_p", (double)z.rows.size},
                                            {"size_q", (double)z.cols.size},
                                            {"row_up", (double)z.rows.size / (double)z.rows.n},
                                            {"col_up", (double)z.cols.size / (double)z.cols.n},
                                            {"is_linear", (double)z.is_linear},
                                            {"elem_bytes", (double)dtype_bytes(w->dtype)},
                                            {"lanes", (double)build_vector(d)},
                                            {"max_group", (double)build_max_group(d)},
                                            {"max_x", (double)build_max_side(d, 0)},
                                            {NULL, 0}};

    return build_space(s, constants, knobs, quantities, constraints, why);
}

void resize2d_define(struct build *b)
{
    const struct resize_shape s = resize2d_shape(b->w);

    build_define(b, "PLANES", s.n * s.c / s.lanes);
    build_define(b, "LANES", s.lanes);
    build_define(b, "LINEAR", s.is_linear);
    build_define(b, "H", s.rows.n);
    build_define(b, "W", s.cols.n);
    build_define(b, "P", s.rows.size);
    build_define(b, "Q", s.cols.size);
    build_define(b, "ROW_STEP", s.rows.step);
    build_define(b, "ROW_FIRST", s.rows.first);
    build_define(b, "ROW_UNIT", s.rows.unit);
    build_define(b, "COL_STEP", s.cols.step);
    build_define(b, "COL_FIRST", s.cols.first);
    build_define(b, "COL_UNIT", s.cols.unit);
}

void resize2d_numerics(const struct workload *w, const struct space *s, const struct config *c, struct numerics *inout)
{
    int64_t step;

    if (workload_get(w, "kind") == 0)
        numerics_exact(w, s, c, inout);
    else if (!exact_data(w, &step))
        inout->data = EXACT_NONE;
}

static const struct template *const templates[] = {&resize2d_rows, &resize2d_pixels, &resize2d_naive, NULL};

const struct operator_desc operator_resize2d = {
    .name = "resize2d",
    .summary = "images of other sizes: the nearest elements, or means of those around",
    .formula = "y[n,c,p,q] = x[n,c,h,w], or the linear mean around, h = (p*step+first)/unit, w alike",
    .keys = keys,
    .dtypes = 1u << DTYPE_F32 | 1u << DTYPE_F16,
    .check = check,
    .flops = flops,
    .bytes_min = bytes_min,
    .tensors = tensors,
    .reference = reference,
    .templates = templates,
};
