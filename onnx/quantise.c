/* SPDX-License-Identifier: MIT */
/* quantise.c - a model of floats made one of bytes by the ranges that its tensors have: QuantizeLinear and
 * DequantizeLinear around convolutions, dense layers, and the sums, pools and shapes between them, weights whole
 * numbers with a scale for each output. What becomes of them is bytes.c's business. */
#include "onnx/model.h"
#include "onnx/quantise.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_TAPS 65793 /* 255 * 128 times them is what 32 bits hold */
#define MOST_WINDOW 128 /* elements of a mean (bytes.c) */
#define MOST_BIAS 1073741824.0

/* A model whose layers become others. */
struct layers {
    struct onnx_import *m;
    const struct onnx_layer *old; /* [n] */
    size_t n;
};

/* A model while it is quantised. */
struct quantising {
    struct layers l;
    const struct onnx_quantise_options *o;
    bool *computes;                  /* [n]: on bytes */
    const struct onnx_quant **bytes; /* [n]: of the bytes that a layer's output is or becomes; NULL: floats alone */
    size_t *group;                   /* [n]: the first of those that have one scale and zero point */
    int *floats_at, *bytes_at;       /* [n]: the new layers that give either as floats; -1: none */
    struct why *why;
};

/* ---- before: a layer for each tensor ---- */

static const char *sum_of(const struct graph_node *n)
{
    return n->relu6 ? "f=clip(add(a,b),0,6)" : n->relu ? "f=relu(add(a,b))" : "f=add(a,b)";
}

static bool adds(const struct onnx_layer *l)
{
    return l->live && l->n_bias > 0 && l->node.n_in == 2 && (l->node.op == GRAPH_CONV2D || l->node.op == GRAPH_DENSE);
}

/* A copy of a layer at the end of the list, read as the list says where its inputs are now; -1: m->failed. */
static int copied(struct onnx_import *m, const struct onnx_layer *l, const int *now)
{
    const int i = onnx_new_layer(m, &(Onnx__NodeProto){.name = (char *)(uintptr_t)l->node.name}, l->node.op, -1);

    if (i < 0)
        return -1;
    m->layers[i] = *l;
    for (int k = 0; k < l->node.n_in; k++)
        m->layers[i].node.in[k] = now[l->node.in[k]];
    return i;
}

static bool has_name(const struct onnx_layer *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].node.name, name) == 0)
            return true;
    return false;
}

/* A name with an ending that no layer has, neither of the old list nor of the new one. */
static void make_name(const struct layers *q, const char *name, const char *ending, char out[GRAPH_NAME_BYTES])
{
    int n = snprintf(out, GRAPH_NAME_BYTES, "%.24s%s", name, ending);

    for (size_t i = 2; has_name(q->old, q->n, out) || has_name(q->m->layers, q->m->n_layers, out); i++)
        snprintf(out + n, GRAPH_NAME_BYTES - (size_t)n, "_%zu", i);
}

/* A layer without weights behind layer x; -1: m->failed. */
static int bare_layer(struct onnx_import *m, const char *name, int x, const struct graph_shape *shape)
{
    const int i = onnx_new_layer(m, &(Onnx__NodeProto){.name = (char *)(uintptr_t)name}, GRAPH_ELTWISE, x);

    if (i < 0)
        return -1;
    snprintf(m->layers[i].node.name, GRAPH_NAME_BYTES, "%s", name);
    m->layers[i].node.shape = *shape;
    m->layers[i].live = true;
    return i;
}

/* The list of layers begun anew; the old one stays in the model's memory. */
static struct layers begin_again(struct onnx_import *m)
{
    const struct layers q = {m, m->layers, m->n_layers};

    m->layers = NULL;
    m->n_layers = m->cap_layers = 0;
    return q;
}

/* A layer that adds something made two: the sum has the layer's name. */
static int split(const struct layers *q, const struct onnx_layer *l, const int *now)
{
    struct onnx_layer sums = *l;
    int i, sum;

    make_name(q, l->node.name, "_sums", sums.node.name);
    sums.node.n_in = 1;
    sums.node.relu = sums.node.relu6 = false;
    i = copied(q->m, &sums, now);
    sum = i < 0 ? -1 : bare_layer(q->m, l->node.name, i, &l->node.shape);
    if (sum < 0)
        return -1;
    q->m->layers[sum].node.in[q->m->layers[sum].node.n_in++] = now[l->node.in[1]];
    snprintf(q->m->layers[sum].node.words, GRAPH_WORDS_BYTES, "%s", sum_of(&l->node));
    return sum;
}

static enum err check_floats(const struct onnx_import *m, struct why *why)
{
    for (size_t i = 0; i < m->n_layers; i++)
        if (m->layers[i].live && (m->layers[i].node.bytes || m->layers[i].node.op == GRAPH_QUANTIZE))
            return why_set(why, ERR_INPUT, "%s computes on bytes already: expected a model of floats",
                           m->layers[i].node.name);
    return ERR_OK;
}

enum err onnx_quantise_begin(struct onnx_import *m, struct why *why)
{
    enum err e = check_floats(m, why);
    int *now = e ? NULL : calloc(m->n_layers + 1, sizeof *now);
    struct layers q;

    if (e || !now)
        return e ? e : why_set(why, ERR_NOMEM, "out of memory");
    q = begin_again(m);
    for (size_t i = 0; i < q.n && !m->failed; i++)
        if (q.old[i].live)
            now[i] = adds(&q.old[i]) ? split(&q, &q.old[i], now) : copied(m, &q.old[i], now);
    for (size_t k = 0; k < m->n_outputs; k++)
        m->outputs[k] = now[m->outputs[k]];
    free(now);
    return m->failed ? why_set(why, ERR_LIMIT, "more than %d layers, or memory", GRAPH_MAX_NODES) : ERR_OK;
}

/* ---- what is computed on bytes ---- */

static bool is_weighted(const struct onnx_layer *l)
{
    const enum graph_op op = l->node.op;

    return l->live && l->bias && l->w && !l->named && l->node.n_in == 1 && !l->node.curve &&
           l->n_w / l->n_bias < MOST_TAPS && (op == GRAPH_CONV2D || op == GRAPH_DEPTHWISE || op == GRAPH_DENSE);
}

static bool is_sum(const struct quantising *q, const struct onnx_layer *l)
{
    const struct graph_node *n = &l->node;

    if (n->op != GRAPH_ELTWISE || n->n_in != 2 || n->in[0] == n->in[1] ||
        (strcmp(n->words, "f=add(a,b)") != 0 && strcmp(n->words, "f=relu(add(a,b))") != 0))
        return false;
    for (int k = 0; k < 2; k++)
        if (!q->computes[n->in[k]] || !graph_same_shape(&q->l.old[n->in[k]].node.shape, &n->shape))
            return false;
    return true;
}

/* Does it give bytes that it reads (bytes.c)? */
static bool moves(const struct graph_node *n)
{
    return (n->op == GRAPH_POOL2D && !n->avg) || n->op == GRAPH_RESHAPE || n->op == GRAPH_CONCAT ||
           (n->op == GRAPH_COPY && !strstr(n->words, " p"));
}

static bool is_mean(const struct graph_node *n)
{
    return n->op == GRAPH_POOL2D && n->avg && n->key[GRAPH_R] * n->key[GRAPH_S] <= MOST_WINDOW &&
           !(n->key[GRAPH_TOP] || n->key[GRAPH_LEFT] || n->key[GRAPH_BOTTOM] || n->key[GRAPH_RIGHT]);
}

/* Is a layer to be left as it is? `first`, `last`: of those with weights. */
static bool is_kept(const struct quantising *q, size_t i, size_t first, size_t last)
{
    for (size_t k = 0; k < q->o->n_keep; k++) {
        const char *word = q->o->keep[k];

        if (strcmp(word, q->l.old[i].node.name) == 0 || (i == first && strcmp(word, "first") == 0) ||
            (i == last && strcmp(word, "last") == 0))
            return true;
    }
    return false;
}

static enum err check_kept(const struct quantising *q)
{
    for (size_t k = 0; k < q->o->n_keep; k++) {
        const char *word = q->o->keep[k];
        bool known = strcmp(word, "first") == 0 || strcmp(word, "last") == 0;

        for (size_t i = 0; i < q->l.n && !known; i++)
            known = is_weighted(&q->l.old[i]) && strcmp(q->l.old[i].node.name, word) == 0;
        if (!known)
            return why_set(q->why, ERR_INPUT,
                           "no layer %.60s to be kept in f32: expected first, last or the name of a convolution or "
                           "dense layer",
                           word);
    }
    return ERR_OK;
}

static void choose(struct quantising *q)
{
    size_t first = q->l.n, last = q->l.n;

    for (size_t i = 0; i < q->l.n; i++)
        if (is_weighted(&q->l.old[i])) {
            first = first == q->l.n ? i : first;
            last = i;
        }
    for (size_t i = 0; i < q->l.n; i++) {
        const struct graph_node *n = &q->l.old[i].node;

        if (is_weighted(&q->l.old[i]))
            q->computes[i] = !is_kept(q, i, first, last);
        else if (q->l.old[i].live)
            q->computes[i] = is_sum(q, &q->l.old[i]) ||
                             ((moves(n) || is_mean(n)) && q->computes[n->in[0]] && q->computes[n->in[n->n_in - 1]]);
    }
}

/* What moves bytes has the scale of all that it reads. */
static void join_groups(struct quantising *q)
{
    for (size_t i = 0; i < q->l.n; i++)
        q->group[i] = i;
    for (size_t i = 0; i < q->l.n; i++) {
        const struct graph_node *n = &q->l.old[i].node;

        for (int k = 0; k < n->n_in && q->computes[i] && moves(n); k++) {
            const size_t from = q->group[i], to = q->group[n->in[k]];

            for (size_t at = 0; at < q->l.n; at++)
                if (q->group[at] == from)
                    q->group[at] = to;
        }
    }
}

/* ---- scales ---- */

/* The least and the largest number of all layers of a group, and 0. False, with words: some are not finite. */
static bool range_of(struct quantising *q, size_t group, double *lo, double *hi)
{
    *lo = *hi = 0;
    for (size_t i = 0; i < q->l.n; i++) {
        const char *name = q->l.old[i].node.name;
        double least = 0, most = 0;

        if (q->group[i] != group)
            continue;
        if (!q->o->range(name, &least, &most, q->o->arg) || !isfinite((float)least) || !isfinite((float)most)) {
            why_set(q->why, ERR_INPUT, "%s gives numbers that are not finite: it cannot be quantised", name);
            return false;
        }
        *lo = fmin(*lo, least);
        *hi = fmax(*hi, most);
    }
    return true;
}

/* The bytes of what layer i and its group give, from 0 to 255. False: m->failed, or words. */
static bool quantise_output(struct quantising *q, size_t i)
{
    const size_t group = q->group[i];
    struct onnx_quant *made = onnx_memory_take(&q->l.m->file.memory, sizeof *made);
    double lo, hi;

    if (!made) {
        q->l.m->failed = ERR_LIMIT;
        return false;
    }
    if (!range_of(q, group, &lo, &hi))
        return false;
    *made = (struct onnx_quant){.quantises = true, .lo = 0, .hi = 255, .scale = (float)((hi - lo) / 255)};
    if (!(made->scale >= FLT_MIN)) /* nothing but 0 */
        made->scale = 1;
    made->zero = (int)rint(-lo / (double)made->scale);
    for (size_t at = 0; at < q->l.n; at++)
        if (q->group[at] == group)
            q->bytes[at] = made;
    return true;
}

/* The bytes of what layers that compute on bytes give and read. */
static bool give_bytes(struct quantising *q)
{
    for (size_t i = 0; i < q->l.n; i++) {
        const struct graph_node *n = &q->l.old[i].node;

        for (int k = 0; k < n->n_in && q->computes[i]; k++)
            if (!q->bytes[n->in[k]] && !quantise_output(q, (size_t)n->in[k]))
                return false;
        if (q->computes[i] && !q->bytes[i] && !quantise_output(q, i))
            return false;
    }
    return true;
}

/* The scale of an output's weights: of the largest, and so that the bias is a number of 32 bits. */
static double scale_of(const struct onnx_layer *l, int64_t k, float of_x)
{
    const int64_t taps = l->n_w / l->n_bias;
    double most = 0;

    for (int64_t i = 0; i < taps; i++)
        most = fmax(most, fabs(onnx_weight_at(l, k * taps + i)));
    most = fmax(most / 127, fabs(l->bias[k]) / ((double)of_x * MOST_BIAS));
    return most >= 2 * (double)FLT_MIN ? most : 1;
}

/* Weights that are whole numbers times scales; l: a copy of the layer. False: m->failed. */
static bool round_weights(struct quantising *q, struct onnx_layer *l, float of_x)
{
    const int64_t taps = l->n_w / l->n_bias;
    const struct graph_shape shape = {2, {l->n_bias, taps}}, one = {1, {l->n_bias}};
    struct onnx_value *x = onnx_new_constant(q->l.m, l->node.name, &shape, false);
    struct onnx_value *w = onnx_new_constant(q->l.m, l->node.name, &shape, true);
    struct onnx_value *scale = onnx_new_constant(q->l.m, l->node.name, &one, true);
    struct onnx_dequantised *d = onnx_memory_take(&q->l.m->file.memory, sizeof *d);
    double *factor = onnx_memory_take(&q->l.m->file.memory, 2 * (size_t)l->n_bias * sizeof *factor);

    if (!x || !w || !scale || !d || !factor) {
        q->l.m->failed = ERR_LIMIT;
        return false;
    }
    for (int64_t k = 0; k < l->n_bias; k++) {
        const float by = (float)scale_of(l, k, of_x);

        scale->v[k] = (double)by;
        factor[k] = 1;
        factor[l->n_bias + k] = l->bias[k]; /* bytes.c rounds it where it stands */
        for (int64_t i = k * taps; i < (k + 1) * taps; i++) {
            x->v[i] = fmin(fmax(rint(onnx_weight_at(l, i) / (double)by), -127), 127);
            w->v[i] = x->v[i] * (double)by;
        }
    }
    *d = (struct onnx_dequantised){.x = x, .scale = scale};
    w->dequantised = d;
    l->w = w;
    l->w_transposed = false;
    l->w_first = l->w_columns = 0;
    l->factor = factor;
    l->bias = factor + l->n_bias;
    return true;
}

/* ---- the layers anew ---- */

/* What a layer gives, `at`, as bytes of that name and as floats again; the floats, -1: m->failed. */
static int there_and_back(struct quantising *q, size_t i, int at, const char *name)
{
    const struct graph_shape *shape = &q->l.old[i].node.shape;
    struct onnx_quant *back = onnx_memory_take(&q->l.m->file.memory, sizeof *back);
    const int to = back ? bare_layer(q->l.m, name, at, shape) : -1;
    char other[GRAPH_NAME_BYTES];
    int from;

    make_name(&q->l, q->l.old[i].node.name, "_f", other);
    from = to < 0 ? -1 : bare_layer(q->l.m, other, to, shape);
    if (from < 0) {
        q->l.m->failed = ERR_LIMIT;
        return -1;
    }
    *back = *q->bytes[i];
    back->quantises = false;
    back->hi = 0;
    q->l.m->layers[to].quant = q->bytes[i];
    q->l.m->layers[from].quant = back;
    return from;
}

/* Names: bytes.c gives what requantises the name of the layer with weights, others that of the bytes. */
static bool put_layer(struct quantising *q, size_t i)
{
    struct onnx_layer l = q->l.old[i];
    const bool computes = q->computes[i], swaps = computes && !is_weighted(&l);
    char name[GRAPH_NAME_BYTES];
    int at;

    if (computes && !swaps && !round_weights(q, &l, q->bytes[l.node.in[0]]->scale))
        return false;
    if (swaps)
        make_name(&q->l, q->l.old[i].node.name, "_of", l.node.name);
    at = copied(q->l.m, &l, computes ? q->bytes_at : q->floats_at);
    if (at < 0)
        return false;
    q->floats_at[i] = at;
    if (!q->bytes[i])
        return true;
    make_name(&q->l, q->l.old[i].node.name, "_q", name);
    q->bytes_at[i] = there_and_back(q, i, at, swaps ? q->l.old[i].node.name : name);
    if (computes)
        q->floats_at[i] = q->bytes_at[i];
    return q->bytes_at[i] >= 0;
}

/* Outputs keep their names. */
static void name_outputs(struct quantising *q, size_t i)
{
    struct graph_node *n = &q->l.m->layers[q->floats_at[i]].node;
    char name[GRAPH_NAME_BYTES];

    for (size_t k = 0; k < q->l.m->n_layers; k++)
        if (strcmp(q->l.m->layers[k].node.name, q->l.old[i].node.name) == 0 && &q->l.m->layers[k].node != n) {
            memcpy(name, n->name, sizeof name);
            memcpy(n->name, q->l.m->layers[k].node.name, sizeof name);
            memcpy(q->l.m->layers[k].node.name, name, sizeof name);
            return;
        }
}

static enum err put_layers(struct quantising *q)
{
    bool fine = true;

    for (size_t i = 0; i < q->l.n && fine; i++)
        fine = !q->l.old[i].live || put_layer(q, i);
    for (size_t k = 0; k < q->l.m->n_outputs && fine; k++) {
        const size_t i = (size_t)q->l.m->outputs[k];

        name_outputs(q, i);
        q->l.m->outputs[k] = q->floats_at[i];
    }
    if (!fine)
        return why_set(q->why, ERR_LIMIT, "more than %d layers, or memory", GRAPH_MAX_NODES);
    onnx_mark_live(q->l.m);
    onnx_join_bytes(q->l.m);
    onnx_mark_live(q->l.m);
    return q->l.m->failed ? why_set(q->why, ERR_LIMIT, "more memory than a model of this size may take") : ERR_OK;
}

/* What was quantised, for those who compare. */
static enum err note(struct quantising *q)
{
    struct onnx_quantised *list = onnx_memory_take(&q->l.m->file.memory, (q->l.n + 1) * sizeof *list);
    size_t n = 0;

    if (!list)
        return why_set(q->why, ERR_LIMIT, "more memory than a model of this size may take");
    for (size_t i = 0; i < q->l.n; i++)
        if (q->computes[i] && q->bytes[i]) {
            memcpy(list[n].layer, q->l.old[i].node.name, sizeof list[n].layer);
            list[n].has_weights = is_weighted(&q->l.old[i]);
            list[n].scale = q->bytes[i]->scale;
            list[n++].zero = q->bytes[i]->zero;
        }
    q->l.m->quantised = list;
    q->l.m->n_quantised = n;
    return ERR_OK;
}

static enum err quantise(struct quantising *q)
{
    enum err e = check_kept(q);

    if (e)
        return e;
    choose(q);
    join_groups(q);
    if (!give_bytes(q))
        return q->l.m->failed ? why_set(q->why, ERR_LIMIT, "more memory than a model of this size may take")
                              : ERR_INPUT;
    q->l = begin_again(q->l.m);
    e = put_layers(q);
    return e ? e : note(q);
}

enum err onnx_quantise(struct onnx_import *m, const struct onnx_quantise_options *o, struct why *why)
{
    struct quantising q = {.l = {m, m->layers, m->n_layers}, .o = o, .why = why};
    enum err e;

    q.computes = calloc(q.l.n + 1, sizeof *q.computes);
    q.bytes = calloc(q.l.n + 1, sizeof *q.bytes);
    q.floats_at = calloc(q.l.n + 1, sizeof *q.floats_at);
    q.bytes_at = calloc(q.l.n + 1, sizeof *q.bytes_at);
    q.group = calloc(q.l.n + 1, sizeof *q.group);
    e = q.computes && q.bytes && q.group && q.floats_at && q.bytes_at ? quantise(&q)
                                                                      : why_set(why, ERR_NOMEM, "out of memory");
    free(q.computes);
    free(q.bytes);
    free(q.floats_at);
    free(q.bytes_at);
    free(q.group);
    return e;
}

const struct onnx_quantised *onnx_import_quantised(const struct onnx_import *m, size_t *n)
{
    *n = m->n_quantised;
    return m->quantised;
}
