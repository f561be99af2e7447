/* SPDX-License-Identifier: MIT */
/* Rules of ONNX operators, each by its definition: pieces and quotients of constants, pads, windows of pools, scales
 * behind additions. */
#include "tests/onnx/check_import.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct onnx_import *imported(const char *nodes)
{
    struct onnx_import *m = NULL;
    struct why why = {""};
    struct buf lines;

    buf_init(&lines, MAX_MODEL);
    buf_printf(&lines, OF_IMAGE "%soutput y\n", nodes);
    if (import_lines(buf_text(&lines), NULL, 0, &m, &why))
        fail_msg("%s: %s", nodes, why.text);
    buf_fini(&lines);
    return m;
}

/* Nodes that make the shape s, a constant, of others: what it is shows where x is reshaped to it. */
static void check_shape(const char *nodes, const char *shape)
{
    char lines[1024], graph[256];

    snprintf(lines, sizeof lines, "%snode Reshape x s -> y\n", nodes);
    snprintf(graph, sizeof graph, "y = reshape x shape=%s\n", shape);
    check_nodes(lines, graph);
}

/* The nodes' weights: all of them, as they are written. */
static void check_nodes_weights(const char *nodes, const float *expected, size_t n, const char *list)
{
    struct onnx_import *m = imported(nodes);

    check_weights_of(m, expected, n, list);
    onnx_import_close(m);
}

/* ---- pieces ---- */

/* Of a constant: every step-th place from `start` on, before `end`; the last one too where the end is no step behind
 * it.
 */
static void a_slice_has_each_step_before_its_end(void **state)
{
    static const struct {
        const char *values; /* of ints a */
        int start, end, step;
        const char *shape;
    } cases[] = {
        {"5 = 2 7 3 7 32", 0, 5, 2, "2,3,32"},       {"6 = 2 7 3 7 32 7", 0, 6, 2, "2,3,32"},
        {"5 = 7 2 7 7 96", 1, 5, 3, "2,96"},         {"4 = 7 192 7 7", 1, 4, 3, "192"},
        {"5 = 7 2 7 7 96", 1, 99, 3, "2,96"},        {"5 = 32 7 3 7 2", -1, -99, -2, "2,3,32"},
        {"6 = 7 32 7 3 7 2", -1, -99, -2, "2,3,32"}, {"6 = 7 32 7 3 7 2", 5, 1, -2, "2,3"},
        {"4 = 192 7 7 7", 0, 1, 4, "192"},           {"5 = 2 96 7 7 7", 0, 2, 1, "2,96"},
        {"4 = 7 7 96 2", -1, -3, -1, "2,96"},        {"4 = 2 7 7 96", 0, 4, 3, "2,96"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const bool is_part = strcmp(cases[i].shape, "2,3") == 0; /* 32 more elements in each */
        char nodes[512], shape[64];

        snprintf(nodes, sizeof nodes,
                 "ints a %s\nints b 1 = %d\nints e 1 = %d\nints z 1 = 0\nints t 1 = %d\nints more 1 = 32\n"
                 "node Slice a b e z t -> p\nnode %s -> s%s\n",
                 cases[i].values, cases[i].start, cases[i].end, cases[i].step, is_part ? "Concat p more" : "Identity p",
                 is_part ? " axis=0" : "");
        snprintf(shape, sizeof shape, "%s%s", cases[i].shape, is_part ? ",32" : "");
        check_shape(nodes, shape);
    }
}

/* Of an activation, by hand: columns 0 and 4, or 1, 3 and 5, or 5, 3 and 1 of 6; rows 1, 4 and 7 of 8. */
static void a_slice_of_an_activation_is_a_copy_by_steps(void **state)
{
    static const struct {
        int axis, start, end, step;
        const char *copy;
    } cases[] = {
        {3, 0, 6, 4, "shape=1,4,8,2 at=0 d0=2,4 d1=32,6"},
        {3, 1, 6, 2, "shape=1,4,8,3 at=1 d0=96,2"},
        {3, 1, 5, 2, "shape=1,4,8,2 at=1 d0=2,2 d1=32,6"},
        {3, 5, -99, -2, "shape=1,4,8,3 at=5 d0=3,-2 d1=32,6"},
        {2, 1, 8, 3, "shape=1,4,3,6 at=6 d0=6,1 d1=3,18 d2=4,48"},
        {1, 0, 4, 3, "shape=1,2,8,6 at=0 d0=48,1 d1=2,144"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char nodes[512], graph[256];

        snprintf(nodes, sizeof nodes,
                 "ints b 1 = %d\nints e 1 = %d\nints z 1 = %d\nints t 1 = %d\nnode Slice x b e z t -> y\n",
                 cases[i].start, cases[i].end, cases[i].axis, cases[i].step);
        snprintf(graph, sizeof graph, "y = strided_copy x %s\n", cases[i].copy);
        check_nodes(nodes, graph);
    }
}

/* ---- numbers ---- */

/* Whole numbers: what is behind the point goes, of negative ones too. */
static void a_quotient_of_whole_numbers_is_whole(void **state)
{
    static const struct {
        int a, b, second;
        const char *shape;
    } cases[] = {{8, 3, 96, "2,96"}, {6, 3, 96, "2,96"},    {15, 8, 192, "1,192"}, {-7, 4, 2, "96,2"},
                 {7, -4, 2, "96,2"}, {-19, -8, 96, "2,96"}, {-5, 3, 3, "64,3"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) { /* -1 is as many as are left */
        char nodes[512];

        snprintf(nodes, sizeof nodes,
                 "ints a 1 = %d\nints b 1 = %d\nints c 1 = %d\nnode Div a b -> q\nnode Concat q c -> s axis=0\n",
                 cases[i].a, cases[i].b, cases[i].second);
        check_shape(nodes, cases[i].shape);
    }
    /* of a size of x that is not known before */
    check_shape(
        "node Shape x -> n\nints i 1 = 2\nints b 1 = 3\nints c 1 = -1\nnode Gather n i -> h\nnode Div h b -> q\n"
        "node Concat q c -> s axis=0\n",
        "2,96");
}

static void a_quotient_of_floats_keeps_its_fraction(void **state)
{
    (void)state;
    check_nodes_weights("const a = 7\nconst b = 2\nnode Div a b -> q\nconst w 1 4 1 1 = 1 2 -1 0\nnode Conv x w -> c\n"
                        "node Mul c q -> y\n",
                        (const float[]){3.5F, 7, -3.5F, 0, 0}, 5, "c w 0 16\nc bias 16 4\n");
}

/* A constant of one number everywhere has a shape, and what it is combined with is repeated to it. */
static void a_constant_of_one_number_repeats_the_other(void **state)
{
    (void)state;
    check_nodes("node ReduceMean x -> m axes=[1] keepdims=1\nconst c 1 4 1 1 = 2.5\nnode Mul m c -> y\n",
                "x_1 = reshape x shape=1,4,48\nm = reduce x_1 kind=mean\nm_3 = reshape m shape=1,1,8,6\n"
                "c = constant shape=1,4,1,1\ny = eltwise m_3 + c f=mul(a,b)\n");
    check_nodes("const c 1 1 8 6 = 2.5\nnode Pow x c -> y\n", "y = eltwise x f=pow(a,2.5)\n");
}

/* ---- pads ---- */

/* Of two Pads behind each other both count, with what each of them puts there. */
static void pads_add_up(void **state)
{
    (void)state;
    check_shape("ints a 1 = 3\nints p 2 = 1 0\nints q 2 = 0 1\nints two 1 = 2\nints big 1 = 32\nnode Pad a p two -> b\n"
                "node Pad b q big -> s\n",
                "2,3,32");
    check_shape("ints a 1 = 48\nints p 2 = 1 0\nints two 1 = 2\nnode Pad a p two -> b\nnode Pad b p two -> s\n",
                "2,2,48");
    /* h 1 + 8 + 3, w 2 + 6; then left 1, bottom 1, right 2 of the convolution */
    check_nodes("ints p 8 = 0 0 1 2 0 0 3 0\nints q 8 = 0 0 0 1 0 0 1 2\nnode Pad x p -> a\nnode Pad a q -> b\n"
                "const w 4 4 3 3 = 0.5 ...\nnode Conv b w -> y\n",
                "a = strided_copy x shape=1,4,12,8 at=0 d0=6,1 d1=8,6 d2=4,48 p0=2,0 p1=1,3\n"
                "y = conv2d a k=4 r=3 s=3 pad=0,1,1,2\n");
}

/* ---- windows ---- */

/* With ceil_mode windows that hang over the end count, but for those that begin behind the image: of 8 by 3 they begin
 * at 0 3 6, of 6 by 3 at 0 3, as no window begins at 6. */
static void no_window_begins_behind_the_image(void **state)
{
    (void)state;
    check_nodes("node MaxPool x -> y kernel_shape=[2,2] strides=[3,3] ceil_mode=1\n",
                "y = pool2d x max r=2 s=2 stride=3\n");
    check_nodes("node AveragePool x -> y kernel_shape=[1,1] strides=[4,3] ceil_mode=1\n",
                "y = pool2d x avg r=1 s=1 stride=4,3\n");
    /* at 0 5 of 8, with 2 behind the end; at 0 4 of 6 */
    check_nodes("node MaxPool x -> y kernel_shape=[5,4] strides=[5,4] ceil_mode=1\n",
                "y = pool2d x max r=5 s=4 stride=5,4 pad=0,0,2,2\n");
    /* with two columns behind: at 0 2 4, where 6 would be in them alone */
    check_nodes("node MaxPool x -> y kernel_shape=[2,3] strides=[2,2] pads=[0,0,0,2] ceil_mode=1\n",
                "y = pool2d x max r=2 s=3 stride=2 pad=0,0,0,2\n");
}

/* ---- scales ---- */

/* A convolution that adds a shortcut cannot have a factor in its weights: the shortcut needs it too. */
static void what_is_behind_an_addition_scales_the_sum(void **state)
{
    static const char sum[] =
        "const w 4 4 1 1 = 2 0 0 0 0 2 0 0 0 0 2 0 0 0 0 2\nnode Conv x w -> a\nnode Add a x -> b\n";
    static const char *const ways[] = {
        "const h 4 1 1 = 3 4 5 6\nnode Mul b h -> y\n",
        "const h 4 1 1 = 0.33333333 0.25 0.2 0.16666667\nnode Div b h -> y\n",
        ("const f 4 = 3 4 5 6\nconst z 4 = 0 0 0 0\nconst v 4 = 0.99999 0.99999 0.99999 0.99999\n"
         "node BatchNormalization b f z z v -> y\n"),
    };
    static const float weights[] = {2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 3, 4, 5, 6, 0, 0, 0, 0};

    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        char nodes[512];

        snprintf(nodes, sizeof nodes, "%s%s", sum, ways[i]);
        check_nodes(nodes, "a = conv2d x + x k=4 r=1 s=1\ny = depthwise_conv2d a r=1 s=1\n");
        check_nodes_weights(nodes, weights, sizeof weights / sizeof weights[0],
                            "a w 0 64\na bias 64 16\ny w 80 16\ny bias 96 16\n");
    }
}

/* Windows of 2 x 1 x 3 over 5 slices of 4 x 6 pixels, each second slice: slices 0 1, 2 3, and 4 with the one behind. */
static void volumes_are_images_of_several_slices(void **state)
{
    (void)state;
    check_graph("opset 13\ninput x 2 3 5 4 6\nconst w 8 3 2 1 3 = 0.5 ...\n"
                "node Conv x w -> y strides=[2,1,1] pads=[0,0,1,1,0,1]\noutput y\n",
                "x = input shape=2,3,5,4,6\n"
                "x_1 = strided_copy x shape=2,3,6,4,6 at=0 d0=24,1 d1=5,24 d2=6,120 p1=0,1\n"
                "x_2 = strided_copy x_1 shape=6,6,4,6 at=0 d0=48,1 d1=3,144 d2=3,48 d3=2,432\n"
                "y = conv2d x_2 k=8 r=1 s=3 pad=0,1\n"
                "y_4 = strided_copy y shape=2,8,3,4,6 at=0 d0=24,1 d1=3,192 d2=8,24 d3=2,576\n");
    check_graph(
        "opset 13\ninput x 1 2 5 4 6\nnode MaxPool x -> y kernel_shape=[3,2,2] strides=[2,2,2] pads=[1,0,0,1,0,0]\n"
        "output y\n",
        "x = input shape=1,2,5,4,6\nx_1 = reshape x shape=1,10,4,6\ny = pool2d x_1 max r=2 s=2 stride=2\n"
        "y_3 = reshape y shape=2,1,5,6\ny_4 = pool2d y_3 max r=3 s=1 stride=2,1 pad=1,0\n"
        "y_5 = reshape y_4 shape=1,2,3,2,3\n");
    check_refused("opset 13\ninput x 1 2 5 4 6\nnode MaxPool x -> y kernel_shape=[3,2,2] dilations=[2,1,1]\noutput y\n",
                  "MaxPool", "dilations");
    check_refused("opset 13\ninput x 1 3 1 4 6\nconst w 8 3 2 1 3 = 0.5 ...\nnode Conv x w -> y\noutput y\n", "Conv",
                  "a window larger than the volume");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slice_has_each_step_before_its_end),
        cmocka_unit_test(a_slice_of_an_activation_is_a_copy_by_steps),
        cmocka_unit_test(a_quotient_of_whole_numbers_is_whole),
        cmocka_unit_test(a_quotient_of_floats_keeps_its_fraction),
        cmocka_unit_test(a_constant_of_one_number_repeats_the_other),
        cmocka_unit_test(pads_add_up),
        cmocka_unit_test(no_window_begins_behind_the_image),
        cmocka_unit_test(what_is_behind_an_addition_scales_the_sum),
        cmocka_unit_test(volumes_are_images_of_several_slices),
    };
    int failed;

    if (!folder_open("test-onnx-rules"))
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    folder_close();
    return failed;
}
