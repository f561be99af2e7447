/* tree.h - one regression tree over coded columns: grown from histograms, read 64 rows at a time. */
#ifndef TUNE_COST_MODEL_TREE_H
#define TUNE_COST_MODEL_TREE_H

#include "cost_model/bins.h"
#include "core/rng.h"

#include <stdbool.h>

#define TREE_MAX_DEPTH 7
#define TREE_MAX_LEAVES (1 << TREE_MAX_DEPTH)

/* A row goes right when (uint8_t)(code - shift) > threshold; with shift 1 a missing value goes right, with 0 left. */
struct tree_node {
    uint16_t i_column;
    uint8_t threshold, shift;
    uint8_t left, right; /* a node behind this one, or a leaf */
    bool left_is_leaf, right_is_leaf;
};

struct tree {
    struct tree_node *nodes; /* node 0 is the root; none: leaves[0] is the answer */
    float *leaves;
    size_t n_nodes, n_leaves;
};

struct tree_options {
    size_t max_depth; /* <= TREE_MAX_DEPTH */
    double l2;        /* added to the weight in a leaf's mean */
    double min_child; /* least weight of a leaf */
    double min_gain;  /* least reduction of the loss by a split */
    double rate;      /* leaves are multiplied by it */
};

/* What a tree is grown from; codes[n_columns][n]. */
struct tree_data {
    const uint8_t *codes;
    const float *targets, *weights; /* weights may be NULL: all 1 */
    size_t n, n_columns;
};

struct tree_grower;

enum err tree_grower_new(struct tree_grower **out, const struct tree_data *data, const struct tree_options *options);
void tree_grower_free(struct tree_grower *g);

/* Grows a tree on rows[n_rows] (indices, reordered; n_rows >= 1) over the columns with use[i] true; adds to
 * gains[n_columns] the loss reductions. `targets` of the data are read anew each time. Gives the tree's memory.
 * ERR_NOMEM. */
enum err tree_grow(struct tree_grower *g, uint32_t *rows, size_t n_rows, const bool *use, double *gains,
                   struct tree *out);
void tree_fini(struct tree *t);

/* Where tree_add_block works; made once for many trees. */
struct tree_scratch {
    uint8_t reached[TREE_MAX_LEAVES][BINS_BLOCK]; /* by node: the leaf that each row reaches from there */
    uint8_t fixed[TREE_MAX_LEAVES][BINS_BLOCK];   /* rows of equal numbers: leaves as children */
};

void tree_scratch_init(struct tree_scratch *s);

/* Adds the tree's answers for a block of codes[n_columns][BINS_BLOCK] to sums[BINS_BLOCK]. */
void tree_add_block(const struct tree *t, const uint8_t *codes, struct tree_scratch *s, float *sums);

/* The answer for row `i` of codes[n_columns][n]. */
float tree_at(const struct tree *t, const uint8_t *codes, size_t n, size_t i);

#endif
