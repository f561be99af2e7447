/* SPDX-License-Identifier: MIT */
/* attention_nodes.c - the operator Attention: its cache, and the masks that it makes of conditions and lengths. */
#include "onnx/attention.h"
#include "onnx/model.h"
#include "onnx/views.h"

#include <math.h>
#include <string.h>

enum { IN_Q, IN_K, IN_V, IN_MASK, IN_PAST_K, IN_PAST_V, IN_LENGTHS };

/* A node while it becomes an attention. */
struct reading {
    struct onnx_import *m;
    const Onnx__NodeProto *node;
    struct onnx_attended a;
    int64_t cached; /* keys of the cache, in front of the new ones */
    double softcap; /* c tanh(product / c), before the mask; 0: none */
};

static bool refused(const struct reading *r, const char *words)
{
    onnx_refuse(r->m, "%s", words);
    return false;
}

/* Has the node at hand given what was asked for? */
static bool made(const struct reading *r, enum onnx_role role)
{
    return role != ONNX_UNSUPPORTED && !r->m->failed;
}

static struct onnx_value given(const struct reading *r)
{
    struct onnx_value v = *onnx_out(r->m, r->node, 0);

    v.sole = true;
    return v;
}

/* An input of 4 dimensions, or of 3 whose last is cut into heads. */
static bool read_heads(const struct reading *r, size_t i, const char *attribute, struct onnx_heads *out)
{
    const int64_t heads = onnx_attribute_int(r->node, attribute, 0);
    struct graph_shape shape;

    if (!onnx_see(onnx_in(r->m, r->node, i), out))
        return refused(r, "expected activations as queries, keys and values");
    shape = out->view.shape;
    if (shape.rank == 4)
        return true;
    if (shape.rank != 3 || heads < 1 || shape.dim[2] % heads)
        return refused(r, "expected 4 dimensions, or 3 and whole heads");
    shape = (struct graph_shape){4, {shape.dim[0], shape.dim[1], heads, shape.dim[2] / heads}};
    if (!onnx_view_reshape(&out->view, &shape))
        return refused(r, "queries, keys or values that lie apart");
    onnx_exchange_heads(&out->view);
    return true;
}

/* Puts keys or values behind those of the cache, and gives them as the node's output `i_out`. */
static bool join_cache(struct reading *r, const struct onnx_value *past, size_t i_out, struct onnx_heads *h)
{
    const struct graph_shape *s = &h->view.shape;
    const struct graph_shape rows = {3, {s->dim[0] * s->dim[1], s->dim[2], s->dim[3]}};
    const bool reads = r->node->n_output > i_out && onnx_out(r->m, r->node, i_out);
    struct graph_shape shape = *s, cache;
    int i, more;

    if (past) {
        if (!onnx_is_activation(past) || past->shape.rank != 4 || past->shape.dim[0] != s->dim[0] ||
            past->shape.dim[1] != s->dim[1] || past->shape.dim[3] != s->dim[3])
            return refused(r, "a cache that does not fit");
        cache = (struct graph_shape){3, {rows.dim[0], past->shape.dim[2], rows.dim[2]}};
        more = onnx_view_layer(r->m, &h->value, &h->view, &rows);
        i = more < 0 ? -1 : onnx_new_layer(r->m, r->node, GRAPH_CONCAT, onnx_layer_as(r->m, past, &cache));
        if (i < 0)
            return false;
        r->m->layers[i].node.in[r->m->layers[i].node.n_in++] = more;
        if (!made(r, onnx_finish(r->m, r->node, i, ONNX_PLAIN)))
            return false;
        shape.dim[2] += past->shape.dim[2];
        h->value = given(r);
        onnx_view_of(&h->value, &h->view);
        if (!onnx_view_reshape(&h->view, &shape))
            return refused(r, "a cache that does not fit");
    }
    return !reads || made(r, onnx_give(r->m, r->node, i_out, &h->value, &h->view));
}

/* Adds a mask to those that there are. */
static bool add_mask(struct reading *r, const struct onnx_value *mask)
{
    const struct onnx_value *both[] = {&r->a.mask, mask};

    if (!r->a.has_mask)
        r->a.mask = *mask;
    else if (!made(r, onnx_eltwise_values(r->m, r->node, "add(a,b)", both, 2, 0)))
        return false;
    else
        r->a.mask = given(r);
    r->a.has_mask = true;
    return true;
}

/* A mask of numbers that may be constant, or left out. */
static bool add_numbers(struct reading *r, const struct onnx_value *mask)
{
    struct onnx_value copied;

    if (!mask || onnx_is_activation(mask))
        return !mask || add_mask(r, mask);
    return onnx_as_activation(r->m, mask, &copied) && add_mask(r, &copied);
}

/* The mask of the node: numbers, or truth values, of which 0 hides; the keys behind it are hidden. */
static bool read_mask(struct reading *r)
{
    struct onnx_value *in = onnx_in(r->m, r->node, IN_MASK), mask;
    const bool is_truth = in && !in->is_float;
    const int64_t k = r->a.k.view.shape.dim[2];
    const struct onnx_value *x = &mask;
    struct onnx_view s;
    int i;

    if (!in)
        return true;
    mask = *in;
    if (in->kind == ONNX_CONSTANT && !onnx_as_activation(r->m, in, &mask))
        return false;
    if (!onnx_is_activation(&mask) || mask.shape.rank < 1 || mask.shape.dim[mask.shape.rank - 1] > k)
        return refused(r, "a mask that does not fit");
    onnx_view_of(&mask, &s);
    if (s.shape.dim[s.shape.rank - 1] < k) {
        s.after[s.shape.rank - 1] = k - s.shape.dim[s.shape.rank - 1];
        s.shape.dim[s.shape.rank - 1] = k;
        s.fill = is_truth ? 0 : -INFINITY;
        i = onnx_view_layer(r->m, &mask, &s, &s.shape);
        if (i < 0)
            return false;
        onnx_make_activation(&mask, i, &s.shape);
    }
    if (is_truth && !made(r, onnx_eltwise_values(r->m, r->node, "log(a)", &x, 1, 0)))
        return false;
    if (is_truth)
        mask = given(r);
    return add_mask(r, &mask);
}

/* Keys below a number for each of the batch; causal, as seen from the last query, which is the last of them. */
static bool hide_behind_lengths(struct reading *r)
{
    const struct onnx_value *lengths = onnx_in(r->m, r->node, IN_LENGTHS), *of[2];
    const int64_t q = r->a.causal ? r->a.q.view.shape.dim[2] : 1, k = r->a.k.view.shape.dim[2];
    const struct graph_shape shape = {4, {1, 1, q, k}};
    struct onnx_value *least, column, mask;

    if (!lengths)
        return true;
    if (r->cached)
        return refused(r, "a cache, and lengths of another");
    if (!onnx_is_activation(lengths) || lengths->shape.rank != 1)
        return refused(r, "lengths that are constant");
    least = onnx_new_constant(r->m, r->node->output[0], &shape, true);
    if (!least)
        return false;
    for (int64_t i = 0; i < q * k; i++)
        least->v[i] = (double)(i % k - i / k + q - 1);
    column = *lengths;
    column.shape = (struct graph_shape){4, {lengths->shape.dim[0], 1, 1, 1}};
    r->a.causal = false;
    of[0] = least;
    of[1] = &column;
    if (!made(r, onnx_eltwise_values(r->m, r->node, "log(less(a,b))", of, 2, 0)))
        return false;
    mask = given(r);
    return add_mask(r, &mask);
}

/* Keys that lie too far before or behind a query are hidden; below 0: none are. */
static bool hide_around(struct reading *r, int64_t left, int64_t right)
{
    const int64_t q = r->a.q.view.shape.dim[2], k = r->a.k.view.shape.dim[2];
    const struct graph_shape shape = {2, {q, k}};
    struct onnx_value *window, mask;

    if (left < 0 && right < 0)
        return true;
    window = onnx_new_constant(r->m, r->node->output[0], &shape, true);
    if (!window)
        return false;
    for (int64_t i = 0; i < q * k; i++) {
        const int64_t behind = r->cached + i / k - i % k;

        window->v[i] = (left >= 0 && behind > left) || (right >= 0 && -behind > right) ? -INFINITY : 0;
    }
    return onnx_as_activation(r->m, window, &mask) && add_mask(r, &mask);
}

static bool read_windows(struct reading *r)
{
    const int64_t left = onnx_attribute_int(r->node, "left_window_size", -1);
    const int64_t right = onnx_attribute_int(r->node, "right_window_size", -1);

    if ((left >= 0 || right >= 0) && onnx_in(r->m, r->node, IN_LENGTHS))
        return refused(r, "a window, and lengths of a cache");
    return hide_around(r, left, right);
}

static bool check_node(const struct reading *r)
{
    if (r->node->n_output > 3 && onnx_out(r->m, r->node, 3))
        return refused(r, "qk_matmul_output: its products are read");
    if (!onnx_in(r->m, r->node, IN_PAST_K) != !onnx_in(r->m, r->node, IN_PAST_V))
        return refused(r, "a cache of keys or of values alone");
    return true;
}

static bool read_attention(struct reading *r)
{
    const struct onnx_value *past = onnx_in(r->m, r->node, IN_PAST_K);

    r->a.scale = onnx_attribute_real(r->node, "scale", 0);
    r->a.causal = onnx_attribute_int(r->node, "is_causal", 0) != 0;
    r->softcap = onnx_attribute_real(r->node, "softcap", 0);
    r->cached = onnx_is_activation(past) && past->shape.rank == 4 ? past->shape.dim[2] : 0;
    r->a.past = r->cached;
    return check_node(r) && read_heads(r, IN_Q, "q_num_heads", &r->a.q) &&
           read_heads(r, IN_K, "kv_num_heads", &r->a.k) && read_heads(r, IN_V, "kv_num_heads", &r->a.v) &&
           join_cache(r, past, 1, &r->a.k) && join_cache(r, onnx_in(r->m, r->node, IN_PAST_V), 2, &r->a.v) &&
           read_mask(r) && hide_behind_lengths(r) && read_windows(r);
}

/* The attention as the node's output, of 3 dimensions where heads were cut out of the last one. */
static enum onnx_role give_attention(const struct reading *r, bool joins)
{
    struct onnx_import *m = r->m;
    struct graph_shape shape;
    struct onnx_value y;
    struct onnx_view s;

    if (!(r->softcap > 0 ? onnx_attend_apart(m, r->node, &r->a, r->softcap, &y, &s)
                         : onnx_attend(m, r->node, &r->a, &y, &s)))
        return m->failed ? ONNX_TUNED : ONNX_UNSUPPORTED;
    if (joins) {
        onnx_exchange_heads(&s);
        shape = (struct graph_shape){3, {s.shape.dim[0], s.shape.dim[1], s.shape.dim[2] * s.shape.dim[3]}};
        if (!onnx_view_reshape(&s, &shape)) { /* heads lie apart: they are copied */
            const int i = onnx_view_layer(m, &y, &s, &shape);

            if (i < 0)
                return m->failed ? ONNX_TUNED : ONNX_UNSUPPORTED;
            onnx_make_activation(&y, i, &shape);
            onnx_view_of(&y, &s);
        }
    }
    return onnx_give(m, r->node, 0, &y, &s) == ONNX_UNSUPPORTED ? ONNX_UNSUPPORTED : ONNX_TUNED;
}

enum onnx_role onnx_attention(struct onnx_import *m, const Onnx__NodeProto *node)
{
    struct reading r = {.m = m, .node = node};

    return read_attention(&r) ? give_attention(&r, onnx_in(m, node, IN_Q)->shape.rank == 3)
           : m->failed        ? ONNX_TUNED
                              : ONNX_UNSUPPORTED;
}

/* ---- onnxruntime's ---- */

enum { MHA_SEEN = 3, MHA_MASK, MHA_PAST_K, MHA_PAST_V };

/* Which keys are seen: 1, else 0, [batch][keys] or [batch][queries][keys]; or how many, [batch]. */
static bool read_seen(struct reading *r)
{
    const struct onnx_value *seen = onnx_in(r->m, r->node, MHA_SEEN);
    const int64_t k = r->a.k.view.shape.dim[2], b = r->a.q.view.shape.dim[0];
    struct onnx_value row, *at;
    const struct onnx_value *of[] = {&row, NULL};

    if (!seen)
        return true;
    if (!onnx_is_activation(seen) || seen->shape.rank < 1 || seen->shape.rank > 3 || seen->shape.dim[0] != b)
        return refused(r, "key_padding_mask of other than a number for each key, or a length for each of the batch");
    row = *seen;
    row.shape = seen->shape.rank == 3
                    ? (struct graph_shape){4, {b, 1, seen->shape.dim[1], seen->shape.dim[2]}}
                    : (struct graph_shape){4, {b, 1, 1, seen->shape.rank == 2 ? seen->shape.dim[1] : 1}};
    if (seen->shape.rank == 1) {
        of[1] = at = onnx_new_constant(r->m, r->node->output[0], &(struct graph_shape){1, {k}}, false);
        for (int64_t i = 0; at && i < k; i++)
            at->v[i] = (double)i;
        if (!at)
            return false;
    }
    if (!made(r, onnx_eltwise_values(r->m, r->node, of[1] ? "log(less(b,a))" : "log(a)", of, of[1] ? 2 : 1, 0)))
        return false;
    row = given(r);
    return add_mask(r, &row);
}

/* Queries, keys or values, `part` 0 to 2: input i, or of 5 dimensions, [batch][rows][heads][parts i ..][numbers], its
 * part. */
static bool read_part(const struct reading *r, size_t i, size_t part, struct onnx_heads *out)
{
    const struct onnx_value *x = onnx_in(r->m, r->node, i);
    struct onnx_view *s = &out->view;

    if (!onnx_is_activation(x) || x->shape.rank != 5)
        return read_heads(r, part, "num_heads", out);
    if (!onnx_see(x, out) || s->shape.dim[2] != onnx_attribute_int(r->node, "num_heads", 0) ||
        s->shape.dim[3] != (int64_t)(3 - i))
        return refused(r, "expected whole heads of queries, keys and values");
    s->at += (int64_t)(part - i) * s->stride[3];
    s->shape.dim[3] = s->shape.dim[4];
    s->stride[3] = s->stride[4];
    s->shape.rank = 4;
    onnx_exchange_heads(s);
    return true;
}

/* Keys and values may be in the tensor before. */
static bool read_parts(struct reading *r)
{
    const size_t of_k = onnx_in(r->m, r->node, IN_K) ? IN_K : IN_Q, of_v = onnx_in(r->m, r->node, IN_V) ? IN_V : of_k;

    return read_part(r, IN_Q, IN_Q, &r->a.q) && read_part(r, of_k, IN_K, &r->a.k) && read_part(r, of_v, IN_V, &r->a.v);
}

static bool read_multi_head(struct reading *r)
{
    const struct onnx_value *past = onnx_in(r->m, r->node, MHA_PAST_K), *past_v = onnx_in(r->m, r->node, MHA_PAST_V);

    if (!past != !past_v)
        return refused(r, "a cache of keys or of values alone");
    r->a.scale = onnx_attribute_real(r->node, "scale", 0);
    r->a.causal = onnx_attribute_int(r->node, "unidirectional", 0) != 0;
    r->a.past = r->cached = onnx_is_activation(past) && past->shape.rank == 4 ? past->shape.dim[2] : 0;
    return read_parts(r) && join_cache(r, past, 1, &r->a.k) && join_cache(r, past_v, 2, &r->a.v) && read_seen(r) &&
           add_numbers(r, onnx_in(r->m, r->node, MHA_MASK));
}

enum onnx_role onnx_multi_head_attention(struct onnx_import *m, const Onnx__NodeProto *node)
{
    struct reading r = {.m = m, .node = node};

    return read_multi_head(&r) ? give_attention(&r, true) : m->failed ? ONNX_TUNED : ONNX_UNSUPPORTED;
}

enum { GQA_PAST_K = 3, GQA_PAST_V, GQA_LENGTHS, GQA_TOTAL, GQA_POSITIONS, GQA_BIAS, GQA_SINK };

/* Queries, keys or values (part 0 to 2) of one tensor, whose last dimension has the heads of all. */
enum onnx_role onnx_group_query_part(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const int64_t part = onnx_attribute_int(node, "part", 0), n_q = onnx_attribute_int(node, "num_heads", 0);
    const int64_t n_kv = onnx_attribute_int(node, "kv_num_heads", n_q), heads = n_q + 2 * n_kv;
    const struct onnx_value *x = onnx_in(m, node, 0);
    struct onnx_view s;
    int64_t d;

    if (part < 0 || part > 2 || !onnx_is_activation(x) || x->shape.rank != 3 || n_q < 1 || n_q > GRAPH_MAX_ELEMS ||
        n_kv < 1 || n_kv > n_q || x->shape.dim[2] % heads)
        return onnx_refuse(m, "expected an activation of 3 dimensions and whole heads");
    onnx_view_of(x, &s);
    if (!onnx_view_is_bare(&s))
        return onnx_refuse(m, "queries, keys and values with something around");
    d = x->shape.dim[2] / heads;
    s.at += (part ? n_q + (part - 1) * n_kv : 0) * d * s.stride[2];
    s.shape.dim[2] = (part ? n_kv : n_q) * d;
    return onnx_give(m, node, 0, x, &s);
}

/* A constant whose every number is n? */
static bool is_all(const struct onnx_value *v, int64_t n)
{
    int64_t at;

    for (int64_t i = 0; v && v->kind == ONNX_CONSTANT && i < onnx_shape_elems(&v->shape); i++)
        if (!onnx_int_at(v, i, &at) || at != n)
            return false;
    return v && v->kind == ONNX_CONSTANT;
}

static bool check_group_query(const struct reading *r)
{
    const struct onnx_value *q = onnx_in(r->m, r->node, IN_Q), *last = onnx_in(r->m, r->node, GQA_LENGTHS);
    const int64_t keys = q && q->shape.rank == 3 ? r->cached + q->shape.dim[1] : 0;

    if (!keys)
        return refused(r, "expected queries of 3 dimensions");
    if (onnx_attribute_int(r->node, "smooth_softmax", 0) > 0 || onnx_in(r->m, r->node, GQA_SINK))
        return refused(r, "a softmax with more than its rows");
    if (onnx_in(r->m, r->node, GQA_POSITIONS))
        return refused(r, "positions of its own");
    if (r->node->n_output > 3 && onnx_out(r->m, r->node, 3))
        return refused(r, "its products are read");
    if (!onnx_in(r->m, r->node, GQA_PAST_K) != !onnx_in(r->m, r->node, GQA_PAST_V))
        return refused(r, "a cache of keys or of values alone");
    if (!is_all(last, keys - 1) || !is_all(onnx_in(r->m, r->node, GQA_TOTAL), keys))
        return onnx_refuse(r->m, "seqlens_k and total_sequence_length: expected constants, %lld and %lld (--const)",
                           (long long)keys - 1, (long long)keys),
               false;
    return true;
}

static bool read_group_query(struct reading *r)
{
    const struct onnx_value *past = onnx_in(r->m, r->node, GQA_PAST_K);
    const int64_t window = onnx_attribute_int(r->node, "local_window_size", -1);

    r->softcap = onnx_attribute_real(r->node, "softcap", 0);
    r->a.scale = onnx_attribute_real(r->node, "scale", 0);
    r->a.causal = true;
    r->a.past = r->cached = past && past->shape.rank == 4 ? past->shape.dim[2] : 0;
    return check_group_query(r) && read_heads(r, IN_Q, "num_heads", &r->a.q) &&
           read_heads(r, IN_K, "kv_num_heads", &r->a.k) && read_heads(r, IN_V, "kv_num_heads", &r->a.v) &&
           join_cache(r, past, 1, &r->a.k) && join_cache(r, onnx_in(r->m, r->node, GQA_PAST_V), 2, &r->a.v) &&
           add_numbers(r, onnx_in(r->m, r->node, GQA_BIAS)) && (window < 1 || hide_around(r, window - 1, -1));
}

enum onnx_role onnx_group_query_attention(struct onnx_import *m, const Onnx__NodeProto *node)
{
    struct reading r = {.m = m, .node = node};

    return read_group_query(&r) ? give_attention(&r, true) : m->failed ? ONNX_TUNED : ONNX_UNSUPPORTED;
}
