/* SPDX-License-Identifier: MIT */
/* quantised.c - QuantizeLinear and DequantizeLinear: computed of constants, element-wise layers of activations, which
 * bytes.c joins with what stands between them. */
#include "onnx/model.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The numbers that a type holds. */
struct range {
    double lo, hi;
};

/* x, the scale and the zero point (NULL: 0) of a node, and how the last two lie along x. */
struct linear {
    const struct onnx_value *x, *scale, *zero;
    int axis;
    int64_t block; /* elements of the axis that share a scale; 0: a scale for each of the axis, or one */
};

/* The type of a value's elements, one of Onnx__TensorProto__DataType; 0: it is not told. */
static int64_t type_of(const struct onnx_import *m, const struct onnx_value *v)
{
    const Onnx__GraphProto *g = m->file.model->graph;

    if (v->tensor.proto)
        return v->tensor.proto->data_type;
    for (size_t i = 0; i < g->n_input; i++) {
        const Onnx__TypeProto *t = g->input[i]->type;

        if (g->input[i]->name && strcmp(g->input[i]->name, v->name) == 0 && t &&
            t->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
            return t->tensor_type->elem_type;
    }
    return 0;
}

static bool range_of(int64_t type, struct range *out)
{
    static const struct range ranges[] = {[ONNX__TENSOR_PROTO__DATA_TYPE__UINT8] = {0, 255},
                                          [ONNX__TENSOR_PROTO__DATA_TYPE__INT8] = {-128, 127},
                                          [ONNX__TENSOR_PROTO__DATA_TYPE__UINT16] = {0, 65535},
                                          [ONNX__TENSOR_PROTO__DATA_TYPE__INT16] = {-32768, 32767},
                                          [ONNX_TYPE_UINT4] = {0, 15},
                                          [ONNX_TYPE_INT4] = {-8, 7}};

    if (type < 1 || type >= (int64_t)(sizeof ranges / sizeof ranges[0]) || ranges[type].hi < 1)
        return false;
    *out = ranges[type];
    return true;
}

/* Does a scale or zero point lie along x: one, one for each of an axis, or for each block of an axis? */
static bool lies_along(const struct linear *l, const struct onnx_value *v)
{
    const struct graph_shape *x = &l->x->shape;
    bool fits;

    if (!v || onnx_shape_elems(&v->shape) == 1)
        return true;
    if (l->block == 0)
        return v->shape.rank == 1 && l->axis >= 0 && v->shape.dim[0] == x->dim[l->axis];
    fits = v->shape.rank == x->rank && l->axis >= 0;
    for (int d = 0; d < x->rank && fits; d++)
        fits = v->shape.dim[d] == (d == l->axis ? (x->dim[d] + l->block - 1) / l->block : x->dim[d]);
    return fits;
}

/* The inputs of the node at hand; false with words. */
static bool read_linear(struct onnx_import *m, const Onnx__NodeProto *node, struct linear *l)
{
    *l = (struct linear){.x = onnx_in(m, node, 0), .scale = onnx_in(m, node, 1), .zero = onnx_in(m, node, 2)};
    l->block = onnx_attribute_int(node, "block_size", 0);
    if (!l->x || !l->scale || l->block < 0 || l->block > GRAPH_MAX_SIZE) {
        onnx_refuse(m, "expected a tensor and a scale");
        return false;
    }
    if (!onnx_axis(node, 1, l->x->shape.rank, &l->axis))
        l->axis = -1;
    if (lies_along(l, l->scale) && lies_along(l, l->zero))
        return true;
    onnx_refuse(m, "a scale or zero point that is neither one number nor one for each of an axis");
    return false;
}

/* The scale or zero point of element i of what is quantised; NULL: 0. */
static double along(const struct onnx_dequantised *d, const struct onnx_value *v, int64_t i)
{
    const struct graph_shape *x = &d->x->shape;
    const int64_t behind = d->axis < 0 ? 1 : graph_stretch(x, d->axis + 1, x->rank);
    int64_t n, at;

    assert(i >= 0 && d->axis < x->rank);
    if (!v || onnx_shape_elems(&v->shape) == 1)
        return v ? onnx_at(v, 0) : 0;
    n = x->dim[d->axis];
    at = i / behind % n;
    if (d->block == 0)
        return onnx_at(v, at);
    return onnx_at(v, (i / behind / n * ((n + d->block - 1) / d->block) + at / d->block) * behind + i % behind);
}

double onnx_dequantised_at(const struct onnx_dequantised *d, int64_t i)
{
    return (onnx_at(d->x, i) - along(d, d->zero, i)) * (double)(float)along(d, d->scale, i);
}

static bool is_constant(const struct onnx_value *v)
{
    return !v || v->kind == ONNX_CONSTANT;
}

/* A value that layers keep: theirs are lent. NULL: m->failed. */
static const struct onnx_value *kept(struct onnx_import *m, const struct onnx_value *v)
{
    struct onnx_value *copy = onnx_memory_take(&m->file.memory, sizeof *copy);

    if (copy)
        *copy = *v;
    else
        m->failed = ERR_LIMIT;
    return copy;
}

/* What a constant was, kept; NULL: m->failed. */
static const struct onnx_dequantised *origin(struct onnx_import *m, const struct linear *l)
{
    struct onnx_dequantised *d = onnx_memory_take(&m->file.memory, sizeof *d);

    if (d)
        *d = (struct onnx_dequantised){kept(m, l->x), kept(m, l->scale), l->zero ? kept(m, l->zero) : NULL, l->axis,
                                       l->block};
    else
        m->failed = ERR_LIMIT;
    return d;
}

/* Is a constant computed whenever it is read? */
static bool is_computed(const struct onnx_value *v)
{
    return v && !v->v && !v->tensor.proto;
}

/* All inputs are constants: dequantised where they are read; but not of such, whose reads would be ever deeper. */
static enum onnx_role fold_dequantised(struct onnx_import *m, const Onnx__NodeProto *node, const struct linear *l)
{
    struct onnx_value *out = onnx_out(m, node, 0);
    const struct onnx_dequantised *d = origin(m, l);
    const bool is_deep = is_computed(l->x) || is_computed(l->scale) || is_computed(l->zero);
    double *v = is_deep && !m->failed ? onnx_make_constant(m, out, &l->x->shape, true) : NULL;

    for (int64_t i = 0, n = v ? onnx_shape_elems(&l->x->shape) : 0; i < n; i++)
        v[i] = onnx_dequantised_at(d, i);
    out->dequantised = d;
    out->kind = ONNX_CONSTANT;
    out->shape = d ? d->x->shape : out->shape;
    out->is_float = true;
    if (d && !m->failed && !is_deep)
        onnx_join_blocks(m, out);
    return ONNX_FOLDED;
}

static enum onnx_role fold_quantised(struct onnx_import *m, const Onnx__NodeProto *node, const struct linear *l,
                                     const struct range *range)
{
    const struct onnx_dequantised d = {l->x, l->scale, l->zero, l->axis, l->block};
    double *v = onnx_make_constant(m, onnx_out(m, node, 0), &l->x->shape, false);

    for (int64_t i = 0, n = v ? onnx_shape_elems(&l->x->shape) : 0; i < n; i++)
        v[i] = fmin(fmax((double)rintf((float)onnx_at(l->x, i) / (float)along(&d, l->scale, i)) + along(&d, l->zero, i),
                         range->lo),
                    range->hi);
    return ONNX_FOLDED;
}

/* A scale or zero point in the shape that is broadcast to x. False: m->failed, or words. */
static bool aligned(struct onnx_import *m, const struct linear *l, const struct onnx_value *v, struct onnx_value *out)
{
    *out = *v;
    if (onnx_shape_elems(&v->shape) == 1) {
        out->shape = (struct graph_shape){.rank = 0};
        return true;
    }
    if (l->block == 0) {
        for (int d = l->axis + 1; d < l->x->shape.rank; d++)
            out->shape.dim[out->shape.rank++] = 1;
        return true;
    }
    if (v->kind != ONNX_CONSTANT) {
        onnx_refuse(m, "a scale for each block that is no constant");
        return false;
    }
    if (!onnx_make_constant(m, out, &l->x->shape, true))
        return false;
    for (int64_t i = 0, n = onnx_shape_elems(&l->x->shape); i < n; i++)
        out->v[i] = along(&(struct onnx_dequantised){.x = l->x, .axis = l->axis, .block = l->block}, v, i);
    return true;
}

/* An element-wise layer, `text` with a, b and c for x, scale and zero point. x is a layer's as a whole: nothing that
 * follows or was before becomes part of it. */
static enum onnx_role layer(struct onnx_import *m, const Onnx__NodeProto *node, const struct linear *l,
                            const char *text)
{
    struct onnx_value x = *l->x, part;
    const struct onnx_value *of[3] = {&x, NULL, NULL};
    size_t n = 1;
    enum onnx_role role;

    x.sole = false;
    for (const struct onnx_value *const *v = (const struct onnx_value *const[]){l->scale, l->zero, NULL}; *v; v++) {
        if (!aligned(m, l, *v, &part) || !(of[n++] = kept(m, &part)))
            return m->failed ? ONNX_PLAIN : ONNX_UNSUPPORTED;
    }
    role = onnx_eltwise_values(m, node, text, of, n, 0);
    if (role != ONNX_UNSUPPORTED && !m->failed && !graph_same_shape(&onnx_out(m, node, 0)->shape, &l->x->shape))
        return onnx_refuse(m, "a scale that does not fit");
    return role;
}

/* One constant number, finite and, of scales, above 0, of zero points one that 16 bits hold? */
static bool is_plain(const struct onnx_value *v, bool is_scale)
{
    const double at = v->kind == ONNX_CONSTANT && onnx_shape_elems(&v->shape) == 1 ? onnx_at(v, 0) : NAN;

    return is_scale ? at >= (double)FLT_MIN && at <= (double)FLT_MAX : at >= -32768 && at <= 65535 && at == rint(at);
}

/* Remembers what the node's layer does, where it is one scale and zero point that are constant. */
static void remember(struct onnx_import *m, const Onnx__NodeProto *node, const struct linear *l,
                     const struct range *range)
{
    const bool one = is_plain(l->scale, true) && (!l->zero || is_plain(l->zero, false));
    struct onnx_quant *q = one ? onnx_memory_take(&m->file.memory, sizeof *q) : NULL;

    if (!one || m->failed)
        return;
    if (!q) {
        m->failed = ERR_LIMIT;
        return;
    }
    *q = (struct onnx_quant){.quantises = range != NULL,
                             .scale = (float)onnx_at(l->scale, 0),
                             .zero = l->zero ? (int)onnx_at(l->zero, 0) : 0,
                             .lo = range ? (int)range->lo : 0,
                             .hi = range ? (int)range->hi : 0};
    m->layers[onnx_out(m, node, 0)->i_layer].quant = q;
}

enum onnx_role onnx_quantize(struct onnx_import *m, const Onnx__NodeProto *node)
{
    int64_t type = onnx_attribute_int(node, "output_dtype", 0);
    enum onnx_role role;
    struct range range;
    struct linear l;
    char text[96];

    if (!read_linear(m, node, &l))
        return ONNX_UNSUPPORTED;
    type = type ? type : l.zero ? type_of(m, l.zero) : ONNX__TENSOR_PROTO__DATA_TYPE__UINT8;
    type = type ? type : ONNX__TENSOR_PROTO__DATA_TYPE__UINT8; /* of a zero point that was computed */
    if (!range_of(type, &range))
        return onnx_refuse(m, "to elements of type %lld: expected whole numbers of 4, 8 or 16 bits", (long long)type);
    if (is_constant(l.x) && is_constant(l.scale) && is_constant(l.zero))
        return fold_quantised(m, node, &l, &range);
    if (!onnx_is_activation(l.x))
        return onnx_refuse(m, "of a constant by a scale that is none");
    snprintf(text, sizeof text, "clip(%s,%.0f,%.0f)", l.zero ? "add(round(div(a,b)),c)" : "round(div(a,b))", range.lo,
             range.hi);
    role = layer(m, node, &l, text);
    if (role != ONNX_UNSUPPORTED)
        remember(m, node, &l, &range);
    return role;
}

enum onnx_role onnx_dequantize(struct onnx_import *m, const Onnx__NodeProto *node)
{
    struct linear l;
    enum onnx_role role;

    if (!read_linear(m, node, &l))
        return ONNX_UNSUPPORTED;
    if (is_constant(l.x) && is_constant(l.scale) && is_constant(l.zero))
        return fold_dequantised(m, node, &l);
    if (!onnx_is_activation(l.x))
        return onnx_refuse(m, "of a constant by a scale that is none");
    role = layer(m, node, &l, l.zero ? "mul(sub(a,c),b)" : "mul(a,b)");
    if (role != ONNX_UNSUPPORTED)
        remember(m, node, &l, NULL);
    return role;
}
