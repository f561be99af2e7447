/* SPDX-License-Identifier: MIT */
/* What is SQLite's own: its file, its check, its lock, its earlier schemas. What every store keeps: test_store. */
#include "tests/tracker/store_place.h"

#include "core/clock.h"
#include "core/file.h"
#include "tracker/store.h"
#include "tracker/store_sqlite_check.h"

#include <fcntl.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

/* A large job goes in many small steps, and its room goes back to the disk. */
static void a_large_job_is_forgotten_in_steps_and_the_file_shrinks(void **state)
{
    enum { N = 3000 };
    struct place p = {.ops = store_table[0] /* sqlite */};
    char path[300];
    struct stat before, after;
    int n = 0;

    (void)state;
    dir_temporary("tune-store", p.dir, sizeof p.dir, NULL);
    snprintf(path, sizeof path, "%s/tracker.sqlite", p.dir);
    place_open(&p);
    place_job(&p, 1, JOB_DONE, 1000);
    for (int i = 1; i <= N; i++) {
        place_trial(&p, i, 1, TRIAL_DONE);
        place_record(&p, 1, i, i, "ok");
    }
    place_commit(&p);
    place_reopen(&p);
    assert_int_equal(stat(path, &before), 0);
    assert_true(place_forget(&p, 2000) >= 2 * N / 500);
    assert_int_equal(p.ops->each_record(p.s, 1, 0, 0, N, count_records, &n), ERR_OK);
    assert_int_equal(n, 0);
    p.ops->close(p.s);
    assert_int_equal(stat(path, &after), 0);
    if (after.st_size > before.st_size / 4)
        fail_msg("%lld bytes of %lld are left", (long long)after.st_size, (long long)before.st_size);
    dir_remove(p.dir);
}

/* In a folder that was there before, and which others may enter. */
static void a_store_is_nobody_else_s(void **state)
{
    static const char *const names[] = {"tracker.sqlite", "tracker.sqlite-wal", "tracker.sqlite-shm",
                                        "journal.0",      "journal.1",          "lock"};
    char dir[256], path[300];
    struct store *s = NULL;
    struct why why = {""};
    struct stat st;

    (void)state;
    assert_int_equal(dir_temporary("tune-modes", dir, sizeof dir, NULL), ERR_OK);
    assert_int_equal(chmod(dir, 0755), 0);
    assert_int_equal(store_table[0]->open(dir, NULL, &s, &why), ERR_OK);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0600);
    }
    store_table[0]->close(s);
    dir_remove(dir);
}

/* Which knows no lock but that of the file. */
static void a_tracker_of_an_earlier_version_keeps_others_out(void **state)
{
    struct store *s = NULL;
    struct why why = {""};
    char dir[256], lock[300];
    int fd;

    (void)state;
    assert_int_equal(dir_temporary("tune-lock", dir, sizeof dir, NULL), ERR_OK);
    snprintf(lock, sizeof lock, "%s/lock", dir);
    fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_int_equal(store_table[0]->open(dir, NULL, &s, &why), ERR_BUSY);
    close(fd);
    assert_int_equal(store_table[0]->open(dir, NULL, &s, &why), ERR_OK);
    store_table[0]->close(s);
    dir_remove(dir);
}

static void a_store_of_a_newer_program_or_of_nobody_is_left_alone(void **state)
{
    const struct store_ops *ops = store_table[0] /* sqlite */;
    char dir[256], path[300];
    struct store *s = NULL;
    struct why why = {""};
    sqlite3 *db;

    (void)state;
    dir_temporary("tune-store", dir, sizeof dir, NULL);
    snprintf(path, sizeof path, "%s/tracker.sqlite", dir);
    assert_int_equal(ops->open(dir, NULL, &s, &why), ERR_OK);
    ops->close(s);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "UPDATE meta SET value = value + 1 WHERE name = 'schema'", NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    assert_int_equal(ops->open(dir, NULL, &s, &why), ERR_UNSUPPORTED);
    file_replace(path,
                 "this is no database, but long enough to be looked at............................................", 96,
                 0600, &why);
    assert_int_equal(ops->open(dir, NULL, &s, &why), ERR_IO);
    assert_non_null(strstr(why.text, path));
    dir_remove(dir);
}

/* Two pages of records in its middle are overwritten, as by a bad disk. */
static void make_damaged(struct place *p)
{
    char path[300], junk[8192];
    FILE *f;

    memset(junk, 0x5a, sizeof junk);
    dir_temporary("tune-store", p->dir, sizeof p->dir, NULL);
    snprintf(path, sizeof path, "%s/tracker.sqlite", p->dir);
    place_open(p);
    place_job(p, 1, JOB_OPEN, 0);
    for (int i = 1; i <= 300; i++) {
        place_trial(p, i, 1, TRIAL_DONE);
        assert_int_equal(place_record(p, 1, i, i, "ok"), ERR_OK);
    }
    place_commit(p);
    place_reopen(p);
    p->ops->close(p->s);
    f = fopen(path, "r+b");
    assert_non_null(f);
    fseek(f, -(long)sizeof junk, SEEK_END);
    assert_int_equal(fwrite(junk, 1, sizeof junk, f), sizeof junk);
    fclose(f);
}

static void a_damaged_store_is_not_opened(void **state)
{
    struct place p = {.ops = store_table[0] /* sqlite */};
    struct why why = {""};

    (void)state;
    make_damaged(&p);
    assert_int_equal(p.ops->open(p.dir, NULL, &p.s, &why), ERR_IO);
    assert_non_null(strstr(why.text, "is damaged"));
    assert_non_null(strstr(why.text, "put a backup in its place"));
    dir_remove(p.dir);
}

/* It serves until the damage is found, and is then refused until another file is in its place. */
static void a_large_store_is_checked_while_it_serves(void **state)
{
    struct place p = {.ops = store_table[0] /* sqlite */}, copy = p;
    const int64_t limit = sqlite_check_at_once_bytes;
    char path[300], whole[300];
    struct why why = {""};
    enum err e = ERR_OK;

    (void)state;
    sqlite_check_at_once_bytes = 0;
    dir_temporary("tune-store", copy.dir, sizeof copy.dir, NULL);
    place_open(&copy); /* what is whole goes on */
    place_job(&copy, 1, JOB_OPEN, 0);
    place_commit(&copy);
    place_reopen(&copy);
    clock_sleep_ms(50);
    place_job(&copy, 2, JOB_OPEN, 0);
    place_commit(&copy);
    copy.ops->close(copy.s);
    make_damaged(&p);
    place_open(&p);
    for (int i = 2; !e && i < 10000; i++) {
        clock_sleep_ms(1);
        place_job(&p, i, JOB_OPEN, 0);
        e = p.ops->commit(p.s, &why);
    }
    assert_int_equal(e, ERR_IO);
    assert_non_null(strstr(why.text, "is damaged"));
    p.ops->close(p.s);
    why.text[0] = '\0';
    assert_int_equal(p.ops->open(p.dir, NULL, &p.s, &why), ERR_IO);
    assert_non_null(strstr(why.text, "is damaged"));
    snprintf(path, sizeof path, "%s/tracker.sqlite", p.dir);
    snprintf(whole, sizeof whole, "%s/tracker.sqlite", copy.dir);
    assert_int_equal(rename(whole, path), 0);
    place_open(&p);
    p.ops->close(p.s);
    dir_remove(p.dir);
    dir_remove(copy.dir);
    sqlite_check_at_once_bytes = limit;
}

/* A file whose check takes a second: it has a condition for each row, and each is slow. */
static void make_slow(const char *dir)
{
    static const char rows[] =
        "PRAGMA ignore_check_constraints = ON; CREATE TABLE slow(x CHECK(length(hex(zeroblob(1000000 + x))) > 0));"
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) INSERT INTO slow SELECT i FROM "
        "n;";
    sqlite3 *db = NULL;
    char path[300];

    snprintf(path, sizeof path, "%s/tracker.sqlite", dir);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, rows, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

/* A check that is broken off has found nothing: the next start is as if there had been none. */
static void a_check_that_is_broken_off_finds_nothing(void **state)
{
    const int64_t limit = sqlite_check_at_once_bytes;
    char dir[256], mark[300];
    struct sqlite_check *c = NULL;
    struct why why = {""};

    (void)state;
    sqlite_check_at_once_bytes = 0;
    assert_int_equal(dir_temporary("tune-store", dir, sizeof dir, NULL), ERR_OK);
    snprintf(mark, sizeof mark, "%s/damaged", dir);
    make_slow(dir);
    for (int i = 0; i < 3; i++) {
        if (sqlite_check_start(dir, &c, &why))
            fail_msg("%s", why.text);
        clock_sleep_ms(10 * i);
        assert_int_equal(sqlite_check_result(c, &why), ERR_OK);
        sqlite_check_stop(c);
        assert_int_not_equal(access(mark, F_OK), 0);
    }
    assert_int_equal(sqlite_check_result(NULL, &why), ERR_OK);
    sqlite_check_stop(NULL);
    dir_remove(dir);
    sqlite_check_at_once_bytes = limit;
}

static int64_t log_bytes(const struct place *p)
{
    struct stat st;
    char path[300];

    snprintf(path, sizeof path, "%s/tracker.sqlite-wal", p->dir);
    assert_int_equal(stat(path, &st), 0);
    return st.st_size;
}

/* Some SQLite overwrites the pages of what is dropped, which takes as long as a put. */
static void a_large_blob_that_goes_is_not_written_once_more(void **state)
{
    static char bytes[4000000];
    const struct sha256 name = sha256_of(bytes, sizeof bytes);
    struct place p = {.ops = store_table[0] /* sqlite */};
    int64_t before;

    (void)state;
    dir_temporary("tune-store", p.dir, sizeof p.dir, NULL);
    place_open(&p);
    assert_int_equal(p.ops->blob_back(p.s, name.hex, bytes, sizeof bytes), ERR_OK);
    place_commit(&p);
    before = log_bytes(&p);
    assert_int_equal(p.ops->blob_away(p.s, name.hex), ERR_OK);
    place_commit(&p);
    assert_in_range(log_bytes(&p) - before, 0, 500000);
    p.ops->close(p.s);
    dir_remove(p.dir);
}

/* As the second schema had it, with a record. */
static const char second_schema[] =
    "DROP TABLE records; DROP TABLE sums; DROP TABLE modes; ALTER TABLE jobs DROP COLUMN paused;"
    "CREATE TABLE records(job INTEGER NOT NULL, seq INTEGER NOT NULL, trial INTEGER NOT NULL UNIQUE, n INTEGER NOT "
    "NULL, line TEXT NOT NULL, status TEXT NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL, program TEXT NOT "
    "NULL, purpose TEXT NOT NULL, protocol TEXT NOT NULL, time_ns REAL NOT NULL, flops REAL NOT NULL, device_ms REAL "
    "NOT NULL, created_ms INTEGER NOT NULL, PRIMARY KEY(job, seq)) WITHOUT ROWID;"
    "CREATE INDEX records_same ON records(program, fingerprint, purpose, protocol) WHERE status = 'ok';"
    "INSERT INTO records VALUES(1, 1, 7, 7, 'line', 'ok', 'k', 'f', 'p', 'search', 'x', 4, 12, 1, 5);"
    "INSERT INTO records VALUES(1, 2, 8, 8, 'line', 'lost', 'k', '', 'p', 'search', 'x', 0, 0, 0, 5);";

/* What the first schemas lacked is made when a store of them is opened. */
static void an_older_store_is_brought_up(void **state)
{
    struct place p = {.ops = store_table[0] /* sqlite */};
    char path[300], text[64];
    const struct build_row row = {.program = "p", .arch = "sm_61", .status = "ok"};
    struct job_row job = {0};
    int64_t n_away = -1, n_bytes;
    sqlite3 *db;
    int n = 0;

    (void)state;
    dir_temporary("tune-store", p.dir, sizeof p.dir, NULL);
    snprintf(path, sizeof path, "%s/tracker.sqlite", p.dir);
    place_open(&p);
    place_job(&p, 1, JOB_OPEN, 0);
    place_trial(&p, 7, 1, TRIAL_DONE);
    place_trial(&p, 8, 1, TRIAL_LOST);
    place_commit(&p);
    p.ops->close(p.s);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, second_schema, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db,
                                  "DROP TABLE builds; DROP TABLE away; DROP INDEX blobs_large; UPDATE meta SET value = "
                                  "1 WHERE name = 'schema'",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    place_open(&p);
    place_reopen(&p);
    assert_int_equal(p.ops->each_job(p.s, 1, take_job, &job), ERR_OK);
    assert_int_equal(job.id, 1);
    assert_int_equal(job.seq, 2);
    assert_int_equal(job.n_done, 1);
    assert_int_equal(job.n_lost, 1);
    assert_true(job.best_ns == 4 && job.best_gflops == 3 && !job.paused);
    assert_int_equal(p.ops->each_record(p.s, 1, 0, 0, 10, count_records, &n), ERR_OK);
    assert_int_equal(n, 2);
    assert_int_equal(p.ops->build_put(p.s, &row), ERR_OK);
    assert_int_equal(p.ops->build_get(p.s, "p", "sm_61", print_build, text), ERR_OK);
    assert_int_equal(p.ops->away_sum(p.s, &n_away, &n_bytes), ERR_OK);
    assert_int_equal(n_away, 0);
    p.ops->close(p.s);
    dir_remove(p.dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_large_job_is_forgotten_in_steps_and_the_file_shrinks),
        cmocka_unit_test(a_damaged_store_is_not_opened),
        cmocka_unit_test(a_check_that_is_broken_off_finds_nothing),
        cmocka_unit_test(a_large_store_is_checked_while_it_serves),
        cmocka_unit_test(a_large_blob_that_goes_is_not_written_once_more),
        cmocka_unit_test(an_older_store_is_brought_up),
        cmocka_unit_test(a_store_is_nobody_else_s),
        cmocka_unit_test(a_tracker_of_an_earlier_version_keeps_others_out),
        cmocka_unit_test(a_store_of_a_newer_program_or_of_nobody_is_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
