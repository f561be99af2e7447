/* SPDX-License-Identifier: MIT */
/* Whole numbers and truth values of ONNX models, which are computed as floats. */
#include "onnx/import.h"
#include "tests/onnx/check_import.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HEAD "opset 20\ninput x 2 3\n"
#define X_LINE "x = input shape=2,3\n"

static void numbers_of_every_type_go_in_and_out(void **state)
{
    static const int types[] = {1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 16}; /* TensorProto.DataType */

    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        char lines[128];

        snprintf(lines, sizeof lines, "opset 20\ninput i:%d 5\nnode Neg i -> y\noutput y:%d\n", types[i], types[i]);
        check_graph(lines, "i = input shape=5\ny = eltwise i f=neg(a)\n");
    }
}

static void other_types_are_refused(void **state)
{
    static const int types[] = {8, 14, 15, 17, 21, 99}; /* strings, complex ones, of fewer bits, none */

    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        struct onnx_import *m = NULL;
        struct why why = {""};
        char lines[128], words[64];

        snprintf(lines, sizeof lines, "opset 20\ninput i:%d 5\nnode Neg i -> y\noutput y\n", types[i]);
        snprintf(words, sizeof words, "input i: elements of type %d: expected floats, whole numbers", types[i]);
        assert_int_equal(import_lines(lines, NULL, 0, &m, &why), ERR_UNSUPPORTED);
        if (!strstr(why.text, words))
            fail_msg("\"%s\" does not say \"%s\"", why.text, words);
    }
}

/* What is behind the point goes, towards 0; whole numbers stay; all but 0 is true. */
static void casts_are_those_of_the_types(void **state)
{
    (void)state;
    check_graph(HEAD "node Cast x -> y to=7\noutput y:7\n",
                X_LINE "y = eltwise x f=where(less(a,0),ceil(a),floor(a))\n");
    check_graph(HEAD "node Cast x -> y to=9\noutput y:9\n", X_LINE "y = eltwise x f=sub(1,equal(a,0))\n");
    check_graph(HEAD "node Cast x -> i to=6\nnode Cast i -> y to=7\noutput y:7\n",
                X_LINE "i = eltwise x f=where(less(a,0),ceil(a),floor(a))\n");
    check_graph(HEAD "node Less x x -> t\nnode Cast t -> f to=1\nnode Neg f -> y\noutput y\n",
                X_LINE "y = eltwise x f=neg(less(a,a))\n");
    check_graph(HEAD "node Neg x -> f\nnode CastLike x f -> c\nnode Abs c -> y\noutput y\n",
                X_LINE "y = eltwise x f=abs(a)\n");
}

/* The quotient of whole numbers has none behind the point: an operator that loses or rounds them is refused. */
static void quotients_and_means_of_whole_numbers_are_refused(void **state)
{
    static const char *const nodes[][2] = {
        {"input i:7 2 3\nnode Div i i -> y\noutput y\n", "Div"},
        {"input i:6 2 3\nints d = 2\nnode Div i d -> y\noutput y\n", "Div"},
        {"input i:7 2 3\nnode ReduceMean i -> y\noutput y\n", "ReduceMean"},
        {"node Cast x -> i to=7\nnode Identity i -> k\nnode Div k k -> y\noutput y\n", "Div"},
        {"input i:7 2 3\nnode Less x x -> t\nnode Where t i i -> k\nnode Div k k -> y\noutput y\n", "Div"},
        {"node ArgMax x -> i\nnode Div i i -> y\noutput y\n", "Div"},
        {"input i:7 2 3\nnode CastLike x i -> y\noutput y\n", "CastLike"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++) {
        char lines[256];

        snprintf(lines, sizeof lines, HEAD "%s", nodes[i][0]);
        check_refused(lines, nodes[i][1], strcmp(nodes[i][1], "CastLike") == 0 ? "to type" : "of whole numbers");
    }
    /* floats again */
    check_graph("opset 20\ninput i:7 2 3\nnode Cast i -> f to=1\nnode Div f f -> y\noutput y\n",
                "i = input shape=2,3\ny = eltwise i f=div(a,a)\n");
    check_graph(HEAD "input i:7 2 3\nnode Less i i -> t\nnode Where t x x -> k\nnode Div k k -> y\noutput y\n",
                X_LINE "i = input shape=2,3\nk = eltwise i + x f=where(less(a,a),b,b)\n"
                       "y = eltwise k f=div(a,a)\n");
}

static void infinities_are_told_by_their_sign(void **state)
{
    (void)state;
    check_graph(HEAD "node IsInf x -> y\noutput y:9\n", X_LINE "y = eltwise x f=less(3.4028235e+38,abs(a))\n");
    check_graph(HEAD "node IsInf x -> y detect_negative=0\noutput y:9\n",
                X_LINE "y = eltwise x f=less(3.4028235e+38,a)\n");
    check_graph(HEAD "node IsInf x -> y detect_positive=0\noutput y:9\n",
                X_LINE "y = eltwise x f=less(3.4028235e+38,neg(a))\n");
    check_graph(HEAD "node IsNaN x -> y\noutput y:9\n", X_LINE "y = eltwise x f=sub(1,equal(a,a))\n");
    check_refused(HEAD "node IsInf x -> y detect_positive=0 detect_negative=0\noutput y:9\n", "IsInf", "neither sign");
}

static void angles_are_functions_of_their_names(void **state)
{
    static const char *const names[][2] = {{"Sin", "sin"},     {"Cos", "cos"},     {"Tan", "tan"},    {"Asin", "asin"},
                                           {"Acos", "acos"},   {"Atan", "atan"},   {"Sinh", "sinh"},  {"Cosh", "cosh"},
                                           {"Asinh", "asinh"}, {"Acosh", "acosh"}, {"Atanh", "atanh"}};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char nodes[128], graph[128];

        snprintf(nodes, sizeof nodes, HEAD "node %s x -> y\noutput y\n", names[i][0]);
        snprintf(graph, sizeof graph, X_LINE "y = eltwise x f=%s(a)\n", names[i][1]);
        check_graph(nodes, graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_every_type_go_in_and_out),
        cmocka_unit_test(other_types_are_refused),
        cmocka_unit_test(casts_are_those_of_the_types),
        cmocka_unit_test(quotients_and_means_of_whole_numbers_are_refused),
        cmocka_unit_test(infinities_are_told_by_their_sign),
        cmocka_unit_test(angles_are_functions_of_their_names),
    };
    int failed;

    if (!folder_open("test-onnx-types"))
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    folder_close();
    return failed;
}
