/* SPDX-License-Identifier: MIT */
/* subterms.h - what a sealed space's constraints and quantities compute on their way: every arithmetic subexpression,
 * as features of a config. A product that a constraint bounds says how much of a resource is used; of ceil_div(a, b)
 * also the waste ceil_div(a, b) * b / a is one. */
#ifndef TUNE_SEARCH_SPACE_SUBTERMS_H
#define TUNE_SEARCH_SPACE_SUBTERMS_H

#include "core/err.h"
#include "search_space/space.h"

#include <stddef.h>

#define SUBTERMS_MAX 256 /* columns; those beyond are left out */

struct subterms;

/* Keeps `s`. ERR_LIMIT for expressions too large, ERR_NOMEM. */
enum err subterms_new(struct subterms **out, const struct space *s);
void subterms_free(struct subterms *t);

size_t subterms_n(const struct subterms *t); /* columns; may be 0 */

/* row[subterms_n] of one config; values[space_n_knobs]: a number, or a word's place in its knob's list. NAN where a
 * subexpression has no value (x / 0), or one of its knobs is NAN. ERR_NOMEM. */
enum err subterms_of(const struct subterms *t, const double *values, float *row);

#endif
