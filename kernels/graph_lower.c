/* SPDX-License-Identifier: MIT */
#include "kernels/graph_lower.h"

#include "core/buf.h"
#include "core/err.h"
#include "kernels/epilogue.h"
#include "kernels/images.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int lanes_of[GRAPH_LAYOUTS] = {1, 4, 8, 16};

static const struct graph_node *read_by(const struct graph *g, size_t i)
{
    assert(i < g->n_nodes && g->nodes[i].x >= 0 && g->nodes[i].x < (int)i);
    return &g->nodes[g->nodes[i].x];
}

/* The layout of a tensor of node `i` under a workload's layout: that, where its channels allow. */
static int fitting(const struct graph *g, size_t i, int layout)
{
    assert(i < g->n_nodes && layout >= 0 && layout < GRAPH_LAYOUTS);
    return g->nodes[i].key[GRAPH_C] % lanes_of[layout] ? 0 : layout;
}

static bool has_layout(enum graph_op op)
{
    return op == GRAPH_CONV2D || op == GRAPH_DEPTHWISE || op == GRAPH_POOL2D || op == GRAPH_ADD || op == GRAPH_CONCAT;
}

unsigned graph_node_layouts(const struct graph *g, size_t i, enum dtype t)
{
    unsigned bits = 1;

    if (!has_layout(g->nodes[i].op))
        return bits;
    for (int l = 1; l < GRAPH_LAYOUTS; l++)
        if (g->nodes[i].op == GRAPH_CONCAT
                ? fitting(g, (size_t)g->nodes[i].residual, l) && fitting(g, (size_t)g->nodes[i].x, l)
                : fitting(g, i, l) || fitting(g, (size_t)g->nodes[i].x, l))
            bits |= 1u << l;
    return dtype_is_bytes(t) && (bits & ~1u) ? bits & ~1u : bits;
}

int graph_gives(const struct graph *g, size_t i, int layout)
{
    return fitting(g, i, layout);
}

int graph_wants_x(const struct graph *g, size_t i, int layout)
{
    const struct graph_node *x = read_by(g, i);

    if (!has_layout(g->nodes[i].op))
        return x->key[GRAPH_H] * x->key[GRAPH_W] == 1 ? GRAPH_ANY_LAYOUT : 0;
    return fitting(g, (size_t)g->nodes[i].x, layout);
}

int graph_wants_residual(const struct graph *g, size_t i, int layout)
{
    return fitting(g, i, layout);
}

bool graph_differs(const struct graph *g, size_t i, int from, int to)
{
    return to != GRAPH_ANY_LAYOUT && from != to && g->nodes[i].key[GRAPH_H] * g->nodes[i].key[GRAPH_W] > 1;
}

/* The last dense layer of an int8 network gives its sums: to softmax, which alone reads it, or to the caller. */
static bool gives_sums(const struct graph *g, size_t i)
{
    bool sums = g->nodes[i].op == GRAPH_DENSE && i + 1 == g->n_nodes;

    for (size_t k = i + 1; k < g->n_nodes && !sums; k++)
        sums = g->nodes[k].op == GRAPH_SOFTMAX && g->nodes[k].x == (int)i;
    return sums;
}

static const char *epilogue_of_node(const struct graph *g, size_t i, enum dtype t)
{
    const struct graph_node *n = &g->nodes[i];
    const unsigned add = dtype_is_bytes(t) ? EPILOGUE_JOIN : EPILOGUE_ADD;

    return epilogue_word(EPILOGUE_BIAS | (n->residual >= 0 ? add : 0) | (n->relu ? EPILOGUE_RELU : 0) |
                         (n->relu6 ? EPILOGUE_RELU6 /* refused of bytes with the workload */
                          : dtype_is_bytes(t) && !gives_sums(g, i) ? EPILOGUE_REQUANT
                                                                   : 0));
}

/* "n=1 c=64 h=56 w=56" of a node's tensor. */
static void put_image(struct buf *b, const struct graph_node *n, int64_t batch)
{
    buf_printf(b, " n=%lld c=%lld h=%lld w=%lld", (long long)batch, (long long)n->key[GRAPH_C],
               (long long)n->key[GRAPH_H], (long long)n->key[GRAPH_W]);
}

static void put_window(struct buf *b, const struct graph_node *n)
{
    buf_printf(b, " r=%lld s=%lld stride=%lld,%lld pad=%lld,%lld,%lld,%lld", (long long)n->key[GRAPH_R],
               (long long)n->key[GRAPH_S], (long long)n->key[GRAPH_STRIDE_H], (long long)n->key[GRAPH_STRIDE_W],
               (long long)n->key[GRAPH_TOP], (long long)n->key[GRAPH_LEFT], (long long)n->key[GRAPH_BOTTOM],
               (long long)n->key[GRAPH_RIGHT]);
}

static void put_conv(struct buf *b, const struct graph *g, size_t i, enum dtype t, int64_t batch, int layout)
{
    const struct graph_node *n = &g->nodes[i];

    put_image(b, read_by(g, i), batch);
    if (n->op == GRAPH_CONV2D)
        buf_printf(b, " k=%lld", (long long)n->key[GRAPH_K]);
    put_window(b, n);
    buf_printf(b, " dilation=%lld,%lld", (long long)n->key[GRAPH_DIL_H], (long long)n->key[GRAPH_DIL_W]);
    if (n->key[GRAPH_GROUPS] > 1)
        buf_printf(b, " groups=%lld", (long long)n->key[GRAPH_GROUPS]);
    buf_printf(b, " layout=%s epilogue=%s", images_layouts[layout], epilogue_of_node(g, i, t));
}

static void put_pool(struct buf *b, const struct graph *g, size_t i, enum dtype t, int64_t batch, int layout)
{
    (void)t;
    put_image(b, read_by(g, i), batch);
    put_window(b, &g->nodes[i]);
    buf_printf(b, " kind=%s layout=%s", g->nodes[i].avg ? "avg" : "max", images_layouts[layout]);
}

static void put_dense(struct buf *b, const struct graph *g, size_t i, enum dtype t, int64_t batch, int layout)
{
    const struct graph_node *x = read_by(g, i);

    (void)layout;
    buf_printf(b, " m=%lld n=%lld k=%lld epilogue=%s", (long long)batch, (long long)g->nodes[i].key[GRAPH_K],
               (long long)(x->key[GRAPH_C] * x->key[GRAPH_H] * x->key[GRAPH_W]), epilogue_of_node(g, i, t));
}

static void put_add(struct buf *b, const struct graph *g, size_t i, enum dtype t, int64_t batch, int layout)
{
    (void)t;
    put_image(b, &g->nodes[i], batch);
    buf_printf(b, " layout=%s relu=%d", images_layouts[fitting(g, i, layout)], g->nodes[i].relu ? 1 : 0);
}

static void put_concat(struct buf *b, const struct graph *g, size_t i, enum dtype t, int64_t batch, int layout)
{
    (void)t;
    put_image(b, read_by(g, i), batch);
    buf_printf(b, " c2=%lld layout=%s", (long long)g->nodes[g->nodes[i].residual].key[GRAPH_C], images_layouts[layout]);
}

static void put_softmax(struct buf *b, const struct graph *g, size_t i, enum dtype t, int64_t batch, int layout)
{
    (void)t;
    (void)layout;
    buf_printf(b, " m=%lld n=%lld", (long long)batch, (long long)g->nodes[i].key[GRAPH_C]);
}

static void (*const put_sizes[N_GRAPH_OPS])(struct buf *b, const struct graph *g, size_t i, enum dtype t, int64_t batch,
                                            int layout) = {
    [GRAPH_CONV2D] = put_conv, [GRAPH_DEPTHWISE] = put_conv, [GRAPH_POOL2D] = put_pool,     [GRAPH_CONCAT] = put_concat,
    [GRAPH_DENSE] = put_dense, [GRAPH_ADD] = put_add,        [GRAPH_SOFTMAX] = put_softmax,
};

/* Appends the canonical form of a text. */
static enum err canonical(const char *text, struct buf *out, struct why *why)
{
    struct workload w;
    enum err e = workload_parse(text, &w, why);

    return e ? e : workload_text(&w, out);
}

enum err graph_node_workload(const struct graph *g, size_t i, enum dtype t, int64_t batch, int layout, struct buf *out,
                             struct why *why)
{
    const enum graph_op op = g->nodes[i].op;
    struct buf text;
    enum err e;

    if (dtype_is_bytes(t) && op == GRAPH_SOFTMAX && read_by(g, i)->op != GRAPH_DENSE)
        return why_set(why, ERR_INPUT, "%s of %s: softmax of int8 takes the sums of a dense layer", g->nodes[i].name,
                       g->name);
    buf_init(&text, WORKLOAD_MAX_TEXT);
    assert(put_sizes[op] != NULL);
    buf_printf(&text, "%s %s", graph_op_name(op), dtype_name(op == GRAPH_SOFTMAX ? dtype_of_weights(t) : t));
    put_sizes[op](&text, g, i, t, batch, layout);
    e = text.failed ? text.failed : canonical(buf_text(&text), out, why);
    buf_fini(&text);
    return e ? why_prefix(why, e, "%s of %s", g->nodes[i].name, g->name) : ERR_OK;
}

bool graph_plain_workload(const struct graph *g, size_t i, struct buf *out)
{
    static const char key[] = " epilogue=";
    const enum graph_op op = g->nodes[i].op;
    char *at;

    if ((op != GRAPH_CONV2D && op != GRAPH_DEPTHWISE && op != GRAPH_DENSE) ||
        graph_node_workload(g, i, DTYPE_F32, graph_batch(g), 0, out, NULL))
        return false;
    at = strstr(out->data, key);
    if (at) {
        const size_t n = sizeof key - 1 + strcspn(at + sizeof key - 1, " ");

        memmove(at, at + n, strlen(at + n) + 1);
        out->len -= n;
    }
    return true;
}

enum err graph_transform_workload(const struct graph *g, size_t i, enum dtype t, int64_t batch, int from, int to,
                                  struct buf *out, struct why *why)
{
    struct buf text;
    enum err e;

    buf_init(&text, WORKLOAD_MAX_TEXT);
    buf_printf(&text, "transform %s", dtype_name(t));
    put_image(&text, &g->nodes[i], batch);
    buf_printf(&text, " from=%s to=%s", images_layouts[from], images_layouts[to]);
    e = text.failed ? text.failed : canonical(buf_text(&text), out, why);
    buf_fini(&text);
    return e ? why_prefix(why, e, "%s of %s", g->nodes[i].name, g->name) : ERR_OK;
}

int lowered_operand(const char *tensor)
{
    static const struct {
        const char *name;
        int index;
    } operands[] = {{"x", 0}, {"a", 0}, {"residual", 1}, {"b", 1}, {"y", -1}};

    for (size_t i = 0; i < sizeof operands / sizeof operands[0]; i++)
        if (strcmp(tensor, operands[i].name) == 0)
            return operands[i].index;
    return -2;
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
    x->n_bytes = l->batch * n->key[GRAPH_C] * n->key[GRAPH_H] * n->key[GRAPH_W] * (int64_t)dtype_bytes(t);
    assert(x->n_bytes > 0 && layout >= 0 && layout < GRAPH_LAYOUTS);
    x->first = (int)l->n_steps;
    x->last = x->first;
    x->i_slot = -1;
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
    for (int k = 0; k < n_in; k++)
        assert(in[k] >= 0 && (size_t)in[k] < l->n_tensors);
    for (int k = 0; k < n_in; k++)
        l->tensors[in[k]].last = (int)l->n_steps;
    l->n_steps++;
}

static enum err add_transform(struct lowering *x, size_t i_node, int from, int to)
{
    struct lowered *l = x->l;
    const enum dtype t = l->dtype;
    char suffix[16];
    struct buf text;
    int *made = &x->made[i_node * GRAPH_LAYOUTS];
    enum err e;

    buf_init(&text, WORKLOAD_MAX_TEXT);
    e = graph_transform_workload(l->graph, i_node, t, l->batch, from, to, &text, x->why);
    if (e) {
        buf_fini(&text);
        return e;
    }
    snprintf(suffix, sizeof suffix, "_%s", images_layouts[to]);
    assert(from != to && made[from] >= 0 && made[to] < 0);
    made[to] = add_tensor(l, i_node, suffix, to, t);
    snprintf(suffix, sizeof suffix, "_to_%s", images_layouts[to]);
    add_step(l, i_node, suffix, &text, &made[from], 1, made[to]);
    l->steps[l->n_steps - 1].is_transform = true;
    return ERR_OK;
}

/* The tensor of a node in the layout that a reader wants, transformed once for all that want the same. */
static enum err tensor_as(struct lowering *x, int i_node, int wants, int *out)
{
    const struct graph *g = x->l->graph;
    const int gives = graph_gives(g, (size_t)i_node, x->layout[i_node]);
    const int *made = &x->made[i_node * GRAPH_LAYOUTS];
    const bool differs = graph_differs(g, (size_t)i_node, gives, wants);
    const enum err e = differs && made[wants] < 0 ? add_transform(x, (size_t)i_node, gives, wants) : ERR_OK;

    assert(e || made[differs ? wants : gives] >= 0);
    if (!e)
        *out = made[differs ? wants : gives];
    return e;
}

static enum dtype output_dtype(const struct graph *g, size_t i, enum dtype t)
{
    if (!dtype_is_bytes(t))
        return t;
    return g->nodes[i].op == GRAPH_SOFTMAX ? DTYPE_F32 : gives_sums(g, i) ? DTYPE_I32 : t;
}

static enum err lower_node(struct lowering *x, size_t i)
{
    struct lowered *l = x->l;
    const struct graph_node *n = &l->graph->nodes[i];
    const int layout = x->layout[i], gives = graph_gives(l->graph, i, layout);
    int in[2] = {-1, -1}, out;
    struct buf text;
    enum err e = tensor_as(x, n->x, graph_wants_x(l->graph, i, layout), &in[0]);

    if (!e && n->residual >= 0)
        e = tensor_as(x, n->residual, graph_wants_residual(l->graph, i, layout), &in[1]);
    if (e)
        return e;
    buf_init(&text, WORKLOAD_MAX_TEXT);
    e = graph_node_workload(l->graph, i, l->dtype, l->batch, layout, &text, x->why);
    if (e) {
        buf_fini(&text);
        return e;
    }
    out = add_tensor(l, i, "", gives, output_dtype(l->graph, i, l->dtype));
    add_step(l, i, "", &text, in, n->residual >= 0 ? 2 : 1, out);
    x->made[i * GRAPH_LAYOUTS + (size_t)gives] = out;
    return ERR_OK;
}

/* Is the slot free before step `first`, after the tensors [0, n) that were given one? */
static bool is_free(const struct lowered_tensor *tensors, size_t n, int slot, int first)
{
    for (size_t i = 0; i < n; i++)
        if (tensors[i].i_slot == slot && tensors[i].last >= first)
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

size_t lowered_plan_memory(struct lowered_tensor *tensors, size_t n, int n_steps, int64_t *slot_bytes)
{
    size_t n_slots = 0;

    for (size_t i = 0; i < n; i++) { /* tensors stand in the order in which they are written */
        struct lowered_tensor *t = &tensors[i];
        int best = -1;

        t->i_slot = -1;
        if (t->first < 0 || t->last >= n_steps)
            continue;
        for (int k = 0; k < (int)n_slots; k++)
            if (is_free(tensors, i, k, t->first) &&
                (best < 0 || fits_better(slot_bytes[k], slot_bytes[best], t->n_bytes)))
                best = k;
        if (best < 0) {
            best = (int)n_slots++;
            slot_bytes[best] = 0;
        }
        if (slot_bytes[best] < t->n_bytes)
            slot_bytes[best] = t->n_bytes;
        assert(best < (int)n_slots && slot_bytes[best] >= t->n_bytes);
        assert(t->first <= t->last && is_free(tensors, i, best, t->first)); /* no live tensor is there */
        t->i_slot = best;
    }
    return n_slots;
}

static enum err lower_all(struct lowering *x)
{
    struct lowered *l = x->l;
    enum err e = ERR_OK;

    x->made[0] = add_tensor(l, 0, "", 0, l->dtype);
    l->tensors[0].first = -1;
    for (size_t i = 1; i < l->graph->n_nodes && !e; i++)
        e = lower_node(x, i);
    if (e)
        return e;
    l->tensors[l->steps[l->n_steps - 1].out].last = (int)l->n_steps;
    l->n_slots = lowered_plan_memory(l->tensors, l->n_tensors, (int)l->n_steps, l->slot_bytes);
    return ERR_OK;
}

enum err graph_lower(const struct graph *g, enum dtype t, int64_t batch, const int *layout, struct lowered *out,
                     struct why *why)
{
    const size_t most = g->n_nodes * (GRAPH_LAYOUTS + 1) + 1;
    struct lowered l = {.graph = g, .dtype = t, .batch = batch};
    struct lowering x = {.l = &l, .layout = layout, .why = why};
    enum err e = ERR_NOMEM;

    l.tensors = calloc(most, sizeof *l.tensors);
    l.steps = calloc(most, sizeof *l.steps);
    l.slot_bytes = calloc(most, sizeof *l.slot_bytes);
    x.made = malloc(g->n_nodes * GRAPH_LAYOUTS * sizeof *x.made);
    if (l.tensors && l.steps && l.slot_bytes && x.made) {
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
    *l = (struct lowered){.graph = NULL};
}
