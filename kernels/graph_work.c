/* SPDX-License-Identifier: MIT */
#include "kernels/graph_work.h"

#include "core/buf.h"
#include "core/err.h"
#include "core/vec.h"
#include "kernels/graph_fuse.h"
#include "kernels/images.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A list of work while it grows. */
struct growing {
    struct graph_work *w;
    const struct graph *g;
    enum dtype dtype;
    unsigned layouts;
    struct why *why;
    size_t cap; /* of w->items */
};

static unsigned allowed(const struct growing *x, size_t i)
{
    const unsigned can = graph_node_layouts(x->g, i, x->dtype);

    assert(can != 0);

    return graph_layouts_among(can, x->layouts);
}

/* Takes the text. A workload that is there already counts once more, a transform does not. */
static enum err add(struct growing *x, struct buf *text, const char *node, const char *suffix, bool counts)
{
    struct graph_work_item *item;

    for (size_t i = 0; i < x->w->n; i++)
        if (strcmp(x->w->items[i].workload, buf_text(text)) == 0) {
            x->w->items[i].count += counts;
            buf_fini(text);
            return ERR_OK;
        }
    if (VEC_ROOM(x->w->items, x->cap, x->w->n + 1, VEC_ANY)) {
        buf_fini(text);
        return ERR_NOMEM;
    }
    item = &x->w->items[x->w->n++];
    snprintf(item->name, sizeof item->name, "%s%s", node, suffix);
    item->count = 1;
    item->workload = buf_take(text);
    return item->workload ? ERR_OK : ERR_NOMEM;
}

static enum err add_node(struct growing *x, size_t i, int layout, bool counts)
{
    struct buf text;
    enum err e;

    if (!graph_has_kernel(x->g, i))
        return ERR_OK;
    buf_init(&text, WORKLOAD_MAX_TEXT);
    e = graph_node_workload(x->g, i, x->dtype, layout, &text, x->why);
    if (!e)
        return add(x, &text, x->g->nodes[i].name, "", counts);
    buf_fini(&text);
    return e;
}

static enum err add_transform(struct growing *x, size_t i, int from, int to)
{
    char suffix[16];
    struct buf text;
    enum err e;

    assert(from != to && from >= 0 && to >= 0 && from < GRAPH_LAYOUTS && to < GRAPH_LAYOUTS);
    buf_init(&text, WORKLOAD_MAX_TEXT);
    e = graph_transform_workload(x->g, i, x->dtype, from, to, &text, x->why);
    if (e) {
        buf_fini(&text);
        return e;
    }
    snprintf(suffix, sizeof suffix, "_to_%s", images_layouts[to]);
    return add(x, &text, x->g->nodes[i].name, suffix, false);
}

/* The layouts in which readers may want the tensor of node i. */
static unsigned wanted(const struct growing *x, size_t i)
{
    unsigned bits = graph_wants_of(x->g, x->g->n_nodes, i, 0);

    for (size_t k = i + 1; k < x->g->n_nodes; k++)
        for (int l = 0; l < GRAPH_LAYOUTS; l++)
            if (allowed(x, k) & 1u << l)
                bits |= graph_wants_of(x->g, k, i, l);
    return bits;
}

static enum err add_transforms(struct growing *x, size_t i)
{
    const unsigned to = wanted(x, i);
    unsigned from = 0;
    enum err e = ERR_OK;

    for (int l = 0; l < GRAPH_LAYOUTS; l++)
        if (allowed(x, i) & 1u << l)
            from |= 1u << graph_gives(x->g, i, l);
    for (int a = 0; a < GRAPH_LAYOUTS; a++)
        for (int b = 0; b < GRAPH_LAYOUTS && !e; b++)
            if ((from & 1u << a) && (to & 1u << b) && graph_differs(x->g, i, a, b))
                e = add_transform(x, i, a, b);
    return e;
}

static enum err add_in_layouts(struct growing *x, size_t i, bool counts)
{
    enum err e = ERR_OK;

    for (int l = 0; l < GRAPH_LAYOUTS && !e; l++)
        if (allowed(x, i) & 1u << l)
            e = add_node(x, i, l, counts);
    return e ? e : add_transforms(x, i);
}

/* All nodes of a graph, fused; then those of `apart` that are fused in it, each node i with with[i]. */
static enum err add_graphs(struct growing *x, const struct graph *fused, const struct graph *apart, const size_t *with)
{
    enum err e = ERR_OK;

    x->g = fused;
    for (size_t i = 0; i < fused->n_nodes && !e; i++)
        e = add_in_layouts(x, i, true);
    x->g = apart;
    for (size_t i = 0; i < apart->n_nodes && !e; i++) {
        if (with[i])
            e = add_in_layouts(x, i, false);
        if (with[i] && !e)
            e = add_in_layouts(x, with[i], false);
    }
    return e;
}

enum err graph_work_init(struct graph_work *out, const struct graph *g, enum dtype t, unsigned layouts, struct why *why)
{
    struct graph_work w = {.items = NULL};
    struct growing x = {.w = &w, .dtype = t, .layouts = layouts, .why = why};
    struct graph fused;
    size_t *with = malloc(g->n_nodes * sizeof *with);
    enum err e = with ? graph_fuse_all(g, t, &fused, NULL) : ERR_NOMEM;

    if (!e) {
        graph_fusions(g, t, with);
        e = add_graphs(&x, &fused, g, with);
        graph_fini(&fused);
    }
    free(with);
    if (e == ERR_NOMEM)
        why_set(why, e, "out of memory");
    if (e)
        graph_work_fini(&w);
    else
        *out = w;
    return e;
}

void graph_work_fini(struct graph_work *w)
{
    for (size_t i = 0; w && i < w->n; i++)
        free(w->items[i].workload);
    if (w) {
        free(w->items);
        *w = (struct graph_work){.items = NULL};
    }
}

enum err graph_layouts_named(const char *list, unsigned *out, struct why *why)
{
    unsigned bits = list ? 0 : (1u << GRAPH_LAYOUTS) - 1;
    const char *p = list;

    while (p && *p) {
        const size_t n = strcspn(p, ",");
        int l = 0;

        while (l < GRAPH_LAYOUTS && (strlen(images_layouts[l]) != n || strncmp(images_layouts[l], p, n) != 0))
            l++;
        if (l == GRAPH_LAYOUTS)
            return why_set(why, ERR_INPUT, "layout '%.20s': expected some of nchw,nchw4c,nchw8c,nchw16c,nhwc", p);
        bits |= 1u << l;
        p += n + (p[n] == ',');
    }
    if (!bits)
        return why_set(why, ERR_INPUT, "expected some of nchw,nchw4c,nchw8c,nchw16c,nhwc");
    *out = bits;
    return ERR_OK;
}
