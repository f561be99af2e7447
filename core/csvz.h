/* SPDX-License-Identifier: MIT */
/* csvz.h - small tables in files: comma-separated text, gzipped or plain, a line of column names first.
 * As RFC 4180 has it, but a line is a row: a cell with commas stands in quotation marks, "" is one of them in it. */
#ifndef TUNE_CORE_CSVZ_H
#define TUNE_CORE_CSVZ_H

#include "core/buf.h"
#include "core/err.h"

#include <stddef.h>

#define CSVZ_MAX_BYTES ((size_t)256 << 20) /* of the text */

struct csvz {
    char *text;         /* all of the file, commas and line ends made NUL */
    const char **cells; /* the names, then the rows: row-major [1 + n_rows][n_columns] */
    size_t n_columns, n_rows;
};

/* Reads the whole table. ERR_NOT_FOUND, ERR_IO, ERR_LIMIT, ERR_NOMEM; ERR_INPUT names file and line when a row has
 * another number of cells than the first line, a quotation mark out of place, or a NUL byte. */
enum err csvz_read(const char *path, struct csvz *out, struct why *why);
void csvz_fini(struct csvz *t);

/* The column of a name, or -1. */
int csvz_column(const struct csvz *t, const char *name);

/* Lends a cell; rows count from 0 behind the names. */
const char *csvz_text(const struct csvz *t, size_t i_row, size_t i_column);

/* A cell as a number: NAN when it is empty or not a number. */
double csvz_number(const struct csvz *t, size_t i_row, size_t i_column);

/* Appends a word as a cell: in quotation marks where RFC 4180 asks for them. A word with a line end is written so, too,
 * but csvz_read takes no such cell. */
enum err csvz_put(struct buf *out, const char *word);

#endif
