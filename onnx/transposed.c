/* SPDX-License-Identifier: MIT */
/* transposed.c - ConvTranspose as a convolution of stride 1: its outputs, taken every `stride` apart, are sums over
 * neighbouring inputs, so each of these phases is a set of channels; a copy puts them between each other. */
#include "onnx/model.h"
#include "onnx/views.h"

#include <string.h>

/* An axis: `size` outputs of n inputs. Output stride * j + p, of phase p, sums the inputs j + offset of the taps that
 * meet it. The convolution has `taps` from offset `low` on, `dilation` apart, over `before` and `after` zeros; phase p
 * lies p * shift places on in its output. */
struct axis {
    int64_t n, size, window, stride, dilation, pad;
    int64_t low, taps, step, shift, places, before, after;
};

struct transposed {
    struct onnx_import *m;
    const Onnx__NodeProto *node;
    int rank;
    int64_t groups, k; /* output channels, of all groups */
    struct axis axis[2];
};

static bool is_word(const Onnx__AttributeProto *a, const char *word)
{
    return a && a->s.len == strlen(word) && memcmp(a->s.data, word, a->s.len) == 0;
}

/* Number i of a list of n axes, or `otherwise` without the list. */
static bool read_number(const struct transposed *t, const char *name, size_t n, size_t i, int64_t otherwise,
                        int64_t *out)
{
    const Onnx__AttributeProto *a = onnx_attribute(t->node, name);

    *out = a && a->n_ints == n ? a->ints[i] : otherwise;
    return (!a || a->n_ints == n) && *out >= 0 && *out <= GRAPH_MAX_SIZE;
}

/* The output's size and the pad before it, of an axis whose window is known. */
static bool read_size(struct transposed *t, size_t n_axes, size_t i, struct axis *a)
{
    const Onnx__AttributeProto *given = onnx_attribute(t->node, "output_shape"),
                               *automatic = onnx_attribute(t->node, "auto_pad");
    const bool upper = is_word(automatic, "SAME_UPPER"), same = upper || is_word(automatic, "SAME_LOWER");
    int64_t more, end, all;

    if (!read_number(t, "output_padding", n_axes, i, 0, &more) || !read_number(t, "pads", 2 * n_axes, i, 0, &a->pad) ||
        !read_number(t, "pads", 2 * n_axes, n_axes + i, 0, &end))
        return false;
    all = a->stride * (a->n - 1) + more + (a->window - 1) * a->dilation + 1;
    a->size = given && given->n_ints >= n_axes ? given->ints[given->n_ints - n_axes + i]
              : same                           ? a->n * a->stride
              : is_word(automatic, "VALID")    ? all
                                               : all - a->pad - end;
    if (given || same) {
        const int64_t pads = all - a->size > 0 ? all - a->size : 0;

        a->pad = upper ? pads / 2 : pads - pads / 2;
    }
    if (is_word(automatic, "VALID"))
        a->pad = 0;
    return a->size > 0 && a->size <= GRAPH_MAX_SIZE;
}

/* The input's offset where tap i meets outputs of phase p; false: it meets none. */
static bool offset_of(const struct axis *a, int64_t p, int64_t i, int64_t *out)
{
    const int64_t at = p + a->pad - i * a->dilation;

    *out = at / a->stride - p * a->shift;
    return at % a->stride == 0;
}

/* The offsets of a phase; false: it has no taps. */
static bool reach_of(const struct axis *a, int64_t p, int64_t *low, int64_t *high)
{
    bool found = false;

    for (int64_t i = 0, at; i < a->window; i++)
        if (offset_of(a, p, i, &at)) {
            *low = found && *low < at ? *low : at;
            *high = found && *high > at ? *high : at;
            found = true;
        }
    return found;
}

static void plan(struct axis *a)
{
    const int64_t outputs = (a->size + a->stride - 1) / a->stride;
    int64_t low = 0, high = 0, lowest = 0, highest = 0, first, last;
    bool found = false;

    /* of two phases the second one may lie a place on: then both sum the same inputs */
    if (a->stride == 2 && reach_of(a, 0, &low, &highest) && reach_of(a, 1, &low, &high))
        a->shift = high - highest;
    for (int64_t p = 0; p < a->stride; p++)
        if (reach_of(a, p, &low, &high)) {
            lowest = found && lowest < low ? lowest : low;
            highest = found && highest > high ? highest : high;
            found = true;
        }
    first = a->shift < 0 ? a->shift : 0;
    last = outputs - 1 + (a->shift > 0 ? a->shift : 0);
    a->low = lowest + first > 0 ? -first : lowest; /* no pad is below 0 */
    a->step = a->stride == 1 && a->low == lowest ? a->dilation : 1;
    a->taps = (highest - a->low) / a->step + 1;
    a->before = -(a->low + first);
    a->after = last + highest - (a->n - 1) > 0 ? last + highest - (a->n - 1) : 0;
    a->places = a->n + a->before + a->after - (highest - a->low);
}

static bool read_all(struct transposed *t, const struct onnx_value *x, const struct onnx_value *w)
{
    const size_t n_axes = (size_t)t->rank - 2;
    bool fine = true;

    for (size_t i = 0; i < 2 && fine; i++) {
        struct axis *a = &t->axis[i];
        const size_t k = i + n_axes - 2; /* of rows columns alone */
        int64_t given;

        *a = (struct axis){.n = 1, .size = 1, .window = 1, .stride = 1, .dilation = 1};
        if (i + n_axes >= 2) {
            a->n = x->shape.dim[2 + k];
            a->window = w->shape.dim[2 + k];
            fine = read_number(t, "strides", n_axes, k, 1, &a->stride) && a->stride > 0 && a->stride <= 64 &&
                   read_number(t, "dilations", n_axes, k, 1, &a->dilation) && a->dilation > 0 &&
                   read_number(t, "kernel_shape", n_axes, k, a->window, &given) && given == a->window &&
                   a->window <= 4096 && read_size(t, n_axes, k, a);
        }
        if (fine)
            plan(a);
    }
    return fine;
}

/* ---- weights ---- */

/* Tap i of an axis in phase p, as an index into the weights; -1: the window has none there. */
static int64_t tap_at(const struct axis *a, int64_t p, int64_t i)
{
    const int64_t offset = a->low + i * a->step + p * a->shift, rest = p + a->pad - offset * a->stride;

    return rest >= 0 && rest % a->dilation == 0 && rest / a->dilation < a->window ? rest / a->dilation : -1;
}

/* Weights of channel `out` of a phase in a group, and channel `in` of that group: [taps][taps]. */
static void put_taps(const struct transposed *t, const struct onnx_value *w, int64_t at, const int64_t *phase,
                     double *v)
{
    const struct axis *h = &t->axis[0], *c = &t->axis[1];

    for (int64_t r = 0; r < h->taps; r++)
        for (int64_t s = 0; s < c->taps; s++) {
            const int64_t row = tap_at(h, phase[0], r), column = tap_at(c, phase[1], s);

            *v++ = row < 0 || column < 0 ? 0 : onnx_at(w, at + row * c->window + column);
        }
}

/* [k][phases of rows][of columns][channels of a group][taps][taps] of w[channels][k of a group][window][window]. */
static const struct onnx_value *new_weights(const struct transposed *t, const struct onnx_value *w)
{
    const int64_t phases_w = t->axis[1].stride, phases = t->axis[0].stride * phases_w;
    const int64_t c = w->shape.dim[0] / t->groups, k = t->k / t->groups, window = t->axis[0].window * t->axis[1].window;
    const struct graph_shape shape = {4, {t->k * phases, c, t->axis[0].taps, t->axis[1].taps}};
    const int64_t taps = shape.dim[2] * shape.dim[3];
    struct onnx_value *out = onnx_new_constant(t->m, w->name, &shape, true);

    for (int64_t i = 0; out && i < shape.dim[0] * c; i++) {
        const int64_t channel = i / c / phases, in = channel / k * c + i % c;
        const int64_t phase[] = {i / c % phases / phases_w, i / c % phases_w};

        put_taps(t, w, (in * k + channel % k) * window, phase, out->v + i * taps);
    }
    return out;
}

/* ---- layers ---- */

static void set_keys(const struct transposed *t, bool depthwise, int64_t *key)
{
    key[GRAPH_K] = t->k * t->axis[0].stride * t->axis[1].stride;
    key[GRAPH_GROUPS] = depthwise ? 1 : t->groups;
    for (int i = 0; i < 2; i++) {
        key[GRAPH_R + i] = t->axis[i].taps;
        key[GRAPH_DIL_H + i] = t->axis[i].step;
        key[GRAPH_TOP + i] = t->axis[i].before;
        key[GRAPH_BOTTOM + i] = t->axis[i].after;
    }
}

/* The convolution, which becomes the node's output. */
static enum onnx_role convolve(struct transposed *t, const struct onnx_value *x, const struct onnx_value *w)
{
    const struct onnx_value *bias = onnx_in(t->m, t->node, 2);
    const int64_t phases = t->axis[0].stride * t->axis[1].stride, n = t->k * phases;
    const bool depthwise = t->groups > 1 && t->groups == x->shape.dim[1] && n == t->groups;
    const struct graph_shape image = {4, {x->shape.dim[0], x->shape.dim[1], t->axis[0].n, t->axis[1].n}};
    const struct onnx_value *weights = new_weights(t, w);
    const int i = weights ? onnx_new_layer(t->m, t->node, depthwise ? GRAPH_DEPTHWISE : GRAPH_CONV2D,
                                           onnx_layer_as(t->m, x, &image))
                          : -1;
    struct onnx_layer *l = i < 0 ? NULL : &t->m->layers[i];

    if (!l || !onnx_give_weights(t->m, l, weights, onnx_shape_elems(&weights->shape), n))
        return ONNX_TUNED;
    set_keys(t, depthwise, l->node.key);
    for (int64_t k = 0; bias && k < n; k++)
        l->bias[k] = onnx_at(bias, k / phases);
    return onnx_finish(t->m, t->node, i, ONNX_TUNED);
}

/* The node's output, whose channels are phases, with these between each other. */
static enum onnx_role interleave(struct transposed *t, int64_t images)
{
    const struct onnx_value y = *onnx_out(t->m, t->node, 0);
    const struct axis *h = &t->axis[0], *c = &t->axis[1];
    const int64_t row = c->places, plane = h->places * row, phases = h->stride * c->stride;
    const int64_t rows = (h->size + h->stride - 1) / h->stride, columns = (c->size + c->stride - 1) / c->stride;
    const struct onnx_view s = {.shape = {6, {images, t->k, rows, h->stride, columns, c->stride}},
                                .at = (h->shift < 0 ? -h->shift : 0) * row + (c->shift < 0 ? -c->shift : 0),
                                .stride = {t->k * phases * plane, phases * plane, row,
                                           c->stride * plane + h->shift * row, 1, plane + c->shift}};
    const struct graph_shape whole = {4, {images, t->k, rows * h->stride, columns * c->stride}};
    const struct graph_shape image = {4, {images, t->k, h->size, c->size}}, line = {3, {images, t->k, c->size}};
    const int i = onnx_view_layer(t->m, &y, &s, &whole);
    struct onnx_value all = y;
    struct onnx_view cut;

    if (i < 0)
        return t->m->failed ? ONNX_TUNED : ONNX_UNSUPPORTED;
    if (i != y.i_layer)
        t->m->layers[i].i_moved = y.i_layer + 1;
    onnx_make_activation(&all, i, &whole);
    onnx_view_of(&all, &cut);
    cut.shape = image;
    if (t->rank == 3 && !onnx_view_reshape(&cut, &line))
        return onnx_refuse(t->m, "of one row");
    return onnx_give(t->m, t->node, 0, &all, &cut) == ONNX_UNSUPPORTED ? ONNX_UNSUPPORTED : ONNX_TUNED;
}

enum onnx_role onnx_conv_transpose(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *x = onnx_in(m, node, 0), *w = onnx_in(m, node, 1), *bias = onnx_in(m, node, 2);
    const int rank = onnx_is_activation(x) ? x->shape.rank : 0;
    struct transposed t = {.m = m, .node = node, .rank = rank, .groups = onnx_attribute_int(node, "group", 1)};

    if (rank != 3 && rank != 4)
        return onnx_refuse(m, "expected images or rows, of 4 or 3 dimensions");
    if (!w || w->kind != ONNX_CONSTANT || w->shape.rank != rank || onnx_shape_elems(&w->shape) < 1)
        return onnx_refuse(m, "expected constant weights of as many dimensions");
    if (t.groups < 1 || x->shape.dim[1] % t.groups || w->shape.dim[0] != x->shape.dim[1] ||
        w->shape.dim[1] > GRAPH_MAX_SIZE / t.groups)
        return onnx_refuse(m, "weights that do not fit the channels and groups");
    t.k = w->shape.dim[1] * t.groups;
    if (!onnx_is_vector(bias, t.k))
        return onnx_refuse(m, "expected a constant bias, a number for each channel");
    if (!read_all(&t, x, w))
        return onnx_refuse(m, "strides, dilations, pads or an output that are not those of images");
    if (convolve(&t, x, w) == ONNX_UNSUPPORTED)
        return ONNX_UNSUPPORTED;
    return m->failed ? ONNX_TUNED : interleave(&t, x->shape.dim[0]);
}
