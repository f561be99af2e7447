/* SPDX-License-Identifier: MIT */
/* page.h - what people look at in a browser: the files of this folder, the rows that their script draws, and both in
 * one file. */
#ifndef TUNE_PAGE_PAGE_H
#define TUNE_PAGE_PAGE_H

#include "core/buf.h"
#include "core/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct page_file {
    const char *name; /* "page.css" */
    const char *type; /* of its content, for HTTP */
    const char *text;
};

/* The file of that name, or false. Lends. */
bool page_find(const char *name, struct page_file *out);

/* How much of a record a row has. */
enum page_detail {
    PAGE_ROW,  /* what lists and pictures take */
    PAGE_WHOLE /* samples and up to 4 KiB of words, too */
};

/* Appends a record's line as a JSON object for the script: `seq`, and the members of docs/api.md under the names that
 * they have in the log. ERR_INPUT: the line is no JSON object; ERR_LIMIT, ERR_NOMEM. */
enum err page_row(const char *line, size_t n_line, int64_t seq, enum page_detail detail, struct buf *out);

/* Appends one self-contained HTML file that shows the rows, a JSON array as text. `title` is any text. */
enum err page_report(const char *title, const char *rows, struct buf *out);

#endif
