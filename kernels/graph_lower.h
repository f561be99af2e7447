/* SPDX-License-Identifier: MIT */
/* graph_lower.h - a graph made into steps that can be carried out: one workload each, in a dtype and in the layouts
 * chosen, with transforms where two neighbours' layouts differ, and the memory that the tensors between them share.
 * What is joined is written in place, and a piece that lies in one is read in place, where parts of memory may begin
 * there.
 *
 * f32, f16: bias, shortcut and relu are in the convolution's epilogue. i8, u8: a convolution requantises, and with a
 * shortcut joins both (bias_requant_add_relu); the last dense layer gives i32 sums, softmax f32. */
#ifndef TUNE_KERNELS_GRAPH_LOWER_H
#define TUNE_KERNELS_GRAPH_LOWER_H

#include "core/buf.h"
#include "core/err.h"
#include "kernels/graph.h"
#include "kernels/images.h"
#include "kernels/operator.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GRAPH_LAYOUTS IMAGES_LAYOUTS /* images_layouts, by position */

/* Is there something to be run for node `i`? Not for inputs, nor for other shapes of the same elements. */
bool graph_has_kernel(const struct graph *g, size_t i);

/* Layouts that node `i` can be computed in, a bit each: those that fit its channels; i8 networks have blocks of
 * channels alone where they fit, or nhwc, if a template other than the naive one computes it (no u8, channels in
 * fours). Input, dense, softmax, what is not of rank 4: nchw. */
unsigned graph_node_layouts(const struct graph *g, size_t i, enum dtype t);

/* Of the layouts that a node can have those that are among `layouts`; where none is: nchw, else blocks. */
unsigned graph_layouts_among(unsigned can, unsigned layouts);

/* The layout of what node `i` gives when it is computed in `layout`, and of what it must be given as input k. Outputs
 * of the network are in nchw. */
int graph_gives(const struct graph *g, size_t i, int layout);
int graph_wants(const struct graph *g, size_t i, int k, int layout);

/* The layouts, a bit each, in which node `i` computed in `layout` wants the tensor of node `of`; 0: it does not read
 * it. As node g->n_nodes stands the caller, who reads the network's outputs. */
unsigned graph_wants_of(const struct graph *g, size_t i, size_t of, int layout);

/* True when a tensor in layout `from` has to be transformed for a reader that wants `to`: one pixel lies alike in all
 * of them. */
bool graph_differs(const struct graph *g, size_t i, int from, int to);

/* The workload of node `i`, which has a kernel, in canonical form, appended. ERR_INPUT with words when no operator has
 * such sizes. */
enum err graph_node_workload(const struct graph *g, size_t i, enum dtype t, int layout, struct buf *out,
                             struct why *why);

/* Appends a node's workload as networks list it: f32, nchw, without what is fused into it. False for what is
 * not listed: what has no weights. */
bool graph_plain_workload(const struct graph *g, size_t i, struct buf *out);

/* The workload that brings the tensor of node `i` from one layout into another. */
enum err graph_transform_workload(const struct graph *g, size_t i, enum dtype t, int from, int to, struct buf *out,
                                  struct why *why);

#define LOWERED_NAME_BYTES (GRAPH_NAME_BYTES + 16)

struct lowered_tensor {
    char name[LOWERED_NAME_BYTES]; /* the node's; "conv2_nchw16c" transformed, "x_copy" copied */
    int i_node;
    int layout;
    enum dtype dtype;
    int64_t n_bytes;
    int first, last; /* steps that write and last read it; -1: the caller's input, n_steps: the caller's output */
    int i_argument;  /* of the network, in whose memory it lies; -1: none */
    int within;      /* 1 + the tensor of which it is a part; 0: memory of its own */
    bool has_parts;  /* of others that lie within it */
    int64_t at;      /* bytes from the beginning of the tensor of which it is a part */
    int i_slot;      /* of the memory between the layers; -1: the caller's */
};

#define LOWERED_PART_BYTES 512 /* parts begin at multiples of it, as sub-buffers have to on every device known */

struct lowered_step {
    char name[LOWERED_NAME_BYTES]; /* the node's; "conv2_to_nchw16c", "x_copy" */
    int i_node;
    bool is_transform; /* or a copy */
    char *workload;
    int in[GRAPH_MAX_INPUTS], n_in; /* tensors, in the order of the inputs of the workload's operator */
    int out; /* and of recurrent layers, whose states are outputs too, the n_out - 1 tensors behind it */
    int n_out;
};

/* What the caller gives to be read or written: dense, images in nchw. */
struct lowered_argument {
    int i_node;
    bool is_output;
    enum dtype dtype;
};

struct lowered {
    const struct graph *graph;
    enum dtype dtype;
    struct lowered_argument *arguments; /* inputs in the order of the nodes, then outputs */
    size_t n_arguments;
    struct lowered_tensor *tensors;
    size_t n_tensors;
    struct lowered_step *steps; /* in the order of the graph */
    size_t n_steps;
    int64_t *slot_bytes;
    size_t n_slots;
};

/* `layout`: [n_nodes], of each node one of graph_node_layouts. Keeps `g`. ERR_INPUT, ERR_LIMIT, ERR_NOMEM with words.
 */
enum err graph_lower(const struct graph *g, enum dtype t, const int *layout, struct lowered *out, struct why *why);
void lowered_fini(struct lowered *l);

/* Gives tensors slots: two whose lives overlap never share one, a free slot is taken before a new one is made, the best
 * fitting first. A tensor lives as long as its parts, which get its slot. graph_lower has done it already; here for its
 * tests. `slot_bytes`: room for n; the number of slots. */
size_t lowered_plan_memory(struct lowered_tensor *tensors, size_t n, int n_steps, int64_t *slot_bytes);

/* Bytes from the beginning of its slot to tensor i. */
int64_t lowered_at(const struct lowered_tensor *tensors, size_t i);

#endif
