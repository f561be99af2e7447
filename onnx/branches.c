/* SPDX-License-Identifier: MIT */
#include "onnx/branches.h"

#include "onnx/model.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ENDING 24

/* The names that a branch makes, sorted; they get an ending. */
struct scope {
    const struct scope *around;
    const char **names;
    size_t n;
    int number;
};

struct inlining {
    struct onnx_memory *memory;
    Onnx__NodeProto **nodes;
    struct onnx_origin *origins;
    size_t n, cap;
    Onnx__TensorProto **constants;
    size_t n_constants, cap_constants;
    int n_branches;
    bool failed; /* no memory, or too many nodes */
};

static void *taken(struct inlining *x, size_t n)
{
    void *p = onnx_memory_take(x->memory, n);

    x->failed = x->failed || !p;
    return p;
}

/* The graph of a branch that can be put into another; NULL: it is none. */
static Onnx__GraphProto *branch_of(const Onnx__NodeProto *node, bool then)
{
    const Onnx__AttributeProto *a = onnx_attribute(node, then ? "then_branch" : "else_branch");

    return a && a->g && a->g->n_input == 0 && a->g->n_output == node->n_output && !a->g->n_sparse_initializer ? a->g
                                                                                                              : NULL;
}

static bool is_choice(const Onnx__NodeProto *node)
{
    return node->op_type && strcmp(node->op_type, "If") == 0 && (!node->domain || !*node->domain) &&
           node->n_input == 1 && node->n_output > 0 && branch_of(node, true) && branch_of(node, false);
}

/* ---- how much there will be ---- */

static void count(const Onnx__GraphProto *g, struct inlining *x)
{
    for (size_t i = 0; i < g->n_node; i++)
        if (is_choice(g->node[i])) {
            x->cap += g->node[i]->n_output;
            count(branch_of(g->node[i], true), x);
            count(branch_of(g->node[i], false), x);
        } else
            x->cap++;
    x->cap_constants += g->n_initializer;
}

/* ---- names ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A name as it stands in the whole graph: with the ending of the branch that makes it; "" where there is none. */
static char *name_in(struct inlining *x, const struct scope *s, char *name)
{
    char *made;
    size_t room;

    if (!name)
        return (char *)(uintptr_t) "";
    while (s && !bsearch(&name, s->names, s->n, sizeof *s->names, by_name))
        s = s->around;
    if (!s || !*name)
        return name;
    room = strlen(name) + MOST_ENDING;
    made = taken(x, room);
    if (made)
        snprintf(made, room, "%s:%d", name, s->number);
    return made;
}

static char **names_in(struct inlining *x, const struct scope *s, char **names, size_t n)
{
    char **made = taken(x, (n + 1) * sizeof *made);

    for (size_t i = 0; i < n && !x->failed; i++)
        made[i] = name_in(x, s, names[i]);
    return made;
}

static struct scope scope_of(struct inlining *x, const struct scope *around, const Onnx__GraphProto *g)
{
    struct scope s = {.around = around, .number = ++x->n_branches};
    size_t n = g->n_initializer;

    for (size_t i = 0; i < g->n_node; i++)
        n += g->node[i]->n_output;
    s.names = taken(x, (n + 1) * sizeof *s.names);
    for (size_t i = 0; i < g->n_initializer && !x->failed; i++)
        if (g->initializer[i]->name)
            s.names[s.n++] = g->initializer[i]->name;
    for (size_t i = 0; i < g->n_node && !x->failed; i++)
        for (size_t k = 0; k < g->node[i]->n_output; k++)
            s.names[s.n++] = g->node[i]->output[k];
    if (!x->failed)
        qsort(s.names, s.n, sizeof *s.names, by_name);
    return s;
}

/* ---- nodes ---- */

static void put(struct inlining *x, Onnx__NodeProto *node, const char *op, const struct onnx_branch *branch)
{
    assert(x->n < x->cap);
    x->origins[x->n] = (struct onnx_origin){op, branch};
    x->nodes[x->n++] = node;
}

/* A copy of a node with names as they stand in the whole graph; NULL: x->failed. */
static Onnx__NodeProto *renamed(struct inlining *x, const struct scope *s, const Onnx__NodeProto *node)
{
    Onnx__NodeProto *made = taken(x, sizeof *made);

    if (!made)
        return NULL;
    *made = *node;
    made->input = names_in(x, s, node->input, node->n_input);
    made->output = names_in(x, s, node->output, node->n_output);
    return x->failed ? NULL : made;
}

static void put_graph(struct inlining *x, const Onnx__GraphProto *g, const struct scope *s,
                      const struct onnx_branch *branch);

/* Output k of an If, whose names are those of the whole graph. */
static void put_choice(struct inlining *x, Onnx__NodeProto *node, size_t k, char *then, char *otherwise,
                       const struct onnx_branch *branch)
{
    Onnx__NodeProto *made = taken(x, sizeof *made);
    char **names = taken(x, 4 * sizeof *names);

    if (x->failed)
        return;
    onnx__node_proto__init(made);
    memcpy(names, (char *const[]){node->input[0], then, otherwise, node->output[k]}, 4 * sizeof *names);
    made->name = node->name;
    made->op_type = (char *)(uintptr_t) "If/choice";
    made->input = names;
    made->n_input = 3;
    made->output = names + 3;
    made->n_output = 1;
    put(x, made, k ? "" : "If", branch);
}

/* An If: what chooses stands before both branches, so that the condition is before them wherever it stood. */
static void put_if(struct inlining *x, Onnx__NodeProto *node, const struct scope *around,
                   const struct onnx_branch *branch)
{
    struct onnx_branch *of = taken(x, 2 * sizeof *of);
    Onnx__NodeProto *outer = renamed(x, around, node);
    struct scope s[2];

    for (int k = 0; k < 2 && !x->failed; k++) {
        of[k] = (struct onnx_branch){outer->input[0], k == 0, branch};
        s[k] = scope_of(x, around, branch_of(node, k == 0));
    }
    for (size_t i = 0; i < node->n_output && !x->failed; i++) {
        char *then = name_in(x, &s[0], branch_of(node, true)->output[i]->name);
        char *otherwise = name_in(x, &s[1], branch_of(node, false)->output[i]->name);

        if (!x->failed)
            put_choice(x, outer, i, then, otherwise, branch);
    }
    for (int k = 0; k < 2 && !x->failed; k++)
        put_graph(x, branch_of(node, k == 0), &s[k], &of[k]);
}

static void put_graph(struct inlining *x, const Onnx__GraphProto *g, const struct scope *s,
                      const struct onnx_branch *branch)
{
    for (size_t i = 0; i < g->n_initializer && !x->failed; i++) {
        Onnx__TensorProto *t = g->initializer[i];

        t->name = s ? name_in(x, s, t->name) : t->name;
        assert(x->n_constants < x->cap_constants);
        x->constants[x->n_constants++] = t;
    }
    for (size_t i = 0; i < g->n_node && !x->failed; i++) {
        Onnx__NodeProto *node = g->node[i];

        if (is_choice(node)) {
            put_if(x, node, s, branch);
            continue;
        }
        node = s ? renamed(x, s, node) : node;
        if (node)
            put(x, node, NULL, branch);
    }
}

enum err onnx_inline_branches(struct onnx_file *f, const struct onnx_origin **origins, struct why *why)
{
    Onnx__GraphProto *g = f->model->graph;
    struct inlining x = {.memory = &f->memory};
    bool any = false;

    *origins = NULL;
    for (size_t i = 0; i < g->n_node; i++)
        any = any || is_choice(g->node[i]);
    if (!any)
        return ERR_OK;
    count(g, &x);
    if (x.cap > ONNX_MAX_NODES)
        return why_set(why, ERR_LIMIT, "more than %d nodes", ONNX_MAX_NODES);
    x.nodes = taken(&x, (x.cap + 1) * sizeof(Onnx__NodeProto *));
    x.origins = taken(&x, (x.cap + 1) * sizeof *x.origins);
    x.constants = taken(&x, (x.cap_constants + 1) * sizeof(Onnx__TensorProto *));
    if (!x.failed)
        put_graph(&x, g, NULL, NULL);
    if (x.failed)
        return why_set(why, ERR_LIMIT, "more nodes than a model of this size may have");
    assert(x.n == x.cap && x.n_constants == x.cap_constants);
    g->node = x.nodes;
    g->n_node = x.n;
    g->initializer = x.constants;
    g->n_initializer = x.n_constants;
    *origins = x.origins;
    return ERR_OK;
}
