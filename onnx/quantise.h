/* SPDX-License-Identifier: MIT */
/* quantise.h - a model of floats made one of bytes, by the ranges that its tensors have. */
#ifndef TUNE_ONNX_QUANTISE_H
#define TUNE_ONNX_QUANTISE_H

#include "core/err.h"
#include "kernels/graph.h"
#include "onnx/import.h"

#include <stdbool.h>
#include <stddef.h>

struct onnx_quantise_options {
    /* The least and the largest number that a layer of the graph gives; false: some are not finite. */
    bool (*range)(const char *layer, double *lo, double *hi, void *arg);
    void *arg;
    const char *const *keep; /* layers with weights that stay as they are, by name; "first", "last" */
    size_t n_keep;
};

/* Makes a layer of each sum that a convolution or dense layer computes, so that the graph has all tensors whose ranges
 * are wanted. Once, before the graph is taken. ERR_INPUT: there are layers of bytes; ERR_LIMIT, ERR_NOMEM. */
enum err onnx_quantise_begin(struct onnx_import *m, struct why *why);

/* Quantises what onnx_quantise_begin has left: convolutions and dense layers, weights with a scale for each output,
 * and sums, pools and other shapes of what is bytes. ERR_INPUT: a range that is none, no such layer to be kept;
 * ERR_LIMIT, ERR_NOMEM. */
enum err onnx_quantise(struct onnx_import *m, const struct onnx_quantise_options *o, struct why *why);

/* A layer that is computed on bytes: its name in both graphs, and what its bytes are, (byte - zero) * scale. */
struct onnx_quantised {
    char layer[GRAPH_NAME_BYTES];
    bool has_weights;
    float scale;
    int zero;
};

/* Lends those that onnx_quantise has made, in the order of the graph. */
const struct onnx_quantised *onnx_import_quantised(const struct onnx_import *m, size_t *n);

#endif
