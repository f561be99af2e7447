/* SPDX-License-Identifier: MIT */
/* bounds.h - the products and quotients of knobs that the constraints of a space speak of. Those that a constraint
 * bounds
 * ("a * b / c <= 1024") with the bound of a work-group are, as a rule, its number of work-items; all are sizes that
 * mean something: "m % (a * v) == 0" says that m / (a * v) is a number of pieces. */
#ifndef TUNE_SEARCH_SPACE_BOUNDS_H
#define TUNE_SEARCH_SPACE_BOUNDS_H

#include "core/err.h"
#include "search_space/space.h"

#include <stddef.h>

struct bounds;

/* Finds the products and quotients of knobs and constants (quantities written out) that some constraint requires to be
 * at most a number in [least, most]; each once. Keeps the sealed `s`. No such product is no error. ERR_NOMEM,
 * ERR_LIMIT. */
enum err bounds_new(struct bounds **out, const struct space *s, double least, double most);
void bounds_free(struct bounds *b);

size_t bounds_n(const struct bounds *b);
/* The number `i` bounds at a config; NAN where it cannot be computed. */
double bounds_value(const struct bounds *b, size_t i, const struct config *c);

/* Divisors and quotients of the remainders (x % y) in constraints, and what such a divisor divides in turn; of two
 * knobs or more, positive for all values of these. */
size_t bounds_n_sizes(const struct bounds *b);
/* A size's logarithm as a share of its range, in [0, 1]. */
double bounds_size(const struct bounds *b, size_t i, const struct config *c);

#endif
