/* SPDX-License-Identifier: MIT */
/* rotary.c - RotaryEmbedding: pairs of numbers of each head turned by angles, which are those of the row's position:
 * x cos + x' sin, where x' are the pairs exchanged, the first of each times -1. Exporters write x' by itself. */
#include "onnx/attention.h"
#include "onnx/model.h"
#include "onnx/views.h"

#include <assert.h>
#include <string.h>

#define PAIRED 5 /* batch, rows or heads, the other, and two for the numbers of a head */

/* A node while it is read. */
struct turning {
    struct onnx_import *m;
    const Onnx__NodeProto *node;
    struct onnx_heads x; /* [batch][rows][heads][numbers] */
    int64_t heads;       /* of 3 dimensions: in the last one */
    int64_t n;           /* numbers that are turned, the first ones; 0: all */
    bool pairs_inside;   /* a pair lies together, else half of the numbers apart */
    int64_t first;       /* the first row's angles are those of this row of a constant table; -1: of input 3, or all */
};

static bool made(const struct turning *t, enum onnx_role role)
{
    return role != ONNX_UNSUPPORTED && !t->m->failed;
}

static struct onnx_value given(const struct turning *t)
{
    struct onnx_value v = *onnx_out(t->m, t->node, 0);

    v.sole = true;
    return v;
}

/* Rows of heads of a node of 3 or 4 dimensions, and how many numbers of each are turned. */
static bool read_rows(struct turning *t)
{
    struct graph_shape *s = &t->x.view.shape, cut;

    if (!onnx_see(onnx_in(t->m, t->node, 0), &t->x) ||
        (s->rank != 4 && (s->rank != 3 || t->heads < 1 || s->dim[2] % t->heads)))
        return onnx_refuse(t->m, "expected an activation of 4 dimensions, or 3 and whole heads"), false;
    cut = (struct graph_shape){4, {s->dim[0], s->dim[1], t->heads, t->heads ? s->dim[2] / t->heads : 1}};
    if (s->rank == 4)
        onnx_exchange_heads(&t->x.view);
    else if (!onnx_view_reshape(&t->x.view, &cut))
        return onnx_refuse(t->m, "heads that lie apart"), false;
    t->n = t->n ? t->n : s->dim[3];
    return (t->n > 0 && t->n % 2 == 0 && t->n <= s->dim[3]) ||
           (onnx_refuse(t->m, "expected an even number of numbers to be turned"), false);
}

/* The shape of pairs: of [..][numbers] the last one as two. */
static struct graph_shape pairs_of(const struct turning *t, const struct graph_shape *s, int64_t n)
{
    struct graph_shape out = *s;

    assert(n % 2 == 0 && out.rank < ONNX_MAX_RANK);
    out.dim[out.rank - 1] = t->pairs_inside ? n / 2 : 2;
    out.dim[out.rank++] = t->pairs_inside ? 2 : n / 2;
    return out;
}

/* Cosines or sines of each row, an activation [batch or 1][rows][1][..] of pairs that have one angle. */
static bool read_angles(struct turning *t, size_t i, struct onnx_value *out)
{
    static char rows[] = "Gather";
    const struct onnx_value *cache = onnx_in(t->m, t->node, i), *at = onnx_in(t->m, t->node, 3);
    const int64_t *x = t->x.view.shape.dim;
    char *inputs[2];
    Onnx__NodeProto gather = *t->node;
    int64_t b;

    if (!cache || cache->shape.rank != (at ? 2 : 3) || cache->shape.dim[cache->shape.rank - 1] != t->n / 2)
        return onnx_refuse(t->m, "expected cosines and sines of half as many numbers"), false;
    inputs[0] = t->node->input[i];
    inputs[1] = at ? t->node->input[3] : NULL;
    gather.op_type = rows;
    gather.n_input = 2;
    gather.input = inputs;
    gather.n_attribute = 0;
    *out = *cache;
    if (at && !made(t, onnx_gather_layer(t->m, &gather)))
        return false;
    if (at)
        *out = *onnx_out(t->m, t->node, 0);
    if (!at && cache->kind == ONNX_CONSTANT && !onnx_as_activation(t->m, cache, out))
        return false;
    if (!onnx_dense(t->m, out))
        return false;
    b = out->shape.dim[0];
    if (out->shape.rank != 3 || (b != 1 && b != x[0]) || out->shape.dim[1] != x[1])
        return onnx_refuse(t->m, "positions that do not fit"), false;
    out->sole = false;
    out->shape =
        (struct graph_shape){PAIRED, {b, x[1], 1, t->pairs_inside ? t->n / 2 : 1, t->pairs_inside ? 1 : t->n / 2}};
    return true;
}

/* The node's output: an activation of pairs, the first number of each times -1. */
static bool times_signs(struct onnx_import *m, const Onnx__NodeProto *node, const struct onnx_value *pairs,
                        bool pairs_inside)
{
    const struct graph_shape shape = {2, {pairs_inside ? 1 : 2, pairs_inside ? 2 : 1}};
    struct onnx_value *signs = onnx_new_constant(m, node->output[0], &shape, true);
    const struct onnx_value *of[] = {pairs, signs};

    if (!signs)
        return false;
    signs->v[0] = -1;
    signs->v[1] = 1;
    return onnx_eltwise_values(m, node, "mul(a,b)", of, 2, 0) != ONNX_UNSUPPORTED && !m->failed;
}

/* Sines with the sign that they have in each number of a pair. */
static bool sign_sines(struct turning *t, struct onnx_value *sines)
{
    if (!times_signs(t->m, t->node, sines, t->pairs_inside))
        return false;
    *sines = given(t);
    sines->sole = false;
    return true;
}

/* The same of rows of a constant table, whose numbers a pair has with signs: a constant. */
static const struct onnx_value *cut_angles(struct turning *t, size_t i, const double sign[2])
{
    const struct onnx_value *cache = onnx_in(t->m, t->node, i);
    const int64_t rows = t->x.view.shape.dim[1], half = t->n / 2;
    const struct graph_shape one = {4, {1, rows, 1, t->n}}, shape = pairs_of(t, &one, t->n);
    struct onnx_value *v;

    if (!cache || cache->kind != ONNX_CONSTANT || cache->shape.rank != 2 || cache->shape.dim[1] != half ||
        cache->shape.dim[0] < t->first + rows) {
        onnx_refuse(t->m, "expected constant cosines and sines of all positions");
        return NULL;
    }
    v = onnx_new_constant(t->m, t->node->output[0], &shape, true);
    for (int64_t k = 0; v && k < rows * t->n; k++) {
        const int64_t at = k % t->n, pair = t->pairs_inside ? at / 2 : at % half;

        v->v[k] = sign[t->pairs_inside ? at % 2 : at / half] * onnx_at(cache, (t->first + k / t->n) * half + pair);
    }
    return v;
}

/* Cosines and sines, which may lie in `held`; false: m->failed, or words. */
static bool angles_of(struct turning *t, struct onnx_value held[2], const struct onnx_value *out[2])
{
    if (t->first >= 0) {
        out[0] = cut_angles(t, 1, (const double[]){1, 1});
        out[1] = out[0] ? cut_angles(t, 2, (const double[]){-1, 1}) : NULL;
        return out[1];
    }
    out[0] = &held[0];
    out[1] = &held[1];
    return read_angles(t, 1, &held[0]) && read_angles(t, 2, &held[1]) && sign_sines(t, &held[1]);
}

/* An activation of the elements of a view. */
static bool copied(struct onnx_import *m, const struct onnx_value *x, const struct onnx_view *s, struct onnx_value *out)
{
    const int i = onnx_view_layer(m, x, s, &s->shape);

    *out = *x;
    if (i < 0)
        return false;
    onnx_make_activation(out, i, &s->shape);
    out->sole = false;
    return true;
}

/* The turned numbers: *out, [batch][rows][heads][n]. */
static bool turn(struct turning *t, struct onnx_value *out)
{
    struct onnx_view s = t->x.view, other;
    struct onnx_value x, exchanged, held[2];
    const struct onnx_value *of[] = {&exchanged, NULL, NULL}, *angles[2];
    struct graph_shape paired;
    int pair;

    s.shape.dim[3] = t->n;
    paired = pairs_of(t, &s.shape, t->n);
    pair = paired.rank - (t->pairs_inside ? 1 : 2);
    if (!onnx_view_reshape(&s, &paired))
        return onnx_refuse(t->m, "numbers that lie apart"), false;
    other = s;
    other.at += other.stride[pair];
    other.stride[pair] = -other.stride[pair];
    if (!angles_of(t, held, angles) || !copied(t->m, &t->x.value, &s, &x) ||
        !copied(t->m, &t->x.value, &other, &exchanged))
        return false;
    of[1] = angles[1];
    if (!made(t, onnx_eltwise_values(t->m, t->node, "mul(a,b)", of, 2, 0)))
        return false;
    exchanged = given(t); /* in the kernel of the sum */
    of[1] = &x;
    of[2] = angles[0];
    if (!made(t, onnx_eltwise_values(t->m, t->node, "add(mul(b,c),a)", of, 3, 0)))
        return false;
    *out = given(t);
    out->shape = t->x.view.shape;
    out->shape.dim[3] = t->n;
    return true;
}

/* Puts the numbers that stay behind those that are turned. */
static bool join_rest(struct turning *t, struct onnx_value *y)
{
    const struct graph_shape *s = &t->x.view.shape;
    const int64_t rows = s->dim[0] * s->dim[1] * s->dim[2], rest = s->dim[3] - t->n;
    const struct graph_shape turned = {2, {rows, t->n}}, stays = {2, {rows, rest}};
    struct onnx_view behind = t->x.view;
    int i, more;

    if (!rest)
        return true;
    behind.at += t->n * behind.stride[3];
    behind.shape.dim[3] = rest;
    more = onnx_view_layer(t->m, &t->x.value, &behind, &stays);
    i = more < 0 ? -1 : onnx_new_layer(t->m, t->node, GRAPH_CONCAT, onnx_layer_as(t->m, y, &turned));
    if (i < 0)
        return false;
    t->m->layers[i].node.in[t->m->layers[i].node.n_in++] = more;
    if (!made(t, onnx_finish(t->m, t->node, i, ONNX_PLAIN)))
        return false;
    *y = given(t);
    y->shape = *s;
    return true;
}

static enum onnx_role turn_rows(struct turning *t)
{
    struct onnx_import *m = t->m;
    struct onnx_value y;
    struct onnx_view s;
    struct graph_shape shape;

    if (!read_rows(t) || !turn(t, &y) || !join_rest(t, &y))
        return m->failed ? ONNX_PLAIN : ONNX_UNSUPPORTED;
    shape = onnx_in(m, t->node, 0)->shape;
    onnx_view_of(&y, &s);
    if (shape.rank == 4)
        onnx_exchange_heads(&s);
    else if (!onnx_view_reshape(&s, &shape))
        return onnx_refuse(m, "heads that lie apart");
    return onnx_give(m, t->node, 0, &y, &s) == ONNX_UNSUPPORTED ? ONNX_UNSUPPORTED : ONNX_PLAIN;
}

enum onnx_role onnx_rotary_embedding(struct onnx_import *m, const Onnx__NodeProto *node)
{
    struct turning t = {.m = m,
                        .node = node,
                        .heads = onnx_attribute_int(node, "num_heads", 0),
                        .n = onnx_attribute_int(node, "rotary_embedding_dim", 0),
                        .pairs_inside = onnx_attribute_int(node, "interleaved", 0) != 0,
                        .first = -1};

    return turn_rows(&t);
}

/* Of GroupQueryAttention: x, cosines, sines, the cache of keys; part 0 are queries, 1 keys. */
enum onnx_role onnx_group_query_rotary(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const bool keys = onnx_attribute_int(node, "part", 0) == 1;
    const struct onnx_value *table = onnx_in(m, node, 1), *past = onnx_in(m, node, 3);
    struct turning t = {.m = m,
                        .node = node,
                        .heads = onnx_attribute_int(node, keys ? "kv_num_heads" : "num_heads", 0),
                        .n = table && table->shape.rank == 2 ? 2 * table->shape.dim[1] : 0,
                        .pairs_inside = onnx_attribute_int(node, "rotary_interleaved", 0) != 0,
                        .first = past && past->shape.rank == 4 ? past->shape.dim[2] : 0};

    return turn_rows(&t);
}

/* ---- x' of exporters ---- */

/* Are both of one layer, in one shape with the same strides? */
static bool are_alike(const struct onnx_heads *a, const struct onnx_heads *b)
{
    bool alike = a->value.i_layer == b->value.i_layer && graph_same_shape(&a->view.shape, &b->view.shape);

    for (int d = 0; d < a->view.shape.rank && alike; d++)
        alike = a->view.shape.dim[d] == 1 || a->view.stride[d] == b->view.stride[d];
    return alike;
}

/* The two, the first in front, as two rows behind all dimensions but the last. */
static struct onnx_view both(const struct onnx_view *first, const struct onnx_view *second)
{
    const int last = first->shape.rank - 1;
    struct onnx_view s = *first;

    s.shape.dim[last + 1] = s.shape.dim[last];
    s.stride[last + 1] = s.stride[last];
    s.shape.dim[last] = 2;
    s.stride[last] = second->at - first->at;
    s.shape.rank++;
    return s;
}

bool onnx_halves_exchanged(struct onnx_import *m, const Onnx__NodeProto *node, int axis)
{
    const struct onnx_value *negated = onnx_in(m, node, 0), *first = onnx_in(m, node, 1), *second;
    struct onnx_heads a, b;
    struct onnx_value copy;
    struct graph_shape shape;
    struct onnx_view halves;

    if (node->n_input != 2 || !negated->maker || strcmp(negated->maker->op_type, "Neg") != 0 ||
        negated->n_readers != 1 || !negated->is_float || axis != negated->shape.rank - 1 ||
        negated->shape.rank + 1 > ONNX_MAX_RANK)
        return false;
    second = onnx_in(m, negated->maker, 0);
    if (!onnx_see(second, &a) || !onnx_see(first, &b) || !are_alike(&a, &b))
        return false;
    halves = both(&a.view, &b.view);
    if (!copied(m, &a.value, &halves, &copy) || !times_signs(m, node, &copy, false))
        return m->failed;
    shape = second->shape;
    shape.dim[axis] *= 2;
    onnx_out(m, node, 0)->shape = shape;
    onnx_fold_maker(m, negated);
    return true;
}
