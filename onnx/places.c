/* SPDX-License-Identifier: MIT */
/* places.c - operators of places along an axis: where the largest number stands, sums of those so far, triangles. */
#include "onnx/model.h"

#include "core/err.h"

#include <string.h>

/* A constant of the node's, of zeros; *v: to be written. NULL: m->failed. */
static struct onnx_value *new_constant(struct onnx_import *m, const Onnx__NodeProto *node,
                                       const struct graph_shape *shape, double **v)
{
    struct onnx_value *out = onnx_memory_take(&m->file.memory, sizeof *out);

    if (!out) {
        m->failed = ERR_LIMIT;
        return NULL;
    }
    *out = (struct onnx_value){.name = onnx_out(m, node, 0)->name};
    *v = onnx_make_constant(m, out, shape, false);
    return *v ? out : NULL;
}

/* 0 1 2 .. along an axis of a tensor of `rank` dimensions. */
static const struct onnx_value *places_along(struct onnx_import *m, const Onnx__NodeProto *node, int64_t n, int axis,
                                             int rank)
{
    struct graph_shape shape = {.rank = rank - axis, .dim = {n}};
    struct onnx_value *out;
    double *v = NULL;

    for (int d = 1; d < shape.rank; d++)
        shape.dim[d] = 1;
    out = new_constant(m, node, &shape, &v);
    for (int64_t i = 0; out && i < n; i++)
        v[i] = (double)i;
    return out;
}

/* What the node has given so far, read by one reader. */
static struct onnx_value given(const struct onnx_import *m, const Onnx__NodeProto *node)
{
    struct onnx_value v = *onnx_out(m, node, 0);

    v.sole = true;
    return v;
}

/* The node gives the first or the last place of the largest or least number along an axis, which is kept as 1: the
 * least or largest of the places whose number is that one. */
static enum onnx_role find_place(struct onnx_import *m, const Onnx__NodeProto *node, const struct onnx_value *x,
                                 int axis, bool of_largest, bool last)
{
    const int64_t n = x->shape.dim[axis];
    const struct onnx_value *places = places_along(m, node, n, axis, x->shape.rank);
    struct onnx_value all = *x, found;
    enum onnx_role role = ONNX_PLAIN;

    all.sole = false; /* it is read twice */
    if (places)
        role = onnx_reduce_axes(m, node, &all, of_largest ? "max" : "min", 1u << axis);
    if (role == ONNX_UNSUPPORTED || m->failed)
        return role;
    found = given(m, node);
    role = onnx_eltwise_values(m, node, "where(equal(a,b),c,d)",
                               (const struct onnx_value *const[]){&all, &found, places}, 3, last ? -1 : (double)n);
    if (role == ONNX_UNSUPPORTED || m->failed)
        return role;
    found = given(m, node);
    return onnx_reduce_axes(m, node, &found, last ? "max" : "min", 1u << axis);
}

enum onnx_role onnx_arg(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *x = onnx_in(m, node, 0);
    struct graph_shape *shape = &onnx_out(m, node, 0)->shape;
    enum onnx_role role;
    int axis;

    if (!onnx_is_activation(x) || !onnx_axis(node, 0, x->shape.rank, &axis))
        return onnx_refuse(m, "expected an activation, and one of its axes");
    role = find_place(m, node, x, axis, strcmp(node->op_type, "ArgMax") == 0,
                      onnx_attribute_int(node, "select_last_index", 0) != 0);
    if (role != ONNX_UNSUPPORTED && !m->failed && !onnx_attribute_int(node, "keepdims", 1)) {
        for (int d = axis; d + 1 < shape->rank; d++)
            shape->dim[d] = shape->dim[d + 1];
        shape->rank--;
    }
    return role;
}

/* 1 at the first of the largest numbers along an axis, else 0. */
enum onnx_role onnx_hardmax(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *x = onnx_in(m, node, 0), *places;
    struct onnx_value first;
    enum onnx_role role;
    int axis;

    if (!onnx_is_activation(x) || m->opset < 13 || !onnx_axis(node, -1, x->shape.rank, &axis))
        return onnx_refuse(m, "expected an activation, and one of its axes, of opset 13 or later");
    role = find_place(m, node, x, axis, true, false);
    if (role == ONNX_UNSUPPORTED || m->failed)
        return role;
    first = given(m, node);
    places = places_along(m, node, x->shape.dim[axis], axis, x->shape.rank);
    return places ? onnx_eltwise_values(m, node, "equal(a,b)", (const struct onnx_value *const[]){&first, places}, 2, 0)
                  : role;
}

/* Sums of the numbers up to each place: a product with a triangle of ones. */
enum onnx_role onnx_cum_sum(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *x = onnx_in(m, node, 0), *at = onnx_in(m, node, 1);
    const bool exclusive = onnx_attribute_int(node, "exclusive", 0) != 0;
    const bool reverse = onnx_attribute_int(node, "reverse", 0) != 0;
    int64_t axis = 0, n;
    struct onnx_value *w;
    double *v = NULL;

    if (!onnx_is_activation(x) || !at || at->kind != ONNX_CONSTANT || onnx_shape_elems(&at->shape) != 1 ||
        !onnx_int_at(at, 0, &axis) || axis < -x->shape.rank || axis >= x->shape.rank)
        return onnx_refuse(m, "expected an activation, and one of its axes, constant");
    axis += axis < 0 ? x->shape.rank : 0;
    n = x->shape.dim[axis];
    if (n > 512)
        return onnx_refuse(m, "of %lld numbers: over 512", (long long)n);
    w = new_constant(m, node, &(struct graph_shape){2, {n, n}}, &v);
    for (int64_t i = 0; w && i < n * n; i++) {
        const int64_t to = i / n, from = i % n;

        v[i] = (reverse ? from > to : from < to) || (from == to && !exclusive);
    }
    return w ? onnx_multiply_along(m, node, x, (int)axis, w) : ONNX_TUNED;
}

/* What is not on the wanted side of a diagonal is 0. */
enum onnx_role onnx_trilu(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *x = onnx_in(m, node, 0), *diagonal = onnx_in(m, node, 1);
    const bool upper = onnx_attribute_int(node, "upper", 1) != 0;
    const int rank = x ? x->shape.rank : 0;
    struct graph_shape shape;
    struct onnx_value *mask = NULL;
    int64_t k = 0;
    double *v = NULL;

    if (rank < 2 || (diagonal && (diagonal->kind != ONNX_CONSTANT || onnx_shape_elems(&diagonal->shape) != 1 ||
                                  !onnx_int_at(diagonal, 0, &k))))
        return onnx_refuse(m, "expected matrices, and a constant diagonal");
    shape = (struct graph_shape){2, {x->shape.dim[rank - 2], x->shape.dim[rank - 1]}};
    if (x->kind == ONNX_CONSTANT)
        v = onnx_make_constant(m, onnx_out(m, node, 0), &x->shape, x->is_float);
    else if (graph_elems(&shape) > ONNX_MAX_REPEATED)
        return onnx_refuse(m, "of matrices of over %d numbers", ONNX_MAX_REPEATED);
    else
        mask = new_constant(m, node, &shape, &v);
    for (int64_t i = 0, n = v ? onnx_shape_elems(x->kind == ONNX_CONSTANT ? &x->shape : &shape) : 0; i < n; i++) {
        const int64_t off = i % shape.dim[1] - i / shape.dim[1] % shape.dim[0];

        v[i] = upper ? off >= k : off <= k;
        if (x->kind == ONNX_CONSTANT)
            v[i] = v[i] > 0 ? onnx_at(x, i) : 0;
    }
    return !v || x->kind == ONNX_CONSTANT
               ? ONNX_FOLDED
               : onnx_eltwise_values(m, node, "where(a,b,c)", (const struct onnx_value *const[]){mask, x}, 2, 0);
}
