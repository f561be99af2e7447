/* SPDX-License-Identifier: MIT */
/* write.c - what an imported model gives: a table, a graph, weights. */
#include "core/buf.h"
#include "core/err.h"
#include "core/file.h"
#include "core/file_out.h"
#include "onnx/import.h"
#include "onnx/model.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WORDS 900
#define MAX_LIST ((size_t)1 << 20)

enum err onnx_import_describe(const struct onnx_import *m, struct buf *out)
{
    static const char *const heads[N_ONNX_ROLES] = {"tuned", "plain", "folded", "unsupported", "behind it"};
    size_t total[N_ONNX_ROLES] = {0};

    buf_printf(out, "%-28s", "operator");
    for (int k = 0; k < N_ONNX_ROLES; k++)
        buf_printf(out, " %11s", heads[k]);
    buf_puts(out, "\n");
    for (size_t i = 0; i <= m->n_rows; i++) {
        const struct onnx_row *row = i < m->n_rows ? &m->rows[i] : NULL;

        buf_printf(out, "%-28s", row ? row->op : "all");
        for (int k = 0; k < N_ONNX_ROLES; k++) {
            buf_printf(out, " %11zu", row ? row->n[k] : total[k]);
            total[k] += row ? row->n[k] : 0;
        }
        buf_puts(out, "\n");
    }
    for (size_t i = 0; i < m->n_rows; i++)
        if (m->rows[i].first)
            buf_printf(out, "not supported: %s, %zu, the first %.100s: %s\n", m->rows[i].op,
                       m->rows[i].n[ONNX_UNSUPPORTED], m->rows[i].first, m->rows[i].words);
    return out->failed;
}

static enum err check_supported(const struct onnx_import *m, struct why *why)
{
    struct buf words;
    size_t n = 0;
    enum err e = ERR_OK;

    buf_init(&words, MAX_WORDS);
    for (size_t i = 0; i < m->n_rows; i++)
        if (m->rows[i].n[ONNX_UNSUPPORTED])
            buf_printf(&words, "%s%s %zu", n++ ? ", " : "", m->rows[i].op, m->rows[i].n[ONNX_UNSUPPORTED]);
    if (!m->is_whole)
        e = why_set(why, ERR_UNSUPPORTED, n ? "not supported: %s%s" : "%s%s", n ? buf_text(&words) : m->words,
                    words.failed ? " ..." : "");
    buf_fini(&words);
    return e;
}

/* The layers that are live, as a graph; the caller ends it. */
static enum err live_graph(const struct onnx_import *m, struct graph *out)
{
    int *now = malloc(m->n_layers * sizeof *now); /* where each layer is in the graph */
    struct graph g = {.name = "model", .nodes = calloc(m->n_layers, sizeof *g.nodes), .n_outputs = m->n_outputs};

    for (size_t i = 0; now && g.nodes && i < m->n_layers; i++) {
        struct graph_node *n = &g.nodes[g.n_nodes];

        now[i] = (int)g.n_nodes;
        if (!m->layers[i].live)
            continue;
        *n = m->layers[i].node;
        for (int k = 0; k < n->n_in; k++)
            n->in[k] = now[n->in[k]];
        g.n_nodes++;
    }
    for (size_t k = 0; now && k < g.n_outputs; k++)
        g.outputs[k] = now[m->outputs[k]];
    free(now);
    *out = g;
    return now && g.nodes ? ERR_OK : ERR_NOMEM;
}

enum err onnx_import_graph(const struct onnx_import *m, struct buf *out, struct why *why)
{
    struct graph g = {.n_nodes = 0}, parsed;
    const size_t from = out->len;
    enum err e = check_supported(m, why);

    if (e)
        return e;
    e = live_graph(m, &g);
    if (!e)
        e = graph_text(&g, out);
    if (e)
        why_set(why, e, "%s", err_words(e));
    else if (!(e = graph_parse("model", buf_text(out) + from, out->len - from, &parsed, why)))
        graph_fini(&parsed);
    graph_fini(&g);
    return e;
}

/* The files of weights while they are written. */
struct weights_out {
    struct file_out *file;
    struct buf *memory; /* instead of a file; NULL: none */
    struct buf list;
    int64_t at;
    enum dtype dtype; /* of the tensors at hand */
};

static enum err put(struct weights_out *o, const void *bytes, size_t n, struct why *why)
{
    enum err e;

    if (!o->memory)
        return file_out_put(o->file, bytes, n, why);
    e = buf_append(o->memory, bytes, n);
    return e ? why_set(why, e, "weights: %s", err_words(e)) : ERR_OK;
}

/* A whole number that the type does not hold is refused: it may be a place or a row. */
static enum err put_weight(const struct weights_out *o, const struct onnx_layer *l, double v, unsigned char *piece,
                           size_t i, struct why *why)
{
    double stored;

    dtype_store(o->dtype, piece, i, v);
    stored = dtype_load(o->dtype, piece, i);
    if (l->node.op != GRAPH_CONSTANT || l->w->is_float || (stored >= v && stored <= v))
        return ERR_OK;
    return why_set(why, ERR_UNSUPPORTED, "%s: the whole number %.17g is no %s", l->node.name, v, dtype_name(o->dtype));
}

/* The weights of a layer, under the name of the tensor that they are of the layer `to`. */
static enum err put_weights(struct weights_out *o, const struct onnx_layer *l, const struct onnx_layer *to,
                            const char *tensor, struct why *why)
{
    const bool is_bias = strcmp(tensor, "bias") == 0;
    const int64_t n = is_bias ? l->n_bias : l->n_w;
    const size_t size = dtype_bytes(o->dtype);
    unsigned char piece[4096];
    enum err e = ERR_OK;

    buf_printf(&o->list, "%s %s %lld %lld\n", to->node.name, tensor, (long long)o->at, (long long)n * (long long)size);
    o->at += n * (int64_t)size;
    for (int64_t i = 0; i < n && !e;) {
        size_t k = 0;

        for (; i < n && (k + 1) * size <= sizeof piece && !e; i++, k++)
            e = put_weight(o, l, is_bias ? l->bias[i] : onnx_weight_at(l, i), piece, k, why);
        if (!e)
            e = put(o, piece, k * size, why);
    }
    return e;
}

/* Scales or zero points. */
static enum err put_numbers(struct weights_out *o, const struct onnx_layer *l, const char *tensor, const void *v,
                            size_t n_bytes, struct why *why)
{
    buf_printf(&o->list, "%s %s %lld %zu\n", l->node.name, tensor, (long long)o->at, n_bytes);
    o->at += (int64_t)n_bytes;
    return put(o, v, n_bytes, why);
}

/* Of a layer of bytes. */
static enum err put_bytes(struct weights_out *o, const struct onnx_layer *l, struct why *why)
{
    const enum dtype given = o->dtype;
    enum err e = ERR_OK;

    o->dtype = DTYPE_I8;
    if (l->bias)
        e = put_weights(o, l, l, "w", why);
    o->dtype = DTYPE_I32;
    if (l->bias && !e)
        e = put_weights(o, l, l, "bias", why);
    o->dtype = given;
    if (!e)
        e = put_numbers(o, l, "scale", l->scale, (size_t)l->n_scales * sizeof *l->scale, why);
    return e ? e : put_numbers(o, l, "zero", l->zero, (size_t)l->n_zeros * sizeof *l->zero, why);
}

/* Of a recurrent layer. */
static enum err put_named(struct weights_out *o, const struct onnx_layer *l, struct why *why)
{
    const size_t size = dtype_bytes(o->dtype);
    enum err e = ERR_OK;

    for (const struct onnx_named *w = l->named; w->v && !e; w++) {
        buf_printf(&o->list, "%s %s %lld %lld\n", l->node.name, w->name, (long long)o->at,
                   (long long)w->n * (long long)size);
        o->at += w->n * (int64_t)size;
        for (int64_t i = 0; i < w->n && !e; i++) {
            unsigned char one[8];

            dtype_store(o->dtype, one, 0, w->v[i]);
            e = put(o, one, size, why);
        }
    }
    return e;
}

/* Weights of 4 bits, their scales and zero points. */
static enum err put_kept(struct weights_out *o, const struct onnx_layer *l, struct why *why)
{
    static const char *const names[N_ONNX_KEPT] = {"w_scale", "w", "w_zero"};
    enum err e = ERR_OK;

    for (enum onnx_kept what = 0; what < N_ONNX_KEPT; what++) {
        const enum dtype t = what == ONNX_KEPT_SCALES ? o->dtype : DTYPE_U8;
        const int64_t n = onnx_kept_blocks(l, what), size = (int64_t)dtype_bytes(t);

        if (n)
            buf_printf(&o->list, "%s %s %lld %lld\n", l->node.name, names[what], (long long)o->at,
                       (long long)(n * size));
        o->at += n * size;
        for (int64_t i = 0; i < n && !e;) {
            unsigned char piece[4096];
            size_t k = 0;

            for (; i < n && (k + 1) * (size_t)size <= sizeof piece; i++, k++)
                dtype_store(t, piece, k, onnx_kept_at(l, what, i));
            e = put(o, piece, k * (size_t)size, why);
        }
    }
    return e;
}

static enum err put_all(const struct onnx_import *m, struct weights_out *o, struct why *why)
{
    enum err e = ERR_OK;

    for (size_t i = 0; i < m->n_layers && !e; i++) {
        const struct onnx_layer *l = &m->layers[i];

        for (int k = 0; k < l->node.n_in && l->live && !e; k++)
            if (m->layers[l->node.in[k]].node.op == GRAPH_CONSTANT)
                e = put_weights(o, &m->layers[l->node.in[k]], l,
                                l->node.op == GRAPH_GATHER ? "x" : (const char[]){(char)('a' + k), '\0'}, why);
        if (!e && l->live && l->named)
            e = put_named(o, l, why);
        if (!e && l->live && l->scale)
            e = put_bytes(o, l, why);
        if (!l->live || !l->bias || l->scale)
            continue;
        if (!e)
            e = l->node.op == GRAPH_DENSE4 ? put_kept(o, l, why) : put_weights(o, l, l, "w", why);
        if (!e && !onnx_is_rms(l))
            e = put_weights(o, l, l, "bias", why);
    }
    return e;
}

enum err onnx_import_weights(const struct onnx_import *m, const char *dir, enum dtype t, struct why *why)
{
    struct file_out file = {.fd = -1};
    struct weights_out o = {.file = &file, .dtype = t};
    char path[PATH_MAX];
    int64_t n = 0;
    enum err e;

    for (size_t i = 0; i < m->n_layers; i++)
        n += m->layers[i].live ? m->layers[i].n_w : 0;
    if (n > ONNX_MAX_ELEMS)
        return why_set(why, ERR_LIMIT, "%lld weights, over %lld", (long long)n, (long long)ONNX_MAX_ELEMS);
    buf_init(&o.list, MAX_LIST);
    snprintf(path, sizeof path, "%s/weights.bin", dir);
    e = file_out_open(&file, path, 0644, why);
    if (!e)
        e = put_all(m, &o, why);
    if (!e && o.list.failed)
        e = why_set(why, o.list.failed, "%s: %s", path, err_words(o.list.failed));
    if (!e)
        e = file_out_commit(&file, why);
    file_out_close(&file);
    snprintf(path, sizeof path, "%s/weights.txt", dir);
    if (!e)
        e = file_replace(path, buf_text(&o.list), o.list.len, 0644, why);
    buf_fini(&o.list);
    return e;
}

enum err onnx_import_weights_of(const struct onnx_import *m, enum dtype t, struct buf *bytes, struct buf *list,
                                struct why *why)
{
    struct weights_out o = {.memory = bytes, .dtype = t};
    enum err e;

    buf_init(&o.list, MAX_LIST);
    e = put_all(m, &o, why);
    if (!e && (o.list.failed || buf_append(list, o.list.data, o.list.len)))
        e = why_set(why, ERR_LIMIT, "a list of weights of over %zu bytes", MAX_LIST);
    buf_fini(&o.list);
    return e;
}

const char *onnx_import_input(const struct onnx_import *m, size_t i)
{
    const Onnx__GraphProto *g = m->file.model->graph;

    for (size_t k = 0; k < g->n_input; k++) {
        char *names[] = {g->input[k]->name};
        const struct onnx_value *v = onnx_in(m, &(Onnx__NodeProto){.n_input = 1, .input = names}, 0);

        if (v && v->kind == ONNX_ACTIVATION && i-- == 0)
            return v->name;
    }
    return NULL;
}
