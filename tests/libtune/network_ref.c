/* SPDX-License-Identifier: MIT */
#include "network_ref.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct ref {
    const struct graph *g;
    enum dtype t;
    ref_weights *weights;
    void *arg;
    double *of[GRAPH_MAX_NODES]; /* each node's tensor */
};

static int64_t size(const struct graph_node *n)
{
    return n->key[GRAPH_C] * n->key[GRAPH_H] * n->key[GRAPH_W];
}

static double rounded(enum dtype t, double v)
{
    return t == DTYPE_F16 ? (double)half_to_float(half_from_float((float)v)) : t == DTYPE_F32 ? (double)(float)v : v;
}

static bool is_bytes(const struct ref *f)
{
    return f->t == DTYPE_I8 || f->t == DTYPE_U8;
}

/* Zero point `i` of a layer's `n`. */
static double zero(const struct ref *f, const struct graph_node *node, int n, int i)
{
    return f->t == DTYPE_U8 ? f->weights(node->name, "zero", n, f->arg)[i] : 0;
}

/* How many a layer has. */
static int n_zeros(const struct graph_node *n, bool is_last)
{
    return is_last ? 1 : n->residual >= 0 ? 4 : 2;
}

/* v to a byte and back, as a distance from its zero point. */
static double saturated(const struct ref *f, double v, double from)
{
    const double least = f->t == DTYPE_U8 ? 0 : -128;

    v += from;
    return (v < least ? least : v > least + 255 ? least + 255 : v) - from;
}

/* The sum of a window over channels c0 .. c1 at output (p, q); w: [c1-c0][r][s]. */
static double window_sum(const struct ref *f, const struct graph_node *n, const double *w, int64_t c0, int64_t c1,
                         int64_t p, int64_t q)
{
    const struct graph_node *x = &f->g->nodes[n->x];
    const double *in = f->of[n->x], nothing = is_bytes(f) ? zero(f, n, n_zeros(n, false), 0) : 0;
    double sum = 0;

    for (int64_t c = c0; c < c1; c++)
        for (int64_t r = 0; r < n->key[GRAPH_R]; r++)
            for (int64_t s = 0; s < n->key[GRAPH_S]; s++) {
                const int64_t a = p * n->key[GRAPH_STRIDE_H] + r * (n->op == GRAPH_POOL2D ? 1 : n->key[GRAPH_DIL_H]) -
                                  n->key[GRAPH_TOP];
                const int64_t b = q * n->key[GRAPH_STRIDE_W] + s * (n->op == GRAPH_POOL2D ? 1 : n->key[GRAPH_DIL_W]) -
                                  n->key[GRAPH_LEFT];

                if (a >= 0 && b >= 0 && a < x->key[GRAPH_H] && b < x->key[GRAPH_W])
                    sum += (in[(c * x->key[GRAPH_H] + a) * x->key[GRAPH_W] + b] - nothing) *
                           w[((c - c0) * n->key[GRAPH_R] + r) * n->key[GRAPH_S] + s];
            }
    return sum;
}

/* The byte of a sum; with a shortcut joined with it. */
static double quantised(const struct ref *f, const struct graph_node *n, int64_t k, double v, double residual)
{
    const double *scale = f->weights(n->name, "scale", n->key[GRAPH_C], f->arg), *scales;
    const int zeros = n_zeros(n, false);

    v = n->relu && n->residual < 0 && v < 0 ? 0 : v;
    v = saturated(f, (double)rintf((float)v * (float)scale[k]), zero(f, n, zeros, 1));
    if (n->residual < 0)
        return v + zero(f, n, zeros, 1);
    scales = f->weights(n->name, "sum_scale", 2, f->arg);
    v = v * scales[0] + (residual - zero(f, n, zeros, 2)) * scales[1];
    return saturated(f, rint(n->relu && v < 0 ? 0 : v), zero(f, n, zeros, 3)) + zero(f, n, zeros, 3);
}

/* What follows a sum: v has the bias already. */
static double finish(const struct ref *f, size_t i, int64_t k, int64_t at, double v, bool is_last)
{
    const struct graph_node *n = &f->g->nodes[i];

    if (!is_bytes(f)) {
        v += n->residual >= 0 ? f->of[n->residual][at] : 0;
        v = (n->relu || n->relu6) && v < 0 ? 0 : v;
        return rounded(f->t, n->relu6 && v > 6 ? 6 : v);
    }
    if (is_last)
        return v;
    return quantised(f, n, k, v, n->residual >= 0 ? f->of[n->residual][at] : 0);
}

static void conv(const struct ref *f, size_t i)
{
    const struct graph_node *n = &f->g->nodes[i];
    const int64_t c = f->g->nodes[n->x].key[GRAPH_C], n_k = n->key[GRAPH_C];
    const int64_t n_groups = n->op == GRAPH_DEPTHWISE ? c : n->key[GRAPH_GROUPS], one = c / n_groups;
    const int64_t taps = one * n->key[GRAPH_R] * n->key[GRAPH_S];
    const double *w = f->weights(n->name, "w", n_k * taps, f->arg), *bias = f->weights(n->name, "bias", n_k, f->arg);
    int64_t at = 0;

    for (int64_t k = 0; k < n_k; k++)
        for (int64_t p = 0; p < n->key[GRAPH_H]; p++)
            for (int64_t q = 0; q < n->key[GRAPH_W]; q++, at++) {
                const int64_t c0 = k / (n_k / n_groups) * one;

                f->of[i][at] = finish(f, i, k, at, window_sum(f, n, w + k * taps, c0, c0 + one, p, q) + bias[k], false);
            }
}

static void dense(const struct ref *f, size_t i)
{
    const struct graph_node *n = &f->g->nodes[i];
    const int64_t n_in = size(&f->g->nodes[n->x]), n_k = n->key[GRAPH_C];
    const double *w = f->weights(n->name, "w", n_k * n_in, f->arg), *bias = f->weights(n->name, "bias", n_k, f->arg);
    const bool is_last = i + 1 == f->g->n_nodes || f->g->nodes[i + 1].op == GRAPH_SOFTMAX;

    for (int64_t k = 0; k < n_k; k++) {
        double sum = bias[k];

        for (int64_t j = 0; j < n_in; j++)
            sum += w[k * n_in + j] * (f->of[n->x][j] - zero(f, n, n_zeros(n, is_last), 0));
        f->of[i][k] = finish(f, i, k, k, sum, is_last);
    }
}

static void add(const struct ref *f, size_t i)
{
    const struct graph_node *n = &f->g->nodes[i];

    for (int64_t k = 0; k < size(n); k++) {
        const double v = f->of[n->x][k] + f->of[n->residual][k];

        f->of[i][k] = rounded(f->t, n->relu && v < 0 ? 0 : v);
    }
}

static void concat(const struct ref *f, size_t i)
{
    const struct graph_node *n = &f->g->nodes[i];
    const int64_t n_x = size(&f->g->nodes[n->x]);

    for (int64_t k = 0; k < size(n); k++)
        f->of[i][k] = k < n_x ? f->of[n->x][k] : f->of[n->residual][k - n_x];
}

static double pooled(const struct ref *f, const struct graph_node *n, int64_t c, int64_t p, int64_t q)
{
    const struct graph_node *x = &f->g->nodes[n->x];
    double largest = -INFINITY, sum = 0;
    int count = 0;

    for (int64_t r = 0; r < n->key[GRAPH_R]; r++)
        for (int64_t s = 0; s < n->key[GRAPH_S]; s++) {
            const int64_t a =
                p * n->key[GRAPH_STRIDE_H] + r * (n->op == GRAPH_POOL2D ? 1 : n->key[GRAPH_DIL_H]) - n->key[GRAPH_TOP];
            const int64_t b =
                q * n->key[GRAPH_STRIDE_W] + s * (n->op == GRAPH_POOL2D ? 1 : n->key[GRAPH_DIL_W]) - n->key[GRAPH_LEFT];
            double v;

            if (a < 0 || b < 0 || a >= x->key[GRAPH_H] || b >= x->key[GRAPH_W])
                continue;
            v = f->of[n->x][(c * x->key[GRAPH_H] + a) * x->key[GRAPH_W] + b];
            largest = v > largest ? v : largest;
            sum += v;
            count++;
        }
    return !n->avg ? largest : is_bytes(f) ? rint(sum / count) : rounded(f->t, sum / count);
}

static void pool(const struct ref *f, size_t i)
{
    const struct graph_node *n = &f->g->nodes[i];
    int64_t at = 0;

    for (int64_t c = 0; c < n->key[GRAPH_C]; c++)
        for (int64_t p = 0; p < n->key[GRAPH_H]; p++)
            for (int64_t q = 0; q < n->key[GRAPH_W]; q++)
                f->of[i][at++] = pooled(f, n, c, p, q);
}

static void softmax(const struct ref *f, size_t i)
{
    const struct graph_node *n = &f->g->nodes[i];
    const double *x = f->of[n->x];
    const double scale = is_bytes(f) ? f->weights(n->name, "scale", 1, f->arg)[0] : 1;
    double largest = -INFINITY, sum = 0;

    for (int64_t k = 0; k < n->key[GRAPH_C]; k++)
        largest = x[k] * scale > largest ? x[k] * scale : largest;
    for (int64_t k = 0; k < n->key[GRAPH_C]; k++)
        sum += f->of[i][k] = exp(x[k] * scale - largest);
    for (int64_t k = 0; k < n->key[GRAPH_C]; k++)
        f->of[i][k] /= sum;
}

void ref_network(const struct graph *g, enum dtype t, const double *x, ref_weights *weights, void *arg, double *y)
{
    static void (*const compute[N_GRAPH_OPS])(const struct ref *f, size_t i) = {
        [GRAPH_CONV2D] = conv, [GRAPH_DEPTHWISE] = conv, [GRAPH_POOL2D] = pool,    [GRAPH_DENSE] = dense,
        [GRAPH_ADD] = add,     [GRAPH_CONCAT] = concat,  [GRAPH_SOFTMAX] = softmax};
    struct ref f = {.g = g, .t = t, .weights = weights, .arg = arg};

    for (size_t i = 0; i < g->n_nodes; i++) {
        f.of[i] = calloc((size_t)size(&g->nodes[i]), sizeof(double));
        if (!f.of[i])
            abort();
        if (i == 0)
            memcpy(f.of[0], x, (size_t)size(&g->nodes[0]) * sizeof *x);
        else
            compute[g->nodes[i].op](&f, i);
    }
    memcpy(y, f.of[g->n_nodes - 1], (size_t)size(&g->nodes[g->n_nodes - 1]) * sizeof *y);
    for (size_t i = 0; i < g->n_nodes; i++)
        free(f.of[i]);
}
