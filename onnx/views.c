/* SPDX-License-Identifier: MIT */
#include "onnx/views.h"

#include "core/buf.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define MAX_COPIED 6 /* dimensions that strided_copy has */

/* A dimension of a copy: its places, how far they are apart, what is put around them. */
struct copied {
    int64_t n, stride, before, after;
};

static void set_in_order(struct onnx_view *s)
{
    int64_t step = 1;

    assert(s->shape.rank >= 0 && s->shape.rank <= ONNX_MAX_RANK);
    for (int d = s->shape.rank - 1; d >= 0; d--) {
        s->stride[d] = step;
        step *= s->shape.dim[d];
    }
}

void onnx_view_of(const struct onnx_value *v, struct onnx_view *out)
{
    if (v->view) {
        *out = *v->view;
        return;
    }
    *out = (struct onnx_view){.shape = v->shape};
    set_in_order(out);
}

bool onnx_view_is_bare(const struct onnx_view *s)
{
    for (int d = 0; d < s->shape.rank; d++)
        if (s->before[d] || s->after[d])
            return false;
    return true;
}

bool onnx_view_is_in_order(const struct onnx_view *s, int64_t n)
{
    int64_t step = 1;

    for (int d = s->shape.rank - 1; d >= 0; d--) {
        if (s->shape.dim[d] != 1 && s->stride[d] != step)
            return false;
        step *= s->shape.dim[d];
    }
    return onnx_view_is_bare(s) && s->at == 0 && step == n;
}

/* Dimensions [from, to) of `s` as one: its stride is that of the last that is longer than 1; false where they are not
 * regular. */
static bool joined(const struct onnx_view *s, int from, int to, int64_t *stride)
{
    int64_t next = -1; /* the stride that the dimension before must have */

    *stride = 1;
    for (int d = to - 1; d >= from; d--) {
        if (s->shape.dim[d] == 1)
            continue;
        if (next == -1)
            *stride = s->stride[d];
        else if (s->stride[d] != next)
            return false;
        next = s->stride[d] * s->shape.dim[d];
    }
    return true;
}

/* Pieces of both shapes that have as many elements are matched from the front: those of `s` are joined, then cut. */
bool onnx_view_reshape(struct onnx_view *s, const struct graph_shape *shape)
{
    struct onnx_view to = {.shape = *shape, .at = s->at};
    int i = 0, k = 0;

    while (i < s->shape.rank || k < shape->rank) {
        const int i0 = i, k0 = k;
        int64_t n = i < s->shape.rank ? s->shape.dim[i++] : 1, n_to = k < shape->rank ? shape->dim[k++] : 1, step;

        while (n != n_to)
            if (n < n_to && i < s->shape.rank)
                n *= s->shape.dim[i++];
            else if (n > n_to && k < shape->rank)
                n_to *= shape->dim[k++];
            else
                return false;
        if (!joined(s, i0, i, &step))
            return false;
        for (int d = k - 1; d >= k0; d--) {
            to.stride[d] = step;
            step *= shape->dim[d];
        }
    }
    assert(onnx_shape_elems(&to.shape) == onnx_shape_elems(&s->shape));
    *s = to;
    return true;
}

void onnx_view_permute(struct onnx_view *s, const int *perm)
{
    const struct onnx_view was = *s;

    for (int d = 0; d < s->shape.rank; d++) {
        assert(perm[d] >= 0 && perm[d] < s->shape.rank);
        s->shape.dim[d] = was.shape.dim[perm[d]];
        s->stride[d] = was.stride[perm[d]];
        s->before[d] = was.before[perm[d]];
        s->after[d] = was.after[perm[d]];
    }
}

/* Element i of the view: its place in what is seen; -1: fill. */
static int64_t place_of(const struct onnx_view *s, int64_t i)
{
    int64_t at = s->at;

    for (int d = s->shape.rank - 1; d >= 0; d--) {
        const int64_t n = s->shape.dim[d] - s->before[d] - s->after[d];
        int64_t k = i % s->shape.dim[d] - s->before[d];

        assert(n > 0 && s->before[d] >= 0 && s->after[d] >= 0);
        if ((k < 0 || k >= n) && s->mode == ONNX_FILL)
            return -1;
        if (s->mode == ONNX_EDGE)
            k = k < 0 ? 0 : k >= n ? n - 1 : k;
        else if (s->mode == ONNX_REFLECT)
            k = k < 0 ? -k : k >= n ? 2 * (n - 1) - k : k;
        else
            k = k < 0 ? k + n : k >= n ? k - n : k;
        at += k * s->stride[d];
        i /= s->shape.dim[d];
    }
    return at;
}

static enum onnx_role give_constant(struct onnx_import *m, struct onnx_value *out, const struct onnx_value *x,
                                    const struct onnx_view *s)
{
    double *v = onnx_make_constant(m, out, &s->shape, x->is_float);

    for (int64_t i = 0, n = v ? onnx_shape_elems(&s->shape) : 0; i < n; i++) {
        const int64_t at = place_of(s, i);

        v[i] = at < 0 ? (double)s->fill : onnx_at(x, at);
    }
    return ONNX_FOLDED;
}

enum onnx_role onnx_give(struct onnx_import *m, const Onnx__NodeProto *node, size_t i, const struct onnx_value *x,
                         const struct onnx_view *s)
{
    struct onnx_value *out = onnx_out(m, node, i);
    struct onnx_view *kept = NULL;

    if (!out)
        return ONNX_FOLDED; /* nobody wants it */
    if (x->kind == ONNX_CONSTANT && !onnx_view_is_in_order(s, onnx_shape_elems(&x->shape)))
        return give_constant(m, out, x, s);
    if (x->kind == ONNX_CONSTANT) {
        onnx_make_view(out, x, &s->shape);
        return ONNX_FOLDED;
    }
    if (graph_elems(&s->shape) < 1)
        return onnx_refuse(m, "of no elements, or over %lld", (long long)GRAPH_MAX_ELEMS);
    if (!onnx_view_is_in_order(s, graph_elems(&m->layers[x->i_layer].node.shape))) {
        kept = onnx_memory_take(&m->file.memory, sizeof *kept);
        if (!kept) {
            m->failed = ERR_LIMIT;
            return ONNX_FOLDED;
        }
        *kept = *s;
    }
    onnx_make_view(out, x, &s->shape);
    out->view = kept;
    return kept ? ONNX_PLAIN : ONNX_FOLDED;
}

/* The dimensions of a copy, the innermost first, as few as tell the same: -1 where they are over MAX_COPIED. */
static int copied_dims(const struct onnx_view *s, struct copied *dim)
{
    int n = 0;

    for (int d = s->shape.rank - 1; d >= 0; d--) {
        const struct copied more = {s->shape.dim[d] - s->before[d] - s->after[d], s->stride[d], s->before[d],
                                    s->after[d]};
        struct copied *last = n ? &dim[n - 1] : NULL;
        const bool bare = !more.before && !more.after;

        assert(more.n > 0);
        if (bare && more.n == 1)
            continue;
        if (last && bare && !last->before && !last->after && more.stride == last->stride * last->n) {
            last->n *= more.n;
            continue;
        }
        if (n == MAX_COPIED)
            return -1;
        dim[n++] = more;
    }
    if (n == 0)
        dim[n++] = (struct copied){1, 1, 0, 0};
    return n;
}

/* The words of the copy in a graph. */
static bool put_words(struct onnx_import *m, const struct onnx_view *s, char *out, size_t room)
{
    static const char *const modes[] = {"constant", "edge", "reflect", "wrap"};
    struct copied dim[MAX_COPIED];
    const int n = copied_dims(s, dim);
    uint32_t bits;
    struct buf words;
    bool fits = n > 0;

    if (!fits)
        onnx_refuse(m, "moves elements along over %d dimensions", MAX_COPIED);
    memcpy(&bits, &s->fill, sizeof bits);
    buf_init(&words, room);
    buf_printf(&words, "at=%lld", (long long)s->at);
    for (int k = 0; k < n; k++)
        buf_printf(&words, " d%d=%lld,%lld", k, (long long)dim[k].n, (long long)dim[k].stride);
    for (int k = 0; k < n; k++)
        if (dim[k].before || dim[k].after)
            buf_printf(&words, " p%d=%lld,%lld", k, (long long)dim[k].before, (long long)dim[k].after);
    if (!onnx_view_is_bare(s) && s->mode != ONNX_FILL)
        buf_printf(&words, " mode=%s", modes[s->mode]);
    else if (!onnx_view_is_bare(s) && bits)
        buf_printf(&words, " fill=%lld", (long long)bits);
    if (fits && (words.failed || words.len >= room)) {
        fits = false;
        onnx_refuse(m, "moves elements along too many dimensions");
    }
    snprintf(out, room, "%s", fits ? buf_text(&words) : "");
    buf_fini(&words);
    return fits;
}

int onnx_view_layer(struct onnx_import *m, const struct onnx_value *v, const struct onnx_view *s,
                    const struct graph_shape *shape)
{
    const Onnx__NodeProto named = {.name = (char *)(uintptr_t)v->name};
    char words[GRAPH_WORDS_BYTES];
    int i;

    if (onnx_view_is_in_order(s, graph_elems(&m->layers[v->i_layer].node.shape)))
        return onnx_layer_as(m, v, shape);
    if (!put_words(m, s, words, sizeof words))
        return -1;
    i = onnx_new_layer(m, &named, GRAPH_COPY, v->i_layer);
    if (i >= 0) {
        m->layers[i].node.shape = shape->rank ? *shape : (struct graph_shape){1, {1}};
        memcpy(m->layers[i].node.words, words, sizeof words);
    }
    return i;
}

bool onnx_dense(struct onnx_import *m, struct onnx_value *v)
{
    const int i = v->view ? onnx_view_layer(m, v, v->view, &v->shape) : v->i_layer;

    if (i < 0)
        return false;
    if (v->view) {
        const struct onnx_view *seen = v->view;
        const int i_seen = v->i_layer;

        onnx_make_activation(v, i, &seen->shape);
        v->seen = seen;
        v->i_seen = i_seen;
    }
    return true;
}
