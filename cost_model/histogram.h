/* SPDX-License-Identifier: MIT */
/* histogram.h - sums of gradients and weights by code, and the best split of the rows they were summed over. A cell
 * holds both sums: the gradient above, the weight in the lower 32 bits; cells add as whole numbers. */
#ifndef TUNE_COST_MODEL_HISTOGRAM_H
#define TUNE_COST_MODEL_HISTOGRAM_H

#include "core/err.h"
#include "cost_model/packed.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t cell_t;

#define HISTOGRAM_MOST 0x7fff0000 /* of the sum of absolute gradients, and of the sum of weights */

static inline int32_t cell_gradient(cell_t c)
{
    return (int32_t)(c >> 32);
}

static inline int32_t cell_weight(cell_t c)
{
    return (int32_t)(uint32_t)c;
}

static inline cell_t cell_of(int32_t gradient, int32_t weight)
{
    return ((uint64_t)(uint32_t)gradient << 32) + (uint32_t)weight;
}

/* Where the records of some rows stand: row i at base + (list ? list[i] : i) * stride. */
struct row_span {
    uint8_t *base;
    const uint32_t *list;
    size_t n;
};

/* Rows with codes up to `below` go left, those from `above` on right; none of the rows is between. */
struct split {
    int32_t score; /* the bits of a float >= 0: squared sums by weight, left and right; 0 = none found */
    uint32_t i_column;
    uint16_t below, above;
    cell_t left;
};

struct histogram {
    const struct packed *p;
    cell_t *lanes;    /* [n_groups][PACKED_NARROW_LANES]: all bits where the column may split */
    cell_t *sparse;   /* [n_cells], all 0 between calls */
    cell_t *pairs;    /* [n_pairs][PACKED_NARROW][PACKED_NARROW] */
    cell_t *left;     /* candidates: sums of their left side */
    int32_t *scores;  /* of candidates */
    uint8_t *codes;   /* of candidates of wide columns from few rows */
    uint32_t *starts; /* [n_groups + 1] where the candidates of a group begin */
    uint32_t *listed; /* [n_columns + 1] where those of a wide column begin that were listed from few rows */
};

/* Borrows `p`. ERR_NOMEM. */
enum err histogram_init(struct histogram *h, const struct packed *p);
void histogram_fini(struct histogram *h);

/* Chooses the columns that may split from now on; use[n_columns of the table], NULL = all. */
void histogram_use(struct histogram *h, const bool *use);

/* cells[n_cells] of some rows, many rather than few. */
void histogram_fill(struct histogram *h, const struct row_span *rows, cell_t *cells);
cell_t histogram_sum(const struct packed *p, const struct row_span *rows);

/* large -= small */
void histogram_subtract(const struct histogram *h, cell_t *large, const cell_t *small);

/* What a split is worth and when it is allowed. */
struct scan_rule {
    float l2;           /* in units of the weights */
    int32_t min_weight; /* >= 1, of each side */
};

/* The best split by filled cells; `all` is the sum over the rows. Of equals the one of the earliest group, there of the
 * lowest code, there of the earliest column: so all ways to scan agree. */
struct split histogram_scan(struct histogram *h, const cell_t *cells, cell_t all, struct scan_rule rule);

/* The same straight from few rows, where most cells would be empty. */
struct split histogram_scan_rows(struct histogram *h, const struct row_span *rows, cell_t all, struct scan_rule rule);

#endif
