/* SPDX-License-Identifier: MIT */
/* joblog.h - the log of one run: every line once, byte for byte; its best log beside it. */
#ifndef TUNE_TUNER_JOBLOG_H
#define TUNE_TUNER_JOBLOG_H

#include "core/err.h"
#include "logs/log.h"
#include "logs/seen.h"

#include <stdbool.h>
#include <stddef.h>

struct joblog {
    char path[4096], best_path[4096];
    struct seen seen; /* the lines' hashes */
    struct best_set *best;
    bool is_stdout, made; /* made: there was no such file before */
    int lock_fd;          /* holds the log for this process; -1 = not held */
};

/* Reads what `path` holds already ("-" = standard output): each good record goes to `each` (may be NULL).
 * A missing file is an empty one. Damaged lines are named on `warn`. ERR_BUSY when another run writes this log now,
 * ERR_INPUT for a file that never was a log: nothing is appended to it. */
enum err joblog_open(struct joblog *l, const char *path, void (*each)(const struct record *r, void *arg),
                     log_warn *warn, void *arg, struct why *why);
/* Removes a log that was made by open and got no line. */
void joblog_close(struct joblog *l);

/* Appends a line unless the log has it already. */
enum err joblog_line(struct joblog *l, const struct record *r, const char *line, size_t n, struct why *why);

/* Writes the best log by rename; nothing when no record is ok. */
enum err joblog_write_best(struct joblog *l, struct why *why);

#endif
