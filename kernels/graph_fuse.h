/* SPDX-License-Identifier: MIT */
/* graph_fuse.h - layers of a graph that may be computed in the kernel of the layer before them: activations behind
 * convolutions and dense layers. Whether that is faster is measured (graph_work.h) and chosen with the layouts. */
#ifndef TUNE_KERNELS_GRAPH_FUSE_H
#define TUNE_KERNELS_GRAPH_FUSE_H

#include "core/err.h"
#include "kernels/graph.h"
#include "runtime/dtype.h"

#include <stddef.h>

/* with: [n_nodes], of each node the one that can be computed in its kernel, its only reader: an element-wise one whose
 * call is a curve of kernels/epilogue.h. 0: none. Floats only, and not where the caller reads it, who knows it by its
 * name. */
void graph_fusions(const struct graph *g, enum dtype t, size_t *with);

/* A graph in which each node i computes with[i] too, one that graph_fusions names or 0, and keeps its own name. at:
 * [n_nodes], of each node its position there; that of one that is computed by another is that one's. graph_fini it;
 * ERR_NOMEM. */
enum err graph_fuse(const struct graph *g, const size_t *with, struct graph *out, int *at);

/* The same with all that can be; `at` may be NULL. */
enum err graph_fuse_all(const struct graph *g, enum dtype t, struct graph *out, int *at);

#endif
