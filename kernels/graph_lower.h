/* SPDX-License-Identifier: MIT */
/* graph_lower.h - a graph made into steps that can be carried out: one workload each, in a dtype and in the layouts
 * chosen, with transforms where two neighbours' layouts differ, and the memory that the tensors between them share.
 *
 * f32, f16: bias, shortcut and relu are in the convolution's epilogue. i8, u8: a convolution requantises, and with a
 * shortcut joins both (bias_requant_add_relu); the last dense layer gives i32 sums, softmax f32. */
#ifndef TUNE_KERNELS_GRAPH_LOWER_H
#define TUNE_KERNELS_GRAPH_LOWER_H

#include "core/buf.h"
#include "core/err.h"
#include "kernels/graph.h"
#include "kernels/operator.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GRAPH_LAYOUTS 4     /* images_layouts: nchw nchw4c nchw8c nchw16c, by position */
#define GRAPH_ANY_LAYOUT -1 /* one pixel: channels lie in order in every layout */

/* Layouts that node `i` can be computed in, a bit each: those that fit its channels; i8 networks have blocks of
 * channels alone where they fit. Input, dense, softmax: nchw. */
unsigned graph_node_layouts(const struct graph *g, size_t i, enum dtype t);

/* The layout of what node `i` gives when it is computed in `layout`, and of what it must be given: its x, its residual.
 * GRAPH_ANY_LAYOUT: a dense layer behind one pixel. */
int graph_gives(const struct graph *g, size_t i, int layout);
int graph_wants_x(const struct graph *g, size_t i, int layout);
int graph_wants_residual(const struct graph *g, size_t i, int layout);

/* True when a tensor in layout `from` has to be transformed for a reader that wants `to`. */
bool graph_differs(const struct graph *g, size_t i, int from, int to);

/* The workload of node `i`, which is no input, in canonical form, appended. ERR_INPUT with words when no operator has
 * such sizes. */
enum err graph_node_workload(const struct graph *g, size_t i, enum dtype t, int64_t batch, int layout, struct buf *out,
                             struct why *why);

/* Appends a node's workload as networks list it: f32, nchw, without what is fused into it. False for what is
 * not listed: what has no weights. */
bool graph_plain_workload(const struct graph *g, size_t i, struct buf *out);

/* The workload that brings the tensor of node `i` from one layout into another. */
enum err graph_transform_workload(const struct graph *g, size_t i, enum dtype t, int64_t batch, int from, int to,
                                  struct buf *out, struct why *why);

#define LOWERED_NAME_BYTES (GRAPH_NAME_BYTES + 16)

struct lowered_tensor {
    char name[LOWERED_NAME_BYTES]; /* the node's; "conv2_nchw16c" transformed */
    int i_node;
    int layout;
    enum dtype dtype;
    int64_t n_bytes;
    int first, last; /* steps that write and last read it; -1: the caller's input, n_steps: the caller's output */
    int i_slot;      /* of the memory between the layers; -1: the caller's */
};

struct lowered_step {
    char name[LOWERED_NAME_BYTES]; /* the node's; "conv2_to_nchw16c" */
    int i_node;
    bool is_transform;
    char *workload;
    int in[2], n_in; /* tensors, as the workload's operator has them: x, then residual; or a, b */
    int out;
};

struct lowered {
    const struct graph *graph;
    enum dtype dtype;
    int64_t batch;
    struct lowered_tensor *tensors; /* 0: the network's input */
    size_t n_tensors;
    struct lowered_step *steps; /* in the order of the graph */
    size_t n_steps;
    int64_t *slot_bytes;
    size_t n_slots;
};

/* `layout`: [n_nodes], of each node one of graph_node_layouts. Keeps `g`. ERR_INPUT, ERR_LIMIT, ERR_NOMEM with words.
 */
enum err graph_lower(const struct graph *g, enum dtype t, int64_t batch, const int *layout, struct lowered *out,
                     struct why *why);
void lowered_fini(struct lowered *l);

/* Gives tensors slots: two whose lives overlap never share one, a free slot is taken before a new one is made, the best
 * fitting first. graph_lower has done it already; here for its tests. `slot_bytes`: room for n; the number of slots. */
size_t lowered_plan_memory(struct lowered_tensor *tensors, size_t n, int n_steps, int64_t *slot_bytes);

/* The index in `in` (0, 1), or -1 for the output, of a tensor of a step's operator by name ("x" "a" "residual" "b"
 * "y"); -2 when it is none of these: a weight. */
int lowered_operand(const char *tensor);

#endif
