/* SPDX-License-Identifier: MIT */
/* merge.h - logs into one: every line once, in the order of the files and of their lines. */
#ifndef TUNE_LOGS_MERGE_H
#define TUNE_LOGS_MERGE_H

#include "core/err.h"
#include "core/file_out.h"
#include "logs/log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MERGE_MAX_FILES 65535
#define MERGE_MAX_OPEN 512 /* files of a merge that keeps the last line of a trial: they are read twice */

/* What was said of a line, by its file and number. */
enum merge_word {
    MERGE_BAD,   /* left out: torn, damaged, no record */
    MERGE_OTHER, /* its trial has another line before: both stay, or the later one where one is asked for */
    MERGE_NEWER, /* of a newer schema: kept as it stands */
};

struct merge_options {
    /* Gives the lines of an open file in order; `warn` gets what cannot be a line. log_lines_fd for files of ours. */
    enum err (*lines)(int fd, const char *path, bool (*each)(const struct log_line *line, void *arg), log_warn *warn,
                      void *arg, struct why *why);
    bool one_a_trial; /* of lines of one trial only the last stays, where it stands; else all that differ */
    bool strict;      /* what would be told is an error instead, and nothing is written */
    void (*tell)(enum merge_word word, const char *path, int64_t i_line, const char *words,
                 void *arg); /* may be NULL */
    void *arg;
};

struct merge_report {
    int64_t n_lines, n_written, n_equal, n_other, n_bad, n_newer;
    int64_t n_written_first; /* of n_written, those of paths[0] */
};

/* Merges `paths` ("-" = standard input, gzipped files are unpacked) into `out`, which may be one of them. Memory: 32 to
 * 64 bytes a line. Either all of it is written or nothing. ERR_INPUT when strict, and where
 * no line of any is a record; ERR_LIMIT, ERR_NOT_FOUND, ERR_IO. */
enum err merge_logs(const char *const *paths, size_t n, const char *out, const struct merge_options *o,
                    struct merge_report *report, struct why *why);

#endif
