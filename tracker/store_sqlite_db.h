/* SPDX-License-Identifier: MIT */
/* store_sqlite_db.h - the database of the SQLite store, opened, with its statements and its journal. A commit is an
 * entry of the journal, which flush brings to the disk; the database takes the commits of a quarter of a second in with
 * one transaction, whose pages then change once, and another thread brings these to the disk (SQLite's own log,
 * synchronous NORMAL). A commit with something that the journal is not told goes into the database at once. */
#ifndef TUNE_TRACKER_STORE_SQLITE_DB_H
#define TUNE_TRACKER_STORE_SQLITE_DB_H

#include "core/clock.h"
#include "core/err.h"
#include "tracker/journal.h"
#include "tracker/pieces.h"
#include "tracker/store_sqlite.h"

#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct sqlite_check;
struct sqlite_keeper;

enum sql {
#define X(name, text) SQL_##name,
    SQL_MAP(X)
#undef X
        N_SQL
};

struct store {
    sqlite3 *db;
    sqlite3_stmt *stmt[N_SQL];
    bool writing; /* a transaction is open, since: */
    int64_t since_ns;
    bool untold; /* since the last commit something was written that the journal does not have */
    bool failed;
    const struct clock *clock;
    int lock_fds[2], log_fd;    /* log_fd: of the write-ahead log, for flush */
    atomic_bool unflushed;      /* a commit is in that log which the journal does not have */
    struct sqlite_check *check; /* of its pages, under way; or NULL */
    struct journal *journal;
    struct sqlite_keeper *keeper;
    _Atomic int64_t serial;    /* of the journal's next entry, at the last commit */
    _Atomic int64_t n_settled; /* transactions that ended */
    _Atomic int64_t n_flushed; /* of these, by flush */
    int64_t n_at_turn;         /* of these, at the journal's last turn */
    bool is_late;              /* the keeper is: the journal grows */
    int64_t n_settled_bytes;   /* of the journal's file when the last one ended */
    int n_pages;               /* of SQLite's log */
    struct pieces pieces;
};

/* As those of store_ops. */
enum err db_open(const char *where, const struct clock *clock, struct store **out, struct why *why);
void db_close(struct store *s);
enum err db_commit(struct store *s, struct why *why);
enum err db_flush(struct store *s, struct why *why);
void db_words(struct store *s, struct why *why);

/* ---- statements ---- */

/* Of SQLite's code: ERR_NOMEM or ERR_IO. */
enum err db_err_of(int rc);
/* A statement without parameters yet; lent. */
sqlite3_stmt *db_ready(struct store *s, enum sql which);
/* SQLite's sqlite3_step within our transaction, where it is one yet: SQLite undoes it by itself when it has no memory
 * or disk, and what came behind would be written alone, and read without what was written before. SQLITE_ABORT then. */
int db_step(struct store *s, sqlite3_stmt *q);
/* Steps once and resets. ERR_IO, ERR_NOMEM. */
enum err db_run(struct store *s, sqlite3_stmt *q);
/* Before a write: opens the transaction where none is. */
enum err db_begin(struct store *s);
/* Binds a text, borrowed until the statement is reset; NULL is none. */
void db_bind_text(sqlite3_stmt *q, int i, const char *text);
/* A column of the row, lent until the next; "" for NULL, and where there is no memory for it: then the row is not
 * whole.
 */
const char *db_text_at(sqlite3_stmt *q, int i);
/* Was there memory for all columns that were taken of the row since the last step? */
bool db_is_whole(sqlite3_stmt *q);
/* Resets the statement after its last step. ERR_IO, ERR_NOMEM. */
enum err db_end(sqlite3_stmt *q, int rc);

/* The same for writes that the journal is told, with their parameters: of the statements that `told` lists. */
enum err db_begin_told(struct store *s);
sqlite3_stmt *db_telling(struct store *s, enum sql which);
void db_tell_text(struct store *s, sqlite3_stmt *q, int i, const char *text);
void db_tell_i64(struct store *s, sqlite3_stmt *q, int i, int64_t value);
void db_tell_real(struct store *s, sqlite3_stmt *q, int i, double value);
/* One that fails is not for the journal, whatever becomes of its transaction. */
enum err db_run_told(struct store *s, sqlite3_stmt *q);

#endif
