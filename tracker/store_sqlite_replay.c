/* SPDX-License-Identifier: MIT */
#include "tracker/store_sqlite_replay.h"

#include "tracker/store_sqlite_file.h"

#include <stdio.h>
#include <string.h>

#define MAX_TEXTS 32

/* Whose journal it is, and the first entry that the database lacks; 0: it knows of no journal. Who cannot tell for lack
 * of memory does not take it for one without. */
static enum err journal_of(sqlite3 *db, char id[JOURNAL_ID + 1], int64_t *serial, struct why *why)
{
    sqlite3_stmt *q = NULL;
    int rc = sqlite3_prepare_v2(db, "SELECT value FROM meta WHERE name = 'store'", -1, &q, NULL);
    const char *text = NULL;

    id[0] = '\0';
    *serial = 0;
    if (rc == SQLITE_OK)
        rc = sqlite3_step(q);
    if (rc == SQLITE_ROW)
        text = (const char *)sqlite3_column_text(q, 0);
    if (text)
        snprintf(id, JOURNAL_ID + 1, "%s", text);
    else if (sqlite3_errcode(db) == SQLITE_NOMEM)
        rc = SQLITE_NOMEM;
    sqlite3_finalize(q);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE && rc != SQLITE_ERROR) /* SQLITE_ERROR: there is no such table */
        return why_set(why, rc == SQLITE_NOMEM ? ERR_NOMEM : ERR_IO, "store %s: %s", sqlite3_db_filename(db, "main"),
                       sqlite3_errstr(rc));
    return strlen(id) == JOURNAL_ID ? sqlite_number(db, "SELECT value FROM meta WHERE name = 'journal'", serial, why)
                                    : ERR_OK;
}

enum err sqlite_journal_open(sqlite3 *db, const char *where, const char *const *texts, int n, struct journal **out,
                             struct why *why)
{
    char id[JOURNAL_ID + 1];
    int64_t serial;
    const enum err e = journal_of(db, id, &serial, why);

    if (e)
        return e;
    return serial > 0 ? journal_open(where, id, texts, n, serial, out, why)
                      : why_set(why, ERR_IO, "%s/tracker.sqlite does not know its journal", where);
}

enum err sqlite_tail(sqlite3 *db, const char *where, struct journal_tail **out, struct why *why)
{
    char id[JOURNAL_ID + 1];
    int64_t serial;
    const enum err e = journal_of(db, id, &serial, why);

    *out = NULL;
    return e || serial <= 0 ? e : journal_tail_open(where, id, serial, out, why);
}

/* ---- statements ---- */

struct replay {
    sqlite3 *db;
    sqlite3_stmt *q[MAX_TEXTS];
};

static int bind(sqlite3_stmt *q, const struct journal_value *v)
{
    switch (v->type) {
    case 'i':
        return sqlite3_bind_int64(q, v->i, v->i64);
    case 'r':
        return sqlite3_bind_double(q, v->i, v->real);
    case 't':
        return sqlite3_bind_text(q, v->i, v->bytes, (int)v->n_bytes, SQLITE_STATIC);
    default:
        return v->n_bytes ? sqlite3_bind_blob64(q, v->i, v->bytes, v->n_bytes, SQLITE_STATIC)
                          : sqlite3_bind_zeroblob(q, v->i, 0);
    }
}

static enum err run(void *arg, int which, const char *text, const struct journal_value *values, int n)
{
    struct replay *r = arg;
    sqlite3_stmt *q;
    int rc = SQLITE_OK;

    if (which < 0 || which >= MAX_TEXTS)
        return ERR_IO;
    if (!r->q[which])
        rc = sqlite3_prepare_v2(r->db, text, -1, &r->q[which], NULL);
    if (rc != SQLITE_OK)
        return rc == SQLITE_NOMEM ? ERR_NOMEM : ERR_IO;
    q = r->q[which];
    sqlite3_clear_bindings(q);
    for (int i = 0; rc == SQLITE_OK && i < n; i++)
        rc = bind(q, &values[i]);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(q);
    sqlite3_reset(q);
    return rc == SQLITE_DONE ? ERR_OK : rc == SQLITE_NOMEM ? ERR_NOMEM : ERR_IO;
}

static enum err run_all(sqlite3 *db, struct journal_tail *tail, struct why *why)
{
    struct replay r = {.db = db};
    int64_t serial;
    char text[80];
    enum err e = sqlite_number(db, "SELECT value FROM meta WHERE name = 'journal'", &serial, why);

    if (e)
        return e;
    e = journal_tail_read(tail, &serial, run, &r);
    if (e == ERR_NOMEM)
        why_set(why, e, "store %s: %s", sqlite3_db_filename(db, "main"), err_words(e));
    else if (e)
        why_set(why, ERR_IO, "the journal of %s does not fit it (entry %lld): %s", sqlite3_db_filename(db, "main"),
                (long long)serial, sqlite3_errmsg(db));
    for (int i = 0; i < MAX_TEXTS; i++)
        sqlite3_finalize(r.q[i]);
    snprintf(text, sizeof text, "UPDATE meta SET value = %lld WHERE name = 'journal'", (long long)serial);
    return e ? e : sqlite_run(db, text, why);
}

enum err sqlite_replay(sqlite3 *db, struct journal_tail *tail, struct why *why)
{
    enum err e;

    if (!tail)
        return ERR_OK;
    e = sqlite_run(db, "BEGIN IMMEDIATE", why);
    if (!e)
        e = run_all(db, tail, why);
    if (!e)
        e = sqlite_run(db, "COMMIT", why);
    return e;
}
