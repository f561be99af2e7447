/* SPDX-License-Identifier: MIT */
/* layers.c - operators that become layers of the graph, or part of the layer that they read. */
#include "onnx/model.h"
#include "onnx/views.h"

#include <math.h>
#include <string.h>

static struct onnx_layer *layer_of(const struct onnx_import *m, const struct onnx_value *v)
{
    return &m->layers[v->i_layer];
}

/* The layer that computes a value's elements. */
static struct onnx_layer *maker_of(const struct onnx_import *m, const struct onnx_value *v)
{
    struct onnx_layer *l = layer_of(m, v);

    return l->i_moved ? &m->layers[l->i_moved - 1] : l;
}

bool onnx_is_activation(const struct onnx_value *v)
{
    return v && v->kind == ONNX_ACTIVATION;
}

bool onnx_is_vector(const struct onnx_value *v, int64_t n)
{
    return !v || (v->kind == ONNX_CONSTANT && v->shape.rank == 1 && v->shape.dim[0] == n);
}

/* May an activation follow in its kernel? */
static bool has_weights(const struct onnx_layer *l)
{
    return l->bias != NULL && l->node.op != GRAPH_NORM;
}

bool onnx_is_open(const struct onnx_import *m, const struct onnx_value *v)
{
    const struct graph_node *n = &maker_of(m, v)->node;

    return v->sole && !n->relu && !n->relu6 && n->op != GRAPH_INPUT;
}

/* `axis` of a shape as the channels of images. */
static struct graph_shape channels_at(const struct graph_shape *s, int axis)
{
    return (struct graph_shape){4, {graph_stretch(s, 0, axis), s->dim[axis], graph_stretch(s, axis + 1, s->rank), 1}};
}

/* Is an axis of a value that of the channels of the layer which gives it: of images, or of rows? */
static bool is_channels(const struct onnx_import *m, const struct onnx_value *v, int axis)
{
    const struct graph_shape *s = &layer_of(m, v)->node.shape;

    return s->rank > 1 && s->dim[0] == graph_stretch(&v->shape, 0, axis) && s->dim[1] == v->shape.dim[axis];
}

/* The layer that gives a value as images with the channels at an axis; -1: m->failed. */
static int as_images(struct onnx_import *m, const struct onnx_value *v, int axis)
{
    const struct graph_shape images = channels_at(&v->shape, axis);

    return layer_of(m, v)->node.shape.rank == 4 && is_channels(m, v, axis) ? v->i_layer : onnx_layer_as(m, v, &images);
}

/* ---- matrix products ---- */

/* The layer that gives rows of k elements: as they are, where it has as many; -1: m->failed. */
static int as_rows(struct onnx_import *m, const struct onnx_value *v, int64_t n_rows, int64_t k)
{
    const struct graph_shape *s = &layer_of(m, v)->node.shape, rows = {2, {n_rows, k}};

    return s->rank > 1 && s->dim[0] == n_rows && graph_stretch(s, 1, s->rank) == k ? v->i_layer
                                                                                   : onnx_layer_as(m, v, &rows);
}

/* x[...][k] times a constant of two dimensions, w(n, k) = w[n][k] or w[k][n]; its weights times `alpha`. */
static int new_dense(struct onnx_import *m, const Onnx__NodeProto *node, const struct onnx_value *x,
                     const struct onnx_value *w, bool n_first, double alpha)
{
    const int rank = onnx_is_activation(x) ? x->shape.rank : 0;
    char words[GRAPH_WORDS_BYTES] = "";
    struct graph_shape shape;
    int64_t n, k, n_rows;
    struct onnx_layer *l;
    bool keeps;
    int i;

    if (rank < 1 || (rank != 2 && strcmp(node->op_type, "Gemm") == 0)) {
        onnx_refuse(m, "expected rows of an activation as first input");
        return -1;
    }
    k = x->shape.dim[rank - 1];
    if (!w || w->kind != ONNX_CONSTANT || w->shape.rank != 2 || onnx_shape_elems(&w->shape) < 1 ||
        w->shape.dim[n_first] != k) {
        onnx_refuse(m, "expected constant weights of 2 dimensions that fit the rows");
        return -1;
    }
    n = w->shape.dim[!n_first];
    n_rows = graph_stretch(&x->shape, 0, rank - 1);
    keeps = !n_first && onnx_keeps_blocks(w, n_rows, words);
    i = onnx_new_layer(m, node, keeps ? GRAPH_DENSE4 : GRAPH_DENSE, as_rows(m, x, n_rows, k));
    l = i < 0 ? NULL : &m->layers[i];
    if (!l || !onnx_give_weights(m, l, w, n * k, n))
        return -1;
    memcpy(l->node.words, words, sizeof words);
    l->node.key[GRAPH_K] = n;
    l->w_transposed = !n_first;
    for (int64_t at = 0; at < n; at++)
        l->factor[at] = alpha;
    shape = x->shape;
    shape.dim[rank - 1] = n;
    if (onnx_finish(m, node, i, ONNX_TUNED) == ONNX_UNSUPPORTED)
        return -1;
    onnx_out(m, node, 0)->shape = shape;
    return i;
}

/* A view with its last two dimensions exchanged. */
static void turn(struct onnx_view *s)
{
    int perm[ONNX_MAX_RANK];

    for (int d = 0; d < s->shape.rank; d++)
        perm[d] = d < s->shape.rank - 2 ? d : 2 * s->shape.rank - 3 - d;
    onnx_view_permute(s, perm);
}

/* An activation as a view of two dimensions or more; of one it is a row, or a column. */
static void matrix_of(const struct onnx_value *v, bool row, struct onnx_view *s)
{
    onnx_view_of(v, s);
    if (s->shape.rank > 1)
        return;
    s->shape = (struct graph_shape){2, {row ? 1 : v->shape.dim[0], row ? v->shape.dim[0] : 1}};
    s->stride[row] = s->stride[0];
    s->stride[!row] = 1;
}

/* An activation whose elements are in the order of a view of it; its name and readers are those of v. */
static bool ordered(struct onnx_import *m, const struct onnx_value *v, const struct onnx_view *s,
                    struct onnx_value *out)
{
    const int i = onnx_view_layer(m, v, s, &s->shape);

    *out = *v;
    if (i >= 0)
        onnx_make_activation(out, i, &s->shape);
    return i >= 0;
}

/* Repeats the dimensions before the last two to those of `batch`; all of them in one with `joins`. */
static int product_factor(struct onnx_import *m, const struct onnx_value *v, struct onnx_view *s,
                          const struct graph_shape *batch, bool joins)
{
    const int rank = s->shape.rank, more = batch->rank - (rank - 2);
    struct onnx_view to = {.shape = *batch, .at = s->at};
    const int64_t n = graph_stretch(batch, 0, batch->rank), rows = s->shape.dim[rank - 2], k = s->shape.dim[rank - 1];

    for (int d = 0; d < rank - 2; d++)
        to.stride[d + more] = s->shape.dim[d] == batch->dim[d + more] ? s->stride[d] : 0;
    for (int d = rank - 2; d < rank; d++) {
        to.stride[to.shape.rank] = s->stride[d];
        to.shape.dim[to.shape.rank++] = s->shape.dim[d];
    }
    return onnx_view_layer(m, v, &to, &(struct graph_shape){3, {joins ? 1 : n, joins ? n * rows : rows, k}});
}

/* Two activations: batch_gemm, whose second factor is transposed. */
static enum onnx_role multiply(struct onnx_import *m, const Onnx__NodeProto *node, const struct onnx_value *a,
                               struct onnx_view *x, const struct onnx_value *b, struct onnx_view *w)
{
    struct graph_shape shape = x->shape, batch_w = w->shape, batch;
    bool joins;
    int i, i_w;

    if (x->shape.dim[x->shape.rank - 1] != w->shape.dim[w->shape.rank - 2])
        return onnx_refuse(m, "matrices that do not fit");
    shape.rank -= 2;
    batch_w.rank -= 2;
    if (!graph_broadcast(&shape, &batch_w, &batch) || batch.rank + 2 > ONNX_MAX_RANK || graph_elems(&batch) < 1)
        return onnx_refuse(m, "batches that do not fit");
    joins = graph_stretch(&batch_w, 0, batch_w.rank) == 1; /* then they are rows of one product */
    turn(w);
    i = product_factor(m, a, x, &batch, joins);
    i_w = i < 0 ? -1 : product_factor(m, b, w, joins ? &batch_w : &batch, joins);
    i = i_w < 0 ? -1 : onnx_new_layer(m, node, GRAPH_BATCH_GEMM, i);
    if (i < 0)
        return m->failed ? ONNX_PLAIN : ONNX_UNSUPPORTED;
    m->layers[i].node.in[m->layers[i].node.n_in++] = i_w;
    if (onnx_finish(m, node, i, ONNX_PLAIN) == ONNX_UNSUPPORTED)
        return ONNX_UNSUPPORTED;
    shape = batch;
    if (a->shape.rank > 1)
        shape.dim[shape.rank++] = x->shape.dim[x->shape.rank - 2];
    if (b->shape.rank > 1)
        shape.dim[shape.rank++] = w->shape.dim[w->shape.rank - 2];
    onnx_out(m, node, 0)->shape = shape;
    return ONNX_TUNED;
}

/* A constant of two dimensions times an activation, c b: the transpose of b' c'. */
static enum onnx_role multiply_constant(struct onnx_import *m, const Onnx__NodeProto *node, const struct onnx_value *c,
                                        const struct onnx_value *b)
{
    struct onnx_value turned, y;
    struct onnx_view s;

    if (c->shape.rank != 2 || b->shape.rank < 2)
        return onnx_refuse(m, "of a constant by an activation of other dimensions");
    onnx_view_of(b, &s);
    turn(&s);
    if (!ordered(m, b, &s, &turned) || new_dense(m, node, &turned, c, true, 1) < 0)
        return m->failed ? ONNX_TUNED : ONNX_UNSUPPORTED;
    y = *onnx_out(m, node, 0);
    onnx_view_of(&y, &s);
    turn(&s);
    return onnx_give(m, node, 0, &y, &s) == ONNX_UNSUPPORTED ? ONNX_UNSUPPORTED : ONNX_TUNED;
}

enum onnx_role onnx_matmul(struct onnx_import *m, const Onnx__NodeProto *node)
{
    struct onnx_value *a = onnx_in(m, node, 0), *b = onnx_in(m, node, 1), copied;
    struct onnx_view x, w;
    enum onnx_role role;

    if (!a || !b || a->shape.rank < 1 || b->shape.rank < 1)
        return onnx_refuse(m, "expected two matrices");
    if (a->kind == ONNX_CONSTANT && onnx_is_activation(b))
        return multiply_constant(m, node, a, b);
    if (b->kind == ONNX_CONSTANT && b->shape.rank > 2 && onnx_is_activation(a)) { /* a matrix for each of a batch */
        if (!onnx_as_activation(m, b, &copied))
            return m->failed ? ONNX_TUNED : ONNX_UNSUPPORTED;
        b = &copied;
    }
    if (b->kind == ONNX_CONSTANT || !onnx_is_activation(a))
        return onnx_is_activation(a) && !onnx_dense(m, a)             ? ONNX_UNSUPPORTED
               : new_dense(m, node, a, b, false, 1) < 0 && !m->failed ? ONNX_UNSUPPORTED
                                                                      : ONNX_TUNED;
    if (onnx_attention_ends(m, node, &role))
        return role;
    matrix_of(a, true, &x);
    matrix_of(b, false, &w);
    return multiply(m, node, a, &x, b, &w);
}

/* A constant bias, a number for each column, or one. */
static bool is_bias(const struct onnx_value *c, int64_t n)
{
    const int64_t n_c = c->kind == ONNX_CONSTANT ? onnx_shape_elems(&c->shape) : 0;

    return (n_c == n || n_c == 1) && c->shape.rank <= 2 && (c->shape.rank < 2 || c->shape.dim[0] == 1);
}

enum onnx_role onnx_gemm(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *a = onnx_in(m, node, 0), *c = onnx_in(m, node, 2), *w = onnx_in(m, node, 1);
    const bool n_first = onnx_attribute_int(node, "transB", 0) != 0;
    const int64_t n = w && w->shape.rank == 2 ? w->shape.dim[!n_first] : 0;
    const double alpha = onnx_attribute_real(node, "alpha", 1), beta = onnx_attribute_real(node, "beta", 1);
    struct onnx_value x;
    struct onnx_view s, s_w;
    int i;

    if (!onnx_is_activation(a) || !w || a->shape.rank != 2 || w->shape.rank != 2)
        return onnx_refuse(m, "expected rows of an activation as first input, of 2 dimensions");
    onnx_view_of(a, &s);
    if (onnx_attribute_int(node, "transA", 0))
        turn(&s);
    if (onnx_is_activation(w)) {
        onnx_view_of(w, &s_w);
        if (n_first)
            turn(&s_w);
        return onnx_add_third(m, node, multiply(m, node, a, &s, w, &s_w), alpha);
    }
    if (!ordered(m, a, &s, &x))
        return m->failed ? ONNX_TUNED : ONNX_UNSUPPORTED;
    i = new_dense(m, node, &x, w, n_first, alpha);
    if (i < 0)
        return m->failed ? ONNX_TUNED : ONNX_UNSUPPORTED;
    if (c && !is_bias(c, n))
        return onnx_add_third(m, node, ONNX_TUNED, 1) == ONNX_UNSUPPORTED ? ONNX_UNSUPPORTED : ONNX_TUNED;
    for (int64_t k = 0; c && k < n; k++)
        m->layers[i].bias[k] = beta * onnx_at(c, onnx_shape_elems(&c->shape) == 1 ? 0 : k);
    return ONNX_TUNED;
}

/* ---- a number for each channel ---- */

/* Can a number for each channel go into the weights of the layer that gives x? */
static bool folds_scale(const struct onnx_import *m, const struct onnx_value *x, int axis)
{
    const struct onnx_layer *l = maker_of(m, x);

    return onnx_is_open(m, x) && l->bias && l->node.n_in == 1 && is_channels(m, x, axis);
}

/* Has a layer a place for what is added? */
static bool takes_term(const struct onnx_layer *l, const double *term, int64_t n)
{
    bool is_zero = true;

    for (int64_t k = 0; k < n; k++)
        is_zero = is_zero && !(term[k] < 0 || term[k] > 0);
    return is_zero || !onnx_is_rms(l);
}

/* y = x * factor + term, a number for each channel, at `axis`, each: into the weights of the layer that gives x, or a
 * layer of its own. */
static enum onnx_role scale_channels(struct onnx_import *m, const Onnx__NodeProto *node, const struct onnx_value *x,
                                     int axis, const double *factor, const double *term)
{
    const bool folds = folds_scale(m, x, axis) && takes_term(maker_of(m, x), term, x->shape.dim[axis]);
    const int i = folds ? x->i_layer : onnx_new_scale(m, node, as_images(m, x, axis));
    struct onnx_layer *l = i < 0 ? NULL : folds ? maker_of(m, x) : &m->layers[i];
    const int64_t each = l ? l->n_bias / x->shape.dim[axis] : 1; /* phases of a transposed convolution */

    for (int64_t k = 0; l && k < l->n_bias; k++) {
        l->factor[k] *= factor[k / each];
        l->bias[k] = l->bias[k] * factor[k / each] + term[k / each];
    }
    onnx_make_activation(onnx_out(m, node, 0), i, &x->shape);
    return folds ? ONNX_FOLDED : ONNX_TUNED;
}

/* A value with the axes [from, to) as one, the second of three where they are several. */
static struct onnx_value joined_axes(const struct onnx_value *x, int from, int to)
{
    struct onnx_value out = *x;

    if (to - from > 1)
        out.shape = (struct graph_shape){3,
                                         {graph_stretch(&x->shape, 0, from), graph_stretch(&x->shape, from, to),
                                          graph_stretch(&x->shape, to, x->shape.rank)}};
    return out;
}

/* A constant of the sizes of x's axes from `axis` on, or left out. */
static bool is_along(const struct onnx_value *v, const struct onnx_value *x, int axis)
{
    bool fits = !v || (v->kind == ONNX_CONSTANT && v->shape.rank > 0 && axis + v->shape.rank <= x->shape.rank);

    for (int d = 0; v && fits && d < v->shape.rank; d++)
        fits = v->shape.dim[d] == x->shape.dim[axis + d];
    return fits;
}

enum onnx_role onnx_scale_along(struct onnx_import *m, const Onnx__NodeProto *node, const struct onnx_value *x,
                                int axis, const struct onnx_value *factor, const struct onnx_value *term)
{
    const int rank = factor ? factor->shape.rank : term ? term->shape.rank : 1;
    const struct graph_shape shape = x->shape;
    struct onnx_value joined;
    enum onnx_role role;
    double *numbers;
    int64_t c;

    if (!is_along(factor, x, axis) || !is_along(term, x, axis) || (term && term->shape.rank != rank))
        return onnx_refuse(m, "expected constants of the sizes of axes");
    c = graph_stretch(&x->shape, axis, axis + rank);
    joined = joined_axes(x, axis, axis + rank);
    numbers = onnx_memory_take(&m->file.memory, 2 * (size_t)c * sizeof *numbers);
    if (!numbers) {
        m->failed = ERR_LIMIT;
        return ONNX_FOLDED;
    }
    for (int64_t k = 0; k < c; k++) {
        numbers[k] = factor ? onnx_at(factor, k) : 1;
        numbers[c + k] = term ? onnx_at(term, k) : 0;
    }
    role = scale_channels(m, node, &joined, rank > 1 ? 1 : axis, numbers, numbers + c);
    onnx_out(m, node, 0)->shape = shape;
    return role;
}

enum onnx_role onnx_batch_norm(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *x = onnx_in(m, node, 0);
    const double epsilon = onnx_attribute_real(node, "epsilon", 1e-5);
    const int64_t c = onnx_is_activation(x) && x->shape.rank > 1 ? x->shape.dim[1] : 0;
    double *factor, *term;

    if (!c)
        return onnx_refuse(m, "expected images or rows");
    for (size_t i = 1; i < 5; i++)
        if (!onnx_in(m, node, i) || !onnx_is_vector(onnx_in(m, node, i), c))
            return onnx_refuse(m, "expected constants, a number for each channel");
    if (onnx_attribute_int(node, "training_mode", 0) || !onnx_attribute_int(node, "spatial", 1) ||
        (m->opset < 7 && !onnx_attribute_int(node, "is_test", 0)))
        return onnx_refuse(m, "in training mode, or not of whole channels");
    for (size_t i = 1; i < node->n_output; i++)
        if (onnx_out(m, node, i) && onnx_out(m, node, i)->n_readers)
            return onnx_refuse(m, "its mean or variance is read");
    factor = onnx_memory_take(&m->file.memory, 2 * (size_t)c * sizeof *factor);
    if (!factor) {
        m->failed = ERR_LIMIT;
        return ONNX_FOLDED;
    }
    term = factor + c;
    for (int64_t k = 0; k < c; k++) {
        factor[k] = onnx_at(onnx_in(m, node, 1), k) / sqrt(onnx_at(onnx_in(m, node, 4), k) + epsilon);
        term[k] = onnx_at(onnx_in(m, node, 2), k) - onnx_at(onnx_in(m, node, 3), k) * factor[k];
    }
    return scale_channels(m, node, x, 1, factor, term);
}

/* The axes [*from, *to) of x along which a constant differs, any where it is one number; before opset 7 it begins at
 * `axis`. False: it does not fit, or x would be repeated. */
static bool axes_of_constant(const struct onnx_import *m, const Onnx__NodeProto *node, const struct onnx_value *x,
                             const struct onnx_value *constant, int *from, int *to)
{
    const int64_t axis = m->opset < 7 ? onnx_attribute_int(node, "axis", -1) : -1;
    const int first = axis >= 0 && axis <= x->shape.rank ? (int)axis : x->shape.rank - constant->shape.rank;

    *from = -1;
    for (int i = 0; i < constant->shape.rank; i++)
        if (constant->shape.dim[i] != 1) {
            if (first + i < 0 || first + i >= x->shape.rank || constant->shape.dim[i] != x->shape.dim[first + i])
                return false;
            *from = *from < 0 ? first + i : *from;
            *to = first + i + 1;
        }
    for (int i = 0; *from < 0 && i < x->shape.rank; i++)
        if (is_channels(m, x, i))
            *from = i;
    if (*from < 0)
        *from = x->shape.rank > 1;
    if (onnx_shape_elems(&constant->shape) == 1)
        *to = *from + 1;
    return first >= 0 && x->shape.rank > 0;
}

/* Element i of the axes [from, to) of x, of a constant that is aligned with x at its last axis. */
static double constant_at(const struct onnx_value *x, const struct onnx_value *constant, int first, int from, int to,
                          int64_t i)
{
    int64_t at = 0, step = 1;

    for (int d = first + constant->shape.rank - 1; d >= first; d--) {
        const int64_t size = constant->shape.dim[d - first];

        if (d >= from && d < to) {
            at += size == 1 ? 0 : i % x->shape.dim[d] * step;
            i /= x->shape.dim[d];
        }
        step *= size;
    }
    return onnx_at(constant, at);
}

/* x and a constant along axes that it has, each of whose places is a channel. */
static enum onnx_role combine_along(struct onnx_import *m, const Onnx__NodeProto *node, const struct onnx_value *x,
                                    const struct onnx_value *constant, char op, bool constant_first, int from, int to)
{
    const int64_t axis = m->opset < 7 ? onnx_attribute_int(node, "axis", -1) : -1;
    const int first = axis >= 0 && axis <= x->shape.rank ? (int)axis : x->shape.rank - constant->shape.rank;
    const struct onnx_value joined = joined_axes(x, from, to);
    const int64_t n = onnx_shape_elems(&constant->shape), c = graph_stretch(&x->shape, from, to);
    double *factor = onnx_memory_take(&m->file.memory, 2 * (size_t)c * sizeof *factor);
    enum onnx_role role;

    if (!factor) {
        m->failed = ERR_LIMIT;
        return ONNX_FOLDED;
    }
    for (int64_t k = 0; k < c; k++) {
        const double v = n == 1 ? onnx_at(constant, 0) : constant_at(x, constant, first, from, to, k);

        factor[k] = op == 'M' ? v : op == 'D' ? 1 / v : op == 'S' && constant_first ? -1 : 1;
        factor[c + k] = op == 'A' || (op == 'S' && constant_first) ? v : op == 'S' ? -v : 0;
    }
    role = scale_channels(m, node, &joined, to - from > 1 ? 1 : from, factor, factor + c);
    onnx_out(m, node, 0)->shape = x->shape;
    return role;
}

enum onnx_role onnx_with_constant(struct onnx_import *m, const Onnx__NodeProto *node, const struct onnx_value *x,
                                  const struct onnx_value *constant, char op, bool constant_first)
{
    const int64_t n = onnx_shape_elems(&constant->shape);
    int from = 0, to = 0;
    const bool fits = axes_of_constant(m, node, x, constant, &from, &to);
    struct onnx_value inverse;

    if (n == 1 && (!fits || (op == 'D' && constant_first) || !folds_scale(m, x, from)))
        return onnx_eltwise(m, node);
    if (!fits || n < 1 || graph_stretch(&x->shape, from, to) > (n > ONNX_MAX_REPEATED ? n : ONNX_MAX_REPEATED))
        return m->opset < 7 ? onnx_refuse(m, "with a constant that does not fit") : onnx_eltwise(m, node);
    if (op != 'D' || !constant_first)
        return combine_along(m, node, x, constant, op, constant_first, from, to);
    if (onnx_eltwise_values(m, node, "reciprocal(a)", &x, 1, 0) == ONNX_UNSUPPORTED)
        return ONNX_UNSUPPORTED;
    if (m->failed)
        return ONNX_PLAIN;
    inverse = *onnx_out(m, node, 0);
    return combine_along(m, node, &inverse, constant, 'M', false, from, to);
}

/* ---- activations ---- */

/* A bound of Clip: attribute before opset 11, then a constant input. */
static bool read_bound(const struct onnx_import *m, const Onnx__NodeProto *node, const char *name, size_t i_input,
                       double otherwise, double *out)
{
    const struct onnx_value *v = onnx_in(m, node, i_input);

    *out = v && v->kind == ONNX_CONSTANT && onnx_shape_elems(&v->shape) == 1
               ? onnx_at(v, 0)
               : onnx_attribute_real(node, name, otherwise);
    return !v || (v->kind == ONNX_CONSTANT && onnx_shape_elems(&v->shape) == 1);
}

/* A layer of its own between two bounds, either of which may be none. */
static enum onnx_role within(struct onnx_import *m, const Onnx__NodeProto *node, double lowest, double highest)
{
    if (highest >= 3.4e38)
        return lowest < 0 || lowest > 0 ? onnx_eltwise_of(m, node, "max(a,b)", &lowest, 1)
                                        : onnx_eltwise_of(m, node, "relu(a)", NULL, 0);
    return lowest <= -3.4e38 ? onnx_eltwise_of(m, node, "min(a,b)", &highest, 1)
                             : onnx_eltwise_of(m, node, "clip(a,b,c)", (const double[]){lowest, highest}, 2);
}

enum onnx_role onnx_activation(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *x = onnx_in(m, node, 0);
    const bool is_clip = strcmp(node->op_type, "Clip") == 0;
    double lowest = 0, highest = INFINITY;
    struct graph_node *n;

    if (!onnx_is_activation(x))
        return onnx_refuse(m, "of a constant");
    if (is_clip &&
        (!read_bound(m, node, "min", 1, -INFINITY, &lowest) || !read_bound(m, node, "max", 2, INFINITY, &highest)))
        return onnx_refuse(m, "bounds that are not constant");
    if (lowest <= -3.4e38 && highest >= 3.4e38)
        return onnx_identity(m, node);
    n = &maker_of(m, x)->node;
    if (lowest < 0 || lowest > 0 || (highest < 3.4e38 && (highest < 6 || highest > 6)) || !x->sole ||
        !has_weights(maker_of(m, x)))
        return within(m, node, lowest, highest);
    n->relu6 = n->relu6 || highest <= 6;
    n->relu = !n->relu6;
    onnx_make_activation(onnx_out(m, node, 0), x->i_layer, &x->shape);
    return ONNX_FOLDED;
}

/* ---- the rest ---- */

/* Exchanges an axis with the last one: of a view that exists or of its output. */
static void exchange_last(struct onnx_view *s, int axis)
{
    int perm[ONNX_MAX_RANK];

    for (int d = 0; d < s->shape.rank; d++)
        perm[d] = d == axis ? s->shape.rank - 1 : d == s->shape.rank - 1 ? axis : d;
    onnx_view_permute(s, perm);
}

/* Over one axis, which is the last one while it is computed; before opset 13 over all from an axis on. */
enum onnx_role onnx_softmax(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *x = onnx_in(m, node, 0);
    const int rank = onnx_is_activation(x) ? x->shape.rank : 0;
    int64_t axis = onnx_attribute_int(node, "axis", m->opset < 13 ? 1 : -1), last;
    bool turns;
    struct onnx_value y;
    struct onnx_view s;
    struct graph_shape rows = {.rank = 2};
    enum onnx_role role;

    axis = axis < 0 ? axis + rank : axis;
    if (rank < 1 || axis < 0 || axis >= rank)
        return onnx_refuse(m, "expected an activation, and one of its axes");
    turns = m->opset >= 13 && graph_stretch(&x->shape, (int)axis + 1, rank) != 1;
    last = turns ? rank - 1 : axis;
    onnx_view_of(x, &s);
    if (turns)
        exchange_last(&s, (int)axis);
    rows.dim[0] = graph_stretch(&s.shape, 0, (int)last);
    rows.dim[1] = graph_stretch(&s.shape, (int)last, rank);
    if (!ordered(m, x, &s, &y))
        return m->failed ? ONNX_PLAIN : ONNX_UNSUPPORTED;
    role = onnx_finish(m, node, onnx_new_layer(m, node, GRAPH_SOFTMAX, as_rows(m, &y, rows.dim[0], rows.dim[1])),
                       ONNX_PLAIN);
    if (role == ONNX_UNSUPPORTED || m->failed)
        return role;
    y = *onnx_out(m, node, 0);
    y.shape = s.shape;
    onnx_view_of(&y, &s);
    if (turns)
        exchange_last(&s, (int)axis);
    onnx_give(m, node, 0, &y, &s);
    return role;
}

enum onnx_role onnx_multiply_along(struct onnx_import *m, const Onnx__NodeProto *node, const struct onnx_value *x,
                                   int axis, const struct onnx_value *w)
{
    struct onnx_value turned, y;
    struct onnx_view s;

    onnx_view_of(x, &s);
    exchange_last(&s, axis);
    if (!ordered(m, x, &s, &turned) || new_dense(m, node, &turned, w, true, 1) < 0)
        return m->failed ? ONNX_TUNED : ONNX_UNSUPPORTED;
    y = *onnx_out(m, node, 0);
    onnx_view_of(&y, &s);
    exchange_last(&s, axis);
    return onnx_give(m, node, 0, &y, &s) == ONNX_UNSUPPORTED ? ONNX_UNSUPPORTED : ONNX_TUNED;
}

#define GROUP_QUERY_ATTRIBUTES                                                                                         \
    " do_rotary kv_num_heads local_window_size num_heads qk_output rotary_interleaved scale smooth_softmax softcap "

const struct onnx_operator onnx_operators[] = {
    {"Conv", onnx_conv, " auto_pad dilations group kernel_shape pads strides ", ONNX_TAKES_ALL},
    {"ConvTranspose", onnx_conv_transpose,
     " auto_pad dilations group kernel_shape output_padding output_shape pads strides ", ONNX_TAKES_DENSE},
    {"Gemm", onnx_gemm, " alpha beta broadcast transA transB ", ONNX_TAKES_VIEWS},
    {"MatMul", onnx_matmul, "", ONNX_TAKES_VIEWS},
    {"MatMul/alpha", onnx_alpha, " alpha transA transB ", ONNX_TAKES_DENSE},
    {"LSTM", onnx_recurrent, " activations clip direction hidden_size input_forget layout ", ONNX_TAKES_VIEWS},
    {"GRU", onnx_recurrent, " activations clip direction hidden_size layout linear_before_reset ", ONNX_TAKES_VIEWS},
    {"RNN", onnx_recurrent, " activations clip direction hidden_size layout ", ONNX_TAKES_VIEWS},
    {"QuantizeLinear", onnx_quantize, " axis block_size output_dtype precision saturate ", ONNX_TAKES_DENSE},
    {"DequantizeLinear", onnx_dequantize, " axis block_size output_dtype ", ONNX_TAKES_DENSE},
    {"BatchNormalization", onnx_batch_norm, " epsilon is_test momentum spatial training_mode ", ONNX_TAKES_DENSE},
    {"Relu", onnx_activation, "", ONNX_TAKES_DENSE},
    {"Clip", onnx_activation, " max min ", ONNX_TAKES_DENSE},
    {"MaxPool", onnx_pool, " auto_pad ceil_mode dilations kernel_shape pads storage_order strides ", ONNX_TAKES_DENSE},
    {"AveragePool", onnx_pool, " auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides ",
     ONNX_TAKES_DENSE},
    {"GlobalAveragePool", onnx_global_pool, "", ONNX_TAKES_DENSE},
    {"GlobalMaxPool", onnx_global_pool, "", ONNX_TAKES_DENSE},
    {"Attention", onnx_attention,
     " is_causal kv_num_heads left_window_size q_num_heads qk_matmul_output_mode right_window_size scale softcap "
     "softmax_precision ",
     ONNX_TAKES_VIEWS},
    {"MultiHeadAttention", onnx_multi_head_attention, " mask_filter_value num_heads scale unidirectional ",
     ONNX_TAKES_VIEWS},
    {"MatMulNBits/weights", onnx_unpack_blocks, " K N accuracy_level bits block_size ", ONNX_TAKES_DENSE},
    {"Attention/part", onnx_group_query_part, " mask_filter_value num_heads part scale unidirectional ",
     ONNX_TAKES_VIEWS},
    {"GroupQueryAttention/part", onnx_group_query_part, GROUP_QUERY_ATTRIBUTES "part ", ONNX_TAKES_VIEWS},
    {"GroupQueryAttention/rotary", onnx_group_query_rotary, GROUP_QUERY_ATTRIBUTES "part ", ONNX_TAKES_VIEWS},
    {"GroupQueryAttention", onnx_group_query_attention, GROUP_QUERY_ATTRIBUTES, ONNX_TAKES_VIEWS},
    {"RotaryEmbedding", onnx_rotary_embedding, " interleaved num_heads rotary_embedding_dim ", ONNX_TAKES_VIEWS},
    {"Softmax", onnx_softmax, " axis ", ONNX_TAKES_VIEWS},
    {"Resize", onnx_resize,
     " antialias axes coordinate_transformation_mode cubic_coeff_a exclude_outside extrapolation_value "
     "keep_aspect_ratio_policy mode nearest_mode ",
     ONNX_TAKES_DENSE},
    {"Upsample", onnx_resize, " mode scales ", ONNX_TAKES_DENSE},
    {"Pad", onnx_pad, " mode pads value ", ONNX_TAKES_VIEWS},
    {"Add", onnx_binary, " axis broadcast ", ONNX_TAKES_DENSE},
    {"Sub", onnx_binary, " axis broadcast ", ONNX_TAKES_DENSE},
    {"Mod", onnx_mod, " fmod ", ONNX_TAKES_DENSE},
    {"Mul", onnx_binary, " axis broadcast ", ONNX_TAKES_DENSE},
    {"Div", onnx_binary, " axis broadcast ", ONNX_TAKES_DENSE},
    {"Sum", onnx_binary, "", ONNX_TAKES_DENSE},
    {"ReduceL1", onnx_reduce, " axes keepdims noop_with_empty_axes ", ONNX_TAKES_DENSE},
    {"ReduceL2", onnx_reduce, " axes keepdims noop_with_empty_axes ", ONNX_TAKES_DENSE},
    {"ReduceLogSum", onnx_reduce, " axes keepdims noop_with_empty_axes ", ONNX_TAKES_DENSE},
    {"ReduceLogSumExp", onnx_reduce, " axes keepdims noop_with_empty_axes ", ONNX_TAKES_DENSE},
    {"ReduceMax", onnx_reduce, " axes keepdims noop_with_empty_axes ", ONNX_TAKES_DENSE},
    {"ReduceMean", onnx_reduce, " axes keepdims noop_with_empty_axes ", ONNX_TAKES_DENSE},
    {"ReduceMin", onnx_reduce, " axes keepdims noop_with_empty_axes ", ONNX_TAKES_DENSE},
    {"ReduceProd", onnx_reduce, " axes keepdims noop_with_empty_axes ", ONNX_TAKES_DENSE},
    {"ReduceSum", onnx_reduce, " axes keepdims noop_with_empty_axes ", ONNX_TAKES_DENSE},
    {"ReduceSumSquare", onnx_reduce, " axes keepdims noop_with_empty_axes ", ONNX_TAKES_DENSE},
    {"Abs", onnx_eltwise, "", ONNX_TAKES_DENSE},
    {"And", onnx_eltwise, "", ONNX_TAKES_DENSE},
    {"Equal", onnx_equal, "", ONNX_TAKES_DENSE},
    {"Greater", onnx_eltwise, "", ONNX_TAKES_DENSE},
    {"GreaterOrEqual", onnx_eltwise, "", ONNX_TAKES_DENSE},
    {"Less", onnx_eltwise, "", ONNX_TAKES_DENSE},
    {"LessOrEqual", onnx_eltwise, "", ONNX_TAKES_DENSE},
    {"Not", onnx_eltwise, "", ONNX_TAKES_DENSE},
    {"Or", onnx_eltwise, "", ONNX_TAKES_DENSE},
    {"Where", onnx_where, "", ONNX_TAKES_DENSE},
    {"If/choice", onnx_choice, "", ONNX_TAKES_ALL},
    {"Xor", onnx_eltwise, "", ONNX_TAKES_DENSE},
    {"Acos", onnx_eltwise, "", ONNX_TAKES_DENSE},
    {"Acosh", onnx_eltwise, "", ONNX_TAKES_DENSE},
    {"Asin", onnx_eltwise, "", ONNX_TAKES_DENSE},
    {"Asinh", onnx_eltwise, "", ONNX_TAKES_DENSE},
    {"Atan", onnx_eltwise, "", ONNX_TAKES_DENSE},
    {"Atanh", onnx_eltwise, "", ONNX_TAKES_DENSE},
    {"Cos", onnx_eltwise, "", ONNX_TAKES_DENSE},
    {"Cosh", onnx_eltwise, "", ONNX_TAKES_DENSE},
    {"Sin", onnx_eltwise, "", ONNX_TAKES_DENSE},
    {"Sinh", onnx_eltwise, "", ONNX_TAKES_DENSE},
    {"Tan", onnx_eltwise, "", ONNX_TAKES_DENSE},
    {"IsInf", onnx_is_inf, " detect_negative detect_positive ", ONNX_TAKES_DENSE},
    {"IsNaN", onnx_eltwise, "", ONNX_TAKES_DENSE},
    {"Ceil", onnx_eltwise, "", ONNX_TAKES_DENSE},
    {"Celu", onnx_eltwise, " alpha ", ONNX_TAKES_DENSE},
    {"Elu", onnx_eltwise, " alpha ", ONNX_TAKES_DENSE},
    {"Erf", onnx_eltwise, "", ONNX_TAKES_DENSE},
    {"Exp", onnx_eltwise, "", ONNX_TAKES_DENSE},
    {"Floor", onnx_eltwise, "", ONNX_TAKES_DENSE},
    {"Gelu/tanh", onnx_gelu, "", ONNX_TAKES_DENSE},
    {"Gelu", onnx_gelu, " approximate ", ONNX_TAKES_DENSE},
    {"HardSigmoid", onnx_eltwise, " alpha beta ", ONNX_TAKES_DENSE},
    {"HardSwish", onnx_eltwise, "", ONNX_TAKES_DENSE},
    {"LeakyRelu", onnx_eltwise, " alpha ", ONNX_TAKES_DENSE},
    {"Log", onnx_eltwise, "", ONNX_TAKES_DENSE},
    {"Max", onnx_eltwise, "", ONNX_TAKES_DENSE},
    {"Mean", onnx_eltwise, "", ONNX_TAKES_DENSE},
    {"Min", onnx_eltwise, "", ONNX_TAKES_DENSE},
    {"Mish", onnx_eltwise, "", ONNX_TAKES_DENSE},
    {"Neg", onnx_eltwise, "", ONNX_TAKES_DENSE},
    {"PRelu", onnx_prelu, "", ONNX_TAKES_DENSE},
    {"Pow", onnx_eltwise, " axis broadcast ", ONNX_TAKES_DENSE},
    {"Reciprocal", onnx_eltwise, "", ONNX_TAKES_DENSE},
    {"Round", onnx_eltwise, "", ONNX_TAKES_DENSE},
    {"Selu", onnx_eltwise, " alpha gamma ", ONNX_TAKES_DENSE},
    {"Shrink", onnx_eltwise, " bias lambd ", ONNX_TAKES_DENSE},
    {"Sigmoid", onnx_eltwise, "", ONNX_TAKES_DENSE},
    {"Sign", onnx_eltwise, "", ONNX_TAKES_DENSE},
    {"Softplus", onnx_eltwise, "", ONNX_TAKES_DENSE},
    {"Softsign", onnx_eltwise, "", ONNX_TAKES_DENSE},
    {"Sqrt", onnx_eltwise, "", ONNX_TAKES_DENSE},
    {"Swish", onnx_eltwise, " alpha ", ONNX_TAKES_DENSE},
    {"Swish/quick", onnx_eltwise, " alpha ", ONNX_TAKES_DENSE},
    {"Tanh", onnx_eltwise, "", ONNX_TAKES_DENSE},
    {"ThresholdedRelu", onnx_eltwise, " alpha ", ONNX_TAKES_DENSE},
    {"ArgMax", onnx_arg, " axis keepdims select_last_index ", ONNX_TAKES_DENSE},
    {"ArgMin", onnx_arg, " axis keepdims select_last_index ", ONNX_TAKES_DENSE},
    {"Hardmax", onnx_hardmax, " axis ", ONNX_TAKES_DENSE},
    {"TopK", onnx_top_k, " axis k largest sorted ", ONNX_TAKES_DENSE},
    {"OneHot", onnx_one_hot, " axis ", ONNX_TAKES_DENSE},
    {"EyeLike", onnx_eye_like, " dtype k ", ONNX_TAKES_ALL},
    {"GatherElements", onnx_gather_elements, " axis ", ONNX_TAKES_DENSE},
    {"ReverseSequence", onnx_reverse_sequence, " batch_axis time_axis ", ONNX_TAKES_DENSE},
    {"GatherND", onnx_gather_nd, " batch_dims ", ONNX_TAKES_DENSE},
    {"Scatter", onnx_scatter_elements, " axis ", ONNX_TAKES_DENSE},
    {"ScatterElements", onnx_scatter_elements, " axis reduction ", ONNX_TAKES_DENSE},
    {"ScatterND", onnx_scatter_nd, " reduction ", ONNX_TAKES_DENSE},
    {"CumSum", onnx_cum_sum, " exclusive reverse ", ONNX_TAKES_VIEWS},
    {"Trilu", onnx_trilu, " upper ", ONNX_TAKES_DENSE},
    {"CastLike", onnx_cast, " saturate round_mode ", ONNX_TAKES_DENSE},
    {"LogSoftmax", onnx_log_softmax, " axis ", ONNX_TAKES_DENSE},
    {"LRN", onnx_lrn, " alpha beta bias size ", ONNX_TAKES_DENSE},
    {"GroupNormalization", onnx_group_normalization, " epsilon num_groups stash_type ", ONNX_TAKES_DENSE},
    {"LpNormalization", onnx_lp_normalization, " axis p ", ONNX_TAKES_DENSE},
    {"InstanceNormalization", onnx_normalization, " epsilon ", ONNX_TAKES_DENSE},
    {"LayerNormalization", onnx_normalization, " axis epsilon stash_type ", ONNX_TAKES_DENSE},
    {"RMSNormalization", onnx_normalization, " axis epsilon stash_type ", ONNX_TAKES_DENSE},
    {"Constant", onnx_constant, " value value_float value_floats value_int value_ints ", ONNX_TAKES_DENSE},
    {"ConstantOfShape", onnx_constant_of_shape, " value ", ONNX_TAKES_DENSE},
    {"Size", onnx_size_of, "", ONNX_TAKES_ALL},
    {"Range", onnx_range, "", ONNX_TAKES_ALL},
    {"Shape", onnx_shape_of, " end start ", ONNX_TAKES_ALL},
    {"Gather", onnx_gather, " axis ", ONNX_TAKES_VIEWS},
    {"Concat", onnx_concat, " axis ", ONNX_TAKES_DENSE},
    {"Split", onnx_split, " axis num_outputs split ", ONNX_TAKES_VIEWS},
    {"Tile", onnx_tile, "", ONNX_TAKES_VIEWS},
    {"DepthToSpace", onnx_depth_to_space, " blocksize mode ", ONNX_TAKES_VIEWS},
    {"SpaceToDepth", onnx_space_to_depth, " blocksize mode ", ONNX_TAKES_VIEWS},
    {"Slice", onnx_slice, " axes ends starts ", ONNX_TAKES_VIEWS},
    {"Expand", onnx_expand, "", ONNX_TAKES_VIEWS},
    {"Cast", onnx_cast, " saturate round_mode to ", ONNX_TAKES_DENSE},
    {"Reshape", onnx_reshape, " allowzero ", ONNX_TAKES_VIEWS},
    {"Flatten", onnx_flatten, " axis ", ONNX_TAKES_VIEWS},
    {"Squeeze", onnx_squeeze, " axes ", ONNX_TAKES_VIEWS},
    {"Unsqueeze", onnx_unsqueeze, " axes ", ONNX_TAKES_VIEWS},
    {"Transpose", onnx_transpose, " perm ", ONNX_TAKES_VIEWS},
    {"Transpose/last", onnx_transpose, "", ONNX_TAKES_VIEWS},
    {"Transpose/batch", onnx_transpose, "", ONNX_TAKES_VIEWS},
    {"Identity", onnx_identity, "", ONNX_TAKES_ALL},
    {"Dropout", onnx_dropout, " is_test ratio seed ", ONNX_TAKES_ALL},
    {NULL, NULL, NULL, ONNX_TAKES_DENSE},
};
