/* SPDX-License-Identifier: MIT */
/* Resize and Upsample: where each output lies, by the formulas of ONNX's text, by hand. */
#include "onnx/import.h"
#include "tests/onnx/check_import.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HEAD "opset 19\ninput x 1 4 8 6\n"
#define X_LINE "x = input c=4 h=8 w=6\n"

struct fact {
    const char *nodes, *graph;
};

static void check_facts(const struct fact *facts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char lines[1024], graph[1024];

        snprintf(lines, sizeof lines, HEAD "%soutput y\n", facts[i].nodes);
        snprintf(graph, sizeof graph, X_LINE "%s", facts[i].graph);
        check_graph(lines, graph);
    }
}

static void outputs_lie_where_their_mode_says(void **state)
{
    static const struct fact facts[] = {
        /* (i + 1/2) / 2 - 1/2 is rounded to i / 2 without the rest: -1/4 1/4 3/4 5/4 */
        {"const s 4 = 1 1 2 2\nnode Resize x - s -> y\n",
         "y = resize2d x shape=1,4,16,12 step=1,1 first=0,0 unit=2,2 kind=nearest\n"},
        {"const s 4 = 1 1 2 2\nnode Resize x - s -> y coordinate_transformation_mode='asymmetric' "
         "nearest_mode='floor'\n",
         "y = resize2d x shape=1,4,16,12 step=1,1 first=0,0 unit=2,2 kind=nearest\n"},
        /* i / 2 upwards: 0 1 1 2 */
        {"const s 4 = 1 1 2 2\nnode Resize x - s -> y coordinate_transformation_mode='asymmetric' "
         "nearest_mode='ceil'\n",
         "y = resize2d x shape=1,4,16,12 step=1,1 first=1,1 unit=2,2 kind=nearest\n"},
        /* 2 i + 1/2, between two */
        {"const s 4 = 1 1 0.5 0.5\nnode Resize x - s -> y\n",
         "y = resize2d x shape=1,4,4,3 step=2,2 first=0,0 unit=1,1 kind=nearest\n"},
        {"const s 4 = 1 1 0.5 0.5\nnode Resize x - s -> y nearest_mode='round_prefer_ceil'\n",
         "y = resize2d x shape=1,4,4,3 step=2,2 first=1,1 unit=1,1 kind=nearest\n"},
        /* (2 i - 1) / 4 */
        {"ints s 4 = 1 4 16 12\nnode Resize x - - s -> y mode='linear'\n",
         "y = resize2d x shape=1,4,16,12 step=2,2 first=-1,-1 unit=4,4 kind=linear\n"},
        /* 7 i / 14, 5 i / 10 */
        {"ints s 4 = 1 4 15 11\nnode Resize x - - s -> y mode='linear' "
         "coordinate_transformation_mode='align_corners'\n",
         "y = resize2d x shape=1,4,15,11 step=1,1 first=0,0 unit=2,2 kind=linear\n"},
        /* one output: its middle, or the first element */
        {"ints s 4 = 1 4 1 6\nnode Resize x - - s -> y mode='linear'\n",
         "y = resize2d x shape=1,4,1,6 step=16,1 first=7,0 unit=2,1 kind=linear\n"},
        {"ints s 4 = 1 4 1 6\nnode Resize x - - s -> y mode='linear' "
         "coordinate_transformation_mode='pytorch_half_pixel'\n",
         "y = resize2d x shape=1,4,1,6 step=8,1 first=0,0 unit=1,1 kind=linear\n"},
        /* 8 * 0.6 = 4.8 rows, of which 4 are made: 8/2 (1 - 4/4.8) more, (i + 1/2) 5/3 + 1/6 */
        {"const s 4 = 1 1 0.6 1\nnode Resize x - s -> y mode='linear' "
         "coordinate_transformation_mode='half_pixel_symmetric'\n",
         "y = resize2d x shape=1,4,4,6 step=5,1 first=3,0 unit=3,1 kind=linear\n"},
        /* 10 i / 10 - 2: as it is, between others */
        {"const r 8 = 0 0 0 -0.4 1 1 1 1.4\nints s 4 = 1 4 8 10\nnode Resize x r - s -> y "
         "coordinate_transformation_mode='tf_crop_and_resize'\n",
         "y = strided_copy x shape=1,4,8,10 at=0 d0=6,1 d1=32,6 p0=2,2\n"},
        /* 7/4 + i/2; 5/4 + i, of which two are behind the last */
        {"const r 8 = 0 0 0.25 0.25 1 1 0.75 1.25\nints s 4 = 1 4 8 6\nnode Resize x r - s -> y mode='linear' "
         "coordinate_transformation_mode='tf_crop_and_resize' extrapolation_value=10.0\n",
         "y = resize2d x shape=1,4,8,4 step=2,4 first=7,5 unit=4,4 kind=linear\n"
         "y_2 = strided_copy y shape=1,4,8,6 at=0 d0=4,1 d1=32,4 p0=0,2 fill=1092616192\n"},
    };

    (void)state;
    check_facts(facts, sizeof facts / sizeof facts[0]);
}

static void sizes_are_of_the_axes_that_are_named(void **state)
{
    static const struct fact facts[] = {
        {"const s 2 = 3 2\nnode Resize x - s -> y axes=[3,2]\n",
         "y = resize2d x shape=1,4,16,18 step=1,1 first=0,0 unit=2,3 kind=nearest\n"},
        /* 24 of 8 and of 6: 3 or 4 times, both alike */
        {"ints s 2 = 24 24\nnode Resize x - - s -> y axes=[2,3] keep_aspect_ratio_policy='not_larger'\n",
         "y = resize2d x shape=1,4,24,18 step=1,1 first=0,0 unit=3,3 kind=nearest\n"},
        {"ints s 2 = 24 24\nnode Resize x - - s -> y axes=[2,3] keep_aspect_ratio_policy='not_smaller'\n",
         "y = resize2d x shape=1,4,32,24 step=1,1 first=0,0 unit=4,4 kind=nearest\n"},
        /* others than the last two alone, as rows of what lies behind */
        {"ints s 4 = 1 8 8 6\nnode Resize x - - s -> y\n",
         "x_1 = reshape x shape=1,1,4,48\ny = resize2d x_1 shape=1,1,8,48 step=1,1 first=0,0 unit=2,1 kind=nearest\n"
         "y_3 = reshape y shape=1,8,8,6\n"},
        {"const s 4 = 1 1 1 1\nnode Resize x - s -> r\nnode MaxPool r -> y kernel_shape=[1,1]\n",
         "y = pool2d x max r=1 s=1\n"},
    };

    (void)state;
    check_facts(facts, sizeof facts / sizeof facts[0]);
    check_graph("opset 9\ninput x 1 4 8 6\nconst s 4 = 1 1 2 2\nnode Upsample x s -> y mode='linear'\noutput y\n",
                X_LINE "y = resize2d x shape=1,4,16,12 step=1,1 first=0,0 unit=2,2 kind=linear\n");
    check_graph("opset 10\ninput x 1 4 8 6\nconst s 4 = 1 1 2 2\nnode Resize x s -> y mode='nearest'\noutput y\n",
                X_LINE "y = resize2d x shape=1,4,16,12 step=1,1 first=0,0 unit=2,2 kind=nearest\n");
}

/* The weights of each output, of halves and thirds by hand. */
static void many_elements_are_a_product_with_weights(void **state)
{
    static const float smooth[] = {0.5F, 0.375F, 0.125F, 0, 0, 0.125F, 0.375F, 0.5F, 0, 0};
    static const float inside[] = {3 / 7.F, 3 / 7.F, 1 / 7.F, 0, 0, 1 / 7.F, 3 / 7.F, 3 / 7.F, 0, 0};
    static const float cubic[] = {1.10546875F,  -0.10546875F, 0.7734375F, 0.2265625F, 0.2265625F, 0.7734375F,
                                  -0.10546875F, 1.10546875F,  0,          0,          0,          0};

    (void)state;
    check_graph("opset 19\ninput x 3 4\nints s 2 = 3 2\nnode Resize x - - s -> y mode='linear' antialias=1\noutput y\n",
                "x = input shape=3,4\ny = dense x n=2\n");
    check_weights(
        "opset 19\ninput x 3 4\nints s 2 = 3 2\nnode Resize x - - s -> y mode='linear' antialias=1\noutput y\n", smooth,
        10, "y w 0 32\ny bias 32 8\n");
    check_weights("opset 19\ninput x 3 4\nints s 2 = 3 2\nnode Resize x - - s -> y mode='linear' antialias=1 "
                  "exclude_outside=1\noutput y\n",
                  inside, 10, "y w 0 32\ny bias 32 8\n");
    check_weights("opset 13\ninput x 3 2\nints s 2 = 3 4\nnode Resize x - - s -> y mode='cubic'\noutput y\n", cubic, 12,
                  "y w 0 32\ny bias 32 16\n");
}

static void what_has_no_place_is_refused(void **state)
{
    static const char *const nodes[] = {
        "const s 3 = 1 1 2\nnode Resize x - s -> y\n",
        "const s 4 = 1 1 2 0\nnode Resize x - s -> y\n",
        "const s 4 = 1 1 2 -1\nnode Resize x - s -> y\n",
        "const s 4 = 1 1 2 3.14159274\nnode Resize x - s -> y mode='round'\n",
        "ints s 4 = 1 4 0 6\nnode Resize x - - s -> y\n",
        "node Resize x -> y\n",
        "input s 4\nnode Resize x - s -> y\n",
        "const s 1 = 2\nnode Resize x - s -> y axes=[4]\n",
        "ints s 4 = 1 4 8 6\nnode Resize x - - s -> y coordinate_transformation_mode='tf_crop_and_resize'\n",
        ("const r 8 = 0 0 2 0 1 1 3 1\nints s 4 = 1 4 8 6\nnode Resize x r - s -> y "
         "coordinate_transformation_mode='tf_crop_and_resize'\n"),
    };

    (void)state;
    for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++) {
        struct onnx_import *m = NULL;
        struct why why = {""};
        char lines[512];

        snprintf(lines, sizeof lines, HEAD "%soutput y\n", nodes[i]);
        assert_int_equal(import_lines(lines, NULL, 0, &m, &why), ERR_OK);
        if (row_of(m, "Resize")->n[ONNX_UNSUPPORTED] != 1)
            fail_msg("%snot refused", nodes[i]);
        onnx_import_close(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_lie_where_their_mode_says),
        cmocka_unit_test(sizes_are_of_the_axes_that_are_named),
        cmocka_unit_test(many_elements_are_a_product_with_weights),
        cmocka_unit_test(what_has_no_place_is_refused),
    };
    int failed;

    if (!folder_open("test-onnx-resize"))
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    folder_close();
    return failed;
}
