/* SPDX-License-Identifier: MIT */
/* store_sqlite_replay.h - a database of the SQLite store takes in what only its journal has. */
#ifndef TUNE_TRACKER_STORE_SQLITE_REPLAY_H
#define TUNE_TRACKER_STORE_SQLITE_REPLAY_H

#include "core/err.h"
#include "tracker/journal.h"

#include <sqlite3.h>
#include <stdint.h>

/* A new journal of the database in DIR, behind all that the database has. ERR_IO, ERR_NOMEM. */
enum err sqlite_journal_open(sqlite3 *db, const char *where, const char *const *texts, int n, struct journal **out,
                             struct why *why);

/* What DIR's journal has beyond the database as `db` sees it now; NULL: nothing. ERR_NOMEM, ERR_IO, ERR_STALE
 * as journal_tail_open. */
enum err sqlite_tail(sqlite3 *db, const char *where, struct journal_tail **out, struct why *why);

/* Runs the statements of a tail (NULL: none), in one transaction. ERR_IO, ERR_NOMEM. */
enum err sqlite_replay(sqlite3 *db, struct journal_tail *tail, struct why *why);

#endif
