/* SPDX-License-Identifier: MIT */
/* same.c - the weights of one model imported at two sizes of a dimension. */
#include "core/err.h"
#include "onnx/import.h"
#include "onnx/model.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static bool equal(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* The element of the larger shape that stands where element i of the smaller one does. */
static int64_t place_of(const struct graph_shape *small, const struct graph_shape *large, int64_t i)
{
    int64_t at = 0, step = 1;

    for (int d = small->rank - 1; d >= 0; d--) {
        at += i % small->dim[d] * step;
        i /= small->dim[d];
        step *= large->dim[d];
    }
    return at;
}

static bool is_within(const struct graph_shape *small, const struct graph_shape *large)
{
    bool within = small->rank == large->rank;

    for (int d = 0; d < small->rank && within; d++)
        within = small->dim[d] <= large->dim[d];
    return within;
}

static bool same_constant(const struct onnx_layer *a, const struct onnx_layer *b)
{
    bool same = is_within(&a->node.shape, &b->node.shape);

    for (int64_t i = 0; i < a->n_w && same; i++)
        same = equal(onnx_weight_at(a, i), onnx_weight_at(b, place_of(&a->node.shape, &b->node.shape, i)));
    return same;
}

/* The same tensor of the file, read in the same way: its elements need not be compared. */
static bool same_source(const struct onnx_layer *a, const struct onnx_layer *b)
{
    const struct onnx_value *v = a->w, *w = b->w;

    return v && w && !v->v && !w->v && !v->dequantised && !w->dequantised && strcmp(v->name, w->name) == 0 &&
           graph_same_shape(&v->shape, &w->shape) && a->w_transposed == b->w_transposed && a->w_first == b->w_first &&
           a->w_columns == b->w_columns;
}

/* Layers with weights: of smaller ones, with a channel for each place, the first. */
static bool same_weights(const struct onnx_layer *a, const struct onnx_layer *b)
{
    const bool smaller = a->node.op == GRAPH_DEPTHWISE && a->n_w == a->n_bias && b->n_w == b->n_bias;
    bool same = smaller ? a->n_w <= b->n_w : a->n_w == b->n_w && a->n_bias == b->n_bias;

    for (int64_t k = 0; k < a->n_bias && same; k++)
        same = equal(a->bias[k], b->bias[k]) && (!a->factor || equal(a->factor[k], b->factor[k]));
    for (int64_t i = 0; !same_source(a, b) && i < a->n_w && same; i++)
        same = equal(onnx_weight_at(a, i), onnx_weight_at(b, i));
    return same;
}

static bool same_named(const struct onnx_layer *a, const struct onnx_layer *b)
{
    bool same = true;

    for (size_t t = 0; a->named && a->named[t].v && same; t++) {
        same = b->named && b->named[t].v && a->named[t].n == b->named[t].n;
        for (int64_t i = 0; same && i < a->named[t].n; i++)
            same = equal(a->named[t].v[i], b->named[t].v[i]);
    }
    return same;
}

static bool same_bytes(const struct onnx_layer *a, const struct onnx_layer *b)
{
    return a->n_scales == b->n_scales && a->n_zeros == b->n_zeros && equal(a->minus, b->minus) &&
           (!a->scale || memcmp(a->scale, b->scale, (size_t)a->n_scales * sizeof *a->scale) == 0) &&
           (!a->zero || memcmp(a->zero, b->zero, (size_t)a->n_zeros * sizeof *a->zero) == 0);
}

static bool same_layer(const struct onnx_layer *a, const struct onnx_layer *b)
{
    if (a->node.op == GRAPH_CONSTANT)
        return same_constant(a, b);
    return !a->named == !b->named && !a->bias == !b->bias && !a->scale == !b->scale && same_bytes(a, b) &&
           same_named(a, b) && (!a->bias || same_weights(a, b));
}

static const struct onnx_layer *next_live(const struct onnx_import *m, size_t *i)
{
    while (*i < m->n_layers && !m->layers[*i].live)
        ++*i;
    return *i < m->n_layers ? &m->layers[(*i)++] : NULL;
}

enum err onnx_import_same_weights(const struct onnx_import *small, const struct onnx_import *large, struct why *why)
{
    size_t i = 0, k = 0;
    const struct onnx_layer *a, *b;

    while ((a = next_live(small, &i)) != NULL) {
        b = next_live(large, &k);
        if (!b || a->node.op != b->node.op || !same_layer(a, b))
            return why_set(why, ERR_UNSUPPORTED,
                           "%s (%s): what it computes with depends on the size of the dimension, and is not the "
                           "beginning of what it is at a larger size",
                           a->node.name, graph_op_name(a->node.op));
    }
    return ERR_OK;
}
