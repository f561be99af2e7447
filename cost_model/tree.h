/* SPDX-License-Identifier: MIT */
/* tree.h - one regression tree over the columns of a coded table. */
#ifndef TUNE_COST_MODEL_TREE_H
#define TUNE_COST_MODEL_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TREE_MAX_LEAVES 256
#define TREE_MAX_DEPTH 8 /* of trees grown depth by depth; grown leaf by leaf they may be deeper */

/* A row goes right when its code is above the threshold; a missing one (code 0) when missing_right. */
struct tree_node {
    uint16_t i_column;
    uint8_t threshold;
    bool missing_right;
    int16_t child[2]; /* left, right: a node behind this one, or ~leaf */
};

struct tree {
    struct tree_node *nodes; /* node 0 is the root; none: leaves[0] is the answer */
    float *leaves;
    size_t n_nodes, n_leaves; /* n_leaves = n_nodes + 1 */
};

void tree_fini(struct tree *t);

/* Longest way from the root to a leaf; 0 for a tree of one leaf. */
size_t tree_depth(const struct tree *t);

#endif
