/* SPDX-License-Identifier: MIT */
/* logtable.h - the records of a log as a table that cost models learn from: a row a config, with what its kernels take
 * where that is known (docs/cost-model.md, "After a build"). */
#ifndef TUNE_CLI_LOGTABLE_H
#define TUNE_CLI_LOGTABLE_H

#include "core/buf.h"
#include "core/err.h"
#include "logs/log.h"

#include <stddef.h>

/* Writes CSV: the knobs, "registers", "local_bytes" and "spill_bytes" (of each the largest of a config's kernels, empty
 * where not told; only columns that some record has), time_ms, status. Of several records of one program the last that
 * was timed counts, else the last. `workload` and `template_id` choose (NULL = the only one there is). ERR_INPUT with
 * words when there are several, or knobs that differ in name; ERR_NOT_FOUND, ERR_IO, ERR_NOMEM. */
enum err logtable_write(const char *log_path, const char *workload, const char *template_id, log_warn *warn,
                        struct buf *out, size_t *n_rows, struct why *why);

#endif
