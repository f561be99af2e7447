/* ref.c - dense by its definition, in double. The weights (up to 8 GB) are never held: their elements are made when
 * needed. */
#include "core/rng.h"
#include "kernels/dense/dense.h"

#include <stdlib.h>

static double element(const struct dense_shape *s, const struct program_fill *x, const struct program_fill *w,
                      uint64_t index, double *magnitudes)
{
    const int64_t m = (int64_t)index / s->n, n = (int64_t)index % s->n;
    double sum = 0, sum_magnitudes = 0;

    for (int64_t k = 0; k < s->k; k++) {
        const double product = fill_elem(x, DTYPE_F32, m * s->k + k) * fill_elem(w, DTYPE_F32, n * s->k + k);

        sum += product;
        sum_magnitudes += product < 0 ? -product : product;
    }
    *magnitudes = sum_magnitudes;
    return sum;
}

static void choose(const struct dense_shape *s, size_t n, uint64_t *indices)
{
    const uint64_t total = (uint64_t)(s->m * s->n);
    const int64_t ms[] = {0, s->m - 1, s->m / 2}, ns[] = {0, s->n - 1, s->n / 2};
    size_t at = 0;

    if ((uint64_t)n == total) {
        for (; at < n; at++)
            indices[at] = at;
        return;
    }
    for (int64_t i = 0; i < 9 && at < n; i++)
        indices[at++] = (uint64_t)(ms[i / 3] * s->n + ns[i % 3]);
    for (; at < n; at++)
        indices[at] = rng_at(SEED_SAMPLE, at) % total;
}

/* project[m] = sum over k of x[m,k] * (sum over n of project_weight(n) * w[n,k]). */
static enum err project(const struct dense_shape *s, struct expected *e)
{
    double *weights = calloc((size_t)s->k, sizeof *weights);

    if (!weights)
        return ERR_NOMEM;
    for (int64_t n = 0; n < s->n; n++) {
        const double weight = program_project_weight(SEED_PROJECT, n);

        for (int64_t k = 0; k < s->k; k++)
            weights[k] += weight * fill_elem(&e->w_exact, DTYPE_F32, n * s->k + k);
    }
    for (int64_t m = 0; m < s->m; m++)
        for (int64_t k = 0; k < s->k; k++)
            e->project[m] += weights[k] * fill_elem(&e->x_exact, DTYPE_F32, m * s->k + k);
    free(weights);
    return ERR_OK;
}

enum err dense_reference(const struct workload *w, struct expected *e)
{
    const struct dense_shape s = dense_shape_of(w);
    const double bound = exact_bound((double)s.k, (double)s.n);
    double ignored;
    enum err failed;

    if (bound < 1)
        return ERR_LIMIT;
    e->n_samples = sample_count((double)s.k, s.m * s.n);
    e->outer = s.m;
    e->axis = s.n;
    e->inner = 1;
    expected_fills(e, bound);
    failed = expected_alloc(e);
    if (failed)
        return failed;
    choose(&s, e->n_samples, e->indices);
    for (size_t i = 0; i < e->n_samples; i++) {
        e->exact[i] = element(&s, &e->x_exact, &e->w_exact, e->indices[i], &ignored);
        e->random[i] = element(&s, &e->x_random, &e->w_random, e->indices[i], &e->scale[i]);
    }
    return project(&s, e);
}
