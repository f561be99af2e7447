/* SPDX-License-Identifier: MIT */
/* nearest.h - which known name did a person mean? */
#ifndef TUNE_CORE_NEAREST_H
#define TUNE_CORE_NEAREST_H

#include <stddef.h>

/* The known name with the fewest letters added, left out or changed (Levenshtein's distance), where those are at most
 * three and fewer than the name has; case counts for nothing. `known` has n names of up to 62 letters; NULL = none is
 * near. Lent from `known`. */
const char *nearest_name(const char *name, const char *const *known, size_t n);

#endif
