/* SPDX-License-Identifier: MIT */
/* Operators of places along an axis: ArgMax, ArgMin, Hardmax, CumSum, Trilu. */
#include "onnx/import.h"
#include "tests/onnx/check_import.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HEAD "opset 20\ninput x 2 3 4\n"
#define X_LINE "x = input shape=2,3,4\n"

/* The least place of those whose number is the largest; the largest place of those whose number is the least. */
static void the_place_of_an_extreme_is_that_of_its_number(void **state)
{
    (void)state;
    check_graph(HEAD "node ArgMax x -> y axis=1 keepdims=0\noutput y:7\n",
                X_LINE "y = reduce x kind=max\ny_2 = reshape y shape=2,1,4\ny_3 = constant shape=3,1\n"
                       "y_4 = eltwise x + y_2 + y_3 f=where(equal(a,b),c,3)\ny_5 = reduce y_4 kind=min\n");
    check_weights(HEAD "node ArgMax x -> y axis=1 keepdims=0\noutput y:7\n", (const float[]){0, 1, 2}, 3,
                  "y_4 c 0 12\n");
    check_graph(HEAD "node ArgMin x -> y axis=-1 select_last_index=1\noutput y:7\n",
                X_LINE "x_1 = reshape x shape=6,4,1\ny = reduce x_1 kind=min\ny_3 = reshape y shape=2,3,1\n"
                       "y_4 = constant shape=4\ny_5 = eltwise x + y_3 + y_4 f=where(equal(a,b),c,-1)\n"
                       "y_6 = reshape y_5 shape=6,4,1\ny_7 = reduce y_6 kind=max\ny_8 = reshape y_7 shape=2,3,1\n");
}

static void the_first_of_the_largest_is_hard(void **state)
{
    (void)state;
    check_graph(HEAD "node Hardmax x -> y axis=1\noutput y\n", X_LINE
                "y = reduce x kind=max\ny_2 = reshape y shape=2,1,4\ny_3 = constant shape=3,1\n"
                "y_4 = eltwise x + y_2 + y_3 f=where(equal(a,b),c,3)\ny_5 = reduce y_4 kind=min\n"
                "y_6 = reshape y_5 shape=2,1,4\ny_7 = constant shape=3,1\ny_8 = eltwise y_6 + y_7 f=equal(a,b)\n");
}

/* Of three numbers: each with those before it or behind it, or those alone. */
static void sums_so_far_are_a_triangle_of_ones(void **state)
{
    static const struct {
        const char *words;
        float w[12];
    } ways[] = {
        {"", {1, 0, 0, 1, 1, 0, 1, 1, 1}},
        {" exclusive=1", {0, 0, 0, 1, 0, 0, 1, 1, 0}},
        {" reverse=1", {1, 1, 1, 0, 1, 1, 0, 0, 1}},
        {" reverse=1 exclusive=1", {0, 1, 1, 0, 0, 1, 0, 0, 0}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        char lines[256];

        snprintf(lines, sizeof lines, "opset 20\ninput x 2 3\nints a = -1\nnode CumSum x a -> y%s\noutput y\n",
                 ways[i].words);
        check_graph(lines, "x = input shape=2,3\ny = dense x n=3\n");
        check_weights(lines, ways[i].w, 12, "y w 0 36\ny bias 36 12\n"); /* and 3 zeros */
    }
}

static void triangles_are_kept_by_a_mask(void **state)
{
    (void)state;
    check_graph(HEAD "node Trilu x -> y\noutput y\n",
                X_LINE "y = constant shape=3,4\ny_2 = eltwise y + x f=where(a,b,0)\n");
    check_weights(HEAD "node Trilu x -> y\noutput y\n", (const float[]){1, 1, 1, 1, 0, 1, 1, 1, 0, 0, 1, 1}, 12,
                  "y_2 a 0 48\n");
    check_weights(HEAD "ints k = 1\nnode Trilu x k -> y upper=0\noutput y\n",
                  (const float[]){1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1}, 12, "y_2 a 0 48\n");
    /* of a constant now */
    check_weights("opset 20\ninput x 2 2\nconst c 2 2 2 = 1 2 3 4 5 6 7 8\nints k = -1\nnode Trilu c k -> t upper=0\n"
                  "node Max x t -> y\noutput y\n",
                  (const float[]){0, 0, 3, 0, 0, 0, 7, 0}, 8, "y b 0 32\n");
}

/* Halves have no 2049. */
static void places_that_the_type_does_not_hold_are_refused(void **state)
{
    static const char lines[] = "opset 20\ninput x 2 2050\nnode ArgMax x -> y axis=1\noutput y:7\n";
    struct onnx_import *m = NULL;
    struct why why = {""};

    (void)state;
    assert_int_equal(import_lines(lines, NULL, 0, &m, &why), ERR_OK);
    assert_int_equal(onnx_import_weights(m, folder_path(), DTYPE_F32, &why), ERR_OK);
    assert_int_equal(onnx_import_weights(m, folder_path(), DTYPE_F16, &why), ERR_UNSUPPORTED);
    if (!strstr(why.text, "the whole number 2049 is no f16"))
        fail_msg("%s", why.text);
    onnx_import_close(m);
}

static void what_has_no_places_is_refused(void **state)
{
    static const char *const facts[][3] = {
        {"node ArgMax x -> y axis=3\noutput y\n", "ArgMax", "one of its axes"},
        {"node Hardmax x -> y axis=-4\noutput y\n", "Hardmax", "one of its axes"},
        {"ints a = 3\nnode CumSum x a -> y\noutput y\n", "CumSum", "one of its axes"},
        {"node CumSum x x -> y\noutput y\n", "CumSum", "constant"},
        {"ints a 2 = 0 1\nnode CumSum x a -> y\noutput y\n", "CumSum", "one of its axes"},
        {"input z 1 513\nints a = 1\nnode CumSum z a -> y\noutput y\n", "CumSum", "of 513 numbers: over 512"},
        {"input z 513 512\nnode Trilu z -> y\noutput y\n", "Trilu", "matrices of over 262144 numbers"},
        {"node Trilu x x -> y\noutput y\n", "Trilu", "a constant diagonal"},
        {"input z 5\nnode Trilu z -> y\noutput y\n", "Trilu", "expected matrices"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        char lines[256];

        snprintf(lines, sizeof lines, HEAD "%s", facts[i][0]);
        check_refused(lines, facts[i][1], facts[i][2]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_place_of_an_extreme_is_that_of_its_number),
        cmocka_unit_test(the_first_of_the_largest_is_hard),
        cmocka_unit_test(sums_so_far_are_a_triangle_of_ones),
        cmocka_unit_test(triangles_are_kept_by_a_mask),
        cmocka_unit_test(places_that_the_type_does_not_hold_are_refused),
        cmocka_unit_test(what_has_no_places_is_refused),
    };
    int failed;

    if (!folder_open("test-onnx-places"))
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    folder_close();
    return failed;
}
