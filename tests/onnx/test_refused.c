/* SPDX-License-Identifier: MIT */
/* ONNX models: what is refused of damaged, unknown and hostile ones. */
#include "core/buf.h"
#include "core/file.h"
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
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Nodes behind IMAGE, the one that is refused, and words of why. */
static const char *const refused[][3] = {
    {"node Conv x x -> y\noutput y\n", "Conv", "constant weights"},
    {"const w 4 3 1 1 = 1\nnode Conv x w -> y\noutput y\n", "Conv", "do not fit the channels"},
    {"const w 4 4 1 1 = 1\nnode Conv x w -> y group=0\noutput y\n", "Conv", "do not fit the channels"},
    {"const w 4 4 9 9 = 1\nnode Conv x w -> y\noutput y\n", "Conv", "a window of 9 x 9"},
    {"const w 4 4 1 1 = 1\nnode Conv x w -> y strides=[0,1]\noutput y\n", "Conv", "strides"},
    {"const w 4 4 1 1 = 1\nnode Conv x w -> y pads=[1,-1,0,0]\noutput y\n", "Conv", "pads"},
    {"const w 4 4 1 1 = 1\nnode Conv x w -> y dilations=[1]\noutput y\n", "Conv", "dilations"},
    {"const w 4 4 1 1 = 1\nnode Conv x w -> y kernel_shape=[3,3]\noutput y\n", "Conv", "kernel_shape"},
    {"const w 4 4 1 1 = 1\nnode Conv x w -> y auto_pad='SAME'\noutput y\n", "Conv", "auto_pad SAME"},
    {"node Gelu x -> y approximate='fast'\noutput y\n", "Gelu", "not known"},
    {"node PRelu x -> y\noutput y\n", "PRelu", "1 inputs"},
    {"node Sigmoid x x -> y\noutput y\n", "Sigmoid", "2 inputs"},
    {"node Max x - -> y\noutput y\n", "Max", "left out"},
    {"const c 7 6 = 2 ...\nnode Pow x c -> y\noutput y\n", "Pow", "cannot be combined"},
    {"const c 0 8 6 = 2\nnode Min x c -> y\noutput y\n", "Min", "a constant of no elements"},
    {"node Flatten x -> f\nnode Sub x f -> y\noutput y\n", "Sub", "cannot be combined"},
    {"node Clip x - x -> y\noutput y\n", "Clip", "not constant"},
    {"node Concat - x -> y axis=1\noutput y\n", "Concat", "left out"},
    {"node Concat x - -> y axis=1\noutput y\n", "Concat", "left out"},
    {"node MaxPool x -> y\noutput y\n", "MaxPool", "kernel_shape"},
    {"node MaxPool x -> y kernel_shape=[2,2] pads=[2,0,0,0]\noutput y\n", "MaxPool", "outside the image"},
    {"node AveragePool x -> y kernel_shape=[2,2] pads=[1,0,0,0] count_include_pad=1 ceil_mode=1\noutput y\n",
     "AveragePool", "count_include_pad"},
    {"node MaxPool x -> p i kernel_shape=[1,1]\nnode Add p i -> y\noutput y\n", "MaxPool", "indices"},
    {"node ReduceMean x -> y axes=[4]\noutput y\n", "ReduceMean", "axes that are not constant, or none"},
    {"node ReduceSum x x -> y\noutput y\n", "ReduceSum", "axes that are not constant"},
    {"node Less x x -> y\noutput y\nnode Where y x -> z\noutput z\n", "Where", "2 inputs"},
    {"node Softmax x -> y axis=4\noutput y\n", "Softmax", "one of its axes"},
    {"node Transpose x -> y perm=[0,2,2,1]\noutput y\n", "Transpose", "a perm that is none"},
    {"ints s 4 = 0 0 0 0\nints e 4 = 1 4 8 0\nnode Slice x s e -> y\noutput y\n", "Slice", "of no elements"},
    {"ints s 1 = 0\nints e 1 = 1\nints a 1 = 4\nnode Slice x s e a -> y\noutput y\n", "Slice", "an axis that is none"},
    {"ints s 1 = 0\nints e 1 = 1\nints a 1 = 2\nints t 1 = 0\nnode Slice x s e a t -> y\noutput y\n", "Slice",
     "a step of 0"},
    {"ints s 2 = 3 4\nnode Split x s -> y z axis=2\noutput y\n", "Split", "do not fit the axis"},
    {"ints s 2 = 3 9\nnode Split x s -> y z axis=2\noutput z\n", "Split", "do not fit the axis"},
    {"ints s 2 = 2 6\nnode Expand x s -> y\noutput y\n", "Expand", "does not fit"},
    {"ints s 4 = 1 1 0 1\nnode Tile x s -> y\noutput y\n", "Tile", "repeats below 1"},
    {"ints i 3 = 0 1 8\nnode Gather x i -> y axis=2\noutput y\n", "Gather", "an index outside"},
    {"ints i 1 = 8\nnode Gather x i -> y axis=2\noutput y\n", "Gather", "an index outside"},
    {"node DepthToSpace x -> y blocksize=3\noutput y\n", "DepthToSpace", "whole blocks"},
    {"node SpaceToDepth x -> y blocksize=2 mode='RCD'\noutput y\n", "SpaceToDepth", "mode DCR or CRD"},
    {"ints p 8 = 0 0 8 0 0 0 0 0\nnode Pad x p -> y mode='reflect'\noutput y\n", "Pad", "do not fit their axis"},
    {"ints s 2 = 1 5\nnode Reshape x s -> y\noutput y\n", "Reshape", "another number of elements"},
    {"ints s 2 = -1 -1\nnode Reshape x s -> y\noutput y\n", "Reshape", "a shape that is none"},
    {"node Concat x x -> y axis=4\noutput y\n", "Concat", "an axis that is none"},
    {"node MaxPool x -> p kernel_shape=[2,2]\nnode Concat x p -> y axis=1\noutput y\n", "Concat",
     "shapes that do not fit"},
    {"ints i 1 = 9\nnode Shape x -> s\nnode Gather s i -> y\noutput y\n", "Gather", "an index outside"},
    {"const w 192 3 = 1\nnode MatMul x w -> y\noutput y\n", "MatMul", "fit the rows"},
    {"node Flatten x -> f\nconst w 5 3 = 1\nnode Gemm f w -> y\noutput y\n", "Gemm", "fit the rows"},
    {"node IsInf x -> i detect_positive=0 detect_negative=0\nnode Cast i -> y to=1\noutput y\n", "IsInf",
     "of neither sign"},
    {"ints a = 1\nints d = 1\nnode ReduceMax x -> m keepdims=0\nnode Range a m d -> y\noutput y\n", "Range",
     "three constant numbers"},
    {"node Dropout x -> d k\nnode Cast k -> c to=1\nnode Add d c -> y\noutput y\n", "Dropout", "its mask is read"},
    {"const r = 0.5\nints t:9 = 1\nnode Dropout x r t -> y\noutput y\n", "Dropout", "in training mode"},
    {"const s 4 = 1 ...\nnode BatchNormalization x s s s s -> y training_mode=1\noutput y\n", "BatchNormalization",
     "in training mode, or not of whole channels"},
    {"const s 4 = 1 ...\nnode BatchNormalization x s s s s -> y spatial=0\noutput y\n", "BatchNormalization",
     "in training mode, or not of whole channels"},
    {"const s 4 = 1 ...\nnode BatchNormalization x s s s s -> n m\nnode Relu m -> y\noutput y\n", "BatchNormalization",
     "its mean or variance is read"},
    {"const s 5 = 1 ...\nnode BatchNormalization x s s s s -> y\noutput y\n", "BatchNormalization",
     "expected constants, a number for each channel"},
    {"ints r 1 = -1\nnode Reshape x r -> f\nconst s 1 = 1\nnode BatchNormalization f s s s s -> y\noutput y\n",
     "BatchNormalization", "expected images or rows"},
    {"const w = 2\nnode MatMul x w -> y\noutput y\n", "MatMul", "expected two matrices"},
    {"node LRN x -> y size=9\noutput y\n", "LRN", "a size that fits their channels"},
    {"node LRN x -> y size=0\noutput y\n", "LRN", "a size that fits their channels"},
    {"ints i 1 1 1 1 1 1 1 = 0\nnode GatherND x i -> y\noutput y\n", "GatherND", "of too many dimensions"},
    {"const s 4 = 1 1 2 2\nnode Resize x - s -> y coordinate_transformation_mode='tf_crop_and_resize'\noutput y\n",
     "Resize", "a constant part of each axis"},
    {"const r 8 = 0 0 0 0 1 1 1 1\nconst s 4 = 1 1 2 2\nnode Resize x r s -> y "
     "coordinate_transformation_mode='tf_crop_and_resize' mode='cubic'\noutput y\n",
     "Resize", "cubic or antialias of a part"},
    {"node Flatten x -> f\nconst w 4 4 1 1 = 1\nnode Conv f w -> y\noutput y\n", "Conv", "of 5 to 3 dimensions"},
    {"node Flatten x -> f\nnode MaxPool f -> y kernel_shape=[2,2]\noutput y\n", "MaxPool", "of 5 to 3 dimensions"},
    {"node Flatten x -> f\nnode GlobalMaxPool f -> y\noutput y\n", "GlobalMaxPool", "of 3 dimensions or more"},
    {"node Flatten x -> f\nconst w 4 4 1 1 = 1\nnode ConvTranspose f w -> y\noutput y\n", "ConvTranspose",
     "of 4 or 3 dimensions"},
    {"node Nonsense x -> y\noutput y\n", "Nonsense", "no such operator here"},
    {"node Einsum x -> y equation='a...->...a'\noutput y\n", "Einsum", "no such operator here"},
    {"node Einsum x x x -> y equation='abcd,abcd,abcd->a'\noutput y\n", "Einsum", "no such operator here"},
    {"node Einsum x -> y equation='aacd->acd'\noutput y\n", "Einsum", "no such operator here"},
    {"node Einsum x -> y equation='abcd->ae'\noutput y\n", "Einsum", "no such operator here"},
    {"node Einsum x -> y\noutput y\n", "Einsum", "no such operator here"},
};

static void nodes_that_cannot_be_computed_are_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        char lines[1024];

        snprintf(lines, sizeof lines, "%s%s", IMAGE, refused[i][0]);
        check_refused(lines, refused[i][1], refused[i][2]);
    }
}

static void models_that_do_not_hold_together_are_refused(void **state)
{
    static const char *const facts[][2] = {
        {"opset 5\ninput x 1 4 8 8\nnode Relu x -> y\noutput y\n", "opset 5: expected 6 to"},
        {"opset 99\ninput x 1 4 8 8\nnode Relu x -> y\noutput y\n", "opset 99"},
        {"input x 1 4 8 8\nnode Relu x -> y\noutput y\n", "opset 0"},
        {"opset 13\ninput x 1 4 8 8\nnode Relu b -> a\nnode Relu a -> b\noutput b\n", "before it is made: a cycle"},
        {"opset 13\ninput x 1 4 8 8\nnode Relu y -> y\noutput y\n", "a cycle"},
        {"opset 13\ninput x 1 4 8 8\nnode Relu z -> y\noutput y\n", "reads z, which nothing makes"},
        {"opset 13\ninput x 1 4 8 8\nnode Relu x -> y\noutput z\n", "output z, which nothing makes"},
        {"opset 13\ninput x 1 4 8 8\nnode Relu x -> y\nnode Relu x -> y\noutput y\n", "value y is made twice"},
        {"opset 13\ninput x 1 4 8 8\nnode Relu x -> x\noutput x\n", "value x is made twice"},
        {"opset 13\ninput x 1 4 8 8\nnode Relu x -> y\n", "0 outputs"},
        {"opset 13\nconst x 1 = 1\nnode Relu x -> y\noutput y\n", "no input"},
        {"opset 13\ninput x 1 1 1 1 1 1 1 1 1\nnode Relu x -> y\noutput y\n", "at most 8 dimensions"},
        {"opset 13\ninput x 1 4 8 -3\nnode Relu x -> y\noutput y\n", "is not fixed"},
        {"opset 13\ninput x 1 4 8 17000000\nnode Relu x -> y\noutput y\n", "a dimension of 17000000"},
        {"opset 13\ninput x 65536 65536 65536 65536\nnode Relu x -> y\noutput y\n", "too large"},
        {"opset 13\ninput x 1 4 8 8\nints w 4 = 1\noutside q 4 = w.bin 0\nnode Relu x -> y\noutput y\n",
         "in the model's folder"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        struct onnx_import *m = NULL;
        struct why why = {""};

        if (!import_lines(facts[i][0], NULL, 0, &m, &why) || !strstr(why.text, facts[i][1]) || strchr(why.text, '\n'))
            fail_msg("%s: '%s', expected '%s'", facts[i][0], why.text, facts[i][1]);
    }
}

/* A tensor whose shape is not that of its bytes. */
static void tensors_that_lie_about_their_size_are_refused(void **state)
{
    static const int64_t dims[][2] = {{2, 3}, {-1, 4}, {INT64_MAX, INT64_MAX}, {0, INT64_MAX}, {1 << 20, 1 << 20}};

    (void)state;
    for (size_t i = 0; i < sizeof dims / sizeof dims[0]; i++) {
        struct buf tensor;
        Onnx__TensorProto *p;
        struct onnx_file none = {.folder = -1};
        struct onnx_tensor t;
        struct why why = {""};

        buf_init(&tensor, 256);
        wire_number(&tensor, 1, (uint64_t)dims[i][0]);
        wire_number(&tensor, 1, (uint64_t)dims[i][1]);
        wire_number(&tensor, 2, 1);
        wire_bytes(&tensor, 9, "0123456789abcdef", 16);
        p = onnx__tensor_proto__unpack(NULL, tensor.len, (const uint8_t *)tensor.data);
        assert_int_equal(onnx_tensor_open(&none, p, &t, &why), ERR_INPUT);
        assert_non_null(strstr(why.text, i == 0 ? "its shape wants 24" : "a shape that is none"));
        onnx__tensor_proto__free_unpacked(p, NULL);
        buf_fini(&tensor);
    }
}

static enum err parse(const struct buf *model, struct why *why)
{
    struct onnx_import *m = NULL;
    const enum err e = onnx_import_parse(buf_text(model), model->len, NULL, &m, why);

    onnx_import_close(m);
    return e;
}

/* Graph in node's attribute in graph ..., a million deep; from the inside, so that each length is known: 5 bytes a
 * message at most.
 */
static void a_nest_of_a_million_graphs_is_refused(void **state)
{
    enum { DEPTH = 1000000, HEAD = 6 };
    unsigned char *bytes = malloc((size_t)DEPTH * HEAD);
    static const unsigned char fields[] = {7, 1, 5, 6}; /* model.graph, then graph.node, node.attribute, attribute.g */
    size_t at = (size_t)DEPTH * HEAD, n = 0;
    struct buf model;
    struct why why = {""};

    (void)state;
    for (int depth = DEPTH - 1; depth >= 0; depth--) {
        const int field = depth == 0 ? 7 : fields[1 + (depth - 1) % 3];
        unsigned char head[HEAD];
        size_t k = 0, v = n;

        head[k++] = (unsigned char)(field << 3 | 2);
        do {
            head[k++] = (unsigned char)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
            v >>= 7;
        } while (v);
        at -= k;
        memcpy(bytes + at, head, k);
        n += k;
    }
    buf_init(&model, MAX_MODEL);
    buf_append(&model, bytes + at, n);
    assert_int_equal(parse(&model, &why), ERR_LIMIT);
    assert_non_null(strstr(why.text, "deeper than 32"));
    buf_fini(&model);
    free(bytes);
}

/* Two bytes each: every one of them would be a struct. */
static void a_file_of_empty_nodes_is_refused_before_it_is_unpacked(void **state)
{
    static const struct {
        int n;
        const char *words;
    } files[] = {{1000000, "more than 65536 nodes"}, {60000, "would take"}};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct buf model, graph;
        struct why why = {""};

        buf_init(&model, MAX_MODEL);
        buf_init(&graph, MAX_MODEL);
        for (int k = 0; k < files[i].n; k++)
            wire_bytes(&graph, 1, "", 0);
        wire_message(&model, 7, &graph);
        assert_int_equal(parse(&model, &why), ERR_LIMIT);
        if (!strstr(why.text, files[i].words))
            fail_msg("'%s', expected '%s'", why.text, files[i].words);
        buf_fini(&model);
        buf_fini(&graph);
    }
}

/* Many nodes of one small constant: each would be a copy of its own. */
static void constants_that_grow_are_stopped(void **state)
{
    struct onnx_import *m = NULL;
    struct why why = {""};
    struct buf lines;

    (void)state;
    buf_init(&lines, MAX_MODEL);
    buf_puts(&lines, "opset 13\ninput x 1 4 8 8\nconst c 1024 = 1\n");
    for (int i = 0; i < 20; i++)
        buf_printf(&lines, "node Concat %s%d %s%d -> d%d axis=0\n", i ? "d" : "c", i - 1, i ? "d" : "c", i - 1, i);
    memcpy(strstr(lines.data, "c-1 c-1"), "c   c  ", 7);
    buf_puts(&lines, "node Relu x -> y\noutput y\n");
    assert_int_equal(import_lines(buf_text(&lines), NULL, 0, &m, &why), ERR_LIMIT);
    assert_non_null(strstr(why.text, "more memory than a model of this size"));
    buf_fini(&lines);
}

/* Whatever is cut off, there is one line of words and no more memory than promised; bytes that are changed, too. */
static void cut_and_changed_files_are_refused_in_words(void **state)
{
    struct buf model;

    (void)state;
    buf_init(&model, MAX_MODEL);
    wire_model(IMAGE CONV "ints s 2 = 1 -1\nnode Relu a -> b\nnode Reshape b s -> r\nconst v 192 3 = 1 ...\n"
                          "node MatMul r v -> y\noutput y\n",
               &model);
    for (size_t n = 0; n < model.len; n++) {
        struct onnx_file f;
        struct buf part = {.data = malloc(n + 1), .len = n};
        struct why why = {""};

        memcpy(part.data, model.data, n);
        if (n < 200 || n % 17 == 0) {
            assert_int_not_equal(parse(&part, &why), ERR_OK);
            assert_true(why.text[0] && !strchr(why.text, '\n'));
            memcpy(part.data, model.data, n);
            part.data[n / 2] ^= (char)(1 << n % 8);
            if (!onnx_file_parse(part.data, n, &f, &why)) {
                assert_true(f.memory.used <= f.memory.most);
                assert_true(f.memory.most <= ONNX_MEMORY_BASE + ONNX_MEMORY_PER_BYTE * n);
                onnx_file_close(&f);
            }
        }
        free(part.data);
    }
    buf_fini(&model);
}

static enum err import_file(const char *location, const char *offset, struct why *why)
{
    struct onnx_import *m = NULL;
    struct buf model;
    char lines[512];
    enum err e;

    buf_init(&model, MAX_MODEL);
    snprintf(lines, sizeof lines, "opset 13\ninput x 1 2\noutside w 2 2 = %s %s\nnode MatMul x w -> y\noutput y\n",
             location, offset);
    wire_model(lines, &model);
    assert_int_equal(dir_make(below("model"), 0755, NULL), ERR_OK);
    write_file("model/m.onnx", buf_text(&model), model.len);
    buf_fini(&model);
    e = onnx_import_open(below("model/m.onnx"), NULL, &m, why);
    if (!e)
        e = onnx_import_weights(m, folder_path(), DTYPE_F32, why);
    onnx_import_close(m);
    return e;
}

static void weights_beside_a_model_stay_in_its_folder(void **state)
{
    static const float elems[] = {1, 2, 3, 4};
    static const char *const outside[] = {"../w.bin", "sub/../../w.bin", "link.bin", "linked/w.bin", "/etc/passwd",
                                          "sub",      "/dev/zero",       "none.bin", "sub//w.bin",   "",
                                          "."};
    struct why why = {""};
    struct buf bytes;
    char data[8 + sizeof elems] = "";

    (void)state;
    memcpy(data + 8, elems, sizeof elems);
    assert_int_equal(dir_make(below("model/sub"), 0755, NULL), ERR_OK);
    write_file("w.bin", data, sizeof data);
    write_file("model/sub/w.bin", data, sizeof data);
    assert_int_equal(symlink("../w.bin", below("model/link.bin")), 0);
    assert_int_equal(symlink("..", below("model/linked")), 0);
    if (import_file("sub/w.bin", "8", &why))
        fail_msg("%s", why.text);
    buf_init(&bytes, 4096);
    assert_int_equal(file_read(below("weights.bin"), &bytes, NULL), ERR_OK);
    assert_int_equal(bytes.len, 6 * sizeof(float));
    assert_memory_equal(bytes.data, ((const float[]){1, 3, 2, 4, 0, 0}), bytes.len);
    buf_fini(&bytes);
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++)
        if (outside[i][0] && (!import_file(outside[i], "0", &why) || strchr(why.text, '\n')))
            fail_msg("weights of '%s' were read", outside[i]);
    assert_int_equal(import_file("sub/w.bin", "9", &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "15 bytes of elements, its shape wants 16"));
    assert_int_equal(import_file("sub/w.bin", "25", &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "beyond the end of 'sub/w.bin', which has 24 bytes"));
    assert_int_equal(import_file("sub/w.bin", "-1", &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "numbers as offset"));
    assert_int_equal(onnx_import_open(below("nothing.onnx"), NULL, NULL, &why), ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_that_cannot_be_computed_are_named),
        cmocka_unit_test(models_that_do_not_hold_together_are_refused),
        cmocka_unit_test(tensors_that_lie_about_their_size_are_refused),
        cmocka_unit_test(a_nest_of_a_million_graphs_is_refused),
        cmocka_unit_test(a_file_of_empty_nodes_is_refused_before_it_is_unpacked),
        cmocka_unit_test(constants_that_grow_are_stopped),
        cmocka_unit_test(cut_and_changed_files_are_refused_in_words),
        cmocka_unit_test(weights_beside_a_model_stay_in_its_folder),
    };
    int failed;

    if (!folder_open("test-onnx-refused"))
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    folder_close();
    return failed;
}
