/* SPDX-License-Identifier: MIT */
#ifdef TUNE_HAVE_ONNX
#include "cli/calibrate.h"

#include "deploy/by_step.h"
#include "kernels/graph.h"
#include "kernels/npz.h"
#include "onnx/quantise.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WEIGHTS ((size_t)1 << 33)
#define MAX_WORST 5
#define BINS 2048 /* of a tensor's numbers, as onnxruntime's quantiser has */

/* A network, of floats or of bytes, and what it has computed last. */
struct side {
    struct buf text, bytes, list;
    struct graph g;
    struct by_step *steps;
};

struct range {
    double lo, hi;
};

/* Sums over all runs of a tensor of the network of floats, a, and of the difference to the other one. */
struct beside {
    double aa, bb, ab, dd, most, worst;
    long long n_rows, n_same; /* of the last dimension; the largest of which is in the same place */
};

struct calibrating {
    struct onnx_import *m;
    const struct calibration *c;
    struct npz given;
    const struct npy **inputs; /* [n_inputs] */
    size_t n_inputs;
    int64_t n_runs;
    struct side floats, bytes;
    struct range *ranges;   /* [floats.g.n_nodes] */
    uint64_t *counts;       /* [floats.g.n_nodes][BINS] of the numbers between a range's ends; NULL: nothing is cut */
    struct beside *layers;  /* [n_quantised] */
    struct beside *outputs; /* [floats.g.n_outputs] */
    float *room[2];         /* for the largest tensor */
    struct why *why;
};

/* ---- networks ---- */

/* The network as the model is now; side_build makes it ready to run. */
static enum err side_open(struct calibrating *x, struct side *s)
{
    enum err e;

    buf_init(&s->text, GRAPH_MAX_BYTES);
    buf_init(&s->bytes, MAX_WEIGHTS);
    buf_init(&s->list, GRAPH_MAX_BYTES);
    e = onnx_import_graph(x->m, &s->text, x->why);
    return e ? e : graph_parse("model", buf_text(&s->text), s->text.len, &s->g, x->why);
}

static enum err side_build(struct calibrating *x, struct side *s)
{
    const enum err e = onnx_import_weights_of(x->m, DTYPE_F32, &s->bytes, &s->list, x->why);

    return e ? e : by_step_open(&s->g, x->c->device, &s->bytes, &s->list, &s->steps, x->why);
}

static void side_close(struct side *s)
{
    by_step_close(s->steps);
    graph_fini(&s->g);
    buf_fini(&s->text);
    buf_fini(&s->bytes);
    buf_fini(&s->list);
}

/* ---- inputs ---- */

/* How many runs an array holds: of the input's shape, the first dimension that many times as large. 0: of another. */
static int64_t runs_of(const struct npy *a, const struct graph_shape *s)
{
    if (a->n_dims != s->rank || a->shape[0] % s->dim[0] != 0)
        return 0;
    for (int d = 1; d < s->rank; d++)
        if (a->shape[d] != s->dim[d])
            return 0;
    return a->shape[0] / s->dim[0];
}

static enum err check_finite(struct calibrating *x, const char *name, const struct npy *a)
{
    for (int64_t i = 0; i < a->n_elems; i++)
        if (!isfinite(a->values[i]))
            return why_set(x->why, ERR_INPUT, "%.300s: element %lld of %.100s is %s: expected finite numbers",
                           x->c->inputs, (long long)i, name, isnan(a->values[i]) ? "NaN" : "infinite");
    return ERR_OK;
}

static enum err take_input(struct calibrating *x, const char *name, const struct graph_shape *s)
{
    const struct npy *a = npz_find(&x->given, name);
    struct graph_shape has = {.rank = a ? a->n_dims : 0};
    int64_t n = a ? runs_of(a, s) : 0;
    char words[2][96];

    if (!a)
        return why_set(x->why, ERR_INPUT, "%.300s: no array %.100s, which the model reads", x->c->inputs, name);
    for (int d = 0; d < has.rank; d++)
        has.dim[d] = a->shape[d];
    graph_shape_words(s, words[0], sizeof words[0]);
    graph_shape_words(&has, words[1], sizeof words[1]);
    if (n < 1)
        return why_set(x->why, ERR_INPUT,
                       "%.300s: %.100s is %s: expected %s, or any number of them along the first dimension",
                       x->c->inputs, name, words[1], words[0]);
    if (x->n_inputs > 0 && n != x->n_runs)
        return why_set(x->why, ERR_INPUT, "%.300s: %lld runs of %.100s, but %lld of what stands before it",
                       x->c->inputs, (long long)n, name, (long long)x->n_runs);
    x->n_runs = n;
    x->inputs[x->n_inputs++] = a;
    return check_finite(x, name, a);
}

static enum err check_names(struct calibrating *x)
{
    for (size_t i = 0; i < x->given.n; i++) {
        const char *name = x->given.list[i].name, *own = NULL;
        size_t k = 0;

        while ((own = onnx_import_input(x->m, k)) != NULL && strcmp(own, name) != 0)
            k++;
        if (!own)
            return why_set(x->why, ERR_INPUT, "%.300s: the model has no input %.100s; its first is %.100s",
                           x->c->inputs, name, onnx_import_input(x->m, 0) ? onnx_import_input(x->m, 0) : "none");
    }
    return ERR_OK;
}

static enum err take_inputs(struct calibrating *x)
{
    enum err e = check_names(x);

    x->inputs = calloc(x->floats.g.n_nodes + 1, sizeof *x->inputs);
    if (!x->inputs)
        return why_set(x->why, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < x->floats.g.n_nodes && !e; i++)
        if (x->floats.g.nodes[i].op == GRAPH_INPUT)
            e = take_input(x, onnx_import_input(x->m, x->n_inputs), &x->floats.g.nodes[i].shape);
    return e;
}

static enum err run(struct calibrating *x, struct side *s, int64_t i_run)
{
    const float **at = calloc(x->n_inputs + 1, sizeof *at);
    enum err e = at ? ERR_OK : why_set(x->why, ERR_NOMEM, "out of memory");

    for (size_t k = 0; k < x->n_inputs && !e; k++)
        at[k] = x->inputs[k]->values + i_run * (x->inputs[k]->n_elems / x->n_runs);
    if (!e)
        e = by_step_run(s->steps, at, x->why);
    free(at);
    return e;
}

/* ---- ranges ---- */

static enum err make_room(struct calibrating *x)
{
    int64_t most = 1;

    for (size_t i = 0; i < x->floats.g.n_nodes; i++) {
        const int64_t n = graph_elems(&x->floats.g.nodes[i].shape);

        most = n > most ? n : most;
    }
    x->ranges = calloc(x->floats.g.n_nodes + 1, sizeof *x->ranges);
    x->outputs = calloc(x->floats.g.n_outputs + 1, sizeof *x->outputs);
    for (int k = 0; k < 2; k++)
        x->room[k] = malloc((size_t)most * sizeof(float));
    return x->ranges && x->outputs && x->room[0] && x->room[1] ? ERR_OK : why_set(x->why, ERR_NOMEM, "out of memory");
}

/* A number that is none is kept: NaN in both. */
static void widen(struct calibrating *x, size_t i)
{
    const int64_t n = graph_elems(&x->floats.g.nodes[i].shape);
    struct range *r = &x->ranges[i];

    if (!by_step_read(x->floats.steps, (int)i, x->room[0]))
        return;
    for (int64_t k = 0; k < n; k++) {
        const double v = (double)x->room[0][k];

        r->lo = v < r->lo || isnan(v) ? v : r->lo;
        r->hi = v > r->hi || isnan(v) ? v : r->hi;
    }
}

static bool range_of(const char *layer, double *lo, double *hi, void *arg)
{
    const struct calibrating *x = arg;
    const int i = graph_node_find(&x->floats.g, layer);

    assert(i >= 0);
    *lo = x->ranges[i].lo;
    *hi = x->ranges[i].hi;
    return isfinite(*lo) && isfinite(*hi);
}

static bool has_bins(const struct range *r)
{
    return isfinite(r->lo) && isfinite(r->hi) && r->hi > r->lo;
}

static void count(struct calibrating *x, size_t i)
{
    const int64_t n = graph_elems(&x->floats.g.nodes[i].shape);
    const struct range *r = &x->ranges[i];
    const double bins = BINS / (r->hi - r->lo);

    if (!has_bins(r) || !by_step_read(x->floats.steps, (int)i, x->room[0]))
        return;
    for (int64_t k = 0; k < n; k++) {
        const int64_t at = (int64_t)(((double)x->room[0][k] - r->lo) * bins);

        x->counts[i * BINS + (size_t)(at < 0 ? 0 : at < BINS ? at : BINS - 1)]++;
    }
}

/* Whole bins at the ends of a range, whose numbers are less than `most`, are no part of it. */
static void cut(struct range *r, const uint64_t *counts, double most)
{
    const struct range all = *r;
    uint64_t below = counts[0], above = counts[BINS - 1];
    int first = 0, last = BINS - 1;

    while (first < last && (double)below < most)
        below += counts[++first];
    while (last > first && (double)above < most)
        above += counts[--last];
    r->lo = all.lo + (all.hi - all.lo) * first / BINS;
    r->hi = all.lo + (all.hi - all.lo) * (last + 1) / BINS;
}

static void cut_all(struct calibrating *x)
{
    for (size_t i = 0; i < x->floats.g.n_nodes; i++) {
        const uint64_t *counts = x->counts + i * BINS;
        uint64_t n = 0;

        for (size_t k = 0; k < BINS; k++)
            n += counts[k];
        if (n && has_bins(&x->ranges[i]))
            cut(&x->ranges[i], counts, (double)n * (100 - x->c->percentile) / 200);
    }
}

/* All inputs, and `each` tensor of each run. */
static enum err each_tensor(struct calibrating *x, void (*each)(struct calibrating *x, size_t i))
{
    enum err e = ERR_OK;

    for (int64_t r = 0; r < x->n_runs && !e; r++) {
        e = run(x, &x->floats, r);
        for (size_t i = 0; i < x->floats.g.n_nodes && !e; i++)
            each(x, i);
    }
    return e;
}

static enum err find_ranges(struct calibrating *x)
{
    enum err e = make_room(x);

    if (!e)
        e = each_tensor(x, widen);
    if (e || x->c->percentile >= 100)
        return e;
    x->counts = calloc(x->floats.g.n_nodes + 1, BINS * sizeof *x->counts);
    e = x->counts ? each_tensor(x, count) : why_set(x->why, ERR_NOMEM, "out of memory");
    if (!e)
        cut_all(x);
    return e;
}

/* ---- both beside each other ---- */

static void add_beside(struct beside *b, const float *a, const float *c, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const double v = (double)a[i], w = (double)c[i];

        b->aa += v * v;
        b->bb += w * w;
        b->ab += v * w;
        b->dd += (v - w) * (v - w);
        b->most = fmax(b->most, fabs(v));
        b->worst = fmax(b->worst, fabs(v - w));
    }
}

static int64_t largest(const float *v, int64_t n)
{
    int64_t at = 0;

    for (int64_t i = 1; i < n; i++)
        at = v[i] > v[at] ? i : at;
    return at;
}

static void add_output(struct calibrating *x, size_t k)
{
    const int at[2] = {x->floats.g.outputs[k], x->bytes.g.outputs[k]};
    const struct graph_shape *s = &x->floats.g.nodes[at[0]].shape;
    const int64_t n = graph_elems(s), row = s->dim[s->rank - 1];

    if (!by_step_read(x->floats.steps, at[0], x->room[0]) || !by_step_read(x->bytes.steps, at[1], x->room[1]))
        return;
    add_beside(&x->outputs[k], x->room[0], x->room[1], n);
    for (int64_t i = 0; i < n; i += row) {
        x->outputs[k].n_rows++;
        x->outputs[k].n_same += largest(x->room[0] + i, row) == largest(x->room[1] + i, row);
    }
}

/* What a layer of bytes gave, as floats again, or what has its name and is floats. */
static void add_layer(struct calibrating *x, const struct onnx_quantised *q, struct beside *b)
{
    const int at[2] = {graph_node_find(&x->floats.g, q->layer), graph_node_find(&x->bytes.g, q->layer)};
    const int64_t n = at[0] < 0 ? 0 : graph_elems(&x->floats.g.nodes[at[0]].shape);

    if (at[0] < 0 || at[1] < 0 || !by_step_read(x->floats.steps, at[0], x->room[0]) ||
        !by_step_read(x->bytes.steps, at[1], x->room[1]))
        return;
    if (x->bytes.g.nodes[at[1]].bytes)
        for (int64_t i = 0; i < n; i++)
            x->room[1][i] = (x->room[1][i] - (float)q->zero) * q->scale;
    add_beside(b, x->room[0], x->room[1], n);
}

static enum err compare(struct calibrating *x, const struct onnx_quantised *list, size_t n)
{
    enum err e = ERR_OK;

    x->layers = calloc(n + 1, sizeof *x->layers);
    if (!x->layers)
        return why_set(x->why, ERR_NOMEM, "out of memory");
    for (int64_t r = 0; r < x->n_runs && !e; r++) {
        e = run(x, &x->floats, r);
        if (!e)
            e = run(x, &x->bytes, r);
        for (size_t i = 0; i < n && !e; i++)
            add_layer(x, &list[i], &x->layers[i]);
        for (size_t k = 0; k < x->floats.g.n_outputs && !e; k++)
            add_output(x, k);
    }
    return e;
}

/* ---- the report ---- */

/* The root of the mean square of the difference, of that of the floats. */
static double off(const struct beside *b)
{
    return b->aa > 0 ? sqrt(b->dd / b->aa) : 0;
}

/* How far off that is which layer i reads first, where it is one of bytes. */
static double read_off(const struct calibrating *x, const struct onnx_quantised *list, size_t n, size_t i)
{
    const struct graph *g = &x->floats.g;
    const int at = graph_node_find(g, list[i].layer);
    const char *from = at >= 0 && g->nodes[at].n_in ? g->nodes[g->nodes[at].in[0]].name : "";

    for (size_t k = 0; k < n; k++)
        if (strcmp(list[k].layer, from) == 0)
            return off(&x->layers[k]);
    return 0;
}

static void put_outputs(const struct calibrating *x, struct buf *out)
{
    buf_printf(out, "%-32s %9s %14s %s\n", "output beside that of f32", "cosine", "largest error",
               "largest in its place");
    for (size_t k = 0; k < x->floats.g.n_outputs; k++) {
        const struct beside *b = &x->outputs[k];

        buf_printf(out, "%-32s %9.6f %13.3f%% %lld of %lld\n", x->floats.g.nodes[x->floats.g.outputs[k]].name,
                   b->aa > 0 && b->bb > 0 ? b->ab / sqrt(b->aa * b->bb) : 1, b->most > 0 ? 100 * b->worst / b->most : 0,
                   b->n_same, b->n_rows);
    }
}

/* Those that are off more than what they read, most first. */
static void put_worst(const struct calibrating *x, const struct onnx_quantised *list, size_t n, struct buf *out)
{
    bool *told = calloc(n + 1, sizeof *told);

    for (int k = 0; told && k < MAX_WORST; k++) {
        double most = 0;
        size_t worst = n;

        for (size_t i = 0; i < n; i++) {
            const double more = off(&x->layers[i]) - read_off(x, list, n, i);

            if (list[i].has_weights && !told[i] && more > most) {
                most = more;
                worst = i;
            }
        }
        if (worst == n)
            break;
        told[worst] = true;
        buf_printf(out, "%s %-37s off by %6.3f%%, what it reads by %6.3f%%\n", k ? "     " : "worst", list[worst].layer,
                   100 * off(&x->layers[worst]), 100 * read_off(x, list, n, worst));
    }
    free(told);
}

static void put_report(const struct calibrating *x, const struct onnx_quantised *list, size_t n, struct buf *out)
{
    size_t n_weighted = 0, n_all = 0;

    for (size_t i = 0; i < n; i++)
        n_weighted += list[i].has_weights;
    for (size_t i = 0; i < x->floats.g.n_nodes; i++) {
        const enum graph_op op = x->floats.g.nodes[i].op;

        n_all += op == GRAPH_CONV2D || op == GRAPH_DEPTHWISE || graph_is_dense(op);
    }
    buf_printf(out, "quantised by %lld run%s: %zu of %zu layers with weights on bytes, and %zu others\n",
               (long long)x->n_runs, x->n_runs == 1 ? "" : "s", n_weighted, n_all, n - n_weighted);
    put_outputs(x, out);
    put_worst(x, list, n, out);
}

static enum err carry_out(struct calibrating *x, struct buf *report)
{
    const struct onnx_quantise_options o = {range_of, x, x->c->keep, x->c->n_keep};
    const struct onnx_quantised *list;
    size_t n;
    enum err e = onnx_quantise_begin(x->m, x->why);

    if (!e)
        e = side_open(x, &x->floats);
    if (!e)
        e = take_inputs(x);
    if (!e)
        e = side_build(x, &x->floats);
    if (!e)
        e = find_ranges(x);
    if (!e)
        e = onnx_quantise(x->m, &o, x->why);
    if (!e)
        e = side_open(x, &x->bytes);
    if (!e)
        e = side_build(x, &x->bytes);
    if (e)
        return e;
    list = onnx_import_quantised(x->m, &n);
    e = compare(x, list, n);
    if (!e)
        put_report(x, list, n, report);
    return e;
}

enum err calibrate(struct onnx_import *m, const struct calibration *c, struct buf *report, struct why *why)
{
    struct calibrating x = {.m = m, .c = c, .why = why};
    enum err e = npz_read(c->inputs, &x.given, why);

    if (!e)
        e = carry_out(&x, report);
    side_close(&x.floats);
    side_close(&x.bytes);
    npz_fini(&x.given);
    free(x.inputs);
    free(x.ranges);
    free(x.counts);
    free(x.layers);
    free(x.outputs);
    free(x.room[0]);
    free(x.room[1]);
    return e;
}
#endif
