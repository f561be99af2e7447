/* SPDX-License-Identifier: MIT */
#include "tracker/store_sqlite_db.h"

#include "core/file.h"
#include "tracker/store_sqlite_check.h"
#include "tracker/store_sqlite_file.h"
#include "tracker/store_sqlite_keeper.h"
#include "tracker/store_sqlite_replay.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SETTLE_MS 250                    /* from a transaction's first write to its end */
#define JOURNAL_BYTES ((int64_t)4 << 20) /* of a file of the journal; then it is the other's turn */
#define SLOW_BYTES (4 * JOURNAL_BYTES)   /* of one: the keeper is late, and the next flush does its work */
#define KEEP_PAGES 4000                  /* of SQLite's log: the keeper brings them into the database */
#define LOG_PAGES 16384                  /* so long it may grow before the rest is waited for */
#define MAX_LOG_PAGES (16 * LOG_PAGES)   /* before all of it is */

static const char *const sql_text[] = {
#define X(name, text) text,
    SQL_MAP(X)
#undef X
};

/* What the journal is told; the others have a transaction end with their commit. */
static const enum sql told[] = {SQL_JOB_PUT,          SQL_JOB_SET,    SQL_SUMS_PUT, SQL_TRIAL_PUT, SQL_TRIAL_SET,
                                SQL_RECORD_DROP_LOST, SQL_RECORD_PUT, SQL_BLOB_PUT, SQL_AWAY_HERE};
#define N_TOLD ((int)(sizeof told / sizeof *told))

/* ---- statements ---- */

enum err db_err_of(int rc)
{
    return rc == SQLITE_NOMEM ? ERR_NOMEM : ERR_IO;
}

sqlite3_stmt *db_ready(struct store *s, enum sql which)
{
    sqlite3_reset(s->stmt[which]);
    sqlite3_clear_bindings(s->stmt[which]);
    return s->stmt[which];
}

static bool is_undone(const struct store *s)
{
    return s->writing && sqlite3_get_autocommit(s->db);
}

int db_step(struct store *s, sqlite3_stmt *q)
{
    return is_undone(s) ? SQLITE_ABORT : sqlite3_step(q);
}

enum err db_end(sqlite3_stmt *q, int rc)
{
    sqlite3_reset(q);
    return rc == SQLITE_DONE || rc == SQLITE_ROW ? ERR_OK : db_err_of(rc);
}

enum err db_run(struct store *s, sqlite3_stmt *q)
{
    return db_end(q, db_step(s, q));
}

/* Before a write that the journal is told. */
enum err db_begin_told(struct store *s)
{
    enum err e;

    if (s->writing)
        return ERR_OK;
    e = db_run(s, db_ready(s, SQL_BEGIN));
    s->writing = !e;
    s->since_ns = clock_read_ns(s->clock);
    return e;
}

enum err db_begin(struct store *s)
{
    s->untold = true;
    return db_begin_told(s);
}

void db_bind_text(sqlite3_stmt *q, int i, const char *text)
{
    if (text)
        sqlite3_bind_text(q, i, text, -1, SQLITE_STATIC);
}

/* A statement whose parameters the journal is told, too. */
sqlite3_stmt *db_telling(struct store *s, enum sql which)
{
    int i = 0;

    while (told[i] != which)
        i++;
    assert(i < N_TOLD);
    journal_statement(s->journal, i);
    return db_ready(s, which);
}

void db_tell_text(struct store *s, sqlite3_stmt *q, int i, const char *text)
{
    db_bind_text(q, i, text);
    if (text)
        journal_text(s->journal, i, text);
}

void db_tell_i64(struct store *s, sqlite3_stmt *q, int i, int64_t value)
{
    sqlite3_bind_int64(q, i, value);
    journal_i64(s->journal, i, value);
}

void db_tell_real(struct store *s, sqlite3_stmt *q, int i, double value)
{
    sqlite3_bind_double(q, i, value);
    journal_real(s->journal, i, value);
}

enum err db_run_told(struct store *s, sqlite3_stmt *q)
{
    const enum err e = db_run(s, q);

    s->untold |= e != ERR_OK;
    return e;
}

const char *db_text_at(sqlite3_stmt *q, int i)
{
    const char *text = (const char *)sqlite3_column_text(q, i);

    return text ? text : "";
}

bool db_is_whole(sqlite3_stmt *q)
{
    return sqlite3_errcode(sqlite3_db_handle(q)) != SQLITE_NOMEM;
}

/* ---- opening ---- */

/* A database that is not there, or of which only an empty file is, beside the journal that it had. */
static enum err check_there(const struct store *s, const char *where, struct why *why)
{
    static const char *const names[] = {"journal.0", "journal.1"};
    char path[PATH_MAX];
    struct stat st;
    int64_t n;
    enum err e = sqlite_number(s->db, "SELECT count(*) FROM sqlite_master", &n, why);

    if (e || n)
        return e;
    for (int i = 0; i < 2; i++)
        if (sqlite_path(where, names[i], path, NULL) == ERR_OK && stat(path, &st) == 0 && st.st_size)
            return why_set(why, ERR_IO,
                           "%s has a journal and no database: put tracker.sqlite back (and tracker.sqlite-wal), or a "
                           "backup, or remove journal.0 and journal.1 to begin anew",
                           where);
    return ERR_OK;
}

/* What an earlier tracker had told its journal alone. */
static enum err catch_up(struct store *s, const char *where, struct why *why)
{
    struct journal_tail *tail = NULL;
    struct why said = {""};
    enum err e = sqlite_tail(s->db, where, &tail, &said);

    if (e == ERR_STALE)
        return why_set(why, ERR_IO,
                       "%s: put back what belongs together, or a backup, or remove journal.0 and journal.1 to go on "
                       "without what they have",
                       said.text);
    if (e)
        return why_set(why, e, "%s", said.text);
    e = sqlite_replay(s->db, tail, why);
    journal_tail_close(tail);
    return e;
}

static enum err set_up(struct store *s, const char *where, const char *path, struct why *why)
{
    enum err e;

    sqlite3_busy_timeout(s->db, 2000);
    e = sqlite_run(s->db, /* before its first table; a store that has some without it gets it by bring_up */
                   "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA secure_delete = FAST; PRAGMA journal_mode = WAL; "
                   "PRAGMA synchronous = NORMAL; PRAGMA cache_size = -16384;",
                   why);
    if (!e)
        e = sqlite_check_version(s->db, path, why);
    if (!e)
        e = check_there(s, where, why);
    if (!e)
        e = catch_up(s, where, why);
    if (!e)
        e = sqlite_check_schema(s->db, path, why);
    for (int i = 0; !e && i < N_SQL; i++)
        if (sqlite3_prepare_v3(s->db, sql_text[i], -1, SQLITE_PREPARE_PERSISTENT, &s->stmt[i], NULL) != SQLITE_OK)
            e = why_set(why, ERR_IO, "store %s: %s", path, sqlite3_errmsg(s->db));
    return e;
}

/* The log is there as long as the database is open, under the same inode. */
static enum err open_log(struct store *s, const char *where, struct why *why)
{
    char path[PATH_MAX];
    enum err e = sqlite_path(where, "tracker.sqlite-wal", path, why);

    if (e)
        return e;
    s->log_fd = open(path, O_RDWR | O_CLOEXEC);
    return s->log_fd >= 0 ? ERR_OK : why_set(why, ERR_IO, "%s: %s", path, strerror(errno));
}

static enum err log_to_disk(const struct store *s, struct why *why)
{
    return fdatasync(s->log_fd) == 0 ? ERR_OK
                                     : why_set(why, ERR_IO, "the store's log cannot be written: %s", strerror(errno));
}

static int count_pages(void *store, sqlite3 *db, const char *name, int n)
{
    (void)db;
    (void)name;
    ((struct store *)store)->n_pages = n;
    return SQLITE_OK;
}

/* A journal of its own, once what the one before had is safe, and whose journal it is: SQLite syncs no commit. */
static enum err open_journal(struct store *s, const char *where, const char *path, struct why *why)
{
    const char *texts[N_TOLD];
    enum err e = open_log(s, where, why);

    for (int i = 0; i < N_TOLD; i++)
        texts[i] = sql_text[told[i]];
    if (!e)
        e = log_to_disk(s, why);
    if (!e)
        e = sqlite_journal_open(s->db, where, texts, N_TOLD, &s->journal, why);
    if (!e)
        e = sqlite_keeper_open(path, &s->keeper, why);
    if (!e)
        atomic_init(&s->serial, journal_serial(s->journal));
    sqlite3_wal_hook(s->db, count_pages, s); /* in the place of SQLite's own, which would bring pages in at once */
    return e;
}

/* Ends the transaction: the database has all that the journal was told. */
static enum err end_transaction(struct store *s)
{
    sqlite3_stmt *q = db_ready(s, SQL_SETTLED);
    enum err e;

    sqlite3_bind_int64(q, 1, journal_serial(s->journal));
    e = db_run(s, q);
    if (!e)
        e = db_run(s, db_ready(s, SQL_COMMIT));
    s->writing = e != ERR_OK;
    return e;
}

void db_close(struct store *s)
{
    bool whole;

    if (!s)
        return;
    sqlite_check_stop(s->check);
    sqlite_keeper_close(s->keeper);
    whole = s->journal && !s->failed && !s->untold && !journal_told(s->journal) &&
            (!s->writing || end_transaction(s) == ERR_OK);
    for (int i = 0; i < N_SQL; i++)
        sqlite3_finalize(s->stmt[i]);
    sqlite3_close(s->db); /* brings all into the database, unless another reads it */
    journal_close(s->journal, whole && fdatasync(s->log_fd) == 0);
    for (int i = 0; i < 2; i++)
        if (s->lock_fds[i] >= 0)
            close(s->lock_fds[i]);
    if (s->log_fd >= 0)
        close(s->log_fd);
    pieces_fini(&s->pieces);
    free(s);
}

/* What is in it is nobody else's, whatever the folder lets others do; SQLite makes its log and index alike. Never one
 * that is there: closing it would give up this process's locks on it. */
static void make_private(const char *path)
{
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd >= 0)
        close(fd);
}

enum err db_open(const char *where, const struct clock *clock, struct store **out, struct why *why)
{
    struct store *s = calloc(1, sizeof *s);
    char path[PATH_MAX];
    enum err e;

    if (!s)
        return ERR_NOMEM;
    s->clock = clock;
    s->lock_fds[0] = s->lock_fds[1] = s->log_fd = -1;
    e = dir_make(where, 0700, why);
    if (!e)
        e = sqlite_path(where, "tracker.sqlite", path, why);
    if (!e)
        e = sqlite_take_lock(where, s->lock_fds, why);
    if (!e)
        e = sqlite_check_start(where, &s->check, why);
    if (!e)
        make_private(path);
    if (!e && sqlite3_open_v2(path, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL) !=
                  SQLITE_OK)
        e = why_set(why, ERR_IO, "store %s: %s", path, s->db ? sqlite3_errmsg(s->db) : "out of memory");
    if (!e)
        e = set_up(s, where, path, why);
    if (!e)
        e = open_journal(s, where, path, why);
    if (e) {
        db_close(s);
        return e;
    }
    *out = s;
    return ERR_OK;
}

/* ---- commits ---- */

/* The keeper brings the log into the database, but a log that is written all the time never begins anew: from time to
 * time what the keeper has not yet, which is little, is waited for. */
static void shorten_log(struct store *s, int64_t n_kept, int n_left)
{
    if (s->n_pages >= LOG_PAGES && n_left == 0 && (n_kept >= s->n_settled - 1 || s->n_pages >= MAX_LOG_PAGES))
        sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
}

static enum err settle(struct store *s, struct why *why)
{
    enum err e = ERR_OK;
    int64_t n_kept;
    int n_left;

    if (end_transaction(s) != ERR_OK)
        return sqlite_why(s->db, why);
    atomic_store(&s->n_settled, s->n_settled + 1);
    n_kept = sqlite_keeper_has(s->keeper, &n_left);
    if (n_kept < atomic_load(&s->n_flushed))
        n_kept = atomic_load(&s->n_flushed);
    assert(n_kept <= s->n_settled && s->n_at_turn <= s->n_settled);
    shorten_log(s, n_kept, n_left);
    if (s->n_pages >= KEEP_PAGES || journal_bytes(s->journal) >= JOURNAL_BYTES)
        e = sqlite_keeper_want(s->keeper, s->n_settled, s->n_pages >= KEEP_PAGES, why);
    if (!e && journal_bytes(s->journal) >= JOURNAL_BYTES && n_kept >= s->n_at_turn) {
        journal_turn(s->journal);
        s->n_at_turn = s->n_settled;
    }
    s->n_settled_bytes = journal_bytes(s->journal);
    s->is_late = s->n_settled_bytes >= SLOW_BYTES;
    return e;
}

static bool is_due(const struct store *s)
{
    return clock_read_ns(s->clock) - s->since_ns >= (int64_t)SETTLE_MS * 1000000 ||
           journal_bytes(s->journal) - s->n_settled_bytes >= JOURNAL_BYTES;
}

static enum err tell_undone(const struct store *s, struct why *why)
{
    return why_set(why, ERR_IO, "store %s: SQLite has undone a transaction, for lack of memory or disk",
                   sqlite3_db_filename(s->db, "main"));
}

enum err db_commit(struct store *s, struct why *why)
{
    const bool untold = s->untold;
    enum err e = ERR_OK;

    assert((s->writing || sqlite3_get_autocommit(s->db)) && !s->failed);
    s->failed = is_undone(s);
    if (s->failed)
        return tell_undone(s, why);
    if (sqlite_check_result(s->check, why) != ERR_OK)
        return ERR_IO;
    if (!s->writing)
        return ERR_OK;
    if (untold)
        e = journal_mark(s->journal, why);
    else if (journal_told(s->journal))
        e = journal_write(s->journal, why);
    if (!e && (untold || is_due(s)))
        e = settle(s, why);
    if (untold || s->is_late)
        atomic_store(&s->unflushed, true);
    atomic_store(&s->serial, journal_serial(s->journal));
    s->untold = false;
    s->failed = e != ERR_OK;
    return e;
}

void db_words(struct store *s, struct why *why)
{
    const int rc = sqlite3_errcode(s->db) & 0xff;

    if (rc != SQLITE_OK && rc != SQLITE_ROW && rc != SQLITE_DONE)
        sqlite_why(s->db, why);
    else if (is_undone(s))
        tell_undone(s, why);
}

enum err db_flush(struct store *s, struct why *why)
{
    const int64_t serial = atomic_load(&s->serial), n_settled = atomic_load(&s->n_settled);
    enum err e = ERR_OK;

    if (atomic_exchange(&s->unflushed, false)) {
        e = log_to_disk(s, why);
        if (!e)
            atomic_store(&s->n_flushed, n_settled);
    }
    return e ? e : journal_flush(s->journal, serial, why);
}
