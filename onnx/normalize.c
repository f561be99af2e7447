/* SPDX-License-Identifier: MIT */
/* normalize.c - operators that are reductions and element-wise chains: layer, instance and root mean square
 * normalization, and the logarithm of softmax. */
#include "onnx/model.h"

#include <string.h>

/* What the node at hand has given so far, to be read further; `sole`: by one reader. */
static struct onnx_value given(const struct onnx_import *m, const Onnx__NodeProto *node, bool sole)
{
    struct onnx_value v = *onnx_out(m, node, 0);

    v.sole = sole;
    return v;
}

/* A factor or term for each number along axes that begin at `axis`: the shape that is aligned with x. */
static struct onnx_value aligned(const struct onnx_value *v, int axis, int rank)
{
    struct onnx_value out = *v;

    for (int k = axis + v->shape.rank; k < rank && out.shape.rank < GRAPH_MAX_RANK; k++)
        out.shape.dim[out.shape.rank++] = 1;
    return out;
}

/* What the node gives times a factor, plus a term, along the axes from `axis` on; either may be left out. */
static enum onnx_role apply(struct onnx_import *m, const Onnx__NodeProto *node, const struct onnx_value *factor,
                            const struct onnx_value *term, int axis)
{
    static const char *const texts[] = {"mul(a,b)", "add(a,b)"};
    const struct onnx_value *of[] = {factor, term};
    const struct graph_shape shape = onnx_out(m, node, 0)->shape;
    enum onnx_role role = ONNX_PLAIN;

    if ((!factor || factor->kind == ONNX_CONSTANT) && (!term || term->kind == ONNX_CONSTANT)) {
        const struct onnx_value x = given(m, node, true);

        return factor || term ? onnx_scale_along(m, node, &x, axis, factor, term) : ONNX_PLAIN;
    }
    for (int k = 0; k < 2 && role != ONNX_UNSUPPORTED && !m->failed; k++)
        if (of[k]) {
            const struct onnx_value x = given(m, node, true), more = aligned(of[k], axis, shape.rank);

            role = onnx_eltwise_values(m, node, texts[k], (const struct onnx_value *const[]){&x, &more}, 2, 0);
        }
    if (role != ONNX_UNSUPPORTED && !graph_same_shape(&onnx_out(m, node, 0)->shape, &shape))
        return onnx_refuse(m, "a scale or bias that does not fit");
    return role;
}

/* The node gives (x - mean) / sqrt(variance + epsilon) over axes, or x / sqrt(mean of squares + epsilon); mean and the
 * inverse root into its further outputs. */
static enum onnx_role normalized(struct onnx_import *m, const Onnx__NodeProto *node, const struct onnx_value *x,
                                 unsigned axes, double epsilon, bool centres)
{
    struct onnx_value mean = *x, square, inverse;
    enum onnx_role role = ONNX_PLAIN;

    if (centres) {
        role = onnx_reduce_axes(m, node, x, "mean", axes);
        mean = given(m, node, false);
    }
    if (role != ONNX_UNSUPPORTED && !m->failed)
        role = onnx_eltwise_values(m, node, centres ? "mul(sub(a,b),sub(a,b))" : "mul(a,a)",
                                   (const struct onnx_value *const[]){x, &mean}, centres ? 2 : 1, 0);
    square = given(m, node, true);
    if (role != ONNX_UNSUPPORTED && !m->failed)
        role = onnx_reduce_axes(m, node, &square, "mean", axes);
    square = given(m, node, true);
    if (role != ONNX_UNSUPPORTED && !m->failed)
        role = onnx_eltwise_values(m, node, "reciprocal(sqrt(add(a,b)))", (const struct onnx_value *const[]){&square},
                                   1, epsilon);
    inverse = given(m, node, false);
    if (role != ONNX_UNSUPPORTED && !m->failed)
        role = onnx_eltwise_values(m, node, centres ? "mul(sub(a,c),b)" : "mul(a,b)",
                                   (const struct onnx_value *const[]){x, &inverse, &mean}, centres ? 3 : 2, 0);
    if (role != ONNX_UNSUPPORTED && centres && onnx_out(m, node, 1))
        onnx_make_activation(onnx_out(m, node, 1), mean.i_layer, &mean.shape);
    if (role != ONNX_UNSUPPORTED && centres && onnx_out(m, node, 2))
        onnx_make_activation(onnx_out(m, node, 2), inverse.i_layer, &inverse.shape);
    return role;
}

enum onnx_role onnx_normalization(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *x = onnx_in(m, node, 0), *scale = onnx_in(m, node, 1), *bias = onnx_in(m, node, 2);
    const bool instance = node->op_type[0] == 'I';
    const int rank = x && x->kind == ONNX_ACTIVATION ? x->shape.rank : 0;
    int axis = 2;
    enum onnx_role role;

    if (rank < (instance ? 3 : 1) || (!instance && !onnx_axis(node, -1, rank, &axis)))
        return onnx_refuse(m, "expected an activation, and one of its axes");
    if (onnx_attribute_int(node, "stash_type", 1) != 1)
        return onnx_refuse(m, "computed in another type than float");
    if ((scale && scale->shape.rank > rank) || (bias && bias->shape.rank > rank) ||
        (instance && (!scale || !bias || scale->shape.rank != 1 || bias->shape.rank != 1)))
        return onnx_refuse(m, "a scale or bias that does not fit");
    if (!instance && !onnx_out(m, node, 1) && !onnx_out(m, node, 2) &&
        onnx_norm_rows(m, node, x, axis, onnx_attribute_real(node, "epsilon", 1e-5), node->op_type[0] != 'R',
                       (const struct onnx_value *const[]){scale, bias}, &role))
        return role;
    role = normalized(m, node, x, ((1u << rank) - 1) & ~((1u << axis) - 1), onnx_attribute_real(node, "epsilon", 1e-5),
                      node->op_type[0] != 'R');
    return role == ONNX_UNSUPPORTED || m->failed ? role : apply(m, node, scale, bias, instance ? 1 : axis);
}

/* Over one axis; before opset 13 over all from an axis on. What lies far from 0 is brought there first: the sum's
 * logarithm would have no digits left for the differences. */
enum onnx_role onnx_log_softmax(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *x = onnx_in(m, node, 0);
    const int rank = x && x->kind == ONNX_ACTIVATION ? x->shape.rank : 0;
    struct onnx_value below, more;
    enum onnx_role role;
    unsigned axes;
    int axis;

    if (rank < 1 || !onnx_axis(node, m->opset < 13 ? 1 : -1, rank, &axis))
        return onnx_refuse(m, "expected an activation, and one of its axes");
    axes = m->opset < 13 ? ((1u << rank) - 1) & ~((1u << axis) - 1) : 1u << axis;
    role = onnx_reduce_axes(m, node, x, "max", axes);
    more = given(m, node, true);
    if (role != ONNX_UNSUPPORTED && !m->failed)
        role = onnx_eltwise_values(m, node, "sub(a,b)", (const struct onnx_value *const[]){x, &more}, 2, 0);
    below = given(m, node, false);
    if (role != ONNX_UNSUPPORTED && !m->failed)
        role = onnx_reduce_axes(m, node, &below, "log_sum_exp", axes);
    more = given(m, node, true);
    if (role != ONNX_UNSUPPORTED && !m->failed)
        role = onnx_eltwise_values(m, node, "sub(a,b)", (const struct onnx_value *const[]){&below, &more}, 2, 0);
    return role;
}

/* Of the channels of each group together, with all behind them. */
enum onnx_role onnx_group_normalization(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *x = onnx_in(m, node, 0), *scale = onnx_in(m, node, 1), *bias = onnx_in(m, node, 2);
    const int64_t groups = onnx_attribute_int(node, "num_groups", 0);
    const int rank = onnx_is_activation(x) ? x->shape.rank : 0;
    struct onnx_value grouped;
    enum onnx_role role;

    if (rank < 2 || groups < 1 || x->shape.dim[1] % groups || onnx_attribute_int(node, "stash_type", 1) != 1)
        return onnx_refuse(m, "expected an activation whose channels are whole groups, computed as floats");
    if (!scale || !bias || scale->shape.rank != 1 || bias->shape.rank != 1 || scale->shape.dim[0] != x->shape.dim[1] ||
        bias->shape.dim[0] != x->shape.dim[1])
        return onnx_refuse(m, "expected a scale and a bias of each channel");
    grouped = *x;
    grouped.shape = (struct graph_shape){3, {x->shape.dim[0], groups, graph_stretch(&x->shape, 1, rank) / groups}};
    role = normalized(m, node, &grouped, 1u << 2, onnx_attribute_real(node, "epsilon", 1e-5), true);
    onnx_out(m, node, 0)->shape = x->shape;
    return role == ONNX_UNSUPPORTED || m->failed ? role : apply(m, node, scale, bias, 1);
}

enum onnx_role onnx_lp_normalization(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *x = onnx_in(m, node, 0);
    const int64_t p = onnx_attribute_int(node, "p", 2);
    const int rank = onnx_is_activation(x) ? x->shape.rank : 0;
    struct onnx_value norm;
    enum onnx_role role;
    int axis;

    if (rank < 1 || p < 1 || p > 2 || !onnx_axis(node, -1, rank, &axis))
        return onnx_refuse(m, "expected an activation, one of its axes, and p of 1 or 2");
    role = onnx_reduce_axes(m, node, x, p == 1 ? "l1" : "l2", 1u << axis);
    norm = given(m, node, true);
    return role == ONNX_UNSUPPORTED || m->failed
               ? role
               : onnx_eltwise_values(m, node, "where(less(0,b),div(a,b),0)",
                                     (const struct onnx_value *const[]){x, &norm}, 2, 0);
}

/* x / (bias + alpha / size * the sum of squares of so many channels around) ^ beta: the sums are a convolution along
 * the channels. The factor goes into the squares, so that halves hold them. */
enum onnx_role onnx_lrn(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *x = onnx_in(m, node, 0);
    const int64_t size = onnx_attribute_int(node, "size", 0);
    const double alpha = onnx_attribute_real(node, "alpha", 1e-4), beta = onnx_attribute_real(node, "beta", 0.75);
    const double bias = onnx_attribute_real(node, "bias", 1);
    const int rank = onnx_is_activation(x) ? x->shape.rank : 0;
    struct graph_shape columns;
    struct onnx_layer *l;
    struct onnx_value sums;
    int i;

    if (rank < 3 || size < 1 || size > x->shape.dim[1] * 2)
        return onnx_refuse(m, "expected images, and a size that fits their channels");
    columns = (struct graph_shape){4, {x->shape.dim[0], 1, x->shape.dim[1], graph_stretch(&x->shape, 2, rank)}};
    if (onnx_eltwise_values(m, node, "mul(mul(a,b),a)", &x, 1, alpha / (double)size) == ONNX_UNSUPPORTED || m->failed)
        return m->failed ? ONNX_PLAIN : ONNX_UNSUPPORTED;
    sums = given(m, node, true);
    i = onnx_new_layer(m, node, GRAPH_DEPTHWISE, onnx_layer_as(m, &sums, &columns));
    l = i < 0 ? NULL : &m->layers[i];
    if (!l || !onnx_give_weights(m, l, NULL, size, 1))
        return ONNX_PLAIN;
    l->node.key[GRAPH_R] = size;
    l->node.key[GRAPH_S] = 1;
    l->node.key[GRAPH_TOP] = (size - 1) / 2;
    l->node.key[GRAPH_BOTTOM] = size / 2;
    l->bias[0] = bias;
    if (onnx_finish(m, node, i, ONNX_TUNED) == ONNX_UNSUPPORTED)
        return ONNX_UNSUPPORTED;
    sums = given(m, node, true);
    sums.shape = x->shape;
    return onnx_eltwise_values(m, node, "div(a,pow(b,c))", (const struct onnx_value *const[]){x, &sums}, 2, beta) ==
                   ONNX_UNSUPPORTED
               ? ONNX_UNSUPPORTED
               : ONNX_TUNED;
}
