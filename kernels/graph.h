/* SPDX-License-Identifier: MIT */
/* graph.h - whole networks: operators over tensors, each line of kernels/networks/NAME.graph one tensor. How a line
 * looks is in docs/networks.md; what a graph becomes on a device is graph_lower.h.
 *
 * An operator of the farm is added to graphs by a name in enum graph_op and a line in the table of graph_ops.c: how
 * many tensors it reads, which keys and words its line has, the shape of what it gives (graph_broadcast is there for
 * operators of several shapes), and the sizes in its workload. Keys that only the workload needs are no business of the
 * graph: with `own_words` they go from the line into the workload as they are, whose parser checks them. The k-th input
 * of the node is the k-th input tensor of the farm's operator. */
#ifndef TUNE_KERNELS_GRAPH_H
#define TUNE_KERNELS_GRAPH_H

#include "core/buf.h"
#include "core/err.h"
#include "runtime/dtype.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GRAPH_NAME_BYTES 40
#define GRAPH_WORDS_BYTES 256
#define GRAPH_MAX_NODES 4096
#define GRAPH_MAX_BYTES ((size_t)1 << 20)
#define GRAPH_MAX_SIZE (1 << 24)                 /* of every number in a graph */
#define GRAPH_MAX_ELEMS (((int64_t)1 << 31) - 1) /* of a tensor */
#define GRAPH_MAX_RANK 8
#define GRAPH_MAX_INPUTS 8   /* of a node */
#define GRAPH_MAX_OUTPUTS 64 /* of a graph */

enum graph_op {
    GRAPH_INPUT,
    GRAPH_CONV2D,
    GRAPH_DEPTHWISE,
    GRAPH_POOL2D,
    GRAPH_DENSE,
    GRAPH_DENSE4, /* the same with weights of 4 bits */
    GRAPH_ADD,
    GRAPH_CONCAT, /* axis 1 of the first, then of the second */
    GRAPH_SOFTMAX,
    GRAPH_ELTWISE,
    GRAPH_REDUCE,  /* the middle one of three dimensions */
    GRAPH_RESHAPE, /* the same elements in another shape: no kernel */
    GRAPH_COPY,    /* strided_copy: elements in another order */
    GRAPH_BATCH_GEMM,
    GRAPH_RESIZE,   /* resize2d: images of another size */
    GRAPH_GATHER,   /* rows of a table by numbers */
    GRAPH_QUANTIZE, /* floats to bytes, or back */
    GRAPH_RNN,      /* all steps of a recurrent layer */
    GRAPH_STATE,    /* what such a layer gives besides, the state behind the last step: no kernel */
    GRAPH_ATTENTION,
    GRAPH_NORM,     /* of rows */
    GRAPH_LENGTHS,  /* how many keys there are, of each of the batch: whole numbers that the caller gives */
    GRAPH_CONSTANT, /* weights of the operators that read it: no kernel */
    N_GRAPH_OPS
};

/* Numbers of a node: GRAPH_K is `n` of dense layers too; the pair of stride= and of dilation=, the four of pad=. */
enum graph_key {
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
    N_GRAPH_KEYS
};

/* Sizes of a tensor, dense and row-major where no layout of images says otherwise. Images are of rank 4: n c h w. */
struct graph_shape {
    int rank;
    int64_t dim[GRAPH_MAX_RANK];
};

/* One tensor and the operator that makes it. Layers with weights (conv2d, depthwise_conv2d, dense, dense4) have a bias,
 * norm too, but kind=rms. Of what
 * reads a constant the tensor at that place is a weight. */
struct graph_node {
    char name[GRAPH_NAME_BYTES];
    enum graph_op op;
    int in[GRAPH_MAX_INPUTS], n_in; /* nodes read; a convolution adds the second to its sums, before relu */
    struct graph_shape shape;       /* of what it gives */
    bool relu;
    bool relu6;     /* and what is above 6 is 6; never with relu */
    unsigned curve; /* one of EPILOGUE_CURVES (kernels/epilogue.h) in their place; 0: none */
    bool avg;
    bool bytes; /* u8 with a scale and zero points in a network of floats, made and read by quantize */
    int64_t key[N_GRAPH_KEYS];
    char words[GRAPH_WORDS_BYTES]; /* "key=value ..." of its workload, of operators with own words */
};

/* A node reads earlier ones only. Arguments of the network: its inputs (and lengths) in the order of the nodes, then
 * its outputs. */
struct graph {
    const char *name;
    struct graph_node *nodes;
    size_t n_nodes, cap_nodes;
    int outputs[GRAPH_MAX_OUTPUTS]; /* nodes, none twice */
    size_t n_outputs;
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

/* Does the caller give it with each run? An input, or lengths. */
bool graph_is_given(const struct graph_node *n);

/* Matrix products whose weights are constants: dense, dense4. */
bool graph_is_dense(enum graph_op op);

/* Position of a node by name, -1 when there is none. */
int graph_node_find(const struct graph *g, const char *name);

/* The type of what node `i` gives in a network of type `t`, sums of int8 networks apart. */
enum dtype graph_dtype(const struct graph *g, size_t i, enum dtype t);

/* Does node `i` read node `of`? */
bool graph_reads(const struct graph *g, size_t i, size_t of);

/* ---- shapes ---- */

/* Elements; -1 where they are over GRAPH_MAX_ELEMS, or a size is below 1. */
int64_t graph_elems(const struct graph_shape *s);
bool graph_same_shape(const struct graph_shape *a, const struct graph_shape *b);

/* "1 x 3 x 224 x 224"; "one number" of rank 0. Cut where it is longer. */
void graph_shape_words(const struct graph_shape *s, char *out, size_t n);

/* The product of the dimensions [from, to), of sizes that fit. */
int64_t graph_stretch(const struct graph_shape *s, int from, int to);

/* The shape that two are repeated to, aligned at their ends, a dimension of 1 standing for any; false where they do not
 * fit. */
bool graph_broadcast(const struct graph_shape *a, const struct graph_shape *b, struct graph_shape *out);

/* Computes the shape of what a node gives, from its keys and the shapes of its inputs. ERR_INPUT in words without the
 * node's name. Of operators whose line has shape= it is there and checked. */
enum err graph_infer(struct graph_node *n, const struct graph_shape *const in[], struct why *why);

#endif
