/* SPDX-License-Identifier: MIT */
/* derived.h - features that follow from a description of the space (space_file.h): all that its constraints and launch
 * formulas compute. Launch formulas are read from either of
 *
 *   "launch": {"local": ["bx", "by"], "groups": ["ceil_div(4096, bx * tx)", ..]}
 *   "KernelSpecification": {"LocalSize": {"X": "BX", ..}, "GlobalSize": {"X": "4096 / TX", ..}}
 *
 * Added to them: the size of a group, what rounding it up to warps of 32 adds, and the number of groups. */
#ifndef TUNE_SEARCH_LEARN_DERIVED_H
#define TUNE_SEARCH_LEARN_DERIVED_H

#include "core/err.h"
#include "core/json.h"
#include "search/learn/records.h"

#include <stddef.h>

struct derived;

/* From the JSON of a space, for rows of these columns (found by name). ERR_INPUT for a space that is malformed, or has
 * a knob of several values that is no column, ERR_LIMIT, ERR_NOMEM. */
enum err derived_new(struct derived **out, const cJSON *space, const struct columns *c, struct why *why);
void derived_free(struct derived *d);

size_t derived_n(const struct derived *d);

/* out[n][width], the first derived_n of each row, for values[n][c->n] of the columns. ERR_NOMEM. */
enum err derived_of(const struct derived *d, const double *values, size_t n, float *out, size_t width);

#endif
