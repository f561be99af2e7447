/* SPDX-License-Identifier: MIT */
/* store_sqlite.c - the embedded store: one SQLite file, WAL, one transaction for all writes between two commits.
 * SQLite itself syncs the log only before what is in it goes into the database (synchronous NORMAL); flush does that
 * after commits, so that the next transaction need not wait for the disk. */
#include "tracker/store.h"
#include "tracker/store_sqlite.h"
#include "tracker/store_sqlite_check.h"
#include "tracker/store_sqlite_file.h"

#include "core/clock.h"
#include "core/file.h"
#include "core/hash.h"
#include "tracker/protocol.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DAY_MS ((int64_t)86400000)
#define RETAIN_ROWS 500 /* forgotten at once */

enum sql {
#define X(name, text) SQL_##name,
    SQL_MAP(X)
#undef X
        N_SQL
};

static const char *const sql_text[] = {
#define X(name, text) text,
    SQL_MAP(X)
#undef X
};

struct store {
    sqlite3 *db;
    sqlite3_stmt *stmt[N_SQL];
    bool writing; /* a transaction is open */
    const struct clock *clock;
    int lock_fd, log_fd;                 /* log_fd: of the write-ahead log, for flush */
    struct sqlite_check *check;          /* of its pages, under way; or NULL */
    atomic_llong n_committed, n_flushed; /* transactions */
};

/* ---- statements ---- */

static enum err err_of(int rc)
{
    return rc == SQLITE_NOMEM ? ERR_NOMEM : ERR_IO;
}

static sqlite3_stmt *ready(struct store *s, enum sql which)
{
    sqlite3_reset(s->stmt[which]);
    sqlite3_clear_bindings(s->stmt[which]);
    return s->stmt[which];
}

static enum err run(sqlite3_stmt *q)
{
    const int rc = sqlite3_step(q);

    sqlite3_reset(q);
    return rc == SQLITE_DONE || rc == SQLITE_ROW ? ERR_OK : err_of(rc);
}

static enum err begin(struct store *s)
{
    enum err e;

    if (s->writing)
        return ERR_OK;
    e = run(ready(s, SQL_BEGIN));
    s->writing = !e;
    return e;
}

static void bind_text(sqlite3_stmt *q, int i, const char *text)
{
    if (text)
        sqlite3_bind_text(q, i, text, -1, SQLITE_STATIC);
}

static const char *text_at(sqlite3_stmt *q, int i)
{
    const char *text = (const char *)sqlite3_column_text(q, i);

    return text ? text : "";
}

static enum err run_i64(struct store *s, enum sql which, int64_t value)
{
    sqlite3_stmt *q = ready(s, which);
    enum err e = begin(s);

    sqlite3_bind_int64(q, 1, value);
    return e ? e : run(q);
}

static enum err run_text(struct store *s, enum sql which, const char *text, int64_t second)
{
    sqlite3_stmt *q = ready(s, which);
    enum err e = begin(s);

    bind_text(q, 1, text);
    if (sqlite3_bind_parameter_count(q) > 1)
        sqlite3_bind_int64(q, 2, second);
    return e ? e : run(q);
}

/* ---- opening ---- */

static enum err set_up(struct store *s, const char *path, struct why *why)
{
    enum err e;

    sqlite3_busy_timeout(s->db, 2000);
    e = sqlite_run(s->db, /* before its first table; a store that has some without it gets it by bring_up */
                   "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; "
                   "PRAGMA cache_size = -8192;",
                   why);
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

static void store_close(struct store *s)
{
    if (!s)
        return;
    sqlite_check_stop(s->check);
    if (s->lock_fd >= 0)
        close(s->lock_fd);
    if (s->log_fd >= 0)
        close(s->log_fd);
    for (int i = 0; i < N_SQL; i++)
        sqlite3_finalize(s->stmt[i]);
    sqlite3_close(s->db);
    free(s);
}

static enum err store_open(const char *where, const struct clock *clock, struct store **out, struct why *why)
{
    struct store *s = calloc(1, sizeof *s);
    char path[PATH_MAX];
    enum err e;

    if (!s)
        return ERR_NOMEM;
    s->clock = clock;
    s->lock_fd = s->log_fd = -1;
    e = dir_make(where, 0700, why);
    if (!e)
        e = sqlite_path(where, "tracker.sqlite", path, why);
    if (!e)
        e = sqlite_take_lock(where, &s->lock_fd, why);
    if (!e)
        e = sqlite_check_start(where, &s->check, why);
    if (!e && sqlite3_open_v2(path, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL) !=
                  SQLITE_OK)
        e = why_set(why, ERR_IO, "store %s: %s", path, s->db ? sqlite3_errmsg(s->db) : "out of memory");
    if (!e)
        e = set_up(s, path, why);
    if (!e)
        e = open_log(s, where, why);
    if (e) {
        store_close(s);
        return e;
    }
    *out = s;
    return ERR_OK;
}

static enum err store_commit(struct store *s, struct why *why)
{
    assert(s->writing == !sqlite3_get_autocommit(s->db));
    if (sqlite_check_result(s->check, why) != ERR_OK)
        return ERR_IO;
    if (!s->writing)
        return ERR_OK;
    if (run(ready(s, SQL_COMMIT)) != ERR_OK)
        return why_set(why, ERR_IO, "store %s: %s", sqlite3_db_filename(s->db, "main"), sqlite3_errmsg(s->db));
    s->writing = false;
    atomic_fetch_add(&s->n_committed, 1);
    return ERR_OK;
}

static enum err store_flush(struct store *s, struct why *why)
{
    const long long n = atomic_load(&s->n_committed);

    if (atomic_load(&s->n_flushed) == n)
        return ERR_OK;
    if (fdatasync(s->log_fd) != 0)
        return why_set(why, ERR_IO, "the store's log cannot be written: %s", strerror(errno));
    atomic_store(&s->n_flushed, n);
    return ERR_OK;
}

/* ---- jobs ---- */

static enum err job_put(struct store *s, const struct job_row *r)
{
    sqlite3_stmt *q = ready(s, r->body ? SQL_JOB_PUT : SQL_JOB_SET);
    enum err e = begin(s);

    sqlite3_bind_int64(q, 1, r->id);
    bind_text(q, 2, r->title ? r->title : "");
    bind_text(q, 3, r->user ? r->user : "");
    bind_text(q, 4, r->key ? r->key : "");
    bind_text(q, 5, r->request ? r->request : "");
    sqlite3_bind_int64(q, 6, r->priority);
    sqlite3_bind_int64(q, 7, r->created_ms);
    sqlite3_bind_int64(q, 8, r->done_ms);
    sqlite3_bind_int(q, 9, (int)r->state);
    sqlite3_bind_int64(q, 10, r->token);
    sqlite3_bind_int(q, 11, r->leased);
    bind_text(q, 12, r->body);
    bind_text(q, 13, r->summary);
    sqlite3_bind_int(q, 14, r->paused);
    return e ? e : run(q);
}

static enum err sums_put(struct store *s, const struct job_row *r)
{
    sqlite3_stmt *q = ready(s, SQL_SUMS_PUT);
    enum err e = begin(s);

    sqlite3_bind_int64(q, 1, r->id);
    sqlite3_bind_int64(q, 2, r->seq);
    sqlite3_bind_int64(q, 3, r->n_done);
    sqlite3_bind_int64(q, 4, r->n_lost);
    sqlite3_bind_double(q, 5, r->best_gflops);
    sqlite3_bind_double(q, 6, r->best_ns);
    return e ? e : run(q);
}

static struct job_row job_at(sqlite3_stmt *q)
{
    return (struct job_row){.id = sqlite3_column_int64(q, 0),
                            .title = text_at(q, 1),
                            .user = text_at(q, 2),
                            .key = text_at(q, 3),
                            .request = text_at(q, 4),
                            .priority = sqlite3_column_int64(q, 5),
                            .created_ms = sqlite3_column_int64(q, 6),
                            .done_ms = sqlite3_column_int64(q, 7),
                            .state = (enum job_state)sqlite3_column_int(q, 8),
                            .token = sqlite3_column_int64(q, 9),
                            .leased = sqlite3_column_int(q, 10) != 0,
                            .paused = sqlite3_column_int(q, 11) != 0,
                            .body = text_at(q, 12),
                            .summary = text_at(q, 13),
                            .seq = sqlite3_column_int64(q, 14),
                            .n_done = sqlite3_column_int64(q, 15),
                            .n_lost = sqlite3_column_int64(q, 16),
                            .best_gflops = sqlite3_column_double(q, 17),
                            .best_ns = sqlite3_column_double(q, 18)};
}

static enum err each_job(struct store *s, int64_t only, void (*each)(const struct job_row *, void *), void *arg)
{
    sqlite3_stmt *q = ready(s, only ? SQL_JOB : SQL_JOBS);
    int rc;

    if (only)
        sqlite3_bind_int64(q, 1, only);
    while ((rc = sqlite3_step(q)) == SQLITE_ROW) {
        const struct job_row row = job_at(q);

        each(&row, arg);
    }
    sqlite3_reset(q);
    return rc == SQLITE_DONE ? ERR_OK : err_of(rc);
}

/* ---- agents ---- */

static enum err mode_put(struct store *s, const char *agent, enum mode mode, const char *user)
{
    sqlite3_stmt *q = ready(s, SQL_MODE_PUT);
    enum err e = begin(s);

    if (mode == MODE_SERVE)
        return run_text(s, SQL_MODE_DROP, agent, 0);
    bind_text(q, 1, agent);
    sqlite3_bind_int(q, 2, (int)mode);
    bind_text(q, 3, user);
    return e ? e : run(q);
}

static enum err each_mode(struct store *s, void (*each)(const char *agent, enum mode mode, const char *user, void *),
                          void *arg)
{
    sqlite3_stmt *q = ready(s, SQL_MODES);
    int rc;

    while ((rc = sqlite3_step(q)) == SQLITE_ROW)
        each(text_at(q, 0), (enum mode)sqlite3_column_int(q, 1), text_at(q, 2), arg);
    sqlite3_reset(q);
    return rc == SQLITE_DONE ? ERR_OK : err_of(rc);
}

/* ---- trials ---- */

static enum err trial_put(struct store *s, const struct trial_row *r)
{
    sqlite3_stmt *q = ready(s, r->body ? SQL_TRIAL_PUT : SQL_TRIAL_SET);
    const char *const texts[] = {r->key, r->fingerprint, r->program, r->anchor, r->purpose, r->protocol};
    enum err e = begin(s);

    sqlite3_bind_int64(q, 1, r->id);
    sqlite3_bind_int64(q, 2, r->job);
    sqlite3_bind_int64(q, 3, r->n);
    for (int i = 0; i < 6; i++)
        bind_text(q, 4 + i, texts[i] ? texts[i] : "");
    bind_text(q, 10, r->body);
    sqlite3_bind_int(q, 11, (int)r->state);
    sqlite3_bind_int64(q, 12, r->token);
    sqlite3_bind_int64(q, 13, r->attempts);
    bind_text(q, 14, r->agent ? r->agent : "");
    sqlite3_bind_int64(q, 15, r->answered_by);
    return e ? e : run(q);
}

static enum err give_trials(sqlite3_stmt *q, int64_t *n, void (*each)(const struct trial_row *, void *), void *arg)
{
    int rc;

    while ((rc = sqlite3_step(q)) == SQLITE_ROW) {
        const struct trial_row row = {.id = sqlite3_column_int64(q, 0),
                                      .job = sqlite3_column_int64(q, 1),
                                      .n = sqlite3_column_int64(q, 2),
                                      .key = text_at(q, 3),
                                      .fingerprint = text_at(q, 4),
                                      .program = text_at(q, 5),
                                      .anchor = text_at(q, 6),
                                      .purpose = text_at(q, 7),
                                      .protocol = text_at(q, 8),
                                      .body = text_at(q, 9),
                                      .state = (enum trial_state)sqlite3_column_int(q, 10),
                                      .token = sqlite3_column_int64(q, 11),
                                      .attempts = sqlite3_column_int64(q, 12),
                                      .agent = text_at(q, 13),
                                      .answered_by = sqlite3_column_int64(q, 14)};

        (*n)++;
        each(&row, arg);
    }
    sqlite3_reset(q);
    return rc == SQLITE_DONE ? ERR_OK : err_of(rc);
}

static enum err each_live_trial(struct store *s, void (*each)(const struct trial_row *, void *), void *arg)
{
    int64_t n = 0;

    return give_trials(ready(s, SQL_LIVE), &n, each, arg);
}

static enum err trial_get(struct store *s, int64_t id, int64_t job, int64_t n,
                          void (*each)(const struct trial_row *, void *), void *arg)
{
    sqlite3_stmt *q = ready(s, id ? SQL_TRIAL : SQL_TRIAL_N);
    int64_t n_found = 0;
    enum err e;

    sqlite3_bind_int64(q, 1, id ? id : job);
    if (!id)
        sqlite3_bind_int64(q, 2, n);
    e = give_trials(q, &n_found, each, arg);
    return e ? e : n_found ? ERR_OK : ERR_NOT_FOUND;
}

static enum err next_trial(struct store *s, int64_t *out)
{
    *out = sqlite_number(s->db, "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'trials'), 0) + 1");
    return *out > 0 ? ERR_OK : ERR_IO;
}

/* The rows that change are shown first, as they will be: a statement must not read what it updates. */
struct shown {
    void (*each)(const struct trial_row *, void *);
    void *arg;
};

static void show_open(const struct trial_row *row, void *arg)
{
    const struct shown *s = arg;
    struct trial_row after = *row;

    if (row->state != TRIAL_LOST)
        return;
    after.state = TRIAL_OPEN;
    after.attempts = 0;
    after.agent = "";
    s->each(&after, s->arg);
}

static enum err requeue(struct store *s, int64_t job, int64_t trial, void (*each)(const struct trial_row *, void *),
                        void *arg)
{
    struct shown shown = {each, arg};
    sqlite3_stmt *q = ready(s, trial ? SQL_TRIAL : SQL_LOST_OF_JOB);
    int64_t n = 0;
    enum err e;

    sqlite3_bind_int64(q, 1, trial ? trial : job);
    e = give_trials(q, &n, show_open, &shown);
    return e ? e : run_i64(s, trial ? SQL_REQUEUE : SQL_REQUEUE_JOB, trial ? trial : job);
}

static enum err cancel(struct store *s, int64_t job)
{
    return run_i64(s, SQL_CANCEL, job);
}

/* ---- records ---- */

static enum err record_put(struct store *s, const struct record_row *r)
{
    const char *const texts[] = {r->line, r->status, r->key, r->fingerprint, r->program, r->purpose, r->protocol};
    enum err e = run_i64(s, SQL_RECORD_DROP_LOST, r->trial);
    sqlite3_stmt *q = ready(s, SQL_RECORD_PUT);

    sqlite3_bind_int64(q, 1, r->job);
    sqlite3_bind_int64(q, 2, r->seq);
    sqlite3_bind_int64(q, 3, r->trial);
    sqlite3_bind_int64(q, 4, r->n);
    for (int i = 0; i < 7; i++)
        bind_text(q, 5 + i, texts[i] ? texts[i] : "");
    sqlite3_bind_double(q, 12, r->time_ns);
    sqlite3_bind_double(q, 13, r->flops);
    sqlite3_bind_double(q, 14, r->device_ms);
    sqlite3_bind_int64(q, 15, r->created_ms);
    return e ? e : run(q);
}

static struct record_row record_at(sqlite3_stmt *q)
{
    return (struct record_row){.job = sqlite3_column_int64(q, 0),
                               .seq = sqlite3_column_int64(q, 1),
                               .trial = sqlite3_column_int64(q, 2),
                               .n = sqlite3_column_int64(q, 3),
                               .line = text_at(q, 4),
                               .status = text_at(q, 5),
                               .key = text_at(q, 6),
                               .fingerprint = text_at(q, 7),
                               .program = text_at(q, 8),
                               .purpose = text_at(q, 9),
                               .protocol = text_at(q, 10),
                               .time_ns = sqlite3_column_double(q, 11),
                               .flops = sqlite3_column_double(q, 12),
                               .device_ms = sqlite3_column_double(q, 13),
                               .created_ms = sqlite3_column_int64(q, 14)};
}

static enum err give_records(sqlite3_stmt *q, int64_t *n, bool (*each)(const struct record_row *, void *), void *arg)
{
    bool more = true;
    int rc = SQLITE_DONE;

    while (more && (rc = sqlite3_step(q)) == SQLITE_ROW) {
        const struct record_row row = record_at(q);

        (*n)++;
        more = each(&row, arg);
    }
    sqlite3_reset(q);
    return !more || rc == SQLITE_DONE ? ERR_OK : err_of(rc);
}

static enum err each_record(struct store *s, int64_t job, int64_t seq, int64_t trial, int64_t max,
                            bool (*each)(const struct record_row *, void *), void *arg)
{
    sqlite3_stmt *q = ready(s, trial ? SQL_RECORD_OF : SQL_RECORDS);
    int64_t n = 0;

    sqlite3_bind_int64(q, 1, trial ? trial : job);
    if (!trial) {
        sqlite3_bind_int64(q, 2, seq);
        sqlite3_bind_int64(q, 3, max);
    }
    return give_records(q, &n, each, arg);
}

static enum err record_find(struct store *s, const struct record_row *like,
                            bool (*each)(const struct record_row *, void *), void *arg)
{
    sqlite3_stmt *q = ready(s, SQL_RECORD_SAME);
    int64_t n = 0;
    enum err e;

    bind_text(q, 1, like->program);
    bind_text(q, 2, like->fingerprint);
    bind_text(q, 3, like->purpose);
    bind_text(q, 4, like->protocol);
    e = give_records(q, &n, each, arg);
    return e ? e : n ? ERR_OK : ERR_NOT_FOUND;
}

/* ---- blobs ---- */

static enum err put_whole(struct store *s, const char *hex, const void *bytes, size_t n)
{
    sqlite3_stmt *q = ready(s, SQL_BLOB_PUT);
    enum err e = begin(s);

    bind_text(q, 1, hex);
    sqlite3_bind_int64(q, 2, clock_read_wall_ms(s->clock));
    if (n)
        sqlite3_bind_blob64(q, 3, bytes, n, SQLITE_STATIC);
    else
        sqlite3_bind_zeroblob(q, 3, 0);
    return e ? e : run(q);
}

static enum err put_piece(struct store *s, const char *hex, int64_t offset, const void *bytes, size_t n)
{
    sqlite3_stmt *q = ready(s, SQL_PIECE_PUT);
    enum err e = begin(s);

    bind_text(q, 1, hex);
    sqlite3_bind_int64(q, 2, offset);
    sqlite3_bind_int64(q, 3, clock_read_wall_ms(s->clock));
    sqlite3_bind_blob64(q, 4, bytes, n, SQLITE_STATIC);
    return e ? e : run(q);
}

/* Bytes of all pieces of a blob that are there. */
static int64_t pieces_bytes(struct store *s, const char *hex)
{
    sqlite3_stmt *q = ready(s, SQL_PIECE_SUM);
    int64_t sum = 0;

    bind_text(q, 1, hex);
    if (sqlite3_step(q) == SQLITE_ROW)
        sum = sqlite3_column_int64(q, 0);
    sqlite3_reset(q);
    return sum;
}

/* Puts the pieces together; they must lie one behind the other and have the content of the name. */
static enum err join_pieces(struct store *s, const char *hex, struct buf *whole)
{
    sqlite3_stmt *q = ready(s, SQL_PIECES);
    enum err e = ERR_OK;

    bind_text(q, 1, hex);
    while (!e && sqlite3_step(q) == SQLITE_ROW) {
        if (sqlite3_column_int64(q, 0) != (int64_t)whole->len)
            e = ERR_INPUT;
        else
            e = buf_append(whole, sqlite3_column_blob(q, 1), (size_t)sqlite3_column_bytes(q, 1));
    }
    sqlite3_reset(q);
    if (!e && strcmp(sha256_of(whole->data, whole->len).hex, hex) != 0)
        e = ERR_INPUT;
    return e;
}

static enum err finish_pieces(struct store *s, const char *hex, int64_t total)
{
    struct buf whole;
    enum err e;

    buf_init(&whole, (size_t)total);
    e = join_pieces(s, hex, &whole);
    if (!e)
        e = put_whole(s, hex, whole.data, whole.len);
    buf_fini(&whole);
    if (!e || e == ERR_INPUT) {
        const enum err dropped = run_text(s, SQL_PIECES_DROP, hex, 0);

        e = e ? e : dropped;
    }
    return e;
}

static enum err blob_put(struct store *s, const char *hex, int64_t offset, int64_t total, const void *bytes, size_t n,
                         bool *stored)
{
    enum err e;

    if (offset == 0 && (int64_t)n == total) {
        if (strcmp(sha256_of(bytes, n).hex, hex) != 0)
            return ERR_INPUT;
        *stored = true;
        return put_whole(s, hex, bytes, n);
    }
    e = put_piece(s, hex, offset, bytes, n);
    if (e || pieces_bytes(s, hex) < total)
        return e;
    e = finish_pieces(s, hex, total);
    *stored = !e;
    return e;
}

static enum err read_part(struct store *s, int64_t rowid, int64_t offset, size_t n, struct buf *out)
{
    sqlite3_blob *b = NULL;
    char *room = buf_room(out, n);
    int rc;

    if (!room)
        return out->failed;
    rc = sqlite3_blob_open(s->db, "main", "blobs", "bytes", rowid, 0, &b);
    if (rc == SQLITE_OK)
        rc = sqlite3_blob_read(b, room, (int)n, (int)offset);
    sqlite3_blob_close(b);
    if (rc != SQLITE_OK)
        return err_of(rc);
    out->len += n;
    out->data[out->len] = '\0';
    return ERR_OK;
}

static enum err blob_get(struct store *s, const char *hex, int64_t offset, size_t n, int64_t *total, struct buf *out)
{
    sqlite3_stmt *q = ready(s, SQL_BLOB_SIZE);
    int64_t rowid, bytes, used_ms;

    bind_text(q, 1, hex);
    if (sqlite3_step(q) != SQLITE_ROW) {
        sqlite3_reset(q);
        return ERR_NOT_FOUND;
    }
    rowid = sqlite3_column_int64(q, 0);
    bytes = sqlite3_column_int64(q, 1);
    used_ms = sqlite3_column_int64(q, 2);
    sqlite3_reset(q);
    *total = bytes;
    if (used_ms < clock_read_wall_ms(s->clock) - DAY_MS &&
        run_text(s, SQL_BLOB_USED, hex, clock_read_wall_ms(s->clock)) != ERR_OK)
        return ERR_IO;
    if (!n || offset >= bytes)
        return ERR_OK;
    if ((int64_t)n > bytes - offset)
        n = (size_t)(bytes - offset);
    return read_part(s, rowid, offset, n, out);
}

/* ---- builds ---- */

static enum err build_put(struct store *s, const struct build_row *r)
{
    sqlite3_stmt *q = ready(s, SQL_BUILD_PUT);
    const char *const texts[] = {r->program, r->arch, r->status, r->blobs, r->body};
    enum err e = begin(s);

    for (int i = 0; i < 5; i++)
        bind_text(q, 1 + i, texts[i] ? texts[i] : "");
    sqlite3_bind_int64(q, 6, r->through);
    sqlite3_bind_int64(q, 7, r->attempts);
    sqlite3_bind_int64(q, 8, clock_read_wall_ms(s->clock));
    return e ? e : run(q);
}

static enum err stamp_build(struct store *s, const char *program, const char *arch)
{
    sqlite3_stmt *q = ready(s, SQL_BUILD_USED);
    enum err e = begin(s);

    bind_text(q, 1, program);
    bind_text(q, 2, arch);
    sqlite3_bind_int64(q, 3, clock_read_wall_ms(s->clock));
    return e ? e : run(q);
}

static enum err build_get(struct store *s, const char *program, const char *arch,
                          void (*each)(const struct build_row *, void *), void *arg)
{
    sqlite3_stmt *q = ready(s, SQL_BUILD);
    struct build_row row = {.program = program, .arch = arch};
    bool is_old;

    bind_text(q, 1, program);
    bind_text(q, 2, arch);
    if (sqlite3_step(q) != SQLITE_ROW) {
        sqlite3_reset(q);
        return ERR_NOT_FOUND;
    }
    row.status = text_at(q, 0);
    row.blobs = text_at(q, 1);
    row.body = text_at(q, 2);
    row.through = sqlite3_column_int64(q, 3);
    row.attempts = sqlite3_column_int64(q, 4);
    is_old = sqlite3_column_int64(q, 5) < clock_read_wall_ms(s->clock) - DAY_MS;
    each(&row, arg);
    sqlite3_reset(q);
    return is_old ? stamp_build(s, program, arch) : ERR_OK;
}

/* ---- upkeep ---- */

/* Deletes at most RETAIN_ROWS rows by a statement; *n grows by how many. */
static enum err drop_some(struct store *s, enum sql which, int64_t before_ms, int64_t *n)
{
    sqlite3_stmt *q = ready(s, which);
    enum err e = begin(s);

    sqlite3_bind_int64(q, 1, before_ms);
    if (sqlite3_bind_parameter_count(q) > 1)
        sqlite3_bind_int64(q, 2, RETAIN_ROWS);
    if (!e)
        e = run(q);
    *n += e ? 0 : sqlite3_changes(s->db);
    return e;
}

/* Gives some free pages at the end of the file back; a row is one page that was moved. */
static enum err shrink(struct store *s, bool *more)
{
    sqlite3_stmt *q = ready(s, SQL_SHRINK);
    enum err e = begin(s);
    int rc = e ? SQLITE_DONE : SQLITE_ROW;
    int n = 0;

    while (rc == SQLITE_ROW && (rc = sqlite3_step(q)) == SQLITE_ROW)
        n++;
    sqlite3_reset(q);
    *more = n > 0;
    return e ? e : rc == SQLITE_DONE ? ERR_OK : err_of(rc);
}

static enum err retain(struct store *s, int64_t before_ms, bool *more)
{
    static const enum sql rows[] = {SQL_OLD_RECORDS, SQL_OLD_TRIALS, SQL_OLD_BLOBS},
                          rest[] = {SQL_OLD_SUMS, SQL_DROP_JOBS, SQL_OLD_PIECES, SQL_OLD_BUILDS};
    int64_t n = 0;
    enum err e = ERR_OK;

    for (size_t i = 0; !e && n < RETAIN_ROWS && i < sizeof rows / sizeof *rows; i++)
        e = drop_some(s, rows[i], before_ms, &n);
    *more = n > 0;
    if (e || *more)
        return e;
    for (size_t i = 0; !e && i < sizeof rest / sizeof *rest; i++)
        e = drop_some(s, rest[i], before_ms, &n);
    return e ? e : shrink(s, more);
}

const struct store_ops store_sqlite = {
    .name = "sqlite",
    .file = "tracker.sqlite",
    .open = store_open,
    .close = store_close,
    .commit = store_commit,
    .flush = store_flush,
    .job_put = job_put,
    .sums_put = sums_put,
    .mode_put = mode_put,
    .each_mode = each_mode,
    .trial_put = trial_put,
    .record_put = record_put,
    .each_job = each_job,
    .each_live_trial = each_live_trial,
    .next_trial = next_trial,
    .trial_get = trial_get,
    .each_record = each_record,
    .record_find = record_find,
    .requeue = requeue,
    .cancel = cancel,
    .blob_put = blob_put,
    .blob_get = blob_get,
    .build_put = build_put,
    .build_get = build_get,
    .retain = retain,
    .backup = sqlite_backup,
};
