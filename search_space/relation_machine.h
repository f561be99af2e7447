/* SPDX-License-Identifier: MIT */
/* relation_machine.h - works out rows of a relation: column-wise evaluation of its terms over many states at once;
 * shared by relation.c and relation_machine.c. */
#ifndef TUNE_SEARCH_SPACE_RELATION_MACHINE_H
#define TUNE_SEARCH_SPACE_RELATION_MACHINE_H

#include "core/err.h"
#include "search_space/relation.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One term of the relation; operands by place in the list. */
struct step {
    uint32_t a, b;
    uint8_t op;
    int8_t ready;    /* the level that computes it; -1: a constant */
    int8_t last_use; /* the last level that needs it */
    bool is_exact;   /* operands are integers below 2^53 */
    bool is_root;
    uint16_t i_knob;
    struct range in;
};

/* The distinct states before a level: the values that later levels need of earlier ones. */
struct states {
    size_t width;     /* values a state */
    uint32_t *steps;  /* [width]: whose values */
    double *keys;     /* [n][width] */
    uint32_t *ids;    /* [n]: RELATION_FALSE, RELATION_TRUE, or its row */
    uint32_t *of_row; /* the state of a row */
    size_t n, cap;
    struct map by_key;
};

struct relation_machine {
    const struct terms *terms;
    struct step *steps; /* operands first */
    size_t n_steps;
    struct states *states; /* [n_levels] */
    double *columns;       /* [n_steps][n_column]: scratch */
    struct range *ranges;  /* [n_steps]: scratch */
    size_t n_column;
    double *rest; /* [n_levels + 1]: number of combinations of the knobs from a level on */
};

/* A machine for `roots`, with one row (the empty state) at level 0 of `r`, whose levels are set up. */
enum err relation_machine_new(const struct terms *t, const uint32_t *roots, size_t n_roots, struct relation *r);

/* Works out rows first..first+n-1 of a level. */
enum err relation_machine_expand(struct relation *r, size_t i_level, size_t first, size_t n);

#endif
