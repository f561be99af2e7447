/* SPDX-License-Identifier: MIT */
/* What can go wrong between a tracker and its PostgreSQL server: cut connections, full tables of them, strangers'
 * databases, addresses that are none. What every store keeps: test_store. */
#include "tests/sanitized.h"
#include "tests/tracker/postgres.h"
#include "tests/tracker/store_place.h"

#include "core/buf.h"
#include "core/clock.h"
#include "core/hash.h"
#include "tracker/store.h"
#include "tracker/store_postgres_db.h"

#include <libpq-fe.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define MAX_CONNECTIONS 8

static struct postgres server = {.setting = "max_connections=8"};
static const struct store_ops *ops;
static int64_t now_ns = 1000000000;

static int64_t now(void *arg)
{
    (void)arg;
    return now_ns;
}

static int64_t wall(void *arg)
{
    (void)arg;
    return INT64_C(1767225600000);
}

static const struct clock a_clock = {now, wall, NULL, NULL};

/* The store asks after a server that was silent for ten seconds. Here they are a third of one. */
#define SILENT_MS 10000
#define SHORT_MS 300

int __real_poll(struct pollfd *polled, nfds_t n, int timeout_ms);
int __wrap_poll(struct pollfd *polled, nfds_t n, int timeout_ms);

static atomic_int n_silences;

int __wrap_poll(struct pollfd *polled, nfds_t n, int timeout_ms)
{
    const int found = __real_poll(polled, n, timeout_ms == SILENT_MS ? SHORT_MS : timeout_ms);

    if (found == 0 && timeout_ms == SILENT_MS)
        atomic_fetch_add(&n_silences, 1);
    return found;
}

/* The most that was sent at once, and read. */
static size_t most_sent, most_read;

int __real_PQsendQueryPrepared(PGconn *db, const char *name, int n, const char *const *values, const int *lengths,
                               const int *formats, int format);
int __wrap_PQsendQueryPrepared(PGconn *db, const char *name, int n, const char *const *values, const int *lengths,
                               const int *formats, int format);
PGresult *__real_PQgetResult(PGconn *db);
PGresult *__wrap_PQgetResult(PGconn *db);

int __wrap_PQsendQueryPrepared(PGconn *db, const char *name, int n, const char *const *values, const int *lengths,
                               const int *formats, int format)
{
    size_t n_bytes = 0;

    for (int i = 0; i < n; i++)
        n_bytes += (size_t)lengths[i];
    most_sent = n_bytes > most_sent ? n_bytes : most_sent;
    return __real_PQsendQueryPrepared(db, name, n, values, lengths, formats, format);
}

PGresult *__wrap_PQgetResult(PGconn *db)
{
    PGresult *r = __real_PQgetResult(db);

    most_read = r && PQresultMemorySize(r) > most_read ? PQresultMemorySize(r) : most_read;
    return r;
}

/* A store in a place of its own, with a job that was committed. */
static struct place *place_new(void)
{
    struct place *p = calloc(1, sizeof *p);

    assert_non_null(p);
    p->ops = ops;
    p->clock = &a_clock;
    postgres_place(&server, p->dir, sizeof p->dir);
    place_open(p);
    place_job(p, 1, JOB_OPEN, 0);
    place_commit(p);
    return p;
}

static void place_free(struct place *p)
{
    ops->close(p->s);
    free(p);
}

static int start(void **state)
{
    *state = place_new();
    return 0;
}

static int stop(void **state)
{
    place_free(*state);
    return 0;
}

static void count_job(const struct job_row *row, void *arg)
{
    (void)row;
    ++*(int *)arg;
}

/* After another start. */
static int n_jobs_in(struct place *p)
{
    int n = 0;

    place_reopen(p);
    assert_int_equal(ops->each_job(p->s, 0, count_job, &n), ERR_OK);
    return n;
}

static void cut_sessions(const char *where)
{
    postgres_run(&server, where,
                 "SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity WHERE application_name = "
                 "'tune-tracker'");
}

static void a_cut_connection_is_told_and_drops_what_was_not_committed(void **state)
{
    struct place *p = *state;
    struct why why = {""};
    int n = 0;

    place_job(p, 2, JOB_OPEN, 0);
    cut_sessions(p->dir);
    assert_int_equal(ops->commit(p->s, &why), ERR_IO);
    assert_non_null(strstr(why.text, "PostgreSQL"));
    assert_int_equal(ops->commit(p->s, &why), ERR_IO); /* for good */
    why.text[0] = '\0';
    assert_int_equal(ops->each_job(p->s, 0, count_job, &n), ERR_IO);
    ops->words(p->s, &why);
    assert_non_null(strstr(why.text, "PostgreSQL: "));
    assert_int_equal(n_jobs_in(p), 1);
}

/* What fails behind the first failure comes of it, and says less. */
static void the_first_words_of_a_failure_are_told(void **state)
{
    struct place *p = *state;
    struct why why = {""};

    assert_int_equal(ops->flush(p->s, &why), ERR_OK);
    postgres_run(&server, p->dir, "DROP TABLE jobs");
    place_job(p, 2, JOB_OPEN, 0);
    place_job(p, 3, JOB_OPEN, 0);
    assert_int_equal(ops->commit(p->s, &why), ERR_IO);
    assert_non_null(strstr(why.text, "PostgreSQL: ERROR:  relation \"jobs\" does not exist"));
    assert_int_equal(ops->commit(p->s, &why), ERR_IO);
    assert_non_null(strstr(why.text, "does not exist"));
}

/* The lock went with the session: another tracker may have the store. */
static void a_tracker_without_its_session_answers_nobody_a_second_later(void **state)
{
    struct place *p = *state;

    cut_sessions(p->dir);
    place_commit(p); /* nothing to do, and the server was heard just now */
    now_ns += 1000000000;
    assert_int_equal(ops->commit(p->s, NULL), ERR_IO);
}

static void a_flush_by_a_cut_connection_says_so(void **state)
{
    struct place *p = *state;

    assert_int_equal(ops->flush(p->s, NULL), ERR_OK);
    place_job(p, 2, JOB_OPEN, 0);
    place_commit(p);
    cut_sessions(p->dir);
    assert_int_equal(ops->flush(p->s, NULL), ERR_IO);
}

static void expect_setting(PGconn *db, const char *name, const char *expected)
{
    char text[100];
    PGresult *r;

    snprintf(text, sizeof text, "SHOW %s", name);
    r = PQexec(db, text);
    assert_int_equal(PQresultStatus(r), PGRES_TUPLES_OK);
    assert_string_equal(PQgetvalue(r, 0, 0), expected);
    PQclear(r);
}

/* A tracker that is stopped does not hold the lock for ever, whatever the server is told of others' sessions; and its
 * statements wait for others' locks. */
static void the_server_ends_a_session_that_is_silent_for_ten_seconds(void **state)
{
    static const char *const told[] = {"0", "'5min'", "'2s'"}, *const is[] = {"10s", "10s", "2s"},
                             *const names[] = {"idle_session_timeout", "idle_in_transaction_session_timeout"};
    struct place *p = *state;
    char text[200];

    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 2; k++) {
            snprintf(text, sizeof text, "ALTER ROLE CURRENT_USER SET %s = %s", names[k], told[i]);
            postgres_run(&server, p->dir, text);
        }
        place_reopen(p);
        PQexitPipelineMode(p->s->db);
        for (int k = 0; k < 2; k++)
            expect_setting(p->s->db, names[k], is[i]);
        expect_setting(p->s->db, "lock_timeout", "0");
        expect_setting(p->s->flusher, names[0], "0"); /* it has nothing, and may be silent */
    }
    for (int k = 0; k < 2; k++) {
        snprintf(text, sizeof text, "ALTER ROLE CURRENT_USER RESET %s", names[k]);
        postgres_run(&server, p->dir, text);
    }
}

/* What was flushed before the server was killed is there, also where its sessions are told to wait for no disk; and it
 * cannot have been flushed by luck: nothing else is. */
static void a_killed_server_has_what_was_flushed(void **state)
{
    struct place *p = *state;

    postgres_run(&server, p->dir, "ALTER ROLE CURRENT_USER SET synchronous_commit = off");
    place_reopen(p);
    for (int64_t id = 2; id <= 3; id++) {
        place_job(p, id, JOB_OPEN, 0);
        place_commit(p);
        assert_int_equal(ops->flush(p->s, NULL), ERR_OK);
    }
    postgres_crash(&server);
    place_job(p, 4, JOB_OPEN, 0);
    assert_int_equal(ops->commit(p->s, NULL), ERR_IO);
    postgres_restart(&server);
    assert_int_equal(n_jobs_in(p), 3);
    postgres_run(&server, p->dir, "ALTER ROLE CURRENT_USER RESET synchronous_commit");
}

static void a_server_without_free_connections_is_out_of_reach_and_serves_whom_it_has(void **state)
{
    struct place *first = *state;
    PGconn *others[MAX_CONNECTIONS];
    struct store *second = NULL;
    char more[512], info[600];
    struct why why = {""};

    postgres_place(&server, more, sizeof more);
    snprintf(info, sizeof info, "postgres:%s", first->dir);
    for (int i = 0; i < MAX_CONNECTIONS - 2; i++)
        others[i] = PQconnectdb(info);
    assert_int_equal(ops->open(more, &a_clock, &second, &why), ERR_UNREACHABLE);
    assert_non_null(strstr(why.text, "too many clients"));
    place_job(first, 2, JOB_OPEN, 0);
    place_commit(first);
    assert_int_equal(ops->flush(first->s, &why), ERR_OK);
    PQfinish(others[0]); /* one is free, two are wanted */
    assert_int_equal(ops->open(more, &a_clock, &second, &why), ERR_UNREACHABLE);
    for (int i = 1; i < MAX_CONNECTIONS - 2; i++)
        PQfinish(others[i]);
}

/* Who waits for a stopped server for ever waits for this, and is answered then. */
static atomic_bool is_over;

static void *thaw(void *arg)
{
    for (int i = 0; i < 1100 && !atomic_load(&is_over); i++)
        clock_sleep_ms(50);
    postgres_signal(&server, SIGCONT);
    return arg;
}

/* Somebody who waits for a server, in a thread of its own: three wait at once. */
struct waiter {
    void (*wait)(struct waiter *w);
    struct place *place;
    enum err err;
    struct why why;
    pthread_t thread;
};

static void waits_for_a_commit(struct waiter *w)
{
    w->err = ops->commit(w->place->s, &w->why);
}

static void waits_for_a_flush(struct waiter *w)
{
    w->err = ops->flush(w->place->s, &w->why);
}

/* More than the socket takes. */
static void waits_to_send(struct waiter *w)
{
    char large[20000];

    memset(large, 'x', sizeof large);
    large[sizeof large - 1] = '\0';
    for (int64_t id = 2; id < 400 && !w->err; id++) {
        const struct job_row row = {.id = id, .title = "t", .user = "u", .key = "k", .body = large, .request = "r"};

        w->err = ops->job_put(w->place->s, &row);
    }
    ops->words(w->place->s, &w->why);
}

static void *waits(void *arg)
{
    struct waiter *w = arg;

    w->wait(w);
    return NULL;
}

/* Stopped, or its machine is, with the connections open: what waits for it ends, and says so. */
static void a_server_that_stands_still_is_given_up(void **state)
{
    struct waiter all[] = {{.wait = waits_for_a_commit}, {.wait = waits_for_a_flush}, {.wait = waits_to_send}};
    const size_t n = sizeof all / sizeof *all;
    pthread_t thread;

    (void)state;
    for (size_t i = 0; i < n; i++)
        all[i].place = place_new();
    postgres_signal(&server, SIGSTOP);
    atomic_store(&is_over, false);
    pthread_create(&thread, NULL, thaw, NULL);
    place_job(all[0].place, 2, JOB_OPEN, 0);
    for (size_t i = 0; i < n; i++)
        pthread_create(&all[i].thread, NULL, waits, &all[i]);
    for (size_t i = 0; i < n; i++)
        pthread_join(all[i].thread, NULL);
    atomic_store(&is_over, true);
    pthread_join(thread, NULL);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(all[i].err, ERR_IO);
        if (!strstr(all[i].why.text, "has not answered for 10 s"))
            fail_msg("%zu: '%s'", i, all[i].why.text);
        place_free(all[i].place);
    }
}

static atomic_bool is_held;

/* Until whoever waits for it has asked twice. */
static void *hold_jobs(void *arg)
{
    const struct place *p = arg;
    char info[600];
    PGconn *db;
    PGresult *r;

    snprintf(info, sizeof info, "postgres:%s", p->dir);
    db = PQconnectdb(info);
    r = PQexec(db, "BEGIN; LOCK TABLE jobs");
    atomic_store(&n_silences, 0);
    atomic_store(&is_held, PQresultStatus(r) == PGRES_COMMAND_OK);
    for (int i = 0; i < 1100 && atomic_load(&n_silences) < 2; i++)
        clock_sleep_ms(50);
    PQclear(r);
    PQfinish(db);
    return NULL;
}

/* A statement that takes its time, or waits for another's lock, is waited for as long as the server lives. */
static void a_server_that_is_busy_is_waited_for(void **state)
{
    struct place *p = *state;
    pthread_t thread;

    pthread_create(&thread, NULL, hold_jobs, p);
    for (int i = 0; i < 1100 && !atomic_load(&is_held); i++)
        clock_sleep_ms(10);
    assert_true(atomic_load(&is_held));
    place_job(p, 2, JOB_OPEN, 0);
    place_commit(p);
    pthread_join(thread, NULL);
    assert_true(atomic_load(&n_silences) >= 2);
    assert_int_equal(n_jobs_in(p), 2);
}

/* Nothing that waiting mends: a standby that waits for it would wait for ever. */
static void who_is_refused_is_told_so(void **state)
{
    const struct {
        const char *peer, *words;
    } bad[] = {{"stranger:hunter2@/postgres", "password authentication failed"},
               {"stranger@/postgres", "no password"},
               {"nobody-at-all@/postgres", "does not exist"},
               {"tune@/no_such_database", "does not exist"},
               {"stranger:x@/closed", "permission denied for database"}};

    (void)state;
    postgres_run(&server, "", "CREATE ROLE stranger LOGIN PASSWORD 'x'");
    postgres_run(&server, "", "CREATE DATABASE closed");
    postgres_run(&server, "", "REVOKE CONNECT ON DATABASE closed FROM PUBLIC");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct store *s = NULL;
        struct why why = {""};
        char where[600];

        snprintf(where, sizeof where, "//%s?host=%s", bad[i].peer, server.dir);
        assert_int_equal(ops->open(where, &a_clock, &s, &why), ERR_AUTH);
        if (!strstr(why.text, bad[i].words) || strstr(why.text, "hunter2"))
            fail_msg("%s: %s", where, why.text);
    }
}

static void a_server_that_is_away_is_out_of_reach(void **state)
{
    const char *const away[] = {"//tune:hunter2@127.0.0.1:1/db", "//tune:hunter2@/db?host=/nowhere"};

    (void)state;
    for (size_t i = 0; i < sizeof away / sizeof *away; i++) {
        struct store *s = NULL;
        struct why why = {""};

        assert_int_equal(ops->open(away[i], &a_clock, &s, &why), ERR_UNREACHABLE);
    }
}

/* As large as blobs may be, in the pieces that clients send, the last one first. With a sanitizer fewer: its hash of
 * 64 MiB takes longer than the server keeps the session of a store that is silent. */
static void the_largest_blob_comes_in_pieces_and_goes_in_parts(void **state)
{
    enum { PIECE = 1 << 20, N = SANITIZED ? 16 : 64, MOST = 8 * PIECE };
    struct place *p = *state;
    char *bytes = malloc((size_t)N * PIECE);
    int64_t total = 0;
    struct why why = {""};
    struct sha256 name;
    bool stored = false;
    struct buf part;

    assert_non_null(bytes);
    for (size_t i = 0; i < (size_t)N * PIECE; i++)
        bytes[i] = (char)(i * 2654435761u >> 13);
    name = sha256_of(bytes, (size_t)N * PIECE);
    most_sent = most_read = 0;
    for (int64_t i = N - 1; i >= 0; i--) {
        assert_false(stored);
        if (ops->blob_put(p->s, name.hex, i * PIECE, (int64_t)N * PIECE, bytes + i * PIECE, PIECE, &stored) != ERR_OK) {
            ops->words(p->s, &why);
            fail_msg("%s", why.text);
        }
        place_commit(p);
    }
    assert_true(stored);
    if (most_sent > MOST || most_read > MOST) /* neither side hears of the other meanwhile */
        fail_msg("%zu bytes were sent at once, %zu read", most_sent, most_read);
    buf_init(&part, 100);
    assert_int_equal(ops->blob_get(p->s, name.hex, (int64_t)N * PIECE - 7, 50, &total, &part), ERR_OK);
    assert_int_equal(total, (int64_t)N * PIECE);
    assert_int_equal(part.len, 7);
    assert_memory_equal(part.data, bytes + (size_t)N * PIECE - 7, 7);
    assert_int_equal(postgres_run(&server, p->dir, "SELECT count(*) FROM pieces"), 0);
    buf_fini(&part);
    free(bytes);
}

static void databases_of_a_newer_program_or_of_others_are_left_alone(void **state)
{
    struct place *p = *state;
    struct store *s = NULL;
    struct why why = {""};
    char where[512];

    ops->close(p->s);
    p->s = NULL;
    postgres_run(&server, p->dir, "UPDATE meta SET value = value + 1 WHERE name = 'schema'");
    assert_int_equal(ops->open(p->dir, &a_clock, &s, &why), ERR_UNSUPPORTED);
    assert_non_null(strstr(why.text, "schema 4, this program knows up to 3"));
    postgres_place(&server, where, sizeof where);
    postgres_run(&server, where, "CREATE TABLE customers(name text)");
    assert_int_equal(ops->open(where, &a_clock, &s, &why), ERR_IO);
    assert_non_null(strstr(why.text, "somebody else's"));
    postgres_run(&server, where, "CREATE TABLE meta(price text)");
    assert_int_equal(ops->open(where, &a_clock, &s, &why), ERR_IO);
    assert_int_equal(postgres_run(&server, where, "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()"),
                     2);
}

/* Earlier ones were of schema 1, in parts 2. */
static void an_older_database_is_brought_up(void **state)
{
    struct place *p = *state;
    char hex[SHA256_HEX + 1];
    int64_t n = -1, n_bytes;

    ops->close(p->s);
    postgres_run(&server, p->dir,
                 "DROP TABLE away; DROP INDEX blobs_large; UPDATE meta SET value = 1 WHERE name = 'schema'");
    place_open(p);
    assert_int_equal(ops->away_sum(p->s, &n, &n_bytes), ERR_OK);
    assert_int_equal(n, 0);
    assert_int_equal(ops->blob_old(p->s, false, 1, 0, hex), ERR_NOT_FOUND);
    assert_int_equal(postgres_run(&server, p->dir, "SELECT value FROM meta WHERE name = 'schema'"), 3);
    place_reopen(p);
}

static void addresses_that_are_none_are_refused_without_their_password(void **state)
{
    static char long_one[5000];
    const char *const bad[] = {"",
                               "//",
                               "//tune:hunter2@127.0.0.1:1/db",
                               "//tune:hunter2@/db?host=/nowhere",
                               "//tune:hunter2@%zz/db",
                               "//tune:hunter2@h/db?no_such_option=1",
                               "//[::1/db",
                               "host='unclosed password=hunter2",
                               "//tune:hunter2@127.0.0.1:99999999/db",
                               "/var/lib/tune",
                               "../store",
                               long_one};

    (void)state;
    memset(long_one, 'a', sizeof long_one - 1);
    memcpy(long_one, "//tune:hunter2@", 15);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct store *s = NULL;
        struct why why = {""};

        assert_int_not_equal(ops->open(bad[i], &a_clock, &s, &why), ERR_OK);
        assert_null(s);
        if (!why.text[0] || strstr(why.text, "hunter2"))
            fail_msg("'%s': %s", bad[i], why.text);
    }
}

/* `?options=-csearch_path=nowhere`: tables would land nowhere. */
static void a_schema_that_is_not_there_is_told(void **state)
{
    char where[600];
    struct store *s = NULL;
    struct why why = {""};

    (void)state;
    snprintf(where, sizeof where, "//tune@/postgres?host=%s&options=-csearch_path%%3Dnowhere", server.dir);
    assert_int_equal(ops->open(where, &a_clock, &s, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "schema"));
}

/* ---- a farm in parts ---- */

static void open_part(const char *where, int64_t n_parts, enum err expected, int64_t part, const char *words,
                      struct store **out)
{
    int64_t got = 0;
    struct why why = {""};
    const enum err e = ops->open_part(where, n_parts, &a_clock, &got, out, &why);

    if (e != expected || !strstr(why.text, words) || (!e && got != part))
        fail_msg("part %d, %s: '%s'; expected part %d, '%s'", (int)got, err_name(e), why.text, (int)part, words);
}

static void put_job(struct store *s, int64_t id)
{
    const struct job_row row = {.id = id, .title = "t", .user = "u", .key = "k", .body = "b", .summary = ""};

    assert_int_equal(ops->job_put(s, &row), ERR_OK);
    assert_int_equal(ops->commit(s, NULL), ERR_OK);
}

static void count_jobs(const struct job_row *row, void *arg)
{
    int64_t *sum = arg;

    *sum = 100 * *sum + row->id;
}

static int64_t jobs_of(struct store *s)
{
    int64_t sum = 0;

    assert_int_equal(ops->each_job(s, 0, count_jobs, &sum), ERR_OK);
    return sum;
}

static void each_tracker_has_a_part_that_is_free(void **state)
{
    struct store *one = NULL, *two = NULL, *three = NULL;
    char where[512];

    (void)state;
    postgres_place(&server, where, sizeof where);
    open_part(where, 2, ERR_OK, 1, "", &one);
    open_part(where, 2, ERR_OK, 2, "", &two);
    open_part(where, 2, ERR_BUSY, 0, "other trackers use all 2 parts of the farm", &three);
    put_job(one, 1);
    put_job(two, 2);
    put_job(two, 4);
    assert_int_equal(jobs_of(one), 1);
    ops->close(one);
    open_part(where, 2, ERR_OK, 1, "", &three);
    assert_int_equal(jobs_of(three), 1);
    ops->close(two);
    open_part(where, 2, ERR_OK, 2, "", &two);
    assert_int_equal(jobs_of(two), 204);
    ops->close(two);
    ops->close(three);
}

static void the_number_of_parts_is_the_databases(void **state)
{
    struct place *p = *state;
    struct store *s = NULL, *t = NULL;
    char where[512];
    struct why why = {""};

    for (int i = 0; i < 2; i++) {
        open_part(p->dir, 2, ERR_INPUT, 0, "the farm in database postgres is not in parts: expected no --parts", &s);
        postgres_run(&server, p->dir, "DELETE FROM meta WHERE name = 'parts'"); /* as older trackers left it */
    }
    place_reopen(p);
    postgres_place(&server, where, sizeof where);
    open_part(where, 3, ERR_OK, 1, "", &s);
    open_part(where, 2, ERR_INPUT, 0, "is in 3 parts: expected --parts 3", &t);
    assert_int_equal(ops->open(where, &a_clock, &t, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "is in 3 parts: expected --parts 3"));
    assert_int_equal(postgres_run(&server, where, "SELECT value FROM meta WHERE name = 'schema'"), 3);
    ops->close(s);
}

/* PostgreSQL would cut the names, and two parts have one schema. */
static void a_schema_with_a_long_name_has_no_parts(void **state)
{
    struct store *one = NULL, *two = NULL;
    char where[700], make[200];

    (void)state;
    for (int n = 56; n <= 57; n++) {
        const bool fits = n == 56;

        snprintf(make, sizeof make, "CREATE SCHEMA \"%0*d\"", n, 7);
        postgres_run(&server, "", make);
        snprintf(where, sizeof where, "//tune@/postgres?host=%s&options=-csearch_path%%3D%%22%0*d%%22", server.dir, n,
                 7);
        open_part(where, 2, fits ? ERR_OK : ERR_LIMIT, 1, fits ? "" : "has a name of at most 56 bytes", &one);
        if (!fits)
            break;
        open_part(where, 2, ERR_OK, 2, "", &two);
        ops->close(one);
        ops->close(two);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_cut_connection_is_told_and_drops_what_was_not_committed, start, stop),
        cmocka_unit_test_setup_teardown(the_first_words_of_a_failure_are_told, start, stop),
        cmocka_unit_test_setup_teardown(a_tracker_without_its_session_answers_nobody_a_second_later, start, stop),
        cmocka_unit_test_setup_teardown(a_flush_by_a_cut_connection_says_so, start, stop),
        cmocka_unit_test_setup_teardown(the_server_ends_a_session_that_is_silent_for_ten_seconds, start, stop),
        cmocka_unit_test_setup_teardown(a_killed_server_has_what_was_flushed, start, stop),
        cmocka_unit_test_setup_teardown(a_server_without_free_connections_is_out_of_reach_and_serves_whom_it_has, start,
                                        stop),
        cmocka_unit_test(a_server_that_stands_still_is_given_up),
        cmocka_unit_test_setup_teardown(a_server_that_is_busy_is_waited_for, start, stop),
        cmocka_unit_test(who_is_refused_is_told_so),
        cmocka_unit_test(a_server_that_is_away_is_out_of_reach),
        cmocka_unit_test_setup_teardown(an_older_database_is_brought_up, start, stop),
        cmocka_unit_test_setup_teardown(the_largest_blob_comes_in_pieces_and_goes_in_parts, start, stop),
        cmocka_unit_test_setup_teardown(databases_of_a_newer_program_or_of_others_are_left_alone, start, stop),
        cmocka_unit_test(addresses_that_are_none_are_refused_without_their_password),
        cmocka_unit_test(a_schema_that_is_not_there_is_told),
        cmocka_unit_test(each_tracker_has_a_part_that_is_free),
        cmocka_unit_test_setup_teardown(the_number_of_parts_is_the_databases, start, stop),
        cmocka_unit_test(a_schema_with_a_long_name_has_no_parts),
    };
    const char *dir;
    int n_failed;

    if (store_parse("postgres:", &ops, &dir, NULL) != ERR_OK || !postgres_start(&server))
        return 77;
    n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    postgres_stop(&server);
    return n_failed;
}
