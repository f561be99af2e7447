/* SPDX-License-Identifier: MIT */
/* records.h - measured configs in a comma-separated file, plain or gzipped: a column for each knob, time_ms and status,
 * in any order. A row whose status is not ok is a config that failed: data, but never a time. */
#ifndef TUNE_SEARCH_LEARN_RECORDS_H
#define TUNE_SEARCH_LEARN_RECORDS_H

#include "core/buf.h"
#include "core/err.h"
#include "core/json.h"
#include "search/learn/features.h"

#include <stdbool.h>
#include <stddef.h>

#define RECORDS_MAX_ROWS ((size_t)1 << 22)

/* The knobs of a table: their names, and the words of those that are words. */
struct columns {
    size_t n;
    char **names;
    char ***words;               /* [n][knobs[i].n_words] */
    struct features_knob *knobs; /* what their values are like */
};

void columns_fini(struct columns *c);

/* As a JSON array, to the end of `out`; and back. ERR_INPUT, ERR_LIMIT, ERR_NOMEM. */
enum err columns_write(const struct columns *c, struct buf *out);
enum err columns_read(struct columns *c, const cJSON *array, struct why *why);

struct records {
    size_t n, n_knobs;
    double
        *values; /* row-major [n][n_knobs]; a word is its number among the column's words, NAN: a word not among them */
    double *times; /* [n] ms, NAN = failed; NULL when the file has none and none were asked for */
};

void records_fini(struct records *r);

/* Reads a table and learns what its columns are: `c` is made. ERR_INPUT names file, line and column: a column that is
 * missing, occurs twice or mixes words and numbers, a cell that is empty or not finite, an ok row without a time above
 * 0, no rows; ERR_LIMIT, ERR_NOT_FOUND, ERR_IO, ERR_NOMEM. */
enum err records_read(const char *path, struct records *out, struct columns *c, struct why *why);

/* The same without some columns. */
enum err records_read_without(const char *path, const char *const *names, size_t n_names, struct records *out,
                              struct columns *c, struct why *why);

/* Only these columns, numbers of which some cells may be empty: row-major (*out)[n][n_names], NAN = empty; free it.
 * NULL when one of the columns is not there. ERR_INPUT for other cells. */
enum err records_read_numbers(const char *path, const char *const *names, size_t n_names, float **out, size_t *n,
                              struct why *why);

/* Reads the columns that `c` names, found by name; others are passed over. With `timed`, time_ms and status too. */
enum err records_read_as(const char *path, const struct columns *c, bool timed, struct records *out, struct why *why);

#endif
