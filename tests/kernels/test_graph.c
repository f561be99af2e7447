/* SPDX-License-Identifier: MIT */
/* Graphs of whole networks: their layers are those of the lists of layers, bad lines are refused in words, steps and
 * memory of a lowered graph hang together. */
#include "core/file.h"
#include "core/json.h"
#include "kernels/graph_lower.h"
#include "kernels/graph_work.h"
#include "kernels/network.h"

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

static struct graph parsed(const char *text)
{
    struct graph g;
    struct why why = {""};

    if (graph_parse("small", text, strlen(text), &g, &why))
        fail_msg("%s", why.text);
    return g;
}

/* Six tensors by hand: {bytes, first step, last step, the slot that fits best}. */
static void memory_is_shared_by_tensors_whose_lives_are_apart(void **state)
{
    static const struct {
        int64_t n_bytes;
        int first, last, slot;
    } cases[] = {{100, -1, 0, -1},                /* the caller's input */
                 {50, 0, 1, 0},    {10, 1, 3, 1}, /* the first is read in step 1: not free yet */
                 {40, 2, 3, 0},                   /* 50 bytes are free */
                 {8, 3, 5, 2},                    /* both are read in step 3 */
                 {9, 4, 5, 1},                    /* of 50 and 10 free bytes the smaller that holds it */
                 {60, 5, 6, 0},                   /* none is large enough: the largest free one grows */
                 {7, 6, 7, 2},                    /* of 10 and 8 free bytes */
                 {99, 7, 8, -1}};                 /* the caller's output */
    enum { N = sizeof cases / sizeof cases[0] };
    struct lowered_tensor tensors[N] = {{.name = ""}};
    int64_t slots[N];

    (void)state;
    for (int i = 0; i < N; i++) {
        tensors[i].n_bytes = cases[i].n_bytes;
        tensors[i].first = cases[i].first;
        tensors[i].last = cases[i].last;
    }
    assert_int_equal(lowered_plan_memory(tensors, N, 8, slots), 3);
    for (int i = 0; i < N; i++)
        assert_int_equal(tensors[i].i_slot, cases[i].slot);
    assert_true(slots[0] == 60 && slots[1] == 10 && slots[2] == 8);
}

/* None of several free slots is large enough: the largest of them grows, in whichever order they stand. */
static void the_largest_slot_grows_where_none_is_large_enough(void **state)
{
    static const int64_t bytes[][4] = {{30, 20, 25, 40}, {20, 30, 25, 40}, {25, 20, 30, 40}};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct lowered_tensor tensors[4] = {{.name = ""}};
        int64_t slots[4];
        const int largest = bytes[i][0] == 30 ? 0 : bytes[i][1] == 30 ? 1 : 2;

        for (int k = 0; k < 4; k++)
            tensors[k] = (struct lowered_tensor){.n_bytes = bytes[i][k], .first = k < 3 ? 0 : 2, .last = k < 3 ? 1 : 3};
        assert_int_equal(lowered_plan_memory(tensors, 4, 4, slots), 3);
        assert_int_equal(tensors[3].i_slot, largest);
        assert_int_equal(slots[largest], 40);
    }
}

/* Each workload stands there once, with the nodes that have it; a transform counts once however often it may come. */
static void work_of_a_network_is_counted_by_workload(void **state)
{
    static const char text[] = "x = input n=2 c=16 h=8 w=8\n"
                               "a = conv2d x k=16 r=3 s=3 pad=1 relu\n"
                               "b = conv2d a k=16 r=3 s=3 pad=1 relu\n"
                               "c = conv2d b k=16 r=3 s=3 pad=1\n"
                               "d = conv2d c k=16 r=3 s=3 pad=1 relu\n";
    struct graph g = parsed(text);
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
    struct graph g = parsed("x = input c=4 h=8 w=8\na = conv2d x k=4 r=3 s=3 pad=1\n");
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
    } cases[] = {{NULL, 15},     {"nchw", 1}, {"nchw16c", 8}, {"nchw,nchw8c", 5}, {"nchw4c,nchw", 3},
                 {"nchw4c,", 2}, {"", 0},     {"nch", 0},     {"nchw4", 0},       {"nchw,,nchw4c", 0}};

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
    struct graph g = parsed(text);

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
                                "s = softmax f\n";
    static const char *const workloads[] = {
        "conv2d f32 n=2 c=4 h=9 w=7 k=8 r=3 s=3 stride=2,1 pad=0,1,2,0 dilation=2,1 groups=4 epilogue=bias_relu6",
        "pool2d f32 n=2 c=8 h=4 w=6 r=2 s=2 pad=0,0,1,1",
        "depthwise_conv2d f32 n=2 c=8 h=4 w=6 r=3 s=1 pad=1,0 epilogue=bias_relu",
        "add f32 n=2 c=8 h=4 w=6 relu=1",
        "pool2d f32 n=2 c=8 h=4 w=6 r=4 s=6 kind=avg",
        "dense f32 m=2 n=5 k=8 epilogue=bias",
        "softmax f32 m=2 n=5"};
    struct graph g = parsed(lines), again;
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
    again = parsed(buf_text(&text));
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
        struct graph g = parsed(facts[i][0]);
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

static int memory_of(const struct lowered *l, int t)
{
    while (l->tensors[t].within)
        t = l->tensors[t].within - 1;
    return t;
}

/* Which tensor was written last at each 512 bytes of a slot: `sets` by step t's writer, else compared with who reads t,
 * itself or a tensor of which both are parts. */
static void visit(const struct lowered *l, int **owner, int t, bool sets)
{
    const struct lowered_tensor *x = &l->tensors[t];
    const int64_t from = lowered_at(l->tensors, (size_t)t) / LOWERED_PART_BYTES;

    assert_true(lowered_at(l->tensors, (size_t)t) + x->n_bytes <= l->slot_bytes[x->i_slot]);
    for (int64_t k = 0; k < (x->n_bytes + LOWERED_PART_BYTES - 1) / LOWERED_PART_BYTES; k++) {
        int *at = &owner[x->i_slot][from + k];

        if (sets)
            *at = t;
        else if (*at < 0 || memory_of(l, *at) != memory_of(l, t))
            fail_msg("%s: %s is read, slot %d holds another tensor", l->graph->name, x->name, x->i_slot);
    }
}

/* What is in a slot when a step begins, step by step: a step reads what was meant for it. */
static void check_memory(const struct lowered *l)
{
    int **owner = calloc(l->n_slots + 1, sizeof *owner);

    for (size_t k = 0; k < l->n_slots; k++) {
        const size_t n_bytes = ((size_t)l->slot_bytes[k] / LOWERED_PART_BYTES + 1) * sizeof **owner;

        owner[k] = malloc(n_bytes);
        memset(owner[k], -1, n_bytes);
    }
    for (size_t s = 0; s < l->n_steps; s++) {
        const struct lowered_step *step = &l->steps[s];
        const struct lowered_tensor *out = &l->tensors[step->out];

        for (int k = 0; k < step->n_in; k++) {
            assert_true(l->tensors[step->in[k]].i_slot >= 0 || l->tensors[step->in[k]].i_argument >= 0);
            assert_int_not_equal(step->in[k], step->out);
            if (l->tensors[step->in[k]].i_slot >= 0)
                visit(l, owner, step->in[k], false);
        }
        if (out->i_slot >= 0)
            visit(l, owner, step->out, true);
        else
            assert_true(l->arguments[out->i_argument].is_output);
    }
    for (size_t k = 0; k < l->n_slots; k++)
        free(owner[k]);
    free(owner);
}

/* a and b lie in ab, that and c in abc, and piece p in abc; the caller's y is another memory. 16 channels of 8 x 8:
 * 4096 bytes. */
static void what_is_joined_is_written_in_place(void **state)
{
    static const char text[] = "x = input c=16 h=8 w=8\n"
                               "a = pool2d x max r=1 s=1\nb = pool2d x avg r=3 s=3 pad=1\nab = concat a + b\n"
                               "c = pool2d ab max r=3 s=3 pad=1\nabc = concat ab + c\n"
                               "p = strided_copy abc shape=2,16,8,8 at=1024 d0=2048,1\n"
                               "q = strided_copy abc shape=2,16,8,8 at=1025 d0=2048,1\n"
                               "y = add p + q\n";
    static const struct {
        const char *name;
        int64_t at;
    } parts[] = {{"a", 0}, {"b", 4096}, {"ab", 0}, {"c", 8192}, {"p", 4096}};
    static const char *const steps[] = {"a", "b", "c", "q", "y"};
    struct graph g = parsed(text);
    const int layout[9] = {0};
    struct lowered l;

    (void)state;
    assert_int_equal(graph_lower(&g, DTYPE_F32, layout, &l, NULL), ERR_OK);
    assert_int_equal(l.n_steps, 5);
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(l.steps[i].name, steps[i]);
    for (size_t i = 0; i < 5; i++)
        for (size_t t = 0; t < l.n_tensors; t++)
            if (strcmp(l.tensors[t].name, parts[i].name) == 0) {
                assert_true(l.tensors[t].within);
                assert_int_equal(lowered_at(l.tensors, t), parts[i].at);
                assert_int_equal(l.tensors[t].i_slot, 0);
            }
    assert_int_equal(l.n_slots, 2); /* abc, q */
    assert_true(l.slot_bytes[0] == 16384 && l.slot_bytes[1] == 8192);
    check_memory(&l);
    lowered_fini(&l);
    graph_fini(&g);
}

/* Arguments in their order, copies where a tensor is the caller's already. */
static void arguments_are_inputs_then_outputs(void **state)
{
    static const char text[] = "x = input c=4 h=2 w=2\n"
                               "m = input shape=2,3\n"
                               "a = add x + x\n"
                               "f = reshape a shape=2,8\n"
                               "d = dense f n=3\n"
                               "y = add d + m\n"
                               "z = reshape y shape=6\n"
                               "output y\noutput f\noutput x\noutput z\n";
    static const struct {
        const char *node;
        bool is_output;
    } expected[] = {{"x", false}, {"m", false}, {"y", true}, {"f", true}, {"x", true}, {"z", true}};
    static const char *const steps[] = {"a", "d", "y", "x_copy", "z_copy"};
    struct graph g = parsed(text);
    const int layout[8] = {0};
    struct lowered l;
    struct buf out;

    (void)state;
    buf_init(&out, GRAPH_MAX_BYTES);
    assert_int_equal(graph_text(&g, &out), ERR_OK);
    assert_string_equal(buf_text(&out), text);
    assert_int_equal(graph_lower(&g, DTYPE_F32, layout, &l, NULL), ERR_OK);
    assert_int_equal(l.n_arguments, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_string_equal(g.nodes[l.arguments[i].i_node].name, expected[i].node);
        assert_int_equal(l.arguments[i].is_output, expected[i].is_output);
    }
    assert_int_equal(l.n_steps, 5);
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(l.steps[i].name, steps[i]);
    assert_int_equal(l.tensors[l.steps[0].out].i_argument, 3); /* a is f */
    assert_int_equal(l.steps[1].in[0], l.steps[0].out);
    assert_int_equal(l.tensors[l.steps[2].out].i_argument, 2);
    assert_int_equal(l.tensors[l.steps[3].out].i_argument, 4);
    assert_int_equal(l.steps[4].in[0], l.steps[2].out);
    assert_int_equal(l.n_slots, 1); /* d */
    check_memory(&l);
    lowered_fini(&l);
    buf_fini(&out);
    graph_fini(&g);
}

/* A layer in blocks that the caller reads is brought into nchw, and in time so measured. */
static void outputs_are_in_nchw(void **state)
{
    struct graph g = parsed("x = input c=16 h=4 w=4\ny = conv2d x k=16 r=1 s=1\n");
    const int layout[2] = {0, 3};
    struct lowered l;
    struct graph_work w;

    (void)state;
    assert_int_equal(graph_lower(&g, DTYPE_F32, layout, &l, NULL), ERR_OK);
    assert_int_equal(l.n_steps, 3);
    assert_string_equal(l.steps[2].name, "y_to_nchw");
    assert_int_equal(l.tensors[l.steps[2].out].i_argument, 1);
    lowered_fini(&l);
    assert_int_equal(graph_work_init(&w, &g, DTYPE_F32, 1 | 8, NULL), ERR_OK);
    assert_int_equal(w.n, 4); /* two layouts, there and back */
    graph_work_fini(&w);
    graph_fini(&g);
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
        {"x = input c=4 h=8 w=8\ny = conv2d x k=6 r=3 s=3 relu relu6\n", "relu or relu6"},
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

/* Sizes of the tensors of a step's operator are those of the lowered tensors that it is given. */
static void check_step(const struct lowered *l, const struct lowered_step *s)
{
    struct tensor list[OPERATOR_MAX_TENSORS];
    struct workload w;
    struct why why = {""};
    size_t n;
    int n_given = 0, n_in = 0;

    if (workload_parse(s->workload, &w, &why))
        fail_msg("%s: %s", s->name, why.text);
    n = w.op->tensors(&w, list);
    for (size_t i = 0; i < n; i++) {
        const struct lowered_tensor *t;

        if (list[i].role == ROLE_WEIGHT)
            continue;
        assert_true(list[i].role == ROLE_OUTPUT || n_in < s->n_in);
        t = &l->tensors[list[i].role == ROLE_OUTPUT ? s->out : s->in[n_in++]];
        n_given++;
        assert_int_equal(list[i].dtype, t->dtype);
        assert_int_equal(list[i].n_elems * (int64_t)dtype_bytes(list[i].dtype), t->n_bytes);
        if (list[i].layout && strncmp(list[i].layout, "nchw", 4) == 0 && list[i].shape[2] * list[i].shape[3] > 1)
            assert_string_equal(list[i].layout, ((const char *[]){"nchw", "nchw4c", "nchw8c", "nchw16c"})[t->layout]);
    }
    assert_int_equal(n_given, s->n_in + 1);
}

static void lower_and_check(const struct graph *g, enum dtype t, const int *layout)
{
    struct lowered l;
    struct why why = {""};

    if (graph_lower(g, t, layout, &l, &why))
        fail_msg("%s", why.text);
    check_memory(&l);
    for (size_t s = 0; s < l.n_steps; s++)
        check_step(&l, &l.steps[s]);
    lowered_fini(&l);
}

static void steps_and_memory_hang_together_in_every_layout(void **state)
{
    static const enum dtype dtypes[] = {DTYPE_F32, DTYPE_F16, DTYPE_I8};
    int layout[GRAPH_MAX_NODES];

    (void)state;
    assert_non_null(graph_names()[0]);
    for (const char *const *name = graph_names(); *name; name++)
        for (size_t k = 0; k < 3; k++)
            for (size_t way = 0; way < 6; way++) { /* one layout throughout, or another from node to node */
                const struct graph *g;

                assert_int_equal(graph_find(*name, &g, NULL), ERR_OK);
                for (size_t i = 0; i < g->n_nodes; i++) {
                    const unsigned can = graph_node_layouts(g, i, dtypes[k]);
                    const unsigned want = (unsigned)(way < 4 ? way : (i * way) % 4);

                    layout[i] = can & 1u << want ? (int)want : can & 1 ? 0 : 1;
                }
                lower_and_check(g, dtypes[k], layout);
            }
}

/* A plan with tensors that overlap is seen: what check_memory is for. */
static void tensors_alive_at_the_same_time_have_slots_of_their_own(void **state)
{
    struct lowered_tensor t[] = {
        {.n_bytes = 9, .first = -1, .last = 0}, {.n_bytes = 100, .first = 0, .last = 3},
        {.n_bytes = 50, .first = 1, .last = 2}, {.n_bytes = 60, .first = 2, .last = 3},
        {.n_bytes = 40, .first = 3, .last = 4}, {.n_bytes = 90, .first = 4, .last = 5},
    };
    int64_t slots[6];
    size_t n = lowered_plan_memory(t, 6, 5, slots);

    (void)state;
    assert_int_equal(t[0].i_slot, -1);
    assert_int_equal(t[5].i_slot, -1);
    for (size_t a = 1; a < 5; a++)
        for (size_t b = 1; b < a; b++)
            if (t[a].first <= t[b].last)
                assert_int_not_equal(t[a].i_slot, t[b].i_slot);
    assert_int_equal(n, 3);
    assert_int_equal(t[4].i_slot, t[2].i_slot);
    assert_int_equal(slots[0] + slots[1] + slots[2], 100 + 50 + 60);
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
        {"x = input n=2 c=32 h=3 w=5\ny = eltwise x f=relu(a)\n", 15, 3, "eltwise f32 y=960 f=relu(a)"},
        {"x = input c=32 h=3 w=5\ns = input c=32 h=1 w=1\ny = eltwise x + s f=mul(a,b)\n", 15, 0,
         "eltwise f32 y=32x15 b=32x1 f=mul(a,b)"},
        {"x = input c=32 h=3 w=5\ns = input c=32 h=1 w=1\ny = eltwise x + s f=mul(a,b)\n", 15, 2,
         "eltwise f32 y=4x15x8 b=4x1x8 f=mul(a,b)"},
        {"x = input n=2 c=32 h=3 w=5\ns = input shape=32,1,1\nt = input shape=5\ny = eltwise x + s + t "
         "f=add(mul(a,b),c)\n",
         15, 3, "eltwise f32 y=2x2x3x5x16 b=1x2x1x1x16 c=1x1x1x5x1 f=add(mul(a,b),c)"},
        {"x = input c=8 h=3 w=5\ns = input shape=8,3,5\ny = eltwise x + s f=add(a,b)\n", 1, 0,
         "eltwise f32 y=120 f=add(a,b)"},
        {"x = input c=8 h=3 w=5\ns = input c=1 h=3 w=5\ny = eltwise x + s f=add(a,b)\n", 7, 1,
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_shared_by_tensors_whose_lives_are_apart),
        cmocka_unit_test(the_largest_slot_grows_where_none_is_large_enough),
        cmocka_unit_test(work_of_a_network_is_counted_by_workload),
        cmocka_unit_test(nodes_without_the_layouts_asked_for_are_plain),
        cmocka_unit_test(layouts_are_named_one_by_one),
        cmocka_unit_test(nodes_have_the_workloads_of_their_sizes),
        cmocka_unit_test(a_window_has_pads_steps_and_groups_of_its_own),
        cmocka_unit_test(what_int8_networks_have_not_is_refused_in_words),
        cmocka_unit_test(the_layers_of_a_graph_are_those_of_its_list),
        cmocka_unit_test(every_name_of_the_outside_lists_is_a_layer),
        cmocka_unit_test(arguments_are_inputs_then_outputs),
        cmocka_unit_test(outputs_are_in_nchw),
        cmocka_unit_test(what_is_joined_is_written_in_place),
        cmocka_unit_test(bad_lines_are_refused_in_words),
        cmocka_unit_test(bad_shapes_are_refused_in_words),
        cmocka_unit_test(long_input_is_refused),
        cmocka_unit_test(steps_and_memory_hang_together_in_every_layout),
        cmocka_unit_test(tensors_alive_at_the_same_time_have_slots_of_their_own),
        cmocka_unit_test(element_wise_chains_are_broadcast_in_any_layout),
        cmocka_unit_test(bad_chains_in_graphs_are_refused_with_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
