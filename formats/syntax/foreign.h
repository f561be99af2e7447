/* SPDX-License-Identifier: MIT */
/* foreign.h - files of other tuners by table: syntax only, as rows of names and values that know no operator. What they
 * mean here is formats/maps's. */
#ifndef TUNE_FORMATS_SYNTAX_FOREIGN_H
#define TUNE_FORMATS_SYNTAX_FOREIGN_H

#include "core/buf.h"
#include "core/err.h"
#include "core/json.h"
#include "logs/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FOREIGN_MAX_FILE_BYTES ((size_t)4 << 30)
#define FOREIGN_MAX_ROW_BYTES ((size_t)1 << 20)

/* One result. The owner's memory; foreign_row_fini frees. */
struct foreign_row {
    char *task;   /* name of the kernel or task */
    char *target; /* the device in the file's words, NULL = not told */
    cJSON *args;  /* what names the problem: object or array, NULL = not told */
    cJSON *knobs; /* object of names and values; of autotvm its entity array */
    enum record_status status;
    char why[256];                        /* of a failure */
    double time_s;                        /* of one run; 0 = not timed */
    double samples_s[RECORD_MAX_SAMPLES]; /* where the file has several */
    size_t n_samples;
    double build_s; /* 0 = not told */
    int64_t ts_ms;  /* 0 = not told */
    int64_t i_line; /* in its file, from 1; 0 = a format without lines */
    cJSON *extra;   /* what else the file holds and a round trip must keep; object or NULL */
};
void foreign_row_init(struct foreign_row *r);
void foreign_row_fini(struct foreign_row *r);

/* Takes the rows of a file; a false from `row` ends the reading. Both are called in file order. */
struct foreign_sink {
    bool (*row)(const struct foreign_row *r, void *arg);
    void (*bad)(int64_t i_line, const char *why, void *arg); /* what was skipped, and why; may be NULL */
    void *arg;
};

struct foreign_format {
    const char *name, *summary;
    /* Do the first bytes of a file (at most 64 KiB) look like it? */
    bool (*sniff)(const char *head, size_t n);
    /* Reads a whole file (mapped: text is not ended by '\0'). Memory is bounded by FOREIGN_MAX_ROW_BYTES a row. A file
     * cut short gives every whole row. ERR_INPUT with words when it is not this format at all. NULL = cannot be read.
     */
    enum err (*read)(const char *text, size_t n, const struct foreign_sink *sink, struct why *why);
    /* Appends a whole file of these rows. NULL = cannot be written. */
    enum err (*write)(const struct foreign_row *rows, size_t n, struct buf *out, struct why *why);
    /* Files of it can be joined: write may be called with some rows at a time. */
    bool is_lines;
};

extern const struct foreign_format *const foreign_formats[]; /* NULL-ended */
const struct foreign_format *foreign_find(const char *name);
const struct foreign_format *foreign_sniff(const char *head, size_t n); /* NULL when none claims it */

#endif
