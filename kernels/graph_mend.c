/* SPDX-License-Identifier: MIT */
#include "kernels/graph_mend.h"

#include "core/buf.h"
#include "kernels/graph_lower.h"
#include "kernels/graph_ops.h"
#include "kernels/strided_copy/strided_copy.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_OF_NAME 16 /* "range_1234" */

/* A graph while nodes are put in front of node `at`. */
struct mending {
    struct range_bucket *b;
    size_t at, n_named;
    struct why *why;
};

static struct graph_node *node_at(struct mending *x)
{
    return &x->b->graph.nodes[x->at];
}

static enum err grow(struct mending *x)
{
    struct graph *g = &x->b->graph;
    const size_t cap = 2 * g->cap_nodes + 8;
    struct graph_node *nodes;
    struct range_place *places;

    if (g->n_nodes >= GRAPH_MAX_NODES)
        return why_set(x->why, ERR_LIMIT, "more than %d tensors", GRAPH_MAX_NODES);
    if (g->n_nodes < g->cap_nodes)
        return ERR_OK;
    nodes = realloc(g->nodes, cap * sizeof *nodes);
    g->nodes = nodes ? nodes : g->nodes;
    places = realloc(x->b->places, cap * sizeof *places);
    x->b->places = places ? places : x->b->places;
    if (!nodes || !places)
        return why_set(x->why, ERR_NOMEM, "out of memory");
    g->cap_nodes = cap;
    return ERR_OK;
}

/* Puts a node in front of the one at hand, which others know by its position. */
static enum err put_node(struct mending *x, const struct graph_node *n)
{
    struct range_bucket *b = x->b;
    struct graph *g = &b->graph;
    const enum err e = grow(x);

    if (e)
        return e;
    memmove(&g->nodes[x->at + 1], &g->nodes[x->at], (g->n_nodes - x->at) * sizeof g->nodes[0]);
    memmove(&b->places[x->at + 1], &b->places[x->at], (g->n_nodes - x->at) * sizeof b->places[0]);
    g->nodes[x->at] = *n;
    b->places[x->at] = (struct range_place){.n = 0};
    g->n_nodes++;
    for (size_t i = x->at + 1; i < g->n_nodes; i++)
        for (int k = 0; k < g->nodes[i].n_in; k++)
            g->nodes[i].in[k] += g->nodes[i].in[k] >= (int)x->at;
    for (size_t k = 0; k < g->n_outputs; k++)
        g->outputs[k] += g->outputs[k] >= (int)x->at;
    x->at++;
    return ERR_OK;
}

/* The same with a name that no other has; *out: its position. */
static enum err put_named(struct mending *x, struct graph_node *n, int *out)
{
    do
        snprintf(n->name, ROOM_OF_NAME, "range_%zu", ++x->n_named);
    while (graph_node_find(&x->b->graph, n->name) >= 0);
    *out = (int)x->at;
    return put_node(x, n);
}

static enum err reshape(struct mending *x, int from, const struct graph_shape *s, int *out)
{
    struct graph_node n = {.op = GRAPH_RESHAPE, .in = {from}, .n_in = 1, .shape = *s};

    return put_named(x, &n, out);
}

static enum err eltwise(struct mending *x, const char *calls, int a, int b, const struct graph_shape *s, int *out)
{
    struct graph_node n = {.op = GRAPH_ELTWISE, .in = {a, b}, .n_in = 2, .shape = *s};

    snprintf(n.words, sizeof n.words, "f=%s", calls);
    return put_named(x, &n, out);
}

/* Places of a tensor along the dimension, in another order or one of them. */
static enum err gather(struct mending *x, int from, const struct range_axis *a, int at, int64_t n_rows, int *out)
{
    const struct graph_shape table = {3, {a->outer, x->b->size + a->more, a->inner}};
    struct graph_node n = {.op = GRAPH_GATHER, .in = {0, at}, .n_in = 2, .shape = {3, {a->outer, n_rows, a->inner}}};
    const enum err e = reshape(x, from, &table, &n.in[0]);

    return e ? e : put_named(x, &n, out);
}

/* The node at hand gives what another one does, in its own shape. */
static void give(struct mending *x, int of)
{
    struct graph_node *n = node_at(x);

    n->op = GRAPH_RESHAPE;
    n->in[0] = of;
    n->n_in = 1;
    n->words[0] = '\0';
}

/* ---- how each is made exact ---- */

typedef enum err how(struct mending *x, const struct mend *m);

static enum err read_lengths(struct mending *x, const struct mend *m)
{
    struct graph_node *n = node_at(x);
    const struct graph_node *lengths = &x->b->graph.nodes[x->b->made[RANGE_LENGTHS]];
    const size_t n_words = strlen(n->words);

    (void)m;
    if (graph_reads_lengths(n) || n_words + sizeof " lengths=1" > sizeof n->words ||
        x->b->graph.nodes[n->in[0]].shape.dim[0] != lengths->shape.dim[0])
        return why_set(x->why, ERR_UNSUPPORTED, "%s: attention of another batch, or with lengths of its own", n->name);
    snprintf(n->words + n_words, sizeof n->words - n_words, "%slengths=1", n_words ? " " : "");
    n->in[n->n_in++] = x->b->made[RANGE_LENGTHS];
    return ERR_OK;
}

static bool is_mean(const struct graph_node *n)
{
    return n->op == GRAPH_REDUCE && strstr(n->words, "kind=mean");
}

/* A mean over the bucket's places becomes one over those that are there; as a sum it could be too large for a half. */
static enum err share(struct mending *x)
{
    struct graph_node mean = *node_at(x);
    int at;
    const enum err e = put_named(x, &mean, &at);
    struct graph_node *n = node_at(x);

    if (e)
        return e;
    n->op = GRAPH_ELTWISE;
    n->in[0] = at;
    n->in[1] = x->b->made[RANGE_SHARE];
    n->n_in = 2;
    snprintf(n->words, sizeof n->words, "f=mul(a,b)");
    return ERR_OK;
}

static enum err blank(struct mending *x, const struct mend *m)
{
    const int from = node_at(x)->in[m->which];
    const struct graph_shape whole = x->b->graph.nodes[from].shape;
    const struct graph_shape table = {3, {m->axis.outer, x->b->size + m->axis.more, m->axis.inner}};
    char calls[64];
    int at;
    enum err e = reshape(x, from, &table, &at);

    snprintf(calls, sizeof calls, "where(a,b,%s)", m->blank);
    if (!e)
        e = eltwise(x, calls, x->b->made[RANGE_SEEN], at, &table, &at);
    if (!e)
        e = reshape(x, at, &whole, &at);
    if (e)
        return e;
    node_at(x)->in[m->which] = at;
    return is_mean(node_at(x)) ? share(x) : ERR_OK;
}

/* The words of a copy, of `n` bytes; what is put around it stays. */
static enum err put_copy(const struct strided_copy *s, char *words, size_t n, struct why *why)
{
    const char *around = words + strcspn(words, "p");
    struct buf out;
    enum err e;

    buf_init(&out, n - 1);
    buf_printf(&out, "at=%lld", (long long)s->at);
    for (int d = 0; d < STRIDED_COPY_RANK; d++)
        if (d == 0 || s->dim[d].n != 1)
            buf_printf(&out, " d%d=%lld,%lld", d, (long long)s->dim[d].n, (long long)s->dim[d].stride);
    buf_printf(&out, "%s%s", *around ? " " : "", around);
    e = out.failed ? why_set(why, ERR_LIMIT, "a copy of more than %zu characters", n) : ERR_OK;
    if (!e)
        memcpy(words, buf_text(&out), out.len + 1);
    buf_fini(&out);
    return e;
}

static enum err copy_of(struct mending *x, struct strided_copy *out)
{
    struct workload w;
    struct buf text;
    enum err e;

    buf_init(&text, WORKLOAD_MAX_TEXT);
    e = graph_node_workload(&x->b->graph, x->at, DTYPE_F32, 0, &text, x->why);
    if (!e)
        e = workload_parse(buf_text(&text), &w, x->why);
    if (!e)
        *out = strided_copy_of(&w);
    buf_fini(&text);
    return e;
}

/* A distance in x, in what is left of it where one place along the dimension is. */
static int64_t without(int64_t distance, const struct range_axis *a, int64_t size)
{
    const int64_t block = a->inner * (size + a->more);

    return distance < 0 ? distance : distance / block * a->inner + distance % block % a->inner;
}

static enum err take_last(struct mending *x, const struct mend *m)
{
    struct strided_copy s;
    int at;
    enum err e = copy_of(x, &s);

    if (!e)
        e = gather(x, node_at(x)->in[0], &m->axis, x->b->made[RANGE_LAST], 1, &at);
    if (e)
        return e;
    s.at = without(s.at, &m->axis, x->b->size);
    for (int d = 0; d < STRIDED_COPY_RANK; d++)
        s.dim[d].stride = without(s.dim[d].stride, &m->axis, x->b->size);
    node_at(x)->in[0] = at;
    return put_copy(&s, node_at(x)->words, sizeof node_at(x)->words, x->why);
}

static enum err turn(struct mending *x, const struct mend *m)
{
    struct graph_node forwards = *node_at(x);
    struct strided_copy s;
    int at;
    enum err e = copy_of(x, &s);

    if (!e) {
        s.at += (s.dim[m->which].n - 1) * s.dim[m->which].stride;
        s.dim[m->which].stride *= -1;
        e = put_copy(&s, forwards.words, sizeof forwards.words, x->why);
    }
    if (!e)
        e = put_named(x, &forwards, &at);
    if (!e)
        e = gather(x, at, &m->axis, x->b->made[RANGE_BACK], x->b->size + m->axis.more, &at);
    if (!e)
        give(x, at);
    return e;
}

/* What is new stands behind the bucket's cache. */
static enum err join(struct mending *x, const struct mend *m)
{
    struct graph_node apart = *node_at(x);
    int at;
    enum err e = put_named(x, &apart, &at);

    if (!e)
        e = gather(x, at, &m->axis, x->b->made[RANGE_JOIN], x->b->size + m->axis.more, &at);
    if (!e)
        give(x, at);
    return e;
}

static enum err last_state(struct mending *x, const struct mend *m)
{
    int at;
    const enum err e = gather(x, node_at(x)->in[0], &m->axis, x->b->made[RANGE_LAST], 1, &at);

    if (!e)
        give(x, at);
    return e;
}

static enum err count_rows(struct mending *x, const struct mend *m)
{
    const int rows = node_at(x)->in[1];
    int at;
    const enum err e =
        eltwise(x, "add(a,mul(less(a,0),add(b,1)))", rows, x->b->made[RANGE_LAST], &x->b->graph.nodes[rows].shape, &at);

    (void)m;
    if (!e)
        node_at(x)->in[1] = at;
    return e;
}

static const struct {
    how *how;
    enum range_made reads;
} kinds[N_MEND_KINDS] = {
    [MEND_LENGTHS] = {read_lengths, RANGE_LENGTHS},
    [MEND_BLANK] = {blank, RANGE_SEEN},
    [MEND_LAST] = {take_last, RANGE_LAST},
    [MEND_BACK] = {turn, RANGE_BACK},
    [MEND_STATE] = {last_state, RANGE_LAST},
    [MEND_ROWS] = {count_rows, RANGE_LAST},
    [MEND_JOIN] = {join, RANGE_JOIN},
};

/* ---- what a run is told ---- */

/* How many sequences the first attention has that reads lengths. */
static int64_t batch_of(const struct graph *g, const struct mend *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (list[i].kind == MEND_LENGTHS)
            return g->nodes[g->nodes[list[i].i_node].in[0]].shape.dim[0];
    return 1;
}

/* Which a mend reads, and how many places than the size they tell of: all as many. */
static enum err need(struct mending *x, const struct mend *m, bool needed[N_RANGE_MADE])
{
    const struct graph_node *n = &x->b->graph.nodes[m->i_node];
    const enum range_made which[] = {kinds[m->kind].reads,
                                     m->kind == MEND_BLANK && is_mean(n) ? RANGE_SHARE : kinds[m->kind].reads};

    for (int i = 0; i < 2; i++) {
        if (needed[which[i]] && x->b->more[which[i]] != m->axis.more)
            return why_set(x->why, ERR_UNSUPPORTED, "%s: it reads how many places there are, and others read of more",
                           n->name);
        needed[which[i]] = true;
        x->b->more[which[i]] = m->axis.more;
    }
    return ERR_OK;
}

/* Puts a node for each that is needed behind the inputs; *first: that place, *n_made: how many. */
static enum err put_made(struct mending *x, const struct mend *list, size_t n, const bool needed[N_RANGE_MADE],
                         size_t *first, size_t *n_made)
{
    const int64_t size = x->b->size, *more = x->b->more;
    const struct graph_node nodes[N_RANGE_MADE] = {
        [RANGE_LENGTHS] = {.name = "range_lengths",
                           .op = GRAPH_LENGTHS,
                           .shape = {1, {batch_of(&x->b->graph, list, n)}}},
        [RANGE_SEEN] = {.name = "range_seen", .shape = {2, {size + more[RANGE_SEEN], 1}}},
        [RANGE_LAST] = {.name = "range_last", .shape = {1, {1}}},
        [RANGE_BACK] = {.name = "range_back", .shape = {1, {size + more[RANGE_BACK]}}},
        [RANGE_SHARE] = {.name = "range_share", .shape = {1, {1}}},
        [RANGE_JOIN] = {.name = "range_join", .shape = {1, {size + more[RANGE_JOIN]}}},
    };
    enum err e = ERR_OK;

    x->at = 0;
    for (size_t i = 0; i < x->b->graph.n_nodes; i++)
        x->at = graph_is_given(&x->b->graph.nodes[i]) ? i + 1 : x->at;
    *first = x->at;
    for (int k = RANGE_GIVEN + 1; k < N_RANGE_MADE && !e; k++)
        if (needed[k]) {
            x->b->made[k] = (int)x->at;
            e = put_node(x, &nodes[k]);
        }
    *n_made = x->at - *first;
    return e;
}

enum err graph_mend_all(struct range_bucket *b, const struct mend *list, size_t n, struct why *why)
{
    struct mending x = {.b = b, .why = why};
    bool needed[N_RANGE_MADE] = {false};
    size_t first = 0, n_made = 0;
    enum err e = ERR_OK;

    for (size_t i = 0; i < n && !e; i++)
        e = need(&x, &list[i], needed);
    if (!e)
        e = put_made(&x, list, n, needed, &first, &n_made);
    for (size_t i = n; i-- > 0 && !e;) { /* backwards, so that nodes in front stay where they are */
        if (list[i].i_node < first)
            return why_set(why, ERR_UNSUPPORTED,
                           "%s stands before an input, of which it would read how many places there are",
                           b->graph.nodes[list[i].i_node].name);
        if (i + 1 == n || list[i + 1].i_node != list[i].i_node)
            x.at = list[i].i_node + n_made;
        e = kinds[list[i].kind].how(&x, &list[i]);
    }
    return e;
}
