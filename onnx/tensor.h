/* SPDX-License-Identifier: MIT */
/* tensor.h - the elements of a tensor in a model, wherever and in whatever type they are kept. */
#ifndef TUNE_ONNX_TENSOR_H
#define TUNE_ONNX_TENSOR_H

#include "core/err.h"
#include "kernels/graph.h"
#include "onnx/file.h"

#include <stdbool.h>
#include <stdint.h>

#define ONNX_MAX_RANK GRAPH_MAX_RANK
#define ONNX_MAX_ELEMS ((int64_t)1 << 31)

/* The product; -1 where it is beyond ONNX_MAX_ELEMS without the dimensions that are 0, or a dimension is negative. */
int64_t onnx_shape_elems(const struct graph_shape *s);

/* Of TensorProto.DataType, which schemas of before opset 21 lack: 4 bits, two in a byte, the first in the lower ones.
 */
#define ONNX_TYPE_UINT4 21
#define ONNX_TYPE_INT4 22

struct onnx_tensor {
    struct graph_shape shape;
    int64_t n_elems;
    bool is_float;
    const Onnx__TensorProto *proto;
    const uint8_t *raw; /* little-endian elements; NULL: in the fields of proto */
};

/* Borrows `p` and, for external data, the mapping of `f`. ERR_INPUT, naming the tensor: a shape that is none, another
 * number of elements than its shape's, a type without numbers. ERR_UNSUPPORTED: complex numbers, strings. */
enum err onnx_tensor_open(struct onnx_file *f, const Onnx__TensorProto *p, struct onnx_tensor *out, struct why *why);

double onnx_tensor_at(const struct onnx_tensor *t, int64_t i);

#endif
