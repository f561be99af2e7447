/* SPDX-License-Identifier: MIT */
/* layouts.h - the layout of each tensor of a network: the cheapest choice by the times of layers and of transforms.
 * Exact, by variable elimination: a node's layout is a variable of four values, the time of a node a table over one
 * variable, the transforms of a tensor (once for each other layout that its readers want) a table over its writer and
 * its readers. */
#ifndef TUNE_DEPLOY_LAYOUTS_H
#define TUNE_DEPLOY_LAYOUTS_H

#include "core/err.h"
#include "kernels/graph_lower.h"

#include <stddef.h>

#define LAYOUTS_MAX_SCOPE 10 /* variables of one table */

/* Times in any unit; INFINITY = cannot be computed so. Asked for layouts of graph_node_layouts only. */
struct layouts_costs {
    double (*node)(size_t i, int layout, void *arg);
    double (*transform)(size_t i, int from, int to, void *arg); /* the tensor of node i */
    void *arg;
};

/* layout: [n_nodes], out. ERR_UNSUPPORTED: nothing computes the network; ERR_LIMIT: so many readers of one tensor that
 * a table would pass LAYOUTS_MAX_SCOPE; ERR_NOMEM. */
enum err layouts_choose(const struct graph *g, enum dtype t, const struct layouts_costs *c, int *layout, double *cost,
                        struct why *why);

/* The cost of one choice: what tests hold layouts_choose against. */
double layouts_price(const struct graph *g, enum dtype t, const struct layouts_costs *c, const int *layout);

#endif
