/* SPDX-License-Identifier: MIT */
/* order.c - nodes of a file in an order in which each stands behind those that it reads. */
#include "onnx/expand.h"
#include "onnx/model.h"

#include <assert.h>

/* Nodes while they are put in order. */
struct ordering {
    struct onnx_import *m;
    int *maker;         /* [n_values] 1 + the node that makes a value, 0: none */
    size_t *next_input; /* [n] of a node that waits for its inputs; n_input + 1: it has its place */
    size_t *waiting, n_waiting;
    size_t *order, n_ordered;
};

/* The first node that makes an input from *k on and has no place yet, 1 more; 0: there is none. */
static size_t missing_maker(const struct ordering *o, const Onnx__NodeProto *node, size_t *k)
{
    while (*k < node->n_input) {
        const struct onnx_value *v = onnx_in(o->m, node, (*k)++);
        const size_t maker = v ? (size_t)o->maker[v - o->m->values] : 0;

        if (maker && !o->next_input[maker - 1])
            return maker;
    }
    return 0;
}

/* Node i behind all that it needs; one that waits for itself is put where it is, and refused when it is read. */
static void put_behind(struct ordering *o, size_t i)
{
    const Onnx__GraphProto *g = o->m->file.model->graph;

    o->next_input[i] = 1;
    o->waiting[o->n_waiting++] = i;
    while (o->n_waiting) {
        const size_t at = o->waiting[o->n_waiting - 1];
        size_t k = o->next_input[at] - 1, maker = missing_maker(o, g->node[at], &k);

        assert(o->n_waiting <= g->n_node);
        o->next_input[at] = k + 1;
        if (maker) {
            o->next_input[maker - 1] = 1;
            o->waiting[o->n_waiting++] = maker - 1;
        } else {
            o->order[o->n_ordered++] = at;
            o->n_waiting--;
        }
    }
}

enum err onnx_order_nodes(struct onnx_import *m, struct why *why)
{
    Onnx__GraphProto *g = m->file.model->graph;
    const size_t n = g->n_node;
    struct ordering o = {.m = m, .maker = onnx_memory_take(&m->file.memory, m->n_values * sizeof *o.maker)};
    size_t *rooms = onnx_memory_take(&m->file.memory, 3 * n * sizeof *rooms);
    Onnx__NodeProto **nodes = onnx_memory_take(&m->file.memory, n * sizeof(Onnx__NodeProto *));
    struct onnx_origin *origins = onnx_memory_take(&m->file.memory, n * sizeof *origins);

    if (!o.maker || !rooms || !nodes || !origins)
        return why_set(why, ERR_LIMIT, "more nodes than a model of this size may have");
    o.next_input = rooms;
    o.waiting = rooms + n;
    o.order = rooms + 2 * n;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < g->node[i]->n_output; k++) {
            const struct onnx_value *v = onnx_out(m, g->node[i], k);

            if (v)
                o.maker[v - m->values] = (int)i + 1;
        }
    for (size_t i = 0; i < n; i++)
        if (!o.next_input[i])
            put_behind(&o, i);
    assert(o.n_ordered == n);
    for (size_t i = 0; i < n; i++) {
        nodes[i] = g->node[o.order[i]];
        origins[i] = m->origins ? m->origins[o.order[i]] : (struct onnx_origin){NULL, NULL};
    }
    g->node = nodes;
    m->origins = origins;
    return ERR_OK;
}
