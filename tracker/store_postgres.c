/* SPDX-License-Identifier: MIT */
/* store_postgres.c - a store on a PostgreSQL server: rows by a session that holds the store's lock
 * (store_postgres_db.h). */
#include "tracker/store.h"
#include "tracker/store_postgres_db.h"

#include "core/buf.h"
#include "core/clock.h"
#include "core/hash.h"

#include <assert.h>
#include <libpq-fe.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define DAY_MS ((int64_t)86400000)
#define RETAIN_ROWS 500               /* forgotten at once */
#define PAGE_ROWS 4096                /* read at once at a start */
#define READ_BYTES ((int64_t)4 << 20) /* of a blob's pieces at once */

static const char *text_of(const char *text)
{
    return text ? text : "";
}

/* ---- jobs ---- */

static enum err job_insert(struct store *s, const struct job_row *r)
{
    struct pg_args a = {.n = 0};

    pg_i64(&a, r->id);
    pg_text(&a, text_of(r->title));
    pg_text(&a, text_of(r->user));
    pg_text(&a, text_of(r->key));
    pg_text(&a, text_of(r->request));
    pg_i64(&a, r->priority);
    pg_i64(&a, r->created_ms);
    pg_i64(&a, r->done_ms);
    pg_i64(&a, r->state);
    pg_i64(&a, r->token);
    pg_i64(&a, r->leased);
    pg_i64(&a, r->paused);
    pg_text(&a, r->body);
    pg_text(&a, r->summary);
    return pg_write(s, PG_JOB_PUT, &a);
}

static enum err job_put(struct store *s, const struct job_row *r)
{
    struct pg_args a = {.n = 0};

    if (r->body)
        return job_insert(s, r);
    pg_i64(&a, r->id);
    pg_i64(&a, r->done_ms);
    pg_i64(&a, r->state);
    pg_i64(&a, r->token);
    pg_i64(&a, r->leased);
    pg_i64(&a, r->paused);
    pg_text(&a, r->summary);
    return pg_write(s, PG_JOB_SET, &a);
}

static enum err sums_put(struct store *s, const struct job_row *r)
{
    struct pg_args a = {.n = 0};

    pg_i64(&a, r->id);
    pg_i64(&a, r->seq);
    pg_i64(&a, r->n_done);
    pg_i64(&a, r->n_lost);
    pg_real(&a, r->best_gflops);
    pg_real(&a, r->best_ns);
    return pg_write(s, PG_SUMS_PUT, &a);
}

static struct job_row job_at(const PGresult *rows, int i, bool complete)
{
    return (struct job_row){.id = pg_i64_at(rows, i, 0),
                            .title = pg_text_at(rows, i, 1),
                            .user = pg_text_at(rows, i, 2),
                            .key = pg_text_at(rows, i, 3),
                            .request = pg_text_at(rows, i, 4),
                            .priority = pg_i64_at(rows, i, 5),
                            .created_ms = pg_i64_at(rows, i, 6),
                            .done_ms = pg_i64_at(rows, i, 7),
                            .state = (enum job_state)pg_i64_at(rows, i, 8),
                            .token = pg_i64_at(rows, i, 9),
                            .leased = pg_i64_at(rows, i, 10) != 0,
                            .paused = pg_i64_at(rows, i, 11) != 0,
                            .body = complete ? pg_text_at(rows, i, 12) : NULL,
                            .summary = complete ? pg_text_at(rows, i, 13) : NULL,
                            .seq = pg_i64_at(rows, i, 14),
                            .n_done = pg_i64_at(rows, i, 15),
                            .n_lost = pg_i64_at(rows, i, 16),
                            .best_gflops = pg_real_at(rows, i, 17),
                            .best_ns = pg_real_at(rows, i, 18)};
}

/* A page of what is read at a start: `last` is the id behind which it begins, and then that of its last row. */
static enum err read_page(struct store *s, enum pg_sql which, int64_t last, PGresult **rows)
{
    struct pg_args a = {.n = 0};

    pg_i64(&a, last);
    pg_i64(&a, PAGE_ROWS);
    return pg_read(s, which, &a, rows);
}

static enum err all_jobs(struct store *s, void (*each)(const struct job_row *, void *), void *arg)
{
    int64_t last = 0;
    int n = PAGE_ROWS;
    enum err e = ERR_OK;

    while (!e && n == PAGE_ROWS) {
        PGresult *rows;

        e = read_page(s, PG_JOBS, last, &rows);
        n = PQntuples(rows);
        for (int i = 0; i < n; i++) {
            const struct job_row row = job_at(rows, i, false);

            last = row.id;
            each(&row, arg);
        }
        PQclear(rows);
    }
    return e;
}

static enum err each_job(struct store *s, int64_t only, void (*each)(const struct job_row *, void *), void *arg)
{
    struct pg_args a = {.n = 0};
    PGresult *rows;
    enum err e;

    if (!only)
        return all_jobs(s, each, arg);
    pg_i64(&a, only);
    e = pg_read(s, PG_JOB, &a, &rows);
    if (PQntuples(rows) > 0) {
        const struct job_row row = job_at(rows, 0, true);

        each(&row, arg);
    }
    PQclear(rows);
    return e;
}

/* ---- agents ---- */

static enum err mode_put(struct store *s, const char *agent, enum mode mode, const char *user)
{
    struct pg_args a = {.n = 0};

    pg_text(&a, agent);
    if (mode == MODE_SERVE)
        return pg_write(s, PG_MODE_DROP, &a);
    pg_i64(&a, mode);
    pg_text(&a, user);
    return pg_write(s, PG_MODE_PUT, &a);
}

static enum err each_mode(struct store *s, void (*each)(const char *agent, enum mode mode, const char *user, void *),
                          void *arg)
{
    PGresult *rows;
    const enum err e = pg_read(s, PG_MODES, NULL, &rows);

    for (int i = 0; i < PQntuples(rows); i++)
        each(pg_text_at(rows, i, 0), (enum mode)pg_i64_at(rows, i, 1), pg_text_at(rows, i, 2), arg);
    PQclear(rows);
    return e;
}

/* ---- trials ---- */

static enum err trial_insert(struct store *s, const struct trial_row *r)
{
    const char *const texts[] = {r->key, r->fingerprint, r->program, r->anchor, r->purpose, r->protocol, r->body};
    struct pg_args a = {.n = 0};

    pg_i64(&a, r->id);
    pg_i64(&a, r->job);
    pg_i64(&a, r->n);
    for (int i = 0; i < 7; i++)
        pg_text(&a, text_of(texts[i]));
    pg_i64(&a, r->state);
    pg_i64(&a, r->token);
    pg_i64(&a, r->attempts);
    pg_text(&a, text_of(r->agent));
    pg_i64(&a, r->answered_by);
    return pg_write(s, PG_TRIAL_PUT, &a);
}

static enum err trial_put(struct store *s, const struct trial_row *r)
{
    struct pg_args a = {.n = 0};

    if (r->body)
        return trial_insert(s, r);
    pg_i64(&a, r->id);
    pg_i64(&a, r->state);
    pg_i64(&a, r->token);
    pg_i64(&a, r->attempts);
    pg_text(&a, text_of(r->agent));
    pg_i64(&a, r->answered_by);
    return pg_write(s, PG_TRIAL_SET, &a);
}

static struct trial_row trial_at(const PGresult *rows, int i)
{
    return (struct trial_row){.id = pg_i64_at(rows, i, 0),
                              .job = pg_i64_at(rows, i, 1),
                              .n = pg_i64_at(rows, i, 2),
                              .key = pg_text_at(rows, i, 3),
                              .fingerprint = pg_text_at(rows, i, 4),
                              .program = pg_text_at(rows, i, 5),
                              .anchor = pg_text_at(rows, i, 6),
                              .purpose = pg_text_at(rows, i, 7),
                              .protocol = pg_text_at(rows, i, 8),
                              .body = pg_text_at(rows, i, 9),
                              .state = (enum trial_state)pg_i64_at(rows, i, 10),
                              .token = pg_i64_at(rows, i, 11),
                              .attempts = pg_i64_at(rows, i, 12),
                              .agent = pg_text_at(rows, i, 13),
                              .answered_by = pg_i64_at(rows, i, 14)};
}

static enum err each_live_trial(struct store *s, void (*each)(const struct trial_row *, void *), void *arg)
{
    int64_t last = 0;
    int n = PAGE_ROWS;
    enum err e = ERR_OK;

    while (!e && n == PAGE_ROWS) {
        PGresult *rows;

        e = read_page(s, PG_LIVE, last, &rows);
        n = PQntuples(rows);
        for (int i = 0; i < n; i++) {
            const struct trial_row row = trial_at(rows, i);

            last = row.id;
            each(&row, arg);
        }
        PQclear(rows);
    }
    return e;
}

static enum err next_trial(struct store *s, int64_t *out)
{
    PGresult *rows;
    const enum err e = pg_read(s, PG_NEXT_TRIAL, NULL, &rows);

    if (!e)
        *out = pg_i64_at(rows, 0, 0);
    PQclear(rows);
    return e;
}

static enum err trial_get(struct store *s, int64_t id, int64_t job, int64_t n,
                          void (*each)(const struct trial_row *, void *), void *arg)
{
    struct pg_args a = {.n = 0};
    PGresult *rows;
    int n_found;
    enum err e;

    pg_i64(&a, id ? id : job);
    if (!id)
        pg_i64(&a, n);
    e = pg_read(s, id ? PG_TRIAL : PG_TRIAL_N, &a, &rows);
    n_found = PQntuples(rows);
    if (n_found > 0) {
        const struct trial_row row = trial_at(rows, 0);

        each(&row, arg);
    }
    PQclear(rows);
    return e ? e : n_found ? ERR_OK : ERR_NOT_FOUND;
}

/* The rows that change are shown as they will be. */
static enum err requeue(struct store *s, int64_t job, int64_t trial, void (*each)(const struct trial_row *, void *),
                        void *arg)
{
    struct pg_args a = {.n = 0};
    PGresult *rows;
    enum err e;

    assert(trial > 0 || job > 0);
    pg_i64(&a, trial ? trial : job);
    e = pg_read(s, trial ? PG_TRIAL : PG_LOST_OF_JOB, &a, &rows);
    for (int i = 0; i < PQntuples(rows); i++) {
        struct trial_row row = trial_at(rows, i);

        if (row.state != TRIAL_LOST)
            continue;
        row.state = TRIAL_OPEN;
        row.attempts = 0;
        row.agent = "";
        each(&row, arg);
    }
    PQclear(rows);
    return e ? e : pg_write(s, trial ? PG_REQUEUE : PG_REQUEUE_JOB, &a);
}

static enum err cancel(struct store *s, int64_t job)
{
    struct pg_args a = {.n = 0};

    pg_i64(&a, job);
    return pg_write(s, PG_CANCEL, &a);
}

/* ---- records ---- */

static enum err record_put(struct store *s, const struct record_row *r)
{
    const char *const texts[] = {r->line, r->status, r->key, r->fingerprint, r->program, r->purpose, r->protocol};
    struct pg_args lost = {.n = 0}, a = {.n = 0};
    enum err e;

    pg_i64(&lost, r->trial);
    e = pg_write(s, PG_RECORD_DROP_LOST, &lost);
    pg_i64(&a, r->job);
    pg_i64(&a, r->seq);
    pg_i64(&a, r->trial);
    pg_i64(&a, r->n);
    for (int i = 0; i < 7; i++)
        pg_text(&a, text_of(texts[i]));
    pg_real(&a, r->time_ns);
    pg_real(&a, r->flops);
    pg_real(&a, r->device_ms);
    pg_i64(&a, r->created_ms);
    return e ? e : pg_write(s, PG_RECORD_PUT, &a);
}

static struct record_row record_at(const PGresult *rows, int i)
{
    return (struct record_row){.job = pg_i64_at(rows, i, 0),
                               .seq = pg_i64_at(rows, i, 1),
                               .trial = pg_i64_at(rows, i, 2),
                               .n = pg_i64_at(rows, i, 3),
                               .line = pg_text_at(rows, i, 4),
                               .status = pg_text_at(rows, i, 5),
                               .key = pg_text_at(rows, i, 6),
                               .fingerprint = pg_text_at(rows, i, 7),
                               .program = pg_text_at(rows, i, 8),
                               .purpose = pg_text_at(rows, i, 9),
                               .protocol = pg_text_at(rows, i, 10),
                               .time_ns = pg_real_at(rows, i, 11),
                               .flops = pg_real_at(rows, i, 12),
                               .device_ms = pg_real_at(rows, i, 13),
                               .created_ms = pg_i64_at(rows, i, 14)};
}

static enum err give_records(struct store *s, enum pg_sql which, const struct pg_args *a, int *n,
                             bool (*each)(const struct record_row *, void *), void *arg)
{
    PGresult *rows;
    const enum err e = pg_read(s, which, a, &rows);
    bool more = true;

    *n = PQntuples(rows);
    for (int i = 0; more && i < *n; i++) {
        const struct record_row row = record_at(rows, i);

        more = each(&row, arg);
    }
    PQclear(rows);
    return e;
}

static enum err each_record(struct store *s, int64_t job, int64_t seq, int64_t trial, int64_t max,
                            bool (*each)(const struct record_row *, void *), void *arg)
{
    struct pg_args a = {.n = 0};
    int n;

    pg_i64(&a, trial ? trial : job);
    if (!trial) {
        pg_i64(&a, seq);
        pg_i64(&a, max);
    }
    return give_records(s, trial ? PG_RECORD_OF : PG_RECORDS, &a, &n, each, arg);
}

static enum err record_find(struct store *s, const struct record_row *like,
                            bool (*each)(const struct record_row *, void *), void *arg)
{
    struct pg_args a = {.n = 0};
    enum err e;
    int n;

    pg_text(&a, like->program);
    pg_text(&a, like->fingerprint);
    pg_text(&a, like->purpose);
    pg_text(&a, like->protocol);
    e = give_records(s, PG_RECORD_SAME, &a, &n, each, arg);
    return e ? e : n ? ERR_OK : ERR_NOT_FOUND;
}

/* ---- blobs ---- */

static enum err write_named(struct store *s, enum pg_sql which, const char *hex)
{
    struct pg_args a = {.n = 0};

    pg_text(&a, hex);
    return pg_write(s, which, &a);
}

static enum err put_whole(struct store *s, const char *hex, const void *bytes, size_t n)
{
    struct pg_args a = {.n = 0};
    enum err e;

    pg_text(&a, hex);
    pg_i64(&a, clock_read_wall_ms(s->clock));
    pg_bytes(&a, bytes, n);
    e = pg_write(s, PG_BLOB_PUT, &a);
    return e || n <= STORE_LARGE_BYTES ? e : write_named(s, PG_AWAY_HERE, hex);
}

/* *there: bytes of all pieces of the blob. */
static enum err put_piece(struct store *s, const char *hex, int64_t offset, const void *bytes, size_t n, int64_t *there)
{
    struct pg_args a = {.n = 0}, name = {.n = 0};
    PGresult *rows = NULL;
    enum err e;

    pg_text(&a, hex);
    pg_i64(&a, offset);
    pg_i64(&a, clock_read_wall_ms(s->clock));
    pg_bytes(&a, bytes, n);
    e = pg_write(s, PG_PIECE_PUT, &a);
    pg_text(&name, hex);
    if (!e)
        e = pg_read(s, PG_PIECE_SUM, &name, &rows);
    if (!e)
        *there = pg_i64_at(rows, 0, 0);
    PQclear(rows);
    return e;
}

/* Adds the pieces that begin in READ_BYTES from *at on; they must lie one behind the other. */
static enum err hash_some(struct store *s, const char *hex, int64_t *at, struct sha256_sum *sum)
{
    struct pg_args a = {.n = 0};
    PGresult *rows;
    enum err e;

    pg_text(&a, hex);
    pg_i64(&a, *at);
    pg_i64(&a, *at + READ_BYTES);
    e = pg_read(s, PG_PIECES, &a, &rows);
    if (!e && !PQntuples(rows))
        e = ERR_INPUT;
    for (int i = 0; !e && i < PQntuples(rows); i++) {
        if (pg_i64_at(rows, i, 0) != *at)
            e = ERR_INPUT;
        sha256_add(sum, PQgetvalue(rows, i, 1), (size_t)PQgetlength(rows, i, 1));
        *at += PQgetlength(rows, i, 1);
    }
    PQclear(rows);
    return e;
}

/* Some at a time: the server gives up a session that is silent within a transaction for ten seconds. */
static enum err hash_all(struct store *s, const char *hex, int64_t total, struct sha256 *out)
{
    struct sha256_sum *sum = sha256_begin();
    enum err e = sum ? ERR_OK : ERR_NOMEM;
    int64_t at = 0;

    while (!e && at < total)
        e = hash_some(s, hex, &at, sum);
    sha256_end(sum, e ? NULL : out);
    return e ? e : at == total ? ERR_OK : ERR_INPUT;
}

/* Do the pieces, of so many bytes, make a blob with the content of its name? */
static enum err check_pieces(struct store *s, const char *hex, int64_t there, int64_t total)
{
    struct sha256 is;
    enum err e = ERR_OK;

    if (!pieces_end(&s->pieces, hex, total, &is) && there == total)
        e = hash_all(s, hex, total, &is);
    if (there != total) /* some lie over others */
        e = ERR_INPUT;
    return e ? e : strcmp(is.hex, hex) == 0 ? ERR_OK : ERR_INPUT;
}

/* The server puts them together. */
static enum err finish_pieces(struct store *s, const char *hex, int64_t there, int64_t total)
{
    struct pg_args a = {.n = 0};
    enum err e = check_pieces(s, hex, there, total), dropped;

    assert(total > 0);
    pg_text(&a, hex);
    pg_i64(&a, clock_read_wall_ms(s->clock));
    if (!e)
        e = pg_write(s, PG_PIECES_JOIN, &a);
    if (!e && total > STORE_LARGE_BYTES)
        e = write_named(s, PG_AWAY_HERE, hex);
    if (e && e != ERR_INPUT)
        return e;
    dropped = write_named(s, PG_PIECES_DROP, hex);
    return e ? e : dropped;
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
    e = put_piece(s, hex, offset, bytes, n, &there);
    if (!e)
        pieces_add(&s->pieces, hex, offset, bytes, n);
    if (e || there < total)
        return e;
    e = finish_pieces(s, hex, there, total);
    *stored = !e;
    return e;
}

/* Uses are noted by the day. */
static enum err stamp_blob(struct store *s, enum pg_sql which, const char *hex, int64_t used_ms)
{
    const int64_t now_ms = clock_read_wall_ms(s->clock);
    struct pg_args a = {.n = 0};

    pg_text(&a, hex);
    pg_i64(&a, now_ms);
    return used_ms < now_ms - DAY_MS ? pg_write(s, which, &a) : ERR_OK;
}

static enum err get(struct store *s, const char *hex, int64_t offset, size_t n, bool is_use, int64_t *total,
                    struct buf *out)
{
    struct pg_args a = {.n = 0};
    bool is_away = false;
    PGresult *rows;
    enum err e;

    pg_text(&a, hex);
    pg_i64(&a, offset < INT32_MAX ? offset : INT32_MAX - 1);
    pg_i64(&a, n < INT32_MAX ? (int64_t)n : INT32_MAX);
    e = pg_read(s, PG_BLOB_GET, &a, &rows);
    if (!e && !PQntuples(rows))
        e = ERR_NOT_FOUND;
    if (!e) {
        *total = pg_i64_at(rows, 0, 0);
        is_away = PQgetisnull(rows, 0, 2);
        e = is_use ? stamp_blob(s, is_away ? PG_AWAY_USED : PG_BLOB_USED, hex, pg_i64_at(rows, 0, 1)) : ERR_OK;
    }
    if (!e && n && !is_away)
        e = buf_append(out, PQgetvalue(rows, 0, 2), (size_t)PQgetlength(rows, 0, 2));
    PQclear(rows);
    return !e && is_away ? ERR_UNREACHABLE : e;
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
    struct pg_args a = {.n = 0};
    PGresult *rows;
    enum err e;

    pg_i64(&a, before_ms);
    pg_i64(&a, skip);
    e = pg_read(s, away ? PG_AWAY_OLD : PG_BLOB_LARGE, &a, &rows);
    if (!e && !PQntuples(rows))
        e = ERR_NOT_FOUND;
    if (!e)
        snprintf(hex, SHA256_HEX + 1, "%s", pg_text_at(rows, 0, 0));
    PQclear(rows);
    return e;
}

static enum err blob_away(struct store *s, const char *hex)
{
    enum err e = write_named(s, PG_AWAY_PUT, hex);

    return e ? e : write_named(s, PG_BLOB_DROP, hex);
}

static enum err away_drop(struct store *s, const char *hex)
{
    return write_named(s, PG_AWAY_DROP, hex);
}

static enum err away_sum(struct store *s, int64_t *n_blobs, int64_t *n_bytes)
{
    PGresult *rows;
    enum err e = pg_read(s, PG_AWAY_SUM, NULL, &rows);

    if (!e) {
        *n_blobs = pg_i64_at(rows, 0, 0);
        *n_bytes = pg_i64_at(rows, 0, 1);
    }
    PQclear(rows);
    return e;
}

/* ---- builds ---- */

static enum err build_put(struct store *s, const struct build_row *r)
{
    const char *const texts[] = {r->program, r->arch, r->status, r->blobs, r->body};
    struct pg_args a = {.n = 0};

    for (int i = 0; i < 5; i++)
        pg_text(&a, text_of(texts[i]));
    pg_i64(&a, r->through);
    pg_i64(&a, r->attempts);
    pg_i64(&a, clock_read_wall_ms(s->clock));
    return pg_write(s, PG_BUILD_PUT, &a);
}

static enum err build_get(struct store *s, const char *program, const char *arch,
                          void (*each)(const struct build_row *, void *), void *arg)
{
    const int64_t now_ms = clock_read_wall_ms(s->clock);
    struct build_row row = {.program = program, .arch = arch};
    struct pg_args a = {.n = 0};
    bool is_old = false;
    PGresult *rows;
    enum err e;

    pg_text(&a, program);
    pg_text(&a, arch);
    e = pg_read(s, PG_BUILD, &a, &rows);
    if (!e && !PQntuples(rows))
        e = ERR_NOT_FOUND;
    if (!e) {
        row.status = pg_text_at(rows, 0, 0);
        row.blobs = pg_text_at(rows, 0, 1);
        row.body = pg_text_at(rows, 0, 2);
        row.through = pg_i64_at(rows, 0, 3);
        row.attempts = pg_i64_at(rows, 0, 4);
        is_old = pg_i64_at(rows, 0, 5) < now_ms - DAY_MS;
        each(&row, arg);
    }
    PQclear(rows);
    pg_i64(&a, now_ms);
    return is_old ? pg_write(s, PG_BUILD_USED, &a) : e;
}

/* ---- upkeep ---- */

/* Deletes rows by a statement, at most RETAIN_ROWS where it is `limited`; *n grows by how many. */
static enum err drop_some(struct store *s, enum pg_sql which, int64_t before_ms, bool limited, int64_t *n)
{
    struct pg_args a = {.n = 0};

    pg_i64(&a, before_ms);
    if (limited)
        pg_i64(&a, RETAIN_ROWS);
    return pg_change(s, which, &a, n);
}

static enum err retain(struct store *s, int64_t before_ms, bool *more)
{
    static const enum pg_sql rows[] = {PG_OLD_RECORDS, PG_OLD_TRIALS, PG_OLD_BLOBS},
                             rest[] = {PG_OLD_SUMS, PG_DROP_JOBS, PG_OLD_PIECES, PG_OLD_BUILDS};
    enum err e = pg_write(s, PG_KEEP_NEXT_TRIAL, NULL);
    int64_t n = 0;

    for (size_t i = 0; !e && n < RETAIN_ROWS && i < sizeof rows / sizeof *rows; i++)
        e = drop_some(s, rows[i], before_ms, true, &n);
    *more = n > 0;
    if (e || *more)
        return e;
    for (size_t i = 0; !e && i < sizeof rest / sizeof *rest; i++)
        e = drop_some(s, rest[i], before_ms, false, &n);
    return e;
}

static enum err backup(const char *where, const char *path, int64_t *n_bytes, struct why *why)
{
    (void)where, (void)path, (void)n_bytes;
    return why_set(why, ERR_UNSUPPORTED, "a store of PostgreSQL is backed up by pg_dump");
}

const struct store_ops store_postgres = {
    .name = "postgres",
    .open = pg_open,
    .open_part = pg_open_part,
    .close = pg_close,
    .commit = pg_commit,
    .flush = pg_flush,
    .words = pg_words,
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
    .backup = backup,
};
