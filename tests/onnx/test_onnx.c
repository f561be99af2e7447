/* SPDX-License-Identifier: MIT */
/* ONNX models: what they become. */
#include "core/buf.h"
#include "onnx/file.h"
#include "onnx/import.h"
#include "onnx/tensor.h"
#include "tests/onnx/check_import.h"
#include "tests/onnx/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void windows_keep_their_pads_steps_and_groups(void **state)
{
    (void)state;
    check_graph(IMAGE
                "const w 8 1 3 2 = 0.5 ...\n"
                "node Conv x w -> y name='/b.0/conv' group=4 strides=[2,1] pads=[1,0,2,1] dilations=[1,2]\noutput y\n",
                "x = input c=4 h=8 w=6\n"
                "b_0_conv = conv2d x k=8 r=3 s=2 stride=2,1 pad=1,0,2,1 dilation=1,2 groups=4\n");
    check_graph(
        IMAGE "const w 4 1 3 3 = 0.5 ...\nnode Conv x w -> y group=4 auto_pad='SAME_UPPER' strides=[3,3]\noutput y\n",
        "x = input c=4 h=8 w=6\ny = depthwise_conv2d x r=3 s=3 stride=3 pad=0,0,1,0\n"); /* 3 x 2: 9 of 8, 6 of 6 */
    check_graph(IMAGE "const w 4 4 2 2 = 0.5 ...\nnode Conv x w -> y auto_pad='SAME_LOWER'\noutput y\n",
                "x = input c=4 h=8 w=6\ny = conv2d x k=4 r=2 s=2 pad=1,1,0,0\n");
    check_graph(IMAGE "ints p 8 = 0 0 1 2 0 0 3 0\nnode Pad x p -> z\nconst w 4 4 3 3 = 0.5 ...\n"
                      "node Conv z w -> y pads=[0,1,0,1]\noutput y\n",
                "x = input c=4 h=8 w=6\ny = conv2d x k=4 r=3 s=3 pad=1,3,3,1\n");
    check_graph(IMAGE "node MaxPool x -> y kernel_shape=[3,3] strides=[2,2] ceil_mode=1\noutput y\n",
                "x = input c=4 h=8 w=6\ny = pool2d x max r=3 s=3 stride=2 pad=0,0,1,1\n");
    check_graph(IMAGE "node AveragePool x -> y kernel_shape=[2,2] pads=[1,1,0,0]\noutput y\n",
                "x = input c=4 h=8 w=6\ny = pool2d x avg r=2 s=2 pad=1,1,0,0\n");
    check_graph(IMAGE "node AveragePool x -> y kernel_shape=[2,2] pads=[1,0,0,1] count_include_pad=1\noutput y\n",
                "x = input c=4 h=8 w=6\nx_1 = strided_copy x shape=1,4,9,7 at=0 d0=6,1 d1=8,6 d2=4,48 p0=0,1 p1=1,0\n"
                "y = pool2d x_1 avg r=2 s=2\n");
    /* rows of one dimension are images of one row */
    check_graph(
        "opset 13\ninput x 2 4 9\nconst w 6 2 3 = 0.5 ...\nnode Conv x w -> c group=2 pads=[1,0] strides=[2]\n"
        "node Relu c -> r\nnode MaxPool r -> p kernel_shape=[2] pads=[0,1]\nnode GlobalAveragePool p -> y\noutput y\n",
        "x = input shape=2,4,9\nx_1 = reshape x shape=2,4,1,9\n"
        "c = conv2d x_1 k=6 r=1 s=3 stride=1,2 pad=0,1,0,0 groups=2 relu\n" /* 10 - 3 over 2: 4 */
        "p = pool2d c max r=1 s=2 pad=0,0,0,1\ny = pool2d p avg global\ny_5 = reshape y shape=2,6,1\n");
    check_graph("opset 13\ninput x 1 4 9\nints p 6 = 0 0 2 0 0 1\nnode Pad x p -> q\nconst w 6 4 3 = 0.5 ...\n"
                "node Conv q w -> y\noutput y\n",
                "x = input shape=1,4,9\nq = reshape x shape=1,4,1,9\ny = conv2d q k=6 r=1 s=3 pad=0,2,0,1\n"
                "y_3 = reshape y shape=1,6,10\n");
    check_graph("opset 13\ninput x 1 2 3 4 5\nnode GlobalMaxPool x -> y\noutput y\n",
                "x = input shape=1,2,3,4,5\nx_1 = reshape x shape=1,2,1,60\ny = pool2d x_1 max global\n"
                "y_3 = reshape y shape=1,2,1,1,1\n");
    check_graph(
        IMAGE "node ReduceMean x -> p axes=[-1,2] keepdims=0\nconst w 4 3 = 0.5 ...\nnode MatMul p w -> y\noutput y\n",
        "x = input c=4 h=8 w=6\np = pool2d x avg global\ny = dense p n=3\n");
}

static void what_follows_a_layer_is_done_in_its_kernel(void **state)
{
    (void)state;
    check_graph(IMAGE CONV "node Relu a -> y\noutput y\n", "x = input c=4 h=8 w=6\na = conv2d x k=4 r=1 s=1 relu\n");
    check_graph("opset 9\ninput x 1 4 8 6\n" CONV "node Clip a -> y min=0.0 max=6.0\noutput y\n",
                "x = input c=4 h=8 w=6\na = conv2d x k=4 r=1 s=1 relu6\n");
    check_graph(IMAGE CONV "const lo = 0\nconst hi = 6\nnode Clip a lo hi -> y\noutput y\n",
                "x = input c=4 h=8 w=6\na = conv2d x k=4 r=1 s=1 relu6\n");
    check_graph(IMAGE CONV "const lo = 0\nnode Clip a lo -> y\noutput y\n",
                "x = input c=4 h=8 w=6\na = conv2d x k=4 r=1 s=1 relu\n");
    check_graph(IMAGE CONV "node Add a x -> b\nnode Relu b -> y\noutput y\n",
                "x = input c=4 h=8 w=6\na = conv2d x + x k=4 r=1 s=1 relu\n");
    /* a is the earlier one of two, and the other has a relu: a is made last */
    check_graph(IMAGE CONV "node MaxPool x -> p kernel_shape=[1,1]\nnode Add a p -> y\noutput y\n",
                "x = input c=4 h=8 w=6\np = pool2d x max r=1 s=1\na = conv2d x + p k=4 r=1 s=1\n");
}

/* Where others read what a layer gives, nothing may be done to it. */
static void what_others_read_stays_as_it_is(void **state)
{
    (void)state;
    check_graph(IMAGE CONV "node Relu a -> b\nnode Add a b -> y\noutput y\n",
                "x = input c=4 h=8 w=6\na = conv2d x k=4 r=1 s=1\ny = eltwise a f=add(a,relu(a))\n");
    check_graph(IMAGE CONV "node Identity a -> i\nnode Relu i -> b\nnode Add b a -> y\noutput y\n",
                "x = input c=4 h=8 w=6\na = conv2d x k=4 r=1 s=1\ny = eltwise a f=add(relu(a),a)\n");
    check_graph(IMAGE "node Relu x -> y\noutput y\n", "x = input c=4 h=8 w=6\ny = eltwise x f=relu(a)\n");
    check_graph(IMAGE "node Add x x -> a\nnode Relu a -> y\noutput y\n",
                "x = input c=4 h=8 w=6\ny = eltwise x f=relu(add(a,a))\n");
    /* nobody reads b */
    check_graph(IMAGE CONV "node Conv a w -> b\nnode Relu a -> y\noutput y\n",
                "x = input c=4 h=8 w=6\na = conv2d x k=4 r=1 s=1\ny = eltwise a f=relu(a)\n");
}

/* A value that others read, or that is smaller than what reads it, is computed by itself. */
static void chains_of_elements_are_one_layer(void **state)
{
    static const char *const facts[][2] = {
        {"node Sigmoid x -> s\nnode Mul x s -> y\noutput y\n", "y = eltwise x f=mul(a,sigmoid(a))\n"},
        {"node HardSigmoid x -> y\noutput y\n", "y = eltwise x f=hard_sigmoid(a,0.2,0.5)\n"},
        {"node HardSigmoid x -> y alpha=0.5 beta=0.25\noutput y\n", "y = eltwise x f=hard_sigmoid(a,0.5,0.25)\n"},
        {"node Elu x -> y alpha=2.0\noutput y\n", "y = eltwise x f=elu(a,2)\n"},
        {"const l = -1\nnode Clip x l -> y\noutput y\n", "y = eltwise x f=max(a,-1)\n"},
        {"const l = -1\nconst h = 1\nnode Clip x l h -> y\noutput y\n", "y = eltwise x f=clip(a,-1,1)\n"},
        {"const h = 1\nnode Clip x - h -> y\noutput y\n", "y = eltwise x f=min(a,1)\n"},
        {"const c = 1\nnode Div c x -> q\nnode Sub q x -> y\noutput y\n", "y = eltwise x f=sub(div(1,a),a)\n"},
        {"const c = 2\nnode Sqrt c -> d\nnode Mul x d -> y\noutput y\n", "y = eltwise x f=mul(a,1.4142135)\n"},
        {"node Gelu x -> g approximate='tanh'\nnode Tanh g -> y\noutput y\n", "y = eltwise x f=tanh(gelu_tanh(a))\n"},
        {"input u 4 1 1\nnode Sigmoid u -> s\nnode Mul x s -> y\noutput y\n",
         "u = input shape=4,1,1\ns = eltwise u f=sigmoid(a)\ny = eltwise x + s f=mul(a,b)\n"},
        {"input u 1 4 8 6\nnode PRelu x u -> y\noutput y\n",
         "u = input c=4 h=8 w=6\ny = eltwise x + u f=where(less(a,0),mul(a,b),a)\n"},
        {"node Exp x -> e\nnode Neg e -> n\nnode Log e -> l\noutput n\noutput l\n",
         "e = eltwise x f=exp(a)\nn = eltwise e f=neg(a)\nl = eltwise e f=log(a)\noutput n\noutput l\n"},
        {"input p 6\ninput q 6\ninput r 6\nnode Mean x p q -> m\nnode Max m r -> y\noutput y\n",
         "p = input shape=6\nq = input shape=6\nr = input shape=6\n"
         "y = eltwise x + p + q + r f=max(div(add(add(a,b),c),3),d)\n"},
        {"input p 6\ninput q 6\ninput r 6\ninput t 6\nnode Min x p q r t -> y\noutput y\n",
         "p = input shape=6\nq = input shape=6\nr = input shape=6\nt = input shape=6\n"
         "y_7 = eltwise x + p + q + r f=min(min(min(a,b),c),d)\ny_8 = eltwise y_7 + t f=min(a,b)\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        char lines[1024], graph[1024];

        snprintf(lines, sizeof lines, "%s%s", IMAGE, facts[i][0]);
        snprintf(graph, sizeof graph, "x = input c=4 h=8 w=6\n%s", facts[i][1]);
        check_graph(lines, graph);
    }
}

/* A layer for each stretch of axes; what is reduced twice is not squared, or its logarithm taken, twice. */
static void axes_are_reduced_stretch_by_stretch(void **state)
{
    static const char head[] = "opset 13\ninput x 2 3 4 5\n";
    static const char *const facts[][2] = {
        {"ints a 1 = 1\nnode ReduceSum x a -> y\noutput y\n",
         "x_1 = reshape x shape=2,3,20\ny = reduce x_1 kind=sum\ny_3 = reshape y shape=2,1,4,5\n"},
        {"node ReduceL1 x -> y keepdims=0\noutput y\n",
         "x_1 = reshape x shape=1,120,1\ny = reduce x_1 kind=l1\ny_3 = reshape y shape=1\n"},
        {"node ReduceMean x -> y axes=[2,-1] keepdims=0\noutput y\n",
         "y = pool2d x avg global\ny_2 = reshape y shape=2,3\n"},
        {"node ReduceLogSum x -> y axes=[0,3] keepdims=0\noutput y\n",
         "x_1 = reshape x shape=1,2,60\ny = reduce x_1 kind=sum\ny_3 = reshape y shape=12,5,1\n"
         "y_4 = reduce y_3 kind=log_sum\ny_5 = reshape y_4 shape=3,4\n"},
        {"node ReduceSumSquare x -> y axes=[0,2]\noutput y\n",
         "x_1 = reshape x shape=1,2,60\ny = reduce x_1 kind=sum_square\ny_3 = reshape y shape=3,4,5\n"
         "y_4 = reduce y_3 kind=sum\ny_5 = reshape y_4 shape=1,3,1,5\n"},
        {"node ReduceL2 x -> y axes=[1,3]\noutput y\n",
         "x_1 = reshape x shape=2,3,20\ny = reduce x_1 kind=l2\ny_3 = reshape y shape=8,5,1\n"
         "y_4 = reduce y_3 kind=l2\ny_5 = reshape y_4 shape=2,1,4,1\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        char lines[1024], graph[1024];

        snprintf(lines, sizeof lines, "%s%s", head, facts[i][0]);
        snprintf(graph, sizeof graph, "x = input n=2 c=3 h=4 w=5\n%s", facts[i][1]);
        check_graph(lines, graph);
    }
    check_graph("opset 13\ninput x 2 3 4 5 6\nnode GlobalAveragePool x -> y\noutput y\n",
                "x = input shape=2,3,4,5,6\nx_1 = reshape x shape=2,3,1,120\ny = pool2d x_1 avg global\n"
                "y_3 = reshape y shape=2,3,1,1,1\n");
}

/* (x - mean) / sqrt(mean of (x - mean)^2 + epsilon), with a scale and bias that are inputs or constants. */
static void normalizations_are_reductions_and_chains(void **state)
{
    (void)state;
    check_graph(
        "opset 17\ninput x 2 6\ninput s 6\ninput b 6\nnode LayerNormalization x s b -> y epsilon=0.5\noutput y\n",
        "x = input shape=2,6\ns = input shape=6\nb = input shape=6\nx_3 = reshape x shape=2,6,1\n"
        "y = reduce x_3 kind=mean\ny_5 = eltwise x + y f=mul(sub(a,b),sub(a,b))\n"
        "y_6 = reshape y_5 shape=2,6,1\ny_7 = reduce y_6 kind=mean\n"
        "y_8 = eltwise y_7 f=reciprocal(sqrt(add(a,0.5)))\n"
        "y_10 = eltwise x + y + y_8 + s f=mul(mul(sub(a,b),c),d)\ny_11 = eltwise y_10 + b f=add(a,b)\n");
    check_weights(
        "opset 13\ninput x 1 2 3 3\nconst s 2 = 2 3\nconst b 2 = -1 1\nnode InstanceNormalization x s b -> y\n"
        "output y\n",
        (const float[]){2, 3, -1, 1}, 4, "y_11 w 0 8\ny_11 bias 8 8\n");
    check_graph("opset 13\ninput x 2 5 3\nnode LogSoftmax x -> y axis=1\noutput y\n",
                "x = input shape=2,5,3\ny = reduce x kind=max\ny_2 = reshape y shape=2,1,3\n"
                "y_3 = eltwise x + y_2 f=sub(a,b)\ny_4 = reduce y_3 kind=log_sum_exp\n"
                "y_5 = reshape y_4 shape=2,1,3\ny_6 = eltwise y_3 + y_5 f=sub(a,b)\n");
}

/* Every call is kept, in as many layers as their texts need. */
static void long_chains_are_cut_where_a_workload_ends(void **state)
{
    struct onnx_import *m = NULL;
    struct why why = {""};
    struct buf lines, graph;
    int n_calls = 0, n_layers = 0;

    (void)state;
    buf_init(&lines, 65536);
    buf_init(&graph, 65536);
    buf_puts(&lines, IMAGE "node Sigmoid x -> v0\n");
    for (int i = 0; i < 100; i++)
        buf_printf(&lines, "node Sigmoid v%d -> v%d\n", i, i + 1);
    buf_puts(&lines, "output v100\n");
    if (import_lines(buf_text(&lines), NULL, 0, &m, &why) || onnx_import_graph(m, &graph, &why))
        fail_msg("%s", why.text);
    for (const char *p = buf_text(&graph); (p = strstr(p, "sigmoid(")) != NULL; p++)
        n_calls++;
    for (const char *p = buf_text(&graph); (p = strstr(p, "eltwise")) != NULL; p++)
        n_layers++;
    assert_int_equal(n_calls, 101);
    assert_in_range(n_layers, 2, 6);
    onnx_import_close(m);
    buf_fini(&lines);
    buf_fini(&graph);
}

static void channels_are_joined_two_at_a_time(void **state)
{
    (void)state;
    check_graph(IMAGE CONV "node Relu a -> r\nnode MaxPool x -> p kernel_shape=[1,1]\nnode Concat r x p -> y axis=-3\n"
                           "const v 12 12 1 1 = 0.5 ...\nnode Conv y v -> z\noutput z\n",
                "x = input c=4 h=8 w=6\na = conv2d x k=4 r=1 s=1 relu\np = pool2d x max r=1 s=1\n"
                "y = concat a + x\ny_4 = concat y + p\nz = conv2d y_4 k=12 r=1 s=1\n");
}

static void arithmetic_on_shapes_is_computed(void **state)
{
    static const char head[] =
        "opset 13\ninput x batch 4 1 1\nints i = 0\nints z 1 = 0\nints m 1 = -1\nints two 1 = 2\n"
        "ints far 1 = 9223372036854775807\nconst w 4 3 = 0.5 ...\n";
    static const char *const ways[] = {
        "node Shape x -> s\nnode Gather s i -> g axis=0\nnode Unsqueeze g z -> u\nnode Concat u m -> t axis=0\n"
        "node Reshape x t -> r\n",
        "node Shape x -> s\nnode Slice s z two -> g\nnode Cast g -> t to=7\nnode Reshape x t -> r\n",
        "node Shape x -> s\nnode Slice s two far -> g\nnode Mul g g -> q\nnode Neg q -> n\nnode Squeeze n -> k\n"
        "node ConstantOfShape z -> e\nnode Concat e q -> f axis=0\nnode Reshape x two2 -> r\nints two2 2 = 0 4\n",
        "node Squeeze x axes -> r\nints axes 2 = 2 -1\n",
        "node Constant -> c value_ints=[1,-1]\nnode Reshape x c -> r\n",
        "node Transpose x -> t perm=[0,2,3,1]\nnode Flatten t -> r\n",
        "node Flatten x -> f\nnode Dropout f -> d\nnode Identity d -> r\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        char lines[2048];

        snprintf(lines, sizeof lines, "%s%snode MatMul r w -> y\noutput y\n", head, ways[i]);
        check_graph(lines, "x = input c=4 h=1 w=1\ny = dense x n=3\n");
    }
}

/* By hand: scale 2 3, bias 1 1, mean 0.5 -1, variance and epsilon together 1 and 4: factors 2 / 1 and 3 / 2. */
static void batch_norm_and_scales_are_folded_into_weights(void **state)
{
    static const char conv[] = "opset 13\ninput x 1 2 3 3\nconst w 2 2 1 1 = 1 2 3 4\nconst b 2 = 10 20\n"
                               "const s 2 = 2 3\nconst t 2 = 1 1\nconst m 2 = 0.5 -1\nconst v 2 = 0.99999 3.99999\n"
                               "node Conv x w b -> a\n";
    char lines[1024];

    (void)state;
    snprintf(lines, sizeof lines, "%snode BatchNormalization a s t m v -> y\noutput y\n", conv);
    /* w * factor; (10 - 0.5) * 2 + 1, (20 + 1) * 1.5 + 1 */
    check_weights(lines, (const float[]){2, 4, 4.5F, 6, 20, 32.5F}, 6, "a w 0 16\na bias 16 8\n");
    snprintf(lines, sizeof lines,
             "%sconst h 2 1 1 = 0.5 2\nnode Mul a h -> p\nconst c = 1.5\nnode Sub c p -> y\noutput y\n", conv);
    check_weights(lines, (const float[]){-0.5F, -1, -6, -8, -3.5F, -38.5F}, 6, "a w 0 16\na bias 16 8\n");
    snprintf(lines, sizeof lines, "%snode Relu a -> r\nconst c = 2\nnode Div r c -> y\noutput y\n", conv);
    check_weights(lines, (const float[]){1, 2, 3, 4, 10, 20}, 6, "a w 0 16\na bias 16 8\n");
}

/* A constant that differs along axes which lie together: they are one axis of channels. */
static void constants_of_several_axes_are_scales_of_these_as_one(void **state)
{
    (void)state;
    check_graph("opset 13\ninput x 2 3 4 5\nconst c 3 4 1 = 0.5 ...\nnode Mul x c -> y\noutput y\n",
                "x = input n=2 c=3 h=4 w=5\nx_1 = reshape x shape=2,12,5,1\ny = depthwise_conv2d x_1 r=1 s=1\n"
                "y_3 = reshape y shape=2,3,4,5\n");
    check_weights("opset 13\ninput x 1 2 3\nconst c 1 2 3 = 1 2 3 4 5 6\nnode Sub c x -> y\noutput y\n",
                  (const float[]){-1, -1, -1, -1, -1, -1, 1, 2, 3, 4, 5, 6}, 12, "y w 0 24\ny bias 24 24\n");
    check_weights("opset 17\ninput x 3 2 2\nconst s 2 2 = 1 2 3 4\nconst b 2 2 = 5 6 7 8\n"
                  "node LayerNormalization x s b -> y axis=1\noutput y\n",
                  (const float[]){1, 2, 3, 4, 5, 6, 7, 8}, 8, "y w 0 16\ny bias 16 16\n");
}

/* y = alpha x B + beta c: rows of weights are the columns of B, unless it is transposed already. */
static void matrix_products_have_rows_of_weights(void **state)
{
    static const char head[] = "opset 13\ninput x 1 2\nconst w 2 3 = 1 2 3 4 5 6\nconst c 1 3 = 1 1 2\n";
    char lines[512];

    (void)state;
    snprintf(lines, sizeof lines, "%snode Gemm x w c -> y alpha=2.0 beta=0.5\noutput y\n", head);
    check_weights(lines, (const float[]){2, 8, 4, 10, 6, 12, 0.5F, 0.5F, 1}, 9, "y w 0 24\ny bias 24 12\n");
    check_weights("opset 13\ninput x 1 3\nconst w 2 3 = 1 2 3 4 5 6\nnode Gemm x w -> y transB=1\noutput y\n",
                  (const float[]){1, 2, 3, 4, 5, 6, 0, 0}, 8, "y w 0 24\ny bias 24 8\n");
    snprintf(lines, sizeof lines, "%snode MatMul x w -> p\nnode Add c p -> y\noutput y\n", head);
    check_weights(lines, (const float[]){1, 4, 2, 5, 3, 6, 1, 1, 2}, 9, "p w 0 24\np bias 24 12\n");
    snprintf(lines, sizeof lines,
             "opset 13\ninput x 1 3\nconst w 2 3 = 1 2 3 4 5 6\nnode Transpose w -> t\n"
             "node MatMul x t -> y\noutput y\n");
    check_weights(lines, (const float[]){1, 2, 3, 4, 5, 6, 0, 0}, 8, "y w 0 24\ny bias 24 8\n");
}

/* A tensor of two elements in each way of keeping it: type, field, whether packed bytes, bytes. */
static void weights_are_read_in_every_type(void **state)
{
    static const struct {
        int type, field;
        size_t n;
        unsigned char bytes[16];
    } ways[] = {
        {1, 9, 8, {0, 0, 0x40, 0x40, 0, 0, 0, 0xc0}},                            /* f32 */
        {1, 4, 8, {0, 0, 0x40, 0x40, 0, 0, 0, 0xc0}},                            /* f32, packed */
        {10, 9, 4, {0x00, 0x42, 0x00, 0xc0}},                                    /* f16 */
        {10, 5, 6, {0x80, 0x84, 0x01, 0x80, 0x80, 0x03}},                        /* f16 as varints 0x4200, 0xc000 */
        {16, 9, 4, {0x40, 0x40, 0x00, 0xc0}},                                    /* bf16 */
        {11, 9, 16, {0, 0, 0, 0, 0, 0, 0x08, 0x40, 0, 0, 0, 0, 0, 0, 0, 0xc0}},  /* f64 */
        {11, 10, 16, {0, 0, 0, 0, 0, 0, 0x08, 0x40, 0, 0, 0, 0, 0, 0, 0, 0xc0}}, /* f64, packed */
        {3, 9, 2, {3, 0xfe}},                                                    /* i8 */
        {7, 9, 16, {3, 0, 0, 0, 0, 0, 0, 0, 0xfe, 255, 255, 255, 255, 255, 255, 255}}, /* i64 */
        {6, 9, 8, {3, 0, 0, 0, 0xfe, 255, 255, 255}},                                  /* i32 */
        {7, 7, 11, {3, 0xfe, 255, 255, 255, 255, 255, 255, 255, 255, 1}},              /* i64 as varints */
    };

    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        struct buf tensor;
        Onnx__TensorProto *p;
        struct onnx_file none = {.folder = -1};
        struct onnx_tensor t;

        buf_init(&tensor, 256);
        wire_number(&tensor, 1, 2);
        wire_number(&tensor, 2, (uint64_t)ways[i].type);
        wire_bytes(&tensor, ways[i].field, ways[i].bytes, ways[i].n);
        p = onnx__tensor_proto__unpack(NULL, tensor.len, (const uint8_t *)tensor.data);
        assert_non_null(p);
        assert_int_equal(onnx_tensor_open(&none, p, &t, NULL), ERR_OK);
        if (onnx_tensor_at(&t, 0) != 3 || onnx_tensor_at(&t, 1) != -2)
            fail_msg("way %zu: %g and %g", i, onnx_tensor_at(&t, 0), onnx_tensor_at(&t, 1));
        onnx__tensor_proto__free_unpacked(p, NULL);
        buf_fini(&tensor);
    }
}

/* By its place, where a dimension has no name, or one that others have; a place before a name. The batch of one input
 * is that of another, wherever it stands there. */
static void open_dimensions_are_given_by_their_place(void **state)
{
    static const char lines[] = "opset 13\ninput x batch 0 ?\ninput h 2 batch ?\nnode Relu x -> y\nnode Relu h -> z\n"
                                "output y\noutput z\n";
    static const struct onnx_dim dims[] = {{"?", 5}, {"h.2", 7}, {"x.1", 3}};
    struct onnx_import *m = NULL;
    struct why why = {""};
    struct buf text;

    (void)state;
    assert_int_equal(import_lines(lines, dims, 2, &m, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "input x: dimension 1 is not fixed; expected --dim x.1=N"));
    assert_int_equal(import_lines(lines, dims, 3, &m, &why), ERR_OK);
    buf_init(&text, 4096);
    assert_int_equal(onnx_import_graph(m, &text, &why), ERR_OK);
    assert_string_equal(buf_text(&text), "x = input shape=1,3,5\nh = input shape=2,1,7\ny = eltwise x f=relu(a)\n"
                                         "z = eltwise h f=relu(a)\noutput y\noutput z\n");
    buf_fini(&text);
    onnx_import_close(m);
}

static void open_dimensions_are_given_from_outside(void **state)
{
    static const char lines[] = "opset 13\ninput x batch 4 height w\nnode Relu x -> y\noutput y\n";
    static const struct onnx_dim dims[] = {{"w", 5}, {"height", 7}};
    struct onnx_import *m = NULL;
    struct why why = {""};
    struct buf text;

    (void)state;
    assert_int_equal(import_lines(lines, dims, 1, &m, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "dimension 2 is not fixed; expected --dim height=N"));
    assert_int_equal(import_lines(lines, dims, 2, &m, &why), ERR_OK);
    buf_init(&text, 4096);
    assert_int_equal(onnx_import_graph(m, &text, &why), ERR_OK);
    assert_string_equal(buf_text(&text), "x = input c=4 h=7 w=5\ny = eltwise x f=relu(a)\n");
    buf_fini(&text);
    onnx_import_close(m);
}

/* Weights as an input of the model, in a file: two by two floats in raw_data. */
static void inputs_are_bound_to_tensors_of_files(void **state)
{
    static const float elems[] = {1, 2, 3, 4};
    const struct onnx_binding bindings[] = {{"w", below("w.pb")}, {"q", below("w.pb")}};
    struct onnx_import *m = NULL;
    struct why why = {""};
    struct buf tensor, model, text;

    (void)state;
    buf_init(&tensor, 4096);
    buf_init(&model, 4096);
    buf_init(&text, 4096);
    wire_number(&tensor, 1, 2);
    wire_number(&tensor, 1, 2);
    wire_number(&tensor, 2, 1);
    wire_bytes(&tensor, 9, elems, sizeof elems);
    write_file("w.pb", tensor.data, tensor.len);
    wire_model("opset 13\ninput x 1 2\ninput w 2 2\nnode MatMul x w -> y\noutput y\n", &model);
    assert_int_equal(onnx_import_parse(model.data, model.len, &(struct onnx_options){NULL, 0, bindings, 1}, &m, &why),
                     ERR_OK);
    assert_int_equal(onnx_import_graph(m, &text, &why), ERR_OK);
    assert_string_equal(buf_text(&text), "x = input shape=1,2\ny = dense x n=2\n");
    onnx_import_close(m);
    assert_int_equal(onnx_import_parse(model.data, model.len, &(struct onnx_options){NULL, 0, bindings, 2}, &m, &why),
                     ERR_INPUT);
    assert_non_null(strstr(why.text, "no value q to be bound"));
    write_file("w.pb", tensor.data, tensor.len - 1);
    assert_int_equal(onnx_import_parse(model.data, model.len, &(struct onnx_options){NULL, 0, bindings, 1}, &m, &why),
                     ERR_INPUT);
    assert_non_null(strstr(why.text, "w.pb: no model, or a damaged one"));
    buf_fini(&tensor);
    buf_fini(&model);
    buf_fini(&text);
}

static void a_table_tells_what_becomes_of_each_node(void **state)
{
    struct onnx_import *m = NULL;
    struct why why = {""};
    struct buf text;

    (void)state;
    assert_int_equal(import_lines(IMAGE CONV "node Relu a -> b\nnode Mod b b -> c name='/act/one'\nnode Mod c c -> d\n"
                                             "node my.domain.Blur d -> e\nnode Relu e -> f\nnode Conv a w -> g foo=1\n"
                                             "node Concat c d -> j axis=1\nnode GlobalMaxPool j -> k\n"
                                             "node If x -> h then_branch=G\nnode MaxPool x -> p kernel_shape=[1,1]\n"
                                             "output f\n",
                                  NULL, 0, &m, &why),
                     ERR_OK);
    assert_int_equal(row_of(m, "Conv")->n[ONNX_TUNED], 1);
    assert_int_equal(row_of(m, "Conv")->n[ONNX_UNSUPPORTED], 1);
    assert_non_null(strstr(row_of(m, "Conv")->words, "attribute foo"));
    assert_int_equal(row_of(m, "Relu")->n[ONNX_PLAIN], 1);
    assert_int_equal(row_of(m, "Relu")->n[ONNX_BEHIND], 1);
    assert_int_equal(row_of(m, "Mod")->n[ONNX_UNSUPPORTED], 2);
    assert_string_equal(row_of(m, "Mod")->first, "/act/one");
    assert_int_equal(row_of(m, "my.domain.Blur")->n[ONNX_UNSUPPORTED], 1);
    assert_non_null(strstr(row_of(m, "my.domain.Blur")->words, "another domain"));
    assert_non_null(strstr(row_of(m, "If")->words, "sub-graph"));
    assert_int_equal(row_of(m, "MaxPool")->n[ONNX_PLAIN], 1);
    assert_int_equal(row_of(m, "GlobalMaxPool")->n[ONNX_PLAIN], 1); /* behind what has a shape */
    buf_init(&text, 65536);
    assert_int_equal(onnx_import_graph(m, &text, &why), ERR_UNSUPPORTED);
    assert_string_equal(why.text, "not supported: Conv 1, Mod 2, my.domain.Blur 1, If 1");
    assert_int_equal(onnx_import_describe(m, &text), ERR_OK);
    assert_non_null(strstr(buf_text(&text), "not supported: Mod, 2, the first /act/one: of activations"));
    buf_fini(&text);
    onnx_import_close(m);
}

/* Before opset 13 over all from an axis on, since then over one; the last one so far. */
static void softmax_is_over_rows_wherever_it_stands(void **state)
{
    (void)state;
    check_graph(IMAGE "node GlobalMaxPool x -> p\nnode Softmax p -> s axis=1\nnode Relu s -> r\noutput r\n",
                "x = input c=4 h=8 w=6\np = pool2d x max global\ns = softmax p\n"
                "r = eltwise s f=relu(a)\n");
    check_graph("opset 13\ninput x 2 3 5\nnode Softmax x -> y\noutput y\n",
                "x = input shape=2,3,5\nx_1 = reshape x shape=6,5\ny = softmax x_1\ny_3 = reshape y shape=2,3,5\n");
    check_graph("opset 12\ninput x 2 3 5\nnode Softmax x -> y\noutput y\n", "x = input shape=2,3,5\ny = softmax x\n");
}

/* Dimensions before the last one are rows; a bias along the last is that of the layer. */
static void products_and_sums_take_any_number_of_dimensions(void **state)
{
    check_graph("opset 13\ninput x 2 3 5\nconst w 5 4 = 0.5 ...\nconst b 4 = 1\nnode MatMul x w -> p\n"
                "node Add p b -> q\nnode Relu q -> r\ninput z 2 3 4\nnode Add r z -> y\noutput y\n",
                "x = input shape=2,3,5\nz = input shape=2,3,4\nx_2 = reshape x shape=6,5\np = dense x_2 n=4 relu\n"
                "r = reshape p shape=2,3,4\ny = eltwise r + z f=add(a,b)\n");
    check_graph("opset 13\ninput x 5\nconst c 5 = 2\nnode Mul x c -> y\noutput y\n",
                "x = input shape=5\nx_1 = reshape x shape=1,5,1,1\ny = depthwise_conv2d x_1 r=1 s=1\n"
                "y_3 = reshape y shape=5\n");
    (void)state;
}

/* Strides by hand: x is 1 x 4 x 8 x 6, 192 elements of which a channel has 48 and a row 6. */
static void elements_that_move_are_copied_once(void **state)
{
    static const char head[] = "x = input c=4 h=8 w=6\n";
    static const struct {
        const char *nodes, *graph;
    } cases[] = {
        {"node Transpose x -> y perm=[0,2,3,1]\n", "y = strided_copy x shape=1,8,6,4 at=0 d0=4,48 d1=48,1\noutput y\n"},
        /* there and back: nothing is left of it */
        {"node Transpose x -> t perm=[0,2,3,1]\nnode Transpose t -> u perm=[0,3,1,2]\nnode MaxPool u -> y "
         "kernel_shape=[1,1]\n",
         "y = pool2d x max r=1 s=1\n"},
        /* the last 3 columns backwards of channels 1 to 2, then rows and columns exchanged: one copy */
        {"ints s 2 = -1 1\nints e 2 = 2 3\nints a 2 = 3 1\nints t 2 = -1 1\nnode Slice x s e a t -> c\n"
         "node Transpose c -> y perm=[0,1,3,2]\n",
         "y = strided_copy x shape=1,2,3,8 at=53 d0=8,6 d1=3,-1 d2=2,48\noutput y\n"},
        /* a row of each channel as 2 x 2 channels; the pieces of Split nobody reads are not there */
        {"node Split x -> p q axis=2\nints i = 1\nnode Gather q i -> g axis=2\nints r 3 = 2 2 6\nnode Reshape g r -> "
         "y\n",
         "y = strided_copy x shape=2,2,6 at=30 d0=6,1 d1=4,48\noutput y\n"},
        /* what cannot be told by strides is copied before it is reshaped */
        {"node Transpose x -> t perm=[0,1,3,2]\nints r 2 = 4 48\nnode Reshape t r -> y\n",
         "t = strided_copy x shape=1,4,6,8 at=0 d0=8,6 d1=6,1 d2=4,48\ny = reshape t shape=4,48\n"},
        {"node GlobalMaxPool x -> m\nints e 4 = 2 4 3 5\nnode Expand m e -> y\n",
         "m = pool2d x max global\ny = strided_copy m shape=2,4,3,5 at=0 d0=15,0 d1=4,1 d2=2,0\noutput y\n"},
        {"node GlobalMaxPool x -> m\nints e 4 = 1 2 1 3\nnode Tile m e -> y\n",
         "m = pool2d x max global\nm_2 = strided_copy m shape=1,8,1,3 at=0 d0=3,0 d1=4,1 d2=2,0\n"},
        {"node DepthToSpace x -> y blocksize=2\n",
         "x_1 = strided_copy x shape=1,1,16,12 at=0 d0=2,48 d1=6,1 d2=2,96 d3=8,6\n"},
        {"node SpaceToDepth x -> y blocksize=2\n",
         "x_1 = strided_copy x shape=1,16,4,3 at=0 d0=3,2 d1=16,12 d2=2,1 d3=2,6\n"},
        {"node SpaceToDepth x -> y blocksize=2 mode='CRD'\n",
         "x_1 = strided_copy x shape=1,16,4,3 at=0 d0=3,2 d1=4,12 d2=2,1 d3=2,6 d4=4,48\n"},
        /* around channels and of another value: no convolution does that; -1 takes a row away */
        {"ints p 8 = 0 1 -1 0 0 0 0 2\nconst v = 1.5\nnode Pad x p v -> y\n",
         "y = strided_copy x shape=1,5,7,8 at=6 d0=6,1 d1=7,6 d2=4,48 p0=0,2 p2=1,0 fill=1069547520\noutput y\n"},
        {"ints p 8 = 0 0 1 0 0 0 0 2\nnode Pad x p -> q\nnode MaxPool q -> y kernel_shape=[2,2]\n",
         "q = strided_copy x shape=1,4,9,8 at=0 d0=6,1 d1=8,6 d2=4,48 p0=0,2 p1=1,0\ny = pool2d q max r=2 s=2\n"},
        {"ints p 8 = 0 0 1 0 0 0 0 2\nnode Pad x p -> q mode='edge'\nconst w 4 4 1 1 = 0.5 ...\nnode Conv q w -> y\n",
         "q = strided_copy x shape=1,4,9,8 at=0 d0=6,1 d1=8,6 d2=4,48 p0=0,2 p1=1,0 mode=edge\ny = conv2d q k=4 r=1 "
         "s=1\n"},
        {"node Softmax x -> y axis=1\n",
         "x_1 = strided_copy x shape=1,6,8,4 at=0 d0=4,48 d1=8,6 d2=6,1\nx_2 = reshape x_1 shape=48,4\n"
         "y = softmax x_2\ny_4 = strided_copy y shape=1,4,8,6 at=0 d0=6,32 d1=8,4 d2=4,1\noutput y_4\n"},
        {"node MaxPool x -> m kernel_shape=[1,1]\nnode Concat x m x -> y axis=2\n",
         "m = pool2d x max r=1 s=1\nx_2 = reshape x shape=4,48\nm_3 = reshape m shape=4,48\ny = concat x_2 + m_3\n"
         "x_5 = reshape x shape=4,48\ny_6 = concat y + x_5\ny_7 = reshape y_6 shape=1,4,24,6\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char lines[1024], graph[1024];
        const char *output = strstr(cases[i].graph, "output ");

        snprintf(lines, sizeof lines, "%s%soutput y\n", IMAGE, cases[i].nodes);
        snprintf(graph, sizeof graph, "%s%.*s", head,
                 (int)(output ? output - cases[i].graph : (long)strlen(cases[i].graph)), cases[i].graph);
        check_graph(lines, graph);
    }
}

/* Strides by hand: a is 2 x 3 x 5, its transpose, which batch_gemm wants of a second factor, is no copy. */
static void products_of_activations_are_batches(void **state)
{
    (void)state;
    check_graph("opset 13\ninput a 2 3 5\ninput b 2 3 5\nnode Transpose b -> t perm=[0,2,1]\nnode MatMul a t -> y\n"
                "output y\n",
                "a = input shape=2,3,5\nb = input shape=2,3,5\ny = batch_gemm a + b\n");
    check_graph("opset 13\ninput a 2 3 5\ninput b 5 4\nnode MatMul a b -> y\noutput y\n",
                "a = input shape=2,3,5\nb = input shape=5,4\na_2 = reshape a shape=1,6,5\n"
                "b_3 = strided_copy b shape=1,4,5 at=0 d0=5,4 d1=4,1\ny = batch_gemm a_2 + b_3\n"
                "y_5 = reshape y shape=2,3,4\n");
    check_graph("opset 13\ninput a 3 5\ninput b 2 5\nnode Gemm a b -> y transB=1\noutput y\n",
                "a = input shape=3,5\nb = input shape=2,5\na_2 = reshape a shape=1,3,5\nb_3 = reshape b shape=1,2,5\n"
                "y = batch_gemm a_2 + b_3\ny_5 = reshape y shape=3,2\n");
    check_graph("opset 13\ninput a 1 3 5\ninput b 2 5 4\nnode MatMul a b -> y\noutput y\n",
                "a = input shape=1,3,5\nb = input shape=2,5,4\na_2 = strided_copy a shape=2,3,5 at=0 d0=15,1 d1=2,0\n"
                "b_3 = strided_copy b shape=2,4,5 at=0 d0=5,4 d1=4,1 d2=2,20\ny = batch_gemm a_2 + b_3\n");
    check_graph("opset 13\ninput a 5\ninput b 5\nnode MatMul a b -> y\noutput y\n",
                "a = input shape=5\nb = input shape=5\na_2 = reshape a shape=1,1,5\nb_3 = reshape b shape=1,1,5\n"
                "y = batch_gemm a_2 + b_3\ny_5 = reshape y shape=1\n");
    check_graph("opset 13\ninput b 3 4\nconst a 2 3 = 0.5 ...\nnode MatMul a b -> y\noutput y\n",
                "b = input shape=3,4\nb_1 = strided_copy b shape=4,3 at=0 d0=3,4 d1=4,1\ny = dense b_1 n=2\n"
                "y_3 = strided_copy y shape=2,4 at=0 d0=4,2 d1=2,1\n");
    check_graph("opset 13\ninput a 3 4\nconst b 3 2 = 0.5 ...\nnode Gemm a b -> y transA=1\noutput y\n",
                "a = input shape=3,4\na_1 = strided_copy a shape=4,3 at=0 d0=3,4 d1=4,1\ny = dense a_1 n=2\n");
}

/* Outputs that others read, that are inputs, that are the same tensor; inputs that nobody reads. */
static void models_have_several_inputs_and_outputs(void **state)
{
    (void)state;
    check_graph(IMAGE "input u 3\n" CONV "node Relu a -> b\nnode MaxPool b -> c kernel_shape=[1,1]\n"
                      "node Identity b -> d\noutput c\noutput b\noutput x\noutput d\n",
                "x = input c=4 h=8 w=6\nu = input shape=3\na = conv2d x k=4 r=1 s=1 relu\n"
                "c = pool2d a max r=1 s=1\nb = reshape a shape=1,4,8,6\nx_5 = reshape x shape=1,4,8,6\n"
                "d = reshape a shape=1,4,8,6\noutput c\noutput b\noutput x_5\noutput d\n");
}

/* What nothing computes is of no matter where the output does not depend on it. */
static void what_nobody_needs_may_be_unsupported(void **state)
{
    (void)state;
    check_graph(IMAGE CONV
                "node Sigmoid a -> s\nnode Unknown a -> u\nnode MaxPool x -> y kernel_shape=[1,1]\noutput y\n",
                "x = input c=4 h=8 w=6\ny = pool2d x max r=1 s=1\n");
}

/* Slashes, dots, bytes beyond ASCII, long ones that differ at their end, none at all. */
static void names_become_names_of_layers(void **state)
{
    (void)state;
    check_graph("opset 13\ninput in/put.1 1 4 8 6\n"
                "node MaxPool in/put.1 -> a kernel_shape=[1,1] name='/net/blocks.0/a_very_long_name_of_a_node/Pool'\n"
                "node MaxPool a -> b kernel_shape=[1,1] name='/net/blocks.1/a_very_long_name_of_a_node/Pool'\n"
                "node MaxPool b -> 7 kernel_shape=[1,1]\n"
                "node MaxPool 7 -> \xc3\xa4 kernel_shape=[1,1]\n"
                "output \xc3\xa4\n",
                "in_put_1 = input c=4 h=8 w=6\n"
                "very_long_name_of_a_node_Pool = pool2d in_put_1 max r=1 s=1\n"
                "very_long_name_of_a_node_Pool_2 = pool2d very_long_name_of_a_node_Pool max r=1 s=1\n"
                "t7 = pool2d very_long_name_of_a_node_Pool_2 max r=1 s=1\n"
                "t__ = pool2d t7 max r=1 s=1\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_keep_their_pads_steps_and_groups),
        cmocka_unit_test(what_follows_a_layer_is_done_in_its_kernel),
        cmocka_unit_test(what_others_read_stays_as_it_is),
        cmocka_unit_test(chains_of_elements_are_one_layer),
        cmocka_unit_test(normalizations_are_reductions_and_chains),
        cmocka_unit_test(axes_are_reduced_stretch_by_stretch),
        cmocka_unit_test(long_chains_are_cut_where_a_workload_ends),
        cmocka_unit_test(channels_are_joined_two_at_a_time),
        cmocka_unit_test(arithmetic_on_shapes_is_computed),
        cmocka_unit_test(batch_norm_and_scales_are_folded_into_weights),
        cmocka_unit_test(constants_of_several_axes_are_scales_of_these_as_one),
        cmocka_unit_test(matrix_products_have_rows_of_weights),
        cmocka_unit_test(weights_are_read_in_every_type),
        cmocka_unit_test(open_dimensions_are_given_from_outside),
        cmocka_unit_test(open_dimensions_are_given_by_their_place),
        cmocka_unit_test(inputs_are_bound_to_tensors_of_files),
        cmocka_unit_test(a_table_tells_what_becomes_of_each_node),
        cmocka_unit_test(softmax_is_over_rows_wherever_it_stands),
        cmocka_unit_test(products_and_sums_take_any_number_of_dimensions),
        cmocka_unit_test(elements_that_move_are_copied_once),
        cmocka_unit_test(products_of_activations_are_batches),
        cmocka_unit_test(models_have_several_inputs_and_outputs),
        cmocka_unit_test(what_nobody_needs_may_be_unsupported),
        cmocka_unit_test(names_become_names_of_layers),
    };
    int failed;

    if (!folder_open("test-onnx"))
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    folder_close();
    return failed;
}
