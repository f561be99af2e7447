/* SPDX-License-Identifier: MIT */
/* The reference of norm against the definition, by sums of squares in long double, and against rows by hand; the
 * graph's words. */
#include "kernels/expect.h"
#include "kernels/operator.h"
#include "kernels/workload.h"
#include "tests/kernels/graph_parsed.h"

#include "core/buf.h"
#include "core/err.h"
#include "kernels/graph_lower.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Element c of a row of n: the variance as the mean of squares less the square of the mean. */
static double plain(const float *x, int n, int c, const float *w, const float *bias, long double epsilon)
{
    long double sum = 0, squares = 0, mean, variance;

    for (int i = 0; i < n; i++) {
        sum += (long double)x[i];
        squares += (long double)x[i] * (long double)x[i];
    }
    mean = bias ? sum / n : 0;
    variance = squares / n - mean * mean;
    return (double)(((long double)x[c] - mean) / sqrtl(variance + epsilon) * (long double)w[c] +
                    (bias ? (long double)bias[c] : 0));
}

static float *data(struct expected *e, const char *name)
{
    const struct tensor *t = expected_tensor(e, name);

    return t ? expected_data(t, false, NULL) : NULL;
}

static void check(const char *text, int m, int n, long double epsilon)
{
    struct workload w;
    struct expected e;
    float *x, *weight, *bias;

    assert_int_equal(workload_parse(text, &w, NULL), ERR_OK);
    expected_begin(&w, EXACT_NONE, &e);
    assert_int_equal(w.op->reference(&w, EXACT_NONE, &e), ERR_OK);
    x = data(&e, "x");
    weight = data(&e, "w");
    bias = data(&e, "bias");
    assert_true(e.outputs[0].n_random > 0);
    for (size_t i = 0; i < e.outputs[0].n_random; i++) {
        const int at = (int)expected_random_at(&e.outputs[0], i);
        const double y = plain(x + at / n * n, n, at % n, weight, bias, epsilon);

        assert_in_range(at, 0, m * n - 1);
        if (fabs(e.outputs[0].random[i] - y) > 1e-10 * (1 + fabs(y)) ||
            !(e.outputs[0].scale[i] >= fabs(y) * (1 - 1e-12)))
            fail_msg("%s: y[%d] is %.17g of %g, expected %.17g", text, at, e.outputs[0].random[i],
                     e.outputs[0].scale[i], y);
    }
    free(x);
    free(weight);
    free(bias);
    expected_fini(&e);
}

static void outputs_are_those_of_the_definition(void **state)
{
    (void)state;
    check("norm f32 m=3 n=7", 3, 7, 1e-5L);
    check("norm f32 m=2 n=100 epsilon=500000000000", 2, 100, 0.5L);
    check("norm f32 m=4 n=9 kind=rms epsilon=1", 4, 9, 1e-12L);
    check("norm f16 m=3 n=12", 3, 12, 1e-5L);
}

static void check_node(const char *graph, size_t i, const char *workload)
{
    struct graph g = graph_parsed(graph);
    struct why why = {""};
    struct buf text;

    buf_init(&text, WORKLOAD_MAX_TEXT);
    if (graph_node_workload(&g, i, DTYPE_F32, 0, &text, &why))
        fail_msg("%s: %s", graph, why.text);
    assert_string_equal(buf_text(&text), workload);
    buf_fini(&text);
    graph_fini(&g);
}

static void graphs_have_rows_and_heads(void **state)
{
    (void)state;
    check_node("x = input shape=6,8\ny = norm x kind=rms epsilon=1\n", 1, "norm f32 m=6 n=8 kind=rms epsilon=1");
    check_node("x = input shape=6,8\nr = input shape=6,4\ny = dense x + r n=4\n", 2,
               "dense f32 m=6 n=4 k=8 epilogue=bias_add");
    check_node("q = input shape=2,5,6,4\nk = input shape=2,3,2,4\nv = input shape=2,3,2,8\nm = input shape=2,3\n"
               "y = attention q + k + v + m layout=blhd mask=bk causal=1\n",
               4, "attention f32 b=2 heads=6 q=5 k=3 d=4 dv=8 group=3 causal=1 mask=bk layout=blhd");
}

static void refused(const char *text, const char *words)
{
    struct graph g;
    struct why why = {""};

    if (graph_parse("t", text, strlen(text), &g, &why) != ERR_INPUT || !strstr(why.text, words))
        fail_msg("%s: '%s', expected '%s'", text, why.text, words);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    refused("x = input shape=6\ny = norm x\n", "2 dimensions");
    refused("x = input shape=6,8\nr = input shape=4,6\ny = dense x + r n=4\n", "cannot be added");
    refused("q = input shape=1,2,6,4\nk = input shape=1,2,3,4\ny = attention q + k + q\n", "do not fit");
    refused("q = input shape=1,2,6,4\nk = input shape=1,2,3,5\ny = attention q + k + k\n", "do not fit");
    refused("q = input shape=2,6,4\ny = attention q + q + q\n", "4 dimensions");
    refused("q = input shape=1,2,6,4\nm = input shape=6\ny = attention q + q + q + m\n", "mask=");
    refused("q = input shape=1,2,6,4\nm = input shape=5\ny = attention q + q + q + m mask=k\n", "mask=");
    refused("q = input shape=1,2,6,4\ny = attention q + q + q mask=k\n", "mask=");
    refused("q = input shape=1,2,6,4\ny = attention q + q + q lengths=1\n", "reads lengths, as its last tensor");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_are_those_of_the_definition),
        cmocka_unit_test(graphs_have_rows_and_heads),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
