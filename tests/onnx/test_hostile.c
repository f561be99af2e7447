/* SPDX-License-Identifier: MIT */
/* Nodes that no exporter writes: every operator with inputs that are missing, of other kinds or of no elements, without
 * outputs, with attributes out of range. Each is imported or refused in one line of words. */
#include "core/buf.h"
#include "kernels/graph.h"
#include "onnx/import.h"
#include "onnx/model.h"
#include "tests/onnx/check_import.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define DRAWS 40 /* for each operator */

static uint32_t state = 14;

static int draw(int low, int high)
{
    state = state * 1664525 + 1013904223;
    return low + (int)((state >> 16) % (uint32_t)(high - low + 1));
}

/* Those that stand for several others, which are no rows of the table. */
static const char *const expanded[] = {"QLinearConv",
                                       "QLinearMatMul",
                                       "MatMulInteger",
                                       "ConvInteger",
                                       "DynamicQuantizeLinear",
                                       "SimplifiedLayerNormalization",
                                       "com.microsoft.QGemm",
                                       "com.microsoft.QLinearAdd",
                                       "com.microsoft.QLinearMul",
                                       "com.microsoft.QLinearAveragePool",
                                       "com.microsoft.QLinearGlobalAveragePool",
                                       "com.microsoft.QLinearLeakyRelu",
                                       "com.microsoft.QLinearSoftmax",
                                       "com.microsoft.QLinearSigmoid",
                                       "com.microsoft.MatMulIntegerToFloat",
                                       "com.microsoft.DynamicQuantizeMatMul",
                                       "com.microsoft.Gelu",
                                       "com.microsoft.BiasGelu",
                                       "com.microsoft.FastGelu",
                                       "com.microsoft.FusedMatMul",
                                       "com.microsoft.Attention",
                                       "com.microsoft.MultiHeadAttention",
                                       "com.microsoft.RotaryEmbedding",
                                       "com.microsoft.SkipLayerNormalization",
                                       "com.microsoft.SkipSimplifiedLayerNormalization",
                                       "com.microsoft.QuantizeLinear",
                                       "com.microsoft.DequantizeLinear",
                                       "com.microsoft.MatMulNBits",
                                       "com.microsoft.GroupQueryAttention",
                                       "com.microsoft.QLinearConcat"};

#define VALUES                                                                                                         \
    "opset 20\ninput x 1 4 6 6\ninput r 2 3 4\ninput m 4 4\ninput v 4\ninput j:7 2 2\n"                                \
    "const w 4 4 1 1 = 0.5 ...\nconst c 4 4 = 0.5 ...\nconst s = 0.5\nconst b 4 = 0.5 ...\nconst none 2 0 4 =\n"       \
    "ints i 2 = 0 1\nints n 1 = -1\nints q:3 4 4 = 1\nints t = 1\nints nothing 0 =\n"

/* A model of one node is imported or refused, and a graph that it gives can be read. */
static void check_model(const char *lines)
{
    struct onnx_import *m = NULL;
    struct why why = {""};
    struct graph g;
    struct buf text;

    buf_init(&text, MAX_MODEL);
    if (import_lines(lines, NULL, 0, &m, &why)) {
        if (!why.text[0] || strchr(why.text, '\n'))
            fail_msg("%s is refused with '%s'", lines, why.text);
        buf_fini(&text);
        return;
    }
    if (onnx_import_graph(m, &text, &why)) {
        if (!why.text[0] || strchr(why.text, '\n'))
            fail_msg("%s has no graph: '%s'", lines, why.text);
    } else if (graph_parse("hostile", buf_text(&text), text.len, &g, &why)) {
        fail_msg("%sgives\n%swhich is none: %s", lines, buf_text(&text), why.text);
    } else {
        graph_fini(&g);
    }
    onnx_import_close(m);
    buf_fini(&text);
}

static void put_attribute(struct buf *lines, const char *name, size_t n)
{
    static const char *const numbers[] = {
        "0",   "1",  "-1",          "2", "4", "9", "-9", "65537", "9223372036854775807", "-9223372036854775808",
        "0.5", "''", "'SAME_UPPER'"};

    buf_printf(lines, " %.*s=", (int)n, name);
    if (draw(0, 1)) {
        buf_puts(lines, numbers[draw(0, (int)(sizeof numbers / sizeof numbers[0]) - 1)]);
        return;
    }
    buf_puts(lines, "[");
    for (int k = draw(0, 6); k > 0; k--)
        buf_printf(lines, "%s%s", numbers[draw(0, draw(0, 1) ? 3 : 9)], k > 1 ? "," : "");
    buf_puts(lines, "]");
}

/* One node of an operator, of whatever inputs and attributes; the attributes are those of its row, " a b c ". */
static void put_node(struct buf *lines, const char *op, const char *attributes)
{
    static const char *const values[] = {"x", "r",    "m", "v", "j", "w", "c",       "s",
                                         "b", "none", "i", "n", "q", "t", "nothing", "-"};
    const int n_out = draw(0, 3);

    buf_printf(lines, "node %s", op);
    for (int k = draw(0, 5); k > 0; k--)
        buf_printf(lines, " %s", values[draw(0, (int)(sizeof values / sizeof values[0]) - 1)]);
    buf_puts(lines, " ->");
    for (int k = 0; k < n_out; k++)
        buf_printf(lines, " %s%d", draw(0, 5) ? "o" : "-", k);
    while (*(attributes += strspn(attributes, " "))) {
        const size_t n = strcspn(attributes, " ");

        if (draw(0, 2) == 0)
            put_attribute(lines, attributes, n);
        attributes += n;
    }
    buf_printf(lines, "\nnode Relu x -> y\noutput y\n");
    if (n_out && strstr(buf_text(lines), " o0"))
        buf_puts(lines, "output o0\n");
}

static void check_operator(const char *op, const char *attributes)
{
    struct buf lines;

    buf_init(&lines, 1 << 16);
    for (int k = 0; k < DRAWS; k++) {
        buf_clear(&lines);
        buf_puts(&lines, VALUES);
        put_node(&lines, op, attributes);
        check_model(buf_text(&lines));
    }
    buf_fini(&lines);
}

static void every_operator_takes_whatever_it_is_given(void **unused)
{
    (void)unused;
    for (const struct onnx_operator *o = onnx_operators; o->name; o++)
        check_operator(o->name, o->attributes);
}

static void every_expansion_takes_whatever_it_is_given(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof expanded / sizeof expanded[0]; i++)
        check_operator(expanded[i], " num_heads axis epsilon alpha scale unidirectional kernel_shape ");
}

/* ---- those that were once taken ---- */

static void what_has_no_output_is_refused(void **unused)
{
    (void)unused;
    check_refused("opset 17\ninput q 2 5 8\nnode com.microsoft.MultiHeadAttention q q q -> num_heads=2\n"
                  "node Relu q -> y\noutput y\n",
                  "com.microsoft.MultiHeadAttention", "it has no output");
}

static void runs_of_no_elements_are_refused(void **unused)
{
    (void)unused;
    check_refused("opset 18\ninput x 4\nconst n 2 3 0 =\nints i 1 1 = 1\nnode GatherND n i -> z\nnode Relu x -> y\n"
                  "output y\n",
                  "GatherND", "of no elements");
    check_refused("opset 18\ninput x 4\nconst n 2 3 0 =\nints i 1 2 = 1 2\nnode GatherND n i -> z\nnode Relu x -> y\n"
                  "output y\n",
                  "GatherND", "of no elements");
}

static void angles_without_rows_are_refused(void **unused)
{
    (void)unused;
    check_refused("opset 24\ninput x 1 2 3 8\nconst c = 1\nconst s = 1\nnode RotaryEmbedding x c s -> y\noutput y\n",
                  "RotaryEmbedding", "half as many");
    check_refused("opset 24\ninput x 1 2 3 8\nconst c = 1\nconst s = 1\nints p 1 3 = 0\n"
                  "node RotaryEmbedding x c s p -> y\noutput y\n",
                  "RotaryEmbedding", "half as many");
    check_refused(
        "opset 24\ninput x 1 2 3 8\nconst c 4 = 1\nconst s 4 = 1\nnode RotaryEmbedding x c s -> y\noutput y\n",
        "RotaryEmbedding", "half as many");
    check_refused("opset 24\ninput x 1 2 3 8\nnode RotaryEmbedding x -> y\noutput y\n", "RotaryEmbedding",
                  "half as many");
    check_refused("opset 24\ninput x 1 2 3 8\ninput c 1 3 4\nnode RotaryEmbedding x c -> y\noutput y\n",
                  "RotaryEmbedding", "half as many");
}

/* Named by a model, which the operator that it is made for is not: beyond the values there is nothing to read. */
static void a_part_of_a_group_query_is_one_of_three(void **unused)
{
    static const char *const parts[] = {"-1", "3", "1000"};
    char lines[256];

    (void)unused;
    for (size_t i = 0; i < 3; i++) {
        snprintf(lines, sizeof lines,
                 "opset 17\ninput x 2 3 8\nnode GroupQueryAttention/part x -> z num_heads=2 kv_num_heads=1 part=%s\n"
                 "node Relu z -> y\noutput y\n",
                 parts[i]);
        check_refused(lines, "GroupQueryAttention/part", "whole heads");
    }
    check_model("opset 17\ninput x 2 3 8\nnode GroupQueryAttention/part x -> z num_heads=2 kv_num_heads=1 part=2\n"
                "node Relu z -> y\noutput y\n");
}

/* Of each of the sizes of a window one that the weights do not have; without one it is the weights'. */
static void a_window_is_that_of_its_weights(void **unused)
{
    static const char *const volumes[] = {"3,1,3", "2,2,3", "2,1,2", "2,1", "2,1,3,1"},
                             *const images[] = {"2,3", "1,2", "1", "1,3,1"}, *const rows[] = {"2", "1,3", "0"};
    char lines[512];

    (void)unused;
    for (size_t i = 0; i < 5; i++) {
        snprintf(lines, sizeof lines,
                 "opset 13\ninput x 1 3 5 4 6\nconst w 8 3 2 1 3 = 1\nnode Conv x w -> y kernel_shape=[%s]\noutput y\n",
                 volumes[i]);
        check_refused(lines, "Conv", "a kernel_shape that is");
    }
    for (size_t i = 0; i < 4; i++) {
        snprintf(lines, sizeof lines,
                 "opset 13\ninput x 1 3 4 6\nconst w 8 3 1 3 = 1\nnode Conv x w -> y kernel_shape=[%s]\noutput y\n",
                 images[i]);
        check_refused(lines, "Conv", "a kernel_shape that is");
    }
    for (size_t i = 0; i < 3; i++) {
        snprintf(lines, sizeof lines,
                 "opset 13\ninput x 1 3 6\nconst w 8 3 3 = 1\nnode Conv x w -> y kernel_shape=[%s]\noutput y\n",
                 rows[i]);
        check_refused(lines, "Conv", "a kernel_shape that is");
    }
    check_model(
        "opset 13\ninput x 1 3 5 4 6\nconst w 8 3 2 1 3 = 1\nnode Conv x w -> y kernel_shape=[2,1,3]\noutput y\n");
}

/* ---- nodes within patterns ---- */

static void check_no_graph(const char *lines)
{
    struct onnx_import *m = NULL;
    struct why why = {""};
    struct buf text;

    buf_init(&text, MAX_MODEL);
    assert_int_equal(import_lines(lines, NULL, 0, &m, &why), ERR_OK);
    if (!onnx_import_graph(m, &text, &why))
        fail_msg("%sgave\n%s", lines, buf_text(&text));
    onnx_import_close(m);
    buf_fini(&text);
}

/* A model's nodes, one a line: whichever is refused, for an attribute that nothing knows, is told, and is part of no
 * layer that is found in them. */
static void check_each_refused(const char *head, const char *const *nodes, size_t n, const char *tail)
{
    for (size_t i = 0; i < n; i++) {
        char op[32] = "";
        struct buf lines;

        buf_init(&lines, 8192);
        buf_puts(&lines, head);
        for (size_t k = 0; k < n; k++)
            buf_printf(&lines, "node %s%s\n", nodes[k], k == i ? " odd=1" : "");
        buf_puts(&lines, tail);
        assert_int_equal(sscanf(nodes[i], "%31s", op), 1);
        check_refused(buf_text(&lines), op, "attribute odd is not known");
        check_no_graph(buf_text(&lines));
        buf_fini(&lines);
    }
}

static void refused_nodes_are_part_of_no_attention(void **unused)
{
    static const char *const nodes[] = {"Reshape x s -> xr",
                                        "Transpose xr -> q perm=[0,2,1,3]",
                                        "Reshape k s -> kr",
                                        "Transpose kr -> kt perm=[0,2,3,1]",
                                        "Reshape v s -> vr",
                                        "Transpose vr -> vh perm=[0,2,1,3]",
                                        "MatMul q kt -> l",
                                        "Div l four -> d",
                                        "Identity d -> i",
                                        "Add i mask -> a",
                                        "Cast a -> f to=1",
                                        "Softmax f -> p axis=-1",
                                        "Dropout p -> u",
                                        "MatMul u vh -> y",
                                        "Transpose y -> yt perm=[0,2,1,3]",
                                        "Reshape yt joined -> z"};

    (void)unused;
    check_each_refused("opset 17\ninput x 2 5 8\ninput k 2 3 8\ninput v 2 3 8\ninput mask 5 3\nints s 4 = 0 0 2 4\n"
                       "ints joined 3 = 0 0 8\nconst four 1 = 4\n",
                       nodes, sizeof nodes / sizeof nodes[0], "output z\n");
}

static void refused_nodes_are_part_of_no_norm(void **unused)
{
    static const char *const nodes[] = {"ReduceMean x -> m axes=[-1]",
                                        "Sub x m -> d",
                                        "Pow d two -> s",
                                        "ReduceMean s -> v axes=[-1]",
                                        "Add v e -> ve",
                                        "Sqrt ve -> r",
                                        "Div d r -> q",
                                        "Mul q f -> p",
                                        "Sum p f -> y"};

    (void)unused;
    check_each_refused("opset 17\ninput x 2 3 4\nconst two 1 = 2\nconst e 1 = 1e-6\nconst f 4 = 1 2 3 4\n", nodes,
                       sizeof nodes / sizeof nodes[0], "output y\n");
}

/* What lies between a product and its softmax as whole numbers is no attention: the fractions are lost. */
static void whole_numbers_within_are_kept(void **unused)
{
    static const char *const casts[] = {"7", "6", "9"};

    (void)unused;
    for (size_t i = 0; i < 3; i++) {
        struct onnx_import *m = NULL;
        struct why why = {""};
        struct buf text;
        char lines[512];

        buf_init(&text, MAX_MODEL);
        snprintf(lines, sizeof lines,
                 "opset 17\ninput q 2 5 4\ninput k 2 4 3\ninput v 2 3 4\nnode MatMul q k -> l\nnode Cast l -> w to=%s\n"
                 "node Cast w -> f to=1\nnode Softmax f -> p axis=-1\nnode MatMul p v -> y\noutput y\n",
                 casts[i]);
        if (import_lines(lines, NULL, 0, &m, &why) || onnx_import_graph(m, &text, &why))
            fail_msg("%s: %s", lines, why.text);
        if (strstr(buf_text(&text), "= attention ") || !strstr(buf_text(&text), "= eltwise "))
            fail_msg("%sgave\n%s", lines, buf_text(&text));
        onnx_import_close(m);
        buf_fini(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operator_takes_whatever_it_is_given),
        cmocka_unit_test(every_expansion_takes_whatever_it_is_given),
        cmocka_unit_test(what_has_no_output_is_refused),
        cmocka_unit_test(runs_of_no_elements_are_refused),
        cmocka_unit_test(angles_without_rows_are_refused),
        cmocka_unit_test(a_part_of_a_group_query_is_one_of_three),
        cmocka_unit_test(a_window_is_that_of_its_weights),
        cmocka_unit_test(refused_nodes_are_part_of_no_attention),
        cmocka_unit_test(refused_nodes_are_part_of_no_norm),
        cmocka_unit_test(whole_numbers_within_are_kept),
    };
    int failed;

    if (!folder_open("test-onnx-hostile"))
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    folder_close();
    return failed;
}
