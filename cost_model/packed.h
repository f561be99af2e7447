/* packed.h - the rows of one fit, ready for growing trees: columns recoded to the codes these rows use, one record a
 * row. A column with missing values comes twice, with them below and above all values, so that every split is one
 * compare. */
#ifndef TUNE_COST_MODEL_PACKED_H
#define TUNE_COST_MODEL_PACKED_H

#include "cost_model/coded.h"

#include <stdbool.h>

#define PACKED_LANES 16       /* narrow columns stand side by side in groups of so many */
#define PACKED_NARROW 16      /* most codes of a narrow column */
#define PACKED_CODES_AT 12    /* where the codes of a record begin, behind the gradient (8 bytes) and the row (4) */
#define PACKED_MAX_CODES 256u /* of one column */

/* One column of a fit. A row's byte at record[PACKED_CODES_AT + its number] is code * step + lane, and the histogram
 * cell of the row is first_cell + that byte. */
struct packed_column {
    uint32_t i_column; /* of the table */
    bool missing_high; /* missing values stand above all others */
    bool has_missing;
    uint16_t n_codes;   /* >= 2 */
    uint8_t step, lane; /* narrow: PACKED_LANES and the place in its group; wide: 1 and 0 */
    uint32_t first_cell;
    uint8_t *table_code; /* [n_codes] ascending, BINS_MISSING last when missing_high */
};

struct packed_group {
    uint32_t first_cell, n_codes; /* cells[n_codes][PACKED_LANES] */
    uint32_t width;               /* lanes in use */
};

struct packed {
    struct packed_column *columns; /* narrow ones first, PACKED_LANES to a group, by number of codes */
    struct packed_group *groups;
    size_t n, n_columns, n_narrow, n_groups, n_cells;
    size_t stride;    /* bytes of a record, a multiple of 16 */
    uint8_t *records; /* [n][stride]; gradients are for the grower to write */
    uint8_t *table_codes;
};

/* Packs rows[n] of a table (NULL: the first n). ERR_NOMEM leaves nothing behind. */
enum err packed_init(struct packed *p, const struct coded *table, const uint32_t *rows, size_t n);
void packed_fini(struct packed *p);

#endif
