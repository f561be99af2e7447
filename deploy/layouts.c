/* SPDX-License-Identifier: MIT */
#include "deploy/layouts.h"

#include "core/err.h"
#include "kernels/graph_fuse.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A table over some variables; the entry of their values is the sum of value x weight. */
struct table {
    int n_vars;
    int var[LAYOUTS_MAX_SCOPE];
    size_t weight[LAYOUTS_MAX_SCOPE], size;
    int next[LAYOUTS_MAX_SCOPE]; /* the next table over var[k], -1 = none */
    double *cost;
    unsigned char *best; /* of a table made by eliminating a variable: its best value */
    int eliminates;      /* that variable, -1 = none */
    bool used;           /* taken into another table */
};

/* The layouts of a node; a value is a position in them. Not eliminated yet: the tables over it, and the size of one
 * over all that these have; too large: SIZE_MAX. */
struct variable {
    int n_values, layout[GRAPH_LAYOUTS];
    int first, last;   /* -1: none */
    size_t scope_size; /* 0: eliminated */
};

struct problem {
    size_t n_vars, n_tables;
    struct table *tables; /* n_nodes of times, n_nodes of transforms, n_nodes of eliminations */
    struct variable *vars;
    int *value; /* [n_vars] */
};

/* What the cost of a choice is made of. */
struct pricing {
    const struct graph *g;
    enum dtype t;
    const struct layouts_costs *c;
    size_t *with;            /* [n_nodes]: graph_fusions */
    size_t *first, *readers; /* of node i: readers[first[i]] to readers[first[i + 1] - 1] */
};

static bool table_has(const struct table *t, int var)
{
    for (int k = 0; k < t->n_vars; k++)
        if (t->var[k] == var)
            return true;
    return false;
}

/* Adds a variable once; false when the table is full. */
static bool table_add(const struct problem *p, struct table *t, int var)
{
    const size_t n = (size_t)p->vars[var].n_values;

    if (table_has(t, var))
        return true;
    if (t->n_vars == LAYOUTS_MAX_SCOPE || t->size * n > LAYOUTS_MAX_ENTRIES)
        return false;
    t->var[t->n_vars] = var;
    t->weight[t->n_vars++] = t->size;
    t->size *= n;
    return true;
}

/* The values of the table's variables that belong to its first entry, and to the one after theirs. */
static void first_values(const struct table *t, int *value)
{
    for (int k = 0; k < t->n_vars; k++)
        value[t->var[k]] = 0;
}

static void next_values(const struct problem *p, const struct table *t, int *value)
{
    for (int k = 0; k < t->n_vars; k++) {
        if (++value[t->var[k]] < p->vars[t->var[k]].n_values)
            return;
        value[t->var[k]] = 0;
    }
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

/* The layouts that the readers of node i's tensor want, a bit each. */
static unsigned wants_of(const struct graph *g, size_t i, const size_t *readers, size_t n, const int *layout)
{
    unsigned wants = graph_wants_of(g, g->n_nodes, i, 0); /* the caller */

    for (size_t k = 0; k < n; k++)
        wants |= graph_wants_of(g, readers[k], i, layout[readers[k]]);
    return wants;
}

/* The transforms of node i's tensor: one for each layout that is wanted and that the writer does not give. */
static double transforms_cost(const struct graph *g, const struct layouts_costs *c, size_t i, int gives, unsigned wants)
{
    double sum = 0;

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
           transforms_cost(g, c, i, graph_gives(g, i, layout[i]), wants_of(g, i, &reader, 1, layout));
}

/* Transforms of one tensor, by what its writer gives and its readers want; below 0: not asked for yet. */
struct moves {
    double cost[GRAPH_LAYOUTS][1u << GRAPH_LAYOUTS];
};

static void moves_init(struct moves *m)
{
    for (int l = 0; l < GRAPH_LAYOUTS; l++)
        for (unsigned wants = 0; wants < 1u << GRAPH_LAYOUTS; wants++)
            m->cost[l][wants] = -1;
}

/* What depends on the layouts of node i and of its readers. */
static double tensor_cost(const struct pricing *p, size_t i, const int *layout, struct moves *m)
{
    const size_t reader = p->with[i], *readers = &p->readers[p->first[i]], n = p->first[i + 1] - p->first[i];
    const int gives = graph_gives(p->g, i, layout[i]);
    double *cost;

    if (reader)
        return fmin(fused_cost(p->g, p->c, i, reader, layout), apart_cost(p->g, p->t, p->c, i, reader, layout));
    cost = &m->cost[gives][wants_of(p->g, i, readers, n, layout)];
    if (*cost < 0)
        *cost = transforms_cost(p->g, p->c, i, gives, (unsigned)(cost - m->cost[gives]));
    return *cost;
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
    struct moves m;
    double sum = 0;

    if (pricing_init(&p, g, t, c))
        return NAN;
    for (size_t i = 0; i < g->n_nodes; i++) {
        moves_init(&m);
        sum += node_cost(&p, i, layout[i]) + tensor_cost(&p, i, layout, &m);
    }
    pricing_fini(&p);
    return sum;
}

static enum err fill_node(const struct pricing *from, const struct problem *p, size_t i, struct table *out)
{
    table_add(p, out, (int)i);
    out->cost = malloc(out->size * sizeof *out->cost);
    if (!out->cost)
        return ERR_NOMEM;
    for (int k = 0; k < p->vars[i].n_values; k++)
        out->cost[k] = node_cost(from, i, p->vars[i].layout[k]);
    return ERR_OK;
}

/* `layout`: room for all nodes. Readers that have one layout alone are no variables. */
static enum err fill_tensor(const struct pricing *from, const struct problem *p, size_t i, int *layout,
                            struct table *out, struct why *why)
{
    const struct graph *g = from->g;
    bool fits = table_add(p, out, (int)i);
    struct moves m;

    for (size_t k = from->first[i]; k < from->first[i + 1] && fits; k++) {
        const struct variable *v = &p->vars[from->readers[k]];

        fits = v->n_values == 1 || table_add(p, out, (int)from->readers[k]);
        layout[from->readers[k]] = v->layout[0];
    }
    if (!fits)
        return why_set(
            why, ERR_LIMIT,
            "%s: %s has so many readers that their layouts have more than %d choices; name fewer by --layout", g->name,
            g->nodes[i].name, LAYOUTS_MAX_ENTRIES);
    out->cost = malloc(out->size * sizeof *out->cost);
    if (!out->cost)
        return ERR_NOMEM;
    moves_init(&m);
    first_values(out, p->value);
    for (size_t index = 0; index < out->size; index++, next_values(p, out, p->value)) {
        for (int k = 0; k < out->n_vars; k++)
            layout[out->var[k]] = p->vars[out->var[k]].layout[p->value[out->var[k]]];
        out->cost[index] = tensor_cost(from, i, layout, &m);
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
    bool fits = table_add(p, out, var);

    for (int i = p->vars[var].first; i >= 0 && fits; i = next_of(p, i, var))
        for (int k = 0; k < p->tables[i].n_vars && fits && !p->tables[i].used; k++)
            fits = table_add(p, out, p->tables[i].var[k]);
    return fits;
}

static void count_scope(struct problem *p, int var)
{
    struct table scope = {.size = 1};

    p->vars[var].scope_size = union_scope(p, var, &scope) ? scope.size : SIZE_MAX;
}

/* The variable whose elimination makes the smallest table; -1 when each makes one that is too large. */
static int next_variable(const struct problem *p)
{
    size_t least = SIZE_MAX;
    int best = -1;

    for (size_t v = 0; v < p->n_vars; v++)
        if (p->vars[v].scope_size && p->vars[v].scope_size < least) {
            best = (int)v;
            least = p->vars[v].scope_size;
        }
    return best;
}

/* The entry of a table for values of all variables. */
static size_t entry(const struct table *t, const int *value)
{
    size_t index = 0;

    for (int k = 0; k < t->n_vars; k++)
        index += t->weight[k] * (size_t)value[t->var[k]];
    assert(index < t->size);
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

/* A table over the neighbours of `var`: the least over its values. */
static enum err eliminate(struct problem *p, int var)
{
    struct table scope = {.size = 1}, out = {.size = 1, .eliminates = var};

    union_scope(p, var, &scope);
    for (int k = 1; k < scope.n_vars; k++)
        table_add(p, &out, scope.var[k]);
    out.cost = malloc(out.size * sizeof *out.cost);
    out.best = calloc(out.size, 1);
    if (!out.cost || !out.best) {
        free(out.cost);
        free(out.best);
        return ERR_NOMEM;
    }
    first_values(&out, p->value);
    for (size_t index = 0; index < out.size; index++, next_values(p, &out, p->value)) {
        out.cost[index] = INFINITY;
        for (int l = 0; l < p->vars[var].n_values; l++) {
            p->value[var] = l;
            const double sum = sum_at(p, var, p->value);

            if (sum < out.cost[index]) {
                out.cost[index] = sum;
                out.best[index] = (unsigned char)l;
            }
        }
    }
    for (int i = p->vars[var].first; i >= 0; i = next_of(p, i, var))
        p->tables[i].used = true;
    assert(p->vars[var].scope_size && p->n_tables < 3 * p->n_vars);
    p->vars[var].scope_size = 0;
    p->tables[p->n_tables] = out;
    enlist(p, (int)p->n_tables++);
    for (int k = 0; k < out.n_vars; k++)
        count_scope(p, out.var[k]);
    return ERR_OK;
}

/* Eliminates all variables, then reads their values off backwards. */
static enum err solve(struct problem *p, int *layout, double *cost, struct why *why)
{
    const size_t first = p->n_tables;
    enum err e = ERR_OK;

    for (size_t i = 0; i < p->n_vars; i++)
        count_scope(p, (int)i);
    for (size_t i = 0; i < p->n_vars && !e; i++) {
        const int var = next_variable(p);

        e = var < 0 ? why_set(why, ERR_LIMIT, "the network's tensors have too many readers at the same time")
                    : eliminate(p, var);
    }
    *cost = 0;
    for (size_t i = p->n_tables; i > first && !e; i--) {
        const struct table *t = &p->tables[i - 1];

        p->value[t->eliminates] = t->best[entry(t, p->value)];
        layout[t->eliminates] = p->vars[t->eliminates].layout[p->value[t->eliminates]];
        if (t->n_vars == 0)
            *cost += t->cost[0];
    }
    return e;
}

/* The layouts of each node: those that are to be considered. */
static void find_values(const struct pricing *from, struct problem *p)
{
    for (size_t i = 0; i < p->n_vars; i++) {
        const unsigned can = graph_node_layouts(from->g, i, from->t);
        const unsigned of = from->c->layouts ? graph_layouts_among(can, from->c->layouts) : can;
        struct variable *v = &p->vars[i];

        *v = (struct variable){.first = -1, .last = -1, .scope_size = SIZE_MAX};
        for (int l = 0; l < GRAPH_LAYOUTS; l++)
            if (of & 1u << l)
                v->layout[v->n_values++] = l;
    }
}

static enum err fill_tables(const struct pricing *from, struct problem *p, int *layout, struct why *why)
{
    enum err e = ERR_OK;

    for (size_t i = 0; i < p->n_vars && !e; i++) {
        e = fill_node(from, p, i, &p->tables[p->n_tables]);
        if (!e)
            enlist(p, (int)p->n_tables++);
        e = e ? e : fill_tensor(from, p, i, layout, &p->tables[p->n_tables], why);
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
    free(p->value);
}

/* The least cost of tables filled from `from`; layout: as layouts_choose, zeros at first. */
static enum err choose(const struct pricing *from, int *layout, double *cost, struct why *why)
{
    struct problem p = {.n_vars = from->g->n_nodes};
    enum err e = ERR_NOMEM;

    p.tables = calloc(3 * p.n_vars, sizeof *p.tables);
    p.vars = malloc(p.n_vars * sizeof *p.vars);
    p.value = calloc(p.n_vars, sizeof *p.value);
    if (p.tables && p.vars && p.value) {
        for (size_t i = 0; i < 3 * p.n_vars; i++)
            p.tables[i].size = 1;
        find_values(from, &p);
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
