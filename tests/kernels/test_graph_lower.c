/* SPDX-License-Identifier: MIT */
/* Lowered graphs: their steps, arguments and memory hang together. */
#include "core/buf.h"
#include "kernels/graph.h"
#include "kernels/graph_lower.h"
#include "kernels/graph_work.h"
#include "kernels/operator.h"
#include "kernels/workload.h"
#include "tests/kernels/graph_parsed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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
    struct graph g = graph_parsed(text);
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

/* Channels of nhwc lie apart, pixel by pixel: what is joined is copied, but where there is one pixel. */
static void what_is_joined_in_nhwc_is_copied(void **state)
{
    static const char *const texts[] = {
        "x = input c=32 h=4 w=4\na = pool2d x max r=1 s=1\nb = pool2d x avg r=1 s=1\nab = concat a + b\n"
        "y = pool2d ab max r=1 s=1\n",
        "x = input c=128 h=1 w=1\na = pool2d x max r=1 s=1\nb = pool2d x avg r=1 s=1\nab = concat a + b\n"
        "y = pool2d ab max r=1 s=1\n"};

    (void)state;
    for (int is_pixel = 0; is_pixel < 2; is_pixel++) {
        struct graph g = graph_parsed(texts[is_pixel]);
        const int layout[5] = {0, IMAGES_NHWC, IMAGES_NHWC, IMAGES_NHWC, IMAGES_NHWC};
        struct lowered l;
        bool joins = false;

        assert_int_equal(graph_lower(&g, DTYPE_F32, layout, &l, NULL), ERR_OK);
        for (size_t i = 0; i < l.n_steps; i++)
            joins = joins || strncmp(l.steps[i].workload, "concat ", 7) == 0;
        assert_int_equal(joins, !is_pixel);
        check_memory(&l);
        lowered_fini(&l);
        graph_fini(&g);
    }
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
    struct graph g = graph_parsed(text);
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
    struct graph g = graph_parsed("x = input c=16 h=4 w=4\ny = conv2d x k=16 r=1 s=1\n");
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

/* Sizes of the tensors of a step's operator are those of the lowered tensors that it is given. */
static void check_step(const struct lowered *l, const struct lowered_step *s)
{
    struct tensor list[OPERATOR_MAX_TENSORS];
    struct workload w;
    struct why why = {""};
    size_t n;
    int n_given = 0, n_in = 0, n_out = 0;

    if (workload_parse(s->workload, &w, &why))
        fail_msg("%s: %s", s->name, why.text);
    n = w.op->tensors(&w, list);
    for (size_t i = 0; i < n; i++) {
        const struct lowered_tensor *t;

        if (list[i].role == ROLE_WEIGHT)
            continue;
        assert_true(list[i].role == ROLE_OUTPUT || n_in < s->n_in);
        t = &l->tensors[list[i].role == ROLE_OUTPUT ? s->out + n_out++ : s->in[n_in++]];
        n_given++;
        assert_int_equal(list[i].dtype, t->dtype);
        assert_int_equal(list[i].n_elems * (int64_t)dtype_bytes(list[i].dtype), t->n_bytes);
        if (list[i].layout && strncmp(list[i].layout, "nchw", 4) == 0 && list[i].shape[2] * list[i].shape[3] > 1)
            assert_string_equal(list[i].layout, ((const char *[]){"nchw", "nchw4c", "nchw8c", "nchw16c"})[t->layout]);
    }
    assert_int_equal(n_given, s->n_in + s->n_out);
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

/* Of bytes no convolution is in nhwc that naive templates alone compute. */
static void bytes_lie_in_blocks_where_nhwc_has_no_template(void **state)
{
    struct graph g = graph_parsed("x = input c=3 h=8 w=8\na = conv2d x k=16 r=3 s=3\nb = conv2d a k=8 r=1 s=1\nc = "
                                  "conv2d x k=10 r=1 s=1\noutput b c\n");
    const unsigned nhwc = 1u << IMAGES_NHWC, blocks = 14;

    (void)state;
    assert_int_equal(graph_node_layouts(&g, 1, DTYPE_F32), 1 | blocks | nhwc);
    assert_int_equal(graph_node_layouts(&g, 1, DTYPE_I8), blocks);
    assert_int_equal(graph_node_layouts(&g, 2, DTYPE_I8), blocks | nhwc);
    assert_int_equal(graph_node_layouts(&g, 2, DTYPE_U8), blocks);
    assert_int_equal(graph_node_layouts(&g, 3, DTYPE_I8), 1); /* nor have its channels blocks */
    graph_fini(&g);
    assert_int_equal(graph_layouts_among(blocks | nhwc, nhwc), nhwc);
    assert_int_equal(graph_layouts_among(blocks | nhwc, 1), blocks); /* nchw is asked for */
    assert_int_equal(graph_layouts_among(1, nhwc), 1);
}

/* A constant has no step and no memory: the chain's step has the other tensors alone. */
static void constants_are_weights_of_the_steps_that_read_them(void **state)
{
    static const char text[] = "x = input c=16 h=8 w=8\nc = constant shape=16,1,1\nr = constant shape=8\n"
                               "a = eltwise c + x + r f=mul(max(a,b),c)\nb = eltwise c + r f=add(a,b)\n"
                               "y = eltwise a + b f=min(a,b)\n";
    int layout[6] = {0};
    struct graph g = graph_parsed(text);
    struct lowered l;

    (void)state;
    assert_int_equal(graph_node_layouts(&g, 3, DTYPE_F32), 1); /* the constant has the channels */
    assert_int_equal(graph_lower(&g, DTYPE_F32, layout, &l, NULL), ERR_OK);
    assert_int_equal(l.n_steps, 3);
    assert_int_equal(l.n_tensors, 4);
    assert_string_equal(l.steps[0].workload, "eltwise f32 y=16x8x8 a=16x1x1 c=1x1x8 f=mul(max(a,b),c) weights=ac");
    assert_int_equal(l.steps[0].n_in, 1);
    assert_int_equal(l.steps[0].in[0], 0);
    assert_string_equal(l.steps[1].workload, "eltwise f32 y=16x8 a=16x1 b=1x8 f=add(a,b) weights=ab");
    assert_int_equal(l.steps[1].n_in, 0);
    lowered_fini(&l);
    graph_fini(&g);
}

/* Sizes of a recurrent layer and its states fit, or are refused in words. */
static void recurrent_layers_have_sizes_that_fit(void **state)
{
    static const struct {
        const char *lines, *words;
    } wrong[] = {
        {"y = rnn x + h shape=5,4,2 h=4\n", "c0 of lstm alone"},
        {"y = rnn x + h shape=5,4,2 cell=gru h=3\n", "with h=4 as its shape has it"},
        {"y = rnn x + h shape=4,4,2 cell=gru h=4\n", "reads t x i x b"},
        {"y = rnn x + x shape=5,4,2 cell=gru h=4\n", "has h x b numbers"},
        {"y = rnn x + h shape=5,4,2 cell=gru h=4 l=2\n", "one forward layer"},
        {"y = rnn x + h shape=5,4,2 cell=gru h=4\nc = state y cn\n", "of cn an lstm"},
        {"y = rnn x + h shape=5,4,2 cell=gru h=4\nc = state y dn\n", "hn or cn"},
        {"c = state x hn\n", "expected a recurrent layer"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct why why = {""};
        struct graph g;
        char text[256];

        snprintf(text, sizeof text, "x = input shape=5,3,2\nh = input shape=1,4,2\n%s", wrong[i].lines);
        assert_int_equal(graph_parse("wrong", text, strlen(text), &g, &why), ERR_INPUT);
        if (!strstr(why.text, wrong[i].words))
            fail_msg("%s: expected %s", why.text, wrong[i].words);
    }
}

/* An lstm gives its states besides, tensors of their own: one is read, one an output. */
static void states_of_a_recurrent_layer_are_outputs_of_its_step(void **state)
{
    static const char text[] = "x = input shape=5,3,2\n"
                               "h = input shape=1,4,2\n"
                               "c = input shape=1,4,2\n"
                               "y = rnn x + h + c shape=5,4,2 cell=lstm h=4\n"
                               "last = state y hn\n"
                               "cell = state y cn\n"
                               "z = eltwise last f=neg(a)\n"
                               "output z\noutput cell\n";
    struct graph g = graph_parsed(text);
    const int layout[8] = {0};
    struct lowered l;
    struct buf out;

    (void)state;
    buf_init(&out, GRAPH_MAX_BYTES);
    assert_int_equal(graph_text(&g, &out), ERR_OK);
    assert_string_equal(buf_text(&out), text);
    assert_int_equal(graph_lower(&g, DTYPE_F32, layout, &l, NULL), ERR_OK);
    assert_int_equal(l.n_steps, 2);
    assert_string_equal(l.steps[0].workload, "rnn f32 i=3 h=4 b=2 t=5");
    assert_int_equal(l.steps[0].n_out, 3);
    check_step(&l, &l.steps[0]);
    assert_int_equal(l.steps[1].in[0], l.steps[0].out + 1);
    assert_int_equal(l.tensors[l.steps[0].out + 2].i_argument, 4);
    assert_int_not_equal(l.tensors[l.steps[0].out].i_slot, l.tensors[l.steps[0].out + 1].i_slot);
    lowered_fini(&l);
    buf_fini(&out);
    graph_fini(&g);
}

/* 1 x 1 over one pixel is a dense layer; nothing else that looks like it. */
static void convolutions_of_one_pixel_are_dense(void **state)
{
    static const struct {
        const char *text, *f32, *i8;
    } facts[] = {
        {"x = input c=16 h=1 w=1 n=2\ny = conv2d x k=8 r=1 s=1 stride=2 relu\n",
         "dense f32 m=2 n=8 k=16 epilogue=bias_relu", "conv2d i8 n=2 c=16 h=1 w=1 k=8 r=1 s=1 stride=2 layout=nchw16c"},
        {"x = input c=16 h=1 w=1\ny = conv2d x k=8 r=1 s=1 sigmoid\n", "dense f32 m=1 n=8 k=16 epilogue=bias_sigmoid",
         NULL},
        {"x = input c=16 h=1 w=2\ny = conv2d x k=8 r=1 s=1\n", "conv2d f32 n=1 c=16 h=1 w=2 k=8 r=1 s=1 ", NULL},
        {"x = input c=16 h=1 w=1\ny = conv2d x k=8 r=1 s=1 pad=0,0,0,1\n", "conv2d ", NULL},
        {"x = input c=16 h=1 w=1\ny = conv2d x k=8 r=3 s=1 pad=1,0\n", "conv2d ", NULL},
        {"x = input c=16 h=1 w=1\ny = conv2d x k=8 r=1 s=1 groups=2\n", "conv2d ", NULL},
        {"x = input c=16 h=1 w=1\ny = conv2d x + x k=16 r=1 s=1\n", "conv2d ", NULL},
        {"x = input c=16 h=1 w=1\ny = depthwise_conv2d x r=1 s=1\n", "depthwise_conv2d ", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        struct graph g = graph_parsed(facts[i].text);
        struct buf text;

        buf_init(&text, 1000);
        assert_int_equal(graph_node_workload(&g, 1, DTYPE_F32, 0, &text, NULL), ERR_OK);
        if (strncmp(buf_text(&text), facts[i].f32, strlen(facts[i].f32)) != 0)
            fail_msg("%sis %s", facts[i].text, buf_text(&text));
        buf_clear(&text);
        if (facts[i].i8)
            assert_int_equal(graph_node_workload(&g, 1, DTYPE_I8, 3, &text, NULL), ERR_OK);
        if (facts[i].i8 && strncmp(buf_text(&text), facts[i].i8, strlen(facts[i].i8)) != 0)
            fail_msg("%sis %s", facts[i].text, buf_text(&text));
        graph_fini(&g);
        buf_fini(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recurrent_layers_have_sizes_that_fit),
        cmocka_unit_test(states_of_a_recurrent_layer_are_outputs_of_its_step),
        cmocka_unit_test(memory_is_shared_by_tensors_whose_lives_are_apart),
        cmocka_unit_test(the_largest_slot_grows_where_none_is_large_enough),
        cmocka_unit_test(arguments_are_inputs_then_outputs),
        cmocka_unit_test(bytes_lie_in_blocks_where_nhwc_has_no_template),
        cmocka_unit_test(constants_are_weights_of_the_steps_that_read_them),
        cmocka_unit_test(outputs_are_in_nchw),
        cmocka_unit_test(what_is_joined_is_written_in_place),
        cmocka_unit_test(what_is_joined_in_nhwc_is_copied),
        cmocka_unit_test(steps_and_memory_hang_together_in_every_layout),
        cmocka_unit_test(tensors_alive_at_the_same_time_have_slots_of_their_own),
        cmocka_unit_test(convolutions_of_one_pixel_are_dense),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
