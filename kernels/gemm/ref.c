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

/* Tensors of the workload; NULL where it has none. */
struct parts {
    const struct tensor *x, *w, *bias, *residual, *scale, *sum_scale, *zero;
    const struct tensor *w_scale, *w_zero; /* of weights of 4 bits in blocks (kernels/dense4) */
    int64_t k, block;
    bool rounds; /* blocks of x are whole multiples, up to 127, of a power of two */
    bool exact;
    unsigned bits;
    float sum_scales[2], zeros[4]; /* of the tensors of these names */
};

static double at(const struct parts *a, const struct tensor *t, int64_t i)
{
    return t ? fill_elem(a->exact ? &t->exact : &t->random, t->dtype, i) : 0;
}

static struct parts parts_of(const struct workload *w, struct expected *e, bool exact)
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
                      .rounds = workload_has(w, "bytes") && workload_get(w, "bytes"),
                      .exact = exact,
                      .bits = workload_has(w, "epilogue") ? epilogue_of(w) : 0};

    for (int64_t i = 0; i < 2; i++)
        a.sum_scales[i] = (float)at(&a, a.sum_scale, i);
    for (int64_t i = 0; a.zero && i < a.zero->n_elems; i++)
        a.zeros[i] = (float)at(&a, a.zero, i);
    return a;
}

/* The power of two of a block of x. */
static double step_of(const double *x, int64_t n)
{
    double most = 0;
    int exponent;

    for (int64_t i = 0; i < n; i++)
        most = fmax(most, fabs(x[i]));
    most = frexp(most, &exponent); /* in 1/2 .. 1 */
    exponent += most > 127.0 / 128 ? -6 : -7;
    return ldexp(1, exponent < -126 ? -126 : exponent);
}

/* Row m of x without its zero point, or rounded. */
static void x_row(const struct parts *a, int64_t m, double *out)
{
    fill_run(a->exact ? &a->x->exact : &a->x->random, a->x->dtype, m * a->k, a->k, out);
    for (int64_t k = 0; !a->rounds && k < a->k; k++)
        out[k] -= (double)a->zeros[0];
    for (int64_t k0 = 0; a->rounds && k0 < a->k; k0 += a->block) {
        const int64_t end = k0 + a->block < a->k ? k0 + a->block : a->k;
        const double step = step_of(out + k0, end - k0);

        for (int64_t k = k0; k < end; k++)
            out[k] = rint(out[k] / step) * step;
    }
}

/* A row of w; with w_scale two are in a byte, the first in its lower half, and rows in whole blocks, for which `out`
 * has room. */
static void w_row(const struct parts *a, int64_t row, double *out)
{
    const struct program_fill *fill = a->exact ? &a->w->exact : &a->w->random;
    const int64_t n_blocks = a->w_scale ? (a->k + a->block - 1) / a->block : 0;

    if (!a->w_scale)
        fill_run(fill, a->w->dtype, row * a->k, a->k, out);
    for (int64_t b = row * n_blocks; b < (row + 1) * n_blocks; b++, out += a->block) {
        const double zero = a->w_zero ? at(a, a->w_zero, b) : 8, scale = at(a, a->w_scale, b);

        fill_run(fill, a->w->dtype, b * (a->block / 2), a->block / 2, out);
        for (int64_t k = a->block / 2 - 1; k >= 0; k--) {
            const int byte = (int)out[k];

            out[2 * k + 1] = (byte / 16 - zero) * scale;
            out[2 * k] = (byte % 16 - zero) * scale;
        }
    }
}

/* Room for n rows; NULL on lack of memory. */
static double *rows_make(const struct parts *a, int64_t n)
{
    return malloc((size_t)(n * (a->k + a->block)) * sizeof(double));
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

/* x, w: room for a row each. */
static double element(const struct gemm_shape *s, const struct parts *a, uint64_t index, double *x, double *w,
                      double *scale)
{
    const int64_t m = (int64_t)index / s->n, n = (int64_t)index % s->n, row = m / s->m * s->n + n;
    double sum = 0;

    assert(m < s->b * s->m);
    *scale = epilogue_scale(a->bits) + magnitude(at(a, a->bias, n)) + magnitude(at(a, a->residual, (int64_t)index));
    x_row(a, m, x);
    w_row(a, row, w);
    for (int64_t k = 0; k < s->k; k++) {
        const double product = x[k] * w[k];

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

    double *weights = calloc((size_t)s->k, sizeof *weights), *row = rows_make(a, 1), biases = 0;

    for (int64_t n = 0; weights && row && n < s->n; n++) {
        const double weight = program_project_weight(SEED_PROJECT, n);

        w_row(a, n0 + n, row);
        biases += weight * at(a, a->bias, n);
        for (int64_t k = 0; k < s->k; k++)
            weights[k] += weight * row[k];
        for (int64_t m = 0; a->residual && m < s->m; m++)
            project[m] += weight * at(a, a->residual, (m0 + m) * s->n + n);
    }
    for (int64_t m = 0; weights && row && m < s->m; m++) {
        x_row(a, m0 + m, row);
        project[m] += biases;
        for (int64_t k = 0; k < s->k; k++)
            project[m] += weights[k] * row[k];
    }
    free(weights);
    free(row);
    return weights && row ? ERR_OK : ERR_NOMEM;
}

/* Projections of what is not linear (one batch): every output is computed, from x as a whole and w row by row. */
static enum err project_all(const struct gemm_shape *s, const struct parts *a, double *project)
{
    double *x = malloc((size_t)(s->m * s->k) * sizeof *x), *row = rows_make(a, 1);

    for (int64_t m = 0; x && m < s->m; m++)
        x_row(a, m, x + m * s->k);
    for (int64_t n = 0; x && row && n < s->n; n++) {
        const double weight = program_project_weight(SEED_PROJECT, n);

        w_row(a, n, row);
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

/* Samples of the exact pass, and of the random one where it is not folded. */
static enum err put_samples(const struct gemm_shape *s, const struct parts *exact, const struct parts *random,
                            const struct expected_output *o)
{
    double *x = rows_make(exact, 1), *w = rows_make(exact, 1), ignored;

    for (size_t i = 0; x && w && i < o->n_samples; i++)
        o->exact[i] = element(s, exact, o->indices[i], x, w, &ignored);
    for (size_t i = 0; x && w && !o->fold.of && i < o->n_random; i++)
        o->random[i] = element(s, random, o->indices[i], x, w, &o->scale[i]);
    free(x);
    free(w);
    return x && w ? ERR_OK : ERR_NOMEM;
}

/* Values of the random pass, row by row: each element of x and of the features that differ is made once a row. */
static enum err put_random(const struct gemm_shape *s, const struct parts *a, const struct expected_output *o)
{
    const int64_t of = o->fold.of, n_rows = s->b * s->m;
    double *x = rows_make(a, 1), *w = rows_make(a, of);

    for (int64_t m = 0; x && w && m < n_rows; m++) {
        x_row(a, m, x);
        for (int64_t n = 0; m % s->m == 0 && n < of; n++)
            w_row(a, m / s->m * s->n + n, w + n * (s->k + a->block));
        for (int64_t n = 0; n < of; n++) {
            double sum = 0, *scale = &o->scale[m * of + n];

            *scale =
                epilogue_scale(a->bits) + magnitude(at(a, a->bias, n)) + magnitude(at(a, a->residual, m * s->n + n));
            for (int64_t k = 0; k < s->k; k++) {
                sum += x[k] * w[n * (s->k + a->block) + k];
                *scale += magnitude(x[k] * w[n * (s->k + a->block) + k]);
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
    const struct parts exact = parts_of(w, e, true);
    struct expected_output *o = &e->outputs[0];
    struct parts random;
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
    random = parts_of(w, e, false);
    failed = expected_alloc(e);
    if (failed)
        return failed;
    choose(s, e, o->n_samples, o->indices);
    failed = put_samples(s, &exact, &random, o);
    if (failed)
        return failed;
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
