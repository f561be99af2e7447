/* SPDX-License-Identifier: MIT */
/* places.c - operators of places along an axis: where the largest numbers stand, sums of those so far, triangles. */
#include "onnx/model.h"

#include "core/err.h"

#include <stdio.h>
#include <string.h>

/* 0 1 2 .. along an axis of a tensor of `rank` dimensions. */
static const struct onnx_value *places_along(struct onnx_import *m, const Onnx__NodeProto *node, int64_t n, int axis,
                                             int rank)
{
    struct graph_shape shape = {.rank = rank - axis, .dim = {n}};
    struct onnx_value *out;

    for (int d = 1; d < shape.rank; d++)
        shape.dim[d] = 1;
    out = onnx_new_constant(m, node->output[0], &shape, false);
    for (int64_t i = 0; out && i < n; i++)
        out->v[i] = (double)i;
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

    if (!onnx_is_activation(x) || !at || at->kind != ONNX_CONSTANT || onnx_shape_elems(&at->shape) != 1 ||
        !onnx_int_at(at, 0, &axis) || axis < -x->shape.rank || axis >= x->shape.rank)
        return onnx_refuse(m, "expected an activation, and one of its axes, constant");
    axis += axis < 0 ? x->shape.rank : 0;
    n = x->shape.dim[axis];
    if (n > 512)
        return onnx_refuse(m, "of %lld numbers: over 512", (long long)n);
    w = onnx_new_constant(m, node->output[0], &(struct graph_shape){2, {n, n}}, false);
    for (int64_t i = 0; w && i < n * n; i++) {
        const int64_t to = i / n, from = i % n;

        w->v[i] = (reverse ? from > to : from < to) || (from == to && !exclusive);
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
        mask = onnx_new_constant(m, node->output[0], &shape, false);
    v = mask ? mask->v : v;
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

enum onnx_role onnx_eye_like(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *x = onnx_in(m, node, 0);
    const int64_t k = onnx_attribute_int(node, "k", 0), type = onnx_attribute_int(node, "dtype", 0);
    double *v;

    if (!x || x->shape.rank != 2 || k < -GRAPH_MAX_SIZE || k > GRAPH_MAX_SIZE ||
        (type && !onnx_is_float_type(type) && !onnx_is_whole_type(type)))
        return onnx_refuse(m, "expected 2 dimensions, and a type that is known");
    v = onnx_make_constant(m, onnx_out(m, node, 0), &x->shape, type ? onnx_is_float_type(type) : x->is_float);
    for (int64_t i = 0; v && i < x->shape.dim[0]; i++)
        if (i + k >= 0 && i + k < x->shape.dim[1])
            v[i * x->shape.dim[1] + i + k] = 1;
    return ONNX_FOLDED;
}

/* One of two constant numbers, where a place along a new axis is the index, or that many before the axis' end. */
enum onnx_role onnx_one_hot(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *at = onnx_in(m, node, 0), *depth = onnx_in(m, node, 1), *values = onnx_in(m, node, 2);
    const struct onnx_value *places;
    struct onnx_value index, off, on;
    int64_t n = 0;
    int axis;
    char text[128];

    if (!onnx_is_activation(at) || !depth || depth->kind != ONNX_CONSTANT || onnx_shape_elems(&depth->shape) != 1 ||
        !onnx_int_at(depth, 0, &n) || n < 1 || n > GRAPH_MAX_SIZE || !values || values->kind != ONNX_CONSTANT ||
        onnx_shape_elems(&values->shape) != 2 || at->shape.rank == ONNX_MAX_RANK ||
        !onnx_axis(node, -1, at->shape.rank + 1, &axis))
        return onnx_refuse(m, "expected indices, a constant depth and two constant values");
    index = *at;
    memmove(&index.shape.dim[axis + 1], &index.shape.dim[axis], (size_t)(at->shape.rank - axis) * sizeof(int64_t));
    index.shape.dim[axis] = 1;
    index.shape.rank++;
    index.sole = false; /* it is read twice */
    off = on = (struct onnx_value){.kind = ONNX_CONSTANT, .is_uniform = true};
    off.v = (double[]){onnx_at(values, 0)};
    on.v = (double[]){onnx_at(values, 1)};
    places = places_along(m, node, n, axis, index.shape.rank);
    snprintf(text, sizeof text, "where(equal(where(less(a,0),add(a,%lld),a),b),c,d)", (long long)n);
    return places ? onnx_eltwise_values(m, node, text, (const struct onnx_value *const[]){&index, places, &on}, 3,
                                        onnx_at(&off, 0))
                  : ONNX_PLAIN;
}

/* ---- the k largest ---- */

#define MAX_SORTED 2048 /* numbers, each of which is compared with all */

/* A value with axes [0, axis), `axis` and those behind it as the first, one of the two in the middle and the last of
 * four. */
static struct onnx_value in_four(const struct onnx_value *x, int axis, bool second)
{
    const int64_t n = x->shape.dim[axis];
    struct onnx_value v = *x;

    v.shape = (struct graph_shape){4,
                                   {graph_stretch(&x->shape, 0, axis), second ? 1 : n, second ? n : 1,
                                    graph_stretch(&x->shape, axis + 1, x->shape.rank)}};
    v.sole = false; /* it is read more than once */
    return v;
}

/* 1 where place i stands before place j, of [j][i][1]. */
static const struct onnx_value *earlier_places(struct onnx_import *m, const Onnx__NodeProto *node, int64_t n)
{
    struct onnx_value *out = onnx_new_constant(m, node->output[0], &(struct graph_shape){3, {n, n, 1}}, false);

    for (int64_t i = 0; out && i < n * n; i++)
        out->v[i] = i % n < i / n;
    return out;
}

/* The node's output: of each number how many come before it, of four dimensions with the numbers in the second. */
static enum onnx_role rank_of(struct onnx_import *m, const Onnx__NodeProto *node, const struct onnx_value *x, int axis,
                              bool largest)
{
    const struct onnx_value own = in_four(x, axis, false), other = in_four(x, axis, true);
    const struct onnx_value *earlier = earlier_places(m, node, x->shape.dim[axis]);
    struct onnx_value before;
    const enum onnx_role role =
        earlier ? onnx_eltwise_values(m, node,
                                      largest ? "add(less(a,b),mul(equal(a,b),c))" : "add(less(b,a),mul(equal(a,b),c))",
                                      (const struct onnx_value *const[]){&own, &other, earlier}, 3, 0)
                : ONNX_PLAIN;

    if (role == ONNX_UNSUPPORTED || m->failed)
        return role;
    before = given(m, node);
    return onnx_reduce_axes(m, node, &before, "sum", 1u << 2);
}

/* The node's output: of what is in four the elements whose rank is 0, 1 .. k - 1, in a shape. */
static enum onnx_role take_ranks(struct onnx_import *m, const Onnx__NodeProto *node, const struct onnx_value *x,
                                 const struct onnx_value *ranks, int64_t k, const struct graph_shape *shape)
{
    const struct onnx_value *wanted = places_along(m, node, k, 1, 4);
    struct onnx_value taken;
    enum onnx_role role = wanted ? onnx_eltwise_values(m, node, "where(equal(b,c),a,d)",
                                                       (const struct onnx_value *const[]){x, ranks, wanted}, 3, 0)
                                 : ONNX_PLAIN;

    if (role == ONNX_UNSUPPORTED || m->failed)
        return role;
    taken = given(m, node);
    role = onnx_reduce_axes(m, node, &taken, "sum", 1u << 2);
    if (role != ONNX_UNSUPPORTED && !m->failed)
        onnx_out(m, node, 0)->shape = *shape;
    return role;
}

/* The k largest or least along an axis and where they stand: each is compared with all, how many come before it is its
 * place. */
enum onnx_role onnx_top_k(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *x = onnx_in(m, node, 0), *count = onnx_in(m, node, 1);
    struct onnx_value *values = onnx_out(m, node, 0), *places = onnx_out(m, node, 1), ranks, four, found;
    const struct onnx_value *all;
    struct graph_shape shape;
    enum onnx_role role;
    int64_t k = onnx_attribute_int(node, "k", 0), n;
    int axis;

    if (!onnx_is_activation(x) || !values || !onnx_axis(node, -1, x->shape.rank, &axis) ||
        (count && (count->kind != ONNX_CONSTANT || onnx_shape_elems(&count->shape) != 1 || !onnx_int_at(count, 0, &k))))
        return onnx_refuse(m, "expected an activation, one of its axes, and a constant number of them");
    shape = x->shape;
    n = shape.dim[axis];
    if (k < 1 || k > n || n > MAX_SORTED || graph_elems(&x->shape) > GRAPH_MAX_ELEMS / n)
        return onnx_refuse(m, "%lld of %lld numbers: expected at most all, of up to %d", (long long)k, (long long)n,
                           MAX_SORTED);
    shape.dim[axis] = k;
    role = rank_of(m, node, x, axis, onnx_attribute_int(node, "largest", 1) != 0);
    if (role == ONNX_UNSUPPORTED || m->failed)
        return role;
    ranks = in_four(values, 1, true);
    four = in_four(x, axis, true);
    all = places_along(m, node, n, 2, 4);
    if (places && all) {
        role = take_ranks(m, node, all, &ranks, k, &shape);
        if (role == ONNX_UNSUPPORTED || m->failed)
            return role;
        found = *values;
        onnx_make_activation(places, found.i_layer, &shape);
    }
    return all ? take_ranks(m, node, &four, &ranks, k, &shape) : ONNX_PLAIN;
}
