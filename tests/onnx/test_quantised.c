/* SPDX-License-Identifier: MIT */
/* Quantised models: what stands between DequantizeLinear and QuantizeLinear becomes layers of bytes with whole weights,
 * scales and zero points that are computed here by hand; what cannot stays as it is defined, on floats. */
#include "core/file.h"
#include "tests/onnx/check_import.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define X "opset 13\ninput x 1 2 2 2\nconst xs = 0.5\nints xz:2 = 3\nconst ys = 0.25\nints yz:2 = 10\n"
#define SIGNED "opset 13\ninput x 1 2 2 2\nconst xs = 0.5\nints xz:3 = -5\nconst ys = 0.25\nints yz:3 = 10\n"
#define W "ints w:3 2 2 1 1 = 1 -2 3 4\nconst ws 2 = 0.5 0.25\nints wz:3 2 = 0 0\n"
#define READ "node QuantizeLinear x xs xz -> q\nnode DequantizeLinear q xs xz -> d\n"
#define GIVE "node QuantizeLinear r ys yz -> p\nnode DequantizeLinear p ys yz -> y\noutput y\n"
#define CONV_PAIRS                                                                                                     \
    "const b 2 = 1 -0.5\nnode DequantizeLinear w ws wz -> wd axis=0\nnode Conv d wd b -> c\nnode Relu c -> r\n"
#define X_LINE "x = input c=2 h=2 w=2\n"

/* A part of a file. */
static void check_at(const struct buf *bytes, size_t at, const void *expected, size_t n)
{
    assert_true(at + n <= bytes->len);
    assert_memory_equal(bytes->data + at, expected, n);
}

/* The weights of a model of one convolution as bytes: of q, of the layer, of y. */
static void check_conv(const char *lines, const char *layer, int zero_x, int zero_y)
{
    static const float scale_x = 0.5F, scale_y = 0.25F, scales[] = {1, 0.5F}; /* xs ws / ys */
    static const int8_t w[] = {1, -2, 3, 4};
    static const int32_t bias[] = {4, -4}; /* 1 / (0.5 0.5), -0.5 / (0.5 0.25) */
    const int32_t zeros[] = {zero_x, zero_y};
    struct onnx_import *m = NULL;
    struct why why = {""};
    char list[512];
    struct buf bytes, text;

    if (import_lines(lines, NULL, 0, &m, &why) || onnx_import_weights(m, folder_path(), DTYPE_F32, &why))
        fail_msg("%s", why.text);
    buf_init(&bytes, 4096);
    buf_init(&text, 4096);
    assert_int_equal(file_read(below("weights.bin"), &bytes, &why), ERR_OK);
    assert_int_equal(file_read(below("weights.txt"), &text, &why), ERR_OK);
    snprintf(
        list, sizeof list,
        "q scale 0 4\nq zero 4 4\n%s w 8 4\n%s bias 12 8\n%s scale 20 8\n%s zero 28 8\ny scale 36 4\ny zero 40 4\n",
        layer, layer, layer, layer);
    assert_string_equal(buf_text(&text), list);
    assert_int_equal(bytes.len, 44);
    check_at(&bytes, 0, &scale_x, 4);
    check_at(&bytes, 4, &zeros[0], 4);
    check_at(&bytes, 8, w, sizeof w);
    check_at(&bytes, 12, bias, sizeof bias);
    check_at(&bytes, 20, scales, sizeof scales);
    check_at(&bytes, 28, zeros, sizeof zeros);
    check_at(&bytes, 36, &scale_y, 4);
    check_at(&bytes, 40, &zeros[1], 4);
    buf_fini(&bytes);
    buf_fini(&text);
    onnx_import_close(m);
}

static void a_convolution_between_pairs_is_one_layer_of_bytes(void **state)
{
    static const char lines[] = X W READ CONV_PAIRS GIVE;

    (void)state;
    check_graph(lines, X_LINE "q = quantize x u8\nc = conv2d q k=2 r=1 s=1 relu u8\ny = quantize c\n");
    check_conv(lines, "c", 3, 10);
}

/* As u8 with 128 more. */
static void signed_bytes_have_other_zero_points_alone(void **state)
{
    static const char lines[] = SIGNED W READ CONV_PAIRS GIVE;

    (void)state;
    check_graph(lines, X_LINE "q = quantize x u8\nc = conv2d q k=2 r=1 s=1 relu u8\ny = quantize c\n");
    check_conv(lines, "c", 123, 138);
}

/* QLinearConv with whole biases, in units of the product of scales, and weights that are u8 round 128. */
static void a_quantised_convolution_is_what_its_pairs_are(void **state)
{
    static const char lines[] =
        X "ints w:2 2 2 1 1 = 129 126 131 132\nconst ws 2 = 0.5 0.25\nints wz:2 = 128\nints b:6 2 = 4 -4\n"
          "node QuantizeLinear x xs xz -> q\n"
          "node QLinearConv q xs xz w ws wz ys yz b -> p\nnode DequantizeLinear p ys yz -> y\noutput y\n";
    struct onnx_import *m = NULL;
    const struct onnx_row *row;

    (void)state;
    check_graph(lines, X_LINE "q = quantize x u8\np_3 = conv2d q k=2 r=1 s=1 u8\ny = quantize p_3\n");
    check_conv(lines, "p_3", 3, 10);
    assert_int_equal(import_lines(lines, NULL, 0, &m, NULL), ERR_OK);
    row = row_of(m, "QLinearConv");
    assert_int_equal(row->n[ONNX_TUNED], 1);
    assert_int_equal(row_of(m, "DequantizeLinear")->n[ONNX_PLAIN], 1); /* not those of its own */
    onnx_import_close(m);
}

/* Sums, the largest of windows, other shapes; a mean is a sum with a smaller scale. */
static void sums_and_pools_between_pairs_are_layers_of_bytes(void **state)
{
    static const struct {
        const char *nodes, *graph;
    } cases[] = {
        {"node DequantizeLinear q ys yz -> e\nnode Add d e -> s\nnode Relu s -> r\n" GIVE,
         "p = add q + q relu u8\ny = quantize p\n"},
        {"node MaxPool d -> r kernel_shape=[2,2]\nnode QuantizeLinear r xs xz -> p\nnode DequantizeLinear p xs xz -> "
         "y\noutput y\n",
         "p = pool2d q max global u8\ny = quantize p\n"},
        {"node MaxPool q -> p kernel_shape=[2,1]\nnode DequantizeLinear p xs xz -> y\noutput y\n",
         "p = pool2d q max r=2 s=1 u8\ny = quantize p\n"},
        {"node GlobalAveragePool d -> r\n" GIVE, "p = depthwise_conv2d q r=2 s=2 u8\ny = quantize p\n"},
        {"node Flatten d -> r\nnode QuantizeLinear r xs xz -> p\nnode DequantizeLinear p xs xz -> y\noutput y\n",
         "p = reshape q shape=1,8 u8\ny = quantize p\n"},
        {"node Concat d d -> r axis=1\nnode MaxPool r -> m kernel_shape=[2,2]\nnode QuantizeLinear m xs xz -> p\n"
         "node DequantizeLinear p xs xz -> y\noutput y\n",
         "r = concat q + q u8\np = pool2d r max global u8\ny = quantize p\n"},
        {"node Concat d d -> r axis=1\n" GIVE,
         "d = quantize q\nr = concat d + d\np = quantize r u8\ny = quantize p\n"}, /* another scale */
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char lines[1024], graph[512];

        snprintf(lines, sizeof lines, X READ "%s", cases[i].nodes);
        snprintf(graph, sizeof graph, X_LINE "q = quantize x u8\n%s", cases[i].graph);
        check_graph(lines, graph);
    }
}

/* Each input without its own scale and zero point, all with those of the output; one more or less belongs to nothing.
 */
static void quantised_tensors_are_joined_as_floats(void **state)
{
    (void)state;
    check_graph(X "node QuantizeLinear x xs xz -> q\nconst ws 1 = 0.125\nints wz:2 1 = 7\n"
                  "node com.microsoft.QLinearConcat ys yz q xs xz q ws wz -> p axis=1\n"
                  "node DequantizeLinear p ys yz -> y\noutput y\n",
                X_LINE "q = quantize x u8\np = quantize q\np_3 = quantize q\np_4 = concat p + p_3\n"
                       "p_5 = quantize p_4 u8\ny = quantize p_5\n");
    check_refused(X "node QuantizeLinear x xs xz -> q\nnode com.microsoft.QLinearConcat ys yz q xs -> y\noutput y\n",
                  "com.microsoft.QLinearConcat", "an operator of another domain");
}

#define BITS "opset 13\ninput x 3 "
#define BLOCKS "com.microsoft.MatMulNBits "

/* Two rows of eight numbers of four bits, the lower ones first; less 3 by a half, less 1 by two. */
static void weights_of_few_bits_are_unpacked(void **state)
{
    static const float rows[] = {-1.5F, -1, -0.5F, 0, 0.5F, 1, 1.5F, 2, 28, 28, -2, -2, -2, 28, 28, -2, 0, 0};
    static const float tail[] = {-8, -7, -6, -5, -4, -3, -2, -1, 70, 60, 50, 40, 0.25F};
    static const float twos[] = {-2, -1, 0, 1, 1, 0, -1, -2, 0};

    (void)state;
    check_weights(BITS "8\nints w:2 2 1 4 = 16 50 84 118 255 0 240 15\nconst s 2 = 0.5 2\nints z:2 2 = 3 1\n"
                       "node " BLOCKS "x w s z -> y K=8 N=2 bits=4 block_size=8\noutput y\n",
                  rows, 18, "y w 0 64\ny bias 64 8\n");
    /* a second block, of which a half is used, with a scale of its own; 8 is nothing */
    check_weights(BITS "12\nints w:2 1 2 4 = 16 50 84 118 239 205 0 0\nconst s 2 = 1 10\nconst b 1 = 0.25\n"
                       "node " BLOCKS "x w s - - b -> y K=12 N=1 bits=4 block_size=8\noutput y\n",
                  tail, 13, "y w 0 48\ny bias 48 4\n");
    check_weights(BITS "8\nints w:2 1 1 2 = 228 27\nconst s 1 = 1\n"
                       "node " BLOCKS "x w s -> y K=8 N=1 bits=2 block_size=8\noutput y\n",
                  twos, 9, "y w 0 32\ny bias 32 4\n");
}

/* By a row: 20 numbers of two blocks of 16 with scales, times 3 behind it, of a constant 0 .. 15 repeated. */
#define KEPT                                                                                                           \
    "20\nints w:2 1 2 8 = 16 50 84 118 152 186 220 254 16 50 84 118 152 186 220 254\nconst s 2 = 0.5 2\n"              \
    "const t 1 = 3\nconst b 1 = 0.25\n"

static void weights_of_four_bits_stay_so(void **state)
{
    static const uint8_t bytes[] = {16, 50, 84, 118, 152, 186, 220, 254, 16, 50, 84, 118, 152, 186, 220, 254, 5, 9};
    static const float scales[] = {1.5F, 6};
    static const char *const graphs[][2] = {
        {BITS KEPT "node " BLOCKS "x w s - - b -> y K=20 N=1 bits=4 block_size=16\noutput y\n",
         "x = input shape=3,20\ny = dense4 x n=1 block=16\n"},
        {BITS KEPT "node " BLOCKS "x w s -> y K=20 N=1 bits=4 block_size=16 accuracy_level=4\noutput y\n",
         "x = input shape=3,20\ny = dense4 x n=1 block=16 bytes=1\n"},
        {"opset 13\ninput x 9 " KEPT "node " BLOCKS "x w s -> y K=20 N=1 bits=4 block_size=16\noutput y\n",
         "x = input shape=9,20\ny = dense x n=1\n"}};
    struct onnx_import *m = NULL;
    struct why why = {""};
    struct buf got;

    (void)state;
    for (size_t i = 0; i < sizeof graphs / sizeof graphs[0]; i++)
        check_graph(graphs[i][0], graphs[i][1]);
    if (import_lines(BITS KEPT "ints z:2 1 = 149\nnode " BLOCKS
                               "x w s z - b -> r K=20 N=1 bits=4 block_size=16\nnode Mul r t -> y\noutput y\n",
                     NULL, 0, &m, &why) ||
        onnx_import_weights(m, folder_path(), DTYPE_F32, &why))
        fail_msg("%s", why.text);
    buf_init(&got, 4096);
    assert_int_equal(file_read(below("weights.bin"), &got, &why), ERR_OK);
    check_at(&got, 0, scales, sizeof scales);
    check_at(&got, sizeof scales, bytes, sizeof bytes);
    check_at(&got, sizeof scales + sizeof bytes, (const float[]){0.75F}, sizeof(float));
    buf_clear(&got);
    assert_int_equal(file_read(below("weights.txt"), &got, &why), ERR_OK);
    assert_string_equal(buf_text(&got), "r w_scale 0 8\nr w 8 16\nr w_zero 24 2\nr bias 26 4\n");
    buf_fini(&got);
    onnx_import_close(m);
}

/* Of another type than the numbers: 100 is no zero point of 4 bits, as whose -9 and 8 would be written. */
static void zero_points_beyond_four_bits_are_unpacked(void **state)
{
    static const struct {
        const char *zero, *graph;
    } cases[] = {{"7", "y = dense4 x n=1 block=16 zeros=1\n"},
                 {"-8", "y = dense4 x n=1 block=16 zeros=1\n"},
                 {"8", "y = dense x n=1\n"},
                 {"-9", "y = dense x n=1\n"},
                 {"100", "y = dense x n=1\n"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char lines[512], graph[128];

        snprintf(lines, sizeof lines,
                 "opset 21\ninput x 3 16\nints w:22 16 1 = 16 50 84 118 152 186 220 254\nconst s 1 1 = 0.5\n"
                 "ints z:3 1 1 = %s\nnode DequantizeLinear w s z -> d axis=0 block_size=16\nnode MatMul x d -> y\n"
                 "output y\n",
                 cases[i].zero);
        snprintf(graph, sizeof graph, "x = input shape=3,16\n%s", cases[i].graph);
        check_graph(lines, graph);
    }
}

static void other_weights_of_few_bits_are_refused(void **state)
{
    static const struct {
        const char *node, *words;
    } cases[] = {
        {"x w s - g -> y K=8 N=2 bits=4 block_size=8", "rows in groups of their own"},
        {"x w s -> y K=8 N=2 bits=3 block_size=8", "expected 2, 4 or 8 bits"},
        {"x w s -> y K=8 N=2 bits=4 block_size=0", "whole blocks"},
        {"x w s -> y K=8 N=2147483647 bits=4 block_size=8", "whole blocks"},
        {"x w s -> y K=16 N=2 bits=4 block_size=8", "that fit"},
        {"x w s w -> y K=8 N=2 bits=4 block_size=8", "that fit"},
        {"x w q -> y K=8 N=2 bits=4 block_size=8", "constant weights, scales"},
        {"x f s -> y K=8 N=2 bits=4 block_size=8", "that fit"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char lines[512];

        snprintf(lines, sizeof lines,
                 BITS "8\ninput q 2\nints w:2 2 1 4 = 1 2 3 4 5 6 7 8\nconst s 2 = 1 1\nints g:6 8 = 0 0 0 0 0 0 0 0\n"
                      "const f 2 1 4 = 1 2 3 4 5 6 7 8\n"
                      "node " BLOCKS "%s\noutput y\n",
                 cases[i].node);
        check_refused(lines, "MatMulNBits/weights", cases[i].words);
    }
}

/* The mean of 4: its sum times 0.5 / (0.25 4). */
static void the_scale_of_a_mean_is_divided_by_its_number(void **state)
{
    static const float scales[] = {0.5F, 0.5F};
    static const int8_t ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    struct onnx_import *m = NULL;
    struct why why = {""};
    struct buf bytes;

    (void)state;
    if (import_lines(X READ "node GlobalAveragePool d -> r\n" GIVE, NULL, 0, &m, &why) ||
        onnx_import_weights(m, folder_path(), DTYPE_F32, &why))
        fail_msg("%s", why.text);
    buf_init(&bytes, 4096);
    assert_int_equal(file_read(below("weights.bin"), &bytes, &why), ERR_OK);
    check_at(&bytes, 8, ones, sizeof ones);
    check_at(&bytes, 24, scales, sizeof scales);
    buf_fini(&bytes);
    onnx_import_close(m);
}

/* A curve, a largest number behind another scale: floats between kernels that convert. */
static void what_no_kernel_of_bytes_computes_stays_of_floats(void **state)
{
    (void)state;
    check_graph(X READ "node Sigmoid d -> r\n" GIVE, X_LINE
                "q = quantize x u8\nd = quantize q\nr = eltwise d f=sigmoid(a)\np = quantize r u8\ny = quantize p\n");
    check_graph(X READ "node MaxPool d -> r kernel_shape=[2,2]\n" GIVE, X_LINE
                "q = quantize x u8\nd = quantize q\nr = pool2d d max global\np = quantize r u8\ny = quantize p\n");
}

/* A sum of two products is 65280 at the most, a bias beside it less than 2^31 by as much: in units of 2^-16, what 32767
 * is; of scales whose product is no float it is nothing. */
static void sums_beyond_32_bits_stay_of_floats(void **state)
{
    static const struct {
        const char *scale, *bias;
        bool fits;
    } cases[] = {{"3.0517578125e-05", "-32767", true},
                 {"3.0517578125e-05", "-32767.004", false},
                 {"3.0517578125e-05", "1e9", false},
                 {"1e-30", "0", false}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char lines[1024];

        snprintf(lines, sizeof lines,
                 "opset 13\ninput x 1 2 2 2\nconst xs = %s\nints xz:2 = 3\nconst ys = 0.25\nints yz:2 = 10\n"
                 "ints w:3 2 2 1 1 = 1 -2 3 4\nconst ws 2 = 0.5 %s\nints wz:3 2 = 0 0\nconst b 2 = 0 %s\n" READ
                 "node DequantizeLinear w ws wz -> wd axis=0\nnode Conv d wd b -> r\n" GIVE,
                 i == 3 ? "1e-30" : "0.5", cases[i].scale, cases[i].bias);
        check_graph(lines, cases[i].fits ? X_LINE "q = quantize x u8\nr = conv2d q k=2 r=1 s=1 u8\ny = quantize r\n"
                                         : X_LINE "q = quantize x u8\nd = quantize q\nr = conv2d d k=2 r=1 s=1\n"
                                                  "p = quantize r u8\ny = quantize p\n");
    }
}

/* Of another type than the numbers, and no byte: what lies around images could not be it. */
static void zero_points_beyond_bytes_stay_of_floats(void **state)
{
    static const struct {
        const char *lines, *zero;
        bool is_byte;
    } cases[] = {
        {X, "255", true}, {X, "256", false}, {X, "-1", false}, {SIGNED, "-128", true}, {SIGNED, "-129", false}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char lines[1024];

        snprintf(lines, sizeof lines,
                 "%sints dz:6 = %s\n" W
                 "node QuantizeLinear x xs xz -> q\nnode DequantizeLinear q xs dz -> d\n" CONV_PAIRS GIVE,
                 cases[i].lines, cases[i].zero);
        check_graph(lines, cases[i].is_byte
                               ? X_LINE "q = quantize x u8\nc = conv2d q k=2 r=1 s=1 relu u8\ny = quantize c\n"
                               : X_LINE "q = quantize x u8\nd = quantize q\nc = conv2d d k=2 r=1 s=1 relu\n"
                                        "p = quantize c u8\ny = quantize p\n");
    }
}

/* Weights with zero points of several kinds are floats; so is what the caller gets as numbers. */
static void numbers_that_are_read_stay_floats(void **state)
{
    (void)state;
    check_graph(
        X "ints w:3 2 2 1 1 = 1 -2 3 4\nconst ws 2 = 0.5 0.25\nints wz:3 2 = 0 1\n" READ CONV_PAIRS GIVE,
        X_LINE "q = quantize x u8\nd = quantize q\nc = conv2d d k=2 r=1 s=1 relu\np = quantize c u8\ny = quantize p\n");
    check_graph(X "node QuantizeLinear x xs xz -> y\noutput y:2\n",
                X_LINE "y = eltwise x f=clip(add(round(div(a,0.5)),3),0,255)\n");
}

/* Each reads all of the one before it twice for an element: 2^40 reads, where they were not kept. */
static void constants_of_constants_are_read_once(void **state)
{
    char lines[4096] = "opset 21\ninput x 1 4\nconst b0 1 = 1\n";

    (void)state;
    for (int i = 0; i < 40; i++) {
        const size_t n = strlen(lines);

        snprintf(lines + n, sizeof lines - n, "node DequantizeLinear b%d b%d -> b%d\n", i, i, i + 1);
    }
    strcat(lines, "node Add x b40 -> y\noutput y\n");
    check_graph(lines, "x = input shape=1,4\ny = eltwise x f=add(a,1)\n");
}

static void what_is_not_supported_is_refused_by_name(void **state)
{
    (void)state;
    check_refused("opset 21\ninput x 1 4\nconst xs 1 2 = 0.5 0.25\nnode QuantizeLinear x xs -> y axis=1 "
                  "output_dtype=17 block_size=2\noutput y\n",
                  "QuantizeLinear", "to elements of type 17: expected whole numbers of 4, 8 or 16 bits");
    check_refused("opset 21\ninput x 1 4\ninput xs 1 2\nnode QuantizeLinear x xs -> y axis=1 block_size=2\noutput y\n",
                  "QuantizeLinear", "a scale for each block that is no constant");
    check_refused("opset 21\ninput x 1 4\nconst xs 3 = 1 2 3\nnode QuantizeLinear x xs -> y axis=1\noutput y\n",
                  "QuantizeLinear", "a scale or zero point that is neither one number nor one for each of an axis");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_convolution_between_pairs_is_one_layer_of_bytes),
        cmocka_unit_test(signed_bytes_have_other_zero_points_alone),
        cmocka_unit_test(a_quantised_convolution_is_what_its_pairs_are),
        cmocka_unit_test(sums_and_pools_between_pairs_are_layers_of_bytes),
        cmocka_unit_test(quantised_tensors_are_joined_as_floats),
        cmocka_unit_test(weights_of_few_bits_are_unpacked),
        cmocka_unit_test(weights_of_four_bits_stay_so),
        cmocka_unit_test(zero_points_beyond_four_bits_are_unpacked),
        cmocka_unit_test(other_weights_of_few_bits_are_refused),
        cmocka_unit_test(the_scale_of_a_mean_is_divided_by_its_number),
        cmocka_unit_test(what_no_kernel_of_bytes_computes_stays_of_floats),
        cmocka_unit_test(sums_beyond_32_bits_stay_of_floats),
        cmocka_unit_test(zero_points_beyond_bytes_stay_of_floats),
        cmocka_unit_test(numbers_that_are_read_stay_floats),
        cmocka_unit_test(constants_of_constants_are_read_once),
        cmocka_unit_test(what_is_not_supported_is_refused_by_name),
    };
    int failed;

    if (!folder_open("quantised"))
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    folder_close();
    return failed;
}
