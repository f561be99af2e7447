/* SPDX-License-Identifier: MIT */
/* expr.h - small expressions over named numbers and words, compiled once and evaluated often; see docs/expressions.md.
 * Grammar: or and not || && !, chained comparisons == != < <= > >=, `in {a, b}`, `not in`, + -, * / // %, unary - and
 * +, ( ), numbers, true false, 'words' in single or double quotes, names, min(a,b..), max(a,b..), ceil_div(a,b). / is
 * true division, // and % round down as Python's do. Text is never run as code; depth and length are bounded. */
#ifndef TUNE_SEARCH_SPACE_EXPR_H
#define TUNE_SEARCH_SPACE_EXPR_H

#include "core/err.h"

#include <stdbool.h>
#include <stddef.h>

#define EXPR_MAX_TEXT 4096
#define EXPR_MAX_DEPTH 64

struct expr;

/* A name's value during evaluation: a number, or a word. */
struct expr_value {
    double number;
    const char *text;
};

/* Resolves a name to a slot number (>= 0) at compile time, or -1 when there is no such name. */
typedef int expr_resolve(const char *name, size_t n_name, void *arg);

/* ERR_INPUT with the place and what was expected; ERR_LIMIT for text that is too long or nested too deep. */
enum err expr_compile(const char *text, expr_resolve *resolve, void *arg, struct expr **out, struct why *why);
void expr_free(struct expr *e);

/* Evaluates with slots[i] for the name resolved to i; a slot that holds NAN has no value. ERR_INPUT for such a slot,
 * words in arithmetic, division by zero and overflow, each only where evaluation gets there (and, or, in stop
 * early). */
enum err expr_eval(const struct expr *e, const struct expr_value *slots, double *out);

/* True when the expression mentions the slot. */
bool expr_uses(const struct expr *e, size_t slot);

/* Bytes of the name, number or quoted word that `at` begins with; 1 of anything else, 0 at the end. */
size_t expr_token_bytes(const char *at);

/* True for text that can be a name: [A-Za-z_][A-Za-z0-9_.]*, none of and or not in true false True False. */
bool expr_is_name(const char *text);

#endif
