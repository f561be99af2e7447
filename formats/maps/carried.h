/* SPDX-License-Identifier: MIT */
/* carried.h - what maps of formats for our own operators share: the whole record that a file of another's carries as
 * text where the other does not look, and the members that every row fills. */
#ifndef TUNE_FORMATS_MAPS_CARRIED_H
#define TUNE_FORMATS_MAPS_CARRIED_H

#include "core/err.h"
#include "core/json.h"
#include "kernels/template.h"
#include "formats/syntax/foreign.h"

/* Puts the record's line into the member "tune" of a row's extra. ERR_NOMEM, ERR_LIMIT. */
enum err carried_add(const struct record *r, cJSON *extra);

/* The record that a row carries; `from_record` (of the format's map) makes a row of it again, and where that says other
 * things than this row (task, target, arguments, knobs, status, time) the row was changed since: ERR_NOT_FOUND, as when
 * it carries none. ERR_NOMEM. */
enum err carried_take(const struct foreign_row *row,
                      enum err (*from_record)(const struct record *r, struct foreign_row *out, struct why *why),
                      struct record *out);

/* Workload, template, status with stage and words, time and samples, FLOPs, time stamp, and who proposed it; purpose
 * search. The rest of `r` (initialised, knobs and device too) is the caller's. ERR_NOMEM. */
enum err carried_fill(const struct foreign_row *row, const struct workload *w, const struct template *t, const char *by,
                      struct record *r);

#endif
