/* SPDX-License-Identifier: MIT */
/* import.h - an ONNX model as a network: read, shapes inferred, what is constant computed, the rest made layers of a
 * graph (kernels/graph.h) with their weights. docs/networks.md. */
#ifndef TUNE_ONNX_IMPORT_H
#define TUNE_ONNX_IMPORT_H

#include "core/buf.h"
#include "core/err.h"
#include "runtime/dtype.h"

#include <stddef.h>
#include <stdint.h>

#define ONNX_MIN_OPSET 6
#define ONNX_MAX_OPSET 28 /* the newest whose operators were looked at */

/* A dimension that the model leaves open, from outside: by its name, or that of the input with ".AXIS". The first one
 * of an input, the batch, and those of its name are 1 otherwise. */
struct onnx_dim {
    const char *name;
    int64_t size;
};

/* An input that is a constant: its value, a TensorProto, is in a file. */
struct onnx_binding {
    const char *name, *path;
};

struct onnx_options {
    const struct onnx_dim *dims;
    size_t n_dims;
    const struct onnx_binding *bindings;
    size_t n_bindings;
};

/* What becomes of a node. */
enum onnx_role {
    ONNX_TUNED,       /* a layer with weights */
    ONNX_PLAIN,       /* a kernel of its own without weights: a pool, an addition, softmax */
    ONNX_FOLDED,      /* computed now, or part of another layer's kernel */
    ONNX_UNSUPPORTED, /* nothing computes it */
    ONNX_BEHIND,      /* reads what an unsupported one would give */
    N_ONNX_ROLES
};

/* The nodes of one operator. */
struct onnx_row {
    const char *op; /* "Conv"; "domain.Op" of another domain than ONNX's own */
    size_t n[N_ONNX_ROLES];
    const char *first; /* name of the first unsupported one, and why it is not; NULL: there is none */
    const char *words;
};

struct onnx_import;

/* Reads a model; `o` may be NULL. What it computes may be unsupported: that is told by the rows and by
 * onnx_import_graph. ERR_NOT_FOUND, ERR_IO; ERR_INPUT, ERR_LIMIT: no model, or a damaged one, sizes that are not known,
 * a value that no earlier node makes, ... in words that begin with the path. */
enum err onnx_import_open(const char *path, const struct onnx_options *o, struct onnx_import **out, struct why *why);

/* The same of bytes in memory; weights in other files are refused. */
enum err onnx_import_parse(const void *bytes, size_t n, const struct onnx_options *o, struct onnx_import **out,
                           struct why *why);
void onnx_import_close(struct onnx_import *m); /* accepts NULL */

/* Lends the rows, in the order in which operators occur. */
const struct onnx_row *onnx_import_rows(const struct onnx_import *m, size_t *n);

/* Appends the rows as a table for people, and a line on what is not supported. */
enum err onnx_import_describe(const struct onnx_import *m, struct buf *out);

/* Appends the graph's text. ERR_UNSUPPORTED: the operators that are in the way, with counts. */
enum err onnx_import_graph(const struct onnx_import *m, struct buf *out, struct why *why);

/* Writes weights.bin and weights.txt into a folder that is there: all weights in a dtype (f32, f16), one behind the
 * other, and a line for each: layer, tensor, offset, bytes. Of a model that onnx_import_graph gives. */
enum err onnx_import_weights(const struct onnx_import *m, const char *dir, enum dtype t, struct why *why);

/* Appends the same bytes, and the list of them, to memory. */
enum err onnx_import_weights_of(const struct onnx_import *m, enum dtype t, struct buf *bytes, struct buf *list,
                                struct why *why);

/* Lends the model's own name of input i of the graph, in the graph's order; NULL: there are fewer. Not behind
 * onnx_quantise. */
const char *onnx_import_input(const struct onnx_import *m, size_t i);

/* Are the weights of a model whose dimension is smaller those of it where the dimension is larger, or the beginning of
 * them in each of their dimensions? Both were given as graphs. ERR_UNSUPPORTED: a layer whose weights are others. */
enum err onnx_import_same_weights(const struct onnx_import *small, const struct onnx_import *large, struct why *why);

#endif
