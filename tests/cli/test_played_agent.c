/* SPDX-License-Identifier: MIT */
/* What `tune` makes of answers that come when the test wants: a real tracker, and an agent that the test plays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/clock.h"
#include "logs/log.h"
#include "tests/cli/shell.h"
#include "tests/libtune/sample_layer.h"
#include "tests/tracker/farm.h"
#include "tuner/job.h"

#define KEY "sample-cpu"
#define TEMPLATE "dense/gemm_direct"

static const char *const workloads[] = {"dense f32 m=8 n=16 k=16", "dense f32 m=4 n=32 k=8"};
static struct farm farm;
static struct client *agent;
static struct record samples[2]; /* good records of the workloads, on the agent's device */

static cJSON *call(const char *op, cJSON *args)
{
    cJSON *result = NULL;
    struct why why = {""};

    if (client_call(agent, op, args, NULL, 0, &result, NULL, &why))
        fail_msg("%s: %s", op, why.text);
    return result;
}

static void register_agent(void)
{
    cJSON *args = cJSON_CreateObject();

    cJSON_AddStringToObject(args, "agent", "a1");
    cJSON_AddStringToObject(args, "nonce", "n");
    cJSON_AddStringToObject(args, "key", KEY);
    cJSON_AddStringToObject(args, "fingerprint", samples[0].fingerprint.hex);
    cJSON_AddItemToObject(args, "device", cJSON_Duplicate(samples[0].device, true));
    cJSON_Delete(call("agent_register", args));
}

/* The next n trials, as soon as so many are there. */
static cJSON *lease(int n)
{
    cJSON *all = cJSON_CreateArray();

    for (int i = 0; i < 2000 && cJSON_GetArraySize(all) < n; i++) {
        cJSON *r = farm_must(agent, "trial_lease", "{'agent':'a1','max':%d}", n - cJSON_GetArraySize(all)), *one;

        while ((one = cJSON_DetachItemFromArray(cJSON_GetObjectItem(r, "trials"), 0)) != NULL)
            cJSON_AddItemToArray(all, one);
        cJSON_Delete(r);
        clock_sleep_ms(10);
    }
    assert_int_equal(cJSON_GetArraySize(all), n);
    return all;
}

/* Answers a trial with a record like that one: timed, or failed where time_ns is 0. */
static void answer(const cJSON *trial, const struct record *like, double time_ns)
{
    cJSON *args = cJSON_CreateObject(), *envelope = cJSON_AddObjectToObject(args, "envelope");
    struct record r;
    struct buf line;

    assert_int_equal(record_copy(&r, like), ERR_OK);
    snprintf(r.program.hex, sizeof r.program.hex, "%s", text_in(trial, "program"));
    snprintf(r.id, sizeof r.id, "%s", text_in(trial, "trial"));
    snprintf(r.stage, sizeof r.stage, "%s", time_ns > 0 ? "" : "time");
    r.status = time_ns > 0 ? STATUS_OK : STATUS_CRASH;
    r.time_ns = time_ns;
    buf_init(&line, RECORD_MAX_BYTES);
    assert_int_equal(record_print(&r, &line), ERR_OK);
    cJSON_AddStringToObject(args, "trial", text_in(trial, "trial"));
    cJSON_AddNumberToObject(args, "token", (double)number_in(trial, "token"));
    cJSON_AddStringToObject(envelope, "key", KEY);
    cJSON_AddStringToObject(envelope, "fingerprint", r.fingerprint.hex);
    cJSON_AddStringToObject(envelope, "program", r.program.hex);
    cJSON_AddStringToObject(envelope, "status", status_name(r.status));
    cJSON_AddNumberToObject(envelope, "time_ns", time_ns);
    cJSON_AddNumberToObject(envelope, "flops", r.flops);
    cJSON_AddNumberToObject(envelope, "device_ms", 1);
    line.data[line.len - 1] = '\0'; /* the end of the line */
    cJSON_AddStringToObject(args, "record", line.data);
    cJSON_Delete(call("trial_result", args));
    buf_fini(&line);
    record_fini(&r);
}

static bool count(const struct record *r, const char *line, size_t n, void *arg)
{
    (void)r;
    (void)line;
    (void)n;
    ++*(int *)arg;
    return true;
}

/* The first record comes with the poll that waits for it, the second is at the tracker when Ctrl-C is seen. */
static void records_on_their_way_at_an_interrupt_are_kept(void **state)
{
    const char *log = tune_at(farm.dir, "interrupted.jsonl"), *path = tune_at(farm.dir, "interrupted");
    const pid_t pid =
        tune_start(path, (const char *const[]){"run", workloads[0], "--tracker", farm.url, "--key", KEY, "--template",
                                               TEMPLATE, "--trials", "8", "-q", "-o", log, NULL});
    cJSON *first = lease(1), *trials; /* the default comes before all others */
    struct buf said;
    int n = 0;

    (void)state;
    buf_init(&said, 1 << 20);
    answer(cJSON_GetArrayItem(first, 0), &samples[0], 3000);
    trials = lease(2);
    assert_int_equal(kill(pid, SIGSTOP), 0);
    answer(cJSON_GetArrayItem(trials, 0), &samples[0], 2000);
    answer(cJSON_GetArrayItem(trials, 1), &samples[0], 1000);
    assert_int_equal(kill(pid, SIGINT), 0);
    assert_int_equal(kill(pid, SIGCONT), 0);
    if (tool_said(pid, path, &said) != 4)
        fail_msg("%s", buf_text(&said));
    assert_int_equal(log_scan(log, count, NULL, &n, NULL), ERR_OK);
    assert_int_equal(n, 3);
    cJSON_Delete(first);
    cJSON_Delete(trials);
    buf_fini(&said);
}

/* 0 only where every record that was measured again still wins. */
static void one_broken_record_spoils_a_recheck(void **state)
{
    static const struct {
        bool broken[2];
        int code;
        const char *words;
    } cases[] = {{{false, false}, 0, "2 still the best, 0 beaten, 0 broken, 0 skipped, 0 drifted"},
                 {{false, true}, 2, "1 still the best, 0 beaten, 1 broken, 0 skipped, 0 drifted"},
                 {{true, false}, 2, "1 still the best, 0 beaten, 1 broken, 0 skipped, 0 drifted"},
                 {{true, true}, 2, "0 still the best, 0 beaten, 2 broken, 0 skipped, 0 drifted"}};
    struct buf said;

    (void)state;
    buf_init(&said, 1 << 20);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *best = tune_at(farm.dir, "x.best.jsonl"), *path = tune_at(farm.dir, "rechecked");
        int code;
        pid_t pid;

        remove(best);
        for (int k = 0; k < 2; k++)
            assert_int_equal(log_append(best, &samples[k], NULL), ERR_OK);
        pid = tune_start(path, (const char *const[]){"recheck", best, "--tracker", farm.url, "--key", KEY, NULL});
        for (int k = 0; k < 2; k++) { /* one workload after the other */
            cJSON *trials = lease(1);

            answer(cJSON_GetArrayItem(trials, 0), &samples[k], cases[i].broken[k] ? 0 : samples[k].time_ns);
            cJSON_Delete(trials);
        }
        code = tool_said(pid, path, &said);
        if (code != cases[i].code || !strstr(buf_text(&said), cases[i].words))
            fail_msg("case %zu: exit %d, expected %d and '%s'; said: %s", i, code, cases[i].code, cases[i].words,
                     buf_text(&said));
    }
    buf_fini(&said);
}

/* The same program takes another time than then: told, also where it is still the best. */
static void a_best_that_takes_another_time_has_drifted(void **state)
{
    static const struct {
        double slower;
        const char *words, *counts;
    } cases[] = {{1.09, "drift: 9.0 % slower than then", "1 still the best, 0 beaten, 0 broken, 0 skipped, 1 drifted"},
                 {0.91, "drift: 9.0 % faster than then", "1 still the best, 0 beaten, 0 broken, 0 skipped, 1 drifted"},
                 {1.03, "still the best", "1 still the best, 0 beaten, 0 broken, 0 skipped, 0 drifted"}};
    const char *best = tune_at(farm.dir, "d.best.jsonl"), *path = tune_at(farm.dir, "drifted");
    struct buf said;

    (void)state;
    buf_init(&said, 1 << 20);
    assert_int_equal(log_append(best, &samples[0], NULL), ERR_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const pid_t pid =
            tune_start(path, (const char *const[]){"recheck", best, "--tracker", farm.url, "--key", KEY, NULL});
        cJSON *trials = lease(1);

        answer(cJSON_GetArrayItem(trials, 0), &samples[0], samples[0].time_ns * cases[i].slower);
        cJSON_Delete(trials);
        assert_int_equal(tool_said(pid, path, &said), 0);
        if (!strstr(buf_text(&said), cases[i].words) || !strstr(buf_text(&said), cases[i].counts))
            fail_msg("case %zu: expected '%s' and '%s'; said: %s", i, cases[i].words, cases[i].counts, buf_text(&said));
    }
    buf_fini(&said);
}

/* A runner-up that is faster by less than two runs of one program differ is a tie: the record stays the best. */
static void a_runner_up_that_ties_does_not_win(void **state)
{
    static const struct {
        double faster;
        int code;
        const char *words;
    } cases[] = {{1.03, 0, "1 still the best, 0 beaten, 0 broken, 0 skipped, 0 drifted"},
                 {3, 2, "0 still the best, 1 beaten, 0 broken, 0 skipped, 0 drifted"}};
    const char *best = tune_at(farm.dir, "y.best.jsonl"), *log = tune_at(farm.dir, "y.jsonl");
    const char *path = tune_at(farm.dir, "tied");
    struct record runner;
    struct buf said;

    (void)state;
    buf_init(&said, 1 << 20);
    assert_true(sample_record(workloads[0], "dense/gemm_tiled", &runner));
    runner.time_ns = 1.5 * samples[0].time_ns;
    snprintf(runner.purpose, sizeof runner.purpose, "search");
    assert_int_equal(log_append(best, &samples[0], NULL), ERR_OK);
    assert_int_equal(log_append(log, &samples[0], NULL), ERR_OK);
    assert_int_equal(log_append(log, &runner, NULL), ERR_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const pid_t pid =
            tune_start(path, (const char *const[]){"recheck", best, "--tracker", farm.url, "--key", KEY, NULL});
        cJSON *trials = lease(2); /* the best, then the runner-up */
        int code;

        answer(cJSON_GetArrayItem(trials, 0), &samples[0], samples[0].time_ns);
        answer(cJSON_GetArrayItem(trials, 1), &runner, samples[0].time_ns / cases[i].faster);
        cJSON_Delete(trials);
        code = tool_said(pid, path, &said);
        if (code != cases[i].code || !strstr(buf_text(&said), cases[i].words))
            fail_msg("case %zu: exit %d, expected %d and '%s'; said: %s", i, code, cases[i].code, cases[i].words,
                     buf_text(&said));
    }
    record_fini(&runner);
    buf_fini(&said);
}

/* A job of three workloads at the tracker, with the trials of the first two; its name and token. */
static int make_job(char job[40])
{
    cJSON *args = cJSON_CreateObject(), *r;
    struct buf body;
    struct job j;
    int token;

    job_init(&j);
    buf_init(&body, 65536);
    for (int i = 0; i < 3; i++)
        assert_int_equal(job_add_layer(&j, i < 2 ? workloads[i] : "dense f32 m=2 n=2 k=2", "", 1), ERR_OK);
    assert_int_equal(job_text(&j, &body), ERR_OK);
    cJSON_AddStringToObject(args, "body", buf_text(&body));
    cJSON_AddBoolToObject(args, "lease", true);
    r = call("job_submit", args);
    snprintf(job, 40, "%s", text_in(r, "job"));
    token = (int)number_in(r, "token");
    for (int i = 0; i < 3; i++)
        cJSON_Delete(farm_must(agent, "trial_add",
                               "{'job':'%s','token':%d,'trials':[{'n':%d,'key':'" KEY "','fingerprint':'%s','program':"
                               "'%s','purpose':'search','body':{}}]}",
                               job, token, i, samples[0].fingerprint.hex, hash_of(i)));
    cJSON_Delete(r);
    job_fini(&j);
    buf_fini(&body);
    return token;
}

static size_t count_of(const char *text, const char *words)
{
    size_t n = 0;

    for (; (text = strstr(text, words)); text += strlen(words))
        n++;
    return n;
}

/* 2 m n k flops over the least time: 4096 / 2000 ns, 2048 / 5000 ns. */
static void status_and_attach_tell_the_best_of_each_workload(void **state)
{
    const char *const lines[] = {"trials:\n  open         0\n  leased       0\n  done         3\n",
                                 "workloads:\n  dense f32 m=8 n=16 k=16\n    0.002 ms, 2.0 GFLOPS, " TEMPLATE " {",
                                 "  dense f32 m=4 n=32 k=8\n    0.005 ms, 0.4 GFLOPS, " TEMPLATE " {",
                                 "  dense f32 m=2 n=2 k=2\n    no valid config yet\n"};
    static const char *const rows[] = {"/ naive  / default\n", "   0.0020 ms ", "   0.0050 ms ", "  not tried\n"};
    char job[40];
    cJSON *trials;
    int token;
    struct buf said;

    (void)state;
    buf_init(&said, 1 << 20);
    token = make_job(job);
    trials = lease(3);
    answer(cJSON_GetArrayItem(trials, 0), &samples[0], 3000);
    answer(cJSON_GetArrayItem(trials, 1), &samples[0], 2000);
    answer(cJSON_GetArrayItem(trials, 2), &samples[1], 5000);
    assert_int_equal(tune_run(farm.dir, (const char *const[]){"status", job, "--tracker", farm.url, NULL}, &said), 0);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        if (!strstr(buf_text(&said), lines[i]))
            fail_msg("expected '%s'; said: %s", lines[i], buf_text(&said));
    assert_null(strstr(buf_text(&said), "\nbest"));
    assert_null(strstr(buf_text(&said), "layers"));
    cJSON_Delete(farm_must(agent, "job_done", "{'job':'%s','token':%d}", job, token));
    assert_int_equal(
        tune_run(farm.dir, (const char *const[]){"attach", job, "--json", "--tracker", farm.url, NULL}, &said), 0);
    assert_int_equal(count_of(buf_text(&said), "\"event\":\"best\""), 3); /* each is the best of its workload so far */
    assert_int_equal(tune_run(farm.dir, (const char *const[]){"attach", job, "--tracker", farm.url, NULL}, &said), 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (!strstr(buf_text(&said), rows[i]))
            fail_msg("expected '%s'; said: %s", rows[i], buf_text(&said));
    cJSON_Delete(trials);
    buf_fini(&said);
}

#define N_STEPS 8

/* What a ladder says whose step i takes i + 1 milliseconds, for the sample's 2 m n k = 4096 operations. */
static void climb(const char *keys, const char *form, struct buf *said)
{
    const char *path = tune_at(farm.dir, "ladder");
    const pid_t pid = tune_start(
        path, (const char *const[]){"ladder", "rnn", keys, "--tracker", farm.url, "--key", KEY, "-q", form, NULL});
    cJSON *trials = lease(N_STEPS);

    buf_init(said, 1 << 20);
    for (int i = 0; i < N_STEPS; i++)
        answer(cJSON_GetArrayItem(trials, i), &samples[0], 1e6 * (i + 1));
    if (tool_said(pid, path, said) != 0)
        fail_msg("%s", buf_text(said));
    cJSON_Delete(trials);
}

static void a_ladder_tells_times_in_milliseconds(void **state)
{
    const char *line;
    struct buf said;
    cJSON *step;
    int n = 0;

    (void)state;
    climb("cell=lstm i=4 h=4 l=1 b=1 t=2", "--json", &said);
    for (line = buf_text(&said); *line; line += strcspn(line, "\n") + 1) {
        step = cJSON_Parse(line);
        if (!cJSON_IsNumber(cJSON_GetObjectItem(step, "ms")))
            fail_msg("%s", buf_text(&said));
        assert_float_equal(cJSON_GetObjectItem(step, "ms")->valuedouble, n + 1, 1e-9);
        assert_float_equal(cJSON_GetObjectItem(step, "gflops")->valuedouble, (float)(4096e-6 / (n + 1)), 1e-9);
        cJSON_Delete(step);
        n++;
    }
    assert_int_equal(n, N_STEPS);
    buf_fini(&said);
}

/* Each step beside the one before it, i / (i + 1) of its rate, and beside the first. */
static void a_ladder_tells_what_each_step_gained(void **state)
{
    const char *line;
    struct buf said;
    int n = 0, n_gains = 0;

    (void)state;
    climb("cell=lstm i=4 h=6 l=1 b=1 t=2", NULL, &said);
    line = strstr(buf_text(&said), "\nbaseline ");
    assert_non_null(line);
    for (line++; *line; line += strcspn(line, "\n") + 1, n++) {
        const char *ms = line + 28, *bar = strstr(line, "  |"), *end = line + strcspn(line, "\n");
        char expected[64];

        snprintf(expected, sizeof expected, " %9d.000 ", n + 1);
        assert_memory_equal(ms, expected + 4, 10);
        snprintf(expected, sizeof expected, " %7.2fx %7.2fx", n / (n + 1.0), 1 / (n + 1.0));
        if (!bar || bar > end) /* no step of the post's: only beside the first */
            assert_memory_equal(end - 9, expected + 9, 9);
        else if (n > 0 && ++n_gains)
            assert_memory_equal(bar - 18, expected, 18);
    }
    assert_int_equal(n, N_STEPS);
    assert_true(n_gains >= 2); /* the first gain is over both */
    buf_fini(&said);
}

static int start(void **state)
{
    (void)state;
    farm_start(&farm);
    agent = farm_client(&farm, "agent");
    for (int i = 0; i < 2; i++)
        if (!sample_record(workloads[i], TEMPLATE, &samples[i]))
            return 1;
    register_agent();
    return 0;
}

static int stop(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++)
        record_fini(&samples[i]);
    client_close(agent);
    farm_stop(&farm);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_broken_record_spoils_a_recheck),
        cmocka_unit_test(a_best_that_takes_another_time_has_drifted),
        cmocka_unit_test(a_runner_up_that_ties_does_not_win),
        cmocka_unit_test(records_on_their_way_at_an_interrupt_are_kept),
        cmocka_unit_test(a_ladder_tells_times_in_milliseconds),
        cmocka_unit_test(a_ladder_tells_what_each_step_gained),
        cmocka_unit_test(status_and_attach_tell_the_best_of_each_workload),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
