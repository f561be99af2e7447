/* SPDX-License-Identifier: MIT */
/* coded_table.h - what a coded table holds, for the models of this room. */
#ifndef TUNE_COST_MODEL_CODED_TABLE_H
#define TUNE_COST_MODEL_CODED_TABLE_H

#include "cost_model/bins.h"
#include "cost_model/coded.h"

#include <stddef.h>
#include <stdint.h>

/* Cuts that tables and models share; freed with the last of them. */
struct coded_cuts {
    struct bins bins;
    size_t n_users;
};

struct coded {
    struct coded_cuts *cuts;
    uint8_t *codes; /* [n_blocks][n_columns][BINS_BLOCK]; places beyond the last row are BINS_MISSING */
    size_t n;
};

struct coded_cuts *coded_cuts_keep(struct coded_cuts *cuts);
void coded_cuts_drop(struct coded_cuts *cuts);

/* Lends the codes of rows [BINS_BLOCK * i_block ...): [n_columns][BINS_BLOCK]. */
static inline const uint8_t *coded_block(const struct coded *c, size_t i_block)
{
    return c->codes + i_block * c->cuts->bins.n_columns * BINS_BLOCK;
}

/* Copies the codes of rows[n] (NULL: the first n) into out[n_columns][n]. */
void coded_columns(const struct coded *c, const uint32_t *rows, size_t n, uint8_t *out);

#endif
