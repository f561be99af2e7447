/* SPDX-License-Identifier: MIT */
/* concat.c - tensors one behind the other, two at a time; constants around one activation are put there as pads are. */
#include "onnx/model.h"
#include "onnx/views.h"

#include "core/err.h"

#include <assert.h>

/* How a value is joined with others: images along channels as they are, all else as rows of what lies from the axis
 * on. */
static int joined_as(struct onnx_import *m, const struct onnx_value *v, int axis)
{
    const int rank = v->shape.rank;
    const struct graph_shape rows = {2, {graph_stretch(&v->shape, 0, axis), graph_stretch(&v->shape, axis, rank)}};

    return onnx_layer_as(m, v, rank == 4 && axis == 1 ? &v->shape : &rows);
}

/* Are all constants of a concatenation one number? */
static bool are_alike(const struct onnx_import *m, const Onnx__NodeProto *node, double *number)
{
    bool found = false, alike = true;

    for (size_t k = 0; k < node->n_input; k++) {
        const struct onnx_value *x = onnx_in(m, node, k);

        for (int64_t i = 0, n = x->kind == ONNX_CONSTANT ? onnx_shape_elems(&x->shape) : 0; i < n && alike; i++) {
            const double v = onnx_at(x, i);

            *number = found ? *number : v;
            alike = v >= *number && v <= *number;
            found = true;
        }
    }
    return alike;
}

/* The constants of a concatenation, in a tensor of its output's shape with zeros elsewhere; NULL: m->failed. */
static const struct onnx_value *joined_constants(struct onnx_import *m, const Onnx__NodeProto *node, int axis,
                                                 const struct graph_shape *shape)
{
    struct onnx_value *all = onnx_new_constant(m, node->output[0], shape, true);
    int64_t at = 0;

    for (size_t k = 0; k < node->n_input && all; k++) {
        const struct onnx_value *x = onnx_in(m, node, k);
        const int64_t run = graph_stretch(&x->shape, axis, x->shape.rank),
                      step = graph_stretch(shape, axis, shape->rank);

        for (int64_t i = 0, n = x->kind == ONNX_CONSTANT ? onnx_shape_elems(&x->shape) : 0; i < n; i++)
            all->v[i / run * step + at + i % run] = onnx_at(x, i);
        at += run;
    }
    return all;
}

/* The activation of a concatenation, the only one, seen with places for the constants around it; NULL, with words:
 * there are more, or shapes that do not fit. */
static const struct onnx_value *between_constants(struct onnx_import *m, const Onnx__NodeProto *node, int axis,
                                                  struct onnx_view *s)
{
    const struct onnx_value *x = NULL;

    for (size_t k = 0; k < node->n_input; k++)
        if (onnx_is_activation(onnx_in(m, node, k)))
            x = onnx_in(m, node, k);
    assert(x);
    onnx_view_of(x, s);
    for (size_t k = 0, after = 0; k < node->n_input; k++) {
        const struct onnx_value *v = onnx_in(m, node, k);
        struct graph_shape alike = v->shape;

        alike.dim[axis] = x->shape.dim[axis];
        if (!graph_same_shape(&alike, &x->shape)) {
            onnx_refuse(m, "shapes that do not fit");
            return NULL;
        }
        after = after || v == x;
        if (v != x) {
            s->before[axis] += after ? 0 : v->shape.dim[axis];
            s->after[axis] += after ? v->shape.dim[axis] : 0;
            s->shape.dim[axis] += v->shape.dim[axis];
        }
    }
    return x;
}

/* An activation between constants: something around it, and where they are not one number, a sum with them. */
static enum onnx_role concat_constants(struct onnx_import *m, const Onnx__NodeProto *node, int axis)
{
    struct onnx_view s = {.mode = ONNX_FILL};
    const struct onnx_value *x = between_constants(m, node, axis, &s), *constants;
    struct onnx_value y;
    enum onnx_role role;
    double number = 0;
    bool alike;

    if (!x)
        return ONNX_UNSUPPORTED;
    alike = are_alike(m, node, &number);
    s.fill = alike ? (float)number : 0;
    role = onnx_give(m, node, 0, x, &s);
    if (role == ONNX_UNSUPPORTED || alike || m->failed)
        return role;
    if (graph_elems(&s.shape) > ONNX_MAX_REPEATED)
        return onnx_refuse(m, "constants of several numbers around over %d", ONNX_MAX_REPEATED);
    if (!onnx_dense(m, onnx_out(m, node, 0)))
        return m->failed ? ONNX_PLAIN : ONNX_UNSUPPORTED;
    y = *onnx_out(m, node, 0);
    constants = joined_constants(m, node, axis, &s.shape);
    return constants ? onnx_with_constant(m, node, &y, constants, 'A', false) : ONNX_PLAIN;
}

/* Two at a time: the first with the second, that with the third; constants between several activations are copied. */
enum onnx_role onnx_layer_concat(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *first = onnx_in(m, node, 0);
    const int rank = first ? first->shape.rank : 0;
    struct graph_shape shape;
    enum onnx_role role = ONNX_PLAIN;
    size_t n_activations = 0;
    int joined = -1, axis;

    for (size_t k = 0; k < node->n_input; k++) {
        if (!onnx_in(m, node, k))
            return onnx_refuse(m, "an input is left out");
        n_activations += onnx_is_activation(onnx_in(m, node, k));
    }
    if (!first || !onnx_axis(node, 0, rank, &axis))
        return onnx_refuse(m, "an axis that is none");
    shape = first->shape;
    if (node->n_input < 2)
        return onnx_identity(m, node);
    if (n_activations == 1)
        return concat_constants(m, node, axis);
    if (n_activations == 2 && onnx_halves_exchanged(m, node, axis))
        return role;
    for (size_t k = 0; k < node->n_input && role == ONNX_PLAIN; k++) {
        const struct onnx_value *v = onnx_in(m, node, k);
        struct graph_shape alike = v->shape;
        struct onnx_value copied;
        int i, more;

        if (v->shape.rank != rank)
            return onnx_refuse(m, "of other numbers of dimensions");
        if (v->kind == ONNX_CONSTANT && !onnx_as_activation(m, v, &copied))
            return m->failed ? role : ONNX_UNSUPPORTED;
        v = v->kind == ONNX_CONSTANT ? &copied : v;
        alike.dim[axis] = first->shape.dim[axis];
        if (!graph_same_shape(&alike, &first->shape))
            return onnx_refuse(m, "shapes that do not fit");
        more = joined_as(m, v, axis);
        i = more < 0 || k == 0 ? more : onnx_new_layer(m, node, GRAPH_CONCAT, joined);
        if (i < 0)
            return role;
        if (k) {
            m->layers[i].node.in[m->layers[i].node.n_in++] = more;
            role = onnx_finish(m, node, i, role);
            shape.dim[axis] += v->shape.dim[axis];
        }
        joined = i;
    }
    onnx_out(m, node, 0)->shape = shape;
    return role;
}
