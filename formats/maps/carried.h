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

/* Fills a row, initialised, with what it says of a record; fills a record, initialised, with what a row of another's
 * tells. */
typedef enum err carried_write(const struct record *r, struct foreign_row *out, struct why *why);
typedef enum err carried_read(const struct foreign_row *row, struct record *out, struct why *why);

/* As convert_map.from_record. */
enum err carried_from_record(const struct record *r, carried_write *to_row, struct foreign_row *out, struct why *why);

/* As convert_map.to_record: the record that the row carries, else what `to_record` makes of it. Where `to_row` makes
 * another row of the record (task, target, arguments, knobs, status, time), the row was changed since and carries none.
 */
enum err carried_to_record(const struct foreign_row *row, carried_write *to_row, carried_read *to_record,
                           struct record *out, struct why *why);

/* Workload, template, status with stage and words, time and samples, FLOPs, time stamp, and who proposed it; purpose
 * search. The rest of `r` (initialised, knobs and device too) is the caller's. ERR_NOMEM. */
enum err carried_fill(const struct foreign_row *row, const struct workload *w, const struct template *t, const char *by,
                      struct record *r);

#endif
