/* SPDX-License-Identifier: MIT */
/* standin.c - layers in the place of nodes that nothing computes, where their shape is known all the same: so that the
 * table tells what becomes of the nodes behind them. */
#include "onnx/model.h"

#include <string.h>

/* Operators whose output is shaped as their largest input. */
static const char as_input[] =
    " Abs Add BatchNormalization Ceil Celu Clip Cos Div Elu Erf Exp Floor Gelu GroupNormalization HardSigmoid "
    "HardSwish "
    "InstanceNormalization LRN LayerNormalization LeakyRelu Log LogSoftmax Max Mean Min Mish Mod Mul Neg Pow PRelu "
    "Reciprocal Relu Round Selu Sigmoid Sign Sin Softmax Softplus Softsign Sqrt Sub Sum Swish Tanh ThresholdedRelu ";

static bool is_as_input(const char *op)
{
    char word[64];

    if (!op || strlen(op) + 3 > sizeof word)
        return false;
    word[0] = ' ';
    strcpy(word + 1, op);
    strcat(word, " ");
    return strstr(as_input, word) != NULL;
}

/* The activation with the most elements among the inputs; NULL where there is none. */
static const struct onnx_value *largest_input(const struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *largest = NULL;

    for (size_t i = 0; i < node->n_input; i++) {
        const struct onnx_value *v = onnx_in(m, node, i);

        if (v && v->kind == ONNX_ACTIVATION &&
            (!largest || onnx_shape_elems(&v->shape) > onnx_shape_elems(&largest->shape)))
            largest = v;
    }
    return largest;
}

/* Activations of 4 dimensions joined along channels. */
static bool joined(const struct onnx_import *m, const Onnx__NodeProto *node, struct graph_shape *out)
{
    const int64_t axis = onnx_attribute_int(node, "axis", 0);
    int64_t c = 0;

    for (size_t i = 0; i < node->n_input; i++) {
        const struct onnx_value *v = onnx_in(m, node, i);

        if (!v || v->kind != ONNX_ACTIVATION || v->shape.rank != 4 || (axis != 1 && axis != -3) ||
            memcmp(&v->shape.dim[2], &out->dim[2], 2 * sizeof out->dim[0]) != 0)
            return false;
        c += v->shape.dim[1];
    }
    out->dim[1] = c;
    return true;
}

bool onnx_stand_in(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *x = largest_input(m, node);
    struct onnx_value *out = onnx_out(m, node, 0);
    struct graph_shape shape = x ? x->shape : (struct graph_shape){.rank = 0};
    const bool own = !node->domain || !*node->domain;
    int i;

    if (!out || !x || !own || shape.rank < 1 ||
        !(strcmp(node->op_type, "Concat") == 0 ? joined(m, node, &shape) : is_as_input(node->op_type)))
        return false;
    i = onnx_new_layer(m, node, GRAPH_SOFTMAX, x->i_layer);
    if (i < 0)
        return false;
    m->layers[i].is_missing = true;
    m->layers[i].node.shape = shape;
    onnx_make_activation(out, i, &shape);
    return true;
}
