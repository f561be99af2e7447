/* SPDX-License-Identifier: MIT */
#include "onnx/model.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST_INT 9007199254740992.0 /* 2^53 */

enum onnx_role onnx_refuse(struct onnx_import *m, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(m->words, sizeof m->words, format, args);
    va_end(args);
    return ONNX_UNSUPPORTED;
}

static int by_name(const void *name, const void *value)
{
    return strcmp(name, (*(struct onnx_value *const *)value)->name);
}

static struct onnx_value *find(const struct onnx_import *m, const char *name)
{
    struct onnx_value **at = name && *name ? bsearch(name, m->by_name, m->n_values, sizeof *m->by_name, by_name) : NULL;

    return at ? *at : NULL;
}

struct onnx_value *onnx_in(const struct onnx_import *m, const Onnx__NodeProto *node, size_t i)
{
    return i < node->n_input ? find(m, node->input[i]) : NULL;
}

struct onnx_value *onnx_out(const struct onnx_import *m, const Onnx__NodeProto *node, size_t i)
{
    return i < node->n_output ? find(m, node->output[i]) : NULL;
}

const Onnx__AttributeProto *onnx_attribute(const Onnx__NodeProto *node, const char *name)
{
    for (size_t i = 0; i < node->n_attribute; i++)
        if (node->attribute[i]->name && strcmp(node->attribute[i]->name, name) == 0)
            return node->attribute[i];
    return NULL;
}

int64_t onnx_attribute_int(const Onnx__NodeProto *node, const char *name, int64_t otherwise)
{
    const Onnx__AttributeProto *a = onnx_attribute(node, name);

    return a && a->has_i ? a->i : otherwise;
}

double onnx_attribute_real(const Onnx__NodeProto *node, const char *name, double otherwise)
{
    const Onnx__AttributeProto *a = onnx_attribute(node, name);

    return a && a->has_f ? (double)a->f : otherwise;
}

double onnx_at(const struct onnx_value *v, int64_t i)
{
    assert(v->kind == ONNX_CONSTANT && i >= 0);
    if (v->blocks)
        return onnx_blocks_at(v->blocks, i);
    if (v->v)
        return v->v[v->is_uniform ? 0 : i];
    return v->tensor.proto ? onnx_tensor_at(&v->tensor, i) : onnx_dequantised_at(v->dequantised, i);
}

bool onnx_int_at(const struct onnx_value *v, int64_t i, int64_t *out)
{
    const double x = onnx_at(v, i);
    const bool whole = x == floor(x) && fabs(x) <= LARGEST_INT;

    *out = whole ? (int64_t)x : x < 0 ? INT64_MIN / 4 : INT64_MAX / 4; /* the ends that Slice is given */
    return whole || (!v->is_float && fabs(x) > LARGEST_INT);
}

bool onnx_ints(const struct onnx_import *m, const Onnx__NodeProto *node, const char *attribute, size_t i_input,
               int64_t *out, size_t most, size_t *n)
{
    const Onnx__AttributeProto *a = onnx_attribute(node, attribute);
    const struct onnx_value *v = onnx_in(m, node, i_input);
    bool fine = true;

    *n = a ? a->n_ints : v && v->kind == ONNX_CONSTANT ? (size_t)onnx_shape_elems(&v->shape) : 0;
    if (*n > most || (!a && v && (v->kind != ONNX_CONSTANT || v->shape.rank > 1)))
        return false;
    for (size_t i = 0; i < *n && fine; i++)
        if (a)
            out[i] = a->ints[i];
        else
            fine = onnx_int_at(v, (int64_t)i, &out[i]);
    return fine;
}

double *onnx_make_constant(struct onnx_import *m, struct onnx_value *out, const struct graph_shape *shape,
                           bool is_float)
{
    const int64_t n = onnx_shape_elems(shape);

    out->v = n < 0 ? NULL : onnx_memory_take(&m->file.memory, (size_t)n * sizeof *out->v);
    if (!out->v) {
        m->failed = ERR_LIMIT;
        return NULL;
    }
    out->kind = ONNX_CONSTANT;
    out->shape = *shape;
    out->is_float = is_float;
    return out->v;
}

struct onnx_value *onnx_new_constant(struct onnx_import *m, const char *name, const struct graph_shape *shape,
                                     bool is_float)
{
    struct onnx_value *v = onnx_memory_take(&m->file.memory, sizeof *v);

    if (!v) {
        m->failed = ERR_LIMIT;
        return NULL;
    }
    v->name = name;
    return onnx_make_constant(m, v, shape, is_float) ? v : NULL;
}

void onnx_make_activation(struct onnx_value *out, int i_layer, const struct graph_shape *shape)
{
    assert(i_layer >= 0);
    out->kind = ONNX_ACTIVATION;
    out->shape = *shape;
    out->i_layer = i_layer;
    out->view = out->seen = NULL;
    out->sole = out->n_readers == 1;
}

void onnx_make_view(struct onnx_value *out, const struct onnx_value *of, const struct graph_shape *shape)
{
    const struct onnx_value was = *out;

    assert(of->kind == ONNX_CONSTANT || of->kind == ONNX_ACTIVATION);
    *out = *of;
    out->name = was.name;
    out->n_readers = was.n_readers;
    out->is_output = was.is_output;
    out->seen = NULL;
    out->sole = of->sole && was.n_readers == 1;
    out->shape = *shape;
}

/* Grows an array of the model's memory; the old one stays until the end. */
static void *grown(struct onnx_import *m, void *old, size_t n, size_t *cap, size_t size)
{
    const size_t more = *cap ? 2 * *cap : 64;
    void *list;

    assert(n <= *cap);
    if (n < *cap)
        return old;
    list = onnx_memory_take(&m->file.memory, more * size);
    if (!list) {
        m->failed = ERR_LIMIT;
        return NULL;
    }
    if (n)
        memcpy(list, old, n * size);
    *cap = more;
    return list;
}

static bool is_taken(const struct onnx_import *m, const char *name)
{
    for (size_t i = 0; i < m->n_layers; i++)
        if (strcmp(m->layers[i].node.name, name) == 0)
            return true;
    return false;
}

/* A name of letters, digits and _ that no layer has: the last of a long one, as that is where names differ. */
static void set_name(const struct onnx_import *m, const char *from, char out[GRAPH_NAME_BYTES])
{
    char base[GRAPH_NAME_BYTES - 8];
    size_t n = 0;

    from += strlen(from) > sizeof base - 2 ? strlen(from) - (sizeof base - 2) : 0;
    from += strspn(from, "/.:_");
    if (!isalpha((unsigned char)*from) || (unsigned char)*from > 127)
        base[n++] = 't';
    for (; *from && n + 1 < sizeof base; from++)
        base[n++] = isalnum((unsigned char)*from) && (unsigned char)*from < 128 ? *from : '_';
    base[n] = '\0';
    snprintf(out, GRAPH_NAME_BYTES, "%s", base);
    for (size_t i = m->n_layers; is_taken(m, out); i++)
        snprintf(out, GRAPH_NAME_BYTES, "%s_%zu", base, i);
}

int onnx_new_layer(struct onnx_import *m, const Onnx__NodeProto *node, enum graph_op op, int x)
{
    struct onnx_layer *l = m->n_layers < GRAPH_MAX_NODES && !m->failed
                               ? grown(m, m->layers, m->n_layers, &m->cap_layers, sizeof *l)
                               : NULL;
    const char *name = node->name && *node->name ? node->name : node->n_output ? node->output[0] : "";

    assert(x < (int)m->n_layers);
    if (!l) {
        m->failed = ERR_LIMIT;
        return -1;
    }
    m->layers = l;
    l = &m->layers[m->n_layers];
    *l = (struct onnx_layer){.node = {.op = op, .in = {x}, .n_in = x >= 0}};
    l->node.key[GRAPH_STRIDE_H] = l->node.key[GRAPH_STRIDE_W] = l->node.key[GRAPH_DIL_H] = l->node.key[GRAPH_DIL_W] =
        l->node.key[GRAPH_GROUPS] = 1;
    set_name(m, name, l->node.name);
    return (int)m->n_layers++;
}

bool onnx_give_weights(struct onnx_import *m, struct onnx_layer *l, const struct onnx_value *w, int64_t n_w,
                       int64_t n_bias)
{
    assert(n_bias > 0 && n_w % n_bias == 0);
    l->factor = onnx_memory_take(&m->file.memory, 2 * (size_t)n_bias * sizeof *l->factor);
    if (!l->factor) {
        m->failed = ERR_LIMIT;
        return false;
    }
    l->w = w;
    l->bias = l->factor + n_bias;
    l->n_w = n_w;
    l->n_bias = n_bias;
    for (int64_t k = 0; k < n_bias; k++)
        l->factor[k] = 1;
    return true;
}

/* The element of w that is the i-th weight, which belongs to channel k. */
static int64_t place_of_weight(const struct onnx_layer *l, int64_t i, int64_t taps, int64_t k)
{
    const int64_t columns = l->w_columns ? l->w_columns : l->n_bias;

    return l->w_transposed ? i % taps * columns + l->w_first + k : i + l->w_first * taps;
}

double onnx_weight_at(const struct onnx_layer *l, int64_t i)
{
    const int64_t taps = l->n_bias ? l->n_w / l->n_bias : l->n_w, k = i / taps;
    double w;

    assert(i >= 0 && i < l->n_w);
    if (!l->bias)
        return onnx_at(l->w, i);
    w = l->w ? onnx_at(l->w, place_of_weight(l, i, taps, k)) : 1;
    if (l->scale)
        return l->w ? w - l->minus : 1;
    return l->factor[k] * w;
}

int onnx_layer_as(struct onnx_import *m, const struct onnx_value *v, const struct graph_shape *shape)
{
    const Onnx__NodeProto named = {.name = (char *)(uintptr_t)v->name};
    int i = v->i_layer;

    assert(v->kind == ONNX_ACTIVATION && onnx_shape_elems(shape) == onnx_shape_elems(&m->layers[i].node.shape));
    if (graph_same_shape(&m->layers[i].node.shape, shape))
        return i;
    i = onnx_new_layer(m, &named, GRAPH_RESHAPE, i);
    if (i >= 0)
        m->layers[i].node.shape = *shape;
    return i;
}

int onnx_constant_layer(struct onnx_import *m, const struct onnx_value *v, const struct graph_shape *shape)
{
    const Onnx__NodeProto named = {.name = (char *)(uintptr_t)v->name};
    const int64_t n = graph_elems(shape);
    int i;

    assert(v->kind == ONNX_CONSTANT);
    if (n < 1) {
        onnx_refuse(m, "a constant of no elements, or over %lld", (long long)GRAPH_MAX_ELEMS);
        return -1;
    }
    i = onnx_new_layer(m, &named, GRAPH_CONSTANT, -1);
    if (i < 0)
        return -1;
    m->layers[i].node.shape = shape->rank ? *shape : (struct graph_shape){1, {1}};
    m->layers[i].w = v;
    m->layers[i].n_w = n;
    return i;
}

bool onnx_as_activation(struct onnx_import *m, const struct onnx_value *v, struct onnx_value *out)
{
    const Onnx__NodeProto named = {.name = (char *)(uintptr_t)v->name};
    const int of = onnx_constant_layer(m, v, &v->shape), i = of < 0 ? -1 : onnx_new_layer(m, &named, GRAPH_ELTWISE, of);

    if (i < 0)
        return false;
    strcpy(m->layers[i].node.words, "f=a");
    m->layers[i].node.shape = m->layers[of].node.shape;
    *out = (struct onnx_value){.name = v->name, .n_readers = 1, .is_float = v->is_float};
    onnx_make_activation(out, i, &v->shape);
    return true;
}

enum onnx_role onnx_finish(struct onnx_import *m, const Onnx__NodeProto *node, int i_layer, enum onnx_role role)
{
    struct graph_node *n = i_layer < 0 ? NULL : &m->layers[i_layer].node;
    const struct graph_shape *in[GRAPH_MAX_INPUTS] = {NULL};
    struct why why = {""};

    if (!n)
        return role; /* m->failed is set */
    assert((size_t)i_layer < m->n_layers);
    for (int k = 0; k < n->n_in; k++)
        in[k] = &m->layers[n->in[k]].node.shape;
    if (graph_infer(n, in, &why))
        return onnx_refuse(m, "%.200s", why.text);
    onnx_make_activation(onnx_out(m, node, 0), i_layer, &n->shape);
    return role;
}

int onnx_new_scale(struct onnx_import *m, const Onnx__NodeProto *node, int x)
{
    const int i = x < 0 ? -1 : onnx_new_layer(m, node, GRAPH_DEPTHWISE, x);
    struct onnx_layer *l = i < 0 ? NULL : &m->layers[i];

    if (!l || !onnx_give_weights(m, l, NULL, m->layers[x].node.shape.dim[1], m->layers[x].node.shape.dim[1]))
        return -1;
    l->node.shape = m->layers[x].node.shape;
    l->node.key[GRAPH_R] = l->node.key[GRAPH_S] = 1;
    return i;
}
