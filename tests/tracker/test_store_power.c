/* SPDX-License-Identifier: MIT */
/* A power cut, on a disk that has of a file what it had when it was synced last, and of a directory the names that it
 * had then. Syncs are noted here in the place of libc's, SQLite's among them; the cut is a directory of what is left.
 */
#include "core/buf.h"
#include "core/clock.h"
#include "core/file.h"
#include "tests/tracker/store_place.h"
#include "tracker/store.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define N_NAMES 16

static const struct store_ops *ops;
static struct store *s;
static char dir[256], disk[256], left[256]; /* the store's; files as they were synced, by inode; behind the cut */

/* ---- the disk ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_t main_thread;
static atomic_bool is_noted, others_hang; /* syncs; those of other threads */
static struct {
    char name[64];
    unsigned long long inode;
} names[N_NAMES];
static int n_names;

static void note_names(void)
{
    DIR *d = opendir(dir);

    n_names = 0;
    for (const struct dirent *e; d && n_names < N_NAMES && (e = readdir(d)) != NULL;) {
        if (e->d_name[0] == '.')
            continue;
        names[n_names].inode = (unsigned long long)e->d_ino;
        snprintf(names[n_names++].name, sizeof names[0].name, "%.63s", e->d_name);
    }
    closedir(d);
}

static void note_content(int fd, const struct stat *st)
{
    static char some[1 << 20];
    char path[300];
    off_t at = 0;
    ssize_t n;
    int out;

    snprintf(path, sizeof path, "%s/%llu", disk, (unsigned long long)st->st_ino);
    out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    for (; (n = pread(fd, some, sizeof some, at)) > 0; at += n)
        if (write(out, some, (size_t)n) != n)
            abort();
    close(out);
}

static int note(int fd)
{
    char link[64], path[600] = "";
    struct stat st;

    while (atomic_load(&others_hang) && !pthread_equal(pthread_self(), main_thread))
        clock_sleep_ms(1);
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (!atomic_load(&is_noted) || fstat(fd, &st) != 0 || readlink(link, path, sizeof path - 1) < 0 ||
        strncmp(path, dir, strlen(dir)) != 0)
        return 0;
    pthread_mutex_lock(&lock);
    if (S_ISDIR(st.st_mode))
        note_names();
    else
        note_content(fd, &st);
    pthread_mutex_unlock(&lock);
    return 0;
}

int fdatasync(int fd)
{
    return note(fd);
}

int fsync(int fd)
{
    return note(fd);
}

/* What the disk has goes to `left`. A file whose name alone is there is empty. */
static void cut_power(void)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < n_names; i++) {
        char path[400];
        struct buf b;

        buf_init(&b, (size_t)64 << 20);
        snprintf(path, sizeof path, "%.255s/%llu", disk, names[i].inode);
        file_read(path, &b, NULL);
        snprintf(path, sizeof path, "%.255s/%.63s", left, names[i].name);
        if (!strstr(path, "-shm") && file_append(path, buf_text(&b), b.len, false, NULL) != ERR_OK)
            abort();
        buf_fini(&b);
    }
    _exit(0);
}

/* ---- stores ---- */

static int set_up(void **state)
{
    (void)state;
    ops = store_table[0];
    place_now_ns = 0;
    main_thread = pthread_self();
    return dir_temporary("tune-store", dir, sizeof dir, NULL) != ERR_OK ||
           dir_temporary("tune-disk", disk, sizeof disk, NULL) != ERR_OK ||
           dir_temporary("tune-left", left, sizeof left, NULL) != ERR_OK;
}

static int tear_down(void **state)
{
    (void)state;
    dir_remove(dir);
    dir_remove(disk);
    dir_remove(left);
    return 0;
}

static void open_at(const char *where)
{
    s = place_open_at(ops, &place_clock, where);
}

static void put_job(int64_t id, const char *body)
{
    const struct job_row row = {.id = id, .title = "t", .body = body, .token = 1};

    assert_int_equal(ops->job_put(s, &row), ERR_OK);
    assert_int_equal(ops->commit(s, NULL), ERR_OK);
}

static void flush(void)
{
    assert_int_equal(ops->flush(s, NULL), ERR_OK);
}

static void count_job(const struct job_row *row, void *n)
{
    assert_int_equal(row->id, ++*(int64_t *)n);
}

static void count_mode(const char *agent, enum mode mode, const char *user, void *n)
{
    (void)agent, (void)mode, (void)user;
    ++*(int64_t *)n;
}

/* `work` in a process of its own, which ends by a cut. */
static void run_and_cut(void (*work)(void))
{
    int status = 1;
    pid_t pid;

    fflush(stdout);
    pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        atomic_store(&is_noted, true);
        main_thread = pthread_self();
        open_at(dir);
        work();
        cut_power();
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void expect_at(const char *where, int64_t n_jobs, int64_t n_modes)
{
    int64_t n = 0, m = 0;

    open_at(where);
    assert_int_equal(ops->each_job(s, 0, count_job, &n), ERR_OK);
    assert_int_equal(ops->each_mode(s, count_mode, &m), ERR_OK);
    assert_int_equal(n, n_jobs);
    assert_int_equal(m, n_modes);
    ops->close(s);
}

static void cut_behind(void (*work)(void), int64_t n_jobs, int64_t n_modes)
{
    run_and_cut(work);
    expect_at(left, n_jobs, n_modes);
}

/* ---- facts ---- */

static void one_job(void)
{
    put_job(1, "b");
    flush();
}

static void the_first_thing_that_was_flushed_is_there(void **state)
{
    (void)state;
    cut_behind(one_job, 1, 0);
}

/* What the journal is not told, and then what it is. */
static void untold_and_told(void)
{
    put_job(1, "b");
    assert_int_equal(ops->mode_put(s, "p", MODE_DRAIN, ""), ERR_OK);
    assert_int_equal(ops->commit(s, NULL), ERR_OK);
    flush();
    put_job(2, "b");
    flush();
}

static void what_the_journal_was_not_told_is_there(void **state)
{
    (void)state;
    cut_behind(untold_and_told, 2, 1);
}

/* The journal goes on in its other file between two flushes, and would once more if the database's log were on the
 * disk, which is not: the thread that brings it there hangs. */
static void long_life(void)
{
    static char body[65536];

    memset(body, 'x', sizeof body - 1);
    atomic_store(&others_hang, true);
    for (int64_t id = 1; id <= 180; id++) {
        put_job(id, body);
        if (id % 10 == 0)
            flush();
    }
}

static void nothing_is_lost_where_the_journal_goes_on_in_its_other_file(void **state)
{
    (void)state;
    cut_behind(long_life, 180, 0);
}

/* Then SQLite brings nothing into the database with its end, and the journal goes. */
static void closed_while_read(void)
{
    char path[300];
    sqlite3 *other;

    put_job(1, "b");
    put_job(2, "b");
    flush();
    snprintf(path, sizeof path, "%s/tracker.sqlite", dir);
    assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN; SELECT count(*) FROM jobs", NULL, NULL, NULL), SQLITE_OK);
    ops->close(s);
    note_names(); /* which the system may write at any time */
}

static void a_store_that_is_closed_while_another_reads_it_is_there(void **state)
{
    (void)state;
    cut_behind(closed_while_read, 2, 0);
}

static void backed_up(void)
{
    char path[300];
    int64_t n;

    put_job(1, "b");
    snprintf(path, sizeof path, "%s/copy", dir);
    assert_int_equal(ops->backup(dir, path, &n, NULL), ERR_OK);
}

static void a_backup_that_was_made_is_there(void **state)
{
    char copy[300], where[300], path[400];

    (void)state;
    run_and_cut(backed_up);
    snprintf(copy, sizeof copy, "%s/copy", left);
    snprintf(where, sizeof where, "%s/backup", left);
    snprintf(path, sizeof path, "%s/tracker.sqlite", where);
    assert_int_equal(dir_make(where, 0700, NULL), ERR_OK);
    assert_int_equal(rename(copy, path), 0);
    expect_at(where, 1, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_first_thing_that_was_flushed_is_there),
        TEST(what_the_journal_was_not_told_is_there),
        TEST(nothing_is_lost_where_the_journal_goes_on_in_its_other_file),
        TEST(a_store_that_is_closed_while_another_reads_it_is_there),
        TEST(a_backup_that_was_made_is_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
