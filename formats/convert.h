/* SPDX-License-Identifier: MIT */
/* convert.h - records from and to files of any known form: our own log, or another tuner's through its map. */
#ifndef TUNE_FORMATS_CONVERT_H
#define TUNE_FORMATS_CONVERT_H

#include "core/err.h"
#include "formats/syntax/foreign.h"
#include "logs/log.h"

#include <stdbool.h>
#include <stddef.h>

/* The member of a row's extra in which a map carries a record of ours whole, as the text of its line. convert_put makes
 * it the very line; read again, the line is given as it stands where the row still means it. */
#define CONVERT_CARRIED "tune"

/* What one foreign format means here. */
struct convert_map {
    const char *format; /* of foreign_formats */
    /* A row as a record: workload, template, knobs, status, time, device as far as the row tells; `out` is initialised
     * by this call. ERR_UNSUPPORTED with words for what tune has no word for. */
    enum err (*to_record)(const struct foreign_row *row, struct record *out, struct why *why);
    /* A record as a row; `out` is initialised by this call. ERR_UNSUPPORTED with words for what the format cannot hold.
     * NULL = the format is only read. */
    enum err (*from_record)(const struct record *r, struct foreign_row *out, struct why *why);
};
extern const struct convert_map *const convert_maps[]; /* NULL-ended */

const struct convert_map *convert_map_of(const char *format); /* NULL when there is none */

/* Name i of the known forms, "tune" (our own) first; NULL behind the last. */
const char *convert_name_at(size_t i);

/* The format of a name, NULL = "tune", our own. ERR_INPUT lists the names. */
enum err convert_find(const char *name, const struct foreign_format **out, struct why *why);

/* log_scan over a file of any known form, plain or gzipped, "-" = standard input; format NULL = told by its content,
 * "tune" = our own. Of foreign rows `line` is the record as a line of ours; what its map leaves open is filled in: id =
 * the hash of all it says, protocol = the format's name, purpose "search", key = a slug of the row's target, se from
 * the samples. Rows that cannot be records go to `warn`. ERR_INPUT: no such format, or not of it; ERR_NOT_FOUND,
 * ERR_IO, ERR_LIMIT, ERR_NOMEM. */
enum err convert_scan(const char *path, const char *format,
                      bool (*each)(const struct record *r, const char *line, size_t n_line, void *arg), log_warn *warn,
                      void *arg, struct why *why);

/* The lines of an open file of any known form as log_lines_fd gives them: of our own as they stand, good or bad; of a
 * foreign one the records as lines of ours, what cannot be one goes to `warn`. Errors as convert_scan. */
enum err convert_lines_fd(int fd, const char *path, const char *format,
                          bool (*each)(const struct log_line *line, void *arg), log_warn *warn, void *arg,
                          struct why *why);

/* A file of a known form that takes records. */
struct convert_out;

/* Begins it, beside `path` ("-" = standard output); `format` as in convert_find. ERR_INPUT: no such format, or one that
 * is only read; ERR_IO, ERR_NOMEM. */
enum err convert_open(struct convert_out **out, const char *path, const char *format, struct why *why);

/* Adds a record, whose line of our own (without '\n') is `line`. ERR_UNSUPPORTED with words: the format cannot hold
 * this one, which was left out; others end it: ERR_LIMIT (over CONVERT_MAX_ROWS of a format that is written as a
 * whole), ERR_IO, ERR_NOMEM. */
enum err convert_put(struct convert_out *o, const struct record *r, const char *line, size_t n_line, struct why *why);

/* Ends it: all of it is there (`keep`), or nothing. Frees in every case; `o` may be NULL. */
enum err convert_close(struct convert_out *o, bool keep, struct why *why);

#define CONVERT_MAX_ROWS ((size_t)1 << 20)

#endif
