/* SPDX-License-Identifier: MIT */
/* ref.c - matrix products by their definition, in double. The weights (up to 8 GB) are never held: their elements are
 * made when needed. */
#include "core/err.h"
#include "kernels/epilogue.h"
#include "kernels/expect.h"
#include "kernels/gemm/gemm.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Blocks of x as whole multiples, up to 127, of a power of two: that of the block looked at last. */
struct rounding {
    int64_t first; /* element of x; -1: none yet */
    double step;
};

/* Tensors of the workload; NULL where it has none. */
struct parts {
    const struct tensor *x, *w, *bias, *residual, *scale, *sum_scale, *zero;
    const struct tensor *w_scale, *w_zero; /* of weights of 4 bits in blocks (kernels/dense4) */
    int64_t k, block;
    struct rounding *rounding; /* NULL: x is taken as it is */
    bool exact;
    unsigned bits;
    float sum_scales[2], zeros[4]; /* of the tensors of these names */
};

static double at(const struct parts *a, const struct tensor *t, int64_t i)
{
    return t ? fill_elem(a->exact ? &t->exact : &t->random, t->dtype, i) : 0;
}

static struct parts parts_of(const struct workload *w, struct expected *e, bool exact, struct rounding *rounding)
{
    struct parts a = {.x = expected_tensor(e, "x"),
                      .w = expected_tensor(e, "w"),
                      .bias = expected_tensor(e, "bias"),
                      .residual = expected_tensor(e, "residual"),
                      .scale = expected_tensor(e, "scale"),
                      .sum_scale = expected_tensor(e, "sum_scale"),
                      .zero = expected_tensor(e, "zero"),
                      .w_scale = expected_tensor(e, "w_scale"),
                      .w_zero = expected_tensor(e, "w_zero"),
                      .k = workload_get(w, "k"),
                      .block = workload_has(w, "block") ? workload_get(w, "block") : 0,
                      .rounding = workload_has(w, "bytes") && workload_get(w, "bytes") ? rounding : NULL,
                      .exact = exact,
                      .bits = workload_has(w, "epilogue") ? epilogue_of(w) : 0};

    for (int64_t i = 0; i < 2; i++)
        a.sum_scales[i] = (float)at(&a, a.sum_scale, i);
    for (int64_t i = 0; a.zero && i < a.zero->n_elems; i++)
        a.zeros[i] = (float)at(&a, a.zero, i);
    return a;
}

/* The power of two of the block that begins at element `first` of x; it has `n` elements. */
static double step_of(const struct parts *a, int64_t first, int64_t n)
{
    double most = 0;
    int exponent;

    for (int64_t i = 0; i < n; i++)
        most = fmax(most, fabs(at(a, a->x, first + i)));
    most = frexp(most, &exponent); /* in 1/2 .. 1 */
    exponent += most > 127.0 / 128 ? -6 : -7;
    return ldexp(1, exponent < -126 ? -126 : exponent);
}

/* Element i of x without its zero point, or rounded. */
static double x_at(const struct parts *a, int64_t i)
{
    const int64_t k = i % a->k / (a->block ? a->block : 1) * a->block, first = i - i % a->k + k;
    struct rounding *r = a->rounding;

    if (!r)
        return at(a, a->x, i) - (double)a->zeros[0];
    if (r->first != first)
        *r = (struct rounding){first, step_of(a, first, a->k - k < a->block ? a->k - k : a->block)};
    return rint(at(a, a->x, i) / r->step) * r->step;
}

/* Element k of a row of w: with w_scale two are in a byte, the first in its lower half, and rows in whole blocks. */
static double w_at(const struct parts *a, int64_t row, int64_t k)
{
    const int64_t block = a->w_scale ? row * ((a->k + a->block - 1) / a->block) + k / a->block : 0;
    int byte;

    if (!a->w_scale)
        return at(a, a->w, row * a->k + k);
    byte = (int)at(a, a->w, block * (a->block / 2) + k % a->block / 2);
    return ((k % 2 ? byte / 16 : byte % 16) - (a->w_zero ? at(a, a->w_zero, block) : 8)) * at(a, a->w_scale, block);
}

/* What is written for the sum of feature n, element i of y. */
static double finish(const struct parts *a, int64_t n, int64_t i, double sum)
{
    return epilogue_apply(a->bits, sum,
                          &(struct epilogue_values){at(a, a->bias, n), at(a, a->residual, i), at(a, a->scale, n),
                                                    a->sum_scales, a->zero ? a->zeros : NULL});
}

static double magnitude(double v)
{
    return v < 0 ? -v : v;
}

static double element(const struct gemm_shape *s, const struct parts *a, uint64_t index, double *scale)
{
    const int64_t m = (int64_t)index / s->n, n = (int64_t)index % s->n, row = m / s->m * s->n + n;
    double sum = 0;

    assert(m < s->b * s->m);
    *scale = epilogue_scale(a->bits) + magnitude(at(a, a->bias, n)) + magnitude(at(a, a->residual, (int64_t)index));
    for (int64_t k = 0; k < s->k; k++) {
        const double product = x_at(a, m * s->k + k) * w_at(a, row, k);

        sum += product;
        *scale += magnitude(product);
    }
    return finish(a, n, (int64_t)index, sum);
}

static void choose(const struct gemm_shape *s, const struct expected *e, size_t n, uint64_t *indices)
{
    const int64_t rows = s->b * s->m;
    const uint64_t total = (uint64_t)(rows * s->n);
    const int64_t ms[] = {0, rows - 1, rows / 2}, ns[] = {0, s->n - 1, s->n / 2};
    size_t i_next = 0;

    assert(n <= total);
    if ((uint64_t)n == total) {
        for (; i_next < n; i_next++)
            indices[i_next] = i_next;
        return;
    }
    for (int64_t i = 0; i < 9 && i_next < n; i++)
        indices[i_next++] = (uint64_t)(ms[i / 3] * s->n + ns[i % 3]);
    for (; i_next < n; i_next++)
        indices[i_next] = expected_pick(e, i_next) % total;
}

/* project[m] = sum over k of x[m,k] * (sum over n of project_weight(n) * w[n,k]), and what a linear epilogue adds. */
static enum err project_linear(const struct gemm_shape *s, const struct parts *a, int64_t batch, double *project)
{
    const int64_t m0 = batch * s->m, n0 = batch * s->n;

    double *weights = calloc((size_t)s->k, sizeof *weights), biases = 0;

    if (!weights)
        return ERR_NOMEM;
    for (int64_t n = 0; n < s->n; n++) {
        const double weight = program_project_weight(SEED_PROJECT, n);

        biases += weight * at(a, a->bias, n);
        for (int64_t k = 0; k < s->k; k++)
            weights[k] += weight * w_at(a, n0 + n, k);
        for (int64_t m = 0; a->residual && m < s->m; m++)
            project[m] += weight * at(a, a->residual, (m0 + m) * s->n + n);
    }
    for (int64_t m = 0; m < s->m; m++) {
        project[m] += biases;
        for (int64_t k = 0; k < s->k; k++)
            project[m] += weights[k] * x_at(a, (m0 + m) * s->k + k);
    }
    free(weights);
    return ERR_OK;
}

/* Projections of what is not linear (one batch): every output is computed, from x as a whole and w row by row. */
static enum err project_all(const struct gemm_shape *s, const struct parts *a, double *project)
{
    double *x = malloc((size_t)(s->m * s->k) * sizeof *x), *row = malloc((size_t)s->k * sizeof *row);

    for (int64_t i = 0; x && i < s->m * s->k; i++)
        x[i] = x_at(a, i);

    for (int64_t n = 0; x && row && n < s->n; n++) {
        const double weight = program_project_weight(SEED_PROJECT, n);

        for (int64_t k = 0; k < s->k; k++)
            row[k] = w_at(a, n, k);
        for (int64_t m = 0; m < s->m; m++) {
            double sum = 0;

            for (int64_t k = 0; k < s->k; k++)
                sum += row[k] * x[m * s->k + k];
            project[m] += weight * finish(a, n, m * s->n + n, sum);
        }
    }
    free(row);
    free(x);
    return x && row ? ERR_OK : ERR_NOMEM;
}

/* Features repeat a few in the random pass, so that all outputs can be compared. */
static void fold_features(const struct gemm_shape *s, struct expected *e, struct expected_output *o)
{
    const double rows = (double)(s->b * s->m);
    const struct program_fold fold = expected_fold(e, 1, s->n, 2 * rows * (double)s->k, rows);

    for (size_t i = 0; fold.of && i < e->n_tensors; i++) {
        struct tensor *t = &e->tensors[i];

        if (t->role == ROLE_OUTPUT || strcmp(t->name, "x") == 0)
            continue;
        t->random.fold = fold;
        t->random.fold.inner = t->name[0] == 'w' ? t->n_elems / (s->b * s->n) : 1;
    }
    expected_folded(o, &fold, s->b * s->m);
}

/* Values of the random pass, row by row: each element of x and of the features that differ is made once a row. */
static enum err put_random(const struct gemm_shape *s, const struct parts *a, const struct expected_output *o)
{
    const int64_t of = o->fold.of, n_rows = s->b * s->m;
    double *x = malloc((size_t)s->k * sizeof *x), *w = malloc((size_t)(of * s->k) * sizeof *w);

    for (int64_t m = 0; x && w && m < n_rows; m++) {
        for (int64_t k = 0; k < s->k; k++)
            x[k] = x_at(a, m * s->k + k);
        for (int64_t i = 0; m % s->m == 0 && i < of * s->k; i++)
            w[i] = w_at(a, m / s->m * s->n + i / s->k, i % s->k);
        for (int64_t n = 0; n < of; n++) {
            double sum = 0, *scale = &o->scale[m * of + n];

            *scale =
                epilogue_scale(a->bits) + magnitude(at(a, a->bias, n)) + magnitude(at(a, a->residual, m * s->n + n));
            for (int64_t k = 0; k < s->k; k++) {
                sum += x[k] * w[n * s->k + k];
                *scale += magnitude(x[k] * w[n * s->k + k]);
            }
            *scale = epilogue_settled(a->bits, sum + at(a, a->bias, n) + at(a, a->residual, m * s->n + n), *scale);
            o->random[m * of + n] = finish(a, n, m * s->n + n, sum);
        }
    }
    free(x);
    free(w);
    return x && w ? ERR_OK : ERR_NOMEM;
}

enum err gemm_reference(const struct workload *w, const struct gemm_shape *s, struct expected *e)
{
    struct rounding roundings[2] = {{-1, 1}, {-1, 1}};
    const struct parts exact = parts_of(w, e, true, &roundings[0]);
    struct expected_output *o = &e->outputs[0];
    struct parts random;
    double ignored;
    enum err failed;

    if (w->dtype == DTYPE_F32 && exact_bound((double)s->k, (double)s->n) < 1)
        return ERR_LIMIT;
    e->n_outputs = 1;
    *o = (struct expected_output){.tensor = "y",
                                  .n_samples = sample_count((double)s->k, s->b * s->m * s->n),
                                  .outer = s->b * s->m,
                                  .axis = s->n,
                                  .inner = 1};
    if (expected_in_full(e) && !dtype_is_bytes(w->dtype))
        fold_features(s, e, o);
    random = parts_of(w, e, false, &roundings[1]);
    failed = expected_alloc(e);
    if (failed)
        return failed;
    choose(s, e, o->n_samples, o->indices);
    for (size_t i = 0; i < o->n_samples; i++)
        o->exact[i] = element(s, &exact, o->indices[i], &ignored);
    for (size_t i = 0; !o->fold.of && i < o->n_random; i++)
        o->random[i] = element(s, &random, o->indices[i], &o->scale[i]);
    if (o->fold.of)
        failed = put_random(s, &random, o);
    if (failed || !o->project)
        return failed;
    if (!epilogue_is_linear(exact.bits))
        return project_all(s, &exact, o->project);
    for (int64_t batch = 0; !failed && batch < s->b; batch++)
        failed = project_linear(s, &exact, batch, o->project + batch * s->m);
    return failed;
}
