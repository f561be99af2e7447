/* SPDX-License-Identifier: MIT */
/* Models of floats quantised by ranges: which layers compute on bytes, and weights, biases, scales and zero points that
 * are computed here by hand. */
#include "onnx/quantise.h"
#include "core/file.h"
#include "tests/onnx/check_import.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define X "opset 13\ninput x 1 2 2 2\n"
#define X_LINE "x = input c=2 h=2 w=2\n"
#define W "const w 2 2 1 1 = 127 -64 254 2\nconst b 2 = 1 -0.5\n"
#define CONV_RELU X W "node Conv x w b -> c\nnode Relu c -> y\noutput y\n"

/* The input from -1 to 1.55, all else from 0 to 5.1. */
static bool range(const char *layer, double *lo, double *hi, void *arg)
{
    (void)arg;
    *lo = strcmp(layer, "x") == 0 ? -1 : 0;
    *hi = strcmp(layer, "x") == 0 ? 1.55 : 5.1;
    return true;
}

static bool range_of_nan(const char *layer, double *lo, double *hi, void *arg)
{
    (void)layer;
    (void)arg;
    *lo = *hi = (double)NAN;
    return false;
}

static struct onnx_import *quantised(const char *lines, const struct onnx_quantise_options *o)
{
    struct onnx_import *m = NULL;
    struct why why = {""};

    if (import_lines(lines, NULL, 0, &m, &why) || onnx_quantise_begin(m, &why) || onnx_quantise(m, o, &why))
        fail_msg("%s%s", lines, why.text);
    return m;
}

static void check_quantised(const char *lines, const char *const *keep, size_t n_keep, const char *graph)
{
    const struct onnx_quantise_options o = {range, NULL, keep, n_keep};
    struct onnx_import *m = quantised(lines, &o);
    struct why why = {""};
    struct buf text;

    buf_init(&text, MAX_MODEL);
    if (onnx_import_graph(m, &text, &why))
        fail_msg("%s%s", lines, why.text);
    if (strcmp(buf_text(&text), graph) != 0)
        fail_msg("%sgave\n%sexpected\n%s", lines, buf_text(&text), graph);
    buf_fini(&text);
    onnx_import_close(m);
}

static void what_stands_between_convolutions_is_bytes(void **state)
{
    static const char *const first[] = {"first"};

    (void)state;
    check_quantised(CONV_RELU, NULL, 0,
                    X_LINE "x_q = quantize x u8\nc_f = conv2d x_q k=2 r=1 s=1 relu u8\nc = quantize c_f\n");
    check_quantised(CONV_RELU, first, 1, X_LINE "c = conv2d x k=2 r=1 s=1 relu\n");
    check_quantised(X W "node Conv x w b -> c\nnode MaxPool c -> m kernel_shape=[2,2]\nnode Conv m w -> d\n"
                        "node Sigmoid d -> y\noutput y\n",
                    NULL, 0,
                    X_LINE "x_q = quantize x u8\nc = conv2d x_q k=2 r=1 s=1 u8\nm = pool2d c max global u8\n"
                           "d = conv2d m k=2 r=1 s=1 u8\nd_f = quantize d\ny = eltwise d_f f=sigmoid(a)\n");
}

/* The kernel of a convolution of bytes adds nothing: the sum has a range of its own, and a layer. */
static void a_shortcut_is_a_sum_of_bytes(void **state)
{
    (void)state;
    check_quantised(X W "node Conv x w b -> a\nnode Conv a w b -> c\nnode Add a c -> s\nnode Relu s -> y\noutput y\n",
                    NULL, 0,
                    X_LINE "x_q = quantize x u8\na = conv2d x_q k=2 r=1 s=1 u8\nc_sums = conv2d a k=2 r=1 s=1 u8\n"
                           "c_f = add c_sums + a relu u8\nc = quantize c_f\n");
}

/* A part of a file. */
static void check_at(const struct buf *bytes, size_t at, const void *expected, size_t n)
{
    assert_true(at + n <= bytes->len);
    assert_memory_equal(bytes->data + at, expected, n);
}

/* x: steps of .01 from -1 on; y: of .02 from 0 on; weights: steps of 1 and 2. */
static void weights_are_steps_of_the_largest_of_each_output(void **state)
{
    static const int8_t w[] = {127, -64, 127, 1};
    static const int32_t bias[] = {100, -25}, zeros[] = {100, 0}; /* 1 / (.01 1), -.5 / (.01 2) */
    static const float scales[] = {0.5F, 1}, of_x = 0.01F;        /* .01 1 / .02, .01 2 / .02 */
    const struct onnx_quantise_options o = {range, NULL, NULL, 0};
    struct onnx_import *m = quantised(CONV_RELU, &o);
    const struct onnx_quantised *list;
    struct buf bytes, text;
    float got[3];
    size_t n = 0;

    (void)state;
    buf_init(&bytes, MAX_MODEL);
    buf_init(&text, MAX_MODEL);
    assert_int_equal(onnx_import_weights_of(m, DTYPE_F32, &bytes, &text, NULL), ERR_OK);
    assert_string_equal(buf_text(&text), "x_q scale 0 4\nx_q zero 4 4\nc_f w 8 4\nc_f bias 12 8\nc_f scale 20 8\n"
                                         "c_f zero 28 8\nc scale 36 4\nc zero 40 4\n");
    assert_int_equal(bytes.len, 44);
    memcpy(&got[0], bytes.data, 4);
    memcpy(&got[1], bytes.data + 20, 8);
    assert_true(fabsf(got[0] - of_x) < 1e-8F);
    assert_true(fabsf(got[1] - scales[0]) < 1e-6F && fabsf(got[2] - scales[1]) < 1e-6F);
    check_at(&bytes, 4, &zeros[0], 4);
    check_at(&bytes, 8, w, sizeof w);
    check_at(&bytes, 12, bias, sizeof bias);
    check_at(&bytes, 28, zeros, sizeof zeros);
    list = onnx_import_quantised(m, &n);
    assert_int_equal(n, 1);
    assert_string_equal(list[0].layer, "c");
    assert_true(list[0].has_weights && list[0].zero == 0 && fabsf(list[0].scale - 0.02F) < 1e-8F);
    buf_fini(&bytes);
    buf_fini(&text);
    onnx_import_close(m);
}

/* A bias that is far larger than its weights has steps that it can be counted in. */
static void a_bias_is_a_number_of_32_bits(void **state)
{
    const struct onnx_quantise_options o = {range, NULL, NULL, 0};
    struct onnx_import *m =
        quantised(X "const w 1 2 1 1 = 1e-12 0\nconst b 1 = 3\nnode Conv x w b -> y\noutput y\n", &o);
    struct buf bytes, text;
    int32_t bias = 0;

    (void)state;
    buf_init(&bytes, MAX_MODEL);
    buf_init(&text, MAX_MODEL);
    assert_int_equal(onnx_import_weights_of(m, DTYPE_F32, &bytes, &text, NULL), ERR_OK);
    assert_non_null(strstr(buf_text(&text), "y_f bias 10 4\n"));
    memcpy(&bias, bytes.data + 10, 4);
    assert_true(bias > 1000000000 && bias <= 1073741825);
    buf_fini(&bytes);
    buf_fini(&text);
    onnx_import_close(m);
}

static void what_cannot_be_quantised_is_told(void **state)
{
    static const char *const nobody[] = {"nobody"};
    const struct {
        const char *lines;
        struct onnx_quantise_options o;
        const char *words;
    } bad[] = {
        {CONV_RELU, {range, NULL, nobody, 1}, "no layer nobody to be kept in f32: expected first, last or the name"},
        {CONV_RELU, {range_of_nan, NULL, NULL, 0}, "x gives numbers that are not finite"},
        {"opset 13\ninput x 1 2 2 2\nconst s = 0.5\nints z:2 = 3\nnode QuantizeLinear x s z -> q\n"
         "node DequantizeLinear q s z -> y\noutput y\n",
         {range, NULL, NULL, 0},
         "q computes on bytes already"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct onnx_import *m = NULL;
        struct why why = {""};
        enum err e;

        assert_int_equal(import_lines(bad[i].lines, NULL, 0, &m, &why), ERR_OK);
        e = onnx_quantise_begin(m, &why);
        if (!e)
            e = onnx_quantise(m, &bad[i].o, &why);
        assert_int_equal(e, ERR_INPUT);
        if (!strstr(why.text, bad[i].words))
            fail_msg("\"%s\" does not say \"%s\"", why.text, bad[i].words);
        onnx_import_close(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_stands_between_convolutions_is_bytes),
        cmocka_unit_test(a_shortcut_is_a_sum_of_bytes),
        cmocka_unit_test(weights_are_steps_of_the_largest_of_each_output),
        cmocka_unit_test(a_bias_is_a_number_of_32_bits),
        cmocka_unit_test(what_cannot_be_quantised_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
