/* SPDX-License-Identifier: MIT */
/* relation.h - which values of a few knobs go together: the conjunction of constraints over one set of knobs, as a
 * decision diagram. Level i is the i-th of its knobs in the order of the whole; a row is a state of the constraints
 * after the knobs before it, and holds for each value of the level's knob where it leads. */
#ifndef TUNE_SEARCH_SPACE_RELATION_H
#define TUNE_SEARCH_SPACE_RELATION_H

#include "core/err.h"
#include "search_space/terms.h"

#include <stddef.h>
#include <stdint.h>

/* Where a value leads: nowhere, to all values of all later knobs, or to row (id - RELATION_ROW) of the next level. */
#define RELATION_FALSE 0u
#define RELATION_TRUE 1u
#define RELATION_ROW 2u
#define RELATION_OPEN UINT32_MAX /* first entry of a row that has not been worked out */

#define RELATION_MAX_ROWS (1u << 27) /* of one level */

struct relation_level {
    size_t i_knob, n_values; /* values of the knob's domain */
    uint32_t *next;          /* [n_rows][n_values] */
    size_t n_rows, cap_rows;
};

struct relation {
    uint64_t scope; /* its knobs */
    uint32_t root;  /* where all begins: RELATION_FALSE, RELATION_TRUE, or the row of level 0 */
    size_t n_levels;
    struct relation_level *levels;
    struct relation_machine *machine; /* works out open rows; NULL: there are none, and no two rows mean the same */
};

/* Builds, in the arena of `t`, the relation of `roots` (all over the same knobs, at least one) with knobs in order of
 * place[knob]. Rows up to about `max_entries` entries are worked out at once and merged where they mean the same;
 * beyond that rows are worked out when they are asked for, and only those with equal intermediate values are one. Keeps
 * `t`. ERR_NOMEM, ERR_LIMIT. */
enum err relation_build(const struct terms *t, const uint32_t *roots, size_t n_roots, const uint8_t *place,
                        size_t max_entries, struct relation *out);

/* Works out an open row. ERR_NOMEM, ERR_LIMIT. */
enum err relation_open_row(struct relation *r, size_t i_level, size_t i_row);

/* Lends the row (n_values entries) that an id >= RELATION_ROW names at a level; RELATION_OPEN in its first entry: see
 * relation_open_row. */
static inline const uint32_t *relation_row(const struct relation *r, size_t i_level, uint32_t id)
{
    return r->levels[i_level].next + (size_t)(id - RELATION_ROW) * r->levels[i_level].n_values;
}

#endif
