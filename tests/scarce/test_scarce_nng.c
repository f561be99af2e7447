/* SPDX-License-Identifier: MIT */
/* Without memory in nng a tracker that serves may let requests fall, or its process end (nng itself does not look at
 * all of its allocations), but what it acknowledged is there at the next start. Some allocations fail in turn, for a
 * moment and for good, TUNE_TEST_SEED says which; --full: each, of those for good each seventh. `test_scarce_nng
 * --serve DIR N FOR_GOOD` is the tracker. */
#include "tests/scarce/every.h"
#include "tests/tracker/members.h"

#include "core/clock.h"
#include "core/file.h"
#include "core/proc.h"
#include "tracker/client.h"
#include "tracker/server.h"

#include <inttypes.h>
#include <nng/nng.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define REPLY_MS 200 /* then a request is sent again */
#define AWAY_MS 600  /* then one whose memory does not come back is given up */
#define N_TRIALS 8

static const char *program;
static int64_t seed;
static bool full;

/* ---- the tracker ---- */

enum { ENDED_WELL = 0, ENDED_FAILED = 3, ENDED_NO_START = 4 };

static int serve(const char *dir, int64_t n, bool for_good)
{
    struct tracker_options o = {.ops = store_table[0], .where = dir, .lease_ms = 30000};
    struct why why = {""};
    struct tracker *t;
    struct server *s;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (o.ops->open(dir, NULL, &o.store, &why) != ERR_OK || tracker_new(&o, &t, &why) != ERR_OK ||
        server_start(t, "tcp://127.0.0.1:0", NULL, false, &s, &why) != ERR_OK) {
        fprintf(stderr, "%s\n", why.text);
        return ENDED_NO_START;
    }
    every_only((uintptr_t)nng_msg_alloc);
    every_begin(n, for_good);
    printf("%s\n", server_url(s));
    fflush(stdout);
    while (!server_failed(s, NULL)) {
        char byte;

        if (read(STDIN_FILENO, &byte, 1) == 0) { /* the test has what it wants */
            printf("%" PRId64 " %d\n", every_count(), every_failed());
            fflush(stdout);
            _exit(ENDED_WELL);
        }
    }
    _exit(ENDED_FAILED);
}

struct served {
    pid_t pid;
    int to;     /* closed: it ends */
    FILE *from; /* its words */
    char url[128];
};

static void start(struct served *s, const char *dir, int64_t n, bool for_good)
{
    char n_text[24];
    int in[2], out[2];

    snprintf(n_text, sizeof n_text, "%" PRId64, n);
    assert_true(pipe(in) == 0 && pipe(out) == 0);
    s->pid = fork();
    assert_true(s->pid >= 0);
    if (!s->pid) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        close(in[1]);
        close(out[0]);
        execl(program, program, "--serve", dir, n_text, for_good ? "1" : "0", (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    s->to = in[1];
    s->from = fdopen(out[0], "r");
    if (!fgets(s->url, sizeof s->url, s->from))
        fail_msg("the tracker does not start");
    s->url[strcspn(s->url, "\n")] = '\0';
}

/* How it ended; *count and *failed (of its allocations) stay where it was no longer there to say so. */
static int stop(struct served *s, int64_t *count, int *failed)
{
    char line[64];
    int status = -1;

    close(s->to);
    if (fgets(line, sizeof line, s->from))
        sscanf(line, "%" SCNd64 " %d", count, failed);
    fclose(s->from);
    if (proc_wait(s->pid, 5000, &status) != ERR_OK) {
        kill(s->pid, SIGKILL);
        proc_wait(s->pid, -1, &status);
    }
    return status;
}

/* ---- its client ---- */

static enum err exchange(struct line *l, const void *bytes, size_t n_bytes, int64_t timeout_ms, struct letter *reply)
{
    return transport_nng.exchange(l, bytes, n_bytes, timeout_ms < REPLY_MS ? timeout_ms : REPLY_MS, reply);
}

/* What was acknowledged. */
struct acked {
    int n_jobs, n_trials, n_results;
    pid_t tracker;
    int64_t away_ms; /* the tracker is given up then, or when it has ended */
    bool gone;       /* it was */
};

static bool has_ended(pid_t pid)
{
    siginfo_t info = {.si_pid = 0};

    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

static bool gives_up(int64_t out_ms, const char *does, void *arg)
{
    struct acked *a = arg;

    (void)does;
    a->gone |= out_ms >= a->away_ms || has_ended(a->tracker);
    return !a->gone;
}

/* One call; errors are none but that there is no answer. */
static cJSON *ask(struct client *c, struct acked *a, const char *op, const char *format, ...)
{
    cJSON *result = NULL;
    struct why why = {""};
    va_list list;
    enum err e;

    if (!c || a->gone)
        return NULL;
    va_start(list, format);
    e = client_call(c, op, args_of(format, list), NULL, 0, &result, NULL, &why);
    va_end(list);
    if (e && e != ERR_UNREACHABLE && e != ERR_STALE)
        fail_msg("%s: %s %s", op, err_name(e), why.text);
    return result;
}

static void ask_for_all(struct client *c, struct acked *a)
{
    cJSON *r = ask(c, a, "job_submit", "{'body':'b','key':'cpu','lease':true}");
    cJSON *granted;

    a->n_jobs += r != NULL;
    cJSON_Delete(r);
    cJSON_Delete(ask(c, a, "agent_register", "{'agent':'a','nonce':'n','key':'cpu','fingerprint':'%s','device':{}}",
                     hash_of(-1)));
    for (int i = 0; a->n_jobs && i < N_TRIALS; i++) {
        r = ask(c, a, "trial_add", "{'job':'j1','token':1,'trials':[{'n':%d,'program':'%s','body':{}}]}", i,
                hash_of(i));
        a->n_trials += r != NULL;
        cJSON_Delete(r);
    }
    granted = ask(c, a, "trial_lease", "{'agent':'a','max':%d}", N_TRIALS);
    for (int i = 0; granted && i < count_in(granted, "trials"); i++) {
        const cJSON *t = item_in(granted, "trials", i);

        r = ask(c, a, "trial_result",
                "{'trial':'%s','token':%d,'envelope':{'status':'ok','time_ns':5,'device_ms':1},'record':'x'}",
                text_in(t, "trial"), (int)number_in(t, "token"));
        a->n_results += r && number_in(r, "accepted");
        cJSON_Delete(r);
    }
    cJSON_Delete(granted);
}

static void count_jobs(const struct job_row *row, void *arg)
{
    (void)row;
    ++*(int *)arg;
}

static void count_trial(const struct trial_row *row, void *arg)
{
    (void)row;
    ++*(int *)arg;
}

static bool count_record(const struct record_row *row, void *arg)
{
    (void)row;
    ++*(int *)arg;
    return true;
}

static void check(const char *dir, const struct acked *a, int64_t n)
{
    const struct store_ops *ops = store_table[0];
    int n_jobs = 0, n_live = 0, n_records = 0;
    struct why why = {""};
    struct store *s;

    if (ops->open(dir, NULL, &s, &why) != ERR_OK)
        fail_msg("allocation %" PRId64 ": %s", n, why.text);
    assert_int_equal(ops->each_job(s, 0, count_jobs, &n_jobs), ERR_OK);
    assert_int_equal(ops->each_live_trial(s, count_trial, &n_live), ERR_OK);
    assert_int_equal(ops->each_record(s, 1, 0, 0, 100, count_record, &n_records), ERR_OK);
    ops->close(s);
    if (n_jobs < a->n_jobs || n_jobs > 1 || n_live + n_records < a->n_trials || n_records < a->n_results)
        fail_msg("allocation %" PRId64 ": of %d jobs, %d trials, %d results there are %d, %d, %d", n, a->n_jobs,
                 a->n_trials, a->n_results, n_jobs, n_live + n_records, n_records);
}

/* What all lives came to. */
struct sums {
    int64_t n_lives, n_silent, n_crashed;
};

static bool live(int64_t n, bool for_good, struct sums *sums)
{
    struct transport_ops hasty = transport_nng;
    struct acked a = {.away_ms = for_good ? AWAY_MS : 50 * AWAY_MS};
    struct client_options o = {.role = "tune", .name = "test", .waiting = gives_up, .arg = &a, .transport = &hasty};
    struct client *c = NULL;
    struct served s;
    char dir[256];
    int64_t count = 0;
    int failed = 1, how;

    hasty.exchange = exchange;
    assert_int_equal(dir_temporary("tune-scarce", dir, sizeof dir, NULL), ERR_OK);
    start(&s, dir, n, for_good);
    o.url = s.url;
    a.tracker = s.pid;
    if (client_open(&o, &c, NULL) == ERR_OK)
        ask_for_all(c, &a);
    client_close(c);
    how = stop(&s, &count, &failed);
    check(dir, &a, n);
    dir_remove(dir);
    if (!for_good && how == ENDED_WELL && a.n_results < N_TRIALS)
        fail_msg("allocation %" PRId64 ": %d jobs, %d trials, %d results", n, a.n_jobs, a.n_trials, a.n_results);
    sums->n_lives++;
    sums->n_silent += a.gone && how == ENDED_WELL;
    sums->n_crashed += how != ENDED_WELL && how != ENDED_FAILED;
    return failed;
}

static void what_is_acknowledged_is_kept_whatever_becomes_of_nng(void **state)
{
    struct sums sums = {.n_lives = 0};

    (void)state;
    live(0, false, &sums);
    for (int for_good = 0; for_good < 2; for_good++)
        for (int64_t n = 1 + (full ? 0 : seed % 11); live(n, for_good, &sums); n += for_good ? (full ? 7 : 53)
                                                                                    : full   ? 1
                                                                                             : 11)
            ;
    printf("%" PRId64 " lives: in %" PRId64 " the tracker was silent in the end, in %" PRId64 " nng ended it\n",
           sums.n_lives, sums.n_silent, sums.n_crashed);
}

int main(int argc, char **argv)
{
    const char *given = getenv("TUNE_TEST_SEED");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_acknowledged_is_kept_whatever_becomes_of_nng),
    };

    if (argc == 5 && strcmp(argv[1], "--serve") == 0)
        return serve(argv[2], strtoll(argv[3], NULL, 10), atoi(argv[4]));
    if (!every_can) {
        fprintf(stderr, "skipped: malloc is the sanitizer's, or no part of glibc\n");
        return 77;
    }
    program = argv[0];
    full = argc > 1 && strcmp(argv[1], "--full") == 0;
    if (given)
        seed = (int64_t)(strtoull(given, NULL, 10) % 1000000);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
