/* SPDX-License-Identifier: MIT */
/* table.h - the table at the end of a run: per layer naive, default, best, ties; for a network the sums before and
 * after. */
#ifndef TUNE_CLI_TABLE_H
#define TUNE_CLI_TABLE_H

#include "core/buf.h"
#include "core/json.h"
#include "tuner/task.h"

#include <stddef.h>

/* Appends the table of all tasks of a job. `log` and `best_log` are named at the end; NULL = none. */
void table_print(const struct job *job, const struct task *tasks, size_t n, const char *log, const char *best_log,
                 struct buf *out);

/* The same facts as an array of objects. NULL on lack of memory. */
cJSON *table_json(const struct task *tasks, size_t n);

/* Appends words and "GB/s=12.3, x=-", the metrics of a config at a time, - for one without a value; nothing where the
 * arm's source has none. */
void table_metrics(const char *words, const struct arm *a, const struct config *c, double time_ns, struct buf *out);

/* Standard error of what a record's value is the median of (its ratio to the anchor, or its time), in percent of the
 * time. */
double table_error_percent(const struct record *r);

#endif
