/* SPDX-License-Identifier: MIT */
/* Without memory in libpq, too, a store on a PostgreSQL server says so: what was acknowledged is there at the next
 * start, nothing that is read is another than what was written, and no store is called none. Some allocations fail in
 * turn, for a moment and for good, TUNE_TEST_SEED says which; --full: each. */
#include "tests/scarce/every.h"
#include "tests/scarce/store_steps.h"
#include "tests/tracker/postgres.h"

#include "core/clock.h"

#include <inttypes.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

extern const struct store_ops store_postgres;

static struct postgres server;
static struct place place, hasty; /* one place; see below */
static int64_t seed;
static bool full;

/* Without memory libpq loses answers, which are waited for for ten seconds: by the store until it asks whether the
 * server is there, by the server until it ends the session. Here they are a tenth of one, and half of one in a hurry.
 */
#define SILENT_MS 10000

int __real_poll(struct pollfd *polled, nfds_t n, int timeout_ms);
int __wrap_poll(struct pollfd *polled, nfds_t n, int timeout_ms);

int __wrap_poll(struct pollfd *polled, nfds_t n, int timeout_ms)
{
    return __real_poll(polled, n, timeout_ms == SILENT_MS ? SILENT_MS / 100 : timeout_ms);
}

static void hurry(char *where, size_t n_where)
{
    const size_t n = strlen(where);

    snprintf(where + n, n_where - n,
             "%%20-cidle_session_timeout%%3D500%%20-cidle_in_transaction_session_timeout%%3D500");
}

/* `work` does something with the n-th allocation failing, and returns whether one failed. Each of them, or one in
 * `step`; gives how many there are. */
static int64_t each(bool (*work)(int64_t n, bool for_good), int64_t step, const char *what)
{
    int64_t n_lives = 0, most = 0;

    work(0, false);
    most = every_count();
    step = full ? 1 : step;
    for (int for_good = 0; for_good < 2; for_good++)
        for (int64_t n = 1 + (seed + for_good * step / 2) % step; work(n, for_good); n += step)
            n_lives++;
    printf("%s: %" PRId64 " allocations, %" PRId64 " failed\n", what, most, n_lives);
    return most;
}

/* Of memory, or of what comes of it; never that the store is another's, of another version or in use. */
static void expect_starved(enum err e, const char *words, int64_t n)
{
    if ((e != ERR_NOMEM && e != ERR_IO && e != ERR_UNREACHABLE) || strstr(words, "no store"))
        fail_msg("allocation %" PRId64 ": %s '%s'", n, err_name(e), words);
}

static void check(int n_steps)
{
    place_open(&place);
    steps_check(&place, n_steps);
    place.ops->close(place.s);
}

static void empty(void)
{
    postgres_run(&server, place.dir,
                 "DELETE FROM jobs; DELETE FROM trials; DELETE FROM records; DELETE FROM sums; DELETE FROM modes; "
                 "DELETE FROM blobs; DELETE FROM pieces; DELETE FROM builds; UPDATE meta SET value = 0 WHERE name = "
                 "'trials'");
}

/* ---- lives ---- */

static int live(struct place *p, int64_t n)
{
    enum err e = ERR_OK, seen;
    int n_done = 0;

    while (!e && n_done < N_STEPS) {
        struct why why = {""};

        e = step_take(p, n_done, &seen, &why);
        if (e)
            expect_starved(e, why.text, n);
        if (seen)
            expect_starved(seen, "", n);
        n_done += !e;
    }
    return n_done;
}

static bool keep(int64_t n, bool for_good)
{
    int n_done;
    bool failed;

    empty();
    place_open(&hasty);
    every_begin(n, for_good);
    n_done = live(&hasty, n);
    hasty.ops->close(hasty.s);
    every_end();
    failed = every_failed();
    check(n_done);
    return failed;
}

static void a_store_without_memory_keeps_what_it_acknowledged_and_reads_nothing_else(void **state)
{
    (void)state;
    assert_true(each(keep, 7, "a store's life") > 20);
}

static bool start(int64_t n, bool for_good)
{
    struct why why = {""};
    bool failed;
    enum err e;

    every_begin(n, for_good);
    e = place.ops->open(place.dir, &steps_clock, &place.s, &why);
    every_end();
    failed = every_failed();
    if (e)
        expect_starved(e, why.text, n);
    else
        steps_check(&place, N_STEPS);
    place.ops->close(e ? NULL : place.s);
    return failed;
}

static void a_store_is_opened_with_all_that_it_has_or_not_at_all(void **state)
{
    (void)state;
    empty();
    place_open(&place);
    assert_int_equal(live(&place, 0), N_STEPS);
    place.ops->close(place.s);
    assert_true(each(start, 7, "a start") > 100);
    check(N_STEPS);
}

/* The schema is made whole or not at all. */
static bool start_anew(int64_t n, bool for_good)
{
    struct place anew = place;
    struct why why = {""};
    bool failed;
    enum err e;

    postgres_place(&server, anew.dir, sizeof anew.dir);
    every_begin(n, for_good);
    e = anew.ops->open(anew.dir, &steps_clock, &anew.s, &why);
    every_end();
    failed = every_failed();
    if (e) {
        expect_starved(e, why.text, n);
        place_open(&anew);
    }
    place_job(&anew, 1, JOB_OPEN, 0);
    place_commit(&anew);
    anew.ops->close(anew.s);
    return failed;
}

static void a_fresh_store_is_made_whole_or_not_at_all(void **state)
{
    (void)state;
    assert_true(each(start_anew, 41, "a fresh store") > 100);
}

static int start_server(void **state)
{
    (void)state;
    place.ops = &store_postgres;
    place.clock = &steps_clock;
    postgres_place(&server, place.dir, sizeof place.dir);
    hasty = place;
    hurry(hasty.dir, sizeof hasty.dir);
    place_open(&place);
    place.ops->close(place.s);
    return 0;
}

int main(int argc, char **argv)
{
    const char *given = getenv("TUNE_TEST_SEED");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_store_is_opened_with_all_that_it_has_or_not_at_all),
        cmocka_unit_test(a_fresh_store_is_made_whole_or_not_at_all),
        cmocka_unit_test(a_store_without_memory_keeps_what_it_acknowledged_and_reads_nothing_else),
    };
    int n_failed;

    if (!every_can) {
        fprintf(stderr, "skipped: malloc is the sanitizer's, or no part of glibc\n");
        return 77;
    }
    full = argc > 1 && strcmp(argv[1], "--full") == 0;
    if (given)
        seed = (int64_t)(strtoull(given, NULL, 10) % 1000000);
    if (!postgres_start(&server))
        return 77;
    n_failed = cmocka_run_group_tests(tests, start_server, NULL);
    postgres_stop(&server);
    return n_failed;
}
