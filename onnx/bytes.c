/* SPDX-License-Identifier: MIT */
/* bytes.c - what stands between DequantizeLinear and QuantizeLinear computed on bytes: convolutions, dense layers,
 * sums, pools and other shapes become u8 layers whose kernels requantise; the two nodes themselves layers that make
 * floats bytes, or bytes floats, where something on floats remains. Signed bytes are u8 with 128 more. */
#include "onnx/model.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SUM 2147483647.0

/* Layers while they are looked at. */
struct joining {
    struct onnx_import *m;
    const struct onnx_quant **of; /* [n_layers]: of what a layer gives in bytes; NULL: floats */
    int *n_readers;               /* [n_layers], the caller one of them */
};

static struct onnx_layer *layer(const struct joining *x, int i)
{
    return &x->m->layers[i];
}

static bool is_dequantize(const struct onnx_layer *l)
{
    return l->quant && !l->quant->quantises;
}

/* Of 8 bits? */
static bool is_quantize(const struct onnx_layer *l)
{
    return l->quant && l->quant->quantises && l->quant->hi - l->quant->lo == 255;
}

static int more_of(const struct onnx_quant *q)
{
    return q->lo < 0 ? 128 : 0;
}

static int zero_of(const struct onnx_quant *q)
{
    return q->zero + more_of(q);
}

/* Does it give numbers that it reads, in another order or shape? */
static bool passes_on(const struct onnx_layer *l)
{
    return (l->node.op == GRAPH_POOL2D && !l->node.avg) || l->node.op == GRAPH_RESHAPE;
}

/* Are all readers of a layer DequantizeLinear, or pass its numbers on to such? */
static bool only_dequantized(const struct joining *x, int i)
{
    int n = 0;

    for (size_t k = (size_t)i + 1; k < x->m->n_layers; k++) {
        const struct onnx_layer *l = layer(x, (int)k);

        for (int at = 0; l->live && at < l->node.n_in; at++)
            if (l->node.in[at] == i) {
                if (!is_dequantize(l) && !(passes_on(l) && only_dequantized(x, (int)k)))
                    return false;
                n++;
            }
    }
    return n > 0 && n == x->n_readers[i]; /* else the caller reads it */
}

/* Of a layer of bytes with the scale and zero point by which DequantizeLinear `i` reads it. */
static struct onnx_quant read_as(const struct joining *x, int i)
{
    struct onnx_quant q = *layer(x, i)->quant;
    const struct onnx_quant *of = x->of[layer(x, i)->node.in[0]];

    q.lo = of->lo;
    q.hi = of->hi;
    return q;
}

/* The layer of bytes that layer i makes floats of; -1: it does not, or by a zero point that is no byte, as which it
 * could not be put around images. */
static int bytes_behind(const struct joining *x, int i)
{
    struct onnx_quant q;

    if (!is_dequantize(layer(x, i)) || !x->of[layer(x, i)->node.in[0]])
        return -1;
    q = read_as(x, i);
    return zero_of(&q) >= 0 && zero_of(&q) <= 255 ? layer(x, i)->node.in[0] : -1;
}

static bool same(const struct onnx_quant *a, const struct onnx_quant *b)
{
    return a->scale >= b->scale && a->scale <= b->scale && zero_of(a) == zero_of(b);
}

/* Room for a layer's scales and zero points; false: m->failed. */
static bool give_scales(struct joining *x, struct onnx_layer *l, int64_t n_scales, int n_zeros)
{
    assert(n_scales > 0 && n_zeros > 0);
    l->scale = onnx_memory_take(&x->m->file.memory, (size_t)n_scales * sizeof *l->scale);
    l->zero = onnx_memory_take(&x->m->file.memory, (size_t)n_zeros * sizeof *l->zero);
    l->n_scales = n_scales;
    l->n_zeros = n_zeros;
    if (l->scale && l->zero)
        return true;
    x->m->failed = ERR_LIMIT;
    return false;
}

/* ---- layers with weights ---- */

/* The whole numbers that a layer's weights are, in `to`: signed bytes; false: they are not such. */
static bool whole_weights(const struct onnx_layer *l, const struct onnx_dequantised *d, double *minus)
{
    const int64_t n = onnx_shape_elems(&d->x->shape);

    *minus = d->zero ? onnx_at(d->zero, 0) : 0;
    for (int64_t k = 0; d->zero && k < onnx_shape_elems(&d->zero->shape); k++)
        if (onnx_at(d->zero, k) < *minus || onnx_at(d->zero, k) > *minus)
            return false;
    for (int64_t k = 0; k < l->n_bias; k++)
        if (l->factor[k] < 1 || l->factor[k] > 1)
            return false;
    for (int64_t i = 0; i < n; i++)
        if (!(onnx_at(d->x, i) - *minus >= -128 && onnx_at(d->x, i) - *minus <= 127) ||
            onnx_at(d->x, i) != rint(onnx_at(d->x, i)))
            return false;
    return n == l->n_w && graph_same_shape(&d->x->shape, &l->w->shape);
}

/* Is the scale of weights one, or one for each output, all above 0? */
static bool scales_outputs(const struct onnx_layer *l, const struct onnx_dequantised *d)
{
    const int64_t n = onnx_shape_elems(&d->scale->shape);

    for (int64_t k = 0; k < n; k++)
        if (!(onnx_at(d->scale, k) >= (double)FLT_MIN && onnx_at(d->scale, k) <= (double)FLT_MAX))
            return false;
    return n == 1 || (d->block == 0 && n == l->n_bias && d->axis == (l->w_transposed ? 1 : 0));
}

/* What a whole number of the sums of output k stands for, of bytes of the scale of `in`. */
static float unit_of(const struct onnx_layer *l, const struct onnx_quant *in, int64_t k)
{
    const struct onnx_value *of = l->w->dequantised->scale;

    return in->scale * (float)onnx_at(of, onnx_shape_elems(&of->shape) == 1 ? 0 : k);
}

/* Do 32 bits hold each sum and its bias? */
static bool sums_fit(const struct onnx_layer *l, const struct onnx_quant *in)
{
    const double most = (double)(l->n_w / l->n_bias) * 255 * 128;

    for (int64_t k = 0; k < l->n_bias; k++)
        if (!(fabs(l->bias[k] / (double)unit_of(l, in, k)) + most < MOST_SUM))
            return false;
    return true;
}

/* Does what ReLU6 takes away lie beyond the largest byte anyhow? */
static bool ends_at_6(const struct onnx_quant *y)
{
    return rintf(6 / y->scale) + (float)zero_of(y) >= 255;
}

/* Could layer c, which QuantizeLinear of y alone reads, requantise instead? */
static bool may_requantise(const struct joining *x, int c, const struct onnx_quant *y, double *minus)
{
    const struct onnx_layer *l = layer(x, c);
    const struct graph_node *n = &l->node;
    const struct onnx_dequantised *d = l->w ? l->w->dequantised : NULL;
    struct onnx_quant in;

    if (n->n_in != 1 || bytes_behind(x, n->in[0]) < 0)
        return false;
    in = read_as(x, n->in[0]);
    return l->live && l->bias && d && x->n_readers[c] == 1 && !n->curve &&
           (n->op == GRAPH_CONV2D || n->op == GRAPH_DEPTHWISE || n->op == GRAPH_DENSE) && (!n->relu6 || ends_at_6(y)) &&
           scales_outputs(l, d) && whole_weights(l, d, minus) && sums_fit(l, &in);
}

/* Layer i, QuantizeLinear, becomes the layer c that it reads, on bytes. */
static bool requantise(struct joining *x, int i, int c)
{
    struct onnx_layer *l = layer(x, i), *sums = layer(x, c);
    const struct onnx_quant *y = l->quant;
    const struct graph_node was = l->node;
    struct onnx_quant in;
    double minus;

    if (!may_requantise(x, c, y, &minus))
        return false;
    in = read_as(x, sums->node.in[0]);
    *l = *sums;
    memcpy(l->node.name, sums->node.name, sizeof was.name);
    memcpy(sums->node.name, was.name, sizeof was.name);
    l->node.in[0] = bytes_behind(x, sums->node.in[0]);
    l->node.relu = sums->node.relu || sums->node.relu6;
    l->node.relu6 = false;
    l->node.bytes = true;
    l->minus = minus;
    l->live = true;
    sums->live = false;
    if (!give_scales(x, l, l->n_bias, 2))
        return true;
    for (int64_t k = 0; k < l->n_bias; k++) {
        const float by = unit_of(l, &in, k);

        l->scale[k] = by / y->scale;
        l->bias[k] = rint(l->bias[k] / (double)by);
    }
    l->w = l->w->dequantised->x;
    l->zero[0] = zero_of(&in);
    l->zero[1] = zero_of(y);
    return true;
}

/* The mean over windows without pads as a depthwise layer of ones. */
static bool mean(struct joining *x, int i, int c)
{
    struct onnx_layer *l = layer(x, i);
    const struct onnx_layer *pool = layer(x, c);
    const struct graph_node *n = &pool->node;
    const struct onnx_quant *y = l->quant, in = read_as(x, n->in[0]);
    const int64_t window = n->key[GRAPH_R] * n->key[GRAPH_S], channels = n->shape.dim[1];
    struct graph_node made = *n;

    if (!n->avg || n->key[GRAPH_TOP] || n->key[GRAPH_LEFT] || n->key[GRAPH_BOTTOM] || n->key[GRAPH_RIGHT] ||
        window > 128)
        return false;
    memcpy(made.name, l->node.name, sizeof made.name);
    made.op = GRAPH_DEPTHWISE;
    made.avg = false;
    made.bytes = true;
    made.in[0] = bytes_behind(x, n->in[0]);
    made.key[GRAPH_GROUPS] = made.key[GRAPH_DIL_H] = made.key[GRAPH_DIL_W] = 1;
    l->node = made;
    if (!onnx_give_weights(x->m, l, NULL, channels * window, channels) || !give_scales(x, l, channels, 2))
        return true;
    for (int64_t k = 0; k < channels; k++)
        l->scale[k] = in.scale / (y->scale * (float)window);
    l->zero[0] = zero_of(&in);
    l->zero[1] = zero_of(y);
    return true;
}

/* ---- layers without ---- */

/* Does it give numbers that it reads, of one tensor or several, and nothing else? */
static bool moves(const struct onnx_layer *l)
{
    return passes_on(l) || l->node.op == GRAPH_CONCAT ||
           (l->node.op == GRAPH_COPY && !strstr(l->node.words, " p")); /* nothing is put around */
}

/* Are all numbers that layer c gives, alone to its reader, bytes of this scale and zero point that were moved? */
static bool carries(const struct joining *x, int c, const struct onnx_quant *q)
{
    const struct onnx_layer *l = layer(x, c);
    struct onnx_quant in;

    if (is_dequantize(l)) {
        in = bytes_behind(x, c) < 0 ? *q : read_as(x, c);
        return bytes_behind(x, c) >= 0 && same(&in, q);
    }
    if (x->n_readers[c] != 1 || !moves(l))
        return false;
    for (int k = 0; k < l->node.n_in; k++)
        if (!carries(x, l->node.in[k], q))
            return false;
    return true;
}

/* Such a layer, and those that it reads, move bytes. */
static void carry(struct joining *x, int c, const struct onnx_quant *q)
{
    struct graph_node *n = &layer(x, c)->node;

    n->bytes = true;
    x->of[c] = q;
    for (int k = 0; k < n->n_in; k++)
        if (is_dequantize(layer(x, n->in[k])))
            n->in[k] = bytes_behind(x, n->in[k]);
        else
            carry(x, n->in[k], q);
}

/* What layer c does with bytes without another scale: the largest, another shape or order. */
static bool pass_on(struct joining *x, int i, int c)
{
    struct onnx_layer *l = layer(x, i);
    char name[GRAPH_NAME_BYTES];

    if (is_dequantize(layer(x, c)) || !carries(x, c, l->quant))
        return false;
    carry(x, c, l->quant);
    memcpy(name, l->node.name, sizeof name);
    l->node = layer(x, c)->node;
    memcpy(l->node.name, name, sizeof name);
    return true;
}

/* Does layer c, which is read once, read one tensor of bytes? */
static bool reads_bytes(const struct joining *x, int c)
{
    return layer(x, c)->node.n_in == 1 && x->n_readers[c] == 1 && bytes_behind(x, layer(x, c)->node.in[0]) >= 0;
}

/* The sum of two tensors of one shape. */
static bool add(struct joining *x, int i, int c)
{
    struct onnx_layer *l = layer(x, i);
    const struct graph_node *n = &layer(x, c)->node;
    const bool relu = strcmp(n->words, "f=relu(add(a,b))") == 0;
    struct onnx_quant in[2];
    int of[2];

    if (n->op != GRAPH_ELTWISE || n->n_in != 2 || (!relu && strcmp(n->words, "f=add(a,b)") != 0))
        return false;
    for (int k = 0; k < 2; k++) {
        of[k] = bytes_behind(x, n->in[k]);
        if (of[k] < 0 || !graph_same_shape(&layer(x, of[k])->node.shape, &l->node.shape))
            return false;
        in[k] = read_as(x, n->in[k]);
    }
    l->node.op = GRAPH_ADD;
    l->node.words[0] = '\0';
    l->node.relu = relu;
    l->node.bytes = true;
    l->node.n_in = 2;
    memcpy(l->node.in, of, sizeof of);
    if (!give_scales(x, l, 2, 3))
        return true;
    for (int k = 0; k < 2; k++) {
        l->scale[k] = in[k].scale / l->quant->scale;
        l->zero[k] = zero_of(&in[k]);
    }
    l->zero[2] = zero_of(l->quant);
    return true;
}

/* A kernel between floats and bytes. */
static void convert(struct joining *x, int i, const struct onnx_quant *q)
{
    struct onnx_layer *l = layer(x, i);

    l->node.op = GRAPH_QUANTIZE;
    l->node.words[0] = '\0';
    l->node.n_in = 1;
    l->node.bytes = q->quantises;
    if (give_scales(x, l, 1, 1)) {
        l->scale[0] = q->scale;
        l->zero[0] = zero_of(q);
    }
}

static void join(struct joining *x, int i)
{
    struct onnx_layer *l = layer(x, i);
    const int c = l->node.n_in ? l->node.in[0] : -1;

    if (is_quantize(l) && only_dequantized(x, i)) {
        x->of[i] = l->quant;
        if (requantise(x, i, c)) {
            layer(x, i)->quant = NULL;
            return;
        }
        if (!(reads_bytes(x, c) && mean(x, i, c)) && !pass_on(x, i, c) && !add(x, i, c))
            convert(x, i, l->quant);
    } else if (is_dequantize(l) && x->of[c]) {
        const struct onnx_quant q = read_as(x, i);

        convert(x, i, &q);
    } else if (c >= 0 && x->of[c] && passes_on(l)) {
        x->of[i] = x->of[c];
        l->node.bytes = true;
    }
}

void onnx_join_bytes(struct onnx_import *m)
{
    struct joining x = {m, calloc(m->n_layers + 1, sizeof(struct onnx_quant *)), calloc(m->n_layers + 1, sizeof(int))};

    if (!x.of || !x.n_readers)
        m->failed = ERR_LIMIT;
    for (size_t i = 0; i < m->n_layers && !m->failed; i++)
        for (int k = 0; m->layers[i].live && k < m->layers[i].node.n_in; k++)
            x.n_readers[m->layers[i].node.in[k]]++;
    for (size_t k = 0; k < m->n_outputs && !m->failed; k++)
        x.n_readers[m->outputs[k]]++;
    for (size_t i = 0; i < m->n_layers && !m->failed; i++)
        if (m->layers[i].live)
            join(&x, (int)i);
    free(x.of);
    free(x.n_readers);
}
