/* SPDX-License-Identifier: MIT */
/* Every store of the table keeps the contract of tracker/store.h. `test_store NAME` holds one of them to it that needs
 * a server, which it starts. */
#include "core/file.h"
#include "core/hash.h"
#include "tests/tracker/postgres.h"
#include "tracker/store.h"
#include "tracker/store_sqlite_check.h"

#include <pthread.h>
#include <signal.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/file.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <cmocka.h>

struct place {
    const struct store_ops *ops;
    struct store *s;
    char dir[256];
};

static void open_store(struct place *p)
{
    struct why why = {""};

    if (p->ops->open(p->dir, NULL, &p->s, &why) != ERR_OK)
        fail_msg("%s", why.text);
}

static void reopen(struct place *p)
{
    p->ops->close(p->s);
    open_store(p);
}

static struct postgres server;

static bool needs_server(const struct store_ops *ops)
{
    return strcmp(ops->name, "postgres") == 0;
}

static void each_store(void (*test)(struct place *p))
{
    for (size_t i = 0; store_table[i]; i++) {
        struct place p = {.ops = store_table[i]};

        if (needs_server(p.ops) != (server.pid != 0))
            continue;
        if (server.pid)
            postgres_place(&server, p.dir, sizeof p.dir);
        else
            assert_int_equal(dir_temporary("tune-store", p.dir, sizeof p.dir, NULL), ERR_OK);
        open_store(&p);
        test(&p);
        p.ops->close(p.s);
        if (!server.pid)
            dir_remove(p.dir);
    }
}

static void put_job(struct place *p, int64_t id, enum job_state state, int64_t done_ms)
{
    const struct job_row row = {.id = id,
                                .title = "t",
                                .user = "u",
                                .key = "k",
                                .body = "body",
                                .request = "r",
                                .token = 1,
                                .state = state,
                                .done_ms = done_ms};

    assert_int_equal(p->ops->job_put(p->s, &row), ERR_OK);
}

static void put_trial(struct place *p, int64_t id, int64_t job, enum trial_state state)
{
    const struct trial_row row = {.id = id,
                                  .job = job,
                                  .n = id,
                                  .key = "k",
                                  .program = "p",
                                  .purpose = "search",
                                  .protocol = "x",
                                  .body = "{}",
                                  .state = state};

    assert_int_equal(p->ops->trial_put(p->s, &row), ERR_OK);
}

static enum err put_record(struct place *p, int64_t job, int64_t seq, int64_t trial, const char *status)
{
    const struct record_row row = {.job = job,
                                   .seq = seq,
                                   .trial = trial,
                                   .n = trial,
                                   .line = "line",
                                   .status = status,
                                   .program = "p",
                                   .fingerprint = "f",
                                   .purpose = "search",
                                   .protocol = "x",
                                   .time_ns = 2,
                                   .flops = 6};

    return p->ops->record_put(p->s, &row);
}

static void commit(struct place *p)
{
    assert_int_equal(p->ops->commit(p->s, NULL), ERR_OK);
}

static void last_job(const struct job_row *row, void *arg)
{
    struct job_row *out = arg;

    *out = *row;
    out->title = out->body = NULL;
    if (strcmp(row->title, "t") != 0 || strcmp(row->key, "k") != 0)
        out->id = -1;
}

static void count_trial(const struct trial_row *row, void *arg)
{
    int *counts = arg;

    counts[row->state]++;
}

static bool count_record(const struct record_row *row, void *arg)
{
    assert_string_equal(row->line, "line");
    ++*(int *)arg;
    return true;
}

static void add_mode(const char *agent, enum mode mode, const char *user, void *text)
{
    snprintf((char *)text + strlen(text), 64 - strlen(text), "%s %d %s;", agent, (int)mode, user);
}

static void keeps(struct place *p)
{
    const struct job_row sums = {.id = 1, .seq = 1, .n_done = 1, .n_lost = 2, .best_gflops = 3, .best_ns = 7};
    struct job_row row = {0};
    char modes[64] = "";
    int counts[5] = {0}, n = 0;
    int64_t next;

    put_job(p, 1, JOB_OPEN, 0);
    put_trial(p, 1, 1, TRIAL_OPEN);
    put_trial(p, 2, 1, TRIAL_LEASED);
    put_trial(p, 3, 1, TRIAL_DONE);
    assert_int_equal(put_record(p, 1, 1, 3, "ok"), ERR_OK);
    assert_int_equal(p->ops->sums_put(p->s, &sums), ERR_OK);
    assert_int_equal(p->ops->mode_put(p->s, "board", MODE_RESERVE, "ann"), ERR_OK);
    assert_int_equal(p->ops->mode_put(p->s, "other", MODE_DRAIN, ""), ERR_OK);
    assert_int_equal(p->ops->mode_put(p->s, "other", MODE_SERVE, ""), ERR_OK);
    commit(p);
    put_job(p, 2, JOB_OPEN, 0); /* never committed */
    reopen(p);
    assert_int_equal(p->ops->each_job(p->s, 0, last_job, &row), ERR_OK);
    assert_int_equal(row.id, 1);
    assert_int_equal(row.seq, 1);
    assert_int_equal(row.n_lost, 2);
    assert_int_equal(row.n_done, 1);
    assert_true(row.best_gflops == 3 && row.best_ns == 7);
    assert_int_equal(p->ops->each_mode(p->s, add_mode, modes), ERR_OK);
    assert_string_equal(modes, "board 2 ann;");
    assert_int_equal(p->ops->each_live_trial(p->s, count_trial, counts), ERR_OK);
    assert_int_equal(counts[TRIAL_OPEN], 1);
    assert_int_equal(counts[TRIAL_LEASED], 1);
    assert_int_equal(p->ops->each_record(p->s, 1, 0, 0, 10, count_record, &n), ERR_OK);
    assert_int_equal(n, 1);
    assert_int_equal(p->ops->next_trial(p->s, &next), ERR_OK);
    assert_int_equal(next, 4);
}

static void a_store_keeps_what_was_committed_and_no_more(void **state)
{
    (void)state;
    each_store(keeps);
}

static void keep_title(const struct job_row *row, void *arg)
{
    snprintf(arg, 32, "%s", row->title);
}

/* Nobody promised that peers' texts are UTF-8. */
static void any_bytes(struct place *p)
{
    struct job_row row = {.id = 1, .title = "\xff\x80'\\\"$1", .user = "\xc3", .body = "\xe2\x82", .request = "r"};
    char title[32] = "", modes[64] = "";

    assert_int_equal(p->ops->job_put(p->s, &row), ERR_OK);
    assert_int_equal(p->ops->mode_put(p->s, "\xfe'); DROP TABLE jobs; --", MODE_DRAIN, "\xff"), ERR_OK);
    commit(p);
    reopen(p);
    assert_int_equal(p->ops->each_job(p->s, 0, keep_title, title), ERR_OK);
    assert_string_equal(title, row.title);
    assert_int_equal(p->ops->each_mode(p->s, add_mode, modes), ERR_OK);
    assert_string_equal(modes, "\xfe'); DROP TABLE jobs; -- 1 \xff;");
}

static void texts_may_be_any_bytes(void **state)
{
    (void)state;
    each_store(any_bytes);
}

static void count_live(const struct trial_row *row, void *arg)
{
    int64_t *last = arg;

    assert_int_equal(row->id, last[0] + 1); /* in order, none left out */
    last[0]++;
}

/* More than a store may read or send at once. */
static void keeps_many(struct place *p)
{
    enum { N = 4096 + 300 };
    int64_t last = 0, next;

    put_job(p, 1, JOB_OPEN, 0);
    for (int i = 1; i <= N; i++)
        put_trial(p, i, 1, TRIAL_OPEN);
    commit(p);
    reopen(p);
    assert_int_equal(p->ops->each_live_trial(p->s, count_live, &last), ERR_OK);
    assert_int_equal(last, N);
    assert_int_equal(p->ops->cancel(p->s, 1), ERR_OK);
    commit(p);
    last = 0;
    assert_int_equal(p->ops->each_live_trial(p->s, count_live, &last), ERR_OK);
    assert_int_equal(last, 0);
    assert_int_equal(p->ops->next_trial(p->s, &next), ERR_OK);
    assert_int_equal(next, N + 1);
}

static void thousands_of_live_trials_are_loaded_in_order(void **state)
{
    (void)state;
    each_store(keeps_many);
}

static void once(struct place *p)
{
    int n = 0, counts[5] = {0};
    struct record_row like = {.program = "p", .fingerprint = "f", .purpose = "search", .protocol = "x"};

    put_job(p, 1, JOB_OPEN, 0);
    put_trial(p, 1, 1, TRIAL_LOST);
    assert_int_equal(put_record(p, 1, 1, 1, "lost"), ERR_OK);
    assert_int_equal(p->ops->record_find(p->s, &like, count_record, &n), ERR_NOT_FOUND);
    assert_int_equal(p->ops->requeue(p->s, 1, 0, count_trial, counts), ERR_OK);
    assert_int_equal(counts[TRIAL_OPEN], 1);
    assert_int_equal(put_record(p, 1, 2, 1, "ok"), ERR_OK);
    commit(p);
    if (put_record(p, 1, 3, 1, "ok") == ERR_OK) /* told later, then */
        assert_int_not_equal(p->ops->commit(p->s, NULL), ERR_OK);
    reopen(p);
    assert_int_equal(p->ops->record_find(p->s, &like, count_record, &n), ERR_OK);
    assert_int_equal(n, 1);
    commit(p);
}

static void a_trial_has_one_record_and_a_lost_one_gives_way(void **state)
{
    (void)state;
    each_store(once);
}

static void chunks(struct place *p)
{
    const char *text = "0123456789";
    const struct sha256 name = sha256_of(text, 10), other = sha256_of("x", 1);
    bool stored = false;
    int64_t total = 0;
    struct buf b;

    buf_init(&b, 100);
    assert_int_equal(p->ops->blob_put(p->s, name.hex, 6, 10, text + 6, 4, &stored), ERR_OK);
    assert_false(stored);
    assert_int_equal(p->ops->blob_put(p->s, name.hex, 6, 10, text + 6, 4, &stored), ERR_OK);
    assert_int_equal(p->ops->blob_get(p->s, name.hex, 0, 10, &total, &b), ERR_NOT_FOUND);
    assert_int_equal(p->ops->blob_put(p->s, name.hex, 0, 10, text, 6, &stored), ERR_OK);
    assert_true(stored);
    assert_int_equal(p->ops->blob_get(p->s, name.hex, 3, 4, &total, &b), ERR_OK);
    assert_string_equal(buf_text(&b), "3456");
    assert_int_equal(total, 10);
    assert_int_equal(p->ops->blob_put(p->s, other.hex, 0, 10, text, 10, &stored), ERR_INPUT);
    assert_int_equal(p->ops->blob_put(p->s, other.hex, 0, 10, text, 5, &stored), ERR_OK);
    assert_int_equal(p->ops->blob_put(p->s, other.hex, 5, 10, text, 5, &stored), ERR_INPUT);
    buf_fini(&b);
}

static void blobs_come_in_any_order_and_only_with_the_content_of_their_name(void **state)
{
    (void)state;
    each_store(chunks);
}

/* All of it; how many calls that takes. */
static int forget_before(struct place *p, int64_t before_ms)
{
    bool more = true;
    int n = 0;

    for (; more && n < 1000; n++) {
        assert_int_equal(p->ops->retain(p->s, before_ms, &more), ERR_OK);
        commit(p);
    }
    assert_false(more);
    return n;
}

static void forgets(struct place *p)
{
    struct job_row row = {0};
    int64_t next;

    put_job(p, 1, JOB_DONE, 1000);
    put_trial(p, 1, 1, TRIAL_DONE);
    put_record(p, 1, 1, 1, "ok");
    put_job(p, 2, JOB_DONE, 3000);
    put_job(p, 3, JOB_OPEN, 0);
    forget_before(p, 2000);
    assert_int_equal(p->ops->each_job(p->s, 1, last_job, &row), ERR_OK);
    assert_int_equal(row.id, 0);
    assert_int_equal(p->ops->each_job(p->s, 2, last_job, &row), ERR_OK);
    assert_int_equal(row.id, 2);
    assert_int_equal(p->ops->next_trial(p->s, &next), ERR_OK);
    assert_int_equal(next, 2); /* ids are never used again */
}

static void old_jobs_are_forgotten_and_their_ids_never_reused(void **state)
{
    (void)state;
    each_store(forgets);
}

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
    open_store(&p);
    put_job(&p, 1, JOB_DONE, 1000);
    for (int i = 1; i <= N; i++) {
        put_trial(&p, i, 1, TRIAL_DONE);
        put_record(&p, 1, i, i, "ok");
    }
    commit(&p);
    reopen(&p);
    assert_int_equal(stat(path, &before), 0);
    assert_true(forget_before(&p, 2000) >= 2 * N / 500);
    assert_int_equal(p.ops->each_record(p.s, 1, 0, 0, N, count_record, &n), ERR_OK);
    assert_int_equal(n, 0);
    p.ops->close(p.s);
    assert_int_equal(stat(path, &after), 0);
    if (after.st_size > before.st_size / 4)
        fail_msg("%lld bytes of %lld are left", (long long)after.st_size, (long long)before.st_size);
    dir_remove(p.dir);
}

static void read_build(const struct build_row *row, void *arg)
{
    snprintf(arg, 64, "%s %s %s %d %d", row->status, row->blobs, row->body, (int)row->through, (int)row->attempts);
}

static void keeps_builds(struct place *p)
{
    struct build_row row = {.program = "p", .arch = "sm_61", .attempts = 2};
    char text[64] = "";

    assert_int_equal(p->ops->build_get(p->s, "p", "sm_61", read_build, text), ERR_NOT_FOUND);
    assert_int_equal(p->ops->build_put(p->s, &row), ERR_OK);
    row =
        (struct build_row){.program = "p", .arch = "sm_61", .status = "ok", .blobs = "a b", .body = "{}", .through = 7};
    assert_int_equal(p->ops->build_put(p->s, &row), ERR_OK);
    commit(p);
    reopen(p);
    assert_int_equal(p->ops->build_get(p->s, "p", "sm_61", read_build, text), ERR_OK);
    assert_string_equal(text, "ok a b {} 7 0");
    assert_int_equal(p->ops->build_get(p->s, "p", "sm_75", read_build, text), ERR_NOT_FOUND);
    forget_before(p, INT64_C(9000000000000));
    assert_int_equal(p->ops->build_get(p->s, "p", "sm_61", read_build, text), ERR_NOT_FOUND);
}

static void a_build_is_kept_by_program_and_architecture(void **state)
{
    (void)state;
    each_store(keeps_builds);
}

static void backs_up(struct place *p)
{
    struct place copy = {.ops = p->ops};
    struct job_row row = {0};
    char path[300];
    struct why why = {""};
    int64_t n;

    put_job(p, 1, JOB_OPEN, 0);
    commit(p);
    if (!p->ops->file) {
        assert_int_equal(p->ops->backup(p->dir, "/nowhere/x", &n, &why), ERR_UNSUPPORTED);
        assert_non_null(strstr(why.text, "backed up by"));
        return;
    }
    assert_int_equal(dir_temporary("tune-backup", copy.dir, sizeof copy.dir, NULL), ERR_OK);
    snprintf(path, sizeof path, "%s/%s", copy.dir, p->ops->file);
    assert_int_equal(p->ops->backup(p->dir, path, &n, &why), ERR_OK);
    assert_int_equal(p->ops->backup(p->dir, path, &n, &why), ERR_EXISTS);
    assert_int_equal(p->ops->backup(copy.dir + 4, "/nowhere/x", &n, &why), ERR_NOT_FOUND);
    open_store(&copy);
    assert_int_equal(copy.ops->each_job(copy.s, 1, last_job, &row), ERR_OK);
    assert_int_equal(row.id, 1);
    copy.ops->close(copy.s);
    dir_remove(copy.dir);
}

struct copier {
    const struct place *from;
    char path[300];
    int64_t n_bytes;
    enum err err;
    _Atomic bool ended;
};

static void *copies(void *arg)
{
    struct copier *c = arg;

    c->err = c->from->ops->backup(c->from->dir, c->path, &c->n_bytes, NULL);
    c->ended = true;
    return NULL;
}

static void count_jobs(const struct job_row *row, void *arg)
{
    int64_t *n = arg;

    assert_int_equal(row->id, ++*n); /* without a gap */
}

/* What is committed while it is made does not hold it up, and is in it from the first to some point or not at all. */
static void backs_up_at_work(struct place *p)
{
    static char blob[3000000];
    const struct sha256 name = sha256_of(blob, sizeof blob);
    struct place copy = {.ops = p->ops};
    struct copier c = {.from = p};
    int64_t before = 3, after = 0, n = 0;
    pthread_t thread;
    bool stored;

    if (!p->ops->file)
        return;
    for (int64_t i = 1; i <= before; i++)
        put_job(p, i, JOB_OPEN, 0);
    assert_int_equal(p->ops->blob_put(p->s, name.hex, 0, sizeof blob, blob, sizeof blob, &stored), ERR_OK);
    commit(p);
    assert_int_equal(dir_temporary("tune-backup", copy.dir, sizeof copy.dir, NULL), ERR_OK);
    snprintf(c.path, sizeof c.path, "%s/%s", copy.dir, p->ops->file);
    assert_int_equal(pthread_create(&thread, NULL, copies, &c), 0);
    for (after = before; !c.ended || after == before; commit(p))
        put_job(p, ++after, JOB_OPEN, 0);
    pthread_join(thread, NULL);
    assert_int_equal(c.err, ERR_OK);
    open_store(&copy); /* reads every page */
    assert_int_equal(copy.ops->each_job(copy.s, 0, count_jobs, &n), ERR_OK);
    assert_in_range(n, before, after);
    copy.ops->close(copy.s);
    dir_remove(copy.dir);
}

static void a_backup_is_made_while_others_write(void **state)
{
    (void)state;
    each_store(backs_up_at_work);
}

static void a_backup_of_an_open_store_is_a_store(void **state)
{
    (void)state;
    each_store(backs_up);
}

/* No file may grow beyond this; 0: any size. */
static void limit_files(rlim_t n_bytes)
{
    static struct rlimit before;
    struct rlimit now;

    if (n_bytes)
        assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    now = before;
    now.rlim_cur = n_bytes ? n_bytes : before.rlim_cur;
    signal(SIGXFSZ, n_bytes ? SIG_IGN : SIG_DFL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &now), 0);
}

/* The disk is full in its middle: nothing is left of it, and the next one need not care. */
static void backs_up_again(struct place *p)
{
    char dir[256], path[300], part[310];
    struct why why = {""};
    int64_t n = -1;
    enum err e;

    put_job(p, 1, JOB_OPEN, 0);
    commit(p);
    assert_int_equal(dir_temporary("tune-backup", dir, sizeof dir, NULL), ERR_OK);
    snprintf(path, sizeof path, "%s/%s", dir, p->ops->file);
    snprintf(part, sizeof part, "%s.part", path);
    limit_files(8192);
    e = p->ops->backup(p->dir, path, &n, &why);
    limit_files(0);
    assert_int_equal(e, ERR_IO);
    assert_true(why.text[0] && n == -1);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_not_equal(access(part, F_OK), 0);
    if (p->ops->backup(p->dir, path, &n, &why))
        fail_msg("after one that failed: %s", why.text);
    assert_true(n > 8192);
    dir_remove(dir);
}

static void a_backup_that_failed_leaves_nothing(void **state)
{
    (void)state;
    each_store(backs_up_again);
}

static void a_store_is_chosen_by_name_else_the_first_is_meant(void **state)
{
    static const char *const dirs[] = {"sqlite", "/var/lib/x:y", "./clouds:7"};
    const struct store_ops *ops = NULL;
    const char *dir = NULL;
    struct why why = {""};

    (void)state;
    for (size_t i = 0; store_table[i]; i++) {
        char text[64];

        snprintf(text, sizeof text, "%s:/var/lib/x:y", store_table[i]->name);
        assert_int_equal(store_parse(text, &ops, &dir, NULL), ERR_OK);
        assert_ptr_equal(ops, store_table[i]);
        assert_string_equal(dir, "/var/lib/x:y");
    }
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
        assert_int_equal(store_parse(dirs[i], &ops, &dir, NULL), ERR_OK);
        assert_ptr_equal(ops, store_table[0]);
        assert_string_equal(dir, dirs[i]);
    }
    assert_int_equal(store_parse("clouds:7", &ops, &dir, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "'clouds' is no kind of store"));
    assert_non_null(strstr(why.text, "./clouds:7"));
    assert_int_equal(store_parse(":7", &ops, &dir, NULL), ERR_INPUT);
}

static void alone(struct place *p)
{
    struct store *second = NULL;
    struct why why = {""};
    char lock[300];

    assert_int_equal(p->ops->open(p->dir, NULL, &second, &why), ERR_BUSY);
    snprintf(lock, sizeof lock, "%s/lock", p->dir);
    unlink(lock); /* somebody cleans up */
    assert_int_equal(p->ops->open(p->dir, NULL, &second, &why), ERR_BUSY);
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

static void a_second_tracker_is_kept_out(void **state)
{
    (void)state;
    each_store(alone);
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
    assert_int_equal(sqlite3_exec(db, "UPDATE meta SET value = 99", NULL, NULL, NULL), SQLITE_OK);
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
    open_store(p);
    put_job(p, 1, JOB_OPEN, 0);
    for (int i = 1; i <= 300; i++) {
        put_trial(p, i, 1, TRIAL_DONE);
        assert_int_equal(put_record(p, 1, i, i, "ok"), ERR_OK);
    }
    commit(p);
    reopen(p);
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
    open_store(&copy); /* what is whole goes on */
    put_job(&copy, 1, JOB_OPEN, 0);
    commit(&copy);
    reopen(&copy);
    clock_sleep_ms(50);
    put_job(&copy, 2, JOB_OPEN, 0);
    commit(&copy);
    copy.ops->close(copy.s);
    make_damaged(&p);
    open_store(&p);
    for (int i = 2; !e && i < 10000; i++) {
        clock_sleep_ms(1);
        put_job(&p, i, JOB_OPEN, 0);
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
    open_store(&p);
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
    sqlite3 *db;
    int n = 0;

    (void)state;
    dir_temporary("tune-store", p.dir, sizeof p.dir, NULL);
    snprintf(path, sizeof path, "%s/tracker.sqlite", p.dir);
    open_store(&p);
    put_job(&p, 1, JOB_OPEN, 0);
    put_trial(&p, 7, 1, TRIAL_DONE);
    put_trial(&p, 8, 1, TRIAL_LOST);
    commit(&p);
    p.ops->close(p.s);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, second_schema, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(db, "DROP TABLE builds; UPDATE meta SET value = 1 WHERE name = 'schema'", NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_close(db);
    open_store(&p);
    reopen(&p);
    assert_int_equal(p.ops->each_job(p.s, 1, last_job, &job), ERR_OK);
    assert_int_equal(job.id, 1);
    assert_int_equal(job.seq, 2);
    assert_int_equal(job.n_done, 1);
    assert_int_equal(job.n_lost, 1);
    assert_true(job.best_ns == 4 && job.best_gflops == 3 && !job.paused);
    assert_int_equal(p.ops->each_record(p.s, 1, 0, 0, 10, count_record, &n), ERR_OK);
    assert_int_equal(n, 2);
    assert_int_equal(p.ops->build_put(p.s, &row), ERR_OK);
    assert_int_equal(p.ops->build_get(p.s, "p", "sm_61", read_build, text), ERR_OK);
    p.ops->close(p.s);
    dir_remove(p.dir);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest of_each[] = {
        cmocka_unit_test(a_store_keeps_what_was_committed_and_no_more),
        cmocka_unit_test(texts_may_be_any_bytes),
        cmocka_unit_test(thousands_of_live_trials_are_loaded_in_order),
        cmocka_unit_test(a_trial_has_one_record_and_a_lost_one_gives_way),
        cmocka_unit_test(blobs_come_in_any_order_and_only_with_the_content_of_their_name),
        cmocka_unit_test(old_jobs_are_forgotten_and_their_ids_never_reused),
        cmocka_unit_test(a_build_is_kept_by_program_and_architecture),
        cmocka_unit_test(a_backup_of_an_open_store_is_a_store),
        cmocka_unit_test(a_backup_is_made_while_others_write),
        cmocka_unit_test(a_second_tracker_is_kept_out),
    };
    const struct CMUnitTest of_sqlite[] = {
        cmocka_unit_test(a_large_job_is_forgotten_in_steps_and_the_file_shrinks),
        cmocka_unit_test(a_damaged_store_is_not_opened),
        cmocka_unit_test(a_check_that_is_broken_off_finds_nothing),
        cmocka_unit_test(a_large_store_is_checked_while_it_serves),
        cmocka_unit_test(an_older_store_is_brought_up),
        cmocka_unit_test(a_backup_that_failed_leaves_nothing),
        cmocka_unit_test(a_store_is_chosen_by_name_else_the_first_is_meant),
        cmocka_unit_test(a_tracker_of_an_earlier_version_keeps_others_out),
        cmocka_unit_test(a_store_of_a_newer_program_or_of_nobody_is_left_alone),
    };
    int n_failed;

    (void)argv;
    if (argc > 1 && !postgres_start(&server))
        return 77;
    n_failed = cmocka_run_group_tests(of_each, NULL, NULL);
    if (argc > 1)
        postgres_stop(&server);
    else
        n_failed += cmocka_run_group_tests(of_sqlite, NULL, NULL);
    return n_failed;
}
