/* SPDX-License-Identifier: MIT */
/* layouts.h - the layout of each tensor of a network, and which layers are computed in the kernel of the one before
 * them: the cheapest choice by the times of layers and of transforms. Exact, by variable elimination: a node's layout
 * is a variable, its value one of the layouts that it can have, the time of a node a table over one variable, the
 * transforms of a tensor (once for each other layout that its readers want) a table over its writer and its readers. Of
 * two nodes that can be fused (kernels/graph_fuse.h) the times stand in that table, where both have one layout as one
 * kernel if that is faster: no variable tells whether they are. */
#ifndef TUNE_DEPLOY_LAYOUTS_H
#define TUNE_DEPLOY_LAYOUTS_H

#include "core/err.h"
#include "kernels/graph_lower.h"

#include <stdbool.h>
#include <stddef.h>

#define LAYOUTS_MAX_ENTRIES (1 << 20) /* of one table */
#define LAYOUTS_MAX_SCOPE 24          /* variables of one table */

/* Times in any unit; INFINITY = cannot be computed so. Asked for layouts of graph_node_layouts only. */
struct layouts_costs {
    double (*node)(size_t i, int layout, void *arg);
    double (*transform)(size_t i, int from, int to, void *arg); /* the tensor of node i */
    double (*fused)(size_t i, int layout, void *arg); /* with what graph_fusions has of node i; NULL: never fused */
    void *arg;
    unsigned layouts; /* a bit each: those to consider (graph_layouts_among); 0: all */
};

/* layout: [n_nodes], out. ERR_UNSUPPORTED: nothing computes the network; ERR_LIMIT: so many readers of one tensor that
 * a table would pass LAYOUTS_MAX_ENTRIES; ERR_NOMEM. */
enum err layouts_choose(const struct graph *g, enum dtype t, const struct layouts_costs *c, int *layout, double *cost,
                        struct why *why);

/* What the choice computes in the kernel of each node, of what graph_fusions has; 0: nothing. with: [n_nodes]. */
void layouts_fused(const struct graph *g, enum dtype t, const struct layouts_costs *c, const int *layout, size_t *with);

/* The cost of one choice: what tests hold layouts_choose against. NAN: out of memory. */
double layouts_price(const struct graph *g, enum dtype t, const struct layouts_costs *c, const int *layout);

#endif
