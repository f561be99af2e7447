/* SPDX-License-Identifier: MIT */
/* sums.c - Add, Sub, Mul, Div and Sum of activations: what is added in the kernel of a convolution or a dense layer. */
#include "onnx/model.h"

#include <assert.h>
#include <string.h>

static const struct onnx_layer *layer_of(const struct onnx_import *m, const struct onnx_value *v)
{
    return &m->layers[v->i_layer];
}

static bool takes_shortcut(const struct onnx_import *m, const struct onnx_value *v)
{
    const struct graph_node *n = &layer_of(m, v)->node;

    return onnx_is_open(m, v) && n->op == GRAPH_CONV2D && n->n_in == 1;
}

/* The layer again as the last one, where its shortcut can be made before it; the old one is read by nobody. */
static int moved_last(struct onnx_import *m, const Onnx__NodeProto *node, int i_layer)
{
    const int i = onnx_new_layer(m, node, m->layers[i_layer].node.op, m->layers[i_layer].node.in[0]);

    if (i >= 0) {
        m->layers[i] = m->layers[i_layer];
        m->layers[i_layer].node.name[0] = '\0';
    }
    return i;
}

/* A dense layer whose sums something of the same shape can be added to. */
static bool takes_residual(const struct onnx_import *m, const struct onnx_value *v)
{
    const struct graph_node *n = &layer_of(m, v)->node;

    return onnx_is_open(m, v) && graph_is_dense(n->op) && n->n_in == 1;
}

/* To a dense layer's rows, which is computed behind both. */
static enum onnx_role add_to_rows(struct onnx_import *m, const Onnx__NodeProto *node, const struct onnx_value *rows,
                                  const struct onnx_value *more)
{
    const struct graph_shape shape = rows->shape;
    const int other = onnx_layer_as(m, more, &layer_of(m, rows)->node.shape);
    const int i = other < 0 ? -1 : moved_last(m, node, rows->i_layer);

    if (i < 0)
        return ONNX_FOLDED;
    assert(m->layers[i].node.n_in == 1 && other < i); /* it took a residual */
    m->layers[i].node.in[m->layers[i].node.n_in++] = other;
    if (onnx_finish(m, node, i, ONNX_FOLDED) == ONNX_UNSUPPORTED)
        return ONNX_UNSUPPORTED;
    onnx_out(m, node, 0)->shape = shape;
    return ONNX_FOLDED;
}

static enum onnx_role add_two(struct onnx_import *m, const Onnx__NodeProto *node, const struct onnx_value *a,
                              const struct onnx_value *b)
{
    const bool alike = graph_same_shape(&layer_of(m, a)->node.shape, &layer_of(m, b)->node.shape);
    const struct onnx_value *later = a->i_layer > b->i_layer ? a : b, *earlier = later == a ? b : a;
    enum onnx_role role = ONNX_FOLDED;
    int i = later->i_layer, other = earlier->i_layer;

    if (graph_same_shape(&a->shape, &b->shape) && other != i &&
        (takes_residual(m, later) || takes_residual(m, earlier)))
        return takes_residual(m, later) ? add_to_rows(m, node, later, earlier) : add_to_rows(m, node, earlier, later);
    if (!graph_same_shape(&a->shape, &b->shape) || other == i || !alike ||
        (!takes_shortcut(m, later) && !takes_shortcut(m, earlier)))
        return onnx_eltwise(m, node);
    if (!takes_shortcut(m, later)) {
        other = i;
        i = moved_last(m, node, earlier->i_layer);
    }
    if (i < 0)
        return role;
    assert(m->layers[i].node.n_in < GRAPH_MAX_INPUTS && other < i);
    m->layers[i].node.in[m->layers[i].node.n_in++] = other;
    role = onnx_finish(m, node, i, role);
    onnx_out(m, node, 0)->shape = a->shape;
    return role;
}

enum onnx_role onnx_layer_binary(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *a = onnx_in(m, node, 0), *b = onnx_in(m, node, 1);
    const char op = strcmp(node->op_type, "Sum") == 0 ? 'A' : node->op_type[0];
    enum onnx_role role;

    if (onnx_norm_ends(m, node, &role))
        return role;
    if (b->kind == ONNX_CONSTANT)
        return onnx_with_constant(m, node, a, b, op, false);
    if (a->kind == ONNX_CONSTANT)
        return onnx_with_constant(m, node, b, a, op, true);
    return strcmp(node->op_type, "Add") == 0 || strcmp(node->op_type, "Sum") == 0 ? add_two(m, node, a, b)
                                                                                  : onnx_eltwise(m, node);
}
