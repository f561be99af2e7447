/* SPDX-License-Identifier: MIT */
/* Graphs of whole networks: their layers are those of the lists of layers, bad lines are refused in words. */
#include "core/buf.h"
#include "core/file.h"
#include "core/json.h"
#include "kernels/graph.h"
#include "kernels/graph_fuse.h"
#include "kernels/graph_work.h"
#include "kernels/network.h"
#include "kernels/workload.h"
#include "tests/kernels/graph_parsed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool has_weights(const struct graph_node *n)
{
    return n->op == GRAPH_CONV2D || n->op == GRAPH_DEPTHWISE || n->op == GRAPH_DENSE;
}

/* The workload of a node without its epilogue, as lists of layers have it; "" for one without weights. */
static void plain_workload(const struct graph *g, size_t i, struct buf *out)
{
    struct buf text;
    struct why why = {""};

    buf_clear(out);
    if (!has_weights(&g->nodes[i]))
        return;
    buf_init(&text, WORKLOAD_MAX_TEXT);
    if (graph_node_workload(g, i, DTYPE_F32, 0, &text, &why))
        fail_msg("%s", why.text);
    buf_append(out, buf_text(&text), (size_t)(strstr(buf_text(&text), " epilogue=") - buf_text(&text)));
    buf_fini(&text);
}

/* Each workload stands there once, with the nodes that have it; a transform counts once however often it may come. */
static void work_of_a_network_is_counted_by_workload(void **state)
{
    static const char text[] = "x = input n=2 c=16 h=8 w=8\n"
                               "a = conv2d x k=16 r=3 s=3 pad=1 relu\n"
                               "b = conv2d a k=16 r=3 s=3 pad=1 relu\n"
                               "c = conv2d b k=16 r=3 s=3 pad=1\n"
                               "d = conv2d c k=16 r=3 s=3 pad=1 relu\n";
    struct graph g = graph_parsed(text);
    struct graph_work w;
    struct why why = {""};
    int n_plain = 0, n_transforms = 0;

    (void)state;
    assert_int_equal(graph_work_init(&w, &g, DTYPE_F32, 1 | 8, &why), ERR_OK); /* nchw and nchw16c */
    for (size_t i = 0; i < w.n; i++) {
        const struct graph_work_item *item = &w.items[i];
        const bool relu = strstr(item->workload, "epilogue=bias_relu") != NULL;

        if (strncmp(item->workload, "transform", 9) == 0) {
            n_transforms++;
            assert_int_equal(item->count, 1);
            continue;
        }
        n_plain++;
        assert_int_equal(strncmp(item->workload, "conv2d f32 n=2 c=16 h=8 w=8 k=16 r=3 s=3 pad=1", 46), 0);
        assert_int_equal(item->count, relu ? 3 : 1);
        assert_string_equal(item->name, relu ? "a" : "c");
    }
    assert_int_equal(n_plain, 4);      /* with and without relu in two layouts */
    assert_int_equal(n_transforms, 2); /* there and back */
    graph_work_fini(&w);
    graph_fini(&g);
}

/* Nodes that have none of the layouts asked for are in nchw alone. */
static void nodes_without_the_layouts_asked_for_are_plain(void **state)
{
    struct graph g = graph_parsed("x = input c=4 h=8 w=8\na = conv2d x k=4 r=3 s=3 pad=1\n");
    struct graph_work w;

    (void)state;
    assert_int_equal(graph_work_init(&w, &g, DTYPE_F32, 8, NULL), ERR_OK); /* nchw16c */
    assert_int_equal(w.n, 1);
    assert_string_equal(w.items[0].workload, "conv2d f32 n=1 c=4 h=8 w=8 k=4 r=3 s=3 pad=1 epilogue=bias");
    graph_work_fini(&w);
    graph_fini(&g);
}

static void layouts_are_named_one_by_one(void **state)
{
    static const struct {
        const char *list;
        unsigned bits;
    } cases[] = {{NULL, 31}, {"nchw", 1}, {"nchw16c", 8}, {"nchw,nchw8c", 5}, {"nchw4c,nchw", 3}, {"nchw4c,", 2},
                 {"", 0},    {"nch", 0},  {"nhwc", 16},   {"nchw4", 0},       {"nchw,,nchw4c", 0}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        unsigned bits = 0;
        const enum err e = graph_layouts_named(cases[i].list, &bits, NULL);

        assert_int_equal(e, cases[i].bits ? ERR_OK : ERR_INPUT);
        assert_int_equal(bits, cases[i].bits);
    }
}

/* Sizes of a dense layer behind an image, of windows with steps and pads, of a shortcut in both types. */
static void nodes_have_the_workloads_of_their_sizes(void **state)
{
    static const char text[] = "x = input n=3 c=4 h=9 w=7\n"
                               "a = conv2d x k=8 r=3 s=2 stride=2 pad=1 relu\n" /* 8 x 5 x 4 */
                               "b = conv2d a + a k=8 r=1 s=1 relu\n"
                               "p = pool2d b avg r=2 s=3\n" /* 8 x 4 x 2 */
                               "d = dense p n=10\n"
                               "s = softmax d\n";
    static const struct {
        int node;
        enum dtype t;
        const char *workload;
    } cases[] = {
        {1, DTYPE_F32, "conv2d f32 n=3 c=4 h=9 w=7 k=8 r=3 s=2 stride=2 pad=1 epilogue=bias_relu"},
        {2, DTYPE_F32, "conv2d f32 n=3 c=8 h=5 w=4 k=8 r=1 s=1 epilogue=bias_add_relu"},
        {2, DTYPE_I8, "conv2d i8 n=3 c=8 h=5 w=4 k=8 r=1 s=1 epilogue=bias_requant_add_relu"},
        {2, DTYPE_U8, "conv2d u8 n=3 c=8 h=5 w=4 k=8 r=1 s=1 epilogue=bias_requant_add_relu"},
        {3, DTYPE_F32, "pool2d f32 n=3 c=8 h=5 w=4 r=2 s=3 kind=avg"},
        {4, DTYPE_F32, "dense f32 m=3 n=10 k=64 epilogue=bias"},
        {4, DTYPE_I8, "dense i8 m=3 n=10 k=64 epilogue=bias"}, /* its sums go to softmax */
        {5, DTYPE_F32, "softmax f32 m=3 n=10"},
        {5, DTYPE_U8, "softmax i8 m=3 n=10"}, /* its input are sums, whatever the bytes */
    };
    struct graph g = graph_parsed(text);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf out;
        struct why why = {""};

        buf_init(&out, WORKLOAD_MAX_TEXT);
        if (graph_node_workload(&g, (size_t)cases[i].node, cases[i].t, 0, &out, &why))
            fail_msg("%s", why.text);
        assert_string_equal(buf_text(&out), cases[i].workload);
        buf_fini(&out);
    }
    graph_fini(&g);
}

/* Bytes between quantize and quantize back in a network of floats: each layer requantises, also the last one. */
static void layers_of_bytes_have_workloads_of_u8(void **state)
{
    static const char text[] = "x = input c=4 h=6 w=5\n"
                               "q = quantize x u8\n"
                               "a = conv2d q k=4 r=1 s=1 relu u8\n"
                               "b = add q + a u8\n"
                               "p = pool2d b max r=2 s=2 u8\n"
                               "f = reshape p shape=1,80 u8\n"
                               "d = dense f n=3 u8\n"
                               "y = quantize d\n";
    static const char *const workloads[] = {NULL,
                                            "quantize u8 n=120",
                                            "conv2d u8 n=1 c=4 h=6 w=5 k=4 r=1 s=1 epilogue=bias_relu_requant",
                                            "add u8 n=1 c=4 h=6 w=5",
                                            "pool2d u8 n=1 c=4 h=6 w=5 r=2 s=2",
                                            NULL,
                                            "dense u8 m=1 n=3 k=80 epilogue=bias_requant",
                                            "quantize u8 n=3 back=1"};
    struct graph g = graph_parsed(text);
    struct buf out;
    struct why why = {""};

    (void)state;
    for (size_t i = 0; i < g.n_nodes; i++) {
        if (!workloads[i])
            continue;
        buf_init(&out, WORKLOAD_MAX_TEXT);
        assert_int_equal(graph_node_workload(&g, i, DTYPE_F32, 0, &out, &why), ERR_OK);
        assert_string_equal(buf_text(&out), workloads[i]);
        buf_fini(&out);
    }
    assert_int_equal(graph_dtype(&g, 2, DTYPE_F32), DTYPE_U8);
    assert_int_equal(graph_dtype(&g, 7, DTYPE_F32), DTYPE_F32);
    buf_init(&out, 4096);
    assert_int_equal(graph_text(&g, &out), ERR_OK);
    assert_string_equal(buf_text(&out), text);
    buf_clear(&out);
    assert_int_equal(graph_node_workload(&g, 1, DTYPE_F16, 0, &out, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "floats of 32 bits"));
    buf_fini(&out);
    graph_fini(&g);
}

/* Floats and bytes do not meet but in quantize. */
static void bytes_are_made_and_read_by_quantize_alone(void **state)
{
    static const char *const wrong[] = {
        "x = input c=4 h=6 w=5\na = conv2d x k=4 r=1 s=1 u8\n",
        "x = input c=4 h=6 w=5\nq = quantize x u8\na = conv2d q k=4 r=1 s=1\n",
        "x = input c=4 h=6 w=5\nq = quantize x u8\na = quantize q u8\n",
        "x = input c=4 h=6 w=5\nq = quantize x u8\na = add q + x u8\n",
        "x = input c=4 h=6 w=5\nq = quantize x u8\na = conv2d q k=4 r=1 s=1 relu6 u8\n"};

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct why why = {""};
        struct graph g;

        assert_int_equal(graph_parse("wrong", wrong[i], strlen(wrong[i]), &g, &why), ERR_INPUT);
        assert_non_null(strstr(why.text, i < 4 ? "only quantize reads floats" : "no activation but relu"));
    }
}

/* Steps and pads of each axis and side; by hand: rows (9 + 0 + 2 - 5) / 2 + 1, columns (7 + 1 + 0 - 3) / 1 + 1. */
static void a_window_has_pads_steps_and_groups_of_its_own(void **state)
{
    static const char lines[] = "x = input n=2 c=4 h=9 w=7\n"
                                "a = conv2d x k=8 r=3 s=3 stride=2,1 pad=0,1,2,0 dilation=2,1 groups=4 relu6\n"
                                "p = pool2d a max r=2 s=2 pad=0,0,1,1\n"
                                "d = depthwise_conv2d p r=3 s=1 pad=1,0 relu\n"
                                "b = add d + a relu\n"
                                "g = pool2d b avg global\n"
                                "f = dense g n=5\n"
                                "e = dense4 f + f n=5 block=16 zeros=1 swish\n"
                                "s = softmax e\n";
    static const char *const workloads[] = {
        "conv2d f32 n=2 c=4 h=9 w=7 k=8 r=3 s=3 stride=2,1 pad=0,1,2,0 dilation=2,1 groups=4 epilogue=bias_relu6",
        "pool2d f32 n=2 c=8 h=4 w=6 r=2 s=2 pad=0,0,1,1",
        "depthwise_conv2d f32 n=2 c=8 h=4 w=6 r=3 s=1 pad=1,0 epilogue=bias_relu",
        "add f32 n=2 c=8 h=4 w=6 relu=1",
        "pool2d f32 n=2 c=8 h=4 w=6 r=4 s=6 kind=avg",
        "dense f32 m=2 n=5 k=8 epilogue=bias",
        "dense4 f32 m=2 n=5 k=5 block=16 zeros=1 epilogue=bias_add_swish",
        "softmax f32 m=2 n=5"};
    struct graph g = graph_parsed(lines), again;
    struct buf text;

    (void)state;
    for (size_t i = 0; i < sizeof workloads / sizeof workloads[0]; i++) {
        struct why why = {""};

        buf_init(&text, WORKLOAD_MAX_TEXT);
        if (graph_node_workload(&g, i + 1, DTYPE_F32, 0, &text, &why))
            fail_msg("%s", why.text);
        assert_string_equal(buf_text(&text), workloads[i]);
        buf_fini(&text);
    }
    buf_init(&text, GRAPH_MAX_BYTES);
    assert_int_equal(graph_text(&g, &text), ERR_OK);
    assert_string_equal(buf_text(&text), lines);
    again = graph_parsed(buf_text(&text));
    assert_int_equal(again.n_nodes, g.n_nodes);
    graph_fini(&again);
    buf_fini(&text);
    graph_fini(&g);
}

/* 6 means nothing among int8 sums, two tensors have two scales. */
static void what_int8_networks_have_not_is_refused_in_words(void **state)
{
    static const char *const facts[][2] = {
        {"x = input c=4 h=4 w=4\ny = conv2d x k=4 r=1 s=1 relu6\n", "relu6"},
        {"x = input c=4 h=4 w=4\ny = conv2d x k=4 r=1 s=1\nz = concat x + y\n", "concat"},
        {"x = input shape=1,4,4\ny = batch_gemm x + x\n", "batch_gemm gives sums"},
        {"x = input c=4 h=4 w=4\ny = pool2d x avg global\nz = softmax y\n", "takes the sums of a dense layer"},
        {"x = input c=4 h=4 w=4\ny = dense x n=4 relu\nz = softmax y\n", "without relu"},
        {"x = input c=4 h=4 w=4\ny = dense x n=4\nz = softmax y\nq = dense z n=4\n", "nothing but softmax may read"},
        {"x = input c=4 h=4 w=4\ny = dense x n=4\nq = dense y n=4\nz = softmax y\noutput q z\n",
         "nothing but softmax may read the sums of y"}};

    (void)state;
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        struct graph g = graph_parsed(facts[i][0]);
        struct graph_work w;
        struct why why = {""};

        assert_int_equal(graph_work_init(&w, &g, DTYPE_F32, 15, &why), ERR_OK);
        graph_work_fini(&w);
        assert_int_equal(graph_work_init(&w, &g, DTYPE_I8, 15, &why), ERR_INPUT);
        if (!strstr(why.text, facts[i][1]))
            fail_msg("'%s', expected '%s'", why.text, facts[i][1]);
        graph_fini(&g);
    }
}

static void the_layers_of_a_graph_are_those_of_its_list(void **state)
{
    struct buf text;
    size_t n_graphs = 0;

    (void)state;
    buf_init(&text, WORKLOAD_MAX_TEXT);
    for (const char *const *name = graph_names(); *name; name++, n_graphs++) {
        const struct graph *g;
        const struct network *net;
        size_t n_layers = 0, n_listed = 0;

        assert_int_equal(graph_find(*name, &g, NULL), ERR_OK);
        assert_int_equal(network_find(*name, &net, NULL), ERR_OK);
        for (size_t k = 0; k < net->n_layers; k++) {
            const struct network_layer *l = &net->layers[k];
            int count = 0;

            assert_true(graph_node_find(g, l->name) > 0);
            for (size_t i = 1; i < g->n_nodes; i++) {
                plain_workload(g, i, &text);
                count += strcmp(buf_text(&text), l->workload) == 0;
            }
            if (count != l->count)
                fail_msg("%s: %s stands %d times in the graph, %d times in the list", *name, l->workload, count,
                         l->count);
            plain_workload(g, (size_t)graph_node_find(g, l->name), &text);
            assert_string_equal(buf_text(&text), l->workload);
            n_listed += (size_t)l->count;
        }
        for (size_t i = 0; i < g->n_nodes; i++)
            n_layers += has_weights(&g->nodes[i]);
        assert_int_equal(n_layers, n_listed);
    }
    assert_int_equal(n_graphs, 4);
    buf_fini(&text);
}

/* Every name of the outside lists is a node of the same size. */
static void check_names(const struct graph *g, const cJSON *layer)
{
    const cJSON *name, *names = cJSON_GetObjectItem(layer, "names");
    const bool dense = strcmp(cJSON_GetObjectItem(layer, "op")->valuestring, "dense") == 0;

    cJSON_ArrayForEach(name, names)
    {
        const int i = graph_node_find(g, name->valuestring);
        const struct graph_node *n = i > 0 ? &g->nodes[i] : NULL;

        if (!n)
            fail_msg("%s has no layer %s", g->name, name->valuestring);
        assert_int_equal(n->shape.dim[1], cJSON_GetObjectItem(layer, dense ? "O" : "K")->valueint);
        if (dense)
            continue;
        assert_int_equal(n->key[GRAPH_R], cJSON_GetObjectItem(layer, "R")->valueint);
        assert_int_equal(n->shape.dim[2], cJSON_GetObjectItem(layer, "P")->valueint);
        assert_int_equal(g->nodes[n->in[0]].shape.dim[1], cJSON_GetObjectItem(layer, "C")->valueint);
        assert_int_equal(g->nodes[n->in[0]].shape.dim[2], cJSON_GetObjectItem(layer, "H")->valueint);
    }
}

static void every_name_of_the_outside_lists_is_a_layer(void **state)
{
    const char *data = getenv("TUNE_TEST_DATA");

    (void)state;
    if (!data || !*data) {
        printf("skipped: TUNE_TEST_DATA names no directory with workloads/*.json\n");
        return;
    }
    for (const char *const *name = graph_names(); *name; name++) {
        const struct graph *g;
        char path[4096];
        struct buf text;
        cJSON *theirs = NULL, *layer;
        int n = 0;

        buf_init(&text, (size_t)1 << 20);
        snprintf(path, sizeof path, "%s/workloads/%s.json", data, *name);
        assert_int_equal(graph_find(*name, &g, NULL), ERR_OK);
        assert_int_equal(file_read(path, &text, NULL), ERR_OK);
        assert_int_equal(json_parse(buf_text(&text), text.len, &theirs, NULL), ERR_OK);
        cJSON_ArrayForEach(layer, cJSON_GetObjectItem(theirs, "layers"))
        {
            check_names(g, layer);
            n++;
        }
        assert_true(n > 10);
        cJSON_Delete(theirs);
        buf_fini(&text);
    }
}

static void refused_in_words(const char *const facts[][2], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct graph g = {.n_nodes = 77};
        struct why why = {""};
        const enum err e = graph_parse("bad", facts[i][0], strlen(facts[i][0]), &g, &why);

        if (e == ERR_OK || !strstr(why.text, facts[i][1]) || g.n_nodes != 77)
            fail_msg("%s gave %d, '%s'; expected '%s'", facts[i][0], (int)e, why.text, facts[i][1]);
    }
}

static void bad_shapes_are_refused_in_words(void **state)
{
    static const char *const facts[][2] = {
        {"x = input c=3 h=8 w=8 shape=3\ny = softmax x\n", "one of them"},
        {"x = input shape=3,2 c=1\ny = softmax x\n", "one of them"},
        {"x = input shape=3,0\ny = softmax x\n", "a tensor of 3 x 0: expected 1 to 2147483647 elements"},
        {"x = input shape=\ny = softmax x\n", "expected a number"},
        {"x = input shape=3,\ny = softmax x\n", "expected a number"},
        {"x = input shape=3 shape=3\ny = softmax x\n", "shape stands twice"},
        {"x = input shape=1,1,1,1,1,1,1,1,1\ny = softmax x\n", "at most 8 dimensions"},
        {"x = input shape=65536,65536\ny = softmax x\n", "expected 1 to 2147483647 elements"},
        {"x = input shape=16777216,16777216,16777216,16777216\ny = softmax x\n", "expected 1 to"},
        {"x = input shape=2,1,4,8\nm = input shape=2\ny = attention x + x + x + m mask="
         "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\n",
         "attention adds a tensor of the axes that mask= names"},
        {"x = input shape=4\ny = softmax x\n", "softmax reads rows"},
        {"x = input shape=4\ny = dense x n=3\n", "dense reads rows"},
        {"x = input shape=4,4,4\ny = conv2d x k=3 r=1 s=1\n", "conv2d reads images, of 4 dimensions, not 4 x 4 x 4"},
        {"x = input shape=4,4\ny = pool2d x max global\n", "pool2d reads images"},
        {"x = input shape=4,4\ny = reshape x\n", "reshape needs shape="},
        {"x = input shape=4,4\ny = reshape x shape=3,5\n", "4 x 4 cannot be reshaped to 3 x 5"},
        {"x = input shape=4,4\ny = reshape x c=4\n", "does not take 'c='"},
        {"x = input shape=4,4\ny = softmax x shape=4,4\n", "does not take 'shape='"},
        {"x = input shape=4,4\ny = reshape x shape=2,8\nz = add x + y\n", "2 x 8 cannot be added to 4 x 4"},
        {"x = input shape=1,4,5\ny = input shape=1,5,4\nz = batch_gemm x + y\n", "not 1 x 4 x 5 by 1 x 5 x 4"},
        {"x = input shape=4,5\nz = batch_gemm x + x\n", "multiplies b x m x k by b x n x k, not 4 x 5"},
        {"x = input shape=4,4\ny = strided_copy x d0=16,1\n", "strided_copy needs shape="},
        {"x = input shape=4,4\ny = strided_copy x shape=4,4\n", "line 2: y of bad: strided_copy: d0 is missing"},
        {"x = input shape=4,4\ny = strided_copy x shape=4,4 d0=17,1\n", "elements 0 to 16 of x, which has 16"},
        {"x = input shape=4,4\ny = strided_copy x shape=4,4 d0=15,1\n", "gives 15 elements, its shape has 16"},
        {"x = input shape=4,4\ny = strided_copy x shape=4,4 d0=16,1 x=16\n", "x is given twice"},
        {"x = input shape=4,4\ny = strided_copy x shape=4,4 turned\n", "no key in \"turned\""},
        {"x = input c=4 h=3 w=3\ny = resize2d x step=1\n", "resize2d needs shape="},
        {"x = input c=4 h=3 w=3\ny = resize2d x shape=1,5,6,6 step=1\n",
         "as many channels, of 4 dimensions, not 1 x 5 x 6 x 6"},
        {"x = input shape=4,4\ny = resize2d x shape=4,8 step=1\n", "not 4 x 8 of 4 x 4"},
        {"x = input c=4 h=3 w=3\ny = resize2d x shape=1,4,6,6\n", "step is missing"},
        {"x = input shape=4,4\noutput z\n", "expected a tensor of an earlier line, not 'z'"},
        {"x = input shape=4,4\noutput x\noutput x\n", "output x stands twice"},
        {"x = input c=3 h=8\n", "input needs w=, or shape= alone"},
    };

    (void)state;
    refused_in_words(facts, sizeof facts / sizeof facts[0]);
}

static void bad_lines_are_refused_in_words(void **state)
{
    static const char *const facts[][2] = {
        {"", "expected an input"},
        {"x = input c=3 h=8 w=8\n", "at least one operator"},
        {"y = conv2d x k=8 r=3 s=3\n", "line 1: expected a tensor of an earlier line"},
        {"x = input c=3 h=8 w=8\nz = input c=3 h=8 w=8\n", "at least one operator"},
        {"x = input c=0 h=8 w=8\n", "expected 1 to"},
        {"x = input c=3 h=0 w=8\n", "a tensor of 1 x 3 x 0 x 8"},
        {"x = input n=0 c=3 h=8 w=8\n", "a tensor of 0 x 3"},
        {"x = input c=3 h=8 w=8\nx = softmax x\n", "there is a tensor x already"},
        {"x = input c=3 h=8 w=8\ny = conv3d x k=8\n", "unknown operator 'conv3d'"},
        {"x = input c=3 h=8 w=8\ny = conv2d z k=8 r=3 s=3\n", "expected a tensor of an earlier line, not 'z'"},
        {"x = input c=3 h=8 w=8\ny = conv2d y k=8 r=3 s=3\n", "not 'y'"},
        {"x = input c=3 h=8 w=8\ny = conv2d\n", "not 'nothing'"},
        {"x = input c=3 h=8 w=8\ny = conv2d x +\n", "not 'nothing'"},
        {"x = input c=3 h=8 w=8\ny = conv2d x k=8 r=3\n", "conv2d needs s="},
        {"x = input c=3 h=8 w=8\ny = conv2d x k=8 k=8 r=3 s=3\n", "k stands twice"},
        {"x = input c=3 h=8 w=8\ny = conv2d x k=-8 r=3 s=3\n", "expected a number"},
        {"x = input c=3 h=8 w=8\ny = conv2d x k=8e3 r=3 s=3\n", "expected a number"},
        {"x = input c=3 h=8 w=8\ny = conv2d x k=99999999999999999999 r=3 s=3\n", "expected a number"},
        {"x = input c=3 h=8 w=8\ny = conv2d x k=16777217 r=3 s=3\n", "expected a number from 0 to 16777216"},
        {"x = input c=3 h=8 w=8\ny = conv2d x k=8 r=3 s=3 n=4\n", "does not take 'n='"},
        {"x = input c=3 h=8 w=8\ny = conv2d x k=8 r=3 s=3 tanh\n", "does not take 'tanh'"},
        {"x = input c=3 h=8 w=8\ny = conv2d x k=8 r=9 s=9\n", "does not fit 8 x 8"},
        {"x = input c=3 h=8 w=8\ny = conv2d x k=8 r=3 s=3 stride=0\n", "does not fit"},
        {"x = input c=3 h=8 w=8\ny = conv2d x k=8 r=0 s=3\n", "does not fit"},
        {"x = input c=3 h=8 w=8\ny = conv2d x + x k=8 r=3 s=3\n", "cannot be added"},
        {"x = input c=3 h=8 w=8\ny = depthwise_conv2d x + x r=3 s=3\n", "does not take '+'"},
        {"x = input c=3 h=8 w=8\ny = conv2d x k=8 r=3 s=3 stride=1,2,3\n", "expected one number or two of stride="},
        {"x = input c=3 h=8 w=8\ny = conv2d x k=8 r=3 s=3 pad=1,2,3\n", "expected one number, two or four of pad="},
        {"x = input c=3 h=8 w=8\ny = conv2d x k=8 r=3 s=3 pad=1,2,3,4,5\n", "one number, two or four"},
        {"x = input c=3 h=8 w=8\ny = conv2d x k=8 r=3 s=3 pad=1,\n", "expected a number"},
        {"x = input c=3 h=8 w=8\ny = conv2d x k=8,8 r=3 s=3\n", "expected one number of k="},
        {"x = input c=3 h=8 w=8\ny = conv2d x k=8 r=3 s=3 dilation=4\n", "does not fit 8 x 8"},
        {"x = input c=3 h=8 w=8\ny = conv2d x k=8 r=3 s=3 dilation=0\n", "does not fit"},
        {"x = input c=3 h=8 w=8\ny = conv2d x k=8 r=3 s=3 groups=2\n", "groups=2 do not divide 3 and 8"},
        {"x = input c=4 h=8 w=8\ny = conv2d x k=6 r=3 s=3 groups=4\n", "groups=4 do not divide 4 and 6"},
        {"x = input c=4 h=8 w=8\ny = conv2d x k=6 r=3 s=3 groups=0\n", "groups=0 do not divide"},
        {"x = input c=4 h=8 w=8\ny = conv2d x k=6 r=3 s=3 relu relu6\n", "relu or relu6 or another activation"},
        {"x = input c=4 h=8 w=8\ny = dense x k=6\n", "does not take 'k='"},
        {"x = input c=4 h=8 w=8\ny = add x\n", "add needs two tensors"},
        {"x = input c=4 h=8 w=8\ny = concat x\n", "concat needs two tensors"},
        {"x = input c=4 h=8 w=8\np = pool2d x max r=2 s=1\ny = concat x + p\n", "cannot be added"},
        {"x = input c=16777216 h=8 w=8\ny = concat x + x\n", "expected 1 to 2147483647 elements"},
        {"x = input c=4 h=8 w=8\ny = add x + x relu6\n", "does not take 'relu6'"},
        {"x = input c=3 h=8 w=8\ny = pool2d x r=3 s=3\n", "max or avg"},
        {"x = input c=3 h=8 w=8\ny = pool2d x max avg r=3 s=3\n", "max or avg"},
        {"x = input c=3 h=8 w=8\ny = pool2d x max r=3\n", "r= and s="},
        {"x = input c=3 h=8 w=8\ny = pool2d x max global r=3 s=3\n", "global alone"},
        {"x = input c=3 h=8 w=8\ny = dense x n=4\nz = softmax y\nq = dense y n=4\n", "nobody reads z"},
        {"x = input c=3 h=8 w=8\ny = dense x n=4\nq = dense y n=4\nz = softmax y\n", "nobody reads q"},
        {"x = input c=3 h=8 w=8\ny = conv2d x k=3 r=1 s=1\nz = conv2d x k=3 r=1 s=1\n", "nobody reads y"},
        {"x = input c=3 h=8 w=8\nc = constant shape=3,1,1\ny = add x + c\n", "add does not read constants"},
        {"x = input c=3 h=8 w=8\nc = constant\ny = eltwise x + c f=add(a,b)\n", "constant needs shape="},
        {"x = input c=3 h=8 w=8\nc = constant shape=0\ny = eltwise x + c f=add(a,b)\n", "expected 1 to"},
        {"x = input c=3 h=8 w=8\nc = constant shape=3,1,1\n", "at least one operator"},
        {"x = input c=3 h=8 w=8\nc = constant shape=3\ny = softmax x\n", "nobody reads c"},
        {"x = input c=3 h=8 w=8\nc = constant shape=3\ny = softmax x\noutput y c\n", "output c is a constant"},
        {"x = input c=3 h=8 w=8\ny = gather x + x\n", "gather reads tables, of 3 dimensions, not 1 x 3 x 8 x 8"},
        {"x = input shape=1,3,8\nc = constant shape=2\ny = gather x + c\n", "gather does not read constants there"},
        {"x y input\n", "expected name = operator"},
        {"9x = input c=3 h=8 w=8\n", "is no name"},
        {"x-y = input c=3 h=8 w=8\n", "is no name"},
        {"a123456789012345678901234567890123456789 = input c=3 h=8 w=8\n", "at most 39"},
        {"x = input a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a "
         "a a a a a a a a a a a a a a\n",
         "more than 64 words"},
    };

    (void)state;
    refused_in_words(facts, sizeof facts / sizeof facts[0]);
}

static void long_input_is_refused(void **state)
{
    char *text = malloc(GRAPH_MAX_BYTES + 1);
    struct buf many;
    struct graph g;
    struct why why = {""};

    (void)state;
    memset(text, '#', GRAPH_MAX_BYTES + 1);
    assert_int_equal(graph_parse("long", text, GRAPH_MAX_BYTES + 1, &g, &why), ERR_LIMIT);
    assert_int_equal(graph_parse("long", text, 1100, &g, &why), ERR_LIMIT);
    assert_non_null(strstr(why.text, "line 1: longer than"));
    assert_int_equal(graph_parse("zero", "x = input\0 c=3", 14, &g, &why), ERR_INPUT);
    buf_init(&many, GRAPH_MAX_BYTES);
    buf_puts(&many, "t0 = input c=4 h=4 w=4\n");
    for (int i = 1; i <= GRAPH_MAX_NODES; i++)
        buf_printf(&many, "t%d = pool2d t%d max r=1 s=1\n", i, i - 1);
    assert_int_equal(graph_parse("many", buf_text(&many), many.len, &g, &why), ERR_LIMIT);
    assert_non_null(strstr(why.text, "more than 4096 tensors"));
    buf_fini(&many);
    free(text);
}

/* What the inputs' broadcasting makes of shapes: equal stretches are one size; blocks of channels where all inputs have
 * them, or no channels. */
static void element_wise_chains_are_broadcast_in_any_layout(void **state)
{
    static const struct {
        const char *text;
        unsigned layouts; /* of the last node */
        int layout;
        const char *workload;
    } facts[] = {
        {"x = input n=2 c=32 h=3 w=5\ny = eltwise x f=relu(a)\n", 31, 3, "eltwise f32 y=960 f=relu(a)"},
        {"x = input c=32 h=3 w=5\ns = input c=32 h=1 w=1\ny = eltwise x + s f=mul(a,b)\n", 31, 0,
         "eltwise f32 y=32x15 b=32x1 f=mul(a,b)"},
        {"x = input c=32 h=3 w=5\ns = input c=32 h=1 w=1\ny = eltwise x + s f=mul(a,b)\n", 31, 2,
         "eltwise f32 y=4x15x8 b=4x1x8 f=mul(a,b)"},
        {"x = input n=2 c=32 h=3 w=5\ns = input shape=32,1,1\nt = input shape=5\ny = eltwise x + s + t "
         "f=add(mul(a,b),c)\n",
         31, 3, "eltwise f32 y=2x2x3x5x16 b=1x2x1x1x16 c=1x1x1x5x1 f=add(mul(a,b),c)"},
        {"x = input n=2 c=30 h=3 w=5\ns = input n=2 c=30 h=1 w=1\ny = eltwise x + s f=mul(a,b)\n", 17, 4,
         "eltwise f32 y=2x15x30 b=2x1x30 f=mul(a,b)"},
        {"x = input c=8 h=3 w=5\ns = input shape=8,3,5\ny = eltwise x + s f=add(a,b)\n", 1, 0,
         "eltwise f32 y=120 f=add(a,b)"},
        {"x = input c=8 h=3 w=5\ns = input c=1 h=3 w=5\ny = eltwise x + s f=add(a,b)\n", 23, 1,
         "eltwise f32 y=2x15x4 b=1x15x1 f=add(a,b)"},
        {"x = input shape=2,1,3\ns = input shape=4,1\ny = eltwise x + s f=add(a,b)\n", 1, 0,
         "eltwise f32 y=2x4x3 a=2x1x3 b=1x4x1 f=add(a,b)"},
        {"x = input shape=1,1\ny = eltwise x f=exp(a)\n", 1, 0, "eltwise f32 y=1 f=exp(a)"},
        {"x = input shape=2,7,3\ny = reduce x kind=mean\n", 1, 0, "reduce f32 outer=2 n=7 inner=3 kind=mean"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        struct graph g;
        struct why why = {""};
        struct buf text, again;

        buf_init(&text, 4096);
        buf_init(&again, 4096);
        if (graph_parse("g", facts[i].text, strlen(facts[i].text), &g, &why))
            fail_msg("%s: %s", facts[i].text, why.text);
        assert_int_equal(graph_node_layouts(&g, g.n_nodes - 1, DTYPE_F32), facts[i].layouts);
        assert_int_equal(graph_node_workload(&g, g.n_nodes - 1, DTYPE_F32, facts[i].layout, &text, &why), ERR_OK);
        assert_string_equal(buf_text(&text), facts[i].workload);
        assert_int_equal(graph_text(&g, &again), ERR_OK);
        assert_string_equal(buf_text(&again), facts[i].text);
        graph_fini(&g);
        buf_fini(&text);
        buf_fini(&again);
    }
}

static void bad_chains_in_graphs_are_refused_with_words(void **state)
{
    static const char *const facts[][2] = {
        {"y = eltwise x f=add(a,b)\n", "1 tensors, but f has 2 inputs"},
        {"y = eltwise x\n", "f is missing"},
        {"y = eltwise x f=foo(a)\n", "line 2"},
        {"z = input shape=7\ny = eltwise x + z f=add(a,b)\n", "expected sizes that are equal or 1"},
        {"y = eltwise x + x + x + x + x f=add(a,b)\n", "eltwise: no key in \"+\""},
        {"y = reduce x kind=sum\n", "3 dimensions"},
        {"z = reshape x shape=4,3,5\ny = reduce z kind=mode\n", "expected one of sum, mean"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        struct graph g;
        struct why why = {""};
        char text[300];

        snprintf(text, sizeof text, "x = input c=4 h=3 w=5\n%s", facts[i][0]);
        if (graph_parse("g", text, strlen(text), &g, &why) == ERR_OK || !strstr(why.text, facts[i][1]))
            fail_msg("%s: '%s', expected '%s'", text, why.text, facts[i][1]);
    }
}

static void parse(const char *text, struct graph *g)
{
    struct why why = {""};

    if (graph_parse("g", text, strlen(text), g, &why))
        fail_msg("%s", why.text);
}

static void activations_behind_sums_are_fused_where_nobody_else_reads(void **state)
{
    static const struct {
        const char *text;
        size_t reader; /* of node 1; 0: none */
    } facts[] = {
        {"a = conv2d x k=4 r=1 s=1\nb = eltwise a f=hard_swish(a)\nc = conv2d b k=4 r=1 s=1\n", 2},
        {"a = depthwise_conv2d x r=1 s=1\nb = eltwise a f=mul(a,sigmoid(a))\nc = conv2d b k=4 r=1 s=1\n", 2},
        {"a = dense x n=4\nb = eltwise a f=hard_sigmoid(a,0.16666667,0.5)\nc = dense b n=3\n", 2},
        {"a = conv2d x k=4 r=1 s=1\nb = eltwise a f=sigmoid(a)\n", 0},                               /* the output */
        {"a = conv2d x k=4 r=1 s=1\nb = eltwise a f=sigmoid(a)\nc = eltwise a + b f=mul(a,b)\n", 0}, /* two read it */
        {"a = conv2d x k=4 r=1 s=1\nb = eltwise a f=sigmoid(a)\nc = conv2d b k=4 r=1 s=1\noutput a c\n", 0},
        {"a = conv2d x k=4 r=1 s=1 relu\nb = eltwise a f=sigmoid(a)\nc = conv2d b k=4 r=1 s=1\n", 0},
        {"a = conv2d x k=4 r=1 s=1 relu6\nb = eltwise a f=sigmoid(a)\nc = conv2d b k=4 r=1 s=1\n", 0},
        {"a = conv2d x k=4 r=1 s=1 swish\nb = eltwise a f=sigmoid(a)\nc = conv2d b k=4 r=1 s=1\n", 0},
        {"a = depthwise_conv2d x r=1 s=1 relu6\nb = eltwise a f=hard_swish(a)\nc = conv2d b k=4 r=1 s=1\n", 0},
        {"a = dense x n=4 relu6\nb = eltwise a f=sigmoid(a)\nc = dense b n=3\n", 0},
        {"a = pool2d x max r=1 s=1\nb = eltwise a f=sigmoid(a)\nc = conv2d b k=4 r=1 s=1\n", 0},
        {"a = conv2d x k=4 r=1 s=1\nb = eltwise a f=hard_sigmoid(a,0.2,0.5)\nc = conv2d b k=4 r=1 s=1\n", 0},
        {"a = conv2d x k=4 r=1 s=1\nb = eltwise a + x f=mul(a,sigmoid(b))\nc = conv2d b k=4 r=1 s=1\n", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        struct graph g;
        size_t with[4];
        char text[300];

        snprintf(text, sizeof text, "x = input c=4 h=3 w=5\n%s", facts[i].text);
        parse(text, &g);
        assert_true(g.n_nodes <= sizeof with / sizeof with[0]);
        graph_fusions(&g, DTYPE_F32, with);
        if (with[1] != facts[i].reader)
            fail_msg("%s: fuses %zu, expected %zu", text, with[1], facts[i].reader);
        graph_fusions(&g, DTYPE_I8, with);
        assert_int_equal(with[1], 0);
        graph_fini(&g);
    }
}

static const char curved_text[] = "x = input c=4 h=3 w=5\n"
                                  "a = conv2d x k=4 r=1 s=1\n"
                                  "b = eltwise a f=hard_swish(a)\n"
                                  "c = depthwise_conv2d b r=3 s=3 pad=1\n"
                                  "d = eltwise c f=swish(a)\n"
                                  "e = conv2d d + b k=4 r=1 s=1\n"
                                  "f = eltwise e f=sigmoid(a)\n";

static void a_fused_graph_keeps_names_and_order(void **state)
{
    const size_t with[7] = {0, 0, 0, 4, 0, 0, 0};
    struct graph g, half, all;
    struct buf text;
    int at[7];

    (void)state;
    buf_init(&text, 1000);
    parse(curved_text, &g);
    assert_int_equal(graph_fuse(&g, with, &half, at), ERR_OK);
    assert_memory_equal(at, ((const int[]){0, 1, 2, 3, 3, 4, 5}), sizeof at);
    assert_int_equal(graph_text(&half, &text), ERR_OK);
    assert_string_equal(buf_text(&text), "x = input c=4 h=3 w=5\n"
                                         "a = conv2d x k=4 r=1 s=1\n"
                                         "b = eltwise a f=hard_swish(a)\n"
                                         "c = depthwise_conv2d b r=3 s=3 pad=1 swish\n"
                                         "e = conv2d c + b k=4 r=1 s=1\n"
                                         "f = eltwise e f=sigmoid(a)\n");
    assert_int_equal(graph_fuse_all(&g, DTYPE_F32, &all, NULL), ERR_OK);
    buf_clear(&text);
    assert_int_equal(graph_text(&all, &text), ERR_OK);
    assert_non_null(strstr(buf_text(&text), "a = conv2d x k=4 r=1 s=1 hard_swish\nc = depthwise_conv2d a "));
    graph_fini(&half);
    parse(buf_text(&text), &half); /* the words are read again */
    assert_int_equal(half.n_nodes, all.n_nodes);
    for (size_t i = 0; i < all.n_nodes; i++)
        assert_int_equal(half.nodes[i].curve, all.nodes[i].curve);
    graph_fini(&g);
    graph_fini(&half);
    graph_fini(&all);
    buf_fini(&text);
}

static void work_has_fused_layers_and_behind_them_those_apart(void **state)
{
    static const char *const workloads[] = {
        "conv2d f32 n=1 c=4 h=3 w=5 k=4 r=1 s=1 epilogue=bias_hard_swish",
        "depthwise_conv2d f32 n=1 c=4 h=3 w=5 r=3 s=3 pad=1 epilogue=bias_swish",
        "conv2d f32 n=1 c=4 h=3 w=5 k=4 r=1 s=1 epilogue=bias_add",
        "eltwise f32 y=60 f=sigmoid(a)",
        "conv2d f32 n=1 c=4 h=3 w=5 k=4 r=1 s=1 epilogue=bias",
        "eltwise f32 y=60 f=hard_swish(a)",
        "depthwise_conv2d f32 n=1 c=4 h=3 w=5 r=3 s=3 pad=1 epilogue=bias",
        "eltwise f32 y=60 f=swish(a)",
    };
    struct graph_work w;
    struct graph g;

    (void)state;
    parse(curved_text, &g);
    assert_int_equal(graph_work_init(&w, &g, DTYPE_F32, 1, NULL), ERR_OK);
    assert_int_equal(w.n, sizeof workloads / sizeof workloads[0]);
    for (size_t i = 0; i < w.n; i++)
        assert_string_equal(w.items[i].workload, workloads[i]);
    graph_work_fini(&w);
    graph_fini(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_of_a_network_is_counted_by_workload),
        cmocka_unit_test(nodes_without_the_layouts_asked_for_are_plain),
        cmocka_unit_test(layouts_are_named_one_by_one),
        cmocka_unit_test(nodes_have_the_workloads_of_their_sizes),
        cmocka_unit_test(layers_of_bytes_have_workloads_of_u8),
        cmocka_unit_test(bytes_are_made_and_read_by_quantize_alone),
        cmocka_unit_test(a_window_has_pads_steps_and_groups_of_its_own),
        cmocka_unit_test(what_int8_networks_have_not_is_refused_in_words),
        cmocka_unit_test(the_layers_of_a_graph_are_those_of_its_list),
        cmocka_unit_test(every_name_of_the_outside_lists_is_a_layer),
        cmocka_unit_test(bad_lines_are_refused_in_words),
        cmocka_unit_test(bad_shapes_are_refused_in_words),
        cmocka_unit_test(long_input_is_refused),
        cmocka_unit_test(element_wise_chains_are_broadcast_in_any_layout),
        cmocka_unit_test(bad_chains_in_graphs_are_refused_with_words),
        cmocka_unit_test(activations_behind_sums_are_fused_where_nobody_else_reads),
        cmocka_unit_test(a_fused_graph_keeps_names_and_order),
        cmocka_unit_test(work_has_fused_layers_and_behind_them_those_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
