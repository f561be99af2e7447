/* SPDX-License-Identifier: MIT */
/* What can go wrong between a tracker and its PostgreSQL server: cut connections, full tables of them, strangers'
 * databases, addresses that are none. What every store keeps: test_store. */
#include "tests/tracker/postgres.h"

#include "core/buf.h"
#include "core/clock.h"
#include "core/hash.h"
#include "tracker/store.h"

#include <libpq-fe.h>
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

static struct store *open_at(const char *where)
{
    struct store *s = NULL;
    struct why why = {""};

    if (ops->open(where, &a_clock, &s, &why) != ERR_OK)
        fail_msg("%s", why.text);
    return s;
}

static void put_job(struct store *s, int64_t id)
{
    const struct job_row row = {.id = id, .title = "t", .user = "u", .key = "k", .body = "b", .request = "r"};

    assert_int_equal(ops->job_put(s, &row), ERR_OK);
}

static void count_job(const struct job_row *row, void *arg)
{
    (void)row;
    ++*(int *)arg;
}

static int n_jobs_at(const char *where)
{
    struct store *s = open_at(where);
    int n = 0;

    assert_int_equal(ops->each_job(s, 0, count_job, &n), ERR_OK);
    ops->close(s);
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
    char where[512];
    struct why why = {""};
    struct store *s;
    int n = 0;

    (void)state;
    postgres_place(&server, where, sizeof where);
    s = open_at(where);
    put_job(s, 1);
    assert_int_equal(ops->commit(s, &why), ERR_OK);
    put_job(s, 2);
    cut_sessions(where);
    assert_int_equal(ops->commit(s, &why), ERR_IO);
    assert_non_null(strstr(why.text, "PostgreSQL"));
    assert_int_equal(ops->commit(s, &why), ERR_IO); /* for good */
    why.text[0] = '\0';
    assert_int_equal(ops->each_job(s, 0, count_job, &n), ERR_IO);
    ops->words(s, &why);
    assert_non_null(strstr(why.text, "PostgreSQL: "));
    ops->close(s);
    assert_int_equal(n_jobs_at(where), 1);
}

/* What fails behind the first failure comes of it, and says less. */
static void the_first_words_of_a_failure_are_told(void **state)
{
    char where[512];
    struct why why = {""};
    struct store *s;

    (void)state;
    postgres_place(&server, where, sizeof where);
    s = open_at(where);
    put_job(s, 1);
    assert_int_equal(ops->commit(s, &why), ERR_OK);
    assert_int_equal(ops->flush(s, &why), ERR_OK);
    postgres_run(&server, where, "DROP TABLE jobs");
    put_job(s, 2);
    put_job(s, 3);
    assert_int_equal(ops->commit(s, &why), ERR_IO);
    assert_non_null(strstr(why.text, "PostgreSQL: ERROR:  relation \"jobs\" does not exist"));
    assert_int_equal(ops->commit(s, &why), ERR_IO);
    assert_non_null(strstr(why.text, "does not exist"));
    ops->close(s);
}

/* The lock went with the session: another tracker may have the store. */
static void a_tracker_without_its_session_answers_nobody_a_second_later(void **state)
{
    char where[512];
    struct why why = {""};
    struct store *s;

    (void)state;
    postgres_place(&server, where, sizeof where);
    s = open_at(where);
    assert_int_equal(ops->commit(s, &why), ERR_OK);
    cut_sessions(where);
    assert_int_equal(ops->commit(s, &why), ERR_OK); /* nothing to do, and the server was heard just now */
    now_ns += 1000000000;
    assert_int_equal(ops->commit(s, &why), ERR_IO);
    ops->close(s);
}

static void a_flush_by_a_cut_connection_says_so(void **state)
{
    char where[512];
    struct why why = {""};
    struct store *s;

    (void)state;
    postgres_place(&server, where, sizeof where);
    s = open_at(where);
    put_job(s, 1);
    assert_int_equal(ops->commit(s, &why), ERR_OK);
    assert_int_equal(ops->flush(s, &why), ERR_OK);
    put_job(s, 2);
    assert_int_equal(ops->commit(s, &why), ERR_OK);
    cut_sessions(where);
    assert_int_equal(ops->flush(s, &why), ERR_IO);
    ops->close(s);
}

/* What was flushed before the server was killed is there; and it cannot have been flushed by luck: nothing else is. */
static void a_killed_server_has_what_was_flushed(void **state)
{
    char where[512];
    struct why why = {""};
    struct store *s;

    (void)state;
    postgres_place(&server, where, sizeof where);
    s = open_at(where);
    for (int64_t id = 1; id <= 3; id++) {
        put_job(s, id);
        assert_int_equal(ops->commit(s, &why), ERR_OK);
        assert_int_equal(ops->flush(s, &why), ERR_OK);
    }
    postgres_crash(&server);
    put_job(s, 4);
    assert_int_equal(ops->commit(s, &why), ERR_IO);
    ops->close(s);
    postgres_restart(&server);
    assert_int_equal(n_jobs_at(where), 3);
}

static void a_server_without_free_connections_is_out_of_reach_and_serves_whom_it_has(void **state)
{
    PGconn *others[MAX_CONNECTIONS];
    struct store *first, *second = NULL;
    char where[512], more[512], info[600];
    struct why why = {""};

    (void)state;
    postgres_place(&server, where, sizeof where);
    postgres_place(&server, more, sizeof more);
    snprintf(info, sizeof info, "postgres:%s", where);
    first = open_at(where);
    for (int i = 0; i < MAX_CONNECTIONS - 2; i++)
        others[i] = PQconnectdb(info);
    assert_int_equal(ops->open(more, &a_clock, &second, &why), ERR_UNREACHABLE);
    assert_non_null(strstr(why.text, "too many clients"));
    put_job(first, 1);
    assert_int_equal(ops->commit(first, &why), ERR_OK);
    assert_int_equal(ops->flush(first, &why), ERR_OK);
    PQfinish(others[0]); /* one is free, two are wanted */
    assert_int_equal(ops->open(more, &a_clock, &second, &why), ERR_UNREACHABLE);
    for (int i = 1; i < MAX_CONNECTIONS - 2; i++)
        PQfinish(others[i]);
    ops->close(first);
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

/* Stopped, or its machine is, with the connections open: what waits for it ends, and says so. */
static void a_server_that_stands_still_is_given_up(void **state)
{
    char where[512], large[20000];
    struct store *s[3];
    struct why why[3] = {{""}, {""}, {""}};
    pthread_t thread;

    (void)state;
    for (int i = 0; i < 3; i++) {
        postgres_place(&server, where, sizeof where);
        s[i] = open_at(where);
        put_job(s[i], 1);
        assert_int_equal(ops->commit(s[i], &why[i]), ERR_OK);
    }
    postgres_signal(&server, SIGSTOP);
    atomic_store(&is_over, false);
    pthread_create(&thread, NULL, thaw, NULL);
    put_job(s[0], 2);
    assert_int_equal(ops->commit(s[0], &why[0]), ERR_IO);
    assert_int_equal(ops->flush(s[1], &why[1]), ERR_IO);
    memset(large, 'x', sizeof large);
    for (int64_t id = 2; id < 400 && !why[2].text[0]; id++) { /* more than the socket takes */
        const struct job_row row = {.id = id, .title = "t", .user = "u", .key = "k", .body = large, .request = "r"};

        large[sizeof large - 1] = '\0';
        if (ops->job_put(s[2], &row) != ERR_OK)
            ops->words(s[2], &why[2]);
    }
    atomic_store(&is_over, true);
    pthread_join(thread, NULL);
    for (int i = 0; i < 3; i++) {
        if (!strstr(why[i].text, "has not answered for 10 s"))
            fail_msg("%d: '%s'", i, why[i].text);
        ops->close(s[i]);
    }
}

/* Nothing that waiting mends: a standby that waits for it would wait for ever. */
static void who_is_refused_is_told_so(void **state)
{
    const struct {
        const char *peer, *words;
    } bad[] = {{"stranger:hunter2@/postgres", "password authentication failed"},
               {"stranger@/postgres", "no password"},
               {"nobody-at-all@/postgres", "does not exist"},
               {"tune@/no_such_database", "does not exist"}};

    (void)state;
    postgres_run(&server, "", "CREATE ROLE stranger LOGIN PASSWORD 'x'");
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

/* As large as blobs may be, in the pieces that clients send, the last one first. */
static void the_largest_blob_comes_in_pieces_and_goes_in_parts(void **state)
{
    enum { PIECE = 1 << 20, N = 64 };
    char *bytes = malloc((size_t)N * PIECE), where[512];
    int64_t total = 0;
    struct why why = {""};
    struct sha256 name;
    struct store *s;
    bool stored = false;
    struct buf part;

    (void)state;
    assert_non_null(bytes);
    for (size_t i = 0; i < (size_t)N * PIECE; i++)
        bytes[i] = (char)(i * 2654435761u >> 13);
    name = sha256_of(bytes, (size_t)N * PIECE);
    postgres_place(&server, where, sizeof where);
    s = open_at(where);
    for (int64_t i = N - 1; i >= 0; i--) {
        assert_false(stored);
        assert_int_equal(ops->blob_put(s, name.hex, i * PIECE, (int64_t)N * PIECE, bytes + i * PIECE, PIECE, &stored),
                         ERR_OK);
        assert_int_equal(ops->commit(s, &why), ERR_OK);
    }
    assert_true(stored);
    buf_init(&part, 100);
    assert_int_equal(ops->blob_get(s, name.hex, (int64_t)N * PIECE - 7, 50, &total, &part), ERR_OK);
    assert_int_equal(total, (int64_t)N * PIECE);
    assert_int_equal(part.len, 7);
    assert_memory_equal(part.data, bytes + (size_t)N * PIECE - 7, 7);
    assert_int_equal(postgres_run(&server, where, "SELECT count(*) FROM pieces"), 0);
    buf_fini(&part);
    ops->close(s);
    free(bytes);
}

static void databases_of_a_newer_program_or_of_others_are_left_alone(void **state)
{
    struct store *s = NULL;
    struct why why = {""};
    char where[512];

    (void)state;
    postgres_place(&server, where, sizeof where);
    ops->close(open_at(where));
    postgres_run(&server, where, "UPDATE meta SET value = 99 WHERE name = 'schema'");
    assert_int_equal(ops->open(where, &a_clock, &s, &why), ERR_UNSUPPORTED);
    assert_non_null(strstr(why.text, "schema 99"));
    postgres_place(&server, where, sizeof where);
    postgres_run(&server, where, "CREATE TABLE customers(name text)");
    assert_int_equal(ops->open(where, &a_clock, &s, &why), ERR_IO);
    assert_non_null(strstr(why.text, "somebody else's"));
    postgres_run(&server, where, "CREATE TABLE meta(price text)");
    assert_int_equal(ops->open(where, &a_clock, &s, &why), ERR_IO);
    assert_int_equal(postgres_run(&server, where, "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()"),
                     2);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cut_connection_is_told_and_drops_what_was_not_committed),
        cmocka_unit_test(the_first_words_of_a_failure_are_told),
        cmocka_unit_test(a_tracker_without_its_session_answers_nobody_a_second_later),
        cmocka_unit_test(a_flush_by_a_cut_connection_says_so),
        cmocka_unit_test(a_killed_server_has_what_was_flushed),
        cmocka_unit_test(a_server_without_free_connections_is_out_of_reach_and_serves_whom_it_has),
        cmocka_unit_test(a_server_that_stands_still_is_given_up),
        cmocka_unit_test(who_is_refused_is_told_so),
        cmocka_unit_test(a_server_that_is_away_is_out_of_reach),
        cmocka_unit_test(the_largest_blob_comes_in_pieces_and_goes_in_parts),
        cmocka_unit_test(databases_of_a_newer_program_or_of_others_are_left_alone),
        cmocka_unit_test(addresses_that_are_none_are_refused_without_their_password),
        cmocka_unit_test(a_schema_that_is_not_there_is_told),
    };
    const char *dir;
    int n_failed;

    if (store_parse("postgres:", &ops, &dir, NULL) != ERR_OK || !postgres_start(&server))
        return 77;
    n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    postgres_stop(&server);
    return n_failed;
}
