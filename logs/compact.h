/* SPDX-License-Identifier: MIT */
/* compact.h - which lines of a log may go without loss to best logs, warm starts and finals. */
#ifndef TUNE_LOGS_COMPACT_H
#define TUNE_LOGS_COMPACT_H

#include "core/err.h"
#include "logs/log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What stays, as it stands and in its order: records of every purpose but "search"; every record that a best set keeps
 * (best_each), and all of the programs of its winners and of their anchors; of the searches of each (workload,
 * template, version, device) with more than n_keep records the fastest half of n_keep and, of the others and failures,
 * as many evenly from first to last. What goes: the rest, "lost" records, lines that stand there before. Bad lines are
 * told and go; lines of a newer schema stay. */
struct compact_report {
    int64_t n_lines, n_written, n_equal, n_lost, n_bad, n_newer;
};

/* Reads `path` twice (see input_open) and writes `out`, which may be the same. `lines` as in merge.h. ERR_INPUT (no
 * line of it is a record), ERR_NOT_FOUND, ERR_IO, ERR_NOMEM. */
enum err compact_log(const char *path, const char *out, size_t n_keep,
                     enum err (*lines)(int fd, const char *path, bool (*each)(const struct log_line *line, void *arg),
                                       log_warn *warn, void *arg, struct why *why),
                     log_warn *warn, struct compact_report *report, struct why *why);

#endif
