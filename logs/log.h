/* log.h - logs are files of records: append, scan, best. */
#ifndef TUNE_LOGS_LOG_H
#define TUNE_LOGS_LOG_H

#include "logs/record.h"

/* Appends one record with one write(2), under a lock of the file; a torn last line of an earlier crash is closed with
 * '\n' in the same write. Survives the death of the process; ERR_LIMIT as record_print, ERR_IO. */
enum err log_append(const char *path, const struct record *r, struct why *why);
/* The same for a line that is already text (as the tracker stored it), with or without '\n'; ERR_INPUT unless it is one
 * line. */
enum err log_append_line(const char *path, const char *line, size_t n, struct why *why);

/* A line that was skipped: its file, number from 1, and why. */
typedef void log_warn(const char *path, int64_t i_line, const char *why, void *arg);

/* Calls `each` with every good record in file order until it returns false; bad lines go to `warn` (may be NULL).
 * ERR_NOT_FOUND, ERR_IO; never fails because of content. Lines over RECORD_MAX_BYTES are skipped without being held. */
enum err log_scan(const char *path, bool (*each)(const struct record *r, const char *line, size_t n_line, void *arg),
                  log_warn *warn, void *arg, struct why *why);

/* The same from an open file, whose name for people is `path`; the caller closes it. ERR_IO. */
enum err log_scan_fd(int fd, const char *path,
                     bool (*each)(const struct record *r, const char *line, size_t n_line, void *arg), log_warn *warn,
                     void *arg, struct why *why);

/* The best record per (workload, fingerprint). Finals beat redo and search records of the same job, a later record of
 * the same program and job replaces one of lower or equal purpose; then the smaller value where anchors agree, else the
 * smaller time. Only status ok with a time. */
struct best_set;
enum err best_new(struct best_set **out);
void best_free(struct best_set *b);
enum err best_add(struct best_set *b, const struct record *r);
size_t best_n(const struct best_set *b);
const struct record *best_at(const struct best_set *b, size_t i); /* lends; order of first appearance */
/* Lends; a fingerprint of NULL means any; NULL when there is none. */
const struct record *best_find(const struct best_set *b, const char *workload, const char *fingerprint);

/* Writes the set as a log of its own, by rename. */
enum err best_write(const struct best_set *b, const char *path, struct why *why);

/* "x.jsonl" -> "x.best.jsonl". */
enum err best_path(const char *log_path, char *out, size_t n_out);

#endif
