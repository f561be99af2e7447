/* SPDX-License-Identifier: MIT */
/* views.h - values that are elements of another one in an order of their own: transposed, cut out, repeated, with
 * something around. Such operators cost nothing until somebody needs the elements one behind the other: then they are
 * copied, once for all that were applied. */
#ifndef TUNE_ONNX_VIEWS_H
#define TUNE_ONNX_VIEWS_H

#include "onnx/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum onnx_around { ONNX_FILL, ONNX_EDGE, ONNX_REFLECT, ONNX_WRAP };

/* Element `at` of what is seen and, along each dimension, those `stride` apart; shape: with what is around. */
struct onnx_view {
    struct graph_shape shape;
    int64_t at, stride[ONNX_MAX_RANK], before[ONNX_MAX_RANK], after[ONNX_MAX_RANK];
    enum onnx_around mode;
    float fill;
};

/* The view that a value is; of one that is none all of its elements in order. */
void onnx_view_of(const struct onnx_value *v, struct onnx_view *out);

/* Has it nothing around? */
bool onnx_view_is_bare(const struct onnx_view *s);

/* Is it all of n elements in their order? */
bool onnx_view_is_in_order(const struct onnx_view *s, int64_t n);

/* The same elements in another shape, if strides can tell it; `s` has nothing around. */
bool onnx_view_reshape(struct onnx_view *s, const struct graph_shape *shape);
void onnx_view_permute(struct onnx_view *s, const int *perm); /* dimension i of the result is perm[i] */

/* Makes output `i` of a node the view of the elements of x, a constant or an activation. ONNX_UNSUPPORTED with words:
 * of an activation without an element left. */
enum onnx_role onnx_give(struct onnx_import *m, const Onnx__NodeProto *node, size_t i, const struct onnx_value *x,
                         const struct onnx_view *s);

/* The layer that gives the elements of a view of v in order, as a tensor of `shape`: v's own or one reshaped where they
 * are in order, else one that copies them. -1: m->failed is set, or words of over 6 dimensions. */
int onnx_view_layer(struct onnx_import *m, const struct onnx_value *v, const struct onnx_view *s,
                    const struct graph_shape *shape);

/* Makes a value that is a view one that is none. False: m->failed is set, or words say why not. */
bool onnx_dense(struct onnx_import *m, struct onnx_value *v);

#endif
