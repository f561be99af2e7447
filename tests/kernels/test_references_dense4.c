/* SPDX-License-Identifier: MIT */
/* The reference of weights of 4 bits against a second computation: byte by byte, as they lie. */
#include "core/err.h"
#include "kernels/expect.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

struct layer {
    const char *workload;
    int m, n, k, block, zeros, bytes;
};

/* Element k of row m of x; with `bytes` the nearest multiple of the least power of two, from 2^-126 on, of which all of
 * its block are 127 at the most. */
static double input_at(const struct layer *l, const struct expected *e, bool is_exact, int64_t m, int64_t k)
{
    const struct program_fill *fill = is_exact ? &e->tensors[0].exact : &e->tensors[0].random;
    const double x = fill_elem(fill, e->tensors[0].dtype, m * l->k + k);
    double power = 0x1p-126;

    for (int64_t i = k / l->block * l->block; l->bytes && i < l->k && i < (k / l->block + 1) * l->block; i++)
        while (fabs(fill_elem(fill, e->tensors[0].dtype, m * l->k + i)) > 127 * power)
            power *= 2;
    return l->bytes ? nearbyint(x / power) * power : x;
}

/* Outputs of one pass and their magnitudes, [m][n] each. */
static void compute(const struct layer *l, const struct expected *e, bool is_exact, double *y, double *magnitude)
{
    const int64_t length = (l->k + l->block - 1) / l->block * l->block; /* weights of a row */
    double *x = calloc((size_t)(l->m * l->k), sizeof *x);

    assert_non_null(x);
    for (int64_t i = 0; i < (int64_t)l->m * l->k; i++)
        x[i] = input_at(l, e, is_exact, i / l->k, i % l->k);
    for (int64_t i = 0; i < l->n * length; i++) {
        const int64_t row = i / length, k = i % length, at[4] = {0, i / l->block, i / 2, i / l->block};
        double of[4] = {0, 0, 0, 8}, w;

        for (int t = 1; t < 3 + l->zeros; t++)
            of[t] = fill_elem(is_exact ? &e->tensors[t].exact : &e->tensors[t].random, e->tensors[t].dtype, at[t]);
        w = ((i % 2 ? floor(of[2] / 16) : fmod(of[2], 16)) - of[3]) * of[1];
        for (int m = 0; m < l->m && k < l->k; m++) {
            y[m * l->n + row] += x[m * l->k + k] * w;
            magnitude[m * l->n + row] += fabs(x[m * l->k + k] * w);
        }
    }
    free(x);
}

static void check_layer(const struct layer *l)
{
    const size_t n = (size_t)(l->m * l->n);
    double *exact = calloc(4 * n, sizeof *exact), *random = exact + n, *of_exact = random + n, *size = of_exact + n;
    const struct expected_output *o;
    struct workload w;
    struct expected e;

    assert_non_null(exact);
    assert_int_equal(workload_parse(l->workload, &w, NULL), ERR_OK);
    expected_begin(&w, EXACT_PLAIN, &e);
    assert_int_equal(w.op->reference(&w, EXACT_PLAIN, &e), ERR_OK);
    o = &e.outputs[0];
    compute(l, &e, true, exact, of_exact);
    compute(l, &e, false, random, size);
    for (size_t i = 0; i < o->n_samples; i++) {
        const size_t at = o->indices[i];

        if (o->exact[i] < exact[at] || o->exact[i] > exact[at] || fabs(o->random[i] - random[at]) > 1e-12 * size[at] ||
            fabs(o->scale[i] - size[at]) > 1e-12 * size[at])
            fail_msg("%s: output %zu is %g and %g, not %g and %g", l->workload, at, o->exact[i], o->random[i],
                     exact[at], random[at]);
    }
    for (int m = 0; m < l->m; m++) {
        double sum = 0;

        for (int i = 0; i < l->n; i++)
            sum += program_project_weight(SEED_PROJECT, i) * exact[m * l->n + i];
        if (o->project[m] < sum || o->project[m] > sum)
            fail_msg("%s: the sum over row %d is %.17g, not %.17g", l->workload, m, o->project[m], sum);
    }
    expected_fini(&e);
    free(exact);
}

static void the_reference_is_the_definition(void **state)
{
    static const struct layer layers[] = {
        {"dense4 f32 m=1 n=1 k=1", 1, 1, 1, 32, 0, 0},
        {"dense4 f32 m=3 n=7 k=100 zeros=1", 3, 7, 100, 32, 1, 0},
        {"dense4 f32 m=2 n=130 k=64 block=16 zeros=1", 2, 130, 64, 16, 1, 0},
        {"dense4 f16 m=5 n=9 k=51 zeros=1", 5, 9, 51, 32, 1, 0},
        {"dense4 f32 m=33 n=18 k=300 block=128", 33, 18, 300, 128, 0, 0},
        {"dense4 f32 m=3 n=7 k=100 zeros=1 bytes=1", 3, 7, 100, 32, 1, 1},
        {"dense4 f16 m=2 n=19 k=51 block=16 bytes=1 epilogue=none", 2, 19, 51, 16, 0, 1},
        {"dense4 f32 m=70 n=40 k=300 block=128 bytes=1", 70, 40, 300, 128, 0, 1}};

    (void)state;
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++)
        check_layer(&layers[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_reference_is_the_definition)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
