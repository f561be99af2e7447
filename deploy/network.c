/* SPDX-License-Identifier: MIT */
#include "deploy/network.h"

#include "core/buf.h"
#include "core/err.h"
#include "core/vec.h"
#include "kernels/conv/shape.h"
#include "kernels/graph_fuse.h"
#include "deploy/make.h"
#include "deploy/layouts.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A workload's time, and where it is from. */
struct priced {
    char *workload;
    double time_ns;
    enum choice_kind kind;
    bool guessed; /* a nearest record whose time cannot be scaled is guessed too */
};

/* Times of a network's workloads; asked for once each. */
struct prices {
    const struct graph *g;
    struct graph fused; /* all that can be; at: [g->n_nodes], positions in it */
    int *at;
    enum dtype dtype;
    unsigned layouts;
    const struct best_set *only; /* layers with weights that have no record of it cost INFINITY; NULL: none does */
    const struct choices *choices;
    const struct device_desc *device;
    struct priced *list;
    size_t n, cap;
    enum err failed;
    struct why *why;
};

/* What each kernel of one call takes besides: records are of one kernel started again and again. With one thread PoCL
 * takes 5 to 7 us (docs/notes/onecall.md), a GPU's driver about as long; choices of one kernel or two need it. */
#define START_NS 5000.0

/* 1 GFLOPS and 1 GB/s: slower than what anybody would measure. */
static double guess_ns(const struct workload *w)
{
    return w->op->flops(w) + w->op->bytes_min(w);
}

static double choose_ns(const struct prices *p, const struct workload *w, struct priced *out)
{
    struct choice c;

    if (choice_make(p->choices, w, p->device, &c, NULL))
        return INFINITY;
    out->kind = c.kind;
    out->time_ns = c.time_ns;
    choice_fini(&c);
    out->guessed = !(isfinite(out->time_ns) && out->time_ns > 0);
    assert(guess_ns(w) > 0);
    return out->guessed ? guess_ns(w) : out->time_ns;
}

/* Takes the text. The entry is lent until the next call; NULL when there is no memory. */
static const struct priced *price(struct prices *p, struct buf *text)
{
    struct workload w;
    struct priced *x;

    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->list[i].workload, buf_text(text)) == 0) {
            buf_fini(text);
            return &p->list[i];
        }
    if (VEC_ROOM(p->list, p->cap, p->n + 1, VEC_ANY)) {
        buf_fini(text);
        return NULL;
    }
    assert(p->n < p->cap);
    x = &p->list[p->n];
    *x = (struct priced){.workload = buf_take(text)};
    if (!x->workload || workload_parse(x->workload, &w, p->why))
        return NULL;
    x->time_ns = choose_ns(p, &w, x);
    return &p->list[p->n++];
}

/* The time of a workload in one call. */
static double note(struct prices *p, enum err e, struct buf *text)
{
    const struct priced *x = e ? NULL : price(p, text);

    if (e)
        buf_fini(text);
    if (!x && !p->failed)
        p->failed = e ? e : ERR_NOMEM;
    return x ? x->time_ns + START_NS : INFINITY;
}

/* Convolutions and dense layers; pools, additions, softmax, transforms have none. */
static bool has_weights(const char *workload)
{
    struct tensor list[OPERATOR_MAX_TENSORS];
    struct workload w;
    size_t n = workload_parse(workload, &w, NULL) ? 0 : w.op->tensors(&w, list);

    while (n && list[n - 1].role != ROLE_WEIGHT)
        n--;
    return n > 0;
}

/* The time of node `at` of `in`. */
static double layer_ns(struct prices *p, const struct graph *in, size_t at, int layout)
{
    struct buf text;

    enum err e;

    buf_init(&text, WORKLOAD_MAX_TEXT);
    e = graph_node_workload(in, at, p->dtype, layout, &text, p->why);
    if (!e && p->only && has_weights(buf_text(&text)) && !best_find(p->only, buf_text(&text), NULL)) {
        buf_fini(&text);
        return INFINITY;
    }
    return note(p, e, &text);
}

static double node_ns(size_t i, int layout, void *arg)
{
    struct prices *p = arg;

    return layer_ns(p, p->g, i, layout);
}

static double fused_ns(size_t i, int layout, void *arg)
{
    struct prices *p = arg;

    return layer_ns(p, &p->fused, (size_t)p->at[i], layout);
}

static double transform_ns(size_t i, int from, int to, void *arg)
{
    struct prices *p = arg;
    struct buf text;

    buf_init(&text, WORKLOAD_MAX_TEXT);
    return note(p, graph_transform_workload(p->g, i, p->dtype, from, to, &text, p->why), &text);
}

static void prices_fini(struct prices *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->list[i].workload);
    free(p->list);
    free(p->at);
    graph_fini(&p->fused);
}

/* How many steps were measured, scaled, guessed; the sum of their times: joined tensors that are written in place have
 * none. */
static void count_kinds(struct prices *p, struct deploy_network *n)
{
    n->cost_ns = n->guessed_ns = 0;
    for (size_t i = 0; i < n->lowered.n_steps; i++) {
        struct buf text;
        const struct priced *x;

        buf_init(&text, WORKLOAD_MAX_TEXT);
        buf_puts(&text, n->lowered.steps[i].workload);
        x = price(p, &text);
        n->cost_ns += x ? x->time_ns : 0;
        n->guessed_ns += x && x->guessed ? x->time_ns : 0;
        if (x && x->guessed)
            n->n_guessed++;
        else if (x && x->kind == CHOICE_EXACT)
            n->n_measured++;
        else
            n->n_nearest++;
    }
    assert(n->n_guessed + n->n_measured + n->n_nearest == n->lowered.n_steps);
}

/* The graph with what the choice fuses, lowered in the layouts chosen. */
static enum err lower(struct prices *p, const struct layouts_costs *costs, int *layout, struct deploy_network *n)
{
    const struct graph *g = p->g;
    size_t *with = calloc(g->n_nodes, sizeof *with);
    int *at = calloc(g->n_nodes, sizeof *at);
    enum err e = with && at ? ERR_OK : ERR_NOMEM;

    if (!e) {
        layouts_fused(g, p->dtype, costs, layout, with);
        e = graph_fuse(g, with, &n->graph, at);
    }
    if (e)
        why_set(p->why, e, "out of memory");
    for (size_t i = 0, next = 0; i < g->n_nodes && !e; i++)
        if (at[i] == (int)next) /* of two that are one that of the first */
            layout[next++] = layout[i];
    if (!e)
        e = graph_lower(&n->graph, p->dtype, layout, &n->lowered, p->why);
    free(with);
    free(at);
    return e;
}

static enum err choose_layouts(struct prices *p, struct deploy_network *n)
{
    const struct layouts_costs costs = {node_ns, transform_ns, fused_ns, p, p->layouts};
    int *layout = calloc(p->g->n_nodes, sizeof *layout);
    enum err e = ERR_NOMEM;

    p->at = calloc(p->g->n_nodes, sizeof *p->at);
    if (layout && p->at)
        e = graph_fuse_all(p->g, p->dtype, &p->fused, p->at);
    e = e ? why_set(p->why, e, "out of memory") : layouts_choose(p->g, p->dtype, &costs, layout, &n->cost_ns, p->why);
    if (e == ERR_UNSUPPORTED && p->only) { /* so that those without can be named */
        p->only = NULL;
        e = layouts_choose(p->g, p->dtype, &costs, layout, &n->cost_ns, p->why);
    }
    if (p->failed) /* words are there already */
        e = p->failed;
    if (!e)
        e = lower(p, &costs, layout, n);
    free(layout);
    if (!e)
        count_kinds(p, n);
    return e;
}

/* Words on the steps with weights that have no record. */
static enum err check_records(const struct best_set *best, const struct deploy_network *n, struct why *why)
{
    size_t n_layers = 0, n_missing = 0;
    struct buf list;
    enum err e;

    buf_init(&list, 600);
    for (size_t i = 0; i < n->lowered.n_steps; i++) {
        const struct lowered_step *step = &n->lowered.steps[i];

        if (!has_weights(step->workload))
            continue;
        n_layers++;
        if (!best_find(best, step->workload, NULL))
            buf_printf(&list, "%s%s: %s", n_missing++ ? "; " : "", step->name, step->workload);
    }
    e = n_missing == 0 ? ERR_OK
                       : why_set(why, ERR_NOT_FOUND,
                                 "%zu of %zu layers of the whole network have no record (`tune run --whole` of it "
                                 "measures them, or let --allow-nearest choose): %s%s",
                                 n_missing, n_layers, buf_text(&list), list.failed ? " ..." : "");
    buf_fini(&list);
    return e;
}

enum err deploy_network_add(struct deploy_set *s, const struct deploy_source *from, bool calls,
                            struct deploy_network *n, struct why *why)
{
    enum err e = ERR_OK;

    n->i_layer = calloc(n->lowered.n_steps, sizeof *n->i_layer);
    if (!n->i_layer)
        return why_set(why, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < n->lowered.n_steps && !e; i++) {
        const struct lowered_step *step = &n->lowered.steps[i];

        e = deploy_make_layer(s, from->best, from->choices, &from->device, step->workload, why);
        if (!e)
            n->i_layer[i] = (size_t)(deploy_set_find(s, step->workload) - s->layers);
        assert(e || n->i_layer[i] < s->n_layers);
        if (!e && calls)
            e = deploy_set_call(s, step->name, step->workload, why);
        if (e)
            why_prefix(why, e, "%s", step->name);
    }
    return e;
}

enum err deploy_source_open(struct deploy_source *from, const struct best_set *best, struct why *why)
{
    enum err e;

    *from = (struct deploy_source){.best = best};
    e = choices_of(best, &from->choices, why);
    return e ? e : choices_device(from->choices, &from->device, why);
}

void deploy_source_close(struct deploy_source *from)
{
    choices_close(from->choices);
}

/* The layouts that a log has records of, a bit each, and nchw. */
static unsigned layouts_in(const struct best_set *best)
{
    unsigned layouts = 1u << IMAGES_NCHW;

    for (size_t i = 0; i < best_n(best); i++) {
        struct workload w;

        if (workload_parse(best_at(best, i)->workload, &w, NULL))
            continue;
        for (const struct operator_key *key = w.op->keys; key->name; key++)
            if (key->words == images_layouts)
                layouts |= 1u << workload_get(&w, key->name);
    }
    return layouts;
}

enum err deploy_network_choose(const struct graph *g, const struct deploy_source *from,
                               const struct deploy_network_options *o, struct deploy_network **out, struct why *why)
{
    struct prices p = {.g = g,
                       .dtype = o->dtype,
                       .layouts = o->layouts ? o->layouts : layouts_in(from->best),
                       .only = o->exact ? from->best : NULL,
                       .choices = from->choices,
                       .device = &from->device,
                       .why = why};
    struct deploy_network *n = calloc(1, sizeof *n);
    enum err e = n ? choose_layouts(&p, n) : why_set(why, ERR_NOMEM, "out of memory");

    if (!e && o->exact)
        e = check_records(from->best, n, why);
    prices_fini(&p);
    if (e)
        deploy_network_free(n);
    else
        *out = n;
    return e;
}

enum err deploy_network_make(struct deploy_set *s, const struct best_set *best, const struct deploy_network_options *o,
                             struct why *why)
{
    struct deploy_source from;
    struct deploy_network *n = NULL;
    const struct graph *g;
    enum err e = graph_find(o->network, &g, why);

    if (e)
        return e;
    e = deploy_source_open(&from, best, why);
    if (!e)
        e = deploy_network_choose(g, &from, o, &n, why);
    if (!e)
        e = deploy_network_add(s, &from, o->calls, n, why);
    deploy_source_close(&from);
    if (e)
        deploy_network_free(n);
    else
        s->network = n;
    return e;
}

void deploy_network_free(struct deploy_network *n)
{
    if (!n)
        return;
    lowered_fini(&n->lowered);
    graph_fini(&n->graph);
    free(n->i_layer);
    free(n);
}

void deploy_network_describe(const struct deploy_network *n, struct buf *out)
{
    int in[GRAPH_LAYOUTS] = {0};
    size_t n_transforms = 0;
    int64_t bytes = 0;

    for (size_t i = 0; i < n->lowered.n_steps; i++) {
        in[n->lowered.tensors[n->lowered.steps[i].out].layout]++;
        n_transforms += n->lowered.steps[i].is_transform;
    }
    for (size_t i = 0; i < n->lowered.n_slots; i++)
        bytes += n->lowered.slot_bytes[i];
    buf_printf(out, "whole network: %zu steps, %zu of them transforms; tensors in", n->lowered.n_steps, n_transforms);
    for (int l = 0; l < GRAPH_LAYOUTS; l++)
        if (in[l])
            buf_printf(out, " %s (%d)", images_layouts[l], in[l]);
    buf_printf(out,
               "; %zu pieces of memory, %.1f MB\n  sum of the steps' times %.3f ms: %zu measured, %zu scaled from the "
               "nearest record",
               n->lowered.n_slots, (double)bytes / 1e6, (n->cost_ns - n->guessed_ns) / 1e6, n->n_measured,
               n->n_nearest);
    if (n->n_guessed) /* far too high on purpose: no time to tell anybody */
        buf_printf(out, "; without %zu that have no record", n->n_guessed);
    buf_puts(out, "\n");
}
