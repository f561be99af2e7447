/* SPDX-License-Identifier: MIT */
/* A store that is not closed: the process was killed, or the power went. What was committed (and flushed) is there
 * afterwards, in whichever of the SQLite store's files it lies; what was not is not. */
#include "core/buf.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/hash.h"
#include "tests/tracker/store_place.h"
#include "tracker/store.h"
#include "tracker/store_sqlite_keeper.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static const struct store_ops *ops;
static struct store *s;
static char dir[256], other[256];

/* ---- the disk ---- */

static pthread_t main_thread;
static int64_t n_syncs_of_log; /* by this thread */
static atomic_bool sync_fails;
static atomic_bool others_hang; /* syncs by other threads */

int __wrap_fdatasync(int fd);
int __wrap_fdatasync(int fd)
{
    char link[64], path[600] = "";

    while (!pthread_equal(pthread_self(), main_thread) && atomic_load(&others_hang))
        clock_sleep_ms(1);
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (readlink(link, path, sizeof path - 1) < 0)
        return -1;
    n_syncs_of_log += pthread_equal(pthread_self(), main_thread) && strstr(path, "-wal") != NULL;
    errno = EIO;
    return sync_fails ? -1 : 0;
}

static char synced_dir[600]; /* the last */

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
    struct stat st;
    char link[64];
    ssize_t n;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) && (n = readlink(link, synced_dir, sizeof synced_dir - 1)) >= 0)
        synced_dir[n] = '\0';
    return __real_fsync(fd);
}

static void open_at(const char *where)
{
    s = place_open_at(ops, &place_clock, where);
}

static int set_up(void **state)
{
    (void)state;
    ops = store_table[0];
    place_now_ns = 0;
    main_thread = pthread_self();
    n_syncs_of_log = 0;
    return dir_temporary("tune-store", dir, sizeof dir, NULL) != ERR_OK ||
           dir_temporary("tune-other", other, sizeof other, NULL) != ERR_OK;
}

static int tear_down(void **state)
{
    (void)state;
    dir_remove(dir);
    dir_remove(other);
    return 0;
}

static void put_job(int64_t id, const char *title)
{
    const struct job_row row = {.id = id, .title = title, .body = "b", .token = 1};

    assert_int_equal(ops->job_put(s, &row), ERR_OK);
}

static void commit(void)
{
    assert_int_equal(ops->commit(s, NULL), ERR_OK);
    assert_int_equal(ops->flush(s, NULL), ERR_OK);
}

static void add_title(const struct job_row *row, void *text)
{
    buf_printf(text, "%lld%s ", (long long)row->id, row->title);
}

static void add_mode(const char *agent, enum mode mode, const char *user, void *text)
{
    buf_printf(text, "%s:%d%s ", agent, (int)mode, user);
}

/* Jobs and modes of the open store; lent until the next. */
static const char *content(void)
{
    static char text[65536];
    struct buf b;

    buf_init(&b, sizeof text - 1);
    assert_int_equal(ops->each_job(s, 0, add_title, &b), ERR_OK);
    assert_int_equal(ops->each_mode(s, add_mode, &b), ERR_OK);
    snprintf(text, sizeof text, "%s", buf_text(&b));
    buf_fini(&b);
    return text;
}

/* `work` in a process of its own, which is gone then like one that was killed. */
static void crash_after(void (*work)(void))
{
    const pid_t pid = fork();
    int status;

    assert_true(pid >= 0);
    if (!pid) {
        open_at(dir);
        work();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void holds(const char *where, const char *expected)
{
    open_at(where);
    assert_string_equal(content(), expected);
    ops->close(s);
    s = NULL;
}

static void copy_file(const char *from, const char *to, const char *name)
{
    char path[600];
    struct buf b;

    buf_init(&b, (size_t)64 << 20);
    snprintf(path, sizeof path, "%s/%s", from, name);
    if (file_read(path, &b, NULL) == ERR_OK) {
        snprintf(path, sizeof path, "%s/%s", to, name);
        assert_int_equal(file_replace(path, b.data ? b.data : "", b.len, 0600, NULL), ERR_OK);
    }
    buf_fini(&b);
}

/* ---- kill -9 ---- */

static void two_and_a_half(void)
{
    put_job(1, "a");
    put_job(2, "b");
    commit();
    put_job(3, "c");
    commit();
    put_job(4, "never committed");
}

static void a_killed_store_has_what_was_committed(void **state)
{
    (void)state;
    crash_after(two_and_a_half);
    holds(dir, "1a 2b 3c ");
    holds(dir, "1a 2b 3c ");
}

static void again(void)
{
    put_job(5, "e");
    commit();
}

static void a_store_that_is_killed_again_and_again_goes_on(void **state)
{
    (void)state;
    crash_after(two_and_a_half);
    crash_after(again);
    holds(dir, "1a 2b 3c 5e ");
}

/* What the journal is told and what it is not, with time going by between commits. */
static void mixed(void)
{
    for (int64_t i = 1; i <= 8; i++) {
        put_job(i, "x");
        if (i % 3 == 0)
            assert_int_equal(ops->mode_put(s, i == 3 ? "p" : "q", MODE_DRAIN, ""), ERR_OK);
        commit();
        place_now_ns += i % 4 ? 0 : INT64_C(1000000000);
    }
    assert_int_equal(ops->mode_put(s, "never", MODE_DRAIN, ""), ERR_OK);
}

static void it_does_not_matter_how_a_commit_was_kept(void **state)
{
    (void)state;
    crash_after(mixed);
    holds(dir, "1x 2x 3x 4x 5x 6x 7x 8x p:1 q:1 ");
}

/* More than both files of the journal hold, each commit with a blob. */
static void long_life(void)
{
    static char bytes[60000];
    bool stored;

    for (int64_t i = 1; i <= 400; i++) {
        memcpy(bytes, &i, sizeof i);
        assert_int_equal(
            ops->blob_put(s, sha256_of(bytes, sizeof bytes).hex, 0, sizeof bytes, bytes, sizeof bytes, &stored),
            ERR_OK);
        put_job(i, "y");
        assert_int_equal(ops->commit(s, NULL), ERR_OK); /* a kill takes nothing, flushed or not */
    }
}

static void count(const struct job_row *row, void *arg)
{
    assert_int_equal(row->id, ++*(int64_t *)arg);
}

static void blobs_and_jobs_of_a_long_life_are_whole(void **state)
{
    static char bytes[60000];
    int64_t n = 0, total = 0;
    struct buf out;

    (void)state;
    crash_after(long_life);
    open_at(dir);
    assert_int_equal(ops->each_job(s, 0, count, &n), ERR_OK);
    assert_int_equal(n, 400);
    buf_init(&out, sizeof bytes);
    for (int64_t i = 1; i <= 400; i += 57) {
        memcpy(bytes, &i, sizeof i);
        buf_clear(&out);
        assert_int_equal(ops->blob_get(s, sha256_of(bytes, sizeof bytes).hex, 0, sizeof bytes, &total, &out), ERR_OK);
        assert_memory_equal(out.data, bytes, sizeof bytes);
    }
    buf_fini(&out);
    ops->close(s);
}

static int64_t bytes_of(const char *name)
{
    char path[600];
    struct stat st = {.st_size = 0};

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return stat(path, &st) == 0 ? (int64_t)st.st_size : 0;
}

/* Another thread does it, behind transactions that ended; a minute is for a machine that is busy. */
static void the_database_takes_its_log_in_while_it_is_open(void **state)
{
    int64_t n_tries = 0;

    (void)state;
    open_at(dir);
    long_life(); /* 24 MB */
    while (bytes_of("tracker.sqlite") < 4000000 && n_tries++ < 6000) {
        put_job(400 + n_tries, "y");
        commit();
        place_now_ns += INT64_C(1000000000);
        clock_sleep_ms(10);
    }
    assert_true(bytes_of("tracker.sqlite") >= 4000000);
    ops->close(s);
}

/* ---- power ---- */

/* The database as it was at the beginning is all of it that the disk has; each flush brought its journal there. */
static void told_only(void)
{
    copy_file(dir, other, "tracker.sqlite");
    copy_file(dir, other, "tracker.sqlite-wal");
    for (int64_t i = 1; i <= 5; i++) {
        put_job(i, "z");
        commit();
        place_now_ns += INT64_C(300000000);
    }
}

static void a_power_cut_may_take_what_the_database_had_not_flushed(void **state)
{
    (void)state;
    open_at(dir);
    ops->close(s);
    crash_after(told_only);
    for (int i = 0; i < 2; i++)
        copy_file(dir, other, i ? "journal.1" : "journal.0");
    holds(other, "1z 2z 3z 4z 5z ");
    holds(dir, "1z 2z 3z 4z 5z ");
}

/* A commit that the journal was not told is lost with the database's log, and with it all that came later: none of it
 * was flushed. */
static void untold_then_told(void)
{
    put_job(1, "a");
    commit();
    copy_file(dir, other, "tracker.sqlite");
    copy_file(dir, other, "tracker.sqlite-wal");
    assert_int_equal(ops->mode_put(s, "p", MODE_DRAIN, ""), ERR_OK);
    assert_int_equal(ops->commit(s, NULL), ERR_OK);
    put_job(2, "b");
    assert_int_equal(ops->commit(s, NULL), ERR_OK);
}

static void nothing_is_kept_that_came_behind_what_is_lost(void **state)
{
    (void)state;
    crash_after(untold_then_told);
    for (int i = 0; i < 2; i++)
        copy_file(dir, other, i ? "journal.1" : "journal.0");
    holds(other, "1a ");
    holds(dir, "1a 2b p:1 ");
}

/* SQLite does not sync the log with a commit: the power leaves of it what the store had synced itself. */
static void first_commit(void)
{
    const int64_t n_before = n_syncs_of_log;

    put_job(1, "a");
    commit();
    _exit(n_before == 1 && n_syncs_of_log == 1 ? 0 : 1); /* at the start, and the commit went to the journal */
}

static void a_fresh_store_is_on_the_disk_before_its_journal(void **state)
{
    (void)state;
    crash_after(first_commit);
    copy_file(dir, other, "tracker.sqlite");
    copy_file(dir, other, "tracker.sqlite-wal");
    for (int i = 0; i < 2; i++)
        copy_file(dir, other, i ? "journal.1" : "journal.0");
    holds(other, "1a ");
}

/* Whose journal it is, the database says from the beginning, whatever becomes of the log. */
static void a_fresh_store_does_without_its_log(void **state)
{
    (void)state;
    crash_after(first_commit);
    copy_file(dir, other, "tracker.sqlite");
    for (int i = 0; i < 2; i++)
        copy_file(dir, other, i ? "journal.1" : "journal.0");
    holds(other, "1a ");
}

static void a_journal_without_its_database_is_refused_in_words(void **state)
{
    struct why why = {""};

    (void)state;
    crash_after(first_commit);
    for (int i = 0; i < 2; i++)
        copy_file(dir, other, i ? "journal.1" : "journal.0");
    assert_int_equal(ops->open(other, &place_clock, &s, &why), ERR_IO);
    assert_non_null(strstr(why.text, "journal"));
    copy_file(dir, other, "tracker.sqlite");
    holds(other, "1a ");
}

static void a_flush_that_fails_says_so(void **state)
{
    struct why why = {""};

    (void)state;
    open_at(dir);
    put_job(1, "a");
    assert_int_equal(ops->commit(s, NULL), ERR_OK);
    sync_fails = true;
    assert_int_equal(ops->flush(s, &why), ERR_IO);
    sync_fails = false;
    assert_non_null(strstr(why.text, "journal"));
    ops->close(s);
}

static struct sqlite_keeper *keeper_of(const char *where)
{
    struct sqlite_keeper *k = NULL;
    struct why why = {""};
    char path[300];

    snprintf(path, sizeof path, "%s/tracker.sqlite", where);
    if (sqlite_keeper_open(path, &k, &why))
        fail_msg("%s", why.text);
    return k;
}

/* What the thread has, asked until it is `n` or it fails. */
static enum err wait_for(struct sqlite_keeper *k, int64_t wanted, int64_t n)
{
    int n_left;
    enum err e = ERR_OK;

    for (int i = 0; i < 20000 && !e && sqlite_keeper_has(k, &n_left) < n; i++) {
        clock_sleep_ms(1);
        e = sqlite_keeper_want(k, wanted, false, NULL);
    }
    return e;
}

/* Commits are told to be there when they are, one by one: not while a sync hangs, and not when it failed. */
static void what_is_not_on_the_disk_is_not_told_to_be(void **state)
{
    struct sqlite_keeper *k;
    int n_left;

    (void)state;
    open_at(dir);
    put_job(1, "a");
    commit();
    k = keeper_of(dir);
    atomic_store(&others_hang, true);
    assert_int_equal(sqlite_keeper_want(k, 3, false, NULL), ERR_OK);
    clock_sleep_ms(20);
    assert_int_equal(sqlite_keeper_has(k, &n_left), 0);
    assert_int_equal(sqlite_keeper_want(k, 5, false, NULL), ERR_OK);
    atomic_store(&others_hang, false);
    assert_int_equal(wait_for(k, 5, 5), ERR_OK);
    assert_int_equal(sqlite_keeper_has(k, &n_left), 5);
    sync_fails = true;
    assert_int_equal(sqlite_keeper_want(k, 7, true, NULL), ERR_OK);
    assert_int_equal(wait_for(k, 7, 8), ERR_IO);
    assert_int_equal(sqlite_keeper_has(k, &n_left), 5);
    sync_fails = false;
    assert_int_equal(sqlite_keeper_want(k, 8, false, NULL), ERR_IO); /* what failed once may be lost for good */
    assert_int_equal(sqlite_keeper_has(k, &n_left), 5);
    sqlite_keeper_close(k);
    ops->close(s);
}

/* 64 MB pass through while the thread that syncs behind the store's back hangs: flush does it then. */
static void a_disk_that_hangs_does_not_let_the_journal_grow(void **state)
{
    static char title[1 << 20];

    (void)state;
    memset(title, 'x', sizeof title - 1);
    open_at(dir);
    atomic_store(&others_hang, true);
    for (int64_t i = 1; i <= 64; i++) {
        put_job(i, title);
        commit();
    }
    assert_true(bytes_of("journal.0") < 24000000 && bytes_of("journal.1") < 24000000);
    atomic_store(&others_hang, false);
    ops->close(s);
}

/* ---- files that do not belong together ---- */

static void backed_up(void)
{
    char path[600];
    int64_t n;

    put_job(1, "a");
    commit();
    snprintf(path, sizeof path, "%s/tracker.sqlite", other);
    assert_int_equal(ops->backup(dir, path, &n, NULL), ERR_OK);
    put_job(2, "b");
    commit();
}

/* The backup's name, too, is there after a power cut. */
static void a_backup_syncs_its_directory(void **state)
{
    char path[600];
    int64_t n;

    (void)state;
    open_at(dir);
    put_job(1, "a");
    commit();
    synced_dir[0] = '\0';
    snprintf(path, sizeof path, "%s/copy.sqlite", other);
    assert_int_equal(ops->backup(dir, path, &n, NULL), ERR_OK);
    assert_string_equal(synced_dir, other);
    ops->close(s);
}

static void a_backup_put_beside_the_journal_of_later_is_the_backup(void **state)
{
    (void)state;
    crash_after(backed_up);
    for (int i = 0; i < 2; i++)
        copy_file(dir, other, i ? "journal.1" : "journal.0");
    holds(other, "1a ");
    holds(dir, "1a 2b ");
}

static void early_copy(void)
{
    copy_file(dir, other, "tracker.sqlite");
    copy_file(dir, other, "tracker.sqlite-wal");
    put_job(1, "a");
    commit();
}

static void an_older_copy_beside_a_later_journal_is_refused_in_words(void **state)
{
    struct why why = {""};

    (void)state;
    crash_after(early_copy);
    open_at(dir); /* goes on behind the first entry */
    put_job(2, "b");
    commit();
    for (int i = 0; i < 2; i++)
        copy_file(dir, other, i ? "journal.1" : "journal.0");
    ops->close(s);
    assert_int_equal(ops->open(other, &place_clock, &s, &why), ERR_IO);
    assert_non_null(strstr(why.text, "journal"));
    assert_non_null(strstr(why.text, "remove"));
}

static void a_store_that_was_closed_is_one_file(void **state)
{
    char path[600];

    (void)state;
    open_at(dir);
    put_job(1, "a");
    commit();
    ops->close(s);
    copy_file(dir, other, "tracker.sqlite");
    holds(other, "1a ");
    snprintf(path, sizeof path, "%s/journal.0", dir);
    assert_int_not_equal(access(path, F_OK), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_killed_store_has_what_was_committed),
        TEST(a_store_that_is_killed_again_and_again_goes_on),
        TEST(it_does_not_matter_how_a_commit_was_kept),
        TEST(blobs_and_jobs_of_a_long_life_are_whole),
        TEST(the_database_takes_its_log_in_while_it_is_open),
        TEST(a_power_cut_may_take_what_the_database_had_not_flushed),
        TEST(a_fresh_store_is_on_the_disk_before_its_journal),
        TEST(a_fresh_store_does_without_its_log),
        TEST(a_journal_without_its_database_is_refused_in_words),
        TEST(a_flush_that_fails_says_so),
        TEST(what_is_not_on_the_disk_is_not_told_to_be),
        TEST(a_disk_that_hangs_does_not_let_the_journal_grow),
        TEST(nothing_is_kept_that_came_behind_what_is_lost),
        TEST(a_backup_syncs_its_directory),
        TEST(a_backup_put_beside_the_journal_of_later_is_the_backup),
        TEST(an_older_copy_beside_a_later_journal_is_refused_in_words),
        TEST(a_store_that_was_closed_is_one_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
