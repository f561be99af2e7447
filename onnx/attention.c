/* SPDX-License-Identifier: MIT */
/* attention.c - attention: the layer, and the nodes that exporters write in the place of it: a product, its scale and
 * mask, softmax, a product. */
#include "onnx/attention.h"

#include "onnx/model.h"
#include "onnx/views.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define AXES 4         /* batch, heads, queries or keys, numbers */
#define HIDDEN (-1e30) /* added to a product, nothing is left of it */
#define SCALE_UNIT 1e6 /* of the workload's key */
#define SCALE_OFF 2e-7 /* a part of a scale: what two roundings to floats make of it */

static bool is_constant(const struct onnx_value *v)
{
    return v && v->kind == ONNX_CONSTANT;
}

bool onnx_see(const struct onnx_value *v, struct onnx_heads *out)
{
    if (!onnx_is_activation(v))
        return false;
    out->value = *v;
    onnx_view_of(v, &out->view);
    if (v->seen && onnx_view_is_bare(v->seen)) {
        out->value.i_layer = v->i_seen;
        out->view = *v->seen;
    }
    return onnx_view_is_bare(&out->view);
}

bool onnx_as_heads(struct onnx_heads *h)
{
    struct graph_shape shape = {.rank = AXES};

    if (h->view.shape.rank > AXES)
        return false;
    for (int d = 0, more = AXES - h->view.shape.rank; d < AXES; d++)
        shape.dim[d] = d < more ? 1 : h->view.shape.dim[d - more];
    return onnx_view_reshape(&h->view, &shape);
}

void onnx_exchange_heads(struct onnx_view *s)
{
    onnx_view_permute(s, (const int[]){0, 2, 1, 3});
}

/* ---- the layer ---- */

/* Elements that would be copied to have them in an order of axes. */
static int64_t copied(const struct onnx_import *m, const struct onnx_attended *a, bool rows_first)
{
    const struct onnx_heads *of[] = {&a->q, &a->k, &a->v};
    int64_t n = 0;

    for (int i = 0; i < 3; i++) {
        struct onnx_view s = of[i]->view;

        if (rows_first)
            onnx_exchange_heads(&s);
        if (!onnx_view_is_in_order(&s, graph_elems(&m->layers[of[i]->value.i_layer].node.shape)))
            n += onnx_shape_elems(&s.shape);
    }
    return n;
}

static int heads_layer(struct onnx_import *m, const struct onnx_heads *h, bool rows_first)
{
    struct onnx_view s = h->view;

    if (rows_first)
        onnx_exchange_heads(&s);
    return onnx_view_layer(m, &h->value, &s, &s.shape);
}

/* The mask's view repeated to the axes that it needs, and their letters; -1: m->failed, or words. */
static int mask_layer(struct onnx_import *m, const struct onnx_attended *a, char letters[AXES + 1])
{
    static const char axes[] = "bhqk";
    const int64_t to[AXES] = {a->q.view.shape.dim[0], a->q.view.shape.dim[1], a->q.view.shape.dim[2],
                              a->k.view.shape.dim[2]};
    struct onnx_view s = {.shape = {.rank = 0}};
    struct onnx_heads h;
    bool has_heads = false;

    if (!onnx_see(&a->mask, &h) || !onnx_as_heads(&h)) {
        onnx_refuse(m, "a mask of too many dimensions");
        return -1;
    }
    s.at = h.view.at;
    for (int d = 0; d < AXES; d++) {
        const int64_t n = h.view.shape.dim[d], stride = n == 1 ? 0 : h.view.stride[d];

        if (n != 1 && n != to[d]) {
            onnx_refuse(m, "a mask that does not fit");
            return -1;
        }
        if (d != AXES - 1 && !(d == 2 && has_heads) && (to[d] == 1 || !stride))
            continue; /* heads are never without queries */
        has_heads = has_heads || d == 1;
        letters[s.shape.rank] = axes[d];
        s.stride[s.shape.rank] = stride;
        s.shape.dim[s.shape.rank++] = to[d];
    }
    assert(s.shape.rank > 0 && s.shape.rank <= AXES); /* keys at least */
    letters[s.shape.rank] = '\0';
    return onnx_view_layer(m, &h.value, &s, &s.shape);
}

/* Does the workload have it? Its words, or "" where it is what is left out. */
static bool scale_words(double scale, double d, char out[32])
{
    const double whole = rint(scale * SCALE_UNIT);

    out[0] = '\0';
    if (scale <= 0 || fabs(scale * sqrt(d) - 1) < SCALE_OFF)
        return scale >= 0;
    snprintf(out, 32, " scale=%.6f", whole / SCALE_UNIT);
    return fabs(whole / SCALE_UNIT - scale) < SCALE_OFF * scale && whole < SCALE_UNIT * 1000;
}

/* A scale that the workload cannot tell is multiplied into the queries. */
static bool scaled_queries(struct onnx_import *m, const Onnx__NodeProto *node, struct onnx_attended *a, char words[32])
{
    const double d = (double)a->q.view.shape.dim[AXES - 1];
    struct onnx_view turned = a->q.view;
    struct onnx_value dense = a->q.value;
    const struct onnx_value *x = &dense;
    bool turns;
    int i;

    if (scale_words(a->scale, d, words))
        return true;
    words[0] = '\0';
    onnx_exchange_heads(&turned);
    turns = onnx_view_is_in_order(&turned, graph_elems(&m->layers[a->q.value.i_layer].node.shape));
    turned = turns ? turned : a->q.view;
    i = onnx_view_layer(m, &a->q.value, &turned, &turned.shape);
    if (i < 0)
        return false;
    onnx_make_activation(&dense, i, &turned.shape);
    if (onnx_eltwise_values(m, node, "mul(a,b)", &x, 1, a->scale * sqrt(d)) == ONNX_UNSUPPORTED || m->failed)
        return false;
    a->q.value = *onnx_out(m, node, 0);
    onnx_view_of(&a->q.value, &a->q.view);
    if (turns)
        onnx_exchange_heads(&a->q.view);
    return true;
}

bool onnx_heads_fit(const struct onnx_attended *a)
{
    const int64_t *q = a->q.view.shape.dim, *k = a->k.view.shape.dim, *v = a->v.view.shape.dim;

    return q[0] == k[0] && q[0] == v[0] && k[1] == v[1] && k[1] > 0 && q[1] % k[1] == 0 && k[2] == v[2] && q[3] == k[3];
}

/* Of the layer; a first query that sees all keys is not causal. */
static void put_words(const struct onnx_attended *a, bool rows_first, const char *scale, const char *letters,
                      char out[GRAPH_WORDS_BYTES])
{
    const bool causal = a->causal && a->past + 1 < a->k.view.shape.dim[2];
    char past[32] = "";

    if (causal && a->past)
        snprintf(past, sizeof past, " past=%lld", (long long)a->past);
    snprintf(out, GRAPH_WORDS_BYTES, "layout=%s%s%s%s%s%s", rows_first ? "blhd" : "bhld", causal ? " causal=1" : "",
             past, *letters ? " mask=" : "", letters, scale);
}

/* The columns [first, first + n) of a dense layer's rows that heads are, in their order; *n 0: they are not. */
static int64_t columns_of(const struct onnx_import *m, const struct onnx_heads *h, int64_t *n)
{
    const struct graph_node *from = &m->layers[h->value.i_layer].node;
    const int64_t *dim = h->view.shape.dim, *stride = h->view.stride,
                  all = graph_is_dense(from->op) ? from->shape.dim[1] : 0;
    const bool rows = (dim[2] == 1 || stride[2] == all) && (dim[0] == 1 || stride[0] == all * dim[2]);
    const bool columns = stride[3] == 1 && (dim[1] == 1 || stride[1] == dim[3]);

    *n = rows && columns && dim[0] * dim[2] == from->shape.dim[0] ? dim[1] * dim[3] : 0;
    return h->view.at;
}

/* Some columns of a dense layer as one of their own. */
static bool cut_dense(struct onnx_import *m, const Onnx__NodeProto *node, struct onnx_heads *h)
{
    int64_t n, first = columns_of(m, h, &n);
    const int of = h->value.i_layer, i = onnx_new_layer(m, node, m->layers[of].node.op, m->layers[of].node.in[0]);
    const struct graph_shape shape = {
        4, {h->view.shape.dim[0], h->view.shape.dim[2], h->view.shape.dim[1], h->view.shape.dim[3]}};
    struct onnx_layer *l;

    if (i < 0)
        return false;
    l = &m->layers[i];
    *l = (struct onnx_layer){.node = l->node, .w = m->layers[of].w, .w_transposed = m->layers[of].w_transposed};
    l->w_first = first;
    l->w_columns = m->layers[of].n_bias;
    l->factor = m->layers[of].factor + first;
    l->bias = m->layers[of].bias + first;
    l->n_w = m->layers[of].n_w / m->layers[of].n_bias * n;
    l->n_bias = n;
    l->node.key[GRAPH_K] = n;
    memcpy(l->node.words, m->layers[of].node.words, sizeof l->node.words);
    l->node.shape = (struct graph_shape){2, {m->layers[of].node.shape.dim[0], n}};
    onnx_make_activation(&h->value, i, &shape);
    onnx_view_of(&h->value, &h->view);
    onnx_exchange_heads(&h->view);
    return true;
}

/* Queries, keys and values that are all columns of one product, each of others, become products of their own: then they
 * lie as they are read. */
static bool cut_projection(struct onnx_import *m, const Onnx__NodeProto *node, struct onnx_attended *a)
{
    const int of = a->q.value.i_layer;
    const struct onnx_layer *l = &m->layers[of];
    int64_t n[3], at[3] = {columns_of(m, &a->q, &n[0]), columns_of(m, &a->k, &n[1]), columns_of(m, &a->v, &n[2])};

    if (a->k.value.i_layer != of || a->v.value.i_layer != of || !n[0] || !n[1] || !n[2] || l->node.n_in != 1 ||
        l->node.relu || l->node.relu6 || l->w_columns || n[0] + n[1] + n[2] != l->n_bias)
        return true;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < i; k++)
            if (at[i] < at[k] + n[k] && at[k] < at[i] + n[i])
                return true;
    return cut_dense(m, node, &a->q) && cut_dense(m, node, &a->k) && cut_dense(m, node, &a->v);
}

bool onnx_attend(struct onnx_import *m, const Onnx__NodeProto *node, const struct onnx_attended *given,
                 struct onnx_value *y, struct onnx_view *s)
{
    struct onnx_attended a = *given;
    char letters[AXES + 1] = "", scale[32];
    bool rows_first;
    int i, in[AXES] = {0}, n = 0;

    if (!onnx_heads_fit(&a)) {
        onnx_refuse(m, "queries, keys and values that do not fit");
        return false;
    }
    if (!cut_projection(m, node, &a) || !scaled_queries(m, node, &a, scale))
        return false;
    rows_first = copied(m, &a, true) <= copied(m, &a, false);
    in[n++] = heads_layer(m, &a.q, rows_first);
    in[n++] = in[0] < 0 ? -1 : heads_layer(m, &a.k, rows_first);
    in[n++] = in[1] < 0 ? -1 : heads_layer(m, &a.v, rows_first);
    if (a.has_mask)
        in[n++] = in[2] < 0 ? -1 : mask_layer(m, &a, letters);
    i = in[n - 1] < 0 ? -1 : onnx_new_layer(m, node, GRAPH_ATTENTION, in[0]);
    if (i < 0)
        return false;
    memcpy(m->layers[i].node.in, in, (size_t)n * sizeof in[0]);
    m->layers[i].node.n_in = n;
    put_words(&a, rows_first, scale, letters, m->layers[i].node.words);
    if (onnx_finish(m, node, i, ONNX_TUNED) == ONNX_UNSUPPORTED)
        return false;
    *y = *onnx_out(m, node, 0);
    onnx_view_of(y, s);
    if (rows_first)
        onnx_exchange_heads(s);
    return true;
}

/* ---- nodes ---- */

/* What the nodes in front of a product are found to be. */
struct found {
    struct onnx_attended a;
    const struct onnx_value *inner[16]; /* values that nobody else reads */
    size_t n_inner;
    const Onnx__NodeProto *product; /* queries by keys */
    const struct onnx_value *mask;  /* that is added, NULL: none */
    const struct onnx_value *which; /* logits are replaced where it is 0, or with `shows` unset where it is 1 */
    bool shows;
    double hidden;             /* what they are replaced by */
    struct graph_shape masked; /* of the logits where they are masked; rank 0: they are not */
};

static bool is_node(const Onnx__NodeProto *node, const char *op)
{
    return node && node->op_type && strcmp(node->op_type, op) == 0 && (!node->domain || !*node->domain);
}

/* A constant of one number, however often. */
static bool is_number(const struct onnx_value *v, double *out)
{
    const int64_t n = is_constant(v) ? onnx_shape_elems(&v->shape) : 0;

    if (n != 1)
        return false;
    *out = onnx_at(v, 0);
    return true;
}

/* A value that is read by `n_readers` alone becomes part of the attention. */
static bool take(struct found *f, const struct onnx_value *v, size_t n_readers)
{
    if (!onnx_is_activation(v) || !v->maker || v->role == ONNX_UNSUPPORTED || v->n_readers != n_readers ||
        v->is_output || f->n_inner == sizeof f->inner / sizeof f->inner[0])
        return false;
    f->inner[f->n_inner++] = v;
    return true;
}

/* Where softmax gives no number 0 is put: as attention has it. The value that is tested; NULL: it is nothing of that.
 */
static const struct onnx_value *without_nan(const struct onnx_import *m, const struct onnx_value *v)
{
    const struct onnx_value *is_nan = is_node(v->maker, "Where") ? onnx_in(m, v->maker, 0) : NULL;
    const struct onnx_value *x = is_nan ? onnx_in(m, v->maker, 2) : NULL;
    double zero = 1;

    return x && is_node(is_nan->maker, "IsNaN") && onnx_in(m, is_nan->maker, 0) == x &&
                   is_number(onnx_in(m, v->maker, 1), &zero) && !(zero < 0 || zero > 0)
               ? x
               : NULL;
}

/* What a node gives the leading dimensions of in others, those of heads and batches as one, say; NULL: nothing of that.
 */
static const struct onnx_value *regrouped(const struct onnx_import *m, const struct onnx_value *v)
{
    const struct onnx_value *x = is_node(v->maker, "Reshape") ? onnx_in(m, v->maker, 0) : NULL;
    const struct graph_shape *a = &v->shape, *b = x ? &x->shape : a;

    return onnx_is_activation(x) && a->rank > 2 && b->rank > 2 && a->dim[a->rank - 1] == b->dim[b->rank - 1] &&
                   a->dim[a->rank - 2] == b->dim[b->rank - 2]
               ? x
               : NULL;
}

/* Goes from what is multiplied by the values back to what softmax reads; NULL: there is no softmax of rows. */
static const struct onnx_value *logits_of(const struct onnx_import *m, const struct onnx_value *v, struct found *f)
{
    size_t n_readers = 1;

    while (take(f, v, n_readers)) {
        const struct onnx_value *x = without_nan(m, v), *grouped = regrouped(m, v);
        const bool passes = is_node(v->maker, "Dropout") || is_node(v->maker, "Identity") || is_node(v->maker, "Cast");

        n_readers = x ? 2 : 1;
        if (x && !take(f, onnx_in(m, v->maker, 0), 1))
            return NULL;
        if (is_node(v->maker, "Softmax")) {
            const int64_t axis = onnx_attribute_int(v->maker, "axis", m->opset < 13 ? 1 : -1);

            return axis == -1 || axis == v->shape.rank - 1 ? onnx_in(m, v->maker, 0) : NULL;
        }
        if (!x && !grouped && (!passes || !v->is_float))
            return NULL;
        v = x ? x : grouped ? grouped : onnx_in(m, v->maker, 0);
    }
    return NULL;
}

/* Multiplies `scale` by the number that a value was multiplied by, or divided; *v: what was multiplied. */
static bool unscaled(const struct onnx_import *m, const struct onnx_value **v, double *scale)
{
    const Onnx__NodeProto *node = (*v)->maker;
    const bool is_mul = is_node(node, "Mul"), is_div = is_node(node, "Div");
    const struct onnx_value *a = is_mul || is_div ? onnx_in(m, node, 0) : NULL, *b = a ? onnx_in(m, node, 1) : NULL;
    double number;

    if (is_mul && is_constant(a)) {
        const struct onnx_value *c = a;

        a = b;
        b = c;
    }
    if (!onnx_is_activation(a) || !is_number(b, &number) || !graph_same_shape(&a->shape, &(*v)->shape) ||
        (*v)->i_layer == a->i_layer) /* its weights are multiplied already */
        return false;
    *scale = is_div ? *scale / number : *scale * number;
    *v = a;
    return true;
}

/* A constant of 0 up to the key i + past, and behind it what hides; *past of all is 0 in front of the first row's. */
static bool is_causal(const struct onnx_value *v, double shown, double hides, int64_t q, int64_t k, int64_t *past)
{
    const int64_t n = is_constant(v) ? onnx_shape_elems(&v->shape) : 0;

    if (n != q * k || n < 1)
        return false;
    for (*past = -1; *past + 1 < k && !(onnx_at(v, *past + 1) < shown || onnx_at(v, *past + 1) > shown);)
        *past += 1;
    for (int64_t i = 0; i < n; i++) {
        const double x = onnx_at(v, i);

        if (i % k <= i / k + *past ? x < shown || x > shown : hides < 0 ? x > hides : x < hides || x > hides)
            return false;
    }
    return *past >= 0;
}

/* All that masks them finds the logits in one shape. */
static bool masks_in(struct found *f, const struct graph_shape *logits)
{
    if (f->masked.rank == 0)
        f->masked = *logits;
    return graph_same_shape(&f->masked, logits);
}

static bool take_mask(struct found *f, const struct onnx_value *mask, const struct graph_shape *logits)
{
    const int64_t q = logits->dim[logits->rank - 2], k = logits->dim[logits->rank - 1];

    if (!f->a.causal && is_causal(mask, 0, HIDDEN, q, k, &f->a.past)) {
        f->a.causal = true;
        return true;
    }
    if (f->mask || !mask || mask->shape.rank > logits->rank || mask->shape.rank > AXES)
        return false;
    f->mask = mask;
    return true;
}

/* A condition that hides logits: what it hides is replaced by a number as good as -infinity. */
static bool take_where(const struct onnx_import *m, struct found *f, const struct onnx_value **v)
{
    const struct onnx_value *which = onnx_in(m, (*v)->maker, 0), *a = onnx_in(m, (*v)->maker, 1);
    const struct onnx_value *b = onnx_in(m, (*v)->maker, 2), *logits = onnx_is_activation(a) ? a : b;
    const struct graph_shape *s = &(*v)->shape;
    const int64_t q = s->dim[s->rank - 2], k = s->dim[s->rank - 1];

    f->shows = logits == a;
    if (!is_number(f->shows ? b : a, &f->hidden) || f->hidden > HIDDEN || f->which || f->a.causal ||
        !onnx_is_activation(logits) || !graph_same_shape(&logits->shape, s) || !masks_in(f, s))
        return false;
    f->a.causal = is_causal(which, f->shows, !f->shows, q, k, &f->a.past);
    f->which = f->a.causal ? NULL : which;
    *v = logits;
    return f->a.causal || onnx_is_activation(which);
}

/* Is a value a product, or what is made of one by numbers and conditions? */
static bool is_product(const struct onnx_import *m, const struct onnx_value *v)
{
    double scale = 1;

    for (int n = 0; n < 4 && onnx_is_activation(v) && v->maker; n++) {
        if (is_node(v->maker, "MatMul"))
            return true;
        if (regrouped(m, v))
            v = regrouped(m, v);
        else if (is_node(v->maker, "Where"))
            v = onnx_in(m, v->maker, onnx_is_activation(onnx_in(m, v->maker, 1)) ? 1 : 2);
        else if (v->is_float &&
                 (is_node(v->maker, "Cast") || is_node(v->maker, "Identity") || is_node(v->maker, "Add")))
            v = onnx_in(m, v->maker, 0);
        else if (!unscaled(m, &v, &scale))
            return false;
    }
    return false;
}

static bool take_sum(const struct onnx_import *m, struct found *f, const struct onnx_value **v)
{
    const struct onnx_value *a = onnx_in(m, (*v)->maker, 0), *b = onnx_in(m, (*v)->maker, 1);
    const struct onnx_value *logits = is_product(m, a) ? a : b, *mask = logits == a ? b : a;

    if (!onnx_is_activation(logits) || !graph_same_shape(&logits->shape, &(*v)->shape) ||
        !masks_in(f, &logits->shape) || !take_mask(f, mask, &logits->shape))
        return false;
    *v = logits;
    return true;
}

/* From what softmax reads back to the product: f->product. What is added, or hides, is not multiplied behind it. */
static bool find_product(const struct onnx_import *m, const struct onnx_value *v, struct found *f)
{
    bool is_scaled = false;

    while (take(f, v, 1) && !is_node(v->maker, "MatMul")) {
        if (unscaled(m, &v, &f->a.scale))
            is_scaled = true;
        else if (v->is_float && (is_node(v->maker, "Cast") || is_node(v->maker, "Identity")))
            v = onnx_in(m, v->maker, 0);
        else if (regrouped(m, v))
            v = regrouped(m, v);
        else if (is_scaled || !(is_node(v->maker, "Where") ? take_where(m, f, &v)
                                : is_node(v->maker, "Add") ? take_sum(m, f, &v)
                                                           : false))
            return false;
    }
    f->product = onnx_is_activation(v) ? v->maker : NULL;
    return is_node(f->product, "MatMul");
}

/* The value whose last two dimensions a node has exchanged; NULL: nothing of that. */
static const struct onnx_value *unturned(const struct onnx_import *m, const struct onnx_value *v)
{
    const Onnx__AttributeProto *perm = is_node(v->maker, "Transpose") ? onnx_attribute(v->maker, "perm") : NULL;
    const int rank = v->shape.rank;

    for (int d = 0; perm && d < rank; d++)
        if ((int)perm->n_ints != rank || perm->ints[d] != (d < rank - 2 ? d : 2 * rank - 3 - d))
            perm = NULL;
    return perm ? onnx_in(m, v->maker, 0) : NULL;
}

/* Heads that are repeated for the queries of a group, as they were before. */
static bool see_group(const struct onnx_import *m, const struct onnx_value *v, struct onnx_heads *out)
{
    struct onnx_view *s = &out->view;

    if (!is_node(v->maker, "Reshape") || v->shape.rank != AXES || !onnx_see(onnx_in(m, v->maker, 0), out) ||
        s->shape.rank != AXES + 1 || s->stride[2] || s->shape.dim[1] * s->shape.dim[2] != v->shape.dim[1] ||
        s->shape.dim[3] != v->shape.dim[2])
        return false;
    for (int d = 2; d < AXES; d++) {
        s->shape.dim[d] = s->shape.dim[d + 1];
        s->stride[d] = s->stride[d + 1];
    }
    s->shape.rank = AXES;
    return true;
}

static bool see_heads(const struct onnx_import *m, const struct onnx_value *v, struct onnx_heads *out)
{
    return see_group(m, v, out) || (onnx_see(v, out) && out->view.shape.rank > 1 && onnx_as_heads(out));
}

/* Keys, with numbers as rows. */
static bool see_keys(const struct onnx_import *m, const struct onnx_value *v, struct onnx_heads *out)
{
    const struct onnx_value *keys = unturned(m, v);

    if (keys && see_heads(m, keys, out))
        return true;
    if (!see_heads(m, v, out))
        return false;
    onnx_view_permute(&out->view, (const int[]){0, 1, 3, 2});
    return true;
}

/* Heads and batches that products have as one in the dimensions in which logits are masked; false: they are others. */
static bool ungroup(struct found *f, const struct graph_shape *product)
{
    struct onnx_heads *of[] = {&f->a.q, &f->a.k, &f->a.v};

    if (f->masked.rank == 0 || graph_same_shape(&f->masked, product))
        return true;
    for (int i = 0; i < 3; i++) {
        struct graph_shape shape = of[i]->view.shape;

        shape.dim[0] = f->masked.dim[0];
        shape.dim[1] = f->masked.dim[1];
        if (f->masked.rank != AXES || product->rank != AXES - 1 ||
            onnx_shape_elems(&shape) != onnx_shape_elems(&of[i]->view.shape) ||
            !onnx_view_reshape(&of[i]->view, &shape))
            return false;
    }
    return true;
}

static bool find(const struct onnx_import *m, const Onnx__NodeProto *node, struct found *f)
{
    const struct onnx_value *logits = logits_of(m, onnx_in(m, node, 0), f), *q, *k;

    if (!logits || logits->shape.rank < 2 || !find_product(m, logits, f))
        return false;
    q = onnx_in(m, f->product, 0);
    k = onnx_in(m, f->product, 1);
    unscaled(m, &q, &f->a.scale);
    unscaled(m, &k, &f->a.scale);
    return (f->a.scale < 0 || f->a.scale > 0) && see_heads(m, q, &f->a.q) && see_keys(m, k, &f->a.k) &&
           see_heads(m, onnx_in(m, node, 1), &f->a.v) && q->shape.rank == onnx_out(m, f->product, 0)->shape.rank &&
           ungroup(f, &onnx_out(m, f->product, 0)->shape) && onnx_heads_fit(&f->a);
}

/* A condition as what is added to logits: 0, or the number that hides. */
static bool add_condition(struct onnx_import *m, const Onnx__NodeProto *node, struct found *f)
{
    const bool infinite = f->hidden < (double)-FLT_MAX;
    const struct onnx_value *of[] = {f->which, &f->a.mask};
    const char *text = infinite ? f->shows ? "log(a)" : "log(sub(1,a))" : f->shows ? "where(a,0,b)" : "where(a,b,0)";
    struct onnx_value mask;

    if (onnx_eltwise_values(m, node, text, of, 1, infinite ? 0 : f->hidden) == ONNX_UNSUPPORTED || m->failed)
        return false;
    mask = *onnx_out(m, node, 0);
    of[0] = &mask;
    if (f->a.has_mask && (onnx_eltwise_values(m, node, "add(a,b)", of, 2, 0) == ONNX_UNSUPPORTED || m->failed))
        return false;
    f->a.mask = *onnx_out(m, node, 0);
    f->a.has_mask = true;
    return true;
}

/* A constant mask is copied in each run. */
static bool make_mask(struct onnx_import *m, const Onnx__NodeProto *node, struct found *f)
{
    f->a.has_mask = f->mask != NULL;
    if (f->mask && onnx_is_activation(f->mask))
        f->a.mask = *f->mask;
    else if (f->mask && !onnx_as_activation(m, f->mask, &f->a.mask))
        return false;
    return !f->which || add_condition(m, node, f);
}

bool onnx_attention_ends(struct onnx_import *m, const Onnx__NodeProto *node, enum onnx_role *role)
{
    struct found f = {.a = {.scale = 1}};
    struct onnx_value y;
    struct onnx_view s;
    struct graph_shape shape;

    if (!find(m, node, &f))
        return false;
    shape = onnx_in(m, node, 0)->shape;
    shape.dim[shape.rank - 1] = f.a.v.view.shape.dim[AXES - 1];
    *role = ONNX_TUNED;
    if (!make_mask(m, node, &f) || !onnx_attend(m, node, &f.a, &y, &s) || !onnx_view_reshape(&s, &shape) ||
        onnx_give(m, node, 0, &y, &s) == ONNX_UNSUPPORTED) {
        *role = m->failed ? ONNX_TUNED : ONNX_UNSUPPORTED;
        return true;
    }
    for (size_t i = 0; i < f.n_inner; i++)
        onnx_fold_maker(m, f.inner[i]);
    return true;
}
