/* SPDX-License-Identifier: MIT */
/* log.h - logs are files of records: append, scan, best. */
#ifndef TUNE_LOGS_LOG_H
#define TUNE_LOGS_LOG_H

#include "core/err.h"
#include "logs/compare.h"
#include "logs/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Appends one record with one write(2), under a lock of the file; a torn last line of an earlier crash is closed with
 * '\n' in the same write. Survives the death of the process; ERR_LIMIT as record_print, ERR_IO. The product has its
 * records as text; this makes the logs of tests. */
enum err log_append(const char *path, const struct record *r, struct why *why);
/* The same for a line that is already text (as the tracker stored it), with or without '\n'; ERR_INPUT unless it is one
 * line. */
enum err log_append_line(const char *path, const char *line, size_t n, struct why *why);

/* A line of a file as it stands. */
struct log_line {
    const char *text; /* without its '\n'; NULL when it is longer than RECORD_MAX_BYTES: it is not held */
    size_t n;
    int64_t i_line; /* from 1 */
    bool is_torn;   /* no '\n' stands behind it: the file ends in it */
};

/* Calls `each` with every line that is not empty, from where the open file stands, until it returns false. ERR_IO,
 * ERR_NOMEM. */
enum err log_lines_fd(int fd, const char *path, bool (*each)(const struct log_line *line, void *arg), void *arg,
                      struct why *why);

/* The record of a line; ERR_INPUT with words, also of lines too long or torn; ERR_NOMEM. */
enum err log_line_record(const struct log_line *line, struct record *out, struct why *why);

/* A line that was skipped: its file, number from 1, and why. */
typedef void log_warn(const char *path, int64_t i_line, const char *why, void *arg);

/* Calls `each` with every good record in file order until it returns false; bad lines go to `warn` (may be NULL).
 * ERR_NOT_FOUND, ERR_IO, ERR_NOMEM; never fails because of content. Lines over RECORD_MAX_BYTES are skipped without
 * being held. */
enum err log_scan(const char *path, bool (*each)(const struct record *r, const char *line, size_t n_line, void *arg),
                  log_warn *warn, void *arg, struct why *why);

/* The same from an open file, whose name for people is `path`; the caller closes it. ERR_IO. */
enum err log_scan_fd(int fd, const char *path,
                     bool (*each)(const struct record *r, const char *line, size_t n_line, void *arg), log_warn *warn,
                     void *arg, struct why *why);

/* By what records of one workload are told apart: the fingerprint; of foreign records the key, else the device's name;
 * "" when nothing is known. */
void best_device(const struct record *r, char out[SHA256_HEX + 1]);

/* Are both of one device? Also when the one was made before processors were told apart, and the other says that its
 * device had that fingerprint then ("former" in its device). */
bool best_same_device(const struct record *a, const struct record *b);

/* The best record per (workload, device as best_device says). Only what record_may_be_best. A run is a job with the
 * seed of its data; where records lack that, a search record behind a final of its job, in the file and by its clock,
 * begins the next run, unless it is the baseline (one round, no anchor), which comes last. Else nothing depends on the
 * order of the records. Within a run finals beat redo and search records, a later record of the same program replaces
 * one of lower or equal purpose, then the least wins, on the one scale of the run's anchors. Between runs the least
 * wins too, on a scale of all anchors; but the earliest final that is no worse beyond the error between runs
 * (compare.h) holds the place. Of a program that several runs measured, the record in the middle by time stands. */
struct best_set;
enum err best_new(struct best_set **out);
void best_free(struct best_set *b);
enum err best_add(struct best_set *b, const struct record *r);
size_t best_n(const struct best_set *b);
/* Lends; in the order of first appearance. NULL: there is no memory to choose it. */
const struct record *best_at(const struct best_set *b, size_t i);
/* Lends; `fingerprint` as best_device says, NULL = any: the fastest then; NULL when there is none. */
const struct record *best_find(const struct best_set *b, const char *workload, const char *fingerprint);

/* The error between runs as programs show that were measured in several runs of a set, or in both sets. */
struct run_error best_error(const struct best_set *a, const struct best_set *b);

/* Every record that may still win, until `each` returns false. */
void best_each(const struct best_set *b, bool (*each)(const struct record *r, bool is_winner, void *arg), void *arg);

/* Writes the set as a log of its own, by rename. */
enum err best_write(const struct best_set *b, const char *path, struct why *why);

/* "x.jsonl" -> "x.best.jsonl". */
enum err best_path(const char *log_path, char *out, size_t n_out);

#endif
