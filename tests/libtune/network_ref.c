/* SPDX-License-Identifier: MIT */
#include "network_ref.h"

#include "kernels/epilogue.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
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
    int64_t elems = 1;

    for (int i = 0; i < n->shape.rank; i++)
        elems *= n->shape.dim[i];
    return elems;
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
    return is_last ? 1 : n->n_in > 1 ? 4 : 2;
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
    const struct graph_node *x = &f->g->nodes[n->in[0]];
    const double *in = f->of[n->in[0]], nothing = is_bytes(f) ? zero(f, n, n_zeros(n, false), 0) : 0;
    double sum = 0;

    for (int64_t c = c0; c < c1; c++)
        for (int64_t r = 0; r < n->key[GRAPH_R]; r++)
            for (int64_t s = 0; s < n->key[GRAPH_S]; s++) {
                const int64_t a = p * n->key[GRAPH_STRIDE_H] + r * (n->op == GRAPH_POOL2D ? 1 : n->key[GRAPH_DIL_H]) -
                                  n->key[GRAPH_TOP];
                const int64_t b = q * n->key[GRAPH_STRIDE_W] + s * (n->op == GRAPH_POOL2D ? 1 : n->key[GRAPH_DIL_W]) -
                                  n->key[GRAPH_LEFT];

                if (a >= 0 && b >= 0 && a < x->shape.dim[2] && b < x->shape.dim[3])
                    sum += (in[(c * x->shape.dim[2] + a) * x->shape.dim[3] + b] - nothing) *
                           w[((c - c0) * n->key[GRAPH_R] + r) * n->key[GRAPH_S] + s];
            }
    return sum;
}

/* The byte of a sum; with a shortcut joined with it. */
static double quantised(const struct ref *f, const struct graph_node *n, int64_t k, double v, double residual)
{
    const double *scale = f->weights(n->name, "scale", n->shape.dim[1], f->arg), *scales;
    const int zeros = n_zeros(n, false);

    v = n->relu && n->n_in < 2 && v < 0 ? 0 : v;
    v = saturated(f, (double)rintf((float)v * (float)scale[k]), zero(f, n, zeros, 1));
    if (n->n_in < 2)
        return v + zero(f, n, zeros, 1);
    scales = f->weights(n->name, "sum_scale", 2, f->arg);
    v = v * scales[0] + (residual - zero(f, n, zeros, 2)) * scales[1];
    return saturated(f, rint(n->relu && v < 0 ? 0 : v), zero(f, n, zeros, 3)) + zero(f, n, zeros, 3);
}

/* x times 0 below -3, 1 above 3, a line between; x / (1 + e^-x); and what x is multiplied by in both. */
static double curved(unsigned curve, double x)
{
    const double line = x < -3 ? 0 : x > 3 ? 1 : (x + 3) / 6, gate = exp(x) / (exp(x) + 1);

    switch (curve) {
    case EPILOGUE_HARD_SWISH:
        return x * line;
    case EPILOGUE_SWISH:
        return x * gate;
    case EPILOGUE_HARD_SIGMOID:
        return line;
    default:
        return gate;
    }
}

/* What follows a sum: v has the bias already. */
static double finish(const struct ref *f, size_t i, int64_t k, int64_t at, double v, bool is_last)
{
    const struct graph_node *n = &f->g->nodes[i];

    if (!is_bytes(f)) {
        v += n->n_in > 1 ? f->of[n->in[1]][at] : 0;
        v = (n->relu || n->relu6) && v < 0 ? 0 : n->curve ? curved(n->curve, v) : v;
        return rounded(f->t, n->relu6 && v > 6 ? 6 : v);
    }
    if (is_last)
        return v;
    return quantised(f, n, k, v, n->n_in > 1 ? f->of[n->in[1]][at] : 0);
}

static void conv(const struct ref *f, size_t i)
{
    const struct graph_node *n = &f->g->nodes[i];
    const int64_t c = f->g->nodes[n->in[0]].shape.dim[1], n_k = n->shape.dim[1];
    const int64_t n_groups = n->op == GRAPH_DEPTHWISE ? c : n->key[GRAPH_GROUPS], one = c / n_groups;
    const int64_t taps = one * n->key[GRAPH_R] * n->key[GRAPH_S];
    const double *w = f->weights(n->name, "w", n_k * taps, f->arg), *bias = f->weights(n->name, "bias", n_k, f->arg);
    int64_t at = 0;

    for (int64_t k = 0; k < n_k; k++)
        for (int64_t p = 0; p < n->shape.dim[2]; p++)
            for (int64_t q = 0; q < n->shape.dim[3]; q++, at++) {
                const int64_t c0 = k / (n_k / n_groups) * one;

                f->of[i][at] = finish(f, i, k, at, window_sum(f, n, w + k * taps, c0, c0 + one, p, q) + bias[k], false);
            }
}

static void dense(const struct ref *f, size_t i)
{
    const struct graph_node *n = &f->g->nodes[i];
    const int64_t n_in = size(&f->g->nodes[n->in[0]]), n_k = n->shape.dim[1];
    const double *w = f->weights(n->name, "w", n_k * n_in, f->arg), *bias = f->weights(n->name, "bias", n_k, f->arg);
    const bool is_last = i + 1 == f->g->n_nodes || f->g->nodes[i + 1].op == GRAPH_SOFTMAX;

    for (int64_t k = 0; k < n_k; k++) {
        double sum = bias[k];

        for (int64_t j = 0; j < n_in; j++)
            sum += w[k * n_in + j] * (f->of[n->in[0]][j] - zero(f, n, n_zeros(n, is_last), 0));
        f->of[i][k] = finish(f, i, k, k, sum, is_last);
    }
}

static void add(const struct ref *f, size_t i)
{
    const struct graph_node *n = &f->g->nodes[i];

    for (int64_t k = 0; k < size(n); k++) {
        const double v = f->of[n->in[0]][k] + f->of[n->in[1]][k];

        f->of[i][k] = rounded(f->t, n->relu && v < 0 ? 0 : v);
    }
}

static void concat(const struct ref *f, size_t i)
{
    const struct graph_node *n = &f->g->nodes[i];
    const int64_t n_x = size(&f->g->nodes[n->in[0]]);

    for (int64_t k = 0; k < size(n); k++)
        f->of[i][k] = k < n_x ? f->of[n->in[0]][k] : f->of[n->in[1]][k - n_x];
}

static double pooled(const struct ref *f, const struct graph_node *n, int64_t c, int64_t p, int64_t q)
{
    const struct graph_node *x = &f->g->nodes[n->in[0]];
    double largest = -INFINITY, sum = 0;
    int count = 0;

    for (int64_t r = 0; r < n->key[GRAPH_R]; r++)
        for (int64_t s = 0; s < n->key[GRAPH_S]; s++) {
            const int64_t a =
                p * n->key[GRAPH_STRIDE_H] + r * (n->op == GRAPH_POOL2D ? 1 : n->key[GRAPH_DIL_H]) - n->key[GRAPH_TOP];
            const int64_t b =
                q * n->key[GRAPH_STRIDE_W] + s * (n->op == GRAPH_POOL2D ? 1 : n->key[GRAPH_DIL_W]) - n->key[GRAPH_LEFT];
            double v;

            if (a < 0 || b < 0 || a >= x->shape.dim[2] || b >= x->shape.dim[3])
                continue;
            v = f->of[n->in[0]][(c * x->shape.dim[2] + a) * x->shape.dim[3] + b];
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

    for (int64_t c = 0; c < n->shape.dim[1]; c++)
        for (int64_t p = 0; p < n->shape.dim[2]; p++)
            for (int64_t q = 0; q < n->shape.dim[3]; q++)
                f->of[i][at++] = pooled(f, n, c, p, q);
}

static void softmax_row(const struct ref *f, size_t i, const double *x, int64_t n_x, double *y)
{
    const struct graph_node *n = &f->g->nodes[i];
    const double scale = is_bytes(f) ? f->weights(n->name, "scale", 1, f->arg)[0] : 1;
    double largest = -INFINITY, sum = 0;

    for (int64_t k = 0; k < n_x; k++)
        largest = x[k] * scale > largest ? x[k] * scale : largest;
    for (int64_t k = 0; k < n_x; k++)
        sum += y[k] = exp(x[k] * scale - largest);
    for (int64_t k = 0; k < n_x; k++)
        y[k] = is_bytes(f) ? y[k] / sum : rounded(f->t, y[k] / sum);
}

/* Over all but the first dimension. */
static void softmax(const struct ref *f, size_t i)
{
    const struct graph_node *n = &f->g->nodes[i];
    const int64_t m = n->shape.dim[0], n_x = size(n) / m;

    for (int64_t k = 0; k < m; k++)
        softmax_row(f, i, f->of[n->in[0]] + k * n_x, n_x, f->of[i] + k * n_x);
}

static void reshape(const struct ref *f, size_t i)
{
    memcpy(f->of[i], f->of[f->g->nodes[i].in[0]], (size_t)size(&f->g->nodes[i]) * sizeof *f->of[i]);
}

/* A number list of a node's words, "d0=5,1": v[0..1], as they are where it is not there. */
static void listed(const struct graph_node *n, const char *key, long long *v)
{
    const char *at = strstr(n->words, key);

    if (at && sscanf(at + strlen(key), "%lld,%lld", &v[0], &v[1]) < 2)
        v[1] = v[0];
}

/* Zeros around; y's dimensions from the innermost one, d0. */
static void copy(const struct ref *f, size_t i)
{
    const struct graph_node *n = &f->g->nodes[i];
    long long at[2] = {0, 0}, d[6][2], p[6][2] = {{0}};

    listed(n, "at=", at);
    for (int k = 0; k < 6; k++) {
        const char dims[] = {'d', (char)('0' + k), '=', '\0'}, pads[] = {'p', (char)('0' + k), '=', '\0'};

        d[k][0] = d[k][1] = 1;
        listed(n, dims, d[k]);
        listed(n, pads, p[k]);
    }
    for (int64_t y = 0; y < size(n); y++) {
        int64_t rest = y, from = at[0], outside = 0;

        for (int k = 0; k < 6; k++) {
            const int64_t length = p[k][0] + d[k][0] + p[k][1], place = rest % length - p[k][0];

            outside += place < 0 || place >= d[k][0];
            from += place * d[k][1];
            rest /= length;
        }
        f->of[i][y] = outside ? 0 : f->of[n->in[0]][from];
    }
}

static void product(const struct ref *f, size_t i)
{
    const struct graph_node *n = &f->g->nodes[i];
    const int64_t *y = n->shape.dim, n_k = f->g->nodes[n->in[0]].shape.dim[2];

    for (int64_t b = 0; b < y[0]; b++)
        for (int64_t r = 0; r < y[1]; r++)
            for (int64_t c = 0; c < y[2]; c++) {
                double sum = 0;

                for (int64_t k = 0; k < n_k; k++)
                    sum += f->of[n->in[0]][(b * y[1] + r) * n_k + k] * f->of[n->in[1]][(b * y[2] + c) * n_k + k];
                f->of[i][(b * y[1] + r) * y[2] + c] = rounded(f->t, sum);
            }
}

/* Element k of images seen at a place between rows and columns: of the four around it. */
static double between(const double *plane, const int64_t *x, double row, double column)
{
    double y = 0;

    row = fmin(fmax(row, 0), (double)(x[2] - 1));
    column = fmin(fmax(column, 0), (double)(x[3] - 1));
    for (int64_t r = 0; r < x[2]; r++)
        for (int64_t c = 0; c < x[3]; c++)
            y += fmax(0, 1 - fabs(row - (double)r)) * fmax(0, 1 - fabs(column - (double)c)) * plane[r * x[3] + c];
    return y;
}

static void resize(const struct ref *f, size_t i)
{
    const struct graph_node *n = &f->g->nodes[i];
    const int64_t *x = f->g->nodes[n->in[0]].shape.dim, *y = n->shape.dim;
    long long step[2], first[2] = {0, 0}, unit[2] = {1, 1};
    const bool linear = strstr(n->words, "kind=linear") != NULL;

    listed(n, "step=", step);
    listed(n, "first=", first);
    listed(n, "unit=", unit);
    for (int64_t k = 0; k < size(n); k++) {
        const double row = (double)(k / y[3] % y[2] * step[0] + first[0]) / (double)unit[0];
        const double column = (double)(k % y[3] * step[1] + first[1]) / (double)unit[1];
        const double *plane = f->of[n->in[0]] + k / (y[2] * y[3]) * x[2] * x[3];

        f->of[i][k] = rounded(f->t, between(plane, x, linear ? row : floor(row), linear ? column : floor(column)));
    }
}

void ref_network(const struct graph *g, enum dtype t, double *const *arguments, ref_weights *weights, void *arg)
{
    static void (*const compute[N_GRAPH_OPS])(const struct ref *f, size_t i) = {
        [GRAPH_CONV2D] = conv, [GRAPH_DEPTHWISE] = conv,     [GRAPH_POOL2D] = pool,     [GRAPH_DENSE] = dense,
        [GRAPH_ADD] = add,     [GRAPH_CONCAT] = concat,      [GRAPH_SOFTMAX] = softmax, [GRAPH_RESHAPE] = reshape,
        [GRAPH_COPY] = copy,   [GRAPH_BATCH_GEMM] = product, [GRAPH_RESIZE] = resize};
    struct ref f = {.g = g, .t = t, .weights = weights, .arg = arg};
    size_t n = 0;

    for (size_t i = 0; i < g->n_nodes; i++) {
        const size_t n_bytes = (size_t)size(&g->nodes[i]) * sizeof(double);

        f.of[i] = calloc(1, n_bytes);
        if (!f.of[i])
            abort();
        if (g->nodes[i].op == GRAPH_INPUT)
            memcpy(f.of[i], arguments[n++], n_bytes);
        else
            compute[g->nodes[i].op](&f, i);
    }
    for (size_t k = 0; k < g->n_outputs; k++)
        memcpy(arguments[n + k], f.of[g->outputs[k]], (size_t)size(&g->nodes[g->outputs[k]]) * sizeof(double));
    for (size_t i = 0; i < g->n_nodes; i++)
        free(f.of[i]);
}
