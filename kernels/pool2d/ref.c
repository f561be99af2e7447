/* SPDX-License-Identifier: MIT */
#include "kernels/pool2d/pool2d.h"

#include <assert.h>
#include <math.h>

#define MOST_STEP ((int64_t)1 << 24)

static int64_t gcd(int64_t a, int64_t b)
{
    return b ? gcd(b, a % b) : a;
}

/* The least number that all counts of an axis' elements in a window divide; MOST_STEP when it is no less. */
static int64_t common_multiple(int64_t size, int64_t before, int64_t window, int64_t stride, int64_t n)
{
    int64_t m = 1;

    for (int64_t i = 0; i < n && m < MOST_STEP; i++) {
        const int64_t from = i * stride - before > 0 ? i * stride - before : 0;
        const int64_t to = i * stride - before + window < size ? i * stride - before + window : size;

        m = m / gcd(m, to - from) * (to - from);
    }
    return m < MOST_STEP ? m : MOST_STEP;
}

static int64_t odd_part(int64_t v)
{
    while (v % 2 == 0)
        v /= 2;
    return v;
}

/* Inputs fit the type; sums, means and the projection are exact. */
static bool fits(const struct workload *w, const struct conv_shape *s, const struct pool_data *d)
{
    const double odd = (double)(odd_part(d->step) * d->bound), all = (double)(d->step * d->bound);

    return (w->dtype != DTYPE_F16 || (odd <= 2048 && all < 65504)) && all <= 16777216.0 &&
           odd * conv_terms(s) <= 16777216.0 && all * (double)s->k * 1048576.0 < 9007199254740992.0;
}

struct pool_data pool2d_exact_data(const struct workload *w)
{
    const struct conv_shape s = conv_shape_of(w);
    struct pool_data d = {1, 1000};

    if (dtype_is_bytes(w->dtype))
        return (struct pool_data){1, 127};
    if (workload_get(w, "kind") == POOL_MAX)
        return d;
    d.step = common_multiple(s.h, s.top, s.r, s.stride_h, s.p);
    d.step *= common_multiple(s.w, s.left, s.s, s.stride_w, s.q);
    for (d.bound = d.step < MOST_STEP ? 7 : 0; d.bound && !fits(w, &s, &d);)
        d.bound--;
    return d;
}

void pool2d_numerics(const struct workload *w, const struct space *s, const struct config *c, struct numerics *inout)
{
    /* Of sums in order, statistically (Higham 2002, 4.2): sqrt(n) units in the last place. Of no other operator all
     * terms may have one sign. */
    const double of_large = ldexp(sqrt((double)(workload_get(w, "r") * workload_get(w, "s"))), -24);

    (void)s;
    (void)c;
    if (workload_get(w, "kind") == POOL_MAX) {
        *inout = (struct numerics){.name = "exact", .data = EXACT_PLAIN, .tolerance = 0};
        return;
    }
    if (!pool2d_exact_data(w).bound)
        inout->data = EXACT_NONE;
    if (inout->tolerance > 0 && inout->tolerance < of_large)
        inout->tolerance = of_large;
}

struct pool_ref {
    struct conv_shape s;
    struct glue_data data;
    enum dtype dtype;
    bool is_avg;
};

/* All elements of one window. */
struct window {
    double largest, sum, magnitudes;
    int64_t n;
};

static struct window window_of(const struct conv_shape *s, const float *plane, int64_t p, int64_t q)
{
    struct window v = {-INFINITY, 0, 0, 0};

    for (int64_t r = 0; r < s->r; r++)
        for (int64_t t = 0; t < s->s; t++) {
            const int64_t row = p * s->stride_h + r - s->top, column = q * s->stride_w + t - s->left;
            double x;

            if (row < 0 || row >= s->h || column < 0 || column >= s->w)
                continue;
            x = (double)plane[(row * s->w + column) * s->x_lanes];
            v.largest = x > v.largest ? x : v.largest;
            v.sum += x;
            v.magnitudes += fabs(x);
            v.n++;
        }
    return v;
}

static double element(const void *arg, bool is_exact, int64_t index, double *scale)
{
    const struct pool_ref *ref = arg;
    const struct conv_shape *s = &ref->s;
    const int64_t lanes = s->y_lanes, pixel = index / lanes % (s->p * s->q), block = index / lanes / (s->p * s->q);
    const float *plane = ref->data.of[is_exact][0] + block * s->h * s->w * lanes + index % lanes;
    const struct window v = window_of(s, plane, pixel / s->q, pixel % s->q);

    assert(v.n > 0); /* no window lies outside as a whole */
    *scale = v.magnitudes / (double)v.n;
    if (!ref->is_avg)
        return v.largest;
    return dtype_is_bytes(ref->dtype) ? rint(v.sum / (double)v.n) : v.sum / (double)v.n;
}

enum err pool2d_reference(const struct workload *w, enum exact_data data, struct expected *e)
{
    struct pool_ref ref = {conv_shape_of(w), {{{NULL}}}, w->dtype, workload_get(w, "kind") == POOL_AVG};
    const int64_t planes = ref.s.n * ref.s.c / ref.s.x_lanes;
    const struct images y = conv_output(&ref.s);
    struct tensor *x = expected_tensor(e, "x");
    enum err failed;

    (void)data;
    if (expected_in_full(e) && !dtype_is_bytes(w->dtype))
        x->random.fold = expected_fold(e, x->n_elems / planes, planes, w->op->flops(w) / (double)planes,
                                       (double)(ref.s.p * ref.s.q * ref.s.y_lanes));
    failed = glue_data_make(e, (const char *const[GLUE_MAX_TENSORS]){"x"}, &ref.data);
    if (!failed)
        failed = glue_expect(&y, conv_terms(&ref.s), element, &ref, e);
    glue_data_fini(&ref.data);
    return failed;
}
