/* SPDX-License-Identifier: MIT */
/* graph_work.h - what has to be measured so that the layouts of a whole network can be chosen. */
#ifndef TUNE_KERNELS_GRAPH_WORK_H
#define TUNE_KERNELS_GRAPH_WORK_H

#include "core/err.h"
#include "kernels/graph_lower.h"

#include <stddef.h>
#include <stdint.h>

/* A workload of a network: once, however often it stands there. */
struct graph_work_item {
    char *workload;
    char name[LOWERED_NAME_BYTES]; /* of the first node that has it; "pool0_to_nchw16c" of a transform */
    int count;                     /* nodes that have it; 1 of a transform, and of what is behind the graph's */
};

struct graph_work {
    struct graph_work_item *items;
    size_t n;
};

/* Every workload of every node in the layouts allowed (a bit each; a node that can have none of them has nchw, or
 * nchw4c in int8), and every transform that may come between them. In the order of the graph, with as many nodes fused
 * as can be (graph_fuse.h), and behind these the workloads of such nodes apart. ERR_INPUT with words; ERR_NOMEM. */
enum err graph_work_init(struct graph_work *out, const struct graph *g, enum dtype t, unsigned layouts,
                         struct why *why);
void graph_work_fini(struct graph_work *w);

/* Layouts by name, separated by commas ("nchw,nchw16c"), as bits; NULL = all. ERR_INPUT: the names there are. */
enum err graph_layouts_named(const char *list, unsigned *out, struct why *why);

#endif
