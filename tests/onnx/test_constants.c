/* SPDX-License-Identifier: MIT */
/* Constants of several numbers: computed with each other, and as operands of activations. */
#include "onnx/import.h"
#include "tests/onnx/check_import.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

/* What x is reshaped to is what the nodes compute: s. */
static void shapes_are_computed_of_several_constants(void **state)
{
    static const char *const facts[][2] = {
        {"node Size x -> n\nints o 1 = 0\nnode Unsqueeze n o -> s\n", "192"},
        {"ints a = 2\nints b = 9\nints d = 3\nnode Range a b d -> r\nints k 3 = 0 1 8\nnode Add r k -> s\n", "2,6,16"},
        {"ints a = 8\nints b = 2\nints d = -2\nnode Range a b d -> s\n", "8,6,4"},
        {"ints a 3 = 10 -9 -13\nints b 3 = 6 6 -7\nnode Mod a b -> r\nints k 3 = 0 5 12\nnode Add r k -> s\n", "4,8,6"},
        {"ints a 2 = 4 7\nints b 1 = 24\nnode Max a b -> m\nints c 2 = 8 24\nnode Min m c -> s\n", "8,24"},
        {"ints a 3 = 4 7 8\nints b 1 = 7\nnode Equal a b -> e\nints c 3 = 4 6 8\nnode Where e c a -> s\n", "4,6,8"},
        {"ints a 2 2 = 4 3 48 24\nnode ReduceMax a -> s axes=[1] keepdims=0\n", "4,48"},
        {"ints a 2 2 = 9 20 15 12\nnode ReduceMean a -> s axes=[0] keepdims=0\n", "12,16"},
        /* 51 / 4 and -67 / 4, cut */
        {"ints a 4 2 = 12 -16 13 -17 13 -17 13 -17\nnode ReduceMean a -> r axes=[0] keepdims=0\nints k 2 = 0 32\n"
         "node Add r k -> s\n",
         "12,16"},
        {"ints a 2 2 = 2 4 6 4\nnode ReduceProd a -> s axes=[0] keepdims=0\n", "12,16"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        char nodes[1024], graph[256];

        snprintf(nodes, sizeof nodes, "%snode Reshape x s -> y\n", facts[i][0]);
        snprintf(graph, sizeof graph, "y = reshape x shape=%s\n", facts[i][1]);
        check_nodes(nodes, graph);
    }
}

static void constants_of_several_numbers_are_channels(void **state)
{
    (void)state;
    check_nodes("const c 8 6 = 2 ...\nnode Add x c -> y\n",
                "x_1 = reshape x shape=4,48,1,1\ny = depthwise_conv2d x_1 r=1 s=1\ny_3 = reshape y shape=1,4,8,6\n");
    /* a number for each channel and column: rows of each are of the axes between */
    check_nodes("const c 4 1 6 = 2 ...\nnode Mul x c -> y\n",
                "x_1 = reshape x shape=1,192,1,1\ny = depthwise_conv2d x_1 r=1 s=1\ny_3 = reshape y shape=1,4,8,6\n");
    check_weights("opset 13\ninput x 2 2 2\nconst c 2 1 2 = 1 2 3 4\nnode Mul x c -> y\noutput y\n",
                  (const float[]){1, 2, 1, 2, 3, 4, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0}, 16, "y w 0 32\ny bias 32 32\n");
    check_weights("opset 13\ninput x 3 2 2\nconst c 2 2 = 1 2 3 4\nnode Sub c x -> y\noutput y\n",
                  (const float[]){-1, -1, -1, -1, 1, 2, 3, 4}, 8, "y w 0 16\ny bias 16 16\n");
    check_nodes("const c 4 1 1 = 2 3 4 5\nnode Div c x -> y\n",
                "y = eltwise x f=reciprocal(a)\ny_2 = depthwise_conv2d y r=1 s=1\n");
    check_nodes("const c 4 1 1 = 2 3 4 5\nnode PRelu x c -> y\n",
                "y = depthwise_conv2d x r=1 s=1\ny_2 = eltwise x + y f=where(less(a,0),b,a)\n");
    /* a convolution that the slope reads too keeps its weights */
    check_nodes("const w 4 4 1 1 = 0.5 ...\nnode Conv x w -> a\nconst c 4 1 1 = 2 3 4 5\nnode PRelu a c -> y\n",
                "a = conv2d x k=4 r=1 s=1\ny = depthwise_conv2d a r=1 s=1\n"
                "y_3 = eltwise a + y f=where(less(a,0),b,a)\n");
    check_weights("opset 17\ninput x 1 2 2\nconst f 2 2 = 1 2 3 4\nconst t 2 2 = 5 6 7 8\n"
                  "node LayerNormalization x f t -> y axis=1\noutput y\n",
                  (const float[]){1, 2, 3, 4, 5, 6, 7, 8}, 8, "y w 0 16\ny bias 16 16\n");
}

static void constants_stand_around_an_activation(void **state)
{
    (void)state;
    /* zeros before rows are the convolution's pad */
    check_nodes("const z 1 4 2 6 = 0\nnode Concat z x -> c axis=2\nconst w 4 4 1 1 = 0.5 ...\nnode Conv c w -> y\n",
                "y = conv2d x k=4 r=1 s=1 pad=2,0,0,0\n");
    check_graph("opset 13\ninput x 1 2 3\nconst a 1 1 3 = 4 5 6\nconst b 1 1 3 = 7\nnode Concat a x b -> y axis=1\n"
                "output y\n",
                "x = input shape=1,2,3\ny = strided_copy x shape=1,4,3 at=0 d0=3,1 d1=2,3 p1=1,1\n"
                "y_2 = reshape y shape=1,12,1,1\ny_3 = depthwise_conv2d y_2 r=1 s=1\ny_4 = reshape y_3 shape=1,4,3\n");
    check_weights("opset 13\ninput x 1 2 3\nconst a 1 1 3 = 4 5 6\nconst b 1 1 3 = 7\nnode Concat a x b -> y axis=1\n"
                  "output y\n",
                  (const float[]){1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 4, 5, 6, 0, 0, 0, 0, 0, 0, 7, 7, 7}, 24,
                  "y_3 w 0 48\ny_3 bias 48 48\n");
}

static void one_number_many_times_is_a_number(void **state)
{
    (void)state;
    check_nodes("const c 8 6 = 2 ...\nnode Abs c -> d\nnode Max x d -> y\n", "y = eltwise x f=max(a,2)\n");
    check_nodes("ints c 8 6 = 0 ...\nnode MaxPool x -> m kernel_shape=[1,1]\nconst z = 3\nnode Where c z m -> y\n",
                "m = pool2d x max r=1 s=1\n");
}

/* What of a constant has no channels to be, or is larger than the activation, is a weight of the chain, infinite ones
 * too. */
static void constants_of_several_numbers_are_weights_of_chains(void **state)
{
    (void)state;
    check_nodes("const c 6 = 1 2 3 4 5 6\nnode Max x c -> y\n", "c = constant shape=6\ny = eltwise x + c f=max(a,b)\n");
    check_nodes("const c 4 1 1 = 1 2 3 4\nnode Neg x -> n\nnode Pow c n -> p\nnode Less p c -> y\n",
                "c = constant shape=4,1,1\nc_4 = constant shape=4,1,1\n"
                "y = eltwise c + x + c_4 f=less(pow(a,neg(b)),c)\n");
    check_nodes("const c 2 4 8 6 = 1 ...\nnode Add x c -> y\n",
                "c = constant shape=2,4,8,6\ny = eltwise x + c f=add(a,b)\n");
    check_nodes("const c = -inf\nnode Less x x -> t\nnode Where t c x -> y\n",
                "c = constant shape=1\ny = eltwise x + c f=where(less(a,a),b,a)\n");
    check_weights(OF_IMAGE "const c 6 = 1 2 3 4 5 6\nconst d 1 = inf\nnode Max x c -> m\nnode Min m d -> n\n"
                           "node Less c n -> y\noutput y\n",
                  (const float[]){1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6, INFINITY}, 13, "y a 0 24\ny c 24 24\ny d 48 4\n");
}

/* Between activations: copied where nothing else brings them there, and where they are what the model gives. */
static void constants_are_copied_for_those_that_read_none(void **state)
{
    (void)state;
    check_nodes("const c 1 2 8 6 = 1 ...\nnode Neg x -> n\nnode Concat x c n -> y axis=1\n",
                "n = eltwise x f=neg(a)\nc = constant shape=1,2,8,6\nc_3 = eltwise c f=a\n"
                "y = concat x + c_3\ny_5 = concat y + n\n");
    check_graph(OF_IMAGE "const c 2 = 5 6\nnode Neg x -> n\noutput n\noutput c\n", IMAGE_LINE
                "n = eltwise x f=neg(a)\nc = constant shape=2\nc_3 = eltwise c f=a\nc_4 = reshape c_3 shape=2\n"
                "output n\noutput c_4\n");
}

/* By numbers that are known at run time, or in no order: of a constant table its weights, of activations the tensor. */
static void rows_are_gathered_by_their_numbers(void **state)
{
    (void)state;
    check_graph("opset 13\ninput i:7 2 3\nconst t 5 4 = 0.5 ...\nnode Gather t i -> y\noutput y\n",
                "i = input shape=2,3\nt = constant shape=1,5,4\ni_2 = reshape i shape=6\ny = gather t + i_2\n"
                "y_4 = reshape y shape=2,3,4\n");
    check_weights("opset 13\ninput i:7 1\nconst t 2 3 = 1 2 3 4 5 6\nnode Gather t i -> y axis=1\noutput y\n",
                  (const float[]){1, 2, 3, 4, 5, 6}, 6, "y x 0 24\n");
    check_nodes("ints i 3 = 0 5 -1\nnode Gather x i -> y axis=2\n",
                "i = constant shape=3\ni_2 = eltwise i f=a\nx_3 = reshape x shape=4,8,6\ny = gather x_3 + i_2\n"
                "y_5 = reshape y shape=1,4,3,6\n");
    check_nodes("node ReduceMax x -> m keepdims=0\nnode Gather x m -> y axis=1\n", /* by one number */
                "x_1 = reshape x shape=1,192,1\nm = reduce x_1 kind=max\nx_3 = reshape x shape=1,4,48\n"
                "m_4 = reshape m shape=1\ny = gather x_3 + m_4\ny_6 = reshape y shape=1,8,6\n");
}

/* The sums of squares are a convolution along the channels, of 0.9 / 3 each. */
static void local_responses_are_normalized_by_a_convolution(void **state)
{
    (void)state;
    check_nodes("node LRN x -> y size=3 alpha=1.5 beta=0.5 bias=2.0\n",
                "y = eltwise x f=mul(mul(a,0.5),a)\ny_2 = reshape y shape=1,1,4,48\n"
                "y_3 = depthwise_conv2d y_2 r=3 s=1 pad=1,0\ny_4 = reshape y_3 shape=1,4,8,6\n"
                "y_5 = eltwise x + y_4 f=div(a,pow(b,0.5))\n");
    check_nodes("node LRN x -> y size=4\n",
                "y = eltwise x f=mul(mul(a,2.5e-05),a)\ny_2 = reshape y shape=1,1,4,48\n"
                "y_3 = depthwise_conv2d y_2 r=4 s=1 pad=1,0,2,0\ny_4 = reshape y_3 shape=1,4,8,6\n"
                "y_5 = eltwise x + y_4 f=div(a,pow(b,0.75))\n");
    check_weights(OF_IMAGE "node LRN x -> y size=3 alpha=1.5 beta=0.5 bias=2.0\noutput y\n",
                  (const float[]){1, 1, 1, 2}, 4, "y_3 w 0 12\ny_3 bias 12 4\n");
}

/* 2 groups of 96 numbers: their mean, their squares' mean, and a factor and a term of each channel. */
static void groups_and_norms_are_reductions(void **state)
{
    (void)state;
    check_nodes(
        "const f 4 = 1 2 3 4\nconst t 4 = 5 6 7 8\nnode GroupNormalization x f t -> y num_groups=2 epsilon=0.5\n",
        "x_1 = reshape x shape=2,96,1\ny = reduce x_1 kind=mean\nx_3 = reshape x shape=1,2,96\n"
        "y_4 = reshape y shape=1,2,1\ny_5 = eltwise x_3 + y_4 f=mul(sub(a,b),sub(a,b))\n"
        "y_6 = reshape y_5 shape=2,96,1\ny_7 = reduce y_6 kind=mean\ny_8 = reshape y_7 shape=1,2,1\n"
        "y_9 = eltwise y_8 f=reciprocal(sqrt(add(a,0.5)))\nx_10 = reshape x shape=1,2,96\n"
        "y_11 = reshape y shape=1,2,1\ny_12 = eltwise x_10 + y_11 + y_9 f=mul(sub(a,b),c)\n"
        "y_13 = reshape y_12 shape=1,4,48,1\ny_14 = depthwise_conv2d y_13 r=1 s=1\n"
        "y_15 = reshape y_14 shape=1,4,8,6\n");
    /* what is read twice is computed once */
    check_nodes("node Neg x -> n\nnode LpNormalization n -> y axis=1 p=1\n",
                "n = eltwise x f=neg(a)\nn_2 = reshape n shape=1,4,48\ny = reduce n_2 kind=l1\n"
                "y_4 = reshape y shape=1,1,8,6\ny_5 = eltwise y_4 + n f=where(less(0,a),div(b,a),0)\n");
    check_nodes("node LpNormalization x -> y axis=1 p=1\n",
                "x_1 = reshape x shape=1,4,48\ny = reduce x_1 kind=l1\ny_3 = reshape y shape=1,1,8,6\n"
                "y_4 = eltwise y_3 + x f=where(less(0,a),div(b,a),0)\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_are_computed_of_several_constants),
        cmocka_unit_test(constants_of_several_numbers_are_channels),
        cmocka_unit_test(constants_of_several_numbers_are_weights_of_chains),
        cmocka_unit_test(constants_are_copied_for_those_that_read_none),
        cmocka_unit_test(rows_are_gathered_by_their_numbers),
        cmocka_unit_test(constants_stand_around_an_activation),
        cmocka_unit_test(one_number_many_times_is_a_number),
        cmocka_unit_test(local_responses_are_normalized_by_a_convolution),
        cmocka_unit_test(groups_and_norms_are_reductions),
    };
    int failed;

    if (!folder_open("test-onnx-constants"))
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    folder_close();
    return failed;
}
