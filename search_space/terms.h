/* SPDX-License-Identifier: MIT */
/* terms.h - the constraints of a sealed space as a pool of shared, typed terms over knobs: what the set of valid
 * configs (valid_set.h) is built from.
 *
 * Each term stands behind its operands, equal terms are one term, quantities are written out, words are numbers. A
 * term's value is a double; NAN says that it has none (division by zero, overflow, a word in arithmetic), and any
 * operation that needs such an operand has none either: the same as expr_eval. */
#ifndef TUNE_SEARCH_SPACE_TERMS_H
#define TUNE_SEARCH_SPACE_TERMS_H

#include "core/err.h"
#include "search_space/arena.h"
#include "search_space/space_private.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TERMS_MAX (1u << 18) /* of one pool */
#define TERMS_NONE 0u        /* the term without a value; its number in every pool */

enum term_op {
    TERM_CONST,
    TERM_KNOB,
    TERM_NEG, /* of a */
    TERM_NOT,
    TERM_BOOL,
    TERM_ADD, /* of a and b */
    TERM_SUB,
    TERM_MUL,
    TERM_DIV,
    TERM_FLOOR_DIV,
    TERM_MOD,
    TERM_CEIL_DIV,
    TERM_MIN,
    TERM_MAX,
    TERM_EQ,
    TERM_NE,
    TERM_LT,
    TERM_LE,
    TERM_GT,
    TERM_GE,
    TERM_AND, /* 0 when a is 0, else b != 0 */
    TERM_OR,
};

/* What a term can be: values lo..hi, inclusive; `error`: it may also have none. */
struct range {
    double lo, hi;
    bool error;
};

struct term {
    uint8_t op; /* enum term_op */
    bool is_word, is_integer;
    uint32_t a, b;   /* operands; of TERM_KNOB a is the knob */
    double value;    /* of TERM_CONST */
    uint64_t knobs;  /* bit i: it depends on knob i */
    struct range in; /* over all values that the knobs' domains still hold */
};

/* The values a knob may still take: places in its list, ascending, and their numbers (words: the word's number). */
struct domain {
    uint16_t *choices;
    double *values;
    size_t n;
    bool is_word, is_integer;
};

struct terms {
    const struct space *space;
    struct arena *arena;    /* borrowed: of everything here */
    struct domain *domains; /* borrowed: one a knob */
    struct term *items;
    struct map by_value; /* of items */
    const char **words;
    uint32_t quantities[SPACE_MAX_QUANTITIES]; /* their terms once decoded, else 0 */
    size_t n, cap, n_words, cap_words;
    enum err failed; /* first failure, sticky: ERR_NOMEM, ERR_LIMIT; terms are TERMS_NONE from then on */
};

/* Keeps `arena`, `s` and `domains`; all memory is the arena's. The pool holds TERMS_NONE. */
void terms_init(struct terms *t, struct arena *arena, const struct space *s, struct domain *domains);

/* The term of an operation, simplified where its value is known. */
uint32_t terms_add(struct terms *t, enum term_op op, uint32_t a, uint32_t b);
uint32_t terms_const(struct terms *t, double v);
uint32_t terms_knob(struct terms *t, size_t i_knob);
uint32_t terms_word(struct terms *t, const char *word); /* keeps `word` */

/* The term of a compiled expression of the space (terms_decode.c). */
uint32_t terms_of_expr(struct terms *t, const struct expr *e);

/* Copies `roots` of another pool over the same space, in place; chains of exact products and sums are put in the order
 * in which place[knob] ascends, so that a prefix of knobs computes a prefix of the chain. */
void terms_rebuild(struct terms *to, const struct terms *from, const uint8_t *place, uint32_t *roots, size_t n);

/* What an operation gives on operands within a and b; `exact`: all are integers below 2^53 (terms_range.c). */
struct range range_of(enum term_op op, struct range a, struct range b, bool exact);
bool range_is_true(struct range r);  /* never 0, never without a value */
bool range_is_false(struct range r); /* never true */

/* out[i] = op(a[i], b[i]) for i < n (terms_apply.c). */
void term_apply(enum term_op op, const double *a, const double *b, double *out, size_t n);

#endif
