/* SPDX-License-Identifier: MIT */
#include "kernels/graph_lower.h"

#include "core/buf.h"
#include "core/err.h"
#include "kernels/graph_ops.h"
#include "kernels/images.h"
#include "kernels/strided_copy/strided_copy.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Those of images; a tensor of another rank is dense whatever the layout. */
static bool is_images(const struct graph_shape *s)
{
    return s->rank == 4;
}

/* The layout of a tensor of node `i` under a workload's layout: that, where its channels allow. */
static int fitting(const struct graph *g, size_t i, int layout)
{
    const struct graph_shape *s = &g->nodes[i].shape;

    assert(i < g->n_nodes && layout >= 0 && layout < GRAPH_LAYOUTS);
    return is_images(s) && s->dim[1] % images_block(layout) == 0 ? layout : IMAGES_NCHW;
}

bool graph_has_kernel(const struct graph *g, size_t i)
{
    return graph_rules[g->nodes[i].op].sizes != NULL;
}

/* Can an operator of several tensors be computed in a layout? Concatenations when all that they read fits, others when
 * one of their tensors does. */
static bool fits(const struct graph *g, size_t i, int layout)
{
    const struct graph_node *n = &g->nodes[i];

    if (n->op == GRAPH_ELTWISE)
        return fitting(g, i, layout) && graph_eltwise_fits(g, i, (int)images_lanes(layout, n->shape.dim[1]));
    if (n->op == GRAPH_CONCAT)
        return fitting(g, (size_t)n->in[0], layout) && fitting(g, (size_t)n->in[1], layout);
    return fitting(g, i, layout) || fitting(g, (size_t)n->in[0], layout);
}

unsigned graph_node_layouts(const struct graph *g, size_t i, enum dtype t)
{
    const unsigned plain = 1u << IMAGES_NCHW, nhwc = 1u << IMAGES_NHWC;
    unsigned bits = plain;

    if (!graph_rules[g->nodes[i].op].blocks)
        return bits;
    for (int l = 1; l < GRAPH_LAYOUTS; l++)
        if (fits(g, i, l))
            bits |= 1u << l;
    if (dtype_is_bytes(graph_dtype(g, i, t)) && g->nodes[i].op != GRAPH_QUANTIZE && bits & ~(plain | nhwc))
        bits &= ~plain;
    if (g->nodes[i].op == GRAPH_CONV2D && dtype_is_bytes(graph_dtype(g, i, t)) &&
        (graph_dtype(g, i, t) == DTYPE_U8 || g->nodes[g->nodes[i].in[0]].shape.dim[1] % 4))
        bits &= ~nhwc; /* of i8 nothing but naive templates computes it; u8 is tuned in blocks alone */
    return bits;
}

unsigned graph_layouts_among(unsigned can, unsigned layouts)
{
    const unsigned plain = 1u << IMAGES_NCHW, nhwc = 1u << IMAGES_NHWC;

    if (can & layouts)
        return can & layouts;
    return can & plain ? plain : can & ~nhwc ? can & ~nhwc : can;
}

int graph_gives(const struct graph *g, size_t i, int layout)
{
    return fitting(g, i, layout);
}

int graph_wants(const struct graph *g, size_t i, int k, int layout)
{
    return graph_rules[g->nodes[i].op].blocks ? fitting(g, (size_t)g->nodes[i].in[k], layout) : 0;
}

static bool is_output(const struct graph *g, size_t i)
{
    for (size_t k = 0; k < g->n_outputs; k++)
        if (g->outputs[k] == (int)i)
            return true;
    return false;
}

unsigned graph_wants_of(const struct graph *g, size_t i, size_t of, int layout)
{
    unsigned bits = i == g->n_nodes && is_output(g, of);

    for (int k = 0; i < g->n_nodes && k < g->nodes[i].n_in && g->nodes[of].op != GRAPH_CONSTANT; k++)
        if (g->nodes[i].in[k] == (int)of)
            bits |= 1u << graph_wants(g, i, k, layout);
    return bits;
}

bool graph_differs(const struct graph *g, size_t i, int from, int to)
{
    const struct graph_shape *s = &g->nodes[i].shape;

    return from != to && is_images(s) && s->dim[1] > 1 && s->dim[2] * s->dim[3] > 1;
}

/* Appends the canonical form of a text. */
static enum err canonical(const char *text, struct buf *out, struct why *why)
{
    struct workload w;
    enum err e = workload_parse(text, &w, why);

    return e ? e : workload_text(&w, out);
}

/* In int8 only softmax takes the sums that a dense layer gives, and nothing the floats of a softmax. */
static enum err check_bytes(const struct graph *g, size_t i, struct why *why)
{
    const struct graph_node *n = &g->nodes[i];
    const bool softmax = n->op == GRAPH_SOFTMAX;

    if (n->op == GRAPH_BATCH_GEMM)
        return why_set(why, ERR_INPUT, "batch_gemm gives sums, which nothing in int8 networks takes");
    for (int k = 0; k < n->n_in; k++) {
        const size_t x = (size_t)n->in[k];

        if (softmax && (g->nodes[x].op != GRAPH_DENSE || g->nodes[x].relu))
            return why_set(why, ERR_INPUT, "softmax of int8 takes the sums of a dense layer without relu");
        if (!softmax && (g->nodes[x].op == GRAPH_SOFTMAX || graph_gives_sums(g, x)))
            return why_set(why, ERR_INPUT, "in int8 nothing but softmax may read the sums of %s", g->nodes[x].name);
    }
    return ERR_OK;
}

/* Is it a convolution of floats of one pixel by 1 x 1? A dense layer gives the same sums, and reads weights faster. */
static bool is_of_pixel(const struct graph *g, size_t i, enum dtype t)
{
    const struct graph_node *n = &g->nodes[i];
    const int64_t *in = g->nodes[n->in[0]].shape.dim, *key = n->key;

    return n->op == GRAPH_CONV2D && !dtype_is_bytes(t) && n->n_in == 1 && in[2] * in[3] == 1 &&
           key[GRAPH_R] * key[GRAPH_S] == 1 && key[GRAPH_GROUPS] == 1 &&
           !(key[GRAPH_TOP] || key[GRAPH_LEFT] || key[GRAPH_BOTTOM] || key[GRAPH_RIGHT]);
}

enum err graph_node_workload(const struct graph *g, size_t i, enum dtype t, int layout, struct buf *out,
                             struct why *why)
{
    const struct graph_node *n = &g->nodes[i];
    const struct graph_rule *rule = &graph_rules[is_of_pixel(g, i, t) ? GRAPH_DENSE : n->op];
    const enum dtype own = n->op == GRAPH_QUANTIZE ? DTYPE_U8 : graph_dtype(g, i, t);
    enum err e = dtype_is_bytes(t) ? check_bytes(g, i, why) : ERR_OK;
    struct buf text;

    assert(rule->sizes != NULL);
    if (n->op == GRAPH_QUANTIZE && t != DTYPE_F32)
        return why_set(why, ERR_INPUT, "%s of %s: what is quantised in it is between floats of 32 bits, not %s",
                       n->name, g->name, dtype_name(t));
    buf_init(&text, WORKLOAD_MAX_TEXT);
    buf_printf(&text, "%s %s", rule->name, dtype_name(n->op == GRAPH_SOFTMAX ? dtype_of_weights(own) : own));
    rule->sizes(g, i, own, layout, &text);
    buf_printf(&text, "%s%s", n->words[0] ? " " : "", n->words);
    if (!e)
        e = text.failed ? why_set(why, text.failed, "longer than %d characters", WORKLOAD_MAX_TEXT)
                        : canonical(buf_text(&text), out, why);
    buf_fini(&text);
    return e ? why_prefix(why, e, "%s of %s", n->name, g->name) : ERR_OK;
}

bool graph_plain_workload(const struct graph *g, size_t i, struct buf *out)
{
    static const char key[] = " epilogue=";
    const enum graph_op op = g->nodes[i].op;
    char *at;

    if ((op != GRAPH_CONV2D && op != GRAPH_DEPTHWISE && !graph_is_dense(op)) ||
        graph_node_workload(g, i, DTYPE_F32, 0, out, NULL))
        return false;
    at = strstr(out->data, key);
    if (at) {
        const size_t n = sizeof key - 1 + strcspn(at + sizeof key - 1, " ");

        memmove(at, at + n, strlen(at + n) + 1);
        out->len -= n;
    }
    return true;
}

/* " n= c= h= w=" of a tensor; of one that is no images, which is copied, in one row. */
static void put_images(const struct graph_shape *s, struct buf *out)
{
    const int64_t n[] = {1, 1, 1, graph_elems(s)}, *dim = is_images(s) ? s->dim : n;

    buf_printf(out, " n=%lld c=%lld h=%lld w=%lld", (long long)dim[0], (long long)dim[1], (long long)dim[2],
               (long long)dim[3]);
}

enum err graph_transform_workload(const struct graph *g, size_t i, enum dtype t, int from, int to, struct buf *out,
                                  struct why *why)
{
    struct buf text;
    enum err e;

    buf_init(&text, WORKLOAD_MAX_TEXT);
    buf_printf(&text, "transform %s", dtype_name(graph_dtype(g, i, t)));
    put_images(&g->nodes[i].shape, &text);
    buf_printf(&text, " from=%s to=%s", images_layouts[from], images_layouts[to]);
    e = text.failed ? text.failed : canonical(buf_text(&text), out, why);
    buf_fini(&text);
    return e ? why_prefix(why, e, "%s of %s", g->nodes[i].name, g->name) : ERR_OK;
}

/* A graph while it is lowered. */
struct lowering {
    struct lowered *l;
    const int *layout;
    int *made; /* [n_nodes][GRAPH_LAYOUTS]: the tensor of a node in a layout, -1 = not made yet */
    struct why *why;
};

static int add_tensor(struct lowered *l, size_t i_node, const char *suffix, int layout, enum dtype t)
{
    const struct graph_node *n = &l->graph->nodes[i_node];
    struct lowered_tensor *x = &l->tensors[l->n_tensors];

    snprintf(x->name, sizeof x->name, "%s%s", n->name, suffix);
    x->i_node = (int)i_node;
    x->layout = layout;
    x->dtype = t;
    x->n_bytes = graph_elems(&n->shape) * (int64_t)dtype_bytes(t);
    assert(x->n_bytes > 0 && layout >= 0 && layout < GRAPH_LAYOUTS);
    x->first = (int)l->n_steps;
    x->last = x->first;
    x->i_argument = x->i_slot = -1;
    return (int)l->n_tensors++;
}

/* Appends a step; takes the text. */
static void add_step(struct lowered *l, size_t i_node, const char *suffix, struct buf *text, const int *in, int n_in,
                     int out)
{
    struct lowered_step *s = &l->steps[l->n_steps];

    assert((size_t)n_in <= sizeof s->in / sizeof s->in[0] && out >= 0 && (size_t)out < l->n_tensors);
    snprintf(s->name, sizeof s->name, "%s%s", l->graph->nodes[i_node].name, suffix);
    s->i_node = (int)i_node;
    s->workload = buf_take(text);
    memcpy(s->in, in, (size_t)n_in * sizeof in[0]);
    s->n_in = n_in;
    s->out = out;
    s->n_out = 1;
    for (int k = 0; k < n_in; k++)
        assert(in[k] >= 0 && (size_t)in[k] < l->n_tensors);
    for (int k = 0; k < n_in; k++)
        l->tensors[in[k]].last = (int)l->n_steps;
    l->n_steps++;
}

/* A step that brings tensor `in` of a node from a layout into a new one, in another or the same: *made. */
static enum err add_transform(struct lowering *x, size_t i_node, int in, int from, int to, int *made)
{
    struct lowered *l = x->l;
    const enum dtype t = l->tensors[in].dtype;
    char suffix[16];
    struct buf text;
    enum err e;

    buf_init(&text, WORKLOAD_MAX_TEXT);
    e = graph_transform_workload(l->graph, i_node, t, from, to, &text, x->why);
    if (e) {
        buf_fini(&text);
        return e;
    }
    snprintf(suffix, sizeof suffix, "_%s", from == to ? "copy" : images_layouts[to]);
    *made = add_tensor(l, i_node, suffix, to, t);
    if (from != to)
        snprintf(suffix, sizeof suffix, "_to_%s", images_layouts[to]);
    add_step(l, i_node, suffix, &text, &in, 1, *made);
    l->steps[l->n_steps - 1].is_transform = true;
    return ERR_OK;
}

/* The tensor of a node in the layout that a reader wants, transformed once for all that want the same. */
static enum err tensor_as(struct lowering *x, size_t i_node, int wants, int *out)
{
    const struct graph *g = x->l->graph;
    const int gives = graph_gives(g, i_node, x->layout[i_node]);
    int *made = &x->made[i_node * GRAPH_LAYOUTS];
    const bool differs = graph_differs(g, i_node, gives, wants);
    const enum err e =
        differs && made[wants] < 0 ? add_transform(x, i_node, made[gives], gives, wants, &made[wants]) : ERR_OK;

    assert(e || made[differs ? wants : gives] >= 0);
    if (!e)
        *out = made[differs ? wants : gives];
    return e;
}

static enum dtype output_dtype(const struct graph *g, size_t i, enum dtype t)
{
    if (!dtype_is_bytes(t))
        return graph_dtype(g, i, t);
    return g->nodes[i].op == GRAPH_SOFTMAX ? DTYPE_F32 : graph_gives_sums(g, i) ? DTYPE_I32 : t;
}

/* May tensor `t` be made a part that begins `at` bytes into another? It is no part yet, nor the caller's. */
static bool may_be_part(const struct lowered *l, int t, int64_t at)
{
    return l->tensors[t].i_argument < 0 && !l->tensors[t].within && at % LOWERED_PART_BYTES == 0;
}

static void make_part(struct lowered *l, int t, int of, int64_t at)
{
    l->tensors[t].within = of + 1;
    l->tensors[t].at = at;
    l->tensors[of].has_parts = true;
}

/* One behind the other in memory: then they are written there in the first place. In nhwc those of a pixel are. */
static bool joins_in_place(const struct lowered *l, const struct graph_node *n, const int *in, int gives)
{
    const bool apart = n->shape.dim[0] > 1 || (gives == IMAGES_NHWC && n->shape.dim[2] * n->shape.dim[3] > 1);

    return n->op == GRAPH_CONCAT && !apart && in[0] != in[1] && may_be_part(l, in[0], 0) &&
           may_be_part(l, in[1], l->tensors[in[0]].n_bytes);
}

/* The first byte of a copy of elements that lie one behind the other; -1: they do not. */
static int64_t piece_at(const struct workload *w)
{
    const struct strided_copy s = strided_copy_of(w);

    return s.dim[0].n == strided_copy_elems(&s) && s.dim[0].stride == 1 ? s.at * (int64_t)dtype_bytes(w->dtype) : -1;
}

/* The node's tensor where no kernel is needed for it; -1: it is needed. */
static int in_place(struct lowered *l, size_t i, const int *in, int gives, const char *workload)
{
    const struct graph_node *n = &l->graph->nodes[i];
    const bool joins = joins_in_place(l, n, in, gives);
    struct workload w;
    int64_t at = -1;
    int t;

    if (n->op == GRAPH_COPY && workload_parse(workload, &w, NULL) == ERR_OK)
        at = piece_at(&w);
    if (!joins && (at < 0 || at % LOWERED_PART_BYTES || l->tensors[in[0]].i_argument >= 0))
        return -1;
    t = add_tensor(l, i, "", gives, graph_dtype(l->graph, i, l->dtype));
    if (!joins)
        make_part(l, t, in[0], at);
    for (int k = 0; k < n->n_in && joins; k++)
        make_part(l, in[k], t, k ? l->tensors[in[0]].n_bytes : 0);
    return t;
}

/* The further outputs of the recurrent layer whose step is the last one. */
static void add_states(struct lowered *l, size_t i)
{
    static const char *const suffixes[] = {"_hn", "_cn"};
    const struct graph_node *n = &l->graph->nodes[i];
    struct lowered_step *s = &l->steps[l->n_steps - 1];

    for (int k = 1; k < n->n_in; k++) {
        struct lowered_tensor *t = &l->tensors[add_tensor(l, i, suffixes[k - 1], 0, l->dtype)];

        t->n_bytes = n->shape.dim[1] * n->shape.dim[2] * (int64_t)dtype_bytes(l->dtype);
        t->first = t->last = (int)l->n_steps - 1;
        s->n_out++;
    }
    assert(s->out + s->n_out == (int)l->n_tensors);
}

static enum err lower_node(struct lowering *x, size_t i)
{
    struct lowered *l = x->l;
    const struct graph_node *n = &l->graph->nodes[i];
    const int layout = x->layout[i], gives = graph_gives(l->graph, i, layout);
    int in[GRAPH_MAX_INPUTS], n_in = 0, *made = &x->made[i * GRAPH_LAYOUTS + (size_t)gives];
    struct buf text;
    enum err e = ERR_OK;

    for (int k = 0; k < n->n_in && !e; k++)
        if (l->graph->nodes[n->in[k]].op != GRAPH_CONSTANT)
            e = tensor_as(x, (size_t)n->in[k], graph_wants(l->graph, i, k, layout), &in[n_in++]);
    if (e)
        return e;
    if (n->op == GRAPH_RESHAPE || n->op == GRAPH_STATE) {
        *made = n->op == GRAPH_RESHAPE ? in[0] : in[0] + (n->words[0] == 'c' ? 2 : 1);
        return ERR_OK;
    }
    buf_init(&text, WORKLOAD_MAX_TEXT);
    e = graph_node_workload(l->graph, i, l->dtype, layout, &text, x->why);
    if (e) {
        buf_fini(&text);
        return e;
    }
    *made = in_place(l, i, in, gives, buf_text(&text));
    if (*made >= 0) {
        buf_fini(&text);
        return ERR_OK;
    }
    *made = add_tensor(l, i, "", gives, output_dtype(l->graph, i, l->dtype));
    add_step(l, i, "", &text, in, n_in, *made);
    if (n->op == GRAPH_RNN)
        add_states(l, i);
    return ERR_OK;
}

static void add_argument(struct lowered *l, size_t i_node, bool is_output, struct lowered_tensor *t)
{
    t->i_argument = (int)l->n_arguments;
    l->arguments[l->n_arguments++] = (struct lowered_argument){(int)i_node, is_output, t->dtype};
}

static void lower_input(struct lowering *x, size_t i)
{
    struct lowered *l = x->l;
    const int t = add_tensor(l, i, "", 0, graph_dtype(l->graph, i, l->dtype));

    x->made[i * GRAPH_LAYOUTS] = t;
    l->tensors[t].first = -1;
    add_argument(l, i, false, &l->tensors[t]);
}

/* The tensor is written into the caller's memory; copied where it is the caller's already, or in parts. */
static enum err lower_output(struct lowering *x, size_t i)
{
    struct lowered *l = x->l;
    int t = -1;
    enum err e = tensor_as(x, i, 0, &t);

    if (!e && (l->tensors[t].i_argument >= 0 || l->tensors[t].within || l->tensors[t].has_parts))
        e = add_transform(x, i, t, 0, 0, &t);
    if (!e)
        add_argument(l, i, true, &l->tensors[t]);
    return e;
}

#define NOT_PLACED -2 /* as a slot, yet */

/* Is the slot free before step `first`, after the tensors that were given one? */
static bool is_free(const struct lowered_tensor *tensors, size_t n, int slot, int first)
{
    for (size_t i = 0; i < n; i++)
        if (tensors[i].i_slot == slot && !tensors[i].within && tensors[i].last >= first)
            return false;
    return true;
}

/* Is slot a better than b for n_bytes: the smallest that is large enough, else the largest. */
static bool fits_better(int64_t a, int64_t b, int64_t n_bytes)
{
    if (a >= n_bytes)
        return b < n_bytes || a < b;
    return b < n_bytes && a > b;
}

/* Tensors live as long as their parts: those of a part's part first, which stand behind it or, joined, before it. */
static void join_lives(struct lowered_tensor *tensors, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t t = i; tensors[t].within; t = (size_t)tensors[t].within - 1) {
            struct lowered_tensor *of = &tensors[tensors[t].within - 1];

            of->first = tensors[t].first < of->first ? tensors[t].first : of->first;
            of->last = tensors[t].last > of->last ? tensors[t].last : of->last;
        }
}

/* The tensor that is written first of those that have no slot; n: none. */
static size_t next_tensor(const struct lowered_tensor *tensors, size_t n)
{
    size_t next = n;

    for (size_t i = 0; i < n; i++)
        if (tensors[i].i_slot == NOT_PLACED && (next == n || tensors[i].first < tensors[next].first))
            next = i;
    return next;
}

/* Gives a tensor the slot that fits best, or a new one, which may be n_slots. */
static int place(const struct lowered_tensor *tensors, size_t n, const struct lowered_tensor *t, int n_slots,
                 int64_t *slot_bytes)
{
    int best = -1;

    for (int k = 0; k < n_slots; k++)
        if (is_free(tensors, n, k, t->first) && (best < 0 || fits_better(slot_bytes[k], slot_bytes[best], t->n_bytes)))
            best = k;
    if (best < 0) {
        best = n_slots;
        slot_bytes[best] = 0;
    }
    if (slot_bytes[best] < t->n_bytes)
        slot_bytes[best] = t->n_bytes;
    assert(t->first <= t->last && is_free(tensors, n, best, t->first)); /* no live tensor is there */
    return best;
}

int64_t lowered_at(const struct lowered_tensor *tensors, size_t i)
{
    int64_t at = 0;

    for (; tensors[i].within; i = (size_t)tensors[i].within - 1)
        at += tensors[i].at;
    return at;
}

size_t lowered_plan_memory(struct lowered_tensor *tensors, size_t n, int n_steps, int64_t *slot_bytes)
{
    int n_slots = 0;

    join_lives(tensors, n);
    for (size_t i = 0; i < n; i++)
        tensors[i].i_slot = tensors[i].within || tensors[i].first < 0 || tensors[i].last >= n_steps ? -1 : NOT_PLACED;
    for (size_t i; (i = next_tensor(tensors, n)) < n;) {
        tensors[i].i_slot = place(tensors, n, &tensors[i], n_slots, slot_bytes);
        n_slots += tensors[i].i_slot == n_slots;
    }
    for (size_t i = 0; i < n; i++)
        if (tensors[i].within) {
            size_t of = i;

            while (tensors[of].within)
                of = (size_t)tensors[of].within - 1;
            tensors[i].i_slot = tensors[of].i_slot;
        }
    return (size_t)n_slots;
}

static enum err lower_all(struct lowering *x)
{
    struct lowered *l = x->l;
    const struct graph *g = l->graph;
    enum err e = ERR_OK;

    for (size_t i = 0; i < g->n_nodes; i++)
        if (graph_is_given(&g->nodes[i]))
            lower_input(x, i);
    for (size_t i = 0; i < g->n_nodes && !e; i++)
        if (!graph_is_given(&g->nodes[i]) && g->nodes[i].op != GRAPH_CONSTANT)
            e = lower_node(x, i);
    for (size_t k = 0; k < g->n_outputs && !e; k++)
        e = lower_output(x, (size_t)g->outputs[k]);
    if (e)
        return e;
    for (size_t i = 0; i < l->n_tensors; i++)
        if (l->tensors[i].i_argument >= 0 && l->tensors[i].first >= 0)
            l->tensors[i].last = (int)l->n_steps;
    l->n_slots = lowered_plan_memory(l->tensors, l->n_tensors, (int)l->n_steps, l->slot_bytes);
    return ERR_OK;
}

enum err graph_lower(const struct graph *g, enum dtype t, const int *layout, struct lowered *out, struct why *why)
{
    const size_t most = g->n_nodes * (GRAPH_LAYOUTS + 1) + g->n_outputs;
    struct lowered l = {.graph = g, .dtype = t};
    struct lowering x = {.l = &l, .layout = layout, .why = why};
    enum err e = ERR_NOMEM;

    l.tensors = calloc(most, sizeof *l.tensors);
    l.steps = calloc(most, sizeof *l.steps);
    l.slot_bytes = calloc(most, sizeof *l.slot_bytes);
    l.arguments = calloc(g->n_nodes + g->n_outputs, sizeof *l.arguments);
    x.made = malloc(g->n_nodes * GRAPH_LAYOUTS * sizeof *x.made);
    if (l.tensors && l.steps && l.slot_bytes && l.arguments && x.made) {
        memset(x.made, -1, g->n_nodes * GRAPH_LAYOUTS * sizeof *x.made);
        e = lower_all(&x);
        assert(l.n_tensors <= most && l.n_steps <= most && l.n_slots <= l.n_tensors);
    }
    if (e == ERR_NOMEM)
        why_set(why, e, "out of memory");
    free(x.made);
    if (e)
        lowered_fini(&l);
    else
        *out = l;
    return e;
}

void lowered_fini(struct lowered *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < l->n_steps; i++)
        free(l->steps[i].workload);
    free(l->steps);
    free(l->tensors);
    free(l->slot_bytes);
    free(l->arguments);
    *l = (struct lowered){.graph = NULL};
}
