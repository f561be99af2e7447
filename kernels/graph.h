/* SPDX-License-Identifier: MIT */
/* graph.h - whole networks: operators over tensors, each line of kernels/networks/NAME.graph one tensor. How a line
 * looks is in docs/networks.md; what a graph becomes on a device is graph_lower.h. */
#ifndef TUNE_KERNELS_GRAPH_H
#define TUNE_KERNELS_GRAPH_H

#include "core/buf.h"
#include "core/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GRAPH_NAME_BYTES 40
#define GRAPH_MAX_NODES 4096
#define GRAPH_MAX_BYTES ((size_t)1 << 20)
#define GRAPH_MAX_SIZE 65536 /* of every number in a graph */

enum graph_op {
    GRAPH_INPUT,
    GRAPH_CONV2D,
    GRAPH_DEPTHWISE,
    GRAPH_POOL2D,
    GRAPH_DENSE,
    GRAPH_ADD,
    GRAPH_CONCAT, /* the channels of x, then those of residual */
    GRAPH_SOFTMAX,
    N_GRAPH_OPS
};

/* Numbers of a node: GRAPH_K is `n` of a dense layer too; the pair of stride= and of dilation=, the four of pad=. */
enum graph_key {
    GRAPH_C,
    GRAPH_H,
    GRAPH_W,
    GRAPH_K,
    GRAPH_R,
    GRAPH_S,
    GRAPH_STRIDE_H,
    GRAPH_STRIDE_W,
    GRAPH_TOP,
    GRAPH_LEFT,
    GRAPH_BOTTOM,
    GRAPH_RIGHT,
    GRAPH_DIL_H,
    GRAPH_DIL_W,
    GRAPH_GROUPS,
    GRAPH_N, /* images at a time; of the input */
    N_GRAPH_KEYS
};

/* One tensor and the operator that makes it. Layers with weights (conv2d, depthwise_conv2d, dense) have a bias. */
struct graph_node {
    char name[GRAPH_NAME_BYTES];
    enum graph_op op;
    int x;        /* the node read; -1 for the input */
    int residual; /* a node added to the sums before relu, shaped as the output; -1 = none */
    bool relu;
    bool relu6; /* and what is above 6 is 6; never with relu */
    bool avg;
    int64_t key[N_GRAPH_KEYS]; /* C H W: of the output, of one image */
};

/* Node 0 is the input, the last one the output; a node reads earlier ones only. */
struct graph {
    const char *name;
    struct graph_node *nodes;
    size_t n_nodes;
};

/* Parses the text of a graph; `name` is kept by pointer. ERR_INPUT naming the line and what was expected: an unknown
 * operator, key or tensor, a name twice, a window larger than the padded image, shapes that cannot be added, a tensor
 * that nobody reads. ERR_LIMIT beyond the maxima above. */
enum err graph_parse(const char *name, const char *text, size_t n, struct graph *out, struct why *why);
void graph_fini(struct graph *g);

/* Appends the text that graph_parse makes the same graph of. */
enum err graph_text(const struct graph *g, struct buf *out);

/* Makes a graph of one's own known to graph_find as `key`, before the built-in ones; its name is `name`. As
 * graph_parse; ERR_LIMIT where there are too many. Never freed; not from several threads. */
enum err graph_add(const char *key, const char *name, const char *text, size_t n, struct why *why);

/* The networks of kernels/networks that have a graph; parsed on first use, never freed. ERR_NOT_FOUND: the names. */
enum err graph_find(const char *name, const struct graph **out, struct why *why);
const char *const *graph_names(void); /* NULL-ended */

/* The operator's word in a graph, which is the operator's name. */
const char *graph_op_name(enum graph_op op);

/* Images that are computed at a time. */
int64_t graph_batch(const struct graph *g);

/* Position of a node by name, -1 when there is none. */
int graph_node_find(const struct graph *g, const char *name);

#endif
