/* SPDX-License-Identifier: MIT */
/* windows.c - operators whose windows move over images: convolutions and pools. */
#include "onnx/model.h"
#include "onnx/views.h"

#include <assert.h>
#include <string.h>

/* ---- windows ---- */

/* A tensor of rows as images of one row: n c w as n c 1 w. */
static struct graph_shape as_image(const struct graph_shape *s)
{
    return s->rank == 3 ? (struct graph_shape){4, {s->dim[0], s->dim[1], 1, s->dim[2]}} : *s;
}

/* The other way: what a window over `x` gives. */
static void give_window(struct onnx_value *out, const struct graph_shape *x)
{
    if (x->rank == 3 && out->shape.rank == 4)
        out->shape = (struct graph_shape){3, {out->shape.dim[0], out->shape.dim[1], out->shape.dim[3]}};
}

/* A number for each of the axes of a window, 1 or 2, or `otherwise`; of one axis it is the columns', rows have 1. */
static bool read_pair(const Onnx__NodeProto *node, const char *name, int n_axes, int64_t otherwise, int64_t *out)
{
    const Onnx__AttributeProto *a = onnx_attribute(node, name);
    const bool fits = a && a->n_ints == (size_t)n_axes;

    out[0] = n_axes == 1 ? 1 : fits ? a->ints[0] : otherwise;
    out[1] = fits ? a->ints[n_axes - 1] : otherwise;
    return (!a || fits) && out[0] >= 0 && out[1] >= 0 && out[0] <= GRAPH_MAX_SIZE && out[1] <= GRAPH_MAX_SIZE;
}

static bool is_word(const Onnx__AttributeProto *a, const char *word)
{
    return a->s.len == strlen(word) && memcmp(a->s.data, word, a->s.len) == 0;
}

/* auto_pad SAME_UPPER and SAME_LOWER: as many outputs as inputs over the stride, what is odd at one end. */
static void pad_same(const int64_t *in, bool upper, int64_t *key)
{
    for (int axis = 0; axis < 2; axis++) {
        const int64_t stride = key[GRAPH_STRIDE_H + axis], size = in[2 + axis];
        const int64_t n = (size + stride - 1) / stride;
        const int64_t reach = (n - 1) * stride + (key[GRAPH_R + axis] - 1) * key[GRAPH_DIL_H + axis] + 1 - size;
        const int64_t pad = reach > 0 ? reach : 0;

        key[GRAPH_TOP + axis] = upper ? pad / 2 : pad - pad / 2;
        key[GRAPH_BOTTOM + axis] = pad - key[GRAPH_TOP + axis];
        assert(key[GRAPH_TOP + axis] >= 0 && key[GRAPH_BOTTOM + axis] >= 0);
    }
}

/* strides, dilations and pads into the keys of a layer that has its window already. */
static bool read_window(struct onnx_import *m, const Onnx__NodeProto *node, int n_axes, int64_t *key, const int64_t *in)
{
    const Onnx__AttributeProto *pads = onnx_attribute(node, "pads"), *automatic = onnx_attribute(node, "auto_pad");
    bool fine = read_pair(node, "strides", n_axes, 1, &key[GRAPH_STRIDE_H]) &&
                read_pair(node, "dilations", n_axes, 1, &key[GRAPH_DIL_H]) && key[GRAPH_STRIDE_H] &&
                key[GRAPH_STRIDE_W];

    for (int i = 0; pads && i < 2 * n_axes && fine; i++) {
        const int side = n_axes == 1 ? 2 * i + 1 : i;

        fine = pads->n_ints == (size_t)(2 * n_axes) && pads->ints[i] >= 0 && pads->ints[i] <= GRAPH_MAX_SIZE;
        key[GRAPH_TOP + side] = fine ? pads->ints[i] : 0;
    }
    if (!fine)
        onnx_refuse(m, "strides, dilations or pads that are not those of images");
    if (!fine || !automatic || is_word(automatic, "NOTSET"))
        return fine;
    memset(&key[GRAPH_TOP], 0, 4 * sizeof *key);
    if (is_word(automatic, "SAME_UPPER") || is_word(automatic, "SAME_LOWER"))
        pad_same(in, is_word(automatic, "SAME_UPPER"), key);
    else if (!is_word(automatic, "VALID"))
        fine = false;
    if (!fine)
        onnx_refuse(m, "auto_pad %.*s", (int)(automatic->s.len < 40 ? automatic->s.len : 40),
                    automatic->s.data ? (const char *)automatic->s.data : "");
    return fine;
}

/* The window of a volume, n c d h w: its depth, and the rest in the keys of an image. */
struct depth {
    int64_t window, stride, dilation, front, back;
};

/* Of three numbers the first into *depth, the others into out. */
static bool read_three(const Onnx__NodeProto *node, const char *name, int64_t *depth, int64_t *out)
{
    const Onnx__AttributeProto *a = onnx_attribute(node, name);
    bool fine = !a || a->n_ints == 3;

    for (size_t i = 0; a && i < 3 && fine; i++) {
        fine = a->ints[i] > 0 && a->ints[i] <= GRAPH_MAX_SIZE;
        *(i ? &out[i - 1] : depth) = a->ints[i];
    }
    return fine;
}

/* strides, dilations and pads of a volume, of a window that is there already. */
static bool read_depth(struct onnx_import *m, const Onnx__NodeProto *node, struct depth *z, int64_t *key)
{
    static const int sides[] = {-1, GRAPH_TOP, GRAPH_LEFT, -2, GRAPH_BOTTOM, GRAPH_RIGHT};
    const Onnx__AttributeProto *pads = onnx_attribute(node, "pads"), *automatic = onnx_attribute(node, "auto_pad");
    bool fine = read_three(node, "strides", &z->stride, &key[GRAPH_STRIDE_H]) &&
                read_three(node, "dilations", &z->dilation, &key[GRAPH_DIL_H]) &&
                (!automatic || is_word(automatic, "NOTSET") || is_word(automatic, "VALID"));

    for (size_t i = 0; pads && i < 6 && fine; i++) {
        fine = pads->n_ints == 6 && pads->ints[i] >= 0 && pads->ints[i] <= GRAPH_MAX_SIZE;
        if (fine)
            *(sides[i] == -1 ? &z->front : sides[i] == -2 ? &z->back : &key[sides[i]]) = pads->ints[i];
    }
    if (!fine)
        onnx_refuse(m, "strides, dilations or pads that are not those of volumes");
    return fine;
}

/* ---- convolutions ---- */

static enum onnx_role check_conv(struct onnx_import *m, const Onnx__NodeProto *node, int64_t groups)
{
    const struct onnx_value *x = onnx_in(m, node, 0), *w = onnx_in(m, node, 1), *bias = onnx_in(m, node, 2);
    const int rank = onnx_is_activation(x) ? x->shape.rank : 0;
    int64_t window[2];

    if (rank < 3 || rank > 5)
        return onnx_refuse(m, "expected volumes, images or rows, of 5 to 3 dimensions");
    if (!w || w->kind != ONNX_CONSTANT || w->shape.rank != rank || onnx_shape_elems(&w->shape) < 1)
        return onnx_refuse(m, "expected constant weights of as many dimensions");
    if (!onnx_is_vector(bias, w->shape.dim[0]))
        return onnx_refuse(m, "expected a constant bias, a number for each channel");
    if (groups < 1 || x->shape.dim[1] % groups || w->shape.dim[1] != x->shape.dim[1] / groups ||
        w->shape.dim[0] % groups)
        return onnx_refuse(m, "weights that do not fit the channels and groups");
    if (rank == 5)
        return ONNX_TUNED;
    if (!read_pair(node, "kernel_shape", rank - 2, -1, window) && onnx_attribute(node, "kernel_shape"))
        return onnx_refuse(m, "a kernel_shape that is none");
    if (window[1] >= 0 && ((rank == 4 && window[0] != w->shape.dim[2]) || window[1] != w->shape.dim[rank - 1]))
        return onnx_refuse(m, "a kernel_shape that is not that of the weights");
    return ONNX_TUNED;
}

/* Zeros around rows and columns become pads (top, left, bottom, right) of the image within; any other view is made
 * dense. */
static bool take_pads(struct onnx_import *m, struct onnx_value *x, bool may, struct graph_shape *image, int64_t *pads)
{
    const struct onnx_view *s = x->view;
    struct onnx_value within = *x;
    const int rank = x->shape.rank;
    struct onnx_view all;
    bool alike;

    *image = s ? x->shape : as_image(&x->shape);
    if (!s)
        return true;
    for (int d = 0; d < rank; d++)
        image->dim[d] -= s->before[d] + s->after[d];
    within.shape = *image;
    within.view = NULL;
    onnx_view_of(&within, &all);
    alike = may && s->mode == ONNX_FILL && s->fill == 0 && s->at == 0 && !s->before[0] && !s->before[1] &&
            !s->after[0] && !s->after[1] && memcmp(s->stride, all.stride, (size_t)rank * sizeof s->stride[0]) == 0 &&
            graph_elems(image) == graph_elems(&m->layers[x->i_layer].node.shape);
    for (int i = 4 - rank; i < 2 && alike; i++) { /* of rows columns alone */
        pads[i] = s->before[rank - 2 + i];
        pads[2 + i] = s->after[rank - 2 + i];
    }
    *image = alike ? as_image(image) : as_image(&x->shape);
    return alike || onnx_dense(m, x);
}

/* Volumes with their front and back padded. False: m->failed, or words. */
static bool pad_depth(struct onnx_import *m, struct onnx_value *x, const struct depth *z)
{
    struct onnx_view s;
    int i;

    if (!z->front && !z->back)
        return true;
    onnx_view_of(x, &s);
    s.before[2] = z->front;
    s.after[2] = z->back;
    s.shape.dim[2] += z->front + z->back;
    i = graph_elems(&s.shape) < 1 ? -1 : onnx_view_layer(m, x, &s, &s.shape);
    if (i >= 0)
        onnx_make_activation(x, i, &s.shape);
    return i >= 0 || (!m->failed && onnx_refuse(m, "pads over all memory") != ONNX_UNSUPPORTED);
}

/* Images of which each has the channels of all slices under a window's depth; -1: m->failed, or words. */
static int slices(struct onnx_import *m, struct onnx_value *x, const struct depth *z, int64_t *n_out)
{
    const int64_t reach = (z->window - 1) * z->dilation + 1;
    struct onnx_view s, to;
    const int64_t *dim;

    if (!pad_depth(m, x, z))
        return -1;
    dim = x->shape.dim;
    *n_out = dim[2] < reach ? 0 : (dim[2] - reach) / z->stride + 1;
    onnx_view_of(x, &s);
    to = (struct onnx_view){.shape = {6, {dim[0], *n_out, dim[1], z->window, dim[3], dim[4]}},
                            .at = s.at,
                            .stride = {s.stride[0], s.stride[2] * z->stride, s.stride[1], s.stride[2] * z->dilation,
                                       s.stride[3], s.stride[4]}};
    if (graph_elems(&to.shape) < 1) {
        onnx_refuse(m, "a window larger than the volume, or over %lld elements", (long long)GRAPH_MAX_ELEMS);
        return -1;
    }
    return onnx_view_layer(m, x, &to, &(struct graph_shape){4, {dim[0] * *n_out, dim[1] * z->window, dim[3], dim[4]}});
}

/* A convolution of volumes: one of images, whose channels are those of all slices that a window has. */
static enum onnx_role conv_of_volume(struct onnx_import *m, const Onnx__NodeProto *node)
{
    static const int channels_first[] = {0, 2, 1, 3, 4};
    const struct onnx_value *w = onnx_in(m, node, 1), *bias = onnx_in(m, node, 2);
    struct onnx_value x = *onnx_in(m, node, 0), y;
    struct depth z = {.window = w->shape.dim[2], .stride = 1, .dilation = 1};
    int64_t key[N_GRAPH_KEYS] = {[GRAPH_K] = w->shape.dim[0],
                                 [GRAPH_R] = w->shape.dim[3],
                                 [GRAPH_S] = w->shape.dim[4],
                                 [GRAPH_STRIDE_H] = 1,
                                 [GRAPH_STRIDE_W] = 1,
                                 [GRAPH_DIL_H] = 1,
                                 [GRAPH_DIL_W] = 1},
            n_out = 0;
    struct onnx_layer *l;
    struct onnx_view s;
    int i;

    key[GRAPH_GROUPS] = onnx_attribute_int(node, "group", 1);
    if (!read_three(node, "kernel_shape", &z.window, &key[GRAPH_R]) || z.window != w->shape.dim[2] ||
        key[GRAPH_R] != w->shape.dim[3] || key[GRAPH_S] != w->shape.dim[4])
        return onnx_refuse(m, "a kernel_shape that is not that of the weights");
    if (!read_depth(m, node, &z, key) || !onnx_dense(m, &x))
        return m->failed ? ONNX_TUNED : ONNX_UNSUPPORTED;
    i = slices(m, &x, &z, &n_out);
    i = i < 0 ? -1 : onnx_new_layer(m, node, GRAPH_CONV2D, i);
    l = i < 0 ? NULL : &m->layers[i];
    if (!l || !onnx_give_weights(m, l, w, onnx_shape_elems(&w->shape), key[GRAPH_K]))
        return m->failed ? ONNX_TUNED : ONNX_UNSUPPORTED;
    memcpy(l->node.key, key, sizeof key);
    for (int64_t k = 0; bias && k < l->n_bias; k++)
        l->bias[k] = onnx_at(bias, k);
    if (onnx_finish(m, node, i, ONNX_TUNED) == ONNX_UNSUPPORTED)
        return ONNX_UNSUPPORTED;
    y = *onnx_out(m, node, 0);
    y.shape = (struct graph_shape){5, {x.shape.dim[0], n_out, key[GRAPH_K], y.shape.dim[2], y.shape.dim[3]}};
    onnx_view_of(&y, &s);
    onnx_view_permute(&s, channels_first);
    return onnx_give(m, node, 0, &y, &s) == ONNX_UNSUPPORTED ? ONNX_UNSUPPORTED : ONNX_TUNED;
}

enum onnx_role onnx_conv(struct onnx_import *m, const Onnx__NodeProto *node)
{
    struct onnx_value *x = onnx_in(m, node, 0);
    const struct onnx_value *w = onnx_in(m, node, 1), *bias = onnx_in(m, node, 2);
    const int64_t groups = onnx_attribute_int(node, "group", 1);
    const enum onnx_role role = check_conv(m, node, groups);
    struct graph_shape image;
    int64_t pads[4] = {0};
    struct onnx_layer *l;
    bool depthwise;
    int i;

    if (role != ONNX_UNSUPPORTED && x->shape.rank == 5)
        return conv_of_volume(m, node);
    if (role == ONNX_UNSUPPORTED || !take_pads(m, x, !onnx_attribute(node, "auto_pad"), &image, pads))
        return ONNX_UNSUPPORTED;
    depthwise = groups > 1 && groups == x->shape.dim[1] && w->shape.dim[0] == groups;
    i = onnx_new_layer(m, node, depthwise ? GRAPH_DEPTHWISE : GRAPH_CONV2D, onnx_layer_as(m, x, &image));
    l = i < 0 ? NULL : &m->layers[i];
    if (!l || !onnx_give_weights(m, l, w, onnx_shape_elems(&w->shape), w->shape.dim[0]))
        return role;
    l->node.key[GRAPH_K] = w->shape.dim[0];
    l->node.key[GRAPH_R] = w->shape.rank == 4 ? w->shape.dim[2] : 1;
    l->node.key[GRAPH_S] = w->shape.dim[w->shape.rank - 1];
    l->node.key[GRAPH_GROUPS] = depthwise ? 1 : groups;
    if (!read_window(m, node, x->shape.rank - 2, l->node.key, image.dim))
        return ONNX_UNSUPPORTED;
    for (int side = 0; side < 4; side++)
        l->node.key[GRAPH_TOP + side] += pads[side];
    for (int64_t k = 0; bias && k < l->n_bias; k++)
        l->bias[k] = onnx_at(bias, k);
    if (onnx_finish(m, node, i, role) == ONNX_UNSUPPORTED)
        return ONNX_UNSUPPORTED;
    give_window(onnx_out(m, node, 0), &x->shape);
    return role;
}

/* ---- pools ---- */

/* A pool of the images that a layer gives, with its key; -1: m->failed. */
static int new_pool(struct onnx_import *m, const Onnx__NodeProto *node, int x, bool is_avg, const int64_t *key)
{
    const int i = x < 0 ? -1 : onnx_new_layer(m, node, GRAPH_POOL2D, x);

    if (i < 0)
        return -1;
    m->layers[i].node.avg = is_avg;
    if (key)
        memcpy(m->layers[i].node.key, key, sizeof m->layers[i].node.key);
    else
        memcpy(&m->layers[i].node.key[GRAPH_R], &m->layers[x].node.shape.dim[2], 2 * sizeof *key);
    return i;
}

/* ceil_mode: one more window where it begins inside the image or the first pad. */
static void pad_ceil(const int64_t *in, int64_t *key)
{
    for (int axis = 0; axis < 2; axis++) {
        const int64_t stride = key[GRAPH_STRIDE_H + axis], window = key[GRAPH_R + axis];
        const int64_t size = in[2 + axis] + key[GRAPH_TOP + axis];
        const int64_t room = size + key[GRAPH_BOTTOM + axis] - window;
        int64_t n = room < 0 ? 0 : (room + stride - 1) / stride + 1;
        int64_t reach;

        assert(stride > 0 && window > 0);
        n -= (n - 1) * stride >= size;
        reach = (n - 1) * stride + window - size;
        if (reach > key[GRAPH_BOTTOM + axis])
            key[GRAPH_BOTTOM + axis] = reach;
    }
}

/* No window is outside the image as a whole. */
static bool windows_touch(const int64_t *in, const int64_t *key)
{
    bool touch = true;

    for (int axis = 0; axis < 2; axis++) {
        const int64_t size = in[2 + axis], before = key[GRAPH_TOP + axis], window = key[GRAPH_R + axis];
        const int64_t room = size + before + key[GRAPH_BOTTOM + axis] - window, stride = key[GRAPH_STRIDE_H + axis];

        touch = touch && before < window && (room < 0 || room / stride * stride - before < size);
    }
    return touch;
}

/* The layer that gives images with the pads of a pool around them, zeros that it counts; -1: m->failed, or words. */
static int padded(struct onnx_import *m, const struct onnx_value *x, const struct graph_shape *image, int64_t *key)
{
    struct onnx_value v = *x;
    struct onnx_view s;

    v.shape = *image;
    onnx_view_of(&v, &s);
    for (int axis = 0; axis < 2; axis++) {
        s.before[2 + axis] = key[GRAPH_TOP + axis];
        s.after[2 + axis] = key[GRAPH_BOTTOM + axis];
        s.shape.dim[2 + axis] += s.before[2 + axis] + s.after[2 + axis];
    }
    memset(&key[GRAPH_TOP], 0, 4 * sizeof *key);
    return onnx_view_layer(m, &v, &s, &s.shape);
}

static bool has_pads(const int64_t *key)
{
    return key[GRAPH_TOP] || key[GRAPH_LEFT] || key[GRAPH_BOTTOM] || key[GRAPH_RIGHT];
}

/* A pool of volumes: of the rows and columns of each slice, then of the slices. */
static enum onnx_role pool_of_volume(struct onnx_import *m, const Onnx__NodeProto *node, bool is_avg, bool ceil)
{
    const struct onnx_value *x = onnx_in(m, node, 0), *indices = onnx_out(m, node, 1);
    const int64_t *dim = x->shape.dim;
    struct graph_shape image = {4, {dim[0], dim[1] * dim[2], dim[3], dim[4]}};
    struct depth z = {.stride = 1, .dilation = 1};
    int64_t key[N_GRAPH_KEYS] = {
        [GRAPH_STRIDE_H] = 1, [GRAPH_STRIDE_W] = 1, [GRAPH_DIL_H] = 1, [GRAPH_DIL_W] = 1, [GRAPH_GROUPS] = 1};
    int64_t deep[N_GRAPH_KEYS] = {
        [GRAPH_S] = 1, [GRAPH_STRIDE_W] = 1, [GRAPH_DIL_H] = 1, [GRAPH_DIL_W] = 1, [GRAPH_GROUPS] = 1};
    struct onnx_value y;
    int i;

    if (!onnx_attribute(node, "kernel_shape") || !read_three(node, "kernel_shape", &z.window, &key[GRAPH_R]))
        return onnx_refuse(m, "expected a kernel_shape of a size for each axis");
    if (!read_depth(m, node, &z, key))
        return ONNX_UNSUPPORTED;
    deep[GRAPH_R] = z.window;
    deep[GRAPH_STRIDE_H] = z.stride;
    deep[GRAPH_TOP] = z.front;
    deep[GRAPH_BOTTOM] = z.back;
    if (z.dilation != 1 || key[GRAPH_DIL_H] != 1 || key[GRAPH_DIL_W] != 1 || (indices && indices->n_readers) ||
        (is_avg && onnx_attribute_int(node, "count_include_pad", 0) && (has_pads(key) || has_pads(deep))))
        return onnx_refuse(m, "dilations, indices that are read, or pads that count, of volumes");
    if (ceil)
        pad_ceil(image.dim, key);
    i = windows_touch(image.dim, key) ? new_pool(m, node, onnx_layer_as(m, x, &image), is_avg, key) : -2;
    if (i == -2)
        return onnx_refuse(m, "windows outside the volume");
    if (i < 0 || onnx_finish(m, node, i, ONNX_PLAIN) == ONNX_UNSUPPORTED)
        return m->failed ? ONNX_PLAIN : ONNX_UNSUPPORTED;
    y = *onnx_out(m, node, 0);
    image = (struct graph_shape){4, {dim[0] * dim[1], 1, dim[2], y.shape.dim[2] * y.shape.dim[3]}};
    if (ceil)
        pad_ceil(image.dim, deep);
    if (!windows_touch(image.dim, deep))
        return onnx_refuse(m, "windows outside the volume");
    i = new_pool(m, node, onnx_layer_as(m, &y, &image), is_avg, deep);
    if (i < 0 || onnx_finish(m, node, i, ONNX_PLAIN) == ONNX_UNSUPPORTED)
        return m->failed ? ONNX_PLAIN : ONNX_UNSUPPORTED;
    onnx_out(m, node, 0)->shape =
        (struct graph_shape){5, {dim[0], dim[1], onnx_out(m, node, 0)->shape.dim[2], y.shape.dim[2], y.shape.dim[3]}};
    return ONNX_PLAIN;
}

enum onnx_role onnx_pool(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const bool is_avg = strcmp(node->op_type, "AveragePool") == 0, ceil = onnx_attribute_int(node, "ceil_mode", 0) != 0;
    const struct onnx_value *x = onnx_in(m, node, 0), *indices = onnx_out(m, node, 1);
    const int rank = onnx_is_activation(x) ? x->shape.rank : 0;
    int64_t key[N_GRAPH_KEYS] = {[GRAPH_GROUPS] = 1};
    struct graph_shape image;
    bool counts;
    int i;

    if (rank == 5)
        return pool_of_volume(m, node, is_avg, ceil);
    if (rank != 3 && rank != 4)
        return onnx_refuse(m, "expected volumes, images or rows, of 5 to 3 dimensions");
    image = as_image(&x->shape);
    if (!onnx_attribute(node, "kernel_shape") || !read_pair(node, "kernel_shape", rank - 2, 0, &key[GRAPH_R]) ||
        !key[GRAPH_R] || !key[GRAPH_S])
        return onnx_refuse(m, "expected a kernel_shape of a size for each axis");
    if (!read_window(m, node, rank - 2, key, image.dim))
        return ONNX_UNSUPPORTED;
    counts = is_avg && onnx_attribute_int(node, "count_include_pad", 0) && has_pads(key);
    if (key[GRAPH_DIL_H] != 1 || key[GRAPH_DIL_W] != 1 || (counts && ceil))
        return onnx_refuse(m, "dilations, or count_include_pad with ceil_mode");
    if (indices && indices->n_readers)
        return onnx_refuse(m, "its indices are read");
    if (ceil)
        pad_ceil(image.dim, key);
    if (!windows_touch(image.dim, key))
        return onnx_refuse(m, "windows outside the image");
    i = new_pool(m, node, counts ? padded(m, x, &image, key) : onnx_layer_as(m, x, &image), is_avg, key);
    if (i < 0 || onnx_finish(m, node, i, ONNX_PLAIN) == ONNX_UNSUPPORTED)
        return m->failed ? ONNX_PLAIN : ONNX_UNSUPPORTED;
    give_window(onnx_out(m, node, 0), &x->shape);
    return ONNX_PLAIN;
}

enum onnx_role onnx_pool_all(struct onnx_import *m, const Onnx__NodeProto *node, bool is_avg, bool keeps)
{
    const struct onnx_value *x = onnx_in(m, node, 0);
    struct graph_shape shape = x->shape;
    const int rank = shape.rank;
    const struct graph_shape row = {4, {shape.dim[0], shape.dim[1], 1, graph_stretch(&shape, 2, rank)}};
    const int i = new_pool(m, node, onnx_layer_as(m, x, rank == 4 ? &shape : &row), is_avg, NULL);

    if (i < 0 || onnx_finish(m, node, i, ONNX_PLAIN) == ONNX_UNSUPPORTED)
        return m->failed ? ONNX_PLAIN : ONNX_UNSUPPORTED;
    for (int d = 2; d < rank; d++)
        shape.dim[d] = 1;
    shape.rank = keeps ? rank : 2;
    onnx_out(m, node, 0)->shape = shape;
    return ONNX_PLAIN;
}

enum onnx_role onnx_global_pool(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *x = onnx_in(m, node, 0);

    if (!onnx_is_activation(x) || x->shape.rank < 3)
        return onnx_refuse(m, "expected images or rows, of 3 dimensions or more");
    return onnx_pool_all(m, node, strcmp(node->op_type, "GlobalAveragePool") == 0, true);
}
