/* SPDX-License-Identifier: MIT */
/* forest.h - trees made ready for reading: 64 rows side by side through every tree, or one row alone. Which leaf a row
 * reaches is found with whole numbers and its answers are added tree by tree, so that all paths give the same bits. */
#ifndef TUNE_COST_MODEL_FOREST_H
#define TUNE_COST_MODEL_FOREST_H

#include "core/err.h"
#include "cost_model/coded_table.h"
#include "cost_model/tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FOREST_PADDED_DEPTH 6 /* trees up to here may be filled up to full ones */

/* What nodes compare: a column of codes less 128, with the missing value at -128, or at 127. */
struct forest_plane {
    uint32_t i_column;
    bool missing_high;
};

/* Go right when the plane's code is above the threshold. */
struct forest_padded_node {
    int8_t threshold[4]; /* four times the same */
    uint32_t offset;     /* of the plane in a block, bytes */
};

/* The same for one row alone: children of node i are 2i + 1 and 2i + 2. */
struct forest_heap_node {
    uint16_t i_plane;
    int8_t threshold;
};

struct forest_node {
    int8_t threshold[4];
    uint32_t offset;
    uint32_t side[2]; /* slot * BINS_BLOCK: slots below TREE_MAX_LEAVES are leaves, then come nodes */
};

/* A tree of full depth d: nodes of the left side, of the right side, then the root, and so for each side; 2^d leaves.
 * Any other: nodes from the last to the root. */
struct forest_tree {
    bool is_padded;
    uint8_t depth; /* padded only */
    uint16_t n_nodes, n_leaves;
    uint32_t first_node, first_leaf;
};

struct forest_path;

struct forest {
    const struct forest_path *path; /* may be set to another supported one */
    struct forest_tree *trees;
    struct forest_padded_node *padded;
    struct forest_heap_node *heaps; /* of padded trees, at the same places */
    struct forest_node *nodes;
    float *leaves; /* each tree's begin at a multiple of 16 */
    struct forest_plane *planes;
    size_t n_trees, n_planes;
};

/* A way to read blocks. add: planes[n_blocks][n_planes][BINS_BLOCK]; adds the answers of trees [first, first + n) to
 * sums[n_blocks][BINS_BLOCK]. */
struct forest_path {
    const char *name;
    bool (*is_supported)(void);
    void (*add)(const struct forest *f, size_t first, size_t n, const int8_t *planes, size_t n_blocks, float *sums);
};

/* NULL-ended, the fastest first; the last one, "portable", is supported everywhere. */
extern const struct forest_path *const forest_paths[];

/* Copies the trees. ERR_NOMEM. */
enum err forest_init(struct forest *f, const struct tree *trees, size_t n);
void forest_fini(struct forest *f);

/* From columns[n_columns of the table][BINS_BLOCK] to planes[n_planes][BINS_BLOCK]. */
void forest_planes(const struct forest *f, const uint8_t *columns, int8_t *planes);

/* One row: planes[n_planes]. Returns sum + the answers of trees [first, first + n), added in this order. */
float forest_add_row(const struct forest *f, size_t first, size_t n, const int8_t *planes, float sum);

#endif
