/* SPDX-License-Identifier: MIT */
/* grow.h - grows regression trees on packed rows from histograms of whole numbers: gradients are rounded to a grid so
 * fine that their sums are exact in any order, hence the same tree on every machine and at every vector width.
 * (Gain and leaves as in Chen and Guestrin 2016; subtraction of histograms as in Ke et al. 2017.) */
#ifndef TUNE_COST_MODEL_GROW_H
#define TUNE_COST_MODEL_GROW_H

#include "core/err.h"
#include "cost_model/bins.h"
#include "cost_model/packed.h"
#include "cost_model/tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct grow_options {
    size_t max_depth;  /* <= TREE_MAX_DEPTH unless leaf-wise */
    size_t max_leaves; /* <= TREE_MAX_LEAVES */
    bool leaf_wise;    /* always splits the leaf that gains most */
    double l2;         /* added to the weight in a leaf's value */
    double min_child;  /* least weight of a leaf */
    double min_gain;   /* least reduction of the loss by a split */
    double rate;       /* leaves are multiplied by it */
};

struct grower;

/* Borrows the packed rows and the cuts of their table as long as it lives. ERR_NOMEM. */
enum err grower_new(struct grower **out, struct packed *rows, const struct bins *bins,
                    const struct grow_options *options);
void grower_free(struct grower *g);

/* One round: the gradients are minus the first derivatives of the loss, the weights its second ones. */
struct grow_round {
    const float *gradients; /* [n of the packed rows] */
    const float *weights;   /* [n] >= 0, or NULL: all 1 */
    const uint32_t *rows;   /* [n_rows] the sample to grow on, NULL: all */
    size_t n_rows;
    const bool *use; /* [n_columns of the table]: columns that may split; NULL: all */
};

/* Grows a tree; adds its answer for each packed row, in the sample or not, to answers[n], and the loss reductions to
 * gains[n_columns of the table]. Gives the tree's memory. ERR_NOMEM. */
enum err grower_grow(struct grower *g, const struct grow_round *round, float *answers, double *gains, struct tree *out);

#endif
