/* SPDX-License-Identifier: MIT */
/* pick.c - operators that take or replace elements, or runs of them, by indices of their own: rows of a table, which is
 * the tensor with all of an index in one number. */
#include "onnx/model.h"
#include "onnx/views.h"

#include "core/err.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define MAX_PLACE (1 << 24) /* whole numbers that floats tell apart */

/* The node's output, of a shape: runs of x by their numbers. */
static enum onnx_role pick(struct onnx_import *m, const Onnx__NodeProto *node, const struct onnx_value *x, int64_t run,
                           struct onnx_value *numbers, const struct graph_shape *shape)
{
    struct onnx_value *rows =
        onnx_memory_take(&m->file.memory, sizeof *rows); /* a constant is read when it is written */
    enum onnx_role role;

    assert(run > 0 && onnx_shape_elems(&x->shape) % run == 0);
    if (!rows) {
        m->failed = ERR_LIMIT;
        return ONNX_PLAIN;
    }
    *rows = *x;
    rows->shape = (struct graph_shape){2, {onnx_shape_elems(&x->shape) / run, run}};
    if (rows->shape.dim[0] > MAX_PLACE || graph_elems(shape) < 1)
        return onnx_refuse(m, "of over %d places, or no elements", MAX_PLACE);
    role = onnx_gather_rows(m, node, rows, numbers, 0);
    if (role != ONNX_UNSUPPORTED && !m->failed)
        onnx_out(m, node, 0)->shape = *shape;
    return role;
}

/* An index along an axis of `size` places, from the end where it is below 0; false: it is outside. */
static bool read_index(const struct onnx_value *at, int64_t i, int64_t size, int64_t *out)
{
    const bool whole = onnx_int_at(at, i, out);

    *out += whole && *out < 0 && *out >= -size ? size : 0;
    return whole && *out >= 0 && *out < size;
}

/* Where the element of x stands whose coordinates are those of element i of a tensor of shape `at`, but 0 along axis.
 */
static int64_t place_beside(const struct graph_shape *x, const struct graph_shape *at, int axis, int64_t i)
{
    int64_t place = 0, stride = 1;

    assert(x->rank == at->rank && axis < x->rank);
    for (int d = x->rank - 1; d >= 0; d--) {
        place += d == axis ? 0 : i % at->dim[d] * stride;
        i /= at->dim[d];
        stride *= x->dim[d];
    }
    return place;
}

/* Do indices fit a tensor along an axis: of as many dimensions, none larger but that one? */
static bool fits_beside(const struct graph_shape *x, const struct graph_shape *at, int axis)
{
    bool fits = x->rank == at->rank && onnx_shape_elems(at) > 0;

    for (int d = 0; d < x->rank && fits; d++)
        fits = d == axis || at->dim[d] <= x->dim[d];
    return fits;
}

/* The places of elements that constant indices along an axis name; NULL: m->failed, or words. */
static struct onnx_value *places_named(struct onnx_import *m, const Onnx__NodeProto *node, const struct onnx_value *x,
                                       const struct onnx_value *at, int axis)
{
    const int64_t stride = graph_stretch(&x->shape, axis + 1, x->shape.rank);
    struct onnx_value *out = onnx_new_constant(m, node->output[0], &at->shape, false);

    for (int64_t i = 0, n = out ? onnx_shape_elems(&at->shape) : 0; i < n; i++) {
        int64_t index;

        if (!read_index(at, i, x->shape.dim[axis], &index)) {
            onnx_refuse(m, "an index outside");
            return NULL;
        }
        out->v[i] = (double)(place_beside(&x->shape, &at->shape, axis, i) + index * stride);
    }
    return out;
}

/* The same of indices that are computed: element-wise from them, as the node's output. */
static enum onnx_role compute_places(struct onnx_import *m, const Onnx__NodeProto *node, const struct onnx_value *x,
                                     const struct onnx_value *at, int axis)
{
    const int64_t stride = graph_stretch(&x->shape, axis + 1, x->shape.rank);
    struct onnx_value *beside = onnx_new_constant(m, node->output[0], &at->shape, false);
    char text[128];

    if (!beside)
        return ONNX_PLAIN;
    for (int64_t i = 0, n = onnx_shape_elems(&at->shape); i < n; i++)
        beside->v[i] = (double)place_beside(&x->shape, &at->shape, axis, i);
    snprintf(text, sizeof text, "add(mul(where(less(a,0),add(a,c),a),%lld),b)", (long long)stride);
    return onnx_eltwise_values(m, node, text, (const struct onnx_value *const[]){at, beside}, 2,
                               (double)x->shape.dim[axis]);
}

enum onnx_role onnx_gather_elements(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *x = onnx_in(m, node, 0), *at = onnx_in(m, node, 1);
    struct onnx_value *numbers, computed;
    enum onnx_role role;
    int axis;

    if (!x || !at || !onnx_axis(node, 0, x->shape.rank, &axis) || !fits_beside(&x->shape, &at->shape, axis) ||
        onnx_shape_elems(&x->shape) > MAX_PLACE)
        return onnx_refuse(m, "indices of other dimensions, or over %d elements", MAX_PLACE);
    if (at->kind == ONNX_CONSTANT) {
        numbers = places_named(m, node, x, at, axis);
        return numbers ? pick(m, node, x, 1, numbers, &at->shape) : m->failed ? ONNX_PLAIN : ONNX_UNSUPPORTED;
    }
    role = compute_places(m, node, x, at, axis);
    if (role == ONNX_UNSUPPORTED || m->failed)
        return role;
    computed = *onnx_out(m, node, 0);
    return pick(m, node, x, 1, &computed, &at->shape);
}

/* Tuples of indices: of the dimensions of x behind the first n_batch, one for each of those. */
struct tuples {
    const struct onnx_value *x, *at;
    int n_batch, n;
    int64_t n_tuples, run; /* elements of x behind them */
};

static bool read_tuples(struct onnx_import *m, const struct onnx_value *x, const struct onnx_value *at, int64_t n_batch,
                        struct tuples *t)
{
    const int rank = at ? at->shape.rank : 0;

    *t = (struct tuples){.x = x, .at = at, .n = rank ? (int)at->shape.dim[rank - 1] : 0};
    t->n_tuples = rank ? graph_stretch(&at->shape, 0, rank - 1) : 0;
    if (!x || rank < 1 || t->n < 1 || n_batch < 0 || n_batch >= rank || n_batch + t->n > x->shape.rank ||
        t->n_tuples < 1 || memcmp(x->shape.dim, at->shape.dim, (size_t)n_batch * sizeof x->shape.dim[0])) {
        onnx_refuse(m, "indices that do not fit");
        return false;
    }
    t->n_batch = (int)n_batch;
    t->run = graph_stretch(&x->shape, t->n_batch + t->n, x->shape.rank);
    if (t->run < 1)
        onnx_refuse(m, "of no elements");
    return t->run > 0;
}

/* The first run of the batch that tuple i is of. */
static int64_t first_of(const struct tuples *t, int64_t i)
{
    const int64_t each = graph_stretch(&t->at->shape, t->n_batch, t->at->shape.rank - 1);

    return i / each * graph_stretch(&t->x->shape, t->n_batch, t->n_batch + t->n);
}

/* The numbers of runs that constant tuples name, a constant; NULL: m->failed, or words. */
static struct onnx_value *tuples_named(struct onnx_import *m, const Onnx__NodeProto *node, const struct tuples *t)
{
    struct onnx_value *out = onnx_new_constant(m, node->output[0], &(struct graph_shape){1, {t->n_tuples}}, false);

    for (int64_t i = 0; out && i < t->n_tuples; i++) {
        int64_t place = 0, index;

        for (int d = 0; d < t->n; d++) {
            const int64_t size = t->x->shape.dim[t->n_batch + d];

            if (!read_index(t->at, i * t->n + d, size, &index)) {
                onnx_refuse(m, "an index outside");
                return NULL;
            }
            place = place * size + index;
        }
        out->v[i] = (double)(first_of(t, i) + place);
    }
    return out;
}

/* The same of tuples that are computed: sums of indices times what they are worth, as the node's output. */
static enum onnx_role compute_tuples(struct onnx_import *m, const Onnx__NodeProto *node, const struct tuples *t)
{
    const int last = t->at->shape.rank - 1;
    struct onnx_value *worth = onnx_new_constant(m, node->output[0], &(struct graph_shape){1, {t->n}}, false), *first;
    struct onnx_value *sizes = onnx_new_constant(m, node->output[0], &(struct graph_shape){1, {t->n}}, false), sum;
    struct graph_shape shape = t->at->shape;
    enum onnx_role role;

    shape.dim[last] = 1;
    first = onnx_new_constant(m, node->output[0], &shape, false);
    if (!worth || !sizes || !first)
        return ONNX_PLAIN;
    for (int d = 0; d < t->n; d++) {
        sizes->v[d] = (double)t->x->shape.dim[t->n_batch + d];
        worth->v[d] = (double)graph_stretch(&t->x->shape, t->n_batch + d + 1, t->n_batch + t->n);
    }
    for (int64_t i = 0; i < t->n_tuples; i++)
        first->v[i] = (double)first_of(t, i);
    role = onnx_eltwise_values(m, node, "mul(where(less(a,0),add(a,b),a),c)",
                               (const struct onnx_value *const[]){t->at, sizes, worth}, 3, 0);
    if (role == ONNX_UNSUPPORTED || m->failed)
        return role;
    sum = *onnx_out(m, node, 0);
    role = onnx_reduce_axes(m, node, &sum, "sum", 1u << last);
    if (role == ONNX_UNSUPPORTED || m->failed || t->n_batch == 0)
        return role;
    sum = *onnx_out(m, node, 0);
    return onnx_eltwise_values(m, node, "add(a,b)", (const struct onnx_value *const[]){&sum, first}, 2, 0);
}

enum onnx_role onnx_gather_nd(struct onnx_import *m, const Onnx__NodeProto *node)
{
    struct onnx_value *numbers, computed;
    struct graph_shape shape;
    struct tuples t;
    enum onnx_role role;

    if (!read_tuples(m, onnx_in(m, node, 0), onnx_in(m, node, 1), onnx_attribute_int(node, "batch_dims", 0), &t))
        return ONNX_UNSUPPORTED;
    shape = t.at->shape;
    shape.rank--;
    for (int d = t.n_batch + t.n; d < t.x->shape.rank; d++) {
        if (shape.rank == ONNX_MAX_RANK)
            return onnx_refuse(m, "of too many dimensions");
        shape.dim[shape.rank++] = t.x->shape.dim[d];
    }
    if (t.at->kind == ONNX_CONSTANT) {
        numbers = tuples_named(m, node, &t);
        return numbers ? pick(m, node, t.x, t.run, numbers, &shape) : m->failed ? ONNX_PLAIN : ONNX_UNSUPPORTED;
    }
    role = compute_tuples(m, node, &t);
    if (role == ONNX_UNSUPPORTED || m->failed)
        return role;
    computed = *onnx_out(m, node, 0);
    return pick(m, node, t.x, t.run, &computed, &shape);
}

/* What stands at a step of a sequence turned round, whose length is constant; false: words. */
static bool turned_at(struct onnx_import *m, const struct onnx_value *lengths, int64_t b, int64_t t, int64_t steps,
                      int64_t *out)
{
    int64_t n = 0;
    const bool fits = onnx_int_at(lengths, b, &n) && n >= 0 && n <= steps;

    if (!fits)
        onnx_refuse(m, "a length outside of 0 to %lld", (long long)steps);
    *out = t < n ? n - 1 - t : t;
    return fits;
}

/* The number of each run by steps and sequences, from lengths that are computed; NULL: m->failed, or words. */
static struct onnx_value *compute_turned(struct onnx_import *m, const Onnx__NodeProto *node,
                                         const struct onnx_value *lengths, const struct onnx_value *step,
                                         const struct onnx_value *first, int64_t by_step)
{
    struct onnx_value of = *lengths, *out;
    char text[128];

    of.shape = first->shape;
    snprintf(text, sizeof text, "add(mul(where(less(b,a),sub(sub(a,1),b),b),%lld),c)", (long long)by_step);
    if (onnx_eltwise_values(m, node, text, (const struct onnx_value *const[]){&of, step, first}, 3, 0) ==
        ONNX_UNSUPPORTED)
        return NULL;
    out = m->failed ? NULL : onnx_memory_take(&m->file.memory, sizeof *out);
    if (out)
        *out = *onnx_out(m, node, 0);
    else
        m->failed = ERR_LIMIT;
    return out;
}

struct onnx_value *onnx_steps_turned(struct onnx_import *m, const Onnx__NodeProto *node,
                                     const struct onnx_value *lengths, int64_t steps, int time)
{
    const int64_t n = onnx_shape_elems(&lengths->shape), by_step = time == 0 ? n : 1, by_first = time == 0 ? 1 : steps;
    const struct graph_shape of_steps = {2, {time == 0 ? steps : 1, time == 0 ? 1 : steps}};
    const struct graph_shape of_first = {2, {time == 0 ? 1 : n, time == 0 ? n : 1}};
    const bool constant = lengths->kind == ONNX_CONSTANT;
    struct onnx_value *step, *first = onnx_new_constant(m, node->output[0], &of_first, false);

    step = first ? onnx_new_constant(m, node->output[0], constant ? &(struct graph_shape){1, {steps * n}} : &of_steps,
                                     false)
                 : NULL;
    for (int64_t b = 0; step && b < n; b++) {
        first->v[b] = (double)(b * by_first);
        for (int64_t t = 0; t < steps; t++) {
            int64_t at = t;

            if (constant && !turned_at(m, lengths, b, t, steps, &at))
                return NULL;
            step->v[constant ? t * by_step + b * by_first : t] = (double)(constant ? at * by_step + b * by_first : t);
        }
    }
    return !step || constant ? step : compute_turned(m, node, lengths, step, first, by_step);
}

enum onnx_role onnx_reverse_sequence(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *x = onnx_in(m, node, 0), *lengths = onnx_in(m, node, 1);
    const int64_t time = onnx_attribute_int(node, "time_axis", 0), batch = onnx_attribute_int(node, "batch_axis", 1);
    struct onnx_value *numbers;

    if (!x || x->shape.rank < 2 || time < 0 || time > 1 || batch != 1 - time)
        return onnx_refuse(m, "axes that are not the first two");
    if (!lengths || onnx_shape_elems(&lengths->shape) != x->shape.dim[batch])
        return onnx_refuse(m, "lengths that do not fit");
    if (onnx_shape_elems(&x->shape) < 1)
        return onnx_refuse(m, "of no elements");
    numbers = onnx_steps_turned(m, node, lengths, x->shape.dim[time], (int)time);
    return numbers     ? pick(m, node, x, graph_stretch(&x->shape, 2, x->shape.rank), numbers, &x->shape)
           : m->failed ? ONNX_PLAIN
                       : ONNX_UNSUPPORTED;
}

/* A value as a row of all its elements; -1: m->failed, or words. */
static int as_row(struct onnx_import *m, const struct onnx_value *v)
{
    const struct graph_shape row = {2, {1, onnx_shape_elems(&v->shape)}};
    struct onnx_value copied = *v;

    if (v->kind == ONNX_CONSTANT ? !onnx_as_activation(m, v, &copied) : !onnx_dense(m, &copied))
        return -1;
    return onnx_layer_as(m, &copied, &row);
}

/* x with runs replaced by those of `by`, the last of several for one place: runs of both, one behind the other. */
static enum onnx_role replace(struct onnx_import *m, const Onnx__NodeProto *node, const struct onnx_value *x,
                              const struct onnx_value *by, int64_t run, const struct onnx_value *places)
{
    const int64_t n = onnx_shape_elems(&x->shape) / run, n_by = onnx_shape_elems(&places->shape);
    struct onnx_value *numbers = onnx_new_constant(m, node->output[0], &(struct graph_shape){1, {n}}, false), all;
    int row, more, i;

    for (int64_t k = 0; numbers && k < n; k++)
        numbers->v[k] = (double)k;
    for (int64_t k = 0; numbers && k < n_by; k++)
        numbers->v[(int64_t)places->v[k]] = (double)(n + k);
    row = numbers ? as_row(m, x) : -1;
    more = row < 0 ? -1 : as_row(m, by);
    i = more < 0 ? -1 : onnx_new_layer(m, node, GRAPH_CONCAT, row);
    if (i < 0)
        return m->failed ? ONNX_PLAIN : ONNX_UNSUPPORTED;
    m->layers[i].node.in[m->layers[i].node.n_in++] = more;
    if (onnx_finish(m, node, i, ONNX_PLAIN) == ONNX_UNSUPPORTED)
        return ONNX_UNSUPPORTED;
    all = *onnx_out(m, node, 0);
    return pick(m, node, &all, run, numbers, &x->shape);
}

static bool only_replaces(const Onnx__NodeProto *node)
{
    const Onnx__AttributeProto *a = onnx_attribute(node, "reduction");

    return !a || (a->s.len == 4 && memcmp(a->s.data, "none", 4) == 0);
}

enum onnx_role onnx_scatter_nd(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *x = onnx_in(m, node, 0), *at = onnx_in(m, node, 1), *by = onnx_in(m, node, 2);
    struct onnx_value *places;
    struct tuples t;

    if (!read_tuples(m, x, at, 0, &t))
        return ONNX_UNSUPPORTED;
    if (at->kind != ONNX_CONSTANT)
        return onnx_refuse(m, "indices that are computed");
    places = tuples_named(m, node, &t);
    if (!places)
        return m->failed ? ONNX_PLAIN : ONNX_UNSUPPORTED;
    if (!by || onnx_shape_elems(&by->shape) != t.n_tuples * t.run || !only_replaces(node))
        return onnx_refuse(m, "a reduction, or updates that do not fit");
    return replace(m, node, x, by, t.run, places);
}

enum onnx_role onnx_scatter_elements(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *x = onnx_in(m, node, 0), *at = onnx_in(m, node, 1), *by = onnx_in(m, node, 2), *places;
    int axis;

    if (!x || !at || !by || at->kind != ONNX_CONSTANT || !onnx_axis(node, 0, x->shape.rank, &axis) ||
        !fits_beside(&x->shape, &at->shape, axis) || !graph_same_shape(&at->shape, &by->shape))
        return onnx_refuse(m, "indices that are computed, or do not fit");
    if (!only_replaces(node))
        return onnx_refuse(m, "a reduction");
    places = places_named(m, node, x, at, axis);
    return places ? replace(m, node, x, by, 1, places) : m->failed ? ONNX_PLAIN : ONNX_UNSUPPORTED;
}
