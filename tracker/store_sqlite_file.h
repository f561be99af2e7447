/* SPDX-License-Identifier: MIT */
/* store_sqlite_file.h - the file of the SQLite store: its schema and what brings an older one up, and copies of
 * it. */
#ifndef TUNE_TRACKER_STORE_SQLITE_FILE_H
#define TUNE_TRACKER_STORE_SQLITE_FILE_H

#include "core/err.h"

#include <limits.h>
#include <sqlite3.h>
#include <stdint.h>

/* ERR_IO or ERR_NOMEM, with the database's words about its last failure, and the system's where it is one of reading or
 * writing. */
enum err sqlite_why(sqlite3 *db, struct why *why);

/* Statements without results. ERR_IO with words. */
enum err sqlite_run(sqlite3 *db, const char *text, struct why *why);

/* *out: the one number that a query gives; -1 when it gives none, also for a table that is not there. ERR_NOMEM, ERR_IO
 * with words: who knows. */
enum err sqlite_number(sqlite3 *db, const char *text, int64_t *out, struct why *why);

/* ERR_UNSUPPORTED: of a newer program, to be left alone. ERR_NOMEM, ERR_IO. */
enum err sqlite_check_version(sqlite3 *db, const char *path, struct why *why);

/* Makes the tables in a fresh file, and what a store of an earlier version lacks. ERR_IO. */
enum err sqlite_check_schema(sqlite3 *db, const char *path, struct why *why);

/* DIR/NAME. ERR_LIMIT. */
enum err sqlite_path(const char *where, const char *name, char out[PATH_MAX], struct why *why);

/* Of DIR itself and of DIR/lock (which may be deleted, but trackers of earlier versions know no other), held until both
 * are closed: a second tracker on one store would hand out each lease twice. fds are -1 before. ERR_BUSY: one has it,
 * ERR_IO. */
enum err sqlite_take_lock(const char *where, int fds[2], struct why *why);

/* As store_ops.backup. */
enum err sqlite_backup(const char *where, const char *path, int64_t *n_bytes, struct why *why);

#endif
