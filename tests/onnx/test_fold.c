/* SPDX-License-Identifier: MIT */
/* What is computed while a model is read, by the definitions of ONNX: numbers of every type, arithmetic on constants,
 * constants of nodes; and what of it is refused. */
#include "tests/onnx/check_import.h"
#include "tests/onnx/wire.h"

#include "onnx/file.h"
#include "onnx/tensor.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define OF_X "opset 13\ninput x 1 4 8 6\n" /* 192 elements */

enum {
    TYPE_FLOAT = 1,
    UINT8,
    INT8,
    UINT16,
    INT16,
    INT32,
    INT64,
    BOOL = 9,
    FLOAT16,
    DOUBLE,
    UINT32,
    UINT64,
    BFLOAT16 = 16
};

/* ---- numbers ---- */

/* A tensor of two numbers whose bytes are given, as raw data or, where `field` names one, in that field. */
static double second_of(int type, const void *raw, size_t n_raw, int field, uint64_t number)
{
    struct onnx_file none = {.folder = -1};
    Onnx__TensorProto *p;
    struct onnx_tensor t;
    struct why why = {""};
    struct buf bytes;
    double v;

    buf_init(&bytes, 256);
    wire_number(&bytes, 1, 2);
    wire_number(&bytes, 2, (uint64_t)type);
    if (field) {
        wire_number(&bytes, field, 0);
        wire_number(&bytes, field, number);
    } else {
        wire_bytes(&bytes, 9, raw, n_raw);
    }
    p = onnx__tensor_proto__unpack(NULL, bytes.len, (const uint8_t *)bytes.data);
    assert_non_null(p);
    if (onnx_tensor_open(&none, p, &t, &why))
        fail_msg("type %d: %s", type, why.text);
    assert_int_equal(t.n_elems, 2);
    v = onnx_tensor_at(&t, 1);
    onnx__tensor_proto__free_unpacked(p, NULL);
    buf_fini(&bytes);
    return v;
}

/* Little-endian, two's complement, IEEE 754: the second number of each, by hand. */
static void numbers_of_every_type_are_read_from_raw_data(void **state)
{
    static const struct {
        int type;
        size_t n;
        unsigned char bytes[16];
        double second;
    } cases[] = {
        {TYPE_FLOAT, 8, {0, 0, 0, 0, 0, 0, 0xc0, 0xbf}, -1.5},
        {UINT8, 2, {1, 0xfe}, 254},
        {INT8, 2, {1, 0xfe}, -2},
        {BOOL, 2, {0, 1}, 1},
        {UINT16, 4, {1, 0, 0xfe, 0xff}, 65534},
        {INT16, 4, {1, 0, 0xfe, 0xff}, -2},
        {FLOAT16, 4, {0, 0, 0x00, 0xbe}, -1.5},
        {FLOAT16, 4, {0, 0, 0x01, 0x00}, 0x1p-24},
        {BFLOAT16, 4, {0, 0, 0xc0, 0xbf}, -1.5},
        {INT32, 8, {1, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff}, -2},
        {UINT32, 8, {1, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff}, 4294967294.0},
        {INT64, 16, {1, 0, 0, 0, 0, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, -2},
        {UINT64, 16, {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80}, 0x1p63},
        {DOUBLE, 16, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf8, 0xbf}, -1.5},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const double v = second_of(cases[i].type, cases[i].bytes, cases[i].n, 0, 0);

        if (v != cases[i].second)
            fail_msg("type %d: %.17g, expected %.17g", cases[i].type, v, cases[i].second);
    }
}

/* int32_data (5) holds the small types and the bits of halves, int64_data (7), uint64_data (11); numbers below 0 have
 * ten bytes there. */
static void numbers_of_every_type_are_read_from_their_fields(void **state)
{
    static const struct {
        int type, field;
        uint64_t number;
        double second;
    } cases[] = {
        {UINT8, 5, 254, 254},
        {INT8, 5, (uint64_t)-2, -2},
        {UINT16, 5, 65534, 65534},
        {BOOL, 5, 1, 1},
        {INT16, 5, (uint64_t)-2, -2},
        {INT32, 5, (uint64_t)-2, -2},
        {FLOAT16, 5, 0xbe00, -1.5},
        {BFLOAT16, 5, 0xbfc0, -1.5},
        {INT64, 7, (uint64_t)-2, -2},
        {UINT32, 11, 4294967294u, 4294967294.0},
        {UINT64, 11, (uint64_t)1 << 63, 0x1p63},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const double v = second_of(cases[i].type, NULL, 0, cases[i].field, cases[i].number);

        if (v != cases[i].second)
            fail_msg("type %d: %.17g, expected %.17g", cases[i].type, v, cases[i].second);
    }
}

/* ---- arithmetic ---- */

/* Nodes that make the constant s: where x is reshaped to it, what it is shows. */
static void check_shape(const char *nodes, const char *shape)
{
    char lines[1024], graph[256];

    snprintf(lines, sizeof lines, OF_X "%snode Reshape x s -> y\noutput y\n", nodes);
    snprintf(graph, sizeof graph, "x = input c=4 h=8 w=6\ny = reshape x shape=%s\n", shape);
    check_graph(lines, graph);
}

static void arithmetic_on_shapes_is_of_whole_numbers(void **state)
{
    static const char *const cases[][2] = {
        {"ints a 2 = 5 20\nints b 2 = 7 -4\nnode Add a b -> s\n", "12,16"},
        {"ints a 2 = 5 20\nints b 2 = -7 4\nnode Sub a b -> s\n", "12,16"},
        {"ints a 2 = 3 4\nints b 1 = 4\nnode Mul a b -> s\n", "12,16"},
        {"ints a 2 = 25 33\nints b 1 = 2\nnode Div a b -> s\n", "12,16"},
        {"ints a 2 = 24 -3\nints b 1 = 2\nnode Div a b -> s\n", "12,16"}, /* -3 / 2 is -1: what is left */
        {"ints a 2 = 5 20\nints b 2 = 7 -4\nnode Sum a b -> s\n", "12,16"},
        {"const a 2 = 12.9 -1.9\nnode Cast a -> s to=7\n", "12,16"},
        {"const a 2 = 12.9 16.2\nnode Cast a -> b to=6\nnode Cast b -> s to=7\n", "12,16"},
        {"node Constant -> s value_ints=[12,16]\n", "12,16"},
        {"node Constant -> a value_int=12\nints b 2 = 1 -16\nnode Unsqueeze a -> c axes=[0]\n"
         "ints n 1 = 16\nnode Concat c n -> s axis=0\n",
         "12,16"},
        {"node Shape x -> a\nints i 2 = -1 1\nnode Gather a i -> b\nints n 1 = -1\nnode Concat b n -> s axis=0\n",
         "6,4,8"},
        {"node Shape x -> a start=1 end=-1\nints n 1 = 6\nnode Concat n a -> s axis=0\n", "6,4,8"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_shape(cases[i][0], cases[i][1]);
}

/* Weights of a 1x1 convolution of 4 channels to 1, made by nodes: floats keep their parts. */
static void arithmetic_on_weights_is_of_floats(void **state)
{
    static const struct {
        const char *nodes;
        float w[4];
    } cases[] = {
        {"const a 1 4 1 1 = 1 2 3 4\nconst b = 2\nnode Div a b -> w\n", {.5f, 1, 1.5f, 2}},
        {"const a 1 4 1 1 = 1 2 3 4\nconst b 4 1 1 = .5 0 -1 2\nnode Sub a b -> w\n", {.5f, 2, 4, 2}},
        {"ints s 4 = 1 4 1 1\nnode ConstantOfShape s -> a\nconst b = 0.25\nnode Add a b -> w\n",
         {.25f, .25f, .25f, .25f}},
        {"node Constant -> a value_floats=[.5,-1.5,2.5,3]\nints s 4 = 1 4 1 1\nnode Reshape a s -> w\n",
         {.5f, -1.5f, 2.5f, 3}},
        {"const a 4 1 1 1 = 1 2 3 4\nnode Transpose a -> w perm=[1,0,2,3]\n", {1, 2, 3, 4}},
        {"const a 2 2 = 1 2 3 4\nnode Transpose a -> t\nints s 4 = 1 4 1 1\nnode Reshape t s -> w\n", {1, 3, 2, 4}},
        {"const a 1 4 1 1 = 1 2 3 4\nnode Dropout a -> w\n", {1, 2, 3, 4}},
        {"const a 3 2 1 1 = 1 2 3 4 5 6\nints i 2 = 2 0\nnode Gather a i -> g\nints s 4 = 1 4 1 1\nnode Reshape g s -> "
         "w\n",
         {5, 6, 1, 2}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const float written[] = {cases[i].w[0], cases[i].w[1], cases[i].w[2], cases[i].w[3], 0};
        char lines[1024];

        snprintf(lines, sizeof lines, OF_X "%snode Conv x w -> y\noutput y\n", cases[i].nodes);
        check_weights(lines, written, 5, "y w 0 16\ny bias 16 4\n");
    }
}

/* ---- refusals ---- */

static void what_cannot_be_folded_is_refused_by_name(void **state)
{
    static const char *const facts[][3] = {
        {"ints a 2 = 1 2\nints b 3 = 1 2 3\nnode Add a b -> s\n", "Add", "cannot be combined"},
        {"node Cast x -> s to=7\n", "Cast", "to type 7"},
        {"node Constant -> s\n", "Constant", "neither floats nor integers"},
        {"node Relu x -> a\nnode ConstantOfShape a -> s\n", "ConstantOfShape", "not constant"},
        {"node Shape x -> a\nnode Gather a a -> b axis=1\nnode Identity b -> s\n", "Gather", "an axis that is none"},
        {"node Shape x -> a\nints n 1 1 = 1\nnode Concat a n -> s axis=0\n", "Concat", "shapes that do not fit"},
        {"node Relu x -> a\nnode Reshape x a -> s\n", "Reshape", "not constant"},
        {"ints a 2 = 1 2\nnode Squeeze a -> s axes=[1]\n", "Squeeze", "axes that are none"},
        {"ints a 2 = 1 2\nnode Unsqueeze a -> s axes=[0,0]\n", "Unsqueeze", "axes that are none"},
        {"ints a 2 = 1 2\nnode Unsqueeze a -> s\n", "Unsqueeze", "axes that are none"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        char lines[1024];

        snprintf(lines, sizeof lines, OF_X "%snode Relu x -> y\noutput y\n", facts[i][0]);
        check_refused(lines, facts[i][1], facts[i][2]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_every_type_are_read_from_raw_data),
        cmocka_unit_test(numbers_of_every_type_are_read_from_their_fields),
        cmocka_unit_test(arithmetic_on_shapes_is_of_whole_numbers),
        cmocka_unit_test(arithmetic_on_weights_is_of_floats),
        cmocka_unit_test(what_cannot_be_folded_is_refused_by_name),
    };
    int failed;

    if (!folder_open("test-onnx-fold"))
        return 1;
    failed = cmocka_run_group_tests_name("onnx fold", tests, NULL, NULL);
    folder_close();
    return failed;
}
