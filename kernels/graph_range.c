/* SPDX-License-Identifier: MIT */
#include "kernels/graph_range.h"

#include "core/buf.h"
#include "kernels/graph_lower.h"
#include "kernels/graph_mend.h"
#include "kernels/strided_copy/strided_copy.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A node while its rule looks at it. */
struct looking {
    const struct graph *g, *other;
    int64_t size, other_size, least;
    const struct range_place *places; /* of nodes before it */
    size_t i;
    const struct graph_node *n;
    const char *dim;
    struct mend *mends; /* [MENDS a node] */
    size_t *n_mends;
    struct why *why;
};
#define MENDS 2 /* of a node at the most */

/* Where an axis lies in a tensor's shape: dimension d has `outer` times its places times `inner`. */
struct spot {
    int d;
    int64_t outer, inner, more;
};

static enum err mixes(const struct looking *x, const char *how)
{
    return why_set(x->why, ERR_UNSUPPORTED, "%s (%s): %s %s, so that padding it is not exact", x->n->name,
                   graph_op_name(x->n->op), how, x->dim);
}

static const struct graph_shape *shape_in(const struct looking *x, int k)
{
    return &x->g->nodes[x->n->in[k]].shape;
}

static const struct range_place *place_in(const struct looking *x, int k)
{
    return &x->places[x->n->in[k]];
}

/* False where the axis is in no dimension by itself. */
static bool spot_of(const struct graph_shape *s, int64_t size, const struct range_axis *a, struct spot *out)
{
    *out = (struct spot){0, 1, 1, a->more};
    for (int d = 0; d < s->rank; d++) {
        const int64_t before = graph_stretch(s, 0, d), behind = graph_stretch(s, d + 1, s->rank);

        if (a->outer % before || a->inner % behind ||
            a->outer / before * (size + a->more) * (a->inner / behind) != s->dim[d])
            continue;
        *out = (struct spot){d, a->outer / before, a->inner / behind, a->more};
        return true;
    }
    return false;
}

static struct range_axis axis_of(const struct graph_shape *s, const struct spot *at)
{
    return (struct range_axis){graph_stretch(s, 0, at->d) * at->outer, at->inner * graph_stretch(s, at->d + 1, s->rank),
                               at->more};
}

/* A dimension of n places at this size, of other_n at the other, is `times` as long as the axis, which has `more`
 * places than the size; false: it is nothing of that. */
static bool grows(const struct looking *x, int64_t n, int64_t other_n, int64_t *times, int64_t *more)
{
    const int64_t step = x->size - x->other_size;

    *times = (n - other_n) / step;
    if ((n - other_n) % step || *times < 1 || n < *times * x->size)
        return false;
    *more = (n - *times * x->size) / *times;
    return n == *times * (x->size + *more);
}

static bool same_axis(const struct range_axis *a, const struct range_axis *b)
{
    return a->outer == b->outer && a->inner == b->inner && a->more == b->more;
}

static bool same_place(const struct range_place *a, const struct range_place *b)
{
    bool same = a->n == b->n;

    for (int k = 0; k < a->n && same; k++)
        same = same_axis(&a->axis[k], &b->axis[k]);
    return same;
}

/* Axes by how far out they are; false: a third one. */
static bool put_axis(struct range_place *p, const struct range_axis *a)
{
    int at = p->n;

    for (int k = 0; k < p->n; k++)
        if (same_axis(&p->axis[k], a))
            return true;
    if (p->n == 2)
        return false;
    if (p->n && p->axis[0].outer > a->outer)
        at = 0;
    if (p->n && !at)
        p->axis[1] = p->axis[0];
    p->axis[at] = *a;
    p->n++;
    return true;
}

/* The node is exact once that is done. */
static void mend(const struct looking *x, enum mend_kind kind, int which, const char *blank,
                 const struct range_axis *axis)
{
    assert(*x->n_mends < MENDS * x->g->n_nodes);
    x->mends[(*x->n_mends)++] = (struct mend){kind, x->i, which, blank, *axis};
}

/* What is behind is made a number that changes nothing. */
static enum err blank(const struct looking *x, int k, const char *number, const struct range_axis *axis)
{
    const struct mend *before = *x->n_mends ? &x->mends[*x->n_mends - 1] : NULL;

    if (!number || x->g->nodes[x->n->in[k]].bytes || (before && before->i_node == x->i && before->which == k))
        return mixes(x, "what it computes has no number that changes nothing along");
    mend(x, MEND_BLANK, k, number, axis);
    return ERR_OK;
}

/* ---- rules: where the axes are in what a node gives ---- */

typedef enum err rule(const struct looking *x, struct range_place *out);

/* Of what reads nothing: dimensions that are as large as the size, or by so much larger, or so many times. */
static enum err given(const struct looking *x, struct range_place *out)
{
    const struct graph_shape *s = &x->n->shape, *t = &x->other->nodes[x->i].shape;

    for (int d = 0; d < s->rank; d++) {
        struct spot at = {d, 1, 1, 0};
        struct range_axis a;

        if (s->dim[d] == t->dim[d])
            continue;
        if (!grows(x, s->dim[d], t->dim[d], &at.inner, &at.more))
            return mixes(x, "its sizes are no multiples of");
        a = axis_of(s, &at);
        if (!put_axis(out, &a))
            return mixes(x, "it has more than two dimensions that are");
    }
    return ERR_OK;
}

/* The elements of the first input, in their order. */
static enum err kept(const struct looking *x, struct range_place *out)
{
    *out = *place_in(x, 0);
    return ERR_OK;
}

/* Inputs of one shape. */
static enum err alike(const struct looking *x, struct range_place *out)
{
    for (int k = 1; k < x->n->n_in; k++)
        if (!same_place(place_in(x, k), place_in(x, 0)))
            return mixes(x, "its inputs differ in where they have");
    return kept(x, out);
}

/* Rows, each by itself. */
static enum err rows(const struct looking *x, struct range_place *out)
{
    const struct range_place *p = place_in(x, 0);
    struct spot at;

    for (int k = 0; k < p->n; k++) {
        if (!spot_of(shape_in(x, 0), x->size, &p->axis[k], &at) || at.d != 0)
            return mixes(x, "each row is computed of all that lies along");
        out->axis[out->n++] = axis_of(&x->n->shape, &at);
    }
    return x->n->n_in > 1 && !same_place(out, place_in(x, 1)) ? mixes(x, "its inputs differ in where they have")
                                                              : ERR_OK;
}

/* Of the floats; a half takes them for infinite. */
#define LOWEST "-3.4028235e+38"
#define HIGHEST "3.4028235e+38"

/* Rows, whose largest number and sum do not change by what is behind. */
static enum err shared_out(const struct looking *x, struct range_place *out)
{
    const struct range_place *p = place_in(x, 0);
    enum err e = ERR_OK;
    struct spot at;

    for (int k = 0; k < p->n && !e; k++) {
        if (!spot_of(shape_in(x, 0), x->size, &p->axis[k], &at))
            return mixes(x, "each row is computed of all that lies along");
        if (at.d != 0)
            e = blank(x, 0, LOWEST, &p->axis[k]);
        out->axis[out->n++] = p->axis[k];
    }
    return e;
}

/* Does input k have, in dimension d of what the node gives, the axis or one number for all? */
static bool follows(const struct looking *x, int k, const struct spot *at)
{
    const struct graph_shape *s = shape_in(x, k);
    const struct range_place *p = place_in(x, k);
    const int d = at->d - (x->n->shape.rank - s->rank);
    struct spot own;

    if (d < 0 || s->dim[d] == 1)
        return true;
    for (int a = 0; a < p->n; a++)
        if (spot_of(s, x->size, &p->axis[a], &own) && own.d == d && own.outer == at->outer && own.inner == at->inner &&
            own.more == at->more)
            return true;
    return false;
}

/* Broadcast. */
static enum err spread(const struct looking *x, struct range_place *out)
{
    const struct graph_shape *y = &x->n->shape;

    for (int k = 0; k < x->n->n_in; k++)
        for (int a = 0; a < place_in(x, k)->n; a++) {
            struct range_axis axis;
            struct spot at;

            if (!spot_of(shape_in(x, k), x->size, &place_in(x, k)->axis[a], &at))
                return mixes(x, "an input has no dimension that is");
            at.d += y->rank - shape_in(x, k)->rank;
            for (int other = 0; other < x->n->n_in; other++)
                if (!follows(x, other, &at))
                    return mixes(x, "its inputs differ in where they have");
            axis = axis_of(y, &at);
            if (!put_axis(out, &axis))
                return mixes(x, "it has more than two dimensions that are");
        }
    return ERR_OK;
}

/* A window of one pixel moves along rows and columns; a depthwise one has weights for each channel. */
static bool is_by_pixel(const struct graph_node *n)
{
    const int64_t *key = n->key;

    return key[GRAPH_R] == 1 && key[GRAPH_S] == 1 && key[GRAPH_STRIDE_H] == 1 && key[GRAPH_STRIDE_W] == 1 &&
           !(key[GRAPH_TOP] || key[GRAPH_LEFT] || key[GRAPH_BOTTOM] || key[GRAPH_RIGHT]);
}

/* A window that moves by one along rows or columns, of which there are as many behind it: around them are zeros. */
static bool is_by_one(const struct looking *x, const struct spot *at)
{
    return at->d > 1 && at->outer * at->inner == 1 && x->n->key[GRAPH_STRIDE_H + at->d - 2] == 1 &&
           x->n->shape.dim[at->d] == x->size + at->more;
}

/* Images: the batch, of windows of one pixel rows and columns, channels that are computed by themselves. */
static enum err images(const struct looking *x, struct range_place *out)
{
    const struct graph_node *n = x->n;
    const bool conv = n->op == GRAPH_CONV2D || n->op == GRAPH_DEPTHWISE;
    struct spot at;

    for (int k = 0; k < place_in(x, 0)->n; k++) {
        const bool found = spot_of(shape_in(x, 0), x->size, &place_in(x, 0)->axis[k], &at);
        const bool pixel = conv && is_by_pixel(n);
        const bool alone = at.d == 0 || (pixel && (at.d > 1 || (n->op == GRAPH_DEPTHWISE && at.outer == 1)));

        if (!found || (!alone && !(conv && is_by_one(x, &at))))
            return mixes(x, "its window covers several places along");
        if (!alone && blank(x, 0, "0", &place_in(x, 0)->axis[k]))
            return ERR_UNSUPPORTED;
        out->axis[out->n++] = axis_of(&n->shape, &at);
    }
    return n->n_in > 1 && !same_place(out, place_in(x, 1)) ? mixes(x, "its inputs differ in where they have") : ERR_OK;
}

/* So many places before those along the dimension, or behind them: a cache and what is new. Those stand behind what is
 * there. */
static enum err lengthened(const struct looking *x, int k, const struct spot *at, struct range_place *out)
{
    const int64_t n = shape_in(x, !k)->dim[1];
    struct spot all = *at;

    all.more += n / at->inner;
    if (at->outer != 1 || n % at->inner || (k == 0 && at->more))
        return mixes(x, "it joins tensors along");
    out->axis[out->n++] = axis_of(&x->n->shape, &all);
    if (k == 0)
        mend(x, MEND_JOIN, 0, NULL, &out->axis[out->n - 1]);
    return ERR_OK;
}

/* Joined along the second dimension. */
static enum err joined(const struct looking *x, struct range_place *out)
{
    struct spot at[2];

    for (int k = 0; k < 2; k++)
        if (place_in(x, k)->n == 1 && !place_in(x, !k)->n &&
            spot_of(shape_in(x, k), x->size, &place_in(x, k)->axis[0], &at[0]) && at[0].d == 1)
            return lengthened(x, k, &at[0], out);
    if (place_in(x, 0)->n != place_in(x, 1)->n)
        return mixes(x, "its inputs differ in where they have");
    for (int k = 0; k < place_in(x, 0)->n; k++) {
        for (int i = 0; i < 2; i++)
            if (!spot_of(shape_in(x, i), x->size, &place_in(x, i)->axis[k], &at[i]) || at[i].d == 1)
                return mixes(x, "it joins tensors along");
        if (at[0].d != at[1].d || at[0].outer != at[1].outer)
            return mixes(x, "its inputs differ in where they have");
        out->axis[out->n++] = axis_of(&x->n->shape, &at[0]);
    }
    return ERR_OK;
}

/* The number that changes nothing of what a reduction gives. */
static const char *neutral(const struct graph_node *n)
{
    static const struct {
        const char *kind, *number;
    } table[] = {{"log_sum_exp", LOWEST}, {"max", LOWEST}, {"min", HIGHEST}, {"prod", "1"}};

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strstr(n->words, table[i].kind))
            return table[i].number;
    return "0";
}

/* The middle one of three dimensions is taken away. */
static enum err reduced(const struct looking *x, struct range_place *out)
{
    enum err e = ERR_OK;
    struct spot at;

    for (int k = 0; k < place_in(x, 0)->n && !e; k++) {
        if (!spot_of(shape_in(x, 0), x->size, &place_in(x, 0)->axis[k], &at))
            return mixes(x, "it reduces over");
        if (at.d == 1) {
            e = blank(x, 0, neutral(x->n), &place_in(x, 0)->axis[k]);
            continue;
        }
        at.d /= 2;
        out->axis[out->n++] = axis_of(&x->n->shape, &at);
    }
    return e;
}

/* b x m x k by b x n x k. */
static enum err product(const struct looking *x, struct range_place *out)
{
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < place_in(x, i)->n; k++) {
            struct range_axis axis;
            struct spot at;

            if (!spot_of(shape_in(x, i), x->size, &place_in(x, i)->axis[k], &at))
                return mixes(x, "it adds up products along");
            if (at.d == 2) {
                if (blank(x, i, "0", &place_in(x, i)->axis[k]))
                    return ERR_UNSUPPORTED;
                continue;
            }
            at.d += i && at.d == 1;
            axis = axis_of(&x->n->shape, &at);
            if (!put_axis(out, &axis))
                return mixes(x, "it has more than two dimensions that are");
        }
    return ERR_OK;
}

/* Is it computed, so that more can be computed of it? */
static bool is_computed(const struct looking *x, int k)
{
    return x->g->nodes[x->n->in[k]].op != GRAPH_CONSTANT;
}

/* Tables by numbers. Rows along the dimension are those that there are, counted from the last of them below 0. */
static enum err gathered(const struct looking *x, struct range_place *out)
{
    for (int k = 0; k < place_in(x, 0)->n; k++) {
        struct spot at;

        if (!spot_of(shape_in(x, 0), x->size, &place_in(x, 0)->axis[k], &at) ||
            (at.d == 1 && (at.outer * at.inner != 1 || !is_computed(x, 0) || !is_computed(x, 1))))
            return mixes(x, "it picks rows along");
        if (at.d == 1) {
            mend(x, MEND_ROWS, 1, NULL, &place_in(x, 0)->axis[k]);
            continue;
        }
        out->axis[out->n++] = axis_of(&x->n->shape, &at);
    }
    for (int k = 0; k < place_in(x, 1)->n; k++) {
        const struct range_axis *a = &place_in(x, 1)->axis[k];
        const struct spot at = {1, a->outer, a->inner, a->more};
        const struct range_axis axis = axis_of(&x->n->shape, &at);

        if (!put_axis(out, &axis))
            return mixes(x, "it has more than two dimensions that are");
    }
    return ERR_OK;
}

/* t x i x b, from the first step on. */
static enum err recurrent(const struct looking *x, struct range_place *out)
{
    const struct range_place *p = place_in(x, 0);
    struct spot at;

    for (int k = 0; k < p->n; k++) {
        if (!spot_of(shape_in(x, 0), x->size, &p->axis[k], &at) || at.d == 1 || (at.d == 0 && at.outer * at.inner != 1))
            return mixes(x, "a step is computed of all that lies along");
        out->axis[out->n++] = axis_of(&x->n->shape, &at);
    }
    return ERR_OK;
}

static enum err state(const struct looking *x, struct range_place *out)
{
    struct spot at;

    for (int k = 0; k < place_in(x, 0)->n; k++) {
        const struct range_axis *axis = &place_in(x, 0)->axis[k];

        if (!spot_of(shape_in(x, 0), x->size, axis, &at) || (at.d != 2 && strcmp(x->n->words, "hn") != 0))
            return mixes(x, "it is the state behind the last step along");
        if (at.d == 0) {
            mend(x, MEND_STATE, 0, NULL, axis);
            continue;
        }
        at.d = 1;
        out->axis[out->n++] = axis_of(&x->n->shape, &at);
    }
    return ERR_OK;
}

/* The dimension of rows in queries, keys and values. */
static int rows_of(const struct graph_node *n)
{
    return strstr(n->words, "layout=blhd") ? 1 : 2;
}

/* Queries, each by itself, and keys, of which those behind lengths are not looked at. */
static enum err attended(const struct looking *x, struct range_place *out)
{
    for (int i = 0; i < x->n->n_in; i++)
        for (int k = 0; k < place_in(x, i)->n; k++) {
            struct spot at;

            if (!spot_of(shape_in(x, i), x->size, &place_in(x, i)->axis[k], &at) || at.outer * at.inner != 1 ||
                (i < 3 && at.d != 0 && at.d != rows_of(x->n)))
                return mixes(x, "heads or their numbers lie along");
            if (i == 0)
                out->axis[out->n++] = axis_of(&x->n->shape, &at);
            if (i == 1 && at.d == rows_of(x->n))
                mend(x, MEND_LENGTHS, 0, NULL, &place_in(x, i)->axis[k]);
        }
    return ERR_OK;
}

/* ---- copies ---- */

/* What a stride, or the first place, of a copy moves along: in x, places before the axis, on it, behind it. */
struct move {
    int64_t outer, along, inner;
};

static bool move_of(int64_t s, int64_t t, const struct looking *x, const struct range_axis *a, struct move *out)
{
    const int64_t block = a->inner * (x->size + a->more), other_block = a->inner * (x->other_size + a->more);

    if (s < 0) { /* backwards behind the axis */
        *out = (struct move){0, 0, s};
        return s == t && -s < a->inner;
    }
    *out = (struct move){s / block, s % block / a->inner, s % block % a->inner};
    return t / other_block == out->outer && t % other_block / a->inner == out->along &&
           t % other_block % a->inner == out->inner;
}

/* A dimension of the copy that grows with the size: it goes along the axis one by one, with `*behind` places of each,
 * or repeats; of what it gives `*more` places than the size. */
static bool goes_along(const struct strided_dim *s, const struct strided_dim *t, const struct looking *x,
                       const struct range_axis *a, int64_t *behind, int64_t *more)
{
    const int64_t q = s->stride > 0 && a ? a->inner / s->stride : 1;
    int64_t times;

    if (s->stride != t->stride || s->before || s->after || s->stride < 0 || (!a && s->stride) ||
        !grows(x, s->n, t->n, &times, more))
        return false;
    *behind = s->stride ? q : times;
    return (!s->stride || (q * s->stride == a->inner && (*more == a->more || times == q))) && *behind > 0 &&
           times % *behind == 0;
}

/* Where a copy goes in x: along the axis, and from the first to the last place behind it. */
struct reach {
    int64_t along, least, most;
};

static bool extend(struct reach *r, int64_t n, const struct move *m)
{
    r->along += m->along * (n - 1);
    *(m->inner < 0 ? &r->least : &r->most) += m->inner * (n - 1);
    return true;
}

/* The axis of what a copy of x gives, whose own is `a`; NULL: it has none. */
static enum err copy_along(const struct looking *x, const struct strided_copy *s, const struct strided_copy *t,
                           const struct range_axis *a, struct range_place *out)
{
    struct move m = {0, 0, 0};
    bool fits = s->mode == t->mode && (a ? move_of(s->at, t->at, x, a, &m) : s->at == t->at);
    struct reach r = {m.along, m.inner, m.inner};
    int64_t within = 1, behind = 1, more = 0;

    for (int d = 0; d < STRIDED_COPY_RANK && fits; d++) {
        const struct strided_dim *to = &s->dim[d], *other = &t->dim[d];

        fits = to->before == other->before && to->after == other->after;
        if (fits && to->n != other->n) {
            fits = goes_along(to, other, x, a, &behind, &more);
            if (fits)
                fits = put_axis(out, &(struct range_axis){strided_copy_elems(s) / within / behind / (x->size + more),
                                                          behind * within, more});
        } else if (fits && to->n > 1)
            fits =
                a ? move_of(to->stride, other->stride, x, a, &m) && extend(&r, to->n, &m) : to->stride == other->stride;
        within *= strided_copy_length(s, d);
    }
    if (!fits || (a && (r.least < 0 || r.most >= a->inner || (out->n && r.along + more > a->more) ||
                        (r.along && r.along >= x->least + a->more))))
        return mixes(x, "it is no copy, place by place, of what lies along");
    return ERR_OK;
}

/* From the last place on: one alone, or backwards to the first. */
static enum err copy_from_last(const struct looking *x, struct strided_copy s, struct strided_copy t,
                               const struct range_axis *axis, struct range_place *out)
{
    int d = 0;
    enum err e;

    s.at -= (x->size + axis->more - 1) * axis->inner;
    t.at -= (x->other_size + axis->more - 1) * axis->inner;
    while (d < STRIDED_COPY_RANK && s.dim[d].n == t.dim[d].n)
        d++;
    if (d < STRIDED_COPY_RANK)
        s.dim[d].stride = t.dim[d].stride = -s.dim[d].stride;
    if (s.at < 0 || t.at < 0 || (d < STRIDED_COPY_RANK && s.dim[d].stride != axis->inner))
        return mixes(x, "it is no copy, place by place, of what lies along");
    *out = (struct range_place){.n = 0};
    e = copy_along(x, &s, &t, axis, out);
    if (!e && d < STRIDED_COPY_RANK)
        mend(x, MEND_BACK, d, NULL, &out->axis[0]);
    else if (!e)
        mend(x, MEND_LAST, 0, NULL, axis);
    return e;
}

static enum err copied(const struct looking *x, struct range_place *out)
{
    struct workload w[2];
    struct buf text[2];
    enum err e = ERR_OK;

    for (int k = 0; k < 2; k++) {
        buf_init(&text[k], WORKLOAD_MAX_TEXT);
        if (!e)
            e = graph_node_workload(k ? x->other : x->g, x->i, DTYPE_F32, 0, &text[k], x->why);
        if (!e)
            e = workload_parse(buf_text(&text[k]), &w[k], x->why);
    }
    if (!e) {
        const struct strided_copy s = strided_copy_of(&w[0]), t = strided_copy_of(&w[1]);
        const struct range_place *p = place_in(x, 0);

        e = p->n > 1 ? mixes(x, "it moves what has twice the dimension")
                     : copy_along(x, &s, &t, p->n ? &p->axis[0] : NULL, out);
        if (e && p->n == 1 && !x->n->bytes)
            e = copy_from_last(x, s, t, &p->axis[0], out);
    }
    for (int k = 0; k < 2; k++)
        buf_fini(&text[k]);
    return e;
}

static rule *const rules[N_GRAPH_OPS] = {
    [GRAPH_INPUT] = given,      [GRAPH_LENGTHS] = given,      [GRAPH_CONSTANT] = given,  [GRAPH_RESHAPE] = kept,
    [GRAPH_QUANTIZE] = kept,    [GRAPH_ADD] = alike,          [GRAPH_ELTWISE] = spread,  [GRAPH_DENSE] = rows,
    [GRAPH_DENSE4] = rows,      [GRAPH_SOFTMAX] = shared_out, [GRAPH_NORM] = rows,       [GRAPH_CONV2D] = images,
    [GRAPH_DEPTHWISE] = images, [GRAPH_POOL2D] = images,      [GRAPH_RESIZE] = images,   [GRAPH_CONCAT] = joined,
    [GRAPH_REDUCE] = reduced,   [GRAPH_BATCH_GEMM] = product, [GRAPH_GATHER] = gathered, [GRAPH_RNN] = recurrent,
    [GRAPH_STATE] = state,      [GRAPH_ATTENTION] = attended, [GRAPH_COPY] = copied,
};

/* ---- both graphs ---- */

/* The same operator of the same tensors; a copy's strides are looked at by its rule. */
static bool same_node(const struct graph_node *a, const struct graph_node *b)
{
    return a->op == b->op && strcmp(a->name, b->name) == 0 && a->n_in == b->n_in &&
           memcmp(a->in, b->in, (size_t)a->n_in * sizeof a->in[0]) == 0 && a->relu == b->relu && a->relu6 == b->relu6 &&
           a->curve == b->curve && a->avg == b->avg && a->bytes == b->bytes && a->shape.rank == b->shape.rank &&
           memcmp(a->key, b->key, sizeof a->key) == 0 && (a->op == GRAPH_COPY || strcmp(a->words, b->words) == 0);
}

/* The axes are where sizes differ, and nowhere else. */
static bool explains(const struct looking *x, const struct range_place *p)
{
    const struct graph_shape *s = &x->n->shape, *t = &x->other->nodes[x->i].shape;
    bool has[GRAPH_MAX_RANK] = {false}, fits = true;
    struct spot at;

    for (int k = 0; k < p->n; k++) {
        if (!spot_of(s, x->size, &p->axis[k], &at) || has[at.d] ||
            t->dim[at.d] != s->dim[at.d] / (x->size + at.more) * (x->other_size + at.more))
            return false;
        has[at.d] = true;
    }
    for (int d = 0; d < s->rank; d++)
        fits = fits && (has[d] || s->dim[d] == t->dim[d]);
    return fits;
}

/* All buckets have the same nodes, but for sizes. */
static bool same_nodes(const struct graph *a, const struct graph *b)
{
    bool same = a->n_nodes == b->n_nodes && a->n_outputs == b->n_outputs;

    for (size_t i = 0; i < a->n_nodes && same; i++)
        same = same_node(&a->nodes[i], &b->nodes[i]);
    return same;
}

/* What is told how many places there are has one at least. */
static enum err has_places(struct looking *x)
{
    for (size_t i = 0; i < *x->n_mends; i++) {
        x->n = &x->g->nodes[x->mends[i].i_node];
        if (x->least + x->mends[i].axis.more < 1)
            return mixes(x, "at the least size there is nothing along");
    }
    return ERR_OK;
}

static enum err look(struct looking *x, struct range_place *places)
{
    bool any = false;

    if (x->g->n_nodes != x->other->n_nodes || x->g->n_outputs != x->other->n_outputs ||
        memcmp(x->g->outputs, x->other->outputs, x->g->n_outputs * sizeof x->g->outputs[0]) != 0)
        return why_set(x->why, ERR_UNSUPPORTED, "with %s=%lld the model is another graph than with %lld", x->dim,
                       (long long)x->other_size, (long long)x->size);
    for (size_t i = 0; i < x->g->n_nodes; i++) {
        enum err e;

        x->i = i;
        x->n = &x->g->nodes[i];
        if (!same_node(x->n, &x->other->nodes[i]))
            return mixes(x, "what it computes depends on the size of");
        assert(rules[x->n->op]);
        e = rules[x->n->op](x, &places[i]);
        if (!e && !explains(x, &places[i]))
            e = mixes(x, "its sizes are no multiples of");
        if (e)
            return e;
        any = any || (x->n->op == GRAPH_INPUT && places[i].n);
    }
    return any ? has_places(x) : why_set(x->why, ERR_INPUT, "no input has an open dimension %s", x->dim);
}

/* ---- buckets ---- */

static enum err copy_graph(const struct graph *g, struct range_bucket *b)
{
    b->graph = *g;
    b->graph.cap_nodes = g->n_nodes;
    b->graph.nodes = calloc(g->n_nodes, sizeof *g->nodes);
    b->places = calloc(g->n_nodes, sizeof *b->places);
    if (!b->graph.nodes || !b->places)
        return ERR_NOMEM;
    memcpy(b->graph.nodes, g->nodes, g->n_nodes * sizeof *g->nodes);
    return ERR_OK;
}

static void bucket_fini(struct range_bucket *b)
{
    graph_fini(&b->graph);
    free(b->places);
    b->places = NULL;
}

enum err graph_range_add(struct graph_range *r, const struct graph *g, int64_t size, const struct graph *other,
                         int64_t other_size, struct why *why)
{
    struct range_bucket b = {.size = size};
    size_t n_mends = 0;
    struct looking x = {
        .g = g, .other = other, .size = size, .other_size = other_size, .least = r->least, .dim = r->name, .why = why};
    enum err e;

    assert(size > 1 && other_size > 1 && size != other_size);
    if (r->n_buckets == RANGE_MAX_BUCKETS)
        return why_set(why, ERR_LIMIT, "more than %d sizes of %s", RANGE_MAX_BUCKETS, r->name);
    e = copy_graph(g, &b);
    x.mends = calloc(MENDS * g->n_nodes, sizeof *x.mends);
    if (e || !x.mends)
        e = why_set(why, ERR_NOMEM, "out of memory");
    x.places = b.places;
    x.n_mends = &n_mends;
    if (!e)
        e = look(&x, b.places);
    if (!e)
        e = graph_mend_all(&b, x.mends, n_mends, why);
    free(x.mends);
    if (!e && r->n_buckets && !same_nodes(&r->buckets[0].graph, &b.graph))
        e = why_set(why, ERR_UNSUPPORTED, "with %s=%lld the model is another graph than with %lld", r->name,
                    (long long)size, (long long)r->buckets[0].size);
    if (e)
        bucket_fini(&b);
    else
        r->buckets[r->n_buckets++] = b;
    return e;
}

void graph_range_fini(struct graph_range *r)
{
    for (size_t i = 0; r && i < r->n_buckets; i++)
        bucket_fini(&r->buckets[i]);
    if (r)
        r->n_buckets = 0;
}

const struct range_place *graph_range_argument(const struct range_bucket *b, size_t i, enum range_made *made)
{
    size_t n = 0;

    *made = RANGE_GIVEN;
    for (size_t k = 0; k < b->graph.n_nodes; k++)
        if (graph_is_given(&b->graph.nodes[k]) && n++ == i) {
            for (int kind = 1; kind < N_RANGE_MADE; kind++)
                *made = k && b->made[kind] == (int)k ? (enum range_made)kind : *made;
            return &b->places[k];
        }
    assert(i - n < b->graph.n_outputs);
    return &b->places[b->graph.outputs[i - n]];
}
