/* SPDX-License-Identifier: MIT */
/* norms.c - normalizations of rows as one layer: of nodes that say so, and of the differences, squares, means and roots
 * that exporters write in the place of them. */
#include "onnx/model.h"

#include "kernels/norm/epsilon.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool onnx_is_rms(const struct onnx_layer *l)
{
    return l->node.op == GRAPH_NORM && strstr(l->node.words, "kind=rms");
}

/* A number for each of n, or left out. */
static bool is_weight(const struct onnx_value *v, const struct onnx_value *x, int axis, int64_t n)
{
    bool fits = !v || (v->kind == ONNX_CONSTANT && v->shape.rank == x->shape.rank - axis);

    for (int d = 0; v && fits && d < v->shape.rank; d++)
        fits = v->shape.dim[d] == x->shape.dim[axis + d];
    return fits && n > 0;
}

bool onnx_norm_rows(struct onnx_import *m, const Onnx__NodeProto *node, const struct onnx_value *x, int axis,
                    double epsilon, bool centres, const struct onnx_value *const weights[2], enum onnx_role *role)
{
    const struct graph_shape rows = {
        2, {graph_stretch(&x->shape, 0, axis), graph_stretch(&x->shape, axis, x->shape.rank)}};
    const int64_t n = rows.dim[1];
    const double units = rint(epsilon / NORM_UNIT);
    const struct graph_shape shape = x->shape;
    struct onnx_layer *l;
    int i;

    if (!is_weight(weights[0], x, axis, n) || !is_weight(weights[1], x, axis, n) || (!centres && weights[1]) ||
        epsilon < 0 || epsilon > 1 || fabs(units * NORM_UNIT - epsilon) > 1e-7 * epsilon)
        return false;
    *role = ONNX_TUNED;
    i = onnx_new_layer(m, node, GRAPH_NORM, onnx_layer_as(m, x, &rows));
    l = i < 0 ? NULL : &m->layers[i];
    if (!l || !onnx_give_weights(m, l, weights[0], n, n))
        return true;
    for (int64_t k = 0; k < n && weights[1]; k++)
        l->bias[k] = onnx_at(weights[1], k);
    snprintf(l->node.words, sizeof l->node.words, "epsilon=%.0f%s", units, centres ? "" : " kind=rms");
    *role = onnx_finish(m, node, i, ONNX_TUNED);
    onnx_out(m, node, 0)->shape = shape;
    return true;
}

/* ---- nodes ---- */

static bool is_node(const struct onnx_value *v, const char *op)
{
    return onnx_is_activation(v) && v->maker && v->role != ONNX_UNSUPPORTED && v->maker->op_type &&
           strcmp(v->maker->op_type, op) == 0;
}

static const struct onnx_value *in(const struct onnx_import *m, const struct onnx_value *v, size_t i)
{
    return onnx_in(m, v->maker, i);
}

static bool is_number(const struct onnx_value *v, double *out)
{
    if (!v || v->kind != ONNX_CONSTANT || onnx_shape_elems(&v->shape) != 1)
        return false;
    *out = onnx_at(v, 0);
    return true;
}

static bool is_two(const struct onnx_value *v)
{
    double number = 0;

    return is_number(v, &number) && number >= 2 && number <= 2;
}

/* Is v the mean of rows, kept as dimensions of 1? Then of *x. */
static bool is_mean(const struct onnx_import *m, const struct onnx_value *v, const struct onnx_value **x)
{
    struct graph_shape shape;

    if (!is_node(v, "ReduceMean") || !onnx_is_activation(in(m, v, 0)) || in(m, v, 0)->shape.rank < 1)
        return false;
    shape = in(m, v, 0)->shape;
    if (shape.dim[shape.rank - 1] == 1)
        return false;
    shape.dim[shape.rank - 1] = 1;
    *x = in(m, v, 0);
    return graph_same_shape(&shape, &v->shape);
}

/* Is v sqrt(mean of x^2 + epsilon), read by nobody else? */
static bool is_root(const struct onnx_import *m, const struct onnx_value *v, const struct onnx_value **x,
                    double *epsilon)
{
    const struct onnx_value *sum = is_node(v, "Sqrt") ? in(m, v, 0) : NULL, *squares;
    int mean;

    if (!is_node(sum, "Add"))
        return false;
    mean = is_number(in(m, sum, 0), epsilon);
    if (!is_number(in(m, sum, !mean), epsilon) || !is_mean(m, in(m, sum, mean), &squares))
        return false;
    *x = is_node(squares, "Pow") && is_two(in(m, squares, 1))                ? in(m, squares, 0)
         : is_node(squares, "Mul") && in(m, squares, 0) == in(m, squares, 1) ? in(m, squares, 0)
                                                                             : NULL;
    return onnx_is_activation(*x);
}

/* The root by which a node divides what it reads first, or the inverse of which it multiplies it by; *x: that. */
static const struct onnx_value *divisor(const struct onnx_import *m, const Onnx__NodeProto *node,
                                        const struct onnx_value **x)
{
    const struct onnx_value *a = onnx_in(m, node, 0), *b = onnx_in(m, node, 1);
    double one = 0;

    *x = a;
    if (strcmp(node->op_type, "Div") == 0)
        return b;
    if (strcmp(node->op_type, "Mul") != 0)
        return NULL;
    for (int i = 0; i < 2; i++) {
        const struct onnx_value *inverse = i ? a : b;

        *x = i ? b : a;
        if (is_node(inverse, "Reciprocal"))
            return in(m, inverse, 0);
        if (is_node(inverse, "Div") && is_number(in(m, inverse, 0), &one) && one >= 1 && one <= 1)
            return in(m, inverse, 1);
    }
    return NULL;
}

bool onnx_norm_ends(struct onnx_import *m, const Onnx__NodeProto *node, enum onnx_role *role)
{
    static const struct onnx_value *const none[2];
    const struct onnx_value *x, *of, *mean, *root = divisor(m, node, &x);
    double epsilon;
    bool centres;

    if (!root || !is_root(m, root, &of, &epsilon) || !onnx_is_activation(x) || of != x)
        return false;
    centres = is_node(x, "Sub") && is_mean(m, in(m, x, 1), &mean) && mean == in(m, x, 0);
    if (centres)
        x = mean;
    return onnx_norm_rows(m, node, x, x->shape.rank - 1, epsilon, centres, none, role);
}
