/* convert.h - records from and to files of any known form: our own log, or another tuner's through its map. */
#ifndef TUNE_TUNER_CONVERT_H
#define TUNE_TUNER_CONVERT_H

#include "logs/foreign/foreign.h"
#include "logs/log.h"

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

#endif
