/* SPDX-License-Identifier: MIT */
#include "tests/kernels/check_cuda.h"

#include "kernels/expect.h"
#include "tests/kernels/cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WORKLOADS 128
#define MAX_BLOBS ((size_t)2 << 30)
#define MAX_TRIES 20000

/* Layers of networks, so that tiles become as large as in earnest; "@" is the type. */
static const char *const layers[] = {
    "conv2d @ n=1 c=64 h=56 w=56 k=64 r=3 s=3 pad=1",
    "conv2d @ n=1 c=1024 h=14 w=14 k=512 r=1 s=1 stride=2",
    "conv2d @ n=16 c=512 h=7 w=7 k=512 r=3 s=3 pad=1 epilogue=bias_relu",
    "conv2d @ n=1 c=3 h=224 w=224 k=64 r=7 s=7 stride=2 pad=3",
    "conv2d @ n=1 c=128 h=28 w=28 k=128 r=3 s=3 pad=2 dilation=2",
    "conv2d @ n=1 c=256 h=14 w=14 k=256 r=3 s=3 pad=1 groups=32",
    "conv2d @ n=1 c=256 h=14 w=14 k=256 r=3 s=3 pad=1 layout=nchw4c",
    "depthwise_conv2d @ n=1 c=32 h=112 w=112 r=3 s=3 pad=1",
    "depthwise_conv2d @ n=1 c=512 h=14 w=14 r=3 s=3 stride=2 pad=1",
    "deformable_conv2d @ n=1 c=512 h=14 w=14 k=512 r=3 s=3 pad=2 dilation=2 dg=4",
    "dense @ m=16 n=1000 k=2048",
    "dense @ m=1 n=4096 k=4096",
    "dense @ m=512 n=3072 k=768 epilogue=bias",
    "batch_gemm @ b=12 m=128 n=128 k=64",
    "batch_gemm @ b=8 m=49 n=49 k=512",
    "rnn @ i=512 h=512 b=64 t=20",
    "rnn @ cell=gru i=256 h=256 l=2 b=16 t=10",
    "rnn @ pass=bwd_data i=256 h=256 b=16 t=10",
    "rnn @ pass=bwd_weight i=256 h=256 b=16 t=10",
    "sparse_conv2d @ n=1 c=64 h=28 w=28 k=64 r=3 s=3 pad=1 sparsity=0.9",
    NULL,
};

void check_items_init(struct check_items *items)
{
    *items = (struct check_items){.list = NULL};
    blobs_init(&items->blobs, MAX_BLOBS);
}

void check_items_fini(struct check_items *items)
{
    for (size_t i = 0; i < items->n; i++) {
        free(items->list[i].workload);
        free(items->list[i].config);
        program_fini(&items->list[i].p);
    }
    free(items->list);
    blobs_fini(&items->blobs);
}

static bool is_of(const struct workload *w, const struct operator_desc *op, struct check_variant v)
{
    const bool half = workload_has(w, "acc") && workload_get(w, "acc") == 1;

    return w->op == op && w->dtype == v.dtype && half == v.acc_half;
}

/* A layer's text in a variant. */
static void layer_text(const char *layer, struct check_variant v, char *out, size_t n)
{
    const char *at = strchr(layer, '@');

    snprintf(out, n, "%.*s%s%s%s", (int)(at - layer), layer, dtype_name(v.dtype), at + 1, v.acc_half ? " acc=f16" : "");
}

/* Layers first; how many of the list are layers goes to *n_layers. */
static size_t workloads_of(const struct operator_desc *op, struct check_variant v, struct workload *out,
                           size_t *n_layers)
{
    size_t n = 0;

    for (size_t i = 0; layers[i]; i++) {
        char text[WORKLOAD_MAX_TEXT];

        layer_text(layers[i], v, text, sizeof text);
        if (!workload_parse(text, &out[n], NULL) && is_of(&out[n], op, v))
            n++;
    }
    *n_layers = n;
    for (const struct cases *const *cases = cases_table; *cases; cases++)
        for (const char *const *shape = (*cases)->shapes; *shape && n < MAX_WORKLOADS; shape++)
            if (!workload_parse(*shape, &out[n], NULL) && is_of(&out[n], op, v))
                n++;
    return n;
}

/* In place of the references, which take minutes for layers: what they would compute is not asked here. */
static enum err no_reference(const struct workload *w, enum exact_data data, struct expected *e)
{
    enum err failed;

    (void)w;
    (void)data;
    e->n_outputs = 1;
    for (size_t i = 0; i < e->n_tensors; i++)
        if (e->tensors[i].role == ROLE_OUTPUT)
            e->outputs[0].tensor = e->tensors[i].name;
    e->outputs[0].n_samples = 1;
    failed = expected_alloc(e);
    if (!failed)
        e->outputs[0].indices[0] = 0;
    return failed;
}

/* Texts of the workload and the config; NULL on lack of memory. */
static char *text_of(const struct workload *w, const struct space *s, const struct config *c)
{
    struct buf text;

    buf_init(&text, 1 << 16);
    if (w ? workload_text(w, &text) : space_config_text(s, c, &text))
        buf_clear(&text);
    return buf_take(&text);
}

static bool is_there(const struct check_items *items, size_t first, const char *workload, const char *config)
{
    for (size_t i = first; i < items->n; i++)
        if (strcmp(items->list[i].workload, workload) == 0 && strcmp(items->list[i].config, config) == 0)
            return true;
    return false;
}

struct drawing {
    const struct template *t;
    struct check_variant v;
    const struct device_desc *d;
    struct operator_desc op; /* with no_reference */
    struct workload w[MAX_WORKLOADS];
    struct space *s[MAX_WORKLOADS];
    size_t n, n_layers;
    size_t first; /* of its items */
    struct check_items *items;
};

/* Appends a config unless it is there; tells whether it did. */
static bool add(struct drawing *g, size_t i, const struct config *c, bool is_default)
{
    struct check_items *items = g->items;
    struct check_item item = {.t = g->t, .v = g->v, .d = *g->d, .is_default = is_default};
    struct workload w = g->w[i];
    struct why why = {""};

    item.workload = text_of(&w, NULL, NULL);
    item.config = text_of(NULL, g->s[i], c);
    if (!item.workload || !item.config || is_there(items, g->first, item.workload, item.config)) {
        free(item.workload);
        free(item.config);
        return false;
    }
    if (items->n == items->cap) {
        const size_t cap = items->cap ? 2 * items->cap : 256;
        struct check_item *list = realloc(items->list, cap * sizeof *list);

        if (!list)
            abort();
        items->list = list;
        items->cap = cap;
    }
    w.op = &g->op;
    if (template_program(g->t, &w, g->d, g->s[i], c, &item.p, &items->blobs, &why))
        snprintf(item.why, sizeof item.why, "no program: %.180s", why.text[0] ? why.text : "no words");
    items->list[items->n++] = item;
    return true;
}

/* Keeps the workloads that the template computes, with their spaces. */
static void keep_fitting(struct drawing *g, struct why *why)
{
    size_t n = 0;

    for (size_t i = 0, n_layers = g->n_layers; i < g->n; i++) {
        struct space *s = NULL;
        const enum err e = g->t->fit(&g->w[i], g->d, why) == FIT_NONE ? ERR_UNSUPPORTED
                                                                      : template_space(g->t, &g->w[i], g->d, &s, why);

        if (e && i < n_layers)
            g->n_layers--;
        if (e)
            continue;
        g->w[n] = g->w[i];
        g->s[n++] = s;
    }
    g->n = n;
}

size_t check_draw(const struct template *t, const struct operator_desc *op, struct check_variant v,
                  const struct device_desc *d, int n_defaults, int n_random, uint64_t seed, struct check_items *items,
                  struct why *why)
{
    struct drawing *g = calloc(1, sizeof *g);
    size_t n;
    struct rng rng;

    if (!g)
        abort();
    *g = (struct drawing){.t = t, .v = v, .d = d, .op = *op, .items = items, .first = items->n};
    g->op.reference = no_reference;
    g->n = workloads_of(op, v, g->w, &g->n_layers);
    keep_fitting(g, why);
    rng_init(&rng, seed);
    for (size_t i = 0; i < g->n && (int)i < n_defaults && (i == 0 || i < g->n_layers); i++) {
        struct config c;

        if (t->fallback(&g->w[i], d, g->s[i], &c) == ERR_OK)
            (void)add(g, i, &c, true);
    }
    for (size_t found = 0, tried = 0; g->n && found < (size_t)n_random && tried < 4 * (size_t)n_random; tried++) {
        const size_t i = (size_t)(tried + seed) % g->n;
        struct config c;

        if (space_sample(g->s[i], &rng, MAX_TRIES, &c) == ERR_OK)
            found += add(g, i, &c, false);
    }
    for (size_t i = 0; i < g->n; i++)
        space_free(g->s[i]);
    n = items->n - g->first;
    free(g);
    return n;
}
