/* SPDX-License-Identifier: MIT */
/* reduce.c - reductions over any axes, one layer for each stretch of axes that lie together. */
#include "onnx/model.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* What is taken of the numbers of the first stretch, of those of the others, and what of the last one's. */
static const struct rule {
    const char *op, *first, *next, *last;
} rules[] = {
    {"ReduceSum", "sum", "sum", "sum"},
    {"ReduceMean", "mean", "mean", "mean"},
    {"ReduceMax", "max", "max", "max"},
    {"ReduceMin", "min", "min", "min"},
    {"ReduceProd", "prod", "prod", "prod"},
    {"ReduceL1", "l1", "sum", "sum"},
    {"ReduceL2", "l2", "l2", "l2"},
    {"ReduceSumSquare", "sum_square", "sum", "sum"},
    {"ReduceLogSum", "sum", "sum", "log_sum"},
    {"ReduceLogSumExp", "log_sum_exp", "log_sum_exp", "log_sum_exp"},
};

static const struct rule *rule_of(const char *op)
{
    const struct rule *r = rules;

    while (strcmp(r->op, op) != 0) {
        r++;
        assert(r < rules + sizeof rules / sizeof rules[0]);
    }
    return r;
}

/* A bit for each axis; false: an axis that is none. */
static bool read_axes(const int64_t *axes, size_t n, int rank, unsigned *out)
{
    *out = 0;
    for (size_t i = 0; i < n; i++) {
        const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];

        if (axis < 0 || axis >= rank)
            return false;
        *out |= 1u << axis;
    }
    return true;
}

/* The next stretch of axes to be reduced, from *from on; dimensions of 1 belong to any. False: there is none. */
static bool next_stretch(const struct graph_shape *s, unsigned axes, int *from, int *to)
{
    while (*from < s->rank && !(axes & 1u << *from))
        ++*from;
    *to = *from;
    while (*to < s->rank && (axes & 1u << *to || s->dim[*to] == 1))
        ++*to;
    return *from < s->rank;
}

/* The elements of `v` with the axes [from, to) made one number each. */
static enum onnx_role reduce(struct onnx_import *m, const Onnx__NodeProto *node, const struct onnx_value *v, int from,
                             int to, const char *kind)
{
    const struct graph_shape view = {3,
                                     {graph_stretch(&v->shape, 0, from), graph_stretch(&v->shape, from, to),
                                      graph_stretch(&v->shape, to, v->shape.rank)}};
    struct graph_shape shape = v->shape;
    const int x = onnx_layer_as(m, v, &view), i = x < 0 ? -1 : onnx_new_layer(m, node, GRAPH_REDUCE, x);
    enum onnx_role role;

    assert(from < to && to <= v->shape.rank);
    if (i < 0)
        return ONNX_PLAIN;
    snprintf(m->layers[i].node.words, sizeof m->layers[i].node.words, "kind=%s", kind);
    role = onnx_finish(m, node, i, ONNX_PLAIN);
    for (int k = from; k < to; k++)
        shape.dim[k] = 1;
    onnx_out(m, node, 0)->shape = shape;
    return role;
}

/* Dimensions of the axes left out, where they are not kept. */
static void drop_axes(struct graph_shape *s, unsigned axes)
{
    int rank = 0;

    for (int k = 0; k < s->rank; k++)
        if (!(axes & 1u << k))
            s->dim[rank++] = s->dim[k];
    s->rank = rank;
}

static enum onnx_role by_rule(struct onnx_import *m, const Onnx__NodeProto *node, const struct rule *rule,
                              const struct onnx_value *x, unsigned axes)
{
    const struct graph_shape shape = x->shape;
    struct onnx_value at = *x;
    enum onnx_role role = ONNX_PLAIN;
    bool is_first = true;
    int from = 0, to = 0;

    while (role == ONNX_PLAIN && !m->failed && next_stretch(&shape, axes, &from, &to)) {
        int next_from = to, next_to;
        const bool is_last = !next_stretch(&shape, axes, &next_from, &next_to);

        role = reduce(m, node, &at, from, to,
                      is_last && strcmp(rule->next, rule->last) != 0 ? rule->last
                      : is_first                                     ? rule->first
                                                                     : rule->next);
        at = *onnx_out(m, node, 0);
        is_first = false;
        from = to;
    }
    return role;
}

enum onnx_role onnx_reduce_axes(struct onnx_import *m, const Onnx__NodeProto *node, const struct onnx_value *x,
                                const char *kind, unsigned axes)
{
    const struct rule rule = {"", kind, kind, kind};

    return by_rule(m, node, &rule, x, axes);
}

/* ---- of constants ---- */

/* A number more; the rule is one of those that onnx_reduce folds. */
static double taken(const struct rule *rule, double all, double v)
{
    switch (rule->op[6]) {
    case 'M':
        return rule->op[7] == 'a' ? fmax(all, v) : rule->op[7] == 'i' ? fmin(all, v) : all + v;
    case 'P':
        return all * v;
    default:
        return all + v;
    }
}

/* The place of element i with the axes left out that are reduced. */
static int64_t place_without(const struct graph_shape *s, unsigned axes, int64_t i)
{
    int64_t at = 0, step = 1;

    for (int d = s->rank - 1; d >= 0; d--) {
        if (!(axes & 1u << d)) {
            at += i % s->dim[d] * step;
            step *= s->dim[d];
        }
        i /= s->dim[d];
    }
    return at;
}

/* Sums, means, products and extremes of a constant. */
static enum onnx_role fold(struct onnx_import *m, const Onnx__NodeProto *node, const struct rule *rule,
                           const struct onnx_value *x, unsigned axes)
{
    const int64_t n_x = onnx_shape_elems(&x->shape);
    const bool known = strcmp(rule->first, rule->last) == 0 && strchr("MPS", rule->op[6]) && strlen(rule->op) < 11;
    struct graph_shape shape = x->shape;
    double *v;
    int64_t n;

    if (!known || n_x < 1)
        return onnx_refuse(m, "of a constant");
    for (int d = 0; d < shape.rank; d++)
        shape.dim[d] = axes & 1u << d ? 1 : shape.dim[d];
    n = onnx_shape_elems(&shape);
    v = onnx_make_constant(m, onnx_out(m, node, 0), &shape, x->is_float);
    for (int64_t i = 0; v && i < n; i++)
        v[i] = rule->op[6] == 'P' ? 1 : rule->op[7] == 'a' ? -INFINITY : rule->op[7] == 'i' ? INFINITY : 0;
    for (int64_t i = 0; v && i < n_x; i++) {
        double *at = &v[place_without(&x->shape, axes, i)];

        *at = taken(rule, *at, onnx_at(x, i));
    }
    for (int64_t i = 0; v && strcmp(rule->op, "ReduceMean") == 0 && i < n; i++)
        v[i] = x->is_float ? v[i] * (double)n / (double)n_x : trunc(v[i] * (double)n / (double)n_x);
    return ONNX_FOLDED;
}

enum onnx_role onnx_reduce(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *x = onnx_in(m, node, 0);
    const bool keeps = onnx_attribute_int(node, "keepdims", 1) != 0;
    enum onnx_role role;
    int64_t axes[ONNX_MAX_RANK];
    unsigned bits;
    size_t n = 0;

    if (!x)
        return onnx_refuse(m, "expected an input");
    if (!onnx_ints(m, node, "axes", 1, axes, ONNX_MAX_RANK, &n) || !read_axes(axes, n, x->shape.rank, &bits))
        return onnx_refuse(m, "axes that are not constant, or none");
    if (n == 0 && onnx_attribute_int(node, "noop_with_empty_axes", 0))
        return onnx_identity(m, node);
    if (n == 0)
        bits = (1u << x->shape.rank) - 1;
    if (x->kind == ONNX_CONSTANT) {
        role = fold(m, node, rule_of(node->op_type), x, bits);
        if (!keeps && role != ONNX_UNSUPPORTED)
            drop_axes(&onnx_out(m, node, 0)->shape, bits);
        return role;
    }
    if (x->shape.rank == 0)
        return onnx_refuse(m, "of one number");
    if (!x->is_float && strcmp(node->op_type, "ReduceMean") == 0)
        return onnx_refuse(m, "of whole numbers, which are computed as floats");
    if (x->shape.rank == 4 && bits == (1u << 2 | 1u << 3) &&
        (strcmp(node->op_type, "ReduceMean") == 0 || strcmp(node->op_type, "ReduceMax") == 0))
        return onnx_pool_all(m, node, node->op_type[7] == 'e', keeps);
    role = by_rule(m, node, rule_of(node->op_type), x, bits);
    if (!keeps)
        drop_axes(&onnx_out(m, node, 0)->shape, bits);
    return role;
}
