/* SPDX-License-Identifier: MIT */
/* store_sqlite.c - the embedded store: rows in one SQLite file (store_sqlite_db.h). */
#include "tracker/store.h"
#include "tracker/store_sqlite_db.h"
#include "tracker/store_sqlite_file.h"

#include "core/buf.h"
#include "core/clock.h"
#include "core/hash.h"
#include "tracker/journal.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define DAY_MS ((int64_t)86400000)
#define RETAIN_ROWS 500       /* forgotten at once */
#define TOLD_BLOB_BYTES 65536 /* larger ones are not for the journal */

/* ---- statements ---- */

static enum err run_i64(struct store *s, enum sql which, int64_t value)
{
    sqlite3_stmt *q = db_ready(s, which);
    enum err e = db_begin(s);

    sqlite3_bind_int64(q, 1, value);
    return e ? e : db_run(s, q);
}

static enum err run_text(struct store *s, enum sql which, const char *text, int64_t second)
{
    sqlite3_stmt *q = db_ready(s, which);
    enum err e = db_begin(s);

    db_bind_text(q, 1, text);
    if (sqlite3_bind_parameter_count(q) > 1)
        sqlite3_bind_int64(q, 2, second);
    return e ? e : db_run(s, q);
}

/* ---- jobs ---- */

static enum err job_put(struct store *s, const struct job_row *r)
{
    sqlite3_stmt *q = db_telling(s, r->body ? SQL_JOB_PUT : SQL_JOB_SET);
    enum err e = db_begin_told(s);

    db_tell_i64(s, q, 1, r->id);
    db_tell_text(s, q, 2, r->title ? r->title : "");
    db_tell_text(s, q, 3, r->user ? r->user : "");
    db_tell_text(s, q, 4, r->key ? r->key : "");
    db_tell_text(s, q, 5, r->request ? r->request : "");
    db_tell_i64(s, q, 6, r->priority);
    db_tell_i64(s, q, 7, r->created_ms);
    db_tell_i64(s, q, 8, r->done_ms);
    db_tell_i64(s, q, 9, r->state);
    db_tell_i64(s, q, 10, r->token);
    db_tell_i64(s, q, 11, r->leased);
    db_tell_text(s, q, 12, r->body);
    db_tell_text(s, q, 13, r->summary);
    db_tell_i64(s, q, 14, r->paused);
    return e ? e : db_run_told(s, q);
}

static enum err sums_put(struct store *s, const struct job_row *r)
{
    sqlite3_stmt *q = db_telling(s, SQL_SUMS_PUT);
    enum err e = db_begin_told(s);

    db_tell_i64(s, q, 1, r->id);
    db_tell_i64(s, q, 2, r->seq);
    db_tell_i64(s, q, 3, r->n_done);
    db_tell_i64(s, q, 4, r->n_lost);
    db_tell_real(s, q, 5, r->best_gflops);
    db_tell_real(s, q, 6, r->best_ns);
    return e ? e : db_run_told(s, q);
}

static struct job_row job_at(sqlite3_stmt *q)
{
    return (struct job_row){.id = sqlite3_column_int64(q, 0),
                            .title = db_text_at(q, 1),
                            .user = db_text_at(q, 2),
                            .key = db_text_at(q, 3),
                            .request = db_text_at(q, 4),
                            .priority = sqlite3_column_int64(q, 5),
                            .created_ms = sqlite3_column_int64(q, 6),
                            .done_ms = sqlite3_column_int64(q, 7),
                            .state = (enum job_state)sqlite3_column_int(q, 8),
                            .token = sqlite3_column_int64(q, 9),
                            .leased = sqlite3_column_int(q, 10) != 0,
                            .paused = sqlite3_column_int(q, 11) != 0,
                            .body = db_text_at(q, 12),
                            .summary = db_text_at(q, 13),
                            .seq = sqlite3_column_int64(q, 14),
                            .n_done = sqlite3_column_int64(q, 15),
                            .n_lost = sqlite3_column_int64(q, 16),
                            .best_gflops = sqlite3_column_double(q, 17),
                            .best_ns = sqlite3_column_double(q, 18)};
}

static enum err each_job(struct store *s, int64_t only, void (*each)(const struct job_row *, void *), void *arg)
{
    sqlite3_stmt *q = db_ready(s, only ? SQL_JOB : SQL_JOBS);
    int rc;

    if (only)
        sqlite3_bind_int64(q, 1, only);
    while ((rc = db_step(s, q)) == SQLITE_ROW) {
        const struct job_row row = job_at(q);

        if (!db_is_whole(q))
            return db_end(q, SQLITE_NOMEM);
        each(&row, arg);
    }
    return db_end(q, rc);
}

/* ---- agents ---- */

static enum err mode_put(struct store *s, const char *agent, enum mode mode, const char *user)
{
    sqlite3_stmt *q = db_ready(s, SQL_MODE_PUT);
    enum err e = db_begin(s);

    if (mode == MODE_SERVE)
        return run_text(s, SQL_MODE_DROP, agent, 0);
    db_bind_text(q, 1, agent);
    sqlite3_bind_int(q, 2, (int)mode);
    db_bind_text(q, 3, user);
    return e ? e : db_run(s, q);
}

static enum err each_mode(struct store *s, void (*each)(const char *agent, enum mode mode, const char *user, void *),
                          void *arg)
{
    sqlite3_stmt *q = db_ready(s, SQL_MODES);
    int rc;

    while ((rc = db_step(s, q)) == SQLITE_ROW) {
        const char *agent = db_text_at(q, 0), *user = db_text_at(q, 2);

        if (!db_is_whole(q))
            return db_end(q, SQLITE_NOMEM);
        each(agent, (enum mode)sqlite3_column_int(q, 1), user, arg);
    }
    return db_end(q, rc);
}

/* ---- trials ---- */

static enum err trial_put(struct store *s, const struct trial_row *r)
{
    sqlite3_stmt *q = db_telling(s, r->body ? SQL_TRIAL_PUT : SQL_TRIAL_SET);
    const char *const texts[] = {r->key, r->fingerprint, r->program, r->anchor, r->purpose, r->protocol};
    enum err e = db_begin_told(s);

    db_tell_i64(s, q, 1, r->id);
    db_tell_i64(s, q, 2, r->job);
    db_tell_i64(s, q, 3, r->n);
    for (int i = 0; i < 6; i++)
        db_tell_text(s, q, 4 + i, texts[i] ? texts[i] : "");
    db_tell_text(s, q, 10, r->body);
    db_tell_i64(s, q, 11, r->state);
    db_tell_i64(s, q, 12, r->token);
    db_tell_i64(s, q, 13, r->attempts);
    db_tell_text(s, q, 14, r->agent ? r->agent : "");
    db_tell_i64(s, q, 15, r->answered_by);
    return e ? e : db_run_told(s, q);
}

static enum err give_trials(struct store *s, sqlite3_stmt *q, int64_t *n,
                            void (*each)(const struct trial_row *, void *), void *arg)
{
    int rc;

    while ((rc = db_step(s, q)) == SQLITE_ROW) {
        const struct trial_row row = {.id = sqlite3_column_int64(q, 0),
                                      .job = sqlite3_column_int64(q, 1),
                                      .n = sqlite3_column_int64(q, 2),
                                      .key = db_text_at(q, 3),
                                      .fingerprint = db_text_at(q, 4),
                                      .program = db_text_at(q, 5),
                                      .anchor = db_text_at(q, 6),
                                      .purpose = db_text_at(q, 7),
                                      .protocol = db_text_at(q, 8),
                                      .body = db_text_at(q, 9),
                                      .state = (enum trial_state)sqlite3_column_int(q, 10),
                                      .token = sqlite3_column_int64(q, 11),
                                      .attempts = sqlite3_column_int64(q, 12),
                                      .agent = db_text_at(q, 13),
                                      .answered_by = sqlite3_column_int64(q, 14)};

        if (!db_is_whole(q))
            return db_end(q, SQLITE_NOMEM);
        (*n)++;
        each(&row, arg);
    }
    return db_end(q, rc);
}

static enum err each_live_trial(struct store *s, void (*each)(const struct trial_row *, void *), void *arg)
{
    int64_t n = 0;

    return give_trials(s, db_ready(s, SQL_LIVE), &n, each, arg);
}

static enum err trial_get(struct store *s, int64_t id, int64_t job, int64_t n,
                          void (*each)(const struct trial_row *, void *), void *arg)
{
    sqlite3_stmt *q = db_ready(s, id ? SQL_TRIAL : SQL_TRIAL_N);
    int64_t n_found = 0;
    enum err e;

    sqlite3_bind_int64(q, 1, id ? id : job);
    if (!id)
        sqlite3_bind_int64(q, 2, n);
    e = give_trials(s, q, &n_found, each, arg);
    return e ? e : n_found ? ERR_OK : ERR_NOT_FOUND;
}

static enum err next_trial(struct store *s, int64_t *out)
{
    const enum err e = sqlite_number(
        s->db, "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'trials'), 0) + 1", out, NULL);

    return e ? e : *out > 0 ? ERR_OK : ERR_IO;
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
    sqlite3_stmt *q = db_ready(s, trial ? SQL_TRIAL : SQL_LOST_OF_JOB);
    int64_t n = 0;
    enum err e;

    sqlite3_bind_int64(q, 1, trial ? trial : job);
    e = give_trials(s, q, &n, show_open, &shown);
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
    sqlite3_stmt *q = db_telling(s, SQL_RECORD_DROP_LOST);
    enum err e = db_begin_told(s);

    db_tell_i64(s, q, 1, r->trial);
    if (!e)
        e = db_run_told(s, q);
    q = db_telling(s, SQL_RECORD_PUT);
    db_tell_i64(s, q, 1, r->job);
    db_tell_i64(s, q, 2, r->seq);
    db_tell_i64(s, q, 3, r->trial);
    db_tell_i64(s, q, 4, r->n);
    for (int i = 0; i < 7; i++)
        db_tell_text(s, q, 5 + i, texts[i] ? texts[i] : "");
    db_tell_real(s, q, 12, r->time_ns);
    db_tell_real(s, q, 13, r->flops);
    db_tell_real(s, q, 14, r->device_ms);
    db_tell_i64(s, q, 15, r->created_ms);
    return e ? e : db_run_told(s, q);
}

static struct record_row record_at(sqlite3_stmt *q)
{
    return (struct record_row){.job = sqlite3_column_int64(q, 0),
                               .seq = sqlite3_column_int64(q, 1),
                               .trial = sqlite3_column_int64(q, 2),
                               .n = sqlite3_column_int64(q, 3),
                               .line = db_text_at(q, 4),
                               .status = db_text_at(q, 5),
                               .key = db_text_at(q, 6),
                               .fingerprint = db_text_at(q, 7),
                               .program = db_text_at(q, 8),
                               .purpose = db_text_at(q, 9),
                               .protocol = db_text_at(q, 10),
                               .time_ns = sqlite3_column_double(q, 11),
                               .flops = sqlite3_column_double(q, 12),
                               .device_ms = sqlite3_column_double(q, 13),
                               .created_ms = sqlite3_column_int64(q, 14)};
}

static enum err give_records(struct store *s, sqlite3_stmt *q, int64_t *n,
                             bool (*each)(const struct record_row *, void *), void *arg)
{
    bool more = true;
    int rc = SQLITE_DONE;

    while (more && (rc = db_step(s, q)) == SQLITE_ROW) {
        const struct record_row row = record_at(q);

        if (!db_is_whole(q))
            return db_end(q, SQLITE_NOMEM);
        (*n)++;
        more = each(&row, arg);
    }
    return db_end(q, rc);
}

static enum err each_record(struct store *s, int64_t job, int64_t seq, int64_t trial, int64_t max,
                            bool (*each)(const struct record_row *, void *), void *arg)
{
    sqlite3_stmt *q = db_ready(s, trial ? SQL_RECORD_OF : SQL_RECORDS);
    int64_t n = 0;

    sqlite3_bind_int64(q, 1, trial ? trial : job);
    if (!trial) {
        sqlite3_bind_int64(q, 2, seq);
        sqlite3_bind_int64(q, 3, max);
    }
    return give_records(s, q, &n, each, arg);
}

static enum err record_find(struct store *s, const struct record_row *like,
                            bool (*each)(const struct record_row *, void *), void *arg)
{
    sqlite3_stmt *q = db_ready(s, SQL_RECORD_SAME);
    int64_t n = 0;
    enum err e;

    db_bind_text(q, 1, like->program);
    db_bind_text(q, 2, like->fingerprint);
    db_bind_text(q, 3, like->purpose);
    db_bind_text(q, 4, like->protocol);
    e = give_records(s, q, &n, each, arg);
    return e ? e : n ? ERR_OK : ERR_NOT_FOUND;
}

/* ---- blobs ---- */

static enum err put_whole(struct store *s, const char *hex, const void *bytes, size_t n)
{
    const bool tells = n <= TOLD_BLOB_BYTES;
    sqlite3_stmt *q = db_telling(s, SQL_BLOB_PUT);
    enum err e = tells ? db_begin_told(s) : db_begin(s);

    db_tell_text(s, q, 1, hex);
    db_tell_i64(s, q, 2, clock_read_wall_ms(s->clock));
    if (n)
        sqlite3_bind_blob64(q, 3, bytes, n, SQLITE_STATIC);
    else
        sqlite3_bind_zeroblob(q, 3, 0);
    if (tells)
        journal_blob(s->journal, 3, bytes, n);
    if (!e)
        e = db_run_told(s, q);
    if (e || n <= STORE_LARGE_BYTES)
        return e;
    q = db_telling(s, SQL_AWAY_HERE);
    db_tell_text(s, q, 1, hex);
    return db_run_told(s, q);
}

static enum err put_piece(struct store *s, const char *hex, int64_t offset, const void *bytes, size_t n)
{
    sqlite3_stmt *q = db_ready(s, SQL_PIECE_PUT);
    enum err e = db_begin(s);

    db_bind_text(q, 1, hex);
    sqlite3_bind_int64(q, 2, offset);
    sqlite3_bind_int64(q, 3, clock_read_wall_ms(s->clock));
    sqlite3_bind_blob64(q, 4, bytes, n, SQLITE_STATIC);
    return e ? e : db_run(s, q);
}

/* *there: bytes of all pieces of a blob. */
static enum err pieces_bytes(struct store *s, const char *hex, int64_t *there)
{
    sqlite3_stmt *q = db_ready(s, SQL_PIECE_SUM);
    int rc;

    db_bind_text(q, 1, hex);
    rc = db_step(s, q);
    if (rc == SQLITE_ROW)
        *there = sqlite3_column_int64(q, 0);
    return db_end(q, rc);
}

/* Puts the pieces together; they must lie one behind the other and have the content of the name. */
static enum err join_pieces(struct store *s, const char *hex, struct buf *whole)
{
    sqlite3_stmt *q = db_ready(s, SQL_PIECES);
    int rc = SQLITE_ROW;
    enum err e = ERR_OK, read;

    db_bind_text(q, 1, hex);
    while (!e && (rc = db_step(s, q)) == SQLITE_ROW) {
        const void *bytes = sqlite3_column_blob(q, 1);

        if (!db_is_whole(q))
            e = ERR_NOMEM;
        else if (sqlite3_column_int64(q, 0) != (int64_t)whole->len)
            e = ERR_INPUT;
        else
            e = buf_append(whole, bytes, (size_t)sqlite3_column_bytes(q, 1));
    }
    read = db_end(q, rc);
    e = e ? e : read;
    return !e && !pieces_are(&s->pieces, hex, whole->data, whole->len) ? ERR_INPUT : e;
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
    int64_t there = 0;
    enum err e;

    if (offset == 0 && (int64_t)n == total) {
        if (strcmp(sha256_of(bytes, n).hex, hex) != 0)
            return ERR_INPUT;
        *stored = true;
        return put_whole(s, hex, bytes, n);
    }
    e = put_piece(s, hex, offset, bytes, n);
    if (!e)
        pieces_add(&s->pieces, hex, offset, bytes, n);
    if (!e)
        e = pieces_bytes(s, hex, &there);
    if (e || there < total)
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
        return db_err_of(rc);
    out->len += n;
    out->data[out->len] = '\0';
    return ERR_OK;
}

static enum err get(struct store *s, const char *hex, int64_t offset, size_t n, bool is_use, int64_t *total,
                    struct buf *out)
{
    const int64_t now_ms = clock_read_wall_ms(s->clock);
    sqlite3_stmt *q = db_ready(s, SQL_BLOB_SIZE);
    int64_t rowid, bytes, used_ms;
    int rc;

    db_bind_text(q, 1, hex);
    if ((rc = db_step(s, q)) != SQLITE_ROW) {
        const enum err e = db_end(q, rc);

        return e ? e : ERR_NOT_FOUND;
    }
    rowid = sqlite3_column_int64(q, 0);
    bytes = sqlite3_column_int64(q, 1);
    used_ms = sqlite3_column_int64(q, 2);
    sqlite3_reset(q);
    *total = bytes;
    if (is_use && used_ms < now_ms - DAY_MS &&
        run_text(s, rowid ? SQL_BLOB_USED : SQL_AWAY_USED, hex, now_ms) != ERR_OK)
        return ERR_IO;
    if (!rowid)
        return ERR_UNREACHABLE;
    if (!n || offset >= bytes)
        return ERR_OK;
    if ((int64_t)n > bytes - offset)
        n = (size_t)(bytes - offset);
    return read_part(s, rowid, offset, n, out);
}

static enum err blob_get(struct store *s, const char *hex, int64_t offset, size_t n, int64_t *total, struct buf *out)
{
    return get(s, hex, offset, n, true, total, out);
}

static enum err blob_peek(struct store *s, const char *hex, int64_t offset, size_t n, int64_t *total, struct buf *out)
{
    return get(s, hex, offset, n, false, total, out);
}

/* ---- blobs elsewhere ---- */

static enum err blob_old(struct store *s, bool away, int64_t before_ms, int64_t skip, char hex[SHA256_HEX + 1])
{
    sqlite3_stmt *q = db_ready(s, away ? SQL_AWAY_OLD : SQL_BLOB_LARGE);
    int rc;
    enum err e;

    sqlite3_bind_int64(q, 1, before_ms);
    sqlite3_bind_int64(q, 2, skip);
    rc = db_step(s, q);
    if (rc == SQLITE_ROW) {
        snprintf(hex, SHA256_HEX + 1, "%s", db_text_at(q, 0));
        return db_end(q, db_is_whole(q) ? rc : SQLITE_NOMEM);
    }
    e = db_end(q, rc);
    return e ? e : ERR_NOT_FOUND;
}

static enum err blob_away(struct store *s, const char *hex)
{
    enum err e = run_text(s, SQL_AWAY_PUT, hex, 0);

    return e ? e : run_text(s, SQL_BLOB_DROP, hex, 0);
}

static enum err away_drop(struct store *s, const char *hex)
{
    return run_text(s, SQL_AWAY_DROP, hex, 0);
}

static enum err away_sum(struct store *s, int64_t *n_blobs, int64_t *n_bytes)
{
    sqlite3_stmt *q = db_ready(s, SQL_AWAY_SUM);
    const int rc = db_step(s, q);

    if (rc == SQLITE_ROW) {
        *n_blobs = sqlite3_column_int64(q, 0);
        *n_bytes = sqlite3_column_int64(q, 1);
    }
    return db_end(q, rc);
}

/* ---- builds ---- */

static enum err build_put(struct store *s, const struct build_row *r)
{
    sqlite3_stmt *q = db_ready(s, SQL_BUILD_PUT);
    const char *const texts[] = {r->program, r->arch, r->status, r->blobs, r->body};
    enum err e = db_begin(s);

    for (int i = 0; i < 5; i++)
        db_bind_text(q, 1 + i, texts[i] ? texts[i] : "");
    sqlite3_bind_int64(q, 6, r->through);
    sqlite3_bind_int64(q, 7, r->attempts);
    sqlite3_bind_int64(q, 8, clock_read_wall_ms(s->clock));
    return e ? e : db_run(s, q);
}

static enum err stamp_build(struct store *s, const char *program, const char *arch)
{
    sqlite3_stmt *q = db_ready(s, SQL_BUILD_USED);
    enum err e = db_begin(s);

    db_bind_text(q, 1, program);
    db_bind_text(q, 2, arch);
    sqlite3_bind_int64(q, 3, clock_read_wall_ms(s->clock));
    return e ? e : db_run(s, q);
}

static enum err build_get(struct store *s, const char *program, const char *arch,
                          void (*each)(const struct build_row *, void *), void *arg)
{
    sqlite3_stmt *q = db_ready(s, SQL_BUILD);
    struct build_row row = {.program = program, .arch = arch};
    bool is_old;
    int rc;

    db_bind_text(q, 1, program);
    db_bind_text(q, 2, arch);
    if ((rc = db_step(s, q)) != SQLITE_ROW) {
        const enum err e = db_end(q, rc);

        return e ? e : ERR_NOT_FOUND;
    }
    row.status = db_text_at(q, 0);
    row.blobs = db_text_at(q, 1);
    row.body = db_text_at(q, 2);
    row.through = sqlite3_column_int64(q, 3);
    row.attempts = sqlite3_column_int64(q, 4);
    is_old = sqlite3_column_int64(q, 5) < clock_read_wall_ms(s->clock) - DAY_MS;
    if (!db_is_whole(q))
        return db_end(q, SQLITE_NOMEM);
    each(&row, arg);
    sqlite3_reset(q);
    return is_old ? stamp_build(s, program, arch) : ERR_OK;
}

/* ---- upkeep ---- */

/* Deletes at most RETAIN_ROWS rows by a statement; *n grows by how many. */
static enum err drop_some(struct store *s, enum sql which, int64_t before_ms, int64_t *n)
{
    sqlite3_stmt *q = db_ready(s, which);
    enum err e = db_begin(s);

    sqlite3_bind_int64(q, 1, before_ms);
    if (sqlite3_bind_parameter_count(q) > 1)
        sqlite3_bind_int64(q, 2, RETAIN_ROWS);
    if (!e)
        e = db_run(s, q);
    *n += e ? 0 : sqlite3_changes(s->db);
    return e;
}

/* Gives some free pages at the end of the file back; a row is one page that was moved. */
static enum err shrink(struct store *s, bool *more)
{
    sqlite3_stmt *q = db_ready(s, SQL_SHRINK);
    enum err e = db_begin(s);
    int rc = e ? SQLITE_DONE : SQLITE_ROW;
    int n = 0;

    while (rc == SQLITE_ROW && (rc = db_step(s, q)) == SQLITE_ROW)
        n++;
    *more = n > 0;
    return e ? e : db_end(q, rc);
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
    .open = db_open,
    .close = db_close,
    .commit = db_commit,
    .flush = db_flush,
    .words = db_words,
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
    .blob_peek = blob_peek,
    .blob_old = blob_old,
    .blob_away = blob_away,
    .blob_back = put_whole,
    .away_drop = away_drop,
    .away_sum = away_sum,
    .build_put = build_put,
    .build_get = build_get,
    .retain = retain,
    .backup = sqlite_backup,
};
