/* SPDX-License-Identifier: MIT */
/* graph_ops.h - what the text of a graph and its lowering know of each operator. */
#ifndef TUNE_KERNELS_GRAPH_OPS_H
#define TUNE_KERNELS_GRAPH_OPS_H

#include "core/buf.h"
#include "core/err.h"
#include "kernels/epilogue.h"
#include "kernels/graph.h"
#include "runtime/dtype.h"

#include <stdbool.h>
#include <stddef.h>

/* A bit for each key; a key of several numbers has that of the first. */
#define GRAPH_KEY(k) (1u << GRAPH_##k)
enum {
    GRAPH_WORD_RELU = 1,
    GRAPH_WORD_MAX = 2,
    GRAPH_WORD_AVG = 4,
    GRAPH_WORD_GLOBAL = 8,
    GRAPH_WORD_RELU6 = 16,
    GRAPH_WORD_U8 = 1 << 16
};
#define GRAPH_WORD_CURVES EPILOGUE_CURVES /* the words of the epilogue, at its bits */

struct graph_rule {
    const char *name;
    int least_in, most_in;        /* tensors that it reads */
    unsigned needs, takes, words; /* of its line: keys that must and may be there, GRAPH_WORD_ */
    bool has_shape;               /* its line has shape= */
    bool own_words;               /* other words of the line go into its workload */
    bool blocks;                  /* it can be computed in layouts with blocks of channels */
    int constants;                /* so many inputs, from the first on, may be constants */
    /* Computes n->shape. Inputs are as many as may be, of at most GRAPH_MAX_ELEMS elements; ERR_INPUT in words. */
    enum err (*shape)(struct graph_node *n, const struct graph_shape *const in[], struct why *why);
    /* Appends " key=value ..." of its workload, own words left out; NULL: it has no kernel. */
    void (*sizes)(const struct graph *g, size_t i, enum dtype t, int layout, struct buf *out);
};
extern const struct graph_rule graph_rules[N_GRAPH_OPS];

/* Of element-wise chains (graph_eltwise.c): as the members of a rule; can it be computed in blocks of so many channels?
 */
enum err graph_eltwise_shape(struct graph_node *n, const struct graph_shape *const in[], struct why *why);
void graph_eltwise_sizes(const struct graph *g, size_t i, enum dtype t, int layout, struct buf *out);
bool graph_eltwise_fits(const struct graph *g, size_t i, int lanes);

/* Is it an attention that sees no key behind the lengths that it reads, its last input? */
bool graph_reads_lengths(const struct graph_node *n);

/* In int8 networks: a dense layer gives its sums to softmax, which alone reads it then, and to the caller where nobody
 * does. */
bool graph_gives_sums(const struct graph *g, size_t i);

#endif
