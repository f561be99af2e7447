/* SPDX-License-Identifier: MIT */
/* attention.h - what an attention is made of, whether a node says so or several nodes together, and the layer of it. */
#ifndef TUNE_ONNX_ATTENTION_H
#define TUNE_ONNX_ATTENTION_H

#include "onnx/model.h"
#include "onnx/views.h"

#include <stdbool.h>
#include <stdint.h>

/* Elements of an activation as [batch][heads][rows][numbers], wherever they lie. */
struct onnx_heads {
    struct onnx_value value;
    struct onnx_view view;
};

struct onnx_attended {
    struct onnx_heads q, k, v; /* k and v: of as many heads, which divide those of q */
    struct onnx_value mask;    /* added to scaled products: an activation that is repeated to their shape */
    bool has_mask, causal;
    double scale; /* 0: 1 / sqrt(numbers of a query) */
    int64_t past; /* causal: keys in front of the first query's */
};

/* The elements of an activation before it was copied for some reader; false: of a constant. */
bool onnx_see(const struct onnx_value *v, struct onnx_heads *out);

/* The same in 4 dimensions, those missing in front; false: it has more. */
bool onnx_as_heads(struct onnx_heads *h);

/* Exchanges heads and rows. */
void onnx_exchange_heads(struct onnx_view *s);

/* The layer, in the order of axes in which the fewest elements are copied; *s: the node's output as
 * [batch][heads][rows][numbers] of *y. False: m->failed, or words. */
bool onnx_attend(struct onnx_import *m, const Onnx__NodeProto *node, const struct onnx_attended *a,
                 struct onnx_value *y, struct onnx_view *s);

/* Do queries, keys and values have sizes that belong together? */
bool onnx_heads_fit(const struct onnx_attended *a);

/* The same as layers of their own, in memory of queries times keys; softcap: products become c tanh(product / c) before
 * the mask. */
bool onnx_attend_apart(struct onnx_import *m, const Onnx__NodeProto *node, const struct onnx_attended *a,
                       double softcap, struct onnx_value *y, struct onnx_view *s);

#endif
