/* SPDX-License-Identifier: MIT */
/* Without memory in SQLite itself a store says so: what was acknowledged is there at the next start, nothing that is
 * read is another than what was written, and no start is with less than all. Some of its allocations fail in turn, for
 * a moment and for good, TUNE_TEST_SEED says which; --full: each. */
#include "tests/scarce/scarce.h"
#include "tests/scarce/store_steps.h"
#include "tests/tracker/life.h"
#include "tests/tracker/store_place.h"

#include "core/clock.h"
#include "core/file.h"
#include "tracker/store_sqlite_check.h"

#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static int64_t seed;
static bool full;

/* ---- SQLite's allocations ---- */

/* As scarce.h for the program's own; of all threads, or of all but that of the tests. */
static struct {
    _Atomic int64_t n, fail_at;
    atomic_bool watches, for_good, failed, elsewhere;
} lib;
static pthread_t tests_thread;
static sqlite3_mem_methods real;

static bool fails(void)
{
    int64_t n, fail_at;

    if (!lib.watches || (lib.elsewhere && pthread_equal(pthread_self(), tests_thread)))
        return false;
    n = ++lib.n;
    fail_at = lib.fail_at;
    if (!fail_at || n < fail_at || (n > fail_at && !lib.for_good))
        return false;
    lib.failed = true;
    return true;
}

static void *give(int n)
{
    return fails() ? NULL : real.xMalloc(n);
}

static void *give_more(void *p, int n)
{
    return fails() ? NULL : real.xRealloc(p, n);
}

static void lib_begin(int64_t n, bool for_good)
{
    lib.n = 0;
    lib.fail_at = n;
    lib.for_good = for_good;
    lib.failed = false;
}

static void lib_watch(bool on)
{
    lib.watches = on;
}

/* Without SQLite's own small heaps: each thing that it keeps is an allocation. */
static void lib_replace(void)
{
    sqlite3_mem_methods ours;

    tests_thread = pthread_self();
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real), SQLITE_OK);
    ours = real;
    ours.xMalloc = give;
    ours.xRealloc = give_more;
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_MALLOC, &ours), SQLITE_OK);
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0), SQLITE_OK);
}

/* `work` does something with the n-th allocation failing, and returns whether one failed. Each of them, or one in
 * `step`; gives how many there are. */
static int64_t each(bool (*work)(int64_t n, bool for_good), int64_t step, const char *what)
{
    int64_t n, n_lives = 0, most = 0;

    work(0, false);
    step = full ? 1 : step;
    for (int for_good = 0; for_good < 2; for_good++) {
        for (n = 1 + (seed + for_good * step / 2) % step;; n += step, n_lives++) {
            const int64_t before = sqlite3_memory_used();
            const bool failed = work(n, for_good);

            if (sqlite3_memory_used() != before)
                fail_msg("%s: allocation %" PRId64 " failed%s, and %" PRId64 " bytes were kept", what, n,
                         for_good ? " for good" : "", (int64_t)sqlite3_memory_used() - before);
            if (!failed)
                break;
        }
        most = n;
    }
    printf("%s: %" PRId64 " allocations, %" PRId64 " failed\n", what, most, n_lives);
    return most;
}

/* ---- a tracker's life ---- */

static struct store_ops ops; /* the default ones, whose next close is watched when `closes` */
static bool closes;

static void close_once(struct store *s)
{
    lib_watch(closes);
    store_table[0]->close(s);
    lib_watch(false);
    closes = false;
}

static bool live(int64_t n, bool for_good)
{
    struct life l = {.watch = lib_watch, .fails_late = true};
    struct rig r;
    bool failed;

    rig_init(&r);
    r.options.ops = &ops;
    rig_start(&r);
    lib_begin(n, for_good);
    life_live(&l, &r);
    failed = lib.failed;
    if (!l.failed && (l.n_unsaid || l.n_results != 2 || l.n_builds != 4 || l.n_added != 4))
        fail_msg("allocation %" PRId64 ": %d unsaid, %d results, %d builds, %d trials", n, l.n_unsaid, l.n_results,
                 l.n_builds, l.n_added);
    closes = true;
    life_check(&l, &r);
    failed |= lib.failed;
    rig_stop(&r);
    return failed;
}

static void a_tracker_whose_database_has_no_memory_loses_nothing_that_it_acknowledged(void **state)
{
    (void)state;
    assert_true(each(live, 3, "a tracker's life") > 200);
}

/* ---- a store's life ---- */

/* Of memory, in words. */
static void expect_starved(enum err e, const char *words, int64_t n)
{
    if (e != ERR_NOMEM && (e != ERR_IO || !strstr(words, "memory")))
        fail_msg("allocation %" PRId64 ": %s '%s'", n, err_name(e), words);
}

/* A call's failure ends the tracker; who looks at a page is told what failed, and it goes on. False: it ended. */
static bool take_step(struct place *p, int i, int64_t n)
{
    enum err e, seen;
    struct why why = {""};

    e = step_take(p, i, &seen, &why);
    if (e)
        expect_starved(e, why.text, n);
    if (seen)
        expect_starved(seen, "memory", n);
    return !e;
}

/* All of the first n_steps is there at the next start. */
static void check_all(const char *where, int n_steps)
{
    struct place p = {.ops = store_table[0], .clock = &steps_clock};

    snprintf(p.dir, sizeof p.dir, "%s", where);
    place_open(&p);
    steps_check(&p, n_steps);
    p.ops->close(p.s);
}

static bool keep(int64_t n, bool for_good)
{
    struct place p = {.ops = store_table[0], .clock = &steps_clock};
    struct why why = {""};
    int n_done = 0;
    enum err e;

    assert_int_equal(dir_temporary("tune-scarce", p.dir, sizeof p.dir, NULL), ERR_OK);
    lib_begin(n, for_good);
    lib_watch(true);
    e = p.ops->open(p.dir, &steps_clock, &p.s, &why);
    if (e) {
        expect_starved(e, why.text, n);
    } else {
        while (n_done < N_STEPS && take_step(&p, n_done, n))
            n_done++;
        p.ops->close(p.s);
    }
    lib_watch(false);
    check_all(p.dir, n_done);
    dir_remove(p.dir);
    return lib.failed;
}

static void a_store_without_memory_keeps_what_it_acknowledged_and_reads_nothing_else(void **state)
{
    (void)state;
    assert_true(each(keep, 41, "a store's life") > 1000);
}

/* ---- a start ---- */

static char killed[256]; /* a store as a killed tracker left it: the journal has what the database lacks */

static void copy_store(const char *from, const char *to)
{
    static const char *const names[] = {"tracker.sqlite", "tracker.sqlite-wal", "journal.0", "journal.1"};

    for (int i = 0; i < 4; i++) {
        char path[300];
        struct buf b;

        buf_init(&b, 16 << 20);
        snprintf(path, sizeof path, "%s/%s", from, names[i]);
        assert_int_equal(file_read(path, &b, NULL), ERR_OK);
        snprintf(path, sizeof path, "%s/%s", to, names[i]);
        assert_int_equal(file_replace(path, b.len ? b.data : "", b.len, 0600, NULL), ERR_OK);
        buf_fini(&b);
    }
}

static void leave_killed(void)
{
    struct place p = {.ops = store_table[0], .clock = &steps_clock};

    assert_int_equal(dir_temporary("tune-scarce", p.dir, sizeof p.dir, NULL), ERR_OK);
    assert_int_equal(dir_temporary("tune-scarce", killed, sizeof killed, NULL), ERR_OK);
    place_open(&p);
    for (int i = 0; i < N_STEPS; i++)
        assert_true(take_step(&p, i, 0));
    for (int i = 1; i <= 2; i++) {
        place_job(&p, 2 + i, JOB_OPEN, 0);
        place_trial(&p, 9 + i, 2 + i, TRIAL_OPEN);
        assert_int_equal(place_record(&p, 2 + i, 1, 9 + i, "ok"), ERR_OK);
        place_commit(&p);
    }
    copy_store(p.dir, killed);
    p.ops->close(p.s);
    dir_remove(p.dir);
}

static void check_start(struct place *p)
{
    int n = 0, counts[5] = {0};

    for (int i = 1; i <= 2; i++)
        assert_int_equal(p->ops->each_record(p->s, 2 + i, 0, 0, 10, count_records, &n), ERR_OK);
    assert_int_equal(n, 2);
    assert_int_equal(p->ops->each_live_trial(p->s, count_trials, counts), ERR_OK);
    assert_int_equal(counts[TRIAL_OPEN], 5);
    steps_check(p, N_STEPS);
}

static bool own; /* the program's own allocations fail, not SQLite's */

static void watch(bool on)
{
    own ? scarce_watch(on) : lib_watch(on);
}

static bool start(int64_t n, bool for_good)
{
    struct place p = {.ops = store_table[0], .clock = &steps_clock};
    struct why why = {""};
    bool failed;
    enum err e;

    assert_int_equal(dir_temporary("tune-scarce", p.dir, sizeof p.dir, NULL), ERR_OK);
    copy_store(killed, p.dir);
    own ? scarce_begin(n, for_good) : lib_begin(n, for_good);
    watch(true);
    e = p.ops->open(p.dir, &steps_clock, &p.s, &why);
    watch(false);
    failed = own ? scarce_failed() : lib.failed;
    if (e) {
        expect_starved(e, why.text, n);
        place_open(&p);
    }
    check_start(&p);
    p.ops->close(p.s);
    dir_remove(p.dir);
    return failed;
}

static void a_store_is_opened_with_all_that_it_has_or_not_at_all(void **state)
{
    (void)state;
    leave_killed();
    own = false;
    assert_true(each(start, 41, "a start (SQLite)") > 500);
    own = true;
    assert_true(each(start, 1, "a start (its own)") > 5);
    dir_remove(killed);
}

/* A backup, too, has what only the journal has. */
static bool back_up_killed(int64_t n, bool for_good)
{
    struct place p = {.ops = store_table[0], .clock = &steps_clock}, copy = p;
    struct why why = {""};
    char path[300];
    int64_t n_bytes;
    enum err e;

    assert_int_equal(dir_temporary("tune-scarce", p.dir, sizeof p.dir, NULL), ERR_OK);
    assert_int_equal(dir_temporary("tune-scarce", copy.dir, sizeof copy.dir, NULL), ERR_OK);
    copy_store(killed, p.dir);
    snprintf(path, sizeof path, "%s/%s", copy.dir, p.ops->file);
    own ? scarce_begin(n, for_good) : lib_begin(n, for_good);
    watch(true);
    e = p.ops->backup(p.dir, path, &n_bytes, &why);
    watch(false);
    if (e)
        expect_starved(e, why.text, n);
    assert_int_equal(access(path, F_OK) == 0, !e);
    if (!e) {
        place_open(&copy);
        check_start(&copy);
        copy.ops->close(copy.s);
    }
    dir_remove(p.dir);
    dir_remove(copy.dir);
    return own ? scarce_failed() : lib.failed;
}

static void a_backup_has_all_or_is_none(void **state)
{
    (void)state;
    leave_killed();
    own = false;
    assert_true(each(back_up_killed, 41, "a backup (SQLite)") > 500);
    own = true;
    assert_true(each(back_up_killed, 1, "a backup (its own)") > 2);
    dir_remove(killed);
}

/* ---- a check beside the work ---- */

/* What cannot be looked at for lack of memory is not damaged. */
static bool check(int64_t n, bool for_good)
{
    struct place p = {.ops = store_table[0], .clock = &steps_clock};
    char mark[300];

    assert_int_equal(dir_temporary("tune-scarce", p.dir, sizeof p.dir, NULL), ERR_OK);
    copy_store(killed, p.dir);
    snprintf(mark, sizeof mark, "%s/damaged", p.dir);
    lib_begin(n, for_good);
    lib.elsewhere = true;
    sqlite_check_at_once_bytes = 0;
    lib_watch(true);
    place_open(&p);
    for (int i = 0; i < (n ? 100 : 500) && !lib.failed; i++)
        clock_sleep_ms(1);
    clock_sleep_ms(lib.failed ? 3 : 0);
    p.ops->close(p.s);
    lib_watch(false);
    lib.elsewhere = false;
    assert_int_not_equal(access(mark, F_OK), 0);
    sqlite_check_at_once_bytes = INT64_MAX;
    place_open(&p);
    check_start(&p);
    p.ops->close(p.s);
    dir_remove(p.dir);
    return lib.failed;
}

static void a_check_without_memory_calls_no_store_damaged(void **state)
{
    (void)state;
    leave_killed();
    assert_true(each(check, 13, "a check") > 20);
    dir_remove(killed);
}

int main(int argc, char **argv)
{
    const char *given = getenv("TUNE_TEST_SEED");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_store_is_opened_with_all_that_it_has_or_not_at_all),
        cmocka_unit_test(a_backup_has_all_or_is_none),
        cmocka_unit_test(a_check_without_memory_calls_no_store_damaged),
        cmocka_unit_test(a_store_without_memory_keeps_what_it_acknowledged_and_reads_nothing_else),
        cmocka_unit_test(a_tracker_whose_database_has_no_memory_loses_nothing_that_it_acknowledged),
    };

    full = argc > 1 && strcmp(argv[1], "--full") == 0;
    if (given)
        seed = (int64_t)(strtoull(given, NULL, 10) % 1000000);
    ops = *store_table[0];
    ops.close = close_once;
    lib_replace();
    if (access("/dev/shm", W_OK) == 0 && !getenv("TMPDIR"))
        setenv("TMPDIR", "/dev/shm", 1); /* nothing here is about disks */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
