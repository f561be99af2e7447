/* SPDX-License-Identifier: MIT */
/* space_private.h - what a space is made of; shared by space*.c. */
#ifndef TUNE_SEARCH_SPACE_SPACE_PRIVATE_H
#define TUNE_SEARCH_SPACE_SPACE_PRIVATE_H

#include "core/err.h"
#include "search_space/expr.h"
#include "search_space/space.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPACE_MAX_SLOTS (SPACE_MAX_KNOBS + SPACE_MAX_CONSTANTS + SPACE_MAX_QUANTITIES)

struct knob {
    char name[SPACE_NAME_BYTES];
    struct expr_value *values;
    size_t n;
    bool words, positive; /* positive: all values > 0 */
};

struct constant {
    char name[SPACE_NAME_BYTES];
};

struct quantity {
    char name[SPACE_NAME_BYTES];
    char *text;
    struct expr *expr;
};

/* An expression, or a filter in C (keep not NULL). */
struct constraint {
    char *text;
    struct expr *expr;
    space_keep *keep;
    void *arg;
    uint16_t *needs; /* quantities to compute before it that no earlier constraint has computed, in order */
    size_t n_needs;
};

struct feature {
    char name[2 * SPACE_NAME_BYTES + SPACE_WORD_BYTES];
    enum { FEATURE_KNOB, FEATURE_LOG2, FEATURE_WORD, FEATURE_QUANTITY } kind;
    size_t i, i_value; /* knob or quantity; for a word its place in the knob's list */
};

/* Slots of expressions: knobs, then constants, then quantities, each in the order they were added. */
struct space {
    struct knob knobs[SPACE_MAX_KNOBS];
    struct constant constants[SPACE_MAX_CONSTANTS];
    struct expr_value constant_values[SPACE_MAX_CONSTANTS];
    struct quantity quantities[SPACE_MAX_QUANTITIES];
    struct constraint constraints[SPACE_MAX_CONSTRAINTS];
    struct feature *features;
    size_t n_knobs, n_constants, n_quantities, n_constraints, n_features;
    uint64_t size;
    bool sealed;
};

/* Knobs and constants at `c` into slots[SPACE_MAX_SLOTS]. */
void space_fill_slots(const struct space *s, const struct config *c, struct expr_value *slots);

/* Quantity `i` from slots that hold all it needs, into its own slot; NAN where it cannot be computed. */
void space_fill_quantity(const struct space *s, size_t i, struct expr_value *slots);

/* Builds the list of features at sealing. ERR_NOMEM. */
enum err space_list_features(struct space *s);

#endif
