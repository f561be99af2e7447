/* SPDX-License-Identifier: MIT */
/* Element-wise chains without a device: what expressions mean, which are refused, what is expected of their results. */
#include "kernels/eltwise/eltwise.h"
#include "kernels/operator.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void functions_are_those_of_their_names(void **state)
{
    static const struct {
        const char *name;
        double x[3], y; /* by hand or from tables, to 12 digits */
    } all[] = {
        {"neg", {3}, -3},
        {"abs", {-3}, 3},
        {"sign", {-0.1}, -1},
        {"sign", {0}, 0},
        {"floor", {-1.5}, -2},
        {"ceil", {-1.5}, -1},
        {"round", {2.5}, 2}, /* halves to even */
        {"round", {3.5}, 4},
        {"relu", {-2}, 0},
        {"sqrt", {6.25}, 2.5},
        {"exp", {1}, 2.718281828459},
        {"log", {10}, 2.302585092994},
        {"reciprocal", {8}, 0.125},
        {"sigmoid", {2}, 0.880797077978},
        {"hard_swish", {-1}, -1.0 / 3},
        {"hard_swish", {-4}, 0},
        {"hard_swish", {5}, 5},
        {"tanh", {0.5}, 0.462117157260},
        {"sin", {0.5}, 0.479425538604},
        {"cos", {-2}, -0.416146836547},
        {"tan", {0.5}, 0.546302489844},
        {"asin", {-0.5}, -0.523598775598}, /* a sixth of pi */
        {"acos", {0.5}, 1.047197551197},
        {"atan", {1}, 0.785398163397},
        {"sinh", {-1}, -1.175201193644},
        {"cosh", {1}, 1.543080634815},
        {"asinh", {-1}, -0.881373587020}, /* log(1 + sqrt 2) */
        {"acosh", {2}, 1.316957896925},
        {"atanh", {0.5}, 0.549306144334}, /* half of log 3 */
        {"swish", {2}, 1.761594155956},
        {"softplus", {0}, 0.693147180560},
        {"softplus", {-100}, 3.72007597602e-44},
        {"softsign", {-3}, -0.75},
        {"erf", {0.5}, 0.520499877813},
        {"gelu", {1}, 0.841344746069}, /* x times the normal distribution */
        {"gelu", {-1}, -0.158655253931},
        {"gelu_tanh", {1}, 0.841191990608},
        {"add", {2, 3}, 5},
        {"sub", {2, 3}, -1},
        {"mul", {2, 3}, 6},
        {"div", {3, 4}, 0.75},
        {"pow", {2, 10}, 1024},
        {"min", {2, -3}, -3},
        {"max", {2, -3}, 2},
        {"less", {2, 3}, 1},
        {"less", {3, 3}, 0},
        {"equal", {3, 3}, 1},
        {"leaky_relu", {-2, 0.25}, -0.5},
        {"elu", {-1, 2}, -1.264241117657},
        {"clip", {7, -2, 6}, 6},
        {"clip", {-7, -2, 6}, -2},
        {"hard_sigmoid", {1, 0.2, 0.5}, 0.7},
        {"where", {0, 1, 2}, 2},
        {"where", {-1, 1, 2}, 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        const struct eltwise_function *f = eltwise_find(all[i].name, strlen(all[i].name));

        assert_non_null(f);
        if (fabs(f->of(all[i].x) - all[i].y) > 1e-11 * fmax(fabs(all[i].y), 1e-40))
            fail_msg("%s is %.13g, expected %.13g", all[i].name, f->of(all[i].x), all[i].y);
    }
    for (const struct eltwise_function *f = eltwise_functions; f->name; f++) { /* the list has them all */
        bool found = false;

        for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
            found |= strcmp(all[i].name, f->name) == 0;
        if (!found)
            fail_msg("%s has no example", f->name);
    }
}

static void equal_parts_are_computed_once(void **state)
{
    struct eltwise chain;

    (void)state;
    assert_int_equal(eltwise_parse("mul(add(a,b),sigmoid(add(a,b)))", &chain, NULL), ERR_OK);
    assert_int_equal(chain.n_inputs, 2);
    assert_int_equal(chain.n_nodes, 5); /* a b add sigmoid mul */
    assert_int_equal(chain.nodes[4].args[0], 2);
    assert_int_equal(chain.nodes[4].args[1], 3);
}

static void bad_expressions_are_refused_with_words(void **state)
{
    static const char *const bad[][2] = {
        {"", "character 1: expected an input a to d, a number or one of the functions"},
        {"e", "character 1"},
        {"add(a,b", "character 8: expected )"},
        {"add(a b)", "character 6: expected add and 2 arguments"},
        {"add(a,b,a)", "character 8: expected )"},
        {"relu", "expected relu and 1 arguments in brackets"},
        {"relu(a)a", "character 8: expected its end"},
        {"tanf(a)", "character 1: expected"},
        {"add(a,c)", "has no input b"},
        {"add(1,2)", "has no input a"},
        {"add(a,1.50)", "character 7: expected a number in its shortest form, 1.5"},
        {"add(a,1e3)", "shortest form, 1000"},
        {"add(a,+1)", "character 7"},
        {"add(a,--1)", "shortest form"},
        {"add(a,1e999)", "a number that a float holds"},
        {"add(a,0x10)", "shortest form, 16"},
    };
    char deep[200] = "";
    struct eltwise chain;
    struct why why;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        why.text[0] = '\0';
        assert_int_equal(eltwise_parse(bad[i][0], &chain, &why), ERR_INPUT);
        if (!strstr(why.text, bad[i][1]))
            fail_msg("\"%s\": \"%s\" does not say \"%s\"", bad[i][0], why.text, bad[i][1]);
    }
    for (int i = 0; i < 33; i++)
        strcat(deep, "neg(");
    strcat(deep, "a");
    for (int i = 0; i < 33; i++)
        strcat(deep, ")");
    assert_int_equal(eltwise_parse(deep, &chain, &why), ERR_LIMIT);
    deep[strlen(deep) - 1] = '\0'; /* one level less is read */
    assert_int_equal(eltwise_parse(deep + 4, &chain, &why), ERR_OK);
}

static void numbers_are_written_in_their_shortest_form(void **state)
{
    static const struct {
        float v;
        const char *text;
    } all[] = {{0.0f, "0"},
               {-2.5f, "-2.5"},
               {0.1f, "0.1"},
               {1e-5f, "1e-05"},
               {-1000.0f, "-1000"},
               {1e+20f, "1e+20"},
               {0.166666672f, "0.16666667"}};

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        char text[ELTWISE_NUMBER_BYTES];

        eltwise_number(all[i].v, text);
        assert_true(strtof(text, NULL) == all[i].v);
        assert_string_equal(text, all[i].text);
    }
}

/* y[i][j][k] = a[0][j][0] - 2 b[i][0][k], counted out here. */
static void inputs_are_broadcast_as_their_shapes_say(void **state)
{
    const struct tensor *a, *b;
    float *of_a, *of_b;
    struct workload w;
    struct expected e;

    (void)state;
    assert_int_equal(workload_parse("eltwise f32 y=3x5x7 a=1x5x1 b=3x1x7 f=sub(a,mul(b,2))", &w, NULL), ERR_OK);
    expected_begin(&w, EXACT_PLAIN, &e);
    assert_int_equal(w.op->reference(&w, EXACT_PLAIN, &e), ERR_OK);
    a = expected_tensor(&e, "a");
    b = expected_tensor(&e, "b");
    assert_int_equal(a->n_elems, 5);
    assert_int_equal(b->n_elems, 21);
    of_a = expected_data(a, true, NULL);
    of_b = expected_data(b, true, NULL);
    assert_int_equal(e.outputs[0].n_samples, 105);
    for (size_t i = 0; i < 105; i++) {
        const size_t at = (size_t)e.outputs[0].indices[i];
        const float want = of_a[at / 7 % 5] - 2 * of_b[at / 35 * 7 + at % 7];

        if (e.outputs[0].exact[i] != (double)want)
            fail_msg("element %zu is %g, expected %g", at, e.outputs[0].exact[i], (double)want);
    }
    free(of_a);
    free(of_b);
    expected_fini(&e);
}

static struct numerics numerics_of_text(const char *text)
{
    struct numerics n = {.name = "", .data = EXACT_PLAIN, .tolerance = 1};
    struct workload w;

    assert_int_equal(workload_parse(text, &w, NULL), ERR_OK);
    eltwise_numerics(&w, NULL, NULL, &n);
    return n;
}

static void what_is_rounded_once_is_compared_bit_for_bit(void **state)
{
    static const struct {
        const char *f;
        bool whole, once;
    } all[] = {
        {"f=add(a,b)", true, true},
        {"f=relu(add(a,b))", true, true},
        {"f=min(neg(a),abs(mul(b,c)))", true, true},
        {"f=add(mul(a,b),c)", true, false}, /* contracted or not */
        {"f=floor(add(a,b))", true, false}, /* a step */
        {"f=floor(a)", true, true},
        {"f=mul(a,0.1)", false, false},
        {"f=sigmoid(a)", false, false},
        {"f=mul(mul(mul(a,a),mul(a,a)),mul(mul(a,a),mul(a,a)))", true, false}, /* 3^8 */
        {"f=add(a,20000000)", false, false},                                   /* over 2^24 */
    };

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        char text[200];
        struct numerics n;

        snprintf(text, sizeof text, "eltwise f32 y=10 %s", all[i].f);
        n = numerics_of_text(text);
        if ((n.data == EXACT_PLAIN) != all[i].whole || (n.tolerance == 0) != all[i].once)
            fail_msg("%s: exact data %d, tolerance %g", all[i].f, n.data == EXACT_PLAIN, n.tolerance);
    }
}

/* sub(exp(a),1): the error of a power near 1 stays where the result is near 0. */
static void scales_carry_the_errors_of_what_was_before(void **state)
{
    struct workload w;
    struct expected e;

    (void)state;
    assert_int_equal(workload_parse("eltwise f32 y=1000 f=sub(exp(mul(a,0.001)),1)", &w, NULL), ERR_OK);
    expected_begin(&w, EXACT_NONE, &e);
    assert_int_equal(w.op->reference(&w, EXACT_NONE, &e), ERR_OK);
    for (size_t i = 0; i < e.outputs[0].n_samples; i++) {
        assert_true(fabs(e.outputs[0].random[i]) < 0.01);
        assert_true(e.outputs[0].scale[i] >= 7.9 && e.outputs[0].scale[i] < 12);
    }
    expected_fini(&e);
}

static struct program_fill wide_of(const char *text)
{
    const struct program_fill normal = {.kind = FILL_NORMAL, .seed = 7, .lo = 0, .hi = 1};
    struct workload w;

    assert_int_equal(workload_parse(text, &w, NULL), ERR_OK);
    return eltwise_wide_fill(&w, 0, &normal);
}

/* As far as nothing but the last result is infinite, and nothing is no number. */
static void wide_data_go_as_far_as_results_are_numbers(void **state)
{
    (void)state;
    assert_true(wide_of("eltwise f32 y=500 f=exp(a)").hi == 17);
    assert_true(wide_of("eltwise f16 y=500 f=mul(a,sigmoid(b))").hi == 9);
    assert_true(wide_of("eltwise f32 y=500 f=add(mul(a,b),c)").hi == 61); /* products up to 2^124 */
    assert_true(wide_of("eltwise f32 y=500 f=sin(a)").hi == 17);
    assert_true(wide_of("eltwise f32 y=500 f=cos(mul(a,b))").hi == 8); /* angles up to 2^18 */
    assert_true(wide_of("eltwise f32 y=500 f=sub(exp(a),b)").hi == 5); /* up to 64 */
    assert_int_equal(wide_of("eltwise f32 y=500 f=pow(a,b)").kind, FILL_INT);
    assert_int_equal(wide_of("eltwise f32 y=500 f=mul(pow(a,3),b)").kind, FILL_INT);
}

/* Of logarithms, roots, quotients and arcs: far beyond what normal data have, on the side of 0 where there are results;
 * with 0 where that is a result. */
static void wide_data_of_roots_and_arcs_are_where_they_have_results(void **state)
{
    static const struct {
        const char *text;
        int kind;
        double lo, hi, step;
        bool zeros;
    } all[] = {{"eltwise f32 y=500 f=log(a)", FILL_FLOATS, -120, 120, FILL_FLOATS_ABOVE_0, false},
               {"eltwise f16 y=500 f=log(a)", FILL_FLOATS, -14, 14, FILL_FLOATS_ABOVE_0, false},
               {"eltwise f32 y=500 f=sqrt(a)", FILL_FLOATS, -120, 120, FILL_FLOATS_ABOVE_0, true},
               {"eltwise f32 y=500 f=pow(a,0.5)", FILL_FLOATS, -120, 120, FILL_FLOATS_ABOVE_0, true},
               {"eltwise f32 y=500 f=reciprocal(a)", FILL_FLOATS, -120, 120, FILL_FLOATS_NOT_0, false},
               {"eltwise f32 y=500 f=div(a,sqrt(add(mul(b,b),1)))", FILL_FLOATS, -60, 60, FILL_FLOATS_NOT_0, false},
               {"eltwise f32 y=500 f=log(add(exp(a),1))", FILL_FLOATS, -3, 3, FILL_FLOATS_NOT_0, true},
               {"eltwise f32 y=500 f=asin(a)", FILL_FLOATS, -40, -1, FILL_FLOATS_NOT_0, true},
               {"eltwise f32 y=500 f=acosh(a)", FILL_FLOATS, 1, 120, FILL_FLOATS_ABOVE_0, false},
               {"eltwise f32 y=500 f=sin(reciprocal(a))", FILL_FLOATS, -14, 14, FILL_FLOATS_NOT_0, false},
               {"eltwise f32 y=500 f=tan(div(a,b))", FILL_FLOATS, -6, 6, FILL_FLOATS_NOT_0, false},
               {"eltwise f32 y=500 f=log(sub(neg(a),1))", FILL_NORMAL, 0, 1, 0, false}};

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        const struct program_fill f = wide_of(all[i].text);

        if ((int)f.kind != all[i].kind || f.lo != all[i].lo || f.hi != all[i].hi || f.step != all[i].step ||
            (f.zeros > 0) != all[i].zeros)
            fail_msg("%s: kind %d from %g to %g, step %g, zeros %lld", all[i].text, (int)f.kind, f.lo, f.hi, f.step,
                     (long long)f.zeros);
    }
}

/* Which of the first 3,000 results of an inputs' data is no number; -1: all are. */
static int64_t first_without_result(const struct workload *w, bool wide)
{
    struct tensor list[OPERATOR_MAX_TENSORS];
    struct program_fill fills[ELTWISE_MAX_INPUTS];
    struct eltwise_shape shape;
    struct eltwise chain;

    eltwise_of(w, &chain, &shape);
    assert_true((int)w->op->tensors(w, list) > chain.n_inputs);
    for (int k = 0; k < chain.n_inputs; k++)
        fills[k] = wide ? eltwise_wide_fill(w, k, &list[k].random) : list[k].random;
    for (int64_t i = 0; i < 3000; i++) {
        double x[ELTWISE_MAX_INPUTS] = {0};

        for (int k = 0; k < chain.n_inputs; k++)
            x[k] = fill_elem(&fills[k], DTYPE_F32, i);
        if (isnan(eltwise_value(&chain, x)))
            return i;
    }
    return -1;
}

/* An output that is no number is taken for one that was not written, so the data of either pass give none: of roots and
 * logarithms of differences one input is small, as a deviation's mean of squares and square of the mean are. */
static void differences_that_are_rooted_are_above_0(void **state)
{
    static const char *const all[] = {
        "eltwise f32 y=500 f=sqrt(sub(a,b))",        "eltwise f16 y=500 f=sqrt(sub(a,b))",
        "eltwise f32 y=500 f=sqrt(sub(b,a))",        "eltwise f32 y=500 f=sqrt(add(sub(a,mul(b,b)),0.001))",
        "eltwise f32 y=500 f=div(a,sqrt(sub(b,c)))", "eltwise f32 y=500 f=log(sub(1,mul(a,a)))",
        "eltwise f32 y=500 f=asin(sqrt(a))"};

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        for (int wide = 0; wide < 2; wide++) {
            struct workload w;
            int64_t at;

            assert_int_equal(workload_parse(all[i], &w, NULL), ERR_OK);
            at = first_without_result(&w, wide);
            if (at >= 0)
                fail_msg("%s: element %lld of the %s data has no result", all[i], (long long)at,
                         wide ? "wide" : "usual");
        }
}

/* Of a sheet's data: beyond the largest number, finite or next to nothing; each told which. */
static void results_beyond_the_largest_are_infinite(void **state)
{
    int n_infinite = 0, n_finite = 0;
    struct workload w;
    struct expected e;

    (void)state;
    assert_int_equal(workload_parse("eltwise f32 y=1000 f=exp(a)", &w, NULL), ERR_OK);
    expected_begin_for(&w, EXACT_NONE, EXPECT_WIDE, 5, &e);
    assert_int_equal(w.op->reference(&w, EXACT_NONE, &e), ERR_OK);
    for (size_t i = 0; i < e.outputs[0].n_samples; i++) {
        n_infinite += isinf(e.outputs[0].random[i]) != 0;
        n_finite += isfinite(e.outputs[0].random[i]) != 0;
        assert_true(isinf(e.outputs[0].random[i]) || e.outputs[0].random[i] <= 0x1.ffffffp127);
        assert_true(e.outputs[0].scale[i] > 0);
    }
    assert_true(n_infinite > 50 && n_finite > 500 && n_infinite + n_finite == 1000);
    expected_fini(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_are_those_of_their_names),
        cmocka_unit_test(equal_parts_are_computed_once),
        cmocka_unit_test(bad_expressions_are_refused_with_words),
        cmocka_unit_test(numbers_are_written_in_their_shortest_form),
        cmocka_unit_test(inputs_are_broadcast_as_their_shapes_say),
        cmocka_unit_test(what_is_rounded_once_is_compared_bit_for_bit),
        cmocka_unit_test(scales_carry_the_errors_of_what_was_before),
        cmocka_unit_test(wide_data_go_as_far_as_results_are_numbers),
        cmocka_unit_test(wide_data_of_roots_and_arcs_are_where_they_have_results),
        cmocka_unit_test(differences_that_are_rooted_are_above_0),
        cmocka_unit_test(results_beyond_the_largest_are_infinite),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
