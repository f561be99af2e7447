/* SPDX-License-Identifier: MIT */
/* wire.h - ONNX files for tests, written byte by byte: no code of the reader's, no library. */
#ifndef TUNE_TESTS_ONNX_WIRE_H
#define TUNE_TESTS_ONNX_WIRE_H

#include "core/buf.h"

#include <stdint.h>

/* Appends a field: its number, and a number of 7 bits a byte, or bytes with their length. */
void wire_number(struct buf *b, int field, uint64_t v);
void wire_bytes(struct buf *b, int field, const void *bytes, size_t n);
void wire_text(struct buf *b, int field, const char *text);
void wire_float(struct buf *b, int field, float v);

/* Appends a message as a field, and empties it. */
void wire_message(struct buf *b, int field, struct buf *message);

/* Appends a model written as lines:
 *
 *   opset 13
 *   input x batch 3 8 8                    a dimension is a number or a name
 *   const w 4 3 3 3 = 0.5 ...              floats in raw_data; of `...` each is the last one, negated
 *   ints s 2 = 1 -1                        int64 in int64_data
 *   ints z:3 2 = -5 0                      of another type, in int32_data: a number of TensorProto.DataType; of 4 bits
 *                                          (21, 22) two in each
 *   outside w 2 2 = DIR/w.bin 16           floats in another file, from a byte on
 *   node Conv x w -> y kernel_shape=[3,3] group=1 alpha=0.5 auto_pad='VALID' activations=['Tanh'] name='/a/b'
 *   output y
 *   output i:7                             int64; a number of TensorProto.DataType, also of inputs
 *
 * `node domain.Op` is of another domain, `-` an input left out. Aborts where a line is none of these. */
void wire_model(const char *lines, struct buf *out);

#endif
