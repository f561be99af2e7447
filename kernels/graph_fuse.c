/* SPDX-License-Identifier: MIT */
#include "kernels/graph_fuse.h"

#include "core/err.h"
#include "kernels/epilogue.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Calls as models have them; 1/6 in the shortest form of a float. */
static const struct {
    const char *words;
    unsigned curve;
} calls[] = {
    {"f=hard_swish(a)", EPILOGUE_HARD_SWISH},
    {"f=mul(a,hard_sigmoid(a,0.16666667,0.5))", EPILOGUE_HARD_SWISH},
    {"f=mul(hard_sigmoid(a,0.16666667,0.5),a)", EPILOGUE_HARD_SWISH},
    {"f=mul(a,div(clip(add(a,3),0,6),6))", EPILOGUE_HARD_SWISH},
    {"f=div(mul(a,clip(add(a,3),0,6)),6)", EPILOGUE_HARD_SWISH},
    {"f=swish(a)", EPILOGUE_SWISH},
    {"f=mul(a,sigmoid(a))", EPILOGUE_SWISH},
    {"f=mul(sigmoid(a),a)", EPILOGUE_SWISH},
    {"f=mul(a,sigmoid(mul(a,1)))", EPILOGUE_SWISH},
    {"f=hard_sigmoid(a,0.16666667,0.5)", EPILOGUE_HARD_SIGMOID},
    {"f=sigmoid(a)", EPILOGUE_SIGMOID},
};

static unsigned curve_of(const struct graph_node *n)
{
    for (size_t i = 0; n->op == GRAPH_ELTWISE && n->n_in == 1 && i < sizeof calls / sizeof calls[0]; i++)
        if (strcmp(n->words, calls[i].words) == 0)
            return calls[i].curve;
    return 0;
}

static bool is_output(const struct graph *g, size_t i)
{
    for (size_t k = 0; k < g->n_outputs; k++)
        if (g->outputs[k] == (int)i)
            return true;
    return false;
}

#define SEVERAL SIZE_MAX

/* The only reader of each node; 0: none; SEVERAL, or the caller. */
static void list_readers(const struct graph *g, size_t *reader)
{
    memset(reader, 0, g->n_nodes * sizeof *reader);
    for (size_t i = 0; i < g->n_nodes; i++)
        for (int k = 0; k < g->nodes[i].n_in; k++) {
            size_t *of = &reader[g->nodes[i].in[k]];

            *of = *of && *of != i ? SEVERAL : i;
        }
    for (size_t k = 0; k < g->n_outputs; k++)
        reader[g->outputs[k]] = SEVERAL;
}

static bool has_open_sums(const struct graph_node *n)
{
    return (n->op == GRAPH_CONV2D || n->op == GRAPH_DEPTHWISE || graph_is_dense(n->op)) && !n->relu && !n->relu6 &&
           !n->curve && !n->bytes;
}

void graph_fusions(const struct graph *g, enum dtype t, size_t *with)
{
    list_readers(g, with);
    for (size_t i = 0; i < g->n_nodes; i++)
        if (dtype_is_bytes(t) || !has_open_sums(&g->nodes[i]) || with[i] == SEVERAL || !with[i] ||
            !curve_of(&g->nodes[with[i]]) || is_output(g, with[i]))
            with[i] = 0;
}

enum err graph_fuse(const struct graph *g, const size_t *with, struct graph *out, int *at)
{
    struct graph made = {.name = g->name, .n_outputs = g->n_outputs};

    made.nodes = calloc(g->n_nodes, sizeof *made.nodes);
    if (!made.nodes)
        return ERR_NOMEM;
    made.cap_nodes = g->n_nodes;
    memset(at, -1, g->n_nodes * sizeof *at);
    for (size_t i = 0; i < g->n_nodes; i++) {
        const size_t reader = with[i];
        struct graph_node *n = &made.nodes[made.n_nodes];

        if (at[i] >= 0) /* computed by an earlier one */
            continue;
        *n = g->nodes[i];
        assert(!reader || reader > i); /* it takes the place of what comes later */
        for (int k = 0; k < n->n_in; k++) {
            n->in[k] = at[n->in[k]];
            assert(n->in[k] >= 0 && (size_t)n->in[k] < made.n_nodes); /* nodes stand behind what they read */
        }
        n->curve = reader ? curve_of(&g->nodes[reader]) : n->curve;
        at[i] = (int)made.n_nodes++;
        if (reader)
            at[reader] = at[i];
    }
    for (size_t k = 0; k < g->n_outputs; k++)
        made.outputs[k] = at[g->outputs[k]];
    *out = made;
    return ERR_OK;
}

enum err graph_fuse_all(const struct graph *g, enum dtype t, struct graph *out, int *at)
{
    size_t *with = malloc(g->n_nodes * sizeof *with);
    int *own = at ? NULL : malloc(g->n_nodes * sizeof *own);
    enum err e = ERR_NOMEM;

    if (with && (at || own)) {
        graph_fusions(g, t, with);
        e = graph_fuse(g, with, out, at ? at : own);
    }
    free(with);
    free(own);
    return e;
}
