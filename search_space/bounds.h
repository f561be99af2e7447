/* bounds.h - which products of knobs the constraints of a space bound: in "a * b / c <= 1024" it is a * b / c. Such a
 * product with the bound of a work-group is, as a rule, its number of work-items. */
#ifndef TUNE_SEARCH_SPACE_BOUNDS_H
#define TUNE_SEARCH_SPACE_BOUNDS_H

#include "search_space/space.h"

struct bounds;

/* Finds the products and quotients of knobs and constants (quantities written out) that some constraint requires to be
 * at most a number in [least, most]; each once. Keeps the sealed `s`. No such product is no error. ERR_NOMEM,
 * ERR_LIMIT. */
enum err bounds_new(struct bounds **out, const struct space *s, double least, double most);
void bounds_free(struct bounds *b);

size_t bounds_n(const struct bounds *b);
/* The number `i` bounds at a config; NAN where it cannot be computed. */
double bounds_value(const struct bounds *b, size_t i, const struct config *c);

#endif
