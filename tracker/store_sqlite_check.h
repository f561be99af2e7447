/* SPDX-License-Identifier: MIT */
/* store_sqlite_check.h - whether the file of the SQLite store is whole: a small one is read before it is served, a
 * large one while it is. */
#ifndef TUNE_TRACKER_STORE_SQLITE_CHECK_H
#define TUNE_TRACKER_STORE_SQLITE_CHECK_H

#include "core/err.h"

#include <stdint.h>

/* A file up to this size is read at once, in about a second. Tests lower it. */
extern int64_t sqlite_check_at_once_bytes;

struct sqlite_check;

/* Checks DIR/tracker.sqlite; *out is what goes on in a thread of its own, or NULL. ERR_IO with words when the file is
 * damaged, or was found so by an earlier check and has not been replaced (DIR/damaged tells). */
enum err sqlite_check_start(const char *where, struct sqlite_check **out, struct why *why);

/* ERR_IO with words once damage was found. NULL is allowed; any thread. */
enum err sqlite_check_result(const struct sqlite_check *c, struct why *why);

/* Breaks it off. */
void sqlite_check_stop(struct sqlite_check *c);

#endif
