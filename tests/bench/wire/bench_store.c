/* SPDX-License-Identifier: MIT */
/* A tracker over a store of many trials: how long it takes to start, and the longest that each call takes. Writes
 * the store's file itself. Usage: bench_store [trials] [rounds] [cold]. */
#include "tests/tracker/farm.h"

#include "core/clock.h"
#include "core/hash.h"

#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define TRIALS_OF_JOB 1000
#define LIVE_OF_JOB 1000 /* of each of the last N_LIVE jobs */
#define N_LIVE 4
#define N_LOST 4000     /* of the job before them */
#define LINE_BYTES 1400 /* of a record */
#define BATCH 64

static int64_t n_trials = 3000;
static int n_rounds = 4;
static bool is_cold; /* calls begin with nothing of the store in memory */

/* ---- the store ---- */

/* $first, $n, $job, $state: trials of a job with their records, and what they come to. */
static const char trials_sql[] =
    "WITH RECURSIVE i(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM i WHERE n + 1 < ?2)"
    " INSERT INTO trials SELECT ?1 + n, ?3, n, 'cpu', '', name_of(?1 + n), '', 'search', 'rounds-1',"
    " '{\"seed\":7,\"pad\":\"' || printf('%0300d', n) || '\"}', ?4, ?4 > 0, 0, '', 0 FROM i";
static const char records_sql[] =
    "INSERT INTO records SELECT id, job, n + 1, n, printf('%01400d', id), CASE ?4 WHEN 3 THEN 'lost' ELSE 'ok' END, "
    "'cpu', name_of(1), program, 'search', 'rounds-1', 1e6, 1e9, 10, 1 FROM trials WHERE id >= ?1 AND id < ?1 + ?2 AND "
    "job = ?3 AND ?4 > 1";
static const char sums_sql[] =
    "INSERT INTO sums VALUES(?3, CASE WHEN ?4 > 1 THEN ?2 ELSE 0 END, CASE ?4 WHEN 2 THEN ?2 "
    "ELSE 0 END, CASE ?4 WHEN 3 THEN ?2 ELSE 0 END, 1000, 1e6 + 0 * ?1)";
static const char job_sql[] =
    "INSERT INTO jobs(id, title, user, key, body, request, priority, created_ms, done_ms, "
    "state, token, leased) VALUES(?3, 'a job', 'user' || (?3 % 20), 'cpu', 'b', "
    "printf('%032x', ?3), 0, 1 + 0 * ?1, ?4 = 2, CASE ?4 WHEN 2 THEN 1 ELSE 0 END, 1, 0 * ?2)";

struct maker {
    sqlite3 *db;
    sqlite3_stmt *stmt[4];
    int64_t n_trials, n_jobs;
};

static void name_of(sqlite3_context *c, int n, sqlite3_value **v)
{
    (void)n;
    sqlite3_result_text(c, hash_of(sqlite3_value_int(v[0])), -1, SQLITE_TRANSIENT);
}

static void sql(struct maker *m, const char *text)
{
    if (sqlite3_exec(m->db, text, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", text, sqlite3_errmsg(m->db));
}

static int64_t make_job(struct maker *m, int64_t n, int state)
{
    const int64_t values[4] = {m->n_trials + 1, n, ++m->n_jobs, state};

    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < 4; k++)
            sqlite3_bind_int64(m->stmt[i], k + 1, values[k]);
        if (sqlite3_step(m->stmt[i]) != SQLITE_DONE)
            fail_msg("%s", sqlite3_errmsg(m->db));
        sqlite3_reset(m->stmt[i]);
    }
    m->n_trials += n;
    return m->n_jobs;
}

/* A tenth of all in one job, the others by the thousand; one job's are lost, some wait. Written past the store's table,
 * with the one index of hashes made at the end: else it takes many times as long. */
static void make_store(const struct farm *f, int64_t *large, int64_t *lost)
{
    static const char *const texts[] = {job_sql, trials_sql, records_sql, sums_sql};
    struct maker m = {.n_trials = 0};
    char path[320];

    snprintf(path, sizeof path, "%s/store/tracker.sqlite", f->dir);
    assert_int_equal(sqlite3_open(path, &m.db), SQLITE_OK);
    sqlite3_create_function(m.db, "name_of", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, name_of, NULL, NULL);
    sql(&m, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -400000; BEGIN; DROP INDEX "
            "records_same");
    for (int i = 0; i < 4; i++)
        if (sqlite3_prepare_v2(m.db, texts[i], -1, &m.stmt[i], NULL) != SQLITE_OK)
            fail_msg("%s: %s", texts[i], sqlite3_errmsg(m.db));
    *large = make_job(&m, n_trials / 10, 2);
    while (m.n_trials + TRIALS_OF_JOB <= n_trials)
        make_job(&m, TRIALS_OF_JOB, 2);
    *lost = make_job(&m, n_trials < N_LOST ? 100 : N_LOST, 3);
    for (int i = 0; i < N_LIVE; i++)
        make_job(&m, LIVE_OF_JOB, 0);
    sql(&m, "UPDATE jobs SET state = 0, done_ms = 0 WHERE id = 1");
    sql(&m,
        "CREATE INDEX records_same ON records(program, fingerprint, purpose, protocol) WHERE status = 'ok'; COMMIT");
    for (int i = 0; i < 4; i++)
        sqlite3_finalize(m.stmt[i]);
    sql(&m, "PRAGMA journal_mode = WAL");
    sqlite3_close(m.db);
}

static void forget_pages(const struct farm *f)
{
    char path[320];
    struct stat st;
    int fd;

    snprintf(path, sizeof path, "%s/store/tracker.sqlite", f->dir);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    assert(fd >= 0);
    fsync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    fstat(fd, &st);
    close(fd);
    printf("store of %lld trials: %.2f GB\n", (long long)n_trials, (double)st.st_size / 1e9);
}

/* What a tracker has in memory after some minutes. */
static void read_all(const struct farm *f)
{
    static char slice[1 << 20];
    char path[320];
    int fd;

    snprintf(path, sizeof path, "%s/store/tracker.sqlite", f->dir);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    assert(fd >= 0);
    while (read(fd, slice, sizeof slice) > 0)
        ;
    close(fd);
}

/* ---- calls ---- */

static struct figure {
    char op[40];
    double worst_ms, sum_ms;
    int n;
} figures[40];
static pthread_mutex_t figures_lock = PTHREAD_MUTEX_INITIALIZER;

static void note(const char *what, double ms)
{
    struct figure *f = figures;

    pthread_mutex_lock(&figures_lock);
    while (f->op[0] && strcmp(f->op, what) != 0)
        f++;
    assert(f < figures + 39);
    snprintf(f->op, sizeof f->op, "%s", what);
    f->n++;
    f->sum_ms += ms;
    f->worst_ms = ms > f->worst_ms ? ms : f->worst_ms;
    pthread_mutex_unlock(&figures_lock);
}

static cJSON *timed(struct client *c, const char *what, const char *op, const char *args)
{
    const int64_t start_ns = clock_now_ns();
    cJSON *r = farm_must(c, op, "%s", args);

    note(what, (double)(clock_now_ns() - start_ns) / 1e6);
    return r;
}

static void once(struct client *c, const char *what, const char *op, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static void once(struct client *c, const char *what, const char *op, const char *format, ...)
{
    static char args[100000];
    va_list list;

    va_start(list, format);
    vsnprintf(args, sizeof args, format, list);
    va_end(list);
    cJSON_Delete(timed(c, what, op, args));
}

/* All jobs and the large one's records, page by page. */
static void read_pages(struct client *c, int64_t large)
{
    int64_t at = 0, next;
    char args[120];
    cJSON *r;

    do {
        snprintf(args, sizeof args, "{'before':%lld}", (long long)at);
        r = timed(c, "job_list", "job_list", args);
        at = (int64_t)number_in(r, "next");
        cJSON_Delete(r);
    } while (at);
    for (next = 0, at = -1; next != at;) {
        at = next;
        snprintf(args, sizeof args, "{'job':'j%lld','after':%lld,'max':1024}", (long long)large, (long long)at);
        r = timed(c, "record_wait of 1024", "record_wait", args);
        next = (int64_t)number_in(r, "next");
        cJSON_Delete(r);
    }
}

static void add(struct client *c, const char *what, const char *job, int n, int first_program)
{
    static char args[60000];
    int at = snprintf(args, sizeof args, "{'job':'%s','token':1,'trials':[", job);

    for (int i = 0; i < BATCH; i++)
        at += snprintf(args + at, sizeof args - (size_t)at,
                       "%s{'n':%d,'key':'new','fingerprint':'%s','protocol':'rounds-1','program':'%s','body':{}}",
                       i ? "," : "", n + i, hash_of(1), hash_of(first_program + i));
    snprintf(args + at, sizeof args - (size_t)at, "]}");
    cJSON_Delete(timed(c, what, "trial_add", args));
}

/* The life of a job: added, some answered from the store, leased, renewed, answered, cancelled. */
static void live(struct client *c, int round)
{
    const cJSON *t;
    char job[24];
    cJSON *r = timed(c, "job_submit", "job_submit", "{'key':'new','body':'b','lease':true}");

    snprintf(job, sizeof job, "%s", text_in(r, "job"));
    cJSON_Delete(r);
    add(c, "trial_add of 64, in the store", job, 0, 1 + round * BATCH);
    for (int i = 1; i < 20; i++)
        add(c, "trial_add of 64", job, i * BATCH, (int)n_trials + 100000 + (round * 20 + i) * BATCH);
    r = timed(c, "trial_lease of 64", "trial_lease", "{'agent':'a','key':'new','max':64}");
    cJSON_ArrayForEach(t, cJSON_GetObjectItem(r, "trials"))
    {
        const long long token = (long long)number_in(t, "token");

        once(c, "trial_renew", "trial_renew", "{'agent':'a','trials':[{'trial':'%s','token':%lld}]}",
             text_in(t, "trial"), token);
        once(c, "trial_result", "trial_result",
             "{'trial':'%s','token':%lld,'envelope':{'status':'ok','time_ns':1,'flops':1,'device_ms':1},'record':'%0*d'"
             "}",
             text_in(t, "trial"), token, LINE_BYTES, 1);
    }
    cJSON_Delete(r);
    once(c, "job_status", "job_status", "{'job':'%s'}", job);
    once(c, "job_cancel", "job_cancel", "{'job':'%s'}", job);
}

static void old_ones(struct client *c, int64_t large, int64_t lost)
{
    once(c, "job_status of the largest", "job_status", "{'job':'j%lld'}", (long long)large);
    once(c, "requeue of a job", "requeue", "{'job':'j%lld'}", (long long)lost);
    once(c, "job_pause", "job_pause", "{'job':'j%lld'}", (long long)lost);
    once(c, "job_cancel of the largest", "job_cancel", "{'job':'j%lld'}", (long long)large);
    once(c, "job_cancel of a requeued one", "job_cancel", "{'job':'j%lld'}", (long long)lost);
}

/* How long a small call waits for the others. */
struct probe {
    const struct farm *farm;
    atomic_bool stop;
    const char *what;
};

static void *probe_main(void *arg)
{
    struct probe *p = arg;
    struct client *c = farm_client(p->farm, "probe");

    while (!p->stop) {
        cJSON_Delete(timed(c, p->what, "status", "{}"));
        clock_sleep_ms(2);
    }
    client_close(c);
    return NULL;
}

static void measure(const struct farm *f, int64_t large, int64_t lost)
{
    struct probe idle = {.farm = f, .what = "status beside all"},
                 at_backup = {.farm = f, .what = "status beside backup"};
    struct client *c = farm_client(f, "bench");
    pthread_t thread;
    int64_t start_ns;

    farm_do(c, "agent_register", "{'agent':'a','nonce':'n','key':'new','fingerprint':'%s'}", hash_of(1));
    pthread_create(&thread, NULL, probe_main, &idle);
    for (int i = 0; i < n_rounds; i++)
        live(c, i);
    read_pages(c, large);
    old_ones(c, large, lost);
    idle.stop = true;
    pthread_join(thread, NULL);
    start_ns = clock_now_ns();
    pthread_create(&thread, NULL, probe_main, &at_backup);
    for (bool done = false; !done;) {
        cJSON *r = farm_must(c, "backup", "{'path':'%s/copy','wait_ms':5000}", f->dir);

        done = cJSON_IsTrue(cJSON_GetObjectItem(r, "done"));
        cJSON_Delete(r);
    }
    at_backup.stop = true;
    pthread_join(thread, NULL);
    printf("backup by wire: %.1f s\n", (double)(clock_now_ns() - start_ns) / 1e9);
    client_close(c);
}

static void bench(void **state)
{
    struct farm f = {.more = {"--allow-backup", NULL}};
    int64_t start_ns, large, lost;

    (void)state;
    farm_start(&f);
    farm_crash(&f);
    start_ns = clock_now_ns();
    make_store(&f, &large, &lost);
    forget_pages(&f);
    printf("made in %.1f s\n", (double)(clock_now_ns() - start_ns) / 1e9);
    for (int i = 0; i < 2; i++) {
        start_ns = clock_now_ns();
        farm_restart(&f);
        printf("start, %s: %.2f s\n", i ? "again" : "nothing in memory", (double)(clock_now_ns() - start_ns) / 1e9);
        if (!i)
            farm_crash(&f);
    }
    if (!is_cold)
        read_all(&f);
    measure(&f, large, lost);
    for (const struct figure *g = figures; g->op[0]; g++)
        printf("%-32s %6d calls, mean %8.2f ms, worst %8.2f ms\n", g->op, g->n, g->sum_ms / g->n, g->worst_ms);
    farm_stop(&f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bench)};

    if (argc > 1)
        n_trials = strtoll(argv[1], NULL, 10);
    if (argc > 2)
        n_rounds = (int)strtol(argv[2], NULL, 10);
    is_cold = argc > 3 && strcmp(argv[3], "cold") == 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
