/* SPDX-License-Identifier: MIT */
/* own_kernel.h - rows of other tuners about a person's own kernel, which is no operator here, as records. */
#ifndef TUNE_FORMATS_MAPS_OWN_KERNEL_H
#define TUNE_FORMATS_MAPS_OWN_KERNEL_H

#include "core/err.h"
#include "core/json.h"
#include "formats/syntax/foreign.h"

/* A whole record: workload "kernel NAME" (blanks in the name become '_') followed by " key=value" of `sizes` (an object
 * of numbers, words and arrays of numbers, these joined by commas; NULL = not told), no template, the knobs by name
 * (true and false as 1 and 0), device {"name": target}. `out` is initialised. ERR_UNSUPPORTED for a row without a name
 * and for knobs that are neither number nor word, ERR_NOMEM. */
enum err own_kernel_record(const struct foreign_row *row, const cJSON *sizes, struct record *out, struct why *why);

#endif
