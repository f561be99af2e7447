/* SPDX-License-Identifier: MIT */
/* store_postgres_db.h - the PostgreSQL store's connection: who has it, statements sent ahead of their answers, commits.
 * Writes are queued and answered with the next read or commit, so that a turn of many requests waits for the server
 * once. The session holds an advisory lock: who lost the connection has lost the store. */
#ifndef TUNE_TRACKER_STORE_POSTGRES_DB_H
#define TUNE_TRACKER_STORE_POSTGRES_DB_H

#include "core/clock.h"
#include "core/err.h"
#include "tracker/pieces.h"
#include "tracker/store_postgres.h"

#include <libpq-fe.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pg_sql {
#define X(name, text) PG_##name,
    PG_MAP(X)
#undef X
        N_PG_SQL
};

#define PG_MAX_ARGS 15

/* Parameters of one statement; bytes are borrowed until it was sent. */
struct pg_args {
    int n;
    const char *values[PG_MAX_ARGS];
    int lengths[PG_MAX_ARGS];
    uint64_t numbers[PG_MAX_ARGS]; /* big-endian, of those that are numbers */
};

struct store {
    const struct clock *clock;
    PGconn *db, *flusher;  /* flusher: of the thread that flushes */
    bool writing, failed;  /* failed: nothing can be done any more, see why */
    atomic_bool unflushed; /* something was committed since the last flush */
    int n_queued;          /* statements whose answers were not read */
    size_t queued_bytes;   /* of their parameters */
    int64_t heard_ns;      /* the server answered then */
    struct pieces pieces;
    struct why why;
};

void pg_i64(struct pg_args *a, int64_t value);
void pg_real(struct pg_args *a, double value);
void pg_text(struct pg_args *a, const char *text); /* NULL is NULL */
void pg_bytes(struct pg_args *a, const void *bytes, size_t n);

/* The store's members; see tracker/store.h. */
enum err pg_open(const char *where, const struct clock *clock, struct store **out, struct why *why);
enum err pg_open_part(const char *where, int64_t n_parts, const struct clock *clock, int64_t *part, struct store **out,
                      struct why *why);
void pg_close(struct store *s);
enum err pg_commit(struct store *s, struct why *why);
enum err pg_flush(struct store *s, struct why *why);
void pg_words(struct store *s, struct why *why);

/* Queues a statement within the transaction, begun where there is none; what fails may be told later, by the commit at
 * the latest. ERR_IO. */
enum err pg_write(struct store *s, enum pg_sql which, const struct pg_args *a);
/* The same, but waits; *n grows by the rows changed. */
enum err pg_change(struct store *s, enum pg_sql which, const struct pg_args *a, int64_t *n);
/* Gives the rows as they are within the transaction: PQclear them. ERR_IO. */
enum err pg_read(struct store *s, enum pg_sql which, const struct pg_args *a, PGresult **rows);

/* Of a row. Texts are lent. */
int64_t pg_i64_at(const PGresult *rows, int i_row, int column);
double pg_real_at(const PGresult *rows, int i_row, int column);
const char *pg_text_at(const PGresult *rows, int i_row, int column);

#endif
