/* SPDX-License-Identifier: MIT */
/* graph_fuse.h - layers of a graph that may be computed in the kernel of the layer before them: activations behind
 * convolutions and dense layers. Whether that is faster is measured (graph_work.h) and chosen with the layouts. */
#ifndef TUNE_KERNELS_GRAPH_FUSE_H
#define TUNE_KERNELS_GRAPH_FUSE_H

#include "core/err.h"
#include "kernels/graph.h"
#include "runtime/dtype.h"

#include <stdbool.h>
#include <stddef.h>

/* The node that can be computed in the kernel of node `i`, its only reader: an element-wise one whose call is a curve
 * of kernels/epilogue.h. 0: none. Floats only, and not where the caller reads it, who knows it by its name. */
size_t graph_fuses(const struct graph *g, size_t i, enum dtype t);

/* A graph in which each node i with with[i] computes graph_fuses(g, i) too, and keeps its own name. at: [n_nodes], of
 * each node its position there; that of one that is computed by another is that one's. graph_fini it; ERR_NOMEM. */
enum err graph_fuse(const struct graph *g, enum dtype t, const bool *with, struct graph *out, int *at);

/* The same with all that can be; `at` may be NULL. */
enum err graph_fuse_all(const struct graph *g, enum dtype t, struct graph *out, int *at);

#endif
