/* SPDX-License-Identifier: MIT */
/* move.c - operators that move elements, of constants and activations: each makes a view of its input. */
#include "core/err.h"
#include "onnx/model.h"
#include "onnx/views.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* What Slice takes of an axis: the first place, the step, how many. */
struct piece {
    int64_t from, step, n;
};

static int64_t clamped(int64_t i, int64_t lowest, int64_t highest)
{
    return i < lowest ? lowest : i > highest ? highest : i;
}

/* Of `size` places those from `start`, every step-th, before `end`; both are counted from the end where they are below
 * 0. */
static struct piece piece_of(int64_t start, int64_t end, int64_t step, int64_t size)
{
    const int64_t lowest = step < 0 ? -1 : 0, highest = step < 0 ? size - 1 : size;
    const int64_t from = clamped(start < 0 ? start + size : start, step < 0 ? -1 : 0, highest);
    const int64_t to = clamped(end < 0 ? end + size : end, lowest, highest);
    const int64_t reach = step < 0 ? from - to : to - from, by = step < 0 ? -step : step;

    return (struct piece){from, step, reach > 0 ? (reach + by - 1) / by : 0};
}

static void take_piece(struct onnx_view *s, int axis, const struct piece *p)
{
    assert(p->n >= 0 && axis >= 0 && axis < s->shape.rank);
    s->at += p->n ? p->from * s->stride[axis] : 0;
    s->stride[axis] *= p->step;
    s->shape.dim[axis] = p->n;
}

enum onnx_role onnx_slice(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *x = onnx_in(m, node, 0);
    int64_t starts[ONNX_MAX_RANK], ends[ONNX_MAX_RANK], axes[ONNX_MAX_RANK], steps[ONNX_MAX_RANK];
    size_t n = 0, n_ends = 0, n_axes = 0, n_steps = 0;
    unsigned seen = 0;
    struct onnx_view s;

    if (!x || !onnx_ints(m, node, "starts", 1, starts, ONNX_MAX_RANK, &n) ||
        !onnx_ints(m, node, "ends", 2, ends, ONNX_MAX_RANK, &n_ends) ||
        !onnx_ints(m, node, "axes", 3, axes, ONNX_MAX_RANK, &n_axes) ||
        !onnx_ints(m, node, "steps", 4, steps, ONNX_MAX_RANK, &n_steps) || n_ends != n || (n_axes && n_axes != n) ||
        (n_steps && n_steps != n))
        return onnx_refuse(m, "starts, ends, axes and steps that are not constant");
    onnx_view_of(x, &s);
    for (size_t i = 0; i < n; i++) {
        const int64_t axis = n_axes ? axes[i] < 0 ? axes[i] + x->shape.rank : axes[i] : (int64_t)i;
        const int64_t step = n_steps ? steps[i] : 1;
        struct piece p;

        if (axis < 0 || axis >= x->shape.rank || seen & 1u << axis || step == 0 || step > ONNX_MAX_ELEMS ||
            step < -ONNX_MAX_ELEMS)
            return onnx_refuse(m, "an axis that is none, or a step of 0");
        seen |= 1u << axis;
        p = piece_of(starts[i], ends[i], step, x->shape.dim[axis]);
        take_piece(&s, (int)axis, &p);
    }
    return onnx_give(m, node, 0, x, &s);
}

enum onnx_role onnx_split(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *x = onnx_in(m, node, 0);
    const Onnx__AttributeProto *a = onnx_attribute(node, "split");
    const struct onnx_value *sizes = onnx_in(m, node, 1);
    const int64_t n = (int64_t)node->n_output;
    enum onnx_role role = ONNX_FOLDED;
    int64_t from = 0, each;
    int axis;

    if (!x || !onnx_axis(node, 0, x->shape.rank, &axis) || onnx_attribute_int(node, "num_outputs", n) != n)
        return onnx_refuse(m, "an axis that is none, or other numbers of outputs");
    if ((a && a->n_ints != (size_t)n) ||
        (!a && sizes && (sizes->kind != ONNX_CONSTANT || onnx_shape_elems(&sizes->shape) != n)))
        return onnx_refuse(m, "expected a constant size for each output");
    each = (x->shape.dim[axis] + n - 1) / n;
    for (int64_t i = 0; i < n && role != ONNX_UNSUPPORTED; i++, from += each) {
        struct onnx_view s;

        if (a)
            each = a->ints[i];
        else if (sizes && !onnx_int_at(sizes, i, &each))
            each = -1;
        if (each < 0 || each > x->shape.dim[axis] || (!a && !sizes && i + 1 == n && from >= x->shape.dim[axis]))
            return onnx_refuse(m, "sizes that do not fit the axis");
        each = !a && !sizes && i + 1 == n ? x->shape.dim[axis] - from : each;
        if (from + each > x->shape.dim[axis])
            return onnx_refuse(m, "sizes that do not fit the axis");
        onnx_view_of(x, &s);
        take_piece(&s, axis, &(struct piece){from, 1, each});
        role = onnx_give(m, node, (size_t)i, x, &s);
    }
    if (from != x->shape.dim[axis] && role != ONNX_UNSUPPORTED)
        return onnx_refuse(m, "sizes that do not fit the axis");
    return role;
}

/* Constant indices of an axis of `size` places; *step: how far they are apart, 0: not as far from each other. False:
 * one is outside. */
static bool read_indices(const struct onnx_value *at, int64_t size, int64_t *first, int64_t *step)
{
    const int64_t n = onnx_shape_elems(&at->shape);
    int64_t i_at = 0, apart = 1;
    bool regular = true;

    for (int64_t i = 0; i < n; i++) {
        if (!onnx_int_at(at, i, &i_at) || i_at < -size || i_at >= size)
            return false;
        i_at += i_at < 0 ? size : 0;
        *first = i ? *first : i_at;
        apart = i == 1 ? i_at - *first : apart;
        regular = regular && i_at == *first + i * apart;
    }
    *step = regular ? apart : 0;
    return true;
}

enum onnx_role onnx_gather_rows(struct onnx_import *m, const Onnx__NodeProto *node, struct onnx_value *x,
                                struct onnx_value *at, int axis)
{
    const struct graph_shape table = {
        3, {graph_stretch(&x->shape, 0, axis), x->shape.dim[axis], graph_stretch(&x->shape, axis + 1, x->shape.rank)}};
    const struct graph_shape list = {1, {onnx_shape_elems(&at->shape)}};
    struct graph_shape shape = {.rank = 0};
    struct onnx_value copied = *at;
    int of, numbers, i;

    for (int d = 0; d < x->shape.rank; d++)
        for (int k = 0; k < (d == axis ? at->shape.rank : 1); k++)
            shape.dim[shape.rank++] = d == axis ? at->shape.dim[k] : x->shape.dim[d];
    if ((x->kind == ONNX_ACTIVATION && !onnx_dense(m, x)) || (at->kind == ONNX_ACTIVATION && !onnx_dense(m, at)) ||
        (at->kind == ONNX_CONSTANT && !onnx_as_activation(m, at, &copied)))
        return m->failed ? ONNX_PLAIN : ONNX_UNSUPPORTED;
    of = x->kind == ONNX_CONSTANT ? onnx_constant_layer(m, x, &table) : onnx_layer_as(m, x, &table);
    numbers = of < 0 ? -1 : onnx_layer_as(m, at->kind == ONNX_CONSTANT ? &copied : at, &list);
    i = numbers < 0 ? -1 : onnx_new_layer(m, node, GRAPH_GATHER, of);
    if (i < 0)
        return m->failed ? ONNX_PLAIN : ONNX_UNSUPPORTED;
    m->layers[i].node.in[m->layers[i].node.n_in++] = numbers;
    if (onnx_finish(m, node, i, ONNX_PLAIN) == ONNX_UNSUPPORTED)
        return ONNX_UNSUPPORTED;
    onnx_out(m, node, 0)->shape = shape;
    return ONNX_PLAIN;
}

/* By indices that are as far from each other a slice of an activation, whose axis takes the indices' shape. */
enum onnx_role onnx_gather_layer(struct onnx_import *m, const Onnx__NodeProto *node)
{
    struct onnx_value *x = onnx_in(m, node, 0), *at = onnx_in(m, node, 1);
    int64_t first = 0, step = 0;
    struct onnx_view was, s;
    int axis;

    if (!onnx_axis(node, 0, x->shape.rank, &axis) || x->shape.rank - 1 + at->shape.rank > ONNX_MAX_RANK ||
        onnx_shape_elems(&at->shape) < 1)
        return onnx_refuse(m, "an axis that is none, or no indices");
    if (at->kind == ONNX_CONSTANT && !read_indices(at, x->shape.dim[axis], &first, &step))
        return onnx_refuse(m, "an index outside");
    if (!step)
        return onnx_gather_rows(m, node, x, at, axis);
    onnx_view_of(x, &was);
    s = (struct onnx_view){.at = was.at + first * was.stride[axis]};
    for (int d = 0; d < x->shape.rank; d++)
        for (int k = 0; k < (d == axis ? at->shape.rank : 1); k++) {
            const int64_t apart = d == axis ? step * graph_stretch(&at->shape, k + 1, at->shape.rank) : 1;

            s.stride[s.shape.rank] = was.stride[d] * apart;
            s.shape.dim[s.shape.rank++] = d == axis ? at->shape.dim[k] : was.shape.dim[d];
        }
    return onnx_give(m, node, 0, x, &s);
}

enum onnx_role onnx_expand(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *x = onnx_in(m, node, 0);
    struct graph_shape to, shape;
    struct onnx_view was, s = {.at = 0};
    int more;

    if (!x || !onnx_constant_shape(onnx_in(m, node, 1), &to) || !graph_broadcast(&x->shape, &to, &shape))
        return onnx_refuse(m, "to a shape that is not constant, or does not fit");
    onnx_view_of(x, &was);
    more = shape.rank - was.shape.rank;
    s.at = was.at;
    s.shape = shape;
    for (int d = 0; d < was.shape.rank; d++)
        s.stride[d + more] = was.shape.dim[d] == shape.dim[d + more] ? was.stride[d] : 0;
    return onnx_give(m, node, 0, x, &s);
}

/* Repeats the n-th dimension of an activation: the copies of it lie in a dimension of their own until they are copied
 * into one. */
enum onnx_role onnx_tile(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *x = onnx_in(m, node, 0);
    struct graph_shape times, shape;
    struct onnx_view was, s = {.at = 0};
    int i;

    if (!x || x->kind != ONNX_ACTIVATION || !onnx_constant_shape(onnx_in(m, node, 1), &times) ||
        times.rank != x->shape.rank)
        return onnx_refuse(m, "expected an activation and constant repeats, one for each dimension");
    onnx_view_of(x, &was);
    s.at = was.at;
    shape = x->shape;
    for (int d = 0; d < times.rank; d++) {
        if (times.dim[d] < 1 || s.shape.rank + 2 > ONNX_MAX_RANK || times.dim[d] > GRAPH_MAX_ELEMS / shape.dim[d])
            return onnx_refuse(m, "repeats below 1, or of too many dimensions");
        if (times.dim[d] > 1)
            s.shape.dim[s.shape.rank++] = times.dim[d];
        s.stride[s.shape.rank] = was.stride[d];
        s.shape.dim[s.shape.rank++] = was.shape.dim[d];
        shape.dim[d] *= times.dim[d];
    }
    if (graph_elems(&shape) < 1)
        return onnx_refuse(m, "over %lld elements", (long long)GRAPH_MAX_ELEMS);
    i = onnx_view_layer(m, x, &s, &shape);
    if (i < 0)
        return m->failed ? ONNX_PLAIN : ONNX_UNSUPPORTED;
    onnx_make_activation(onnx_out(m, node, 0), i, &shape);
    return ONNX_PLAIN;
}

/* ---- pads ---- */

static bool read_mode(const Onnx__NodeProto *node, enum onnx_around *out)
{
    static const char *const modes[] = {"constant", "edge", "reflect", "wrap"};
    const Onnx__AttributeProto *a = onnx_attribute(node, "mode");

    *out = ONNX_FILL;
    for (int i = 0; a && i < 4; i++)
        if (a->s.len == strlen(modes[i]) && memcmp(a->s.data, modes[i], a->s.len) == 0) {
            *out = (enum onnx_around)i;
            return true;
        }
    return !a;
}

/* Puts pads around a dimension, or takes places away where they are below 0; false where that does not fit. */
static bool pad_dim(struct onnx_view *s, int d, int64_t before, int64_t after)
{
    int64_t n = s->shape.dim[d], most;

    if (before < -n || after < -n || before > GRAPH_MAX_SIZE || after > GRAPH_MAX_SIZE)
        return false;
    take_piece(s, d,
               &(struct piece){before < 0 ? -before : 0, 1, n + (before < 0 ? before : 0) + (after < 0 ? after : 0)});
    n = s->shape.dim[d];
    most = s->mode == ONNX_REFLECT ? n - 1 : s->mode == ONNX_WRAP ? n : GRAPH_MAX_SIZE;
    s->before[d] = before < 0 ? 0 : before;
    s->after[d] = after < 0 ? 0 : after;
    s->shape.dim[d] += s->before[d] + s->after[d];
    return n > 0 && s->before[d] <= most && s->after[d] <= most;
}

enum onnx_role onnx_pad(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *x = onnx_in(m, node, 0), *value = onnx_in(m, node, 2);
    int64_t pads[2 * ONNX_MAX_RANK], axes[ONNX_MAX_RANK];
    size_t n = 0, n_axes = 0;
    struct onnx_view s;

    if (!x || !onnx_ints(m, node, "pads", 1, pads, 2 * ONNX_MAX_RANK, &n) ||
        !onnx_ints(m, node, "axes", 3, axes, ONNX_MAX_RANK, &n_axes))
        return onnx_refuse(m, "expected constant pads and axes");
    if (!onnx_in(m, node, 3)) {
        n_axes = (size_t)x->shape.rank;
        for (size_t i = 0; i < n_axes; i++)
            axes[i] = (int64_t)i;
    }
    onnx_view_of(x, &s);
    if (n != 2 * n_axes || !read_mode(node, &s.mode) ||
        (value && (value->kind != ONNX_CONSTANT || onnx_shape_elems(&value->shape) != 1)))
        return onnx_refuse(m, "expected two pads for each axis, a mode that is known, and one number");
    s.fill = (float)(value ? onnx_at(value, 0) : onnx_attribute_real(node, "value", 0));
    for (size_t i = 0; i < n_axes; i++) {
        const int64_t d = axes[i] < 0 ? axes[i] + x->shape.rank : axes[i];

        if (d < 0 || d >= x->shape.rank || s.before[d] || s.after[d] || !pad_dim(&s, (int)d, pads[i], pads[n_axes + i]))
            return onnx_refuse(m, "pads that do not fit their axis");
    }
    return onnx_give(m, node, 0, x, &s);
}

/* ---- blocks of pixels as channels, and back ---- */

/* Reshapes to `cut`, permutes, reshapes to `shape`, copying where strides do not tell it. */
static enum onnx_role rearrange(struct onnx_import *m, const Onnx__NodeProto *node, const struct graph_shape *cut,
                                const int *perm, const struct graph_shape *shape)
{
    const struct onnx_value *x = onnx_in(m, node, 0);
    struct onnx_view s;
    int i;

    assert(graph_elems(cut) == graph_elems(shape));
    onnx_view_of(x, &s);
    if (!onnx_view_reshape(&s, cut))
        return onnx_refuse(m, "of images that are no whole blocks");
    onnx_view_permute(&s, perm);
    i = onnx_view_layer(m, x, &s, shape);
    if (i < 0)
        return m->failed ? ONNX_PLAIN : ONNX_UNSUPPORTED;
    onnx_make_activation(onnx_out(m, node, 0), i, shape);
    return ONNX_PLAIN;
}

/* Images and blocks of at least one pixel; *crd: the places of a block stand behind the channels, not before them. */
static bool read_blocks(const struct onnx_import *m, const Onnx__NodeProto *node, int64_t *block, bool *crd)
{
    const struct onnx_value *x = onnx_in(m, node, 0);
    const Onnx__AttributeProto *mode = onnx_attribute(node, "mode");
    const bool dcr = !mode || (mode->s.len == 3 && memcmp(mode->s.data, "DCR", 3) == 0);

    *crd = !dcr;
    if (!dcr && (mode->s.len != 3 || memcmp(mode->s.data, "CRD", 3) != 0))
        return false;

    *block = onnx_attribute_int(node, "blocksize", 0);
    return x && x->kind == ONNX_ACTIVATION && x->shape.rank == 4 && *block > 0 && *block <= GRAPH_MAX_SIZE;
}

enum onnx_role onnx_depth_to_space(struct onnx_import *m, const Onnx__NodeProto *node)
{
    static const int rows_first[] = {0, 3, 4, 1, 5, 2}, channels_first[] = {0, 1, 4, 2, 5, 3};
    int64_t b;
    bool crd;

    if (!read_blocks(m, node, &b, &crd) || onnx_in(m, node, 0)->shape.dim[1] % (b * b))
        return onnx_refuse(m, "expected images whose channels are whole blocks, mode DCR or CRD");
    const int64_t *d = onnx_in(m, node, 0)->shape.dim, c = d[1] / (b * b);
    const struct graph_shape cut = {6, {d[0], crd ? c : b, b, crd ? b : c, d[2], d[3]}};

    return rearrange(m, node, &cut, crd ? channels_first : rows_first,
                     &(struct graph_shape){4, {d[0], c, d[2] * b, d[3] * b}});
}

enum onnx_role onnx_space_to_depth(struct onnx_import *m, const Onnx__NodeProto *node)
{
    static const int blocks_first[] = {0, 3, 5, 1, 2, 4}, channels_first[] = {0, 1, 3, 5, 2, 4};
    int64_t b;
    bool crd;

    if (!read_blocks(m, node, &b, &crd) || onnx_in(m, node, 0)->shape.dim[2] % b ||
        onnx_in(m, node, 0)->shape.dim[3] % b)
        return onnx_refuse(m, "expected images of whole blocks, mode DCR or CRD");
    const int64_t *d = onnx_in(m, node, 0)->shape.dim;
    const struct graph_shape cut = {6, {d[0], d[1], d[2] / b, b, d[3] / b, b}};

    return rearrange(m, node, &cut, crd ? channels_first : blocks_first,
                     &(struct graph_shape){4, {d[0], d[1] * b * b, d[2] / b, d[3] / b}});
}
