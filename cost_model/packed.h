/* SPDX-License-Identifier: MIT */
/* packed.h - the rows of one fit, ready for growing trees: columns recoded to the codes these rows use, one record a
 * row. A column with missing values comes twice, with them below and above all values, so that every split is one
 * compare. */
#ifndef TUNE_COST_MODEL_PACKED_H
#define TUNE_COST_MODEL_PACKED_H

#include "core/err.h"
#include "cost_model/coded.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACKED_NARROW 8        /* most codes of a narrow column; two of them share a byte */
#define PACKED_NARROW_LANES 16 /* narrow columns stand side by side in groups of so many */
#define PACKED_WIDE_LANES 4    /* and wide ones */
#define PACKED_CHUNK 4         /* bytes that are read at once */
#define PACKED_CODES_AT 12     /* where the codes of a record begin, behind the gradient (8 bytes) and the row (4) */
#define PACKED_MAX_CODES 256u  /* of one column */

/* One column of a fit. Two narrow ones share a byte, 8 * code of the even one + code of the odd one; a wide one has its
 * own. Its histogram cell is that of its group + code * lanes + lane. */
struct packed_column {
    uint32_t i_column; /* of the table */
    bool missing_high; /* missing values stand above all others */
    bool has_missing;
    uint16_t n_codes; /* >= 2 */
    uint16_t i_group;
    uint8_t lane;
    uint32_t i_byte;     /* in a record */
    uint8_t *table_code; /* [n_codes] ascending, BINS_MISSING last when missing_high */
};

struct packed_group {
    uint32_t first_cell, n_codes, n_lanes; /* cells[n_codes][n_lanes]; of narrow ones there are always PACKED_NARROW */
    uint32_t first_column, width;          /* columns, one to a lane */
};

struct packed {
    struct packed_column *columns; /* by number of codes, so narrow ones first */
    struct packed_group *groups;   /* of narrow columns, then of wide ones */
    size_t n, n_columns, n_narrow, n_groups, n_narrow_groups, n_cells;
    size_t n_pairs;   /* bytes of narrow columns, rounded up to chunks; the rest are 0 */
    size_t wide_at;   /* where the bytes of wide columns begin in a record; those are rounded up to chunks too */
    size_t stride;    /* bytes of a record, a multiple of 8 */
    uint8_t *records; /* [n][stride]; gradients are for the grower to write */
    uint8_t *table_codes;
};

/* Rows with codes up to `code` of a column have (byte & mask) <= threshold. */
struct packed_test {
    uint32_t i_byte;
    uint8_t mask, threshold;
};

static inline struct packed_test packed_test_of(const struct packed *p, size_t i_column, size_t code)
{
    const uint32_t i_byte = p->columns[i_column].i_byte;

    if (i_column >= p->n_narrow)
        return (struct packed_test){i_byte, 255, (uint8_t)code};
    return i_column % 2 == 0 ? (struct packed_test){i_byte, 255, (uint8_t)(code * PACKED_NARROW + PACKED_NARROW - 1)}
                             : (struct packed_test){i_byte, PACKED_NARROW - 1, (uint8_t)code};
}

static inline bool packed_is_right(struct packed_test t, const uint8_t *record)
{
    return (record[t.i_byte] & t.mask) > t.threshold;
}

/* Packs rows[n] of a table (NULL: the first n). ERR_NOMEM leaves nothing behind. */
enum err packed_init(struct packed *p, const struct coded *table, const uint32_t *rows, size_t n);
void packed_fini(struct packed *p);

#endif
