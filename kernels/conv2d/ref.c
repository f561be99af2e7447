/* ref.c - conv2d by its definition, in double: samples one by one, projections through linearity over k. */
#include "core/rng.h"
#include "kernels/conv2d/conv2d.h"

#include <stdlib.h>

/* Fills of one pass as host arrays. */
struct data {
    float *x, *w;
};

static enum err make_data(const struct conv_shape *s, const struct program_fill *x, const struct program_fill *w,
                          struct data *out)
{
    const int64_t n_x = s->n * s->c * s->h * s->w, n_w = s->k * s->c * s->r * s->s;
    enum err e;

    out->x = malloc((size_t)n_x * sizeof *out->x);
    out->w = malloc((size_t)n_w * sizeof *out->w);
    if (!out->x || !out->w)
        return ERR_NOMEM;
    e = fill_elems(x, DTYPE_F32, out->x, n_x, NULL);
    return e ? e : fill_elems(w, DTYPE_F32, out->w, n_w, NULL);
}

static void free_data(struct data *d)
{
    free(d->x);
    free(d->w);
}

static double magnitude(double v)
{
    return v < 0 ? -v : v;
}

/* One output element: the sum of products, and of their magnitudes. */
static double element(const struct conv_shape *s, const struct data *d, uint64_t index, double *magnitudes)
{
    const int64_t q = (int64_t)index % s->q, p = (int64_t)index / s->q % s->p;
    const int64_t k = (int64_t)index / (s->q * s->p) % s->k, n = (int64_t)index / (s->q * s->p * s->k);
    double sum = 0, sum_magnitudes = 0;

    for (int64_t c = 0; c < s->c; c++)
        for (int64_t r = 0; r < s->r; r++)
            for (int64_t t = 0; t < s->s; t++) {
                const int64_t y = p * s->stride_h + r * s->dil_h - s->top, x = q * s->stride_w + t * s->dil_w - s->left;
                double product;

                if (y < 0 || y >= s->h || x < 0 || x >= s->w)
                    continue;
                product = (double)d->x[((n * s->c + c) * s->h + y) * s->w + x] *
                          (double)d->w[((k * s->c + c) * s->r + r) * s->s + t];
                sum += product;
                sum_magnitudes += magnitude(product);
            }
    *magnitudes = sum_magnitudes;
    return sum;
}

/* Corners and last rows, columns, channels first, the rest random. */
static void choose(const struct conv_shape *s, size_t n, uint64_t *indices)
{
    const int64_t ks[] = {0, s->k - 1, s->k / 2}, ps[] = {0, s->p - 1, s->p / 2}, qs[] = {0, s->q - 1, s->q / 2};
    const uint64_t total = (uint64_t)(s->n * s->k) * (uint64_t)(s->p * s->q);
    size_t at = 0;

    if ((uint64_t)n == total) {
        for (; at < n; at++)
            indices[at] = at;
        return;
    }
    for (int64_t i = 0; i < 54 && at < n; i++) {
        const int64_t image = i / 27 ? s->n - 1 : 0;

        indices[at++] = (uint64_t)(((image * s->k + ks[i % 3]) * s->p + ps[i / 3 % 3]) * s->q + qs[i / 9 % 3]);
    }
    for (; at < n; at++)
        indices[at] = rng_at(SEED_SAMPLE, at) % total;
}

/* weights[c,r,s] = sum over k of project_weight(k) * w[k,c,r,s]: exact, as exact_bound sees to it. */
static double *combine_weights(const struct conv_shape *s, const float *w)
{
    const int64_t n = s->c * s->r * s->s;
    double *sum = calloc((size_t)n, sizeof *sum);

    for (int64_t k = 0; sum && k < s->k; k++) {
        const double weight = program_project_weight(SEED_PROJECT, k);

        for (int64_t i = 0; i < n; i++)
            sum[i] += weight * (double)w[k * n + i];
    }
    return sum;
}

/* Adds weight * one shifted row of x to one row of the projection. */
static void add_row(const struct conv_shape *s, const float *row, double weight, int64_t shift, double *to)
{
    int64_t q0 = 0, q1 = s->q;

    while (q0 < q1 && q0 * s->stride_w + shift < 0)
        q0++;
    while (q1 > q0 && (q1 - 1) * s->stride_w + shift >= s->w)
        q1--;
    if (s->stride_w == 1)
        for (int64_t q = q0; q < q1; q++)
            to[q] += weight * (double)row[q + shift];
    else
        for (int64_t q = q0; q < q1; q++)
            to[q] += weight * (double)row[q * s->stride_w + shift];
}

static void project_row(const struct conv_shape *s, const float *x, const double *weights, int64_t n, int64_t p,
                        double *to)
{
    for (int64_t c = 0; c < s->c; c++)
        for (int64_t r = 0; r < s->r; r++) {
            const int64_t y = p * s->stride_h + r * s->dil_h - s->top;

            if (y < 0 || y >= s->h)
                continue;
            for (int64_t t = 0; t < s->s; t++)
                add_row(s, x + ((n * s->c + c) * s->h + y) * s->w, weights[(c * s->r + r) * s->s + t],
                        t * s->dil_w - s->left, to);
        }
}

static enum err exact_pass(const struct conv_shape *s, struct expected *e)
{
    struct data d = {NULL, NULL};
    double *weights = NULL, ignored;
    enum err failed = make_data(s, &e->x_exact, &e->w_exact, &d);

    if (!failed && !(weights = combine_weights(s, d.w)))
        failed = ERR_NOMEM;
    if (!failed) {
        for (size_t i = 0; i < e->n_samples; i++)
            e->exact[i] = element(s, &d, e->indices[i], &ignored);
        for (int64_t i = 0; i < s->n * s->p; i++)
            project_row(s, d.x, weights, i / s->p, i % s->p, e->project + i * s->q);
    }
    free(weights);
    free_data(&d);
    return failed;
}

static enum err random_pass(const struct conv_shape *s, struct expected *e)
{
    struct data d = {NULL, NULL};
    enum err failed = make_data(s, &e->x_random, &e->w_random, &d);

    for (size_t i = 0; !failed && i < e->n_samples; i++)
        e->random[i] = element(s, &d, e->indices[i], &e->scale[i]);
    free_data(&d);
    return failed;
}

enum err conv_reference(const struct workload *w, struct expected *e)
{
    const struct conv_shape s = conv_shape_of(w);
    const double terms = (double)(s.c * s.r * s.s), bound = exact_bound(terms, (double)s.k);
    enum err failed;

    if (bound < 1)
        return ERR_LIMIT;
    e->n_samples = sample_count(terms, s.n * s.k * s.p * s.q);
    e->outer = s.n;
    e->axis = s.k;
    e->inner = s.p * s.q;
    expected_fills(e, bound);
    failed = expected_alloc(e);
    if (failed)
        return failed;
    choose(&s, e->n_samples, e->indices);
    failed = exact_pass(&s, e);
    return failed ? failed : random_pass(&s, e);
}
