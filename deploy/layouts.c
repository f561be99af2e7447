/* SPDX-License-Identifier: MIT */
#include "deploy/layouts.h"

#include "core/err.h"
#include "kernels/graph_fuse.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A table over some variables: the value of var[k] is digit k (2 bits) of the index. */
struct table {
    int n_vars;
    int var[LAYOUTS_MAX_SCOPE];
    double *cost;
    unsigned char *best; /* of a table made by eliminating a variable: its best value */
    bool used;           /* taken into another table */
};

struct problem {
    size_t n_vars, n_tables;
    struct table *tables; /* n_nodes of times, n_nodes of transforms, n_nodes of eliminations */
    int *eliminated;      /* the table that eliminated a variable, -1 = none has */
};

static size_t table_size(const struct table *t)
{
    assert(t->n_vars >= 0 && t->n_vars <= LAYOUTS_MAX_SCOPE);
    return (size_t)1 << (2 * t->n_vars);
}

static int digit(size_t index, int k)
{
    return (int)(index >> (2 * k) & 3);
}

static bool table_has(const struct table *t, int var)
{
    for (int k = 0; k < t->n_vars; k++)
        if (t->var[k] == var)
            return true;
    return false;
}

/* Adds a variable once; false when the table is full. */
static bool table_add(struct table *t, int var)
{
    if (table_has(t, var))
        return true;
    if (t->n_vars == LAYOUTS_MAX_SCOPE)
        return false;
    t->var[t->n_vars++] = var;
    return true;
}

/* The node that may be computed with node i; 0: none. */
static size_t fuses(const struct graph *g, enum dtype t, const struct layouts_costs *c, size_t i)
{
    return c->fused ? graph_fuses(g, i, t) : 0;
}

static double time_of(const struct graph *g, enum dtype t, const struct layouts_costs *c, size_t i, int layout)
{
    if (!(graph_node_layouts(g, i, t) & 1u << layout))
        return INFINITY;
    return graph_has_kernel(g, i) ? c->node(i, layout, c->arg) : 0;
}

/* What the layout of node i alone costs: nothing of two that may be one kernel. */
static double node_cost(const struct graph *g, enum dtype t, const struct layouts_costs *c, size_t i, int layout)
{
    const struct graph_node *n = &g->nodes[i];
    const bool in_pair = fuses(g, t, c, i) || (n->n_in && fuses(g, t, c, (size_t)n->in[0]) == i);

    return in_pair && (graph_node_layouts(g, i, t) & 1u << layout) ? 0 : time_of(g, t, c, i, layout);
}

/* Node i and its reader in one kernel; INFINITY where their layouts differ. */
static double fused_cost(const struct graph *g, const struct layouts_costs *c, size_t i, size_t reader,
                         const int *layout)
{
    return graph_gives(g, i, layout[i]) == graph_gives(g, reader, layout[reader]) ? c->fused(i, layout[i], c->arg)
                                                                                  : INFINITY;
}

/* The transforms of node i's tensor: one for each layout that a reader wants and the writer does not give. */
static double transforms_cost(const struct graph *g, const struct layouts_costs *c, size_t i, const int *layout)
{
    const int gives = graph_gives(g, i, layout[i]);
    bool paid[GRAPH_LAYOUTS] = {false};
    double sum = 0;

    for (size_t k = i + 1; k <= g->n_nodes; k++) {
        const unsigned wants = graph_wants_of(g, k, i, k < g->n_nodes ? layout[k] : 0);

        for (int to = 0; to < GRAPH_LAYOUTS; to++)
            if (wants & 1u << to && graph_differs(g, i, gives, to) && !paid[to]) {
                paid[to] = true;
                sum += c->transform(i, gives, to, c->arg);
            }
    }
    return sum;
}

/* Two nodes that may be fused, apart: with the transforms between them. */
static double apart_cost(const struct graph *g, enum dtype t, const struct layouts_costs *c, size_t i, size_t reader,
                         const int *layout)
{
    return time_of(g, t, c, i, layout[i]) + time_of(g, t, c, reader, layout[reader]) + transforms_cost(g, c, i, layout);
}

/* What depends on the layouts of node i and of its readers. */
static double tensor_cost(const struct graph *g, enum dtype t, const struct layouts_costs *c, size_t i,
                          const int *layout)
{
    const size_t reader = fuses(g, t, c, i);

    return reader ? fmin(fused_cost(g, c, i, reader, layout), apart_cost(g, t, c, i, reader, layout))
                  : transforms_cost(g, c, i, layout);
}

void layouts_fused(const struct graph *g, enum dtype t, const struct layouts_costs *c, const int *layout, bool *with)
{
    for (size_t i = 0; i < g->n_nodes; i++) {
        const size_t reader = fuses(g, t, c, i);

        with[i] = reader && fused_cost(g, c, i, reader, layout) <= apart_cost(g, t, c, i, reader, layout);
    }
}

double layouts_price(const struct graph *g, enum dtype t, const struct layouts_costs *c, const int *layout)
{
    double sum = 0;

    for (size_t i = 0; i < g->n_nodes; i++)
        sum += node_cost(g, t, c, i, layout[i]) + tensor_cost(g, t, c, i, layout);
    return sum;
}

static enum err fill_node(const struct graph *g, enum dtype t, const struct layouts_costs *c, size_t i,
                          struct table *out)
{
    table_add(out, (int)i);
    out->cost = malloc(table_size(out) * sizeof *out->cost);
    if (!out->cost)
        return ERR_NOMEM;
    for (int l = 0; l < GRAPH_LAYOUTS; l++)
        out->cost[l] = node_cost(g, t, c, i, l);
    return ERR_OK;
}

/* False when a value of the table's variables is none that its node can have. */
static bool possible(const struct graph *g, enum dtype t, const struct table *x, const int *layout)
{
    for (int k = 0; k < x->n_vars; k++)
        if (!(graph_node_layouts(g, (size_t)x->var[k], t) & 1u << layout[x->var[k]]))
            return false;
    return true;
}

/* `layout`: room for all nodes. */
static enum err fill_tensor(const struct graph *g, enum dtype t, const struct layouts_costs *c, size_t i, int *layout,
                            struct table *out, struct why *why)
{
    bool fits = table_add(out, (int)i);

    for (size_t k = i + 1; k < g->n_nodes && fits; k++)
        if (graph_reads(g, k, i))
            fits = table_add(out, (int)k);
    if (!fits)
        return why_set(why, ERR_LIMIT, "%s: %s has more than %d readers", g->name, g->nodes[i].name,
                       LAYOUTS_MAX_SCOPE - 1);
    out->cost = malloc(table_size(out) * sizeof *out->cost);
    if (!out->cost)
        return ERR_NOMEM;
    for (size_t index = 0; index < table_size(out); index++) {
        for (int k = 0; k < out->n_vars; k++)
            layout[out->var[k]] = digit(index, k);
        out->cost[index] = possible(g, t, out, layout) ? tensor_cost(g, t, c, i, layout) : INFINITY;
    }
    return ERR_OK;
}

/* The variables of all tables that hold `var`, that one first; false when they are too many. */
static bool union_scope(const struct problem *p, int var, struct table *out)
{
    bool fits = table_add(out, var);

    for (size_t i = 0; i < p->n_tables && fits; i++) {
        const struct table *t = &p->tables[i];

        for (int k = 0; k < t->n_vars && fits && !t->used && table_has(t, var); k++)
            fits = table_add(out, t->var[k]);
    }
    return fits;
}

/* The variable whose elimination makes the smallest table; -1 when each makes one that is too large. */
static int next_variable(const struct problem *p)
{
    int best = -1, best_n = LAYOUTS_MAX_SCOPE + 1;

    for (size_t v = 0; v < p->n_vars; v++) {
        struct table scope = {.n_vars = 0};

        if (p->eliminated[v] < 0 && union_scope(p, (int)v, &scope) && scope.n_vars < best_n) {
            best = (int)v;
            best_n = scope.n_vars;
        }
    }
    return best;
}

/* The entry of a table for values of all variables. */
static size_t entry(const struct table *t, const int *value)
{
    size_t index = 0;

    for (int k = 0; k < t->n_vars; k++)
        index |= (size_t)value[t->var[k]] << (2 * k);
    assert(index < table_size(t));
    return index;
}

/* The sum of the tables that hold `var`, at `value`. */
static double sum_at(const struct problem *p, int var, const int *value)
{
    double sum = 0;

    for (size_t i = 0; i < p->n_tables; i++)
        if (!p->tables[i].used && table_has(&p->tables[i], var))
            sum += p->tables[i].cost[entry(&p->tables[i], value)];
    return sum;
}

/* A table over the neighbours of `var`: the least over its values. `value`: room for all variables. */
static enum err eliminate(struct problem *p, int var, int *value)
{
    struct table scope = {.n_vars = 0}, out = {.n_vars = 0};

    union_scope(p, var, &scope);
    out.n_vars = scope.n_vars - 1;
    memcpy(out.var, scope.var + 1, (size_t)out.n_vars * sizeof out.var[0]);
    out.cost = malloc(table_size(&out) * sizeof *out.cost);
    out.best = calloc(table_size(&out), 1);
    if (!out.cost || !out.best) {
        free(out.cost);
        free(out.best);
        return ERR_NOMEM;
    }
    for (size_t index = 0; index < table_size(&out); index++) {
        for (int k = 0; k < out.n_vars; k++)
            value[out.var[k]] = digit(index, k);
        out.cost[index] = INFINITY;
        for (int l = 0; l < GRAPH_LAYOUTS; l++) {
            value[var] = l;
            const double sum = sum_at(p, var, value);

            if (sum < out.cost[index]) {
                out.cost[index] = sum;
                out.best[index] = (unsigned char)l;
            }
        }
    }
    for (size_t i = 0; i < p->n_tables; i++)
        p->tables[i].used = p->tables[i].used || table_has(&p->tables[i], var);
    assert(p->eliminated[var] < 0 && p->n_tables < 3 * p->n_vars);
    p->eliminated[var] = (int)p->n_tables;
    p->tables[p->n_tables++] = out;
    return ERR_OK;
}

/* Eliminates all variables, then reads their values off backwards. */
static enum err solve(struct problem *p, int *value, double *cost, struct why *why)
{
    const size_t first = p->n_tables;
    enum err e = ERR_OK;

    for (size_t i = 0; i < p->n_vars && !e; i++) {
        const int var = next_variable(p);

        e = var < 0 ? why_set(why, ERR_LIMIT, "the network's tensors have too many readers at the same time")
                    : eliminate(p, var, value);
    }
    *cost = 0;
    for (size_t i = p->n_tables; i > first && !e; i--) {
        const struct table *t = &p->tables[i - 1];

        for (size_t v = 0; v < p->n_vars; v++)
            if (p->eliminated[v] == (int)i - 1)
                value[v] = t->best[entry(t, value)];
        if (t->n_vars == 0)
            *cost += t->cost[0];
    }
    return e;
}

static enum err fill_tables(const struct graph *g, enum dtype t, const struct layouts_costs *c, struct problem *p,
                            int *layout, struct why *why)
{
    enum err e = ERR_OK;

    for (size_t i = 0; i < g->n_nodes && !e; i++) {
        e = fill_node(g, t, c, i, &p->tables[p->n_tables++]);
        if (!e)
            e = fill_tensor(g, t, c, i, layout, &p->tables[p->n_tables++], why);
    }
    return e;
}

static void problem_fini(struct problem *p)
{
    for (size_t i = 0; p->tables && i < p->n_tables; i++) {
        free(p->tables[i].cost);
        free(p->tables[i].best);
    }
    free(p->tables);
    free(p->eliminated);
}

enum err layouts_choose(const struct graph *g, enum dtype t, const struct layouts_costs *c, int *layout, double *cost,
                        struct why *why)
{
    struct problem p = {.n_vars = g->n_nodes};
    enum err e = ERR_NOMEM;

    p.tables = calloc(3 * g->n_nodes, sizeof *p.tables);
    p.eliminated = malloc(g->n_nodes * sizeof *p.eliminated);
    memset(layout, 0, g->n_nodes * sizeof *layout);
    if (p.tables && p.eliminated) {
        memset(p.eliminated, -1, g->n_nodes * sizeof *p.eliminated);
        e = fill_tables(g, t, c, &p, layout, why);
    }
    if (!e)
        e = solve(&p, layout, cost, why);
    if (!e && isinf(*cost))
        e = why_set(why, ERR_UNSUPPORTED, "%s: no choice of layouts in which every layer can be computed", g->name);
    problem_fini(&p);
    return e == ERR_NOMEM ? why_set(why, e, "out of memory") : e;
}
