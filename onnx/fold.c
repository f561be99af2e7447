/* SPDX-License-Identifier: MIT */
/* fold.c - operators that are computed while a model is read: constants, arithmetic on shapes, other shapes of the same
 * elements. */
#include "onnx/model.h"
#include "onnx/views.h"

#include "core/err.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define REFUSE_ACTIVATION(m) onnx_refuse(m, "of an activation: only constants are computed")

/* The inputs [0, n) of a node are constants, those that are left out too. */
static bool all_constant(const struct onnx_import *m, const Onnx__NodeProto *node, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct onnx_value *v = onnx_in(m, node, i);

        if (v && v->kind != ONNX_CONSTANT)
            return false;
    }
    return true;
}

/* ---- elements ---- */

int64_t onnx_source_of(const struct graph_shape *of, const struct graph_shape *to, int64_t i)
{
    int64_t at = 0, step = 1;

    assert(of->rank <= to->rank);
    for (int d = to->rank - 1, k = of->rank - 1; k >= 0; d--, k--) {
        at += of->dim[k] == 1 ? 0 : i % to->dim[d] * step;
        step *= of->dim[k];
        i /= to->dim[d];
    }
    return at;
}

static double combine(char op, double a, double b, bool is_float)
{
    switch (op) {
    case 'A':
        return a + b;
    case 'S':
        return a - b;
    case 'M':
        return a * b;
    default:
        return is_float ? a / b : trunc(a / b);
    }
}

enum onnx_role onnx_binary(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *a = onnx_in(m, node, 0), *b = onnx_in(m, node, 1);
    const char op = strcmp(node->op_type, "Sum") == 0 ? 'A' : node->op_type[0];
    struct graph_shape shape;
    double *v;

    if (!a || !b || node->n_input != 2)
        return onnx_eltwise(m, node);
    if (op == 'D' && ((onnx_is_activation(a) && !a->is_float) || (onnx_is_activation(b) && !b->is_float)))
        return onnx_refuse(m, "of whole numbers, which are computed as floats");
    if (a->kind != ONNX_CONSTANT || b->kind != ONNX_CONSTANT)
        return onnx_layer_binary(m, node);
    if (!graph_broadcast(&a->shape, &b->shape, &shape))
        return onnx_refuse(m, "shapes that cannot be combined");
    v = onnx_make_constant(m, onnx_out(m, node, 0), &shape, a->is_float);
    for (int64_t i = 0, n = v ? onnx_shape_elems(&shape) : 0; i < n; i++)
        v[i] = combine(op, onnx_at(a, onnx_source_of(&a->shape, &shape, i)),
                       onnx_at(b, onnx_source_of(&b->shape, &shape, i)), a->is_float);
    return ONNX_FOLDED;
}

bool onnx_is_float_type(int64_t t)
{
    return t == ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT || t == ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16 ||
           t == ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE || t == ONNX__TENSOR_PROTO__DATA_TYPE__BFLOAT16;
}

bool onnx_is_whole_type(int64_t t)
{
    return (t >= ONNX__TENSOR_PROTO__DATA_TYPE__UINT8 && t <= ONNX__TENSOR_PROTO__DATA_TYPE__INT64) ||
           t == ONNX__TENSOR_PROTO__DATA_TYPE__BOOL || t == ONNX__TENSOR_PROTO__DATA_TYPE__UINT32 ||
           t == ONNX__TENSOR_PROTO__DATA_TYPE__UINT64;
}

/* An activation of another type: what is behind the point goes, what is not 0 is true. */
static enum onnx_role cast_activation(struct onnx_import *m, const Onnx__NodeProto *node, const struct onnx_value *x,
                                      bool is_float, bool is_truth)
{
    return is_truth                   ? onnx_eltwise_of(m, node, "sub(1,equal(a,0))", NULL, 0)
           : is_float || !x->is_float ? onnx_identity(m, node)
                                      : onnx_eltwise_of(m, node, "where(less(a,0),ceil(a),floor(a))", NULL, 0);
}

enum onnx_role onnx_cast(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *x = onnx_in(m, node, 0);
    const struct onnx_value *like = onnx_in(m, node, 1); /* of CastLike */
    const int64_t to = onnx_attribute_int(node, "to", 0);
    const bool is_float = onnx_is_float_type(to) || (like && like->is_float);
    const bool is_truth = to == ONNX__TENSOR_PROTO__DATA_TYPE__BOOL;
    const bool is_int = onnx_is_whole_type(to);
    double *v;

    if (!x || (!is_float && !is_int))
        return onnx_refuse(m, "to type %lld", (long long)to);
    if (x->kind == ONNX_ACTIVATION)
        return cast_activation(m, node, x, is_float, is_truth);
    v = onnx_make_constant(m, onnx_out(m, node, 0), &x->shape, is_float);
    for (int64_t i = 0, n = v ? onnx_shape_elems(&x->shape) : 0; i < n; i++)
        v[i] = is_float ? onnx_at(x, i) : is_truth ? onnx_at(x, i) < 0 || onnx_at(x, i) > 0 : trunc(onnx_at(x, i));
    return ONNX_FOLDED;
}

/* ---- constants ---- */

static enum onnx_role constant_list(struct onnx_import *m, const Onnx__NodeProto *node, const Onnx__AttributeProto *a)
{
    const bool one = a->has_i || a->has_f, is_float = a->has_f || a->n_floats;
    const struct graph_shape shape = {one ? 0 : 1, {(int64_t)(a->n_floats ? a->n_floats : a->n_ints)}};
    double *v = onnx_make_constant(m, onnx_out(m, node, 0), &shape, is_float);

    for (int64_t i = 0, n = v ? onnx_shape_elems(&shape) : 0; i < n; i++)
        v[i] = one ? a->has_i ? (double)a->i : (double)a->f : is_float ? (double)a->floats[i] : (double)a->ints[i];
    return ONNX_FOLDED;
}

enum onnx_role onnx_constant(struct onnx_import *m, const Onnx__NodeProto *node)
{
    static const char *const names[] = {"value_int", "value_float", "value_ints", "value_floats", NULL};
    const Onnx__AttributeProto *a = onnx_attribute(node, "value");
    struct onnx_value *out = onnx_out(m, node, 0);
    struct why why = {""};

    if (a && a->t) {
        if (onnx_tensor_open(&m->file, a->t, &out->tensor, &why))
            return onnx_refuse(m, "%.200s", why.text);
        out->kind = ONNX_CONSTANT;
        out->shape = out->tensor.shape;
        out->is_float = out->tensor.is_float;
        return ONNX_FOLDED;
    }
    for (size_t i = 0; names[i]; i++)
        if ((a = onnx_attribute(node, names[i])) != NULL)
            return constant_list(m, node, a);
    return onnx_refuse(m, "neither floats nor integers");
}

/* The number that a product is multiplied by. */
enum onnx_role onnx_alpha(struct onnx_import *m, const Onnx__NodeProto *node)
{
    double *v = onnx_make_constant(m, onnx_out(m, node, 0), &(struct graph_shape){.rank = 0}, true);

    if (v)
        *v = onnx_attribute_real(node, "alpha", 1);
    return ONNX_FOLDED;
}

bool onnx_constant_shape(const struct onnx_value *v, struct graph_shape *out)
{
    if (!v || v->kind != ONNX_CONSTANT || v->shape.rank != 1 || v->shape.dim[0] > ONNX_MAX_RANK)
        return false;
    out->rank = (int)v->shape.dim[0];
    for (int i = 0; i < out->rank; i++)
        if (!onnx_int_at(v, i, &out->dim[i]))
            return false;
    return true;
}

enum onnx_role onnx_constant_of_shape(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const Onnx__AttributeProto *a = onnx_attribute(node, "value");
    struct onnx_tensor value = {.n_elems = 0};
    struct graph_shape shape;
    struct onnx_value *out = onnx_out(m, node, 0);

    if (!onnx_constant_shape(onnx_in(m, node, 0), &shape) || onnx_shape_elems(&shape) < 0)
        return onnx_refuse(m, "of a shape that is not constant");
    if (a && (!a->t || onnx_tensor_open(&m->file, a->t, &value, NULL) || value.n_elems != 1))
        return onnx_refuse(m, "a value that is not one number");
    if (!onnx_make_constant(m, out, &(struct graph_shape){.rank = 0}, !a || value.is_float))
        return ONNX_FOLDED;
    out->shape = shape;
    out->is_uniform = true;
    out->v[0] = a ? onnx_tensor_at(&value, 0) : 0;
    return ONNX_FOLDED;
}

/* An axis or a place counted from the end where it is negative; `lowest` to `highest` otherwise. */
static int64_t counted(int64_t i, int64_t n, int64_t lowest, int64_t highest)
{
    i = i < 0 ? i + n : i;
    return i < lowest ? lowest : i > highest ? highest : i;
}

enum onnx_role onnx_shape_of(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *x = onnx_in(m, node, 0);
    const int64_t rank = x ? x->shape.rank : 0;
    const int64_t from = counted(onnx_attribute_int(node, "start", 0), rank, 0, rank);
    const int64_t to = counted(onnx_attribute_int(node, "end", rank), rank, 0, rank);
    const struct graph_shape shape = {1, {to > from ? to - from : 0}};
    double *v = x ? onnx_make_constant(m, onnx_out(m, node, 0), &shape, false) : NULL;

    if (!x)
        return onnx_refuse(m, "expected an input");
    for (int64_t i = 0; v && i < shape.dim[0]; i++)
        v[i] = (double)x->shape.dim[from + i];
    return ONNX_FOLDED;
}

enum onnx_role onnx_size_of(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *x = onnx_in(m, node, 0);
    double *v = x ? onnx_make_constant(m, onnx_out(m, node, 0), &(struct graph_shape){.rank = 0}, false) : NULL;

    if (!x)
        return onnx_refuse(m, "expected an input");
    if (v)
        *v = (double)onnx_shape_elems(&x->shape);
    return ONNX_FOLDED;
}

/* Constant numbers from the first input on, as far apart as the third is, before the second. */
enum onnx_role onnx_range(struct onnx_import *m, const Onnx__NodeProto *node)
{
    struct graph_shape shape = {1, {0}};
    double part[3], *v;

    for (size_t k = 0; k < 3; k++) {
        const struct onnx_value *x = onnx_in(m, node, k);

        if (!x || x->kind != ONNX_CONSTANT || onnx_shape_elems(&x->shape) != 1)
            return onnx_refuse(m, "expected three constant numbers");
        part[k] = onnx_at(x, 0);
    }
    if (!(fabs((part[1] - part[0]) / part[2]) < GRAPH_MAX_SIZE))
        return onnx_refuse(m, "of over %d numbers", GRAPH_MAX_SIZE);
    shape.dim[0] = (int64_t)fmax(ceil((part[1] - part[0]) / part[2]), 0);
    v = onnx_make_constant(m, onnx_out(m, node, 0), &shape, onnx_in(m, node, 0)->is_float);
    for (int64_t i = 0; v && i < shape.dim[0]; i++)
        v[i] = part[0] + (double)i * part[2];
    return ONNX_FOLDED;
}

/* ---- pieces of constants ---- */

bool onnx_axis(const Onnx__NodeProto *node, int64_t otherwise, int rank, int *out)
{
    const int64_t axis = onnx_attribute_int(node, "axis", otherwise);

    *out = (int)(axis < 0 ? axis + rank : axis);
    return axis >= -rank && axis < rank;
}

enum onnx_role onnx_gather(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *x = onnx_in(m, node, 0), *at = onnx_in(m, node, 1);
    struct graph_shape shape = {.rank = 0};
    int axis;
    double *v;

    if (!x || !at)
        return onnx_refuse(m, "expected a tensor and indices");
    if (x->kind == ONNX_ACTIVATION || at->kind == ONNX_ACTIVATION)
        return onnx_gather_layer(m, node);
    if (!onnx_axis(node, 0, x->shape.rank, &axis) || x->shape.rank - 1 + at->shape.rank > ONNX_MAX_RANK)
        return onnx_refuse(m, "an axis that is none");
    for (int i = 0; i < x->shape.rank; i++)
        for (int k = 0; k < (i == axis ? at->shape.rank : 1); k++)
            shape.dim[shape.rank++] = i == axis ? at->shape.dim[k] : x->shape.dim[i];
    v = onnx_make_constant(m, onnx_out(m, node, 0), &shape, x->is_float);
    for (int64_t i = 0, n = v ? onnx_shape_elems(&shape) : 0; i < n; i++) {
        const int64_t behind = graph_stretch(&x->shape, axis + 1, x->shape.rank), n_at = onnx_shape_elems(&at->shape);
        const int64_t size = x->shape.dim[axis];
        int64_t k = 0;

        if (!onnx_int_at(at, i / behind % n_at, &k) || k < -size || k >= size)
            return onnx_refuse(m, "an index outside");
        v[i] = onnx_at(x, (i / behind / n_at * size + (k < 0 ? k + size : k)) * behind + i % behind);
    }
    return ONNX_FOLDED;
}

/* Copies a constant into a larger one at place `at` of an axis. */
static void put_piece(const struct onnx_value *piece, int axis, const struct graph_shape *whole, int64_t at, double *v)
{
    const int64_t n = onnx_shape_elems(&piece->shape), run = graph_stretch(&piece->shape, axis, piece->shape.rank);
    const int64_t step = graph_stretch(whole, axis, whole->rank), behind = graph_stretch(whole, axis + 1, whole->rank);

    assert(at + piece->shape.dim[axis] <= whole->dim[axis]);
    for (int64_t i = 0; i < n; i++)
        v[i / run * step + at * behind + i % run] = onnx_at(piece, i);
}

enum onnx_role onnx_concat(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *first = onnx_in(m, node, 0);
    struct graph_shape shape;
    int axis;
    double *v;
    int64_t at = 0;

    if (!first || !all_constant(m, node, node->n_input))
        return onnx_layer_concat(m, node);
    shape = first->shape;
    if (!onnx_axis(node, 0, shape.rank, &axis))
        return onnx_refuse(m, "an axis that is none");
    for (size_t i = 1; i < node->n_input; i++) {
        const struct onnx_value *x = onnx_in(m, node, i);
        struct graph_shape as_first = x ? x->shape : (struct graph_shape){.rank = -1};

        if (as_first.rank == shape.rank)
            as_first.dim[axis] = first->shape.dim[axis];
        if (!graph_same_shape(&as_first, &first->shape) || shape.dim[axis] > ONNX_MAX_ELEMS)
            return onnx_refuse(m, "shapes that do not fit");
        shape.dim[axis] += x->shape.dim[axis];
    }
    v = onnx_make_constant(m, onnx_out(m, node, 0), &shape, first->is_float);
    for (size_t i = 0; v && i < node->n_input; i++) {
        const struct onnx_value *x = onnx_in(m, node, i);

        put_piece(x, axis, &shape, at, v);
        at += x->shape.dim[axis];
    }
    return ONNX_FOLDED;
}

/* ---- other shapes of the same elements ---- */

static enum onnx_role reshaped(struct onnx_import *m, const Onnx__NodeProto *node, const struct graph_shape *shape)
{
    struct onnx_value *x = onnx_in(m, node, 0);
    const int64_t n = onnx_shape_elems(shape);
    struct onnx_view s;

    if (n < 0 || n != onnx_shape_elems(&x->shape))
        return onnx_refuse(m, "into a shape of another number of elements");
    if (x->kind == ONNX_CONSTANT || !x->view) {
        onnx_make_view(onnx_out(m, node, 0), x, shape);
        return ONNX_FOLDED;
    }
    onnx_view_of(x, &s);
    if (!onnx_view_reshape(&s, shape)) {
        if (!onnx_dense(m, x))
            return ONNX_UNSUPPORTED;
        onnx_make_view(onnx_out(m, node, 0), x, shape);
        return ONNX_PLAIN;
    }
    return onnx_give(m, node, 0, x, &s);
}

enum onnx_role onnx_reshape(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *x = onnx_in(m, node, 0);
    const bool zero_is_copied = !onnx_attribute_int(node, "allowzero", 0);
    struct graph_shape shape;
    int64_t rest = 1;
    int unknown = -1;

    if (!x || !onnx_constant_shape(onnx_in(m, node, 1), &shape))
        return onnx_refuse(m, "to a shape that is not constant");
    for (int i = 0; i < shape.rank; i++) {
        if (shape.dim[i] == 0 && zero_is_copied)
            shape.dim[i] = i < x->shape.rank ? x->shape.dim[i] : -2;
        if (shape.dim[i] == -1 && unknown < 0)
            unknown = i;
        else if (shape.dim[i] < 0 || (shape.dim[i] && rest > ONNX_MAX_ELEMS / shape.dim[i]))
            return onnx_refuse(m, "to a shape that is none");
        else
            rest *= shape.dim[i];
    }
    if (unknown >= 0)
        shape.dim[unknown] = rest ? onnx_shape_elems(&x->shape) / rest : 0;
    return reshaped(m, node, &shape);
}

enum onnx_role onnx_flatten(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *x = onnx_in(m, node, 0);
    const int64_t rank = x ? x->shape.rank : 0;
    const int axis = (int)counted(onnx_attribute_int(node, "axis", 1), rank, 0, rank);
    struct graph_shape shape = {.rank = 2};

    if (!x)
        return onnx_refuse(m, "expected an input");
    shape.dim[0] = graph_stretch(&x->shape, 0, axis);
    shape.dim[1] = graph_stretch(&x->shape, axis, (int)rank);
    return reshaped(m, node, &shape);
}

/* The axes of Squeeze and Unsqueeze, a bit each, of a tensor of `rank`; false where one is none or there twice. */
static bool read_axes(struct onnx_import *m, const Onnx__NodeProto *node, int rank, unsigned *out, size_t *n)
{
    int64_t axes[ONNX_MAX_RANK];

    if (!onnx_ints(m, node, "axes", 1, axes, ONNX_MAX_RANK, n) || rank + (int)*n > ONNX_MAX_RANK)
        return false;
    rank += strcmp(node->op_type, "Unsqueeze") == 0 ? (int)*n : 0;
    *out = 0;
    for (size_t i = 0; i < *n; i++) {
        const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];

        if (axis < 0 || axis >= rank || *out & 1u << axis)
            return false;
        *out |= 1u << axis;
    }
    return true;
}

enum onnx_role onnx_squeeze(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *x = onnx_in(m, node, 0);
    struct graph_shape shape = {.rank = 0};
    unsigned axes = 0;
    size_t n = 0;

    if (!x || !read_axes(m, node, x->shape.rank, &axes, &n))
        return onnx_refuse(m, "axes that are none");
    for (int i = 0; i < x->shape.rank; i++)
        if (!(n ? axes & 1u << i : x->shape.dim[i] == 1))
            shape.dim[shape.rank++] = x->shape.dim[i];
    return reshaped(m, node, &shape);
}

enum onnx_role onnx_unsqueeze(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *x = onnx_in(m, node, 0);
    struct graph_shape shape;
    unsigned axes = 0;
    size_t n = 0;
    int from = 0;

    if (!x || !read_axes(m, node, x->shape.rank, &axes, &n) || !n)
        return onnx_refuse(m, "axes that are none");
    shape.rank = x->shape.rank + (int)n;
    for (int i = 0; i < shape.rank; i++)
        shape.dim[i] = axes & 1u << i ? 1 : x->shape.dim[from++];
    return reshaped(m, node, &shape);
}

/* Axis i of what Transpose gives without `perm`: the axes from behind; `last`, the last two of any exchanged; `batch`,
 * the first one in front of the last. */
static int64_t usual_axis(const char *op, int64_t i, int64_t rank)
{
    if (strcmp(op, "Transpose/last") == 0)
        return i < rank - 2 ? i : 2 * rank - 3 - i;
    if (strcmp(op, "Transpose/batch") == 0)
        return i < rank - 2 ? i + 1 : i == rank - 2 ? 0 : i;
    return rank - 1 - i;
}

/* False where `perm` is none. */
static bool read_perm(const Onnx__NodeProto *node, int rank, int *out)
{
    const Onnx__AttributeProto *a = onnx_attribute(node, "perm");
    unsigned seen = 0;

    if ((a && a->n_ints != (size_t)rank) || (strchr(node->op_type, '/') && rank < 2))
        return false;
    for (int i = 0; i < rank; i++) {
        const int64_t axis = a ? a->ints[i] : usual_axis(node->op_type, i, rank);

        if (axis < 0 || axis >= rank)
            return false;
        out[i] = (int)axis;
        seen |= 1u << axis;
    }
    return seen + 1 == 1u << rank;
}

enum onnx_role onnx_transpose(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *x = onnx_in(m, node, 0);
    int perm[ONNX_MAX_RANK];
    struct onnx_view s;

    if (!x || !read_perm(node, x->shape.rank, perm))
        return onnx_refuse(m, "a perm that is none");
    onnx_view_of(x, &s);
    onnx_view_permute(&s, perm);
    return onnx_give(m, node, 0, x, &s);
}

enum onnx_role onnx_identity(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *x = onnx_in(m, node, 0);

    if (!x)
        return onnx_refuse(m, "expected an input");
    onnx_make_view(onnx_out(m, node, 0), x, &x->shape);
    return ONNX_FOLDED;
}

enum onnx_role onnx_dropout(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *mask = onnx_out(m, node, 1), *training = onnx_in(m, node, 2);

    if (mask && mask->n_readers)
        return onnx_refuse(m, "its mask is read");
    if (training &&
        (training->kind != ONNX_CONSTANT || onnx_shape_elems(&training->shape) != 1 || onnx_at(training, 0) != 0))
        return onnx_refuse(m, "in training mode");
    return onnx_identity(m, node);
}
