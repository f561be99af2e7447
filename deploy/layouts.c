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
    int next[LAYOUTS_MAX_SCOPE]; /* the next table over var[k], -1 = none */
    double *cost;
    unsigned char *best; /* of a table made by eliminating a variable: its best value */
    int eliminates;      /* that variable, -1 = none */
    bool used;           /* taken into another table */
};

/* A variable not eliminated yet: the tables over it, and how many variables those have; too many: LAYOUTS_MAX_SCOPE
 * + 1. */
struct variable {
    int first, last; /* -1: none */
    int n_scope;     /* 0: eliminated */
};

struct problem {
    size_t n_vars, n_tables;
    struct table *tables; /* n_nodes of times, n_nodes of transforms, n_nodes of eliminations */
    struct variable *vars;
};

/* What the cost of a choice is made of. */
struct pricing {
    const struct graph *g;
    enum dtype t;
    const struct layouts_costs *c;
    size_t *with;            /* [n_nodes]: graph_fusions */
    size_t *first, *readers; /* of node i: readers[first[i]] to readers[first[i + 1] - 1] */
};

/* An index is a number of one digit a variable. */
static size_t weight_of_digit(int k)
{
    size_t n = 1;

    assert(k >= 0 && k <= LAYOUTS_MAX_SCOPE);
    while (k-- > 0)
        n *= GRAPH_LAYOUTS;
    return n;
}

static size_t table_size(const struct table *t)
{
    return weight_of_digit(t->n_vars);
}

static int digit(size_t index, int k)
{
    return (int)(index / weight_of_digit(k) % GRAPH_LAYOUTS);
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

/* Is input k of a node the first that is this one? */
static bool reads_first(const struct graph_node *n, int k)
{
    for (int j = 0; j < k; j++)
        if (n->in[j] == n->in[k])
            return false;
    return true;
}

/* Of each node those that read it, in their order. */
static void list_readers(struct pricing *p)
{
    const struct graph *g = p->g;

    memset(p->first, 0, (g->n_nodes + 2) * sizeof *p->first);
    for (size_t i = 0; i < g->n_nodes; i++)
        for (int k = 0; k < g->nodes[i].n_in; k++)
            p->first[g->nodes[i].in[k] + 2] += reads_first(&g->nodes[i], k);
    for (size_t i = 2; i < g->n_nodes + 2; i++)
        p->first[i] += p->first[i - 1];
    for (size_t i = 0; i < g->n_nodes; i++) /* first[of + 1] ends where it should begin: one after the last of `of` */
        for (int k = 0; k < g->nodes[i].n_in; k++)
            if (reads_first(&g->nodes[i], k))
                p->readers[p->first[g->nodes[i].in[k] + 1]++] = i;
}

static void pricing_fini(struct pricing *p)
{
    free(p->with);
    free(p->first);
    free(p->readers);
}

static enum err pricing_init(struct pricing *out, const struct graph *g, enum dtype t, const struct layouts_costs *c)
{
    struct pricing p = {.g = g, .t = t, .c = c};

    p.with = calloc(g->n_nodes, sizeof *p.with);
    p.first = calloc(g->n_nodes + 2, sizeof *p.first);
    p.readers = calloc(g->n_nodes * GRAPH_MAX_INPUTS, sizeof *p.readers);
    if (!p.with || !p.first || !p.readers) {
        pricing_fini(&p);
        return ERR_NOMEM;
    }
    list_readers(&p);
    if (c->fused)
        graph_fusions(g, t, p.with);
    *out = p;
    return ERR_OK;
}

static double time_of(const struct graph *g, enum dtype t, const struct layouts_costs *c, size_t i, int layout)
{
    if (!(graph_node_layouts(g, i, t) & 1u << layout))
        return INFINITY;
    return graph_has_kernel(g, i) ? c->node(i, layout, c->arg) : 0;
}

/* What the layout of node i alone costs: nothing of two that may be one kernel. */
static double node_cost(const struct pricing *p, size_t i, int layout)
{
    const struct graph_node *n = &p->g->nodes[i];
    const bool in_pair = p->with[i] || (n->n_in && p->with[n->in[0]] == i);

    return in_pair && (graph_node_layouts(p->g, i, p->t) & 1u << layout) ? 0 : time_of(p->g, p->t, p->c, i, layout);
}

/* Node i and its reader in one kernel; INFINITY where their layouts differ. */
static double fused_cost(const struct graph *g, const struct layouts_costs *c, size_t i, size_t reader,
                         const int *layout)
{
    return graph_gives(g, i, layout[i]) == graph_gives(g, reader, layout[reader]) ? c->fused(i, layout[i], c->arg)
                                                                                  : INFINITY;
}

/* The transforms of node i's tensor for its readers: one for each layout that they want and the writer does not give.
 */
static double transforms_cost(const struct graph *g, const struct layouts_costs *c, size_t i, const size_t *readers,
                              size_t n, const int *layout)
{
    const int gives = graph_gives(g, i, layout[i]);
    unsigned wants = graph_wants_of(g, g->n_nodes, i, 0); /* the caller */
    double sum = 0;

    for (size_t k = 0; k < n; k++)
        wants |= graph_wants_of(g, readers[k], i, layout[readers[k]]);
    for (int to = 0; to < GRAPH_LAYOUTS; to++)
        if (wants & 1u << to && graph_differs(g, i, gives, to))
            sum += c->transform(i, gives, to, c->arg);
    return sum;
}

/* Two nodes that may be fused, apart: with the transforms between them. */
static double apart_cost(const struct graph *g, enum dtype t, const struct layouts_costs *c, size_t i, size_t reader,
                         const int *layout)
{
    return time_of(g, t, c, i, layout[i]) + time_of(g, t, c, reader, layout[reader]) +
           transforms_cost(g, c, i, &reader, 1, layout);
}

/* What depends on the layouts of node i and of its readers. */
static double tensor_cost(const struct pricing *p, size_t i, const int *layout)
{
    const size_t reader = p->with[i];

    return reader ? fmin(fused_cost(p->g, p->c, i, reader, layout), apart_cost(p->g, p->t, p->c, i, reader, layout))
                  : transforms_cost(p->g, p->c, i, &p->readers[p->first[i]], p->first[i + 1] - p->first[i], layout);
}

void layouts_fused(const struct graph *g, enum dtype t, const struct layouts_costs *c, const int *layout, size_t *with)
{
    if (c->fused)
        graph_fusions(g, t, with);
    else
        memset(with, 0, g->n_nodes * sizeof *with);
    for (size_t i = 0; i < g->n_nodes; i++)
        if (with[i] && fused_cost(g, c, i, with[i], layout) > apart_cost(g, t, c, i, with[i], layout))
            with[i] = 0;
}

double layouts_price(const struct graph *g, enum dtype t, const struct layouts_costs *c, const int *layout)
{
    struct pricing p;
    double sum = 0;

    if (pricing_init(&p, g, t, c))
        return NAN;
    for (size_t i = 0; i < g->n_nodes; i++)
        sum += node_cost(&p, i, layout[i]) + tensor_cost(&p, i, layout);
    pricing_fini(&p);
    return sum;
}

static enum err fill_node(const struct pricing *p, size_t i, struct table *out)
{
    table_add(out, (int)i);
    out->cost = malloc(table_size(out) * sizeof *out->cost);
    if (!out->cost)
        return ERR_NOMEM;
    for (int l = 0; l < GRAPH_LAYOUTS; l++)
        out->cost[l] = node_cost(p, i, l);
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

/* The layout of a node that has one alone; -1: of one that has several. */
static int only_layout(const struct graph *g, size_t i, enum dtype t)
{
    const unsigned can = graph_node_layouts(g, i, t);
    int l = 0;

    while (!(can & 1u << l))
        l++;
    return can == 1u << l ? l : -1;
}

/* `layout`: room for all nodes. Readers that have one layout alone are no variables. */
static enum err fill_tensor(const struct pricing *p, size_t i, int *layout, struct table *out, struct why *why)
{
    const struct graph *g = p->g;
    bool fits = table_add(out, (int)i);

    for (size_t k = p->first[i]; k < p->first[i + 1] && fits; k++) {
        const int only = only_layout(g, p->readers[k], p->t);

        fits = only >= 0 || table_add(out, (int)p->readers[k]);
        layout[p->readers[k]] = only;
    }
    if (!fits)
        return why_set(why, ERR_LIMIT, "%s: %s has more than %d readers", g->name, g->nodes[i].name,
                       LAYOUTS_MAX_SCOPE - 1);
    out->cost = malloc(table_size(out) * sizeof *out->cost);
    if (!out->cost)
        return ERR_NOMEM;
    for (size_t index = 0; index < table_size(out); index++) {
        for (int k = 0; k < out->n_vars; k++)
            layout[out->var[k]] = digit(index, k);
        out->cost[index] = possible(g, p->t, out, layout) ? tensor_cost(p, i, layout) : INFINITY;
    }
    return ERR_OK;
}

/* ---- elimination ---- */

/* The table after table i over a variable that both have. */
static int next_of(const struct problem *p, int i, int var)
{
    const struct table *t = &p->tables[i];
    int k = 0;

    while (t->var[k] != var)
        k++;
    return t->next[k];
}

/* Appends table i to the lists of its variables. */
static void enlist(struct problem *p, int i)
{
    struct table *t = &p->tables[i];

    for (int k = 0; k < t->n_vars; k++) {
        struct variable *v = &p->vars[t->var[k]];

        t->next[k] = -1;
        for (int d = 0; v->last >= 0 && d < p->tables[v->last].n_vars; d++)
            if (p->tables[v->last].var[d] == t->var[k])
                p->tables[v->last].next[d] = i;
        v->first = v->first < 0 ? i : v->first;
        v->last = i;
    }
}

/* The variables of all tables that hold `var`, that one first; false when they are too many. */
static bool union_scope(const struct problem *p, int var, struct table *out)
{
    bool fits = table_add(out, var);

    for (int i = p->vars[var].first; i >= 0 && fits; i = next_of(p, i, var))
        for (int k = 0; k < p->tables[i].n_vars && fits && !p->tables[i].used; k++)
            fits = table_add(out, p->tables[i].var[k]);
    return fits;
}

static void count_scope(struct problem *p, int var)
{
    struct table scope = {.n_vars = 0};

    p->vars[var].n_scope = union_scope(p, var, &scope) ? scope.n_vars : LAYOUTS_MAX_SCOPE + 1;
}

/* The variable whose elimination makes the smallest table; -1 when each makes one that is too large. */
static int next_variable(const struct problem *p)
{
    int best = -1, best_n = LAYOUTS_MAX_SCOPE + 1;

    for (size_t v = 0; v < p->n_vars; v++)
        if (p->vars[v].n_scope && p->vars[v].n_scope < best_n) {
            best = (int)v;
            best_n = p->vars[v].n_scope;
        }
    return best;
}

/* The entry of a table for values of all variables. */
static size_t entry(const struct table *t, const int *value)
{
    size_t index = 0;

    for (int k = t->n_vars; k-- > 0;)
        index = index * GRAPH_LAYOUTS + (size_t)value[t->var[k]];
    assert(index < table_size(t));
    return index;
}

/* The sum of the tables that hold `var`, at `value`. */
static double sum_at(const struct problem *p, int var, const int *value)
{
    double sum = 0;

    for (int i = p->vars[var].first; i >= 0; i = next_of(p, i, var))
        if (!p->tables[i].used)
            sum += p->tables[i].cost[entry(&p->tables[i], value)];
    return sum;
}

/* A table over the neighbours of `var`: the least over its values. `value`: room for all variables. */
static enum err eliminate(struct problem *p, int var, int *value)
{
    struct table scope = {.n_vars = 0}, out = {.eliminates = var};

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
    for (int i = p->vars[var].first; i >= 0; i = next_of(p, i, var))
        p->tables[i].used = true;
    assert(p->vars[var].n_scope && p->n_tables < 3 * p->n_vars);
    p->vars[var].n_scope = 0;
    p->tables[p->n_tables] = out;
    enlist(p, (int)p->n_tables++);
    for (int k = 0; k < out.n_vars; k++)
        count_scope(p, out.var[k]);
    return ERR_OK;
}

/* Eliminates all variables, then reads their values off backwards. */
static enum err solve(struct problem *p, int *value, double *cost, struct why *why)
{
    const size_t first = p->n_tables;
    enum err e = ERR_OK;

    for (size_t i = 0; i < p->n_vars; i++)
        count_scope(p, (int)i);
    for (size_t i = 0; i < p->n_vars && !e; i++) {
        const int var = next_variable(p);

        e = var < 0 ? why_set(why, ERR_LIMIT, "the network's tensors have too many readers at the same time")
                    : eliminate(p, var, value);
    }
    *cost = 0;
    for (size_t i = p->n_tables; i > first && !e; i--) {
        const struct table *t = &p->tables[i - 1];

        value[t->eliminates] = t->best[entry(t, value)];
        if (t->n_vars == 0)
            *cost += t->cost[0];
    }
    return e;
}

static enum err fill_tables(const struct pricing *from, struct problem *p, int *layout, struct why *why)
{
    enum err e = ERR_OK;

    for (size_t i = 0; i < p->n_vars && !e; i++) {
        e = fill_node(from, i, &p->tables[p->n_tables]);
        if (!e)
            enlist(p, (int)p->n_tables++);
        e = e ? e : fill_tensor(from, i, layout, &p->tables[p->n_tables], why);
        if (!e)
            enlist(p, (int)p->n_tables++);
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
    free(p->vars);
}

/* The least cost of tables filled from `from`; layout: as layouts_choose, zeros at first. */
static enum err choose(const struct pricing *from, int *layout, double *cost, struct why *why)
{
    struct problem p = {.n_vars = from->g->n_nodes};
    enum err e = ERR_NOMEM;

    p.tables = calloc(3 * p.n_vars, sizeof *p.tables);
    p.vars = malloc(p.n_vars * sizeof *p.vars);
    if (p.tables && p.vars) {
        memset(p.vars, -1, p.n_vars * sizeof *p.vars);
        e = fill_tables(from, &p, layout, why);
    }
    if (!e)
        e = solve(&p, layout, cost, why);
    problem_fini(&p);
    return e;
}

enum err layouts_choose(const struct graph *g, enum dtype t, const struct layouts_costs *c, int *layout, double *cost,
                        struct why *why)
{
    struct pricing from;
    enum err e = pricing_init(&from, g, t, c);

    memset(layout, 0, g->n_nodes * sizeof *layout);
    if (!e) {
        e = choose(&from, layout, cost, why);
        pricing_fini(&from);
    }
    if (!e && isinf(*cost))
        e = why_set(why, ERR_UNSUPPORTED, "%s: no choice of layouts in which every layer can be computed", g->name);
    return e == ERR_NOMEM ? why_set(why, e, "out of memory") : e;
}
