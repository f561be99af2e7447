/* SPDX-License-Identifier: MIT */
/* attention_parts.c - attention as products, softmax and what stands between them, each a layer of its own: where
 * products are bounded. */
#include "onnx/attention.h"

#include "onnx/model.h"
#include "onnx/views.h"

#include <math.h>

/* A node while it is taken apart. */
struct parting {
    struct onnx_import *m;
    const Onnx__NodeProto *node;
    const struct onnx_attended *a;
    double softcap;
    struct graph_shape logits; /* batch, heads, queries, keys */
    struct onnx_value now;     /* what was made last */
};

static bool step(struct parting *p, enum onnx_role role)
{
    if (role == ONNX_UNSUPPORTED || p->m->failed)
        return false;
    p->now = *onnx_out(p->m, p->node, 0);
    p->now.sole = true;
    return true;
}

/* Elements of heads as matrices [batch heads][rows][numbers], those of a group repeated; `turned`: numbers are rows.
 * -1: m->failed, or words. */
static int matrices(const struct parting *p, const struct onnx_heads *h, bool turned)
{
    const struct graph_shape *s = &h->view.shape;
    const int64_t heads = p->logits.dim[1], groups = heads / s->dim[1];
    struct onnx_view to = {.shape = {5, {s->dim[0], s->dim[1], groups, s->dim[turned ? 3 : 2], s->dim[turned ? 2 : 3]}},
                           .at = h->view.at,
                           .stride = {h->view.stride[0], h->view.stride[1], 0, h->view.stride[turned ? 3 : 2],
                                      h->view.stride[turned ? 2 : 3]}};
    const struct graph_shape shape = {3, {s->dim[0] * heads, to.shape.dim[3], to.shape.dim[4]}};

    return onnx_view_layer(p->m, &h->value, &to, &shape);
}

static bool multiply(struct parting *p, int x, int w)
{
    const int i = x < 0 || w < 0 ? -1 : onnx_new_layer(p->m, p->node, GRAPH_BATCH_GEMM, x);

    if (i < 0)
        return false;
    p->m->layers[i].node.in[p->m->layers[i].node.n_in++] = w;
    return step(p, onnx_finish(p->m, p->node, i, ONNX_PLAIN));
}

static bool scale(struct parting *p, const char *text, double number)
{
    const struct onnx_value *x = &p->now;

    return step(p, onnx_eltwise_values(p->m, p->node, text, &x, 1, number));
}

static bool add(struct parting *p, const struct onnx_value *mask)
{
    const struct onnx_value *both[] = {&p->now, mask};

    return step(p, onnx_eltwise_values(p->m, p->node, "add(a,b)", both, 2, 0));
}

/* The mask, and of what is causal another one. */
static bool add_masks(struct parting *p)
{
    const int64_t q = p->logits.dim[2], k = p->logits.dim[3];
    struct onnx_value mask = p->a->mask, *triangle;
    struct onnx_view s;
    int i;

    if (p->a->has_mask) {
        onnx_view_of(&mask, &s);
        i = onnx_view_layer(p->m, &mask, &s, &s.shape);
        if (i < 0)
            return false;
        onnx_make_activation(&mask, i, &s.shape);
        if (!add(p, &mask))
            return false;
    }
    if (!p->a->causal)
        return true;
    triangle = onnx_new_constant(p->m, p->node->output[0], &(struct graph_shape){2, {q, k}}, true);
    if (!triangle)
        return false;
    for (int64_t at = 0; at < q * k; at++)
        triangle->v[at] = at % k > at / k + p->a->past ? -INFINITY : 0;
    return onnx_as_activation(p->m, triangle, &mask) && add(p, &mask);
}

static bool soften(struct parting *p)
{
    const struct graph_shape rows = {2, {graph_stretch(&p->logits, 0, 3), p->logits.dim[3]}};
    const int at = onnx_layer_as(p->m, &p->now, &rows);
    const int i = at < 0 ? -1 : onnx_new_layer(p->m, p->node, GRAPH_SOFTMAX, at);

    return i >= 0 && step(p, onnx_finish(p->m, p->node, i, ONNX_PLAIN));
}

static bool logits_of(struct parting *p)
{
    const double d = (double)p->a->q.view.shape.dim[3];
    const double by = p->a->scale < 0 || p->a->scale > 0 ? p->a->scale : 1 / sqrt(d);
    const int q = matrices(p, &p->a->q, false);

    if (!multiply(p, q, q < 0 ? -1 : matrices(p, &p->a->k, false)))
        return false;
    p->now.shape = p->logits;
    return scale(p, "mul(a,b)", by) && scale(p, "mul(tanh(div(a,b)),b)", p->softcap) && add_masks(p);
}

bool onnx_attend_apart(struct onnx_import *m, const Onnx__NodeProto *node, const struct onnx_attended *a,
                       double softcap, struct onnx_value *y, struct onnx_view *s)
{
    const int64_t *q = a->q.view.shape.dim;
    struct parting p = {.m = m, .node = node, .a = a, .softcap = softcap};
    int at, v;

    if (!onnx_heads_fit(a)) {
        onnx_refuse(m, "queries, keys and values that do not fit");
        return false;
    }
    p.logits = (struct graph_shape){4, {q[0], q[1], q[2], a->k.view.shape.dim[2]}};
    if (!logits_of(&p) || !soften(&p))
        return false;
    at = onnx_layer_as(m, &p.now, &(struct graph_shape){3, {q[0] * q[1], q[2], p.logits.dim[3]}});
    v = at < 0 ? -1 : matrices(&p, &a->v, true);
    if (!multiply(&p, at, v))
        return false;
    *y = p.now;
    y->shape = (struct graph_shape){4, {q[0], q[1], q[2], a->v.view.shape.dim[3]}};
    onnx_view_of(y, s);
    return true;
}
