/* SPDX-License-Identifier: MIT */
/* The real tracker and real agents on this machine: every leased trial gets exactly one record, whoever is killed. */
#include "core/clock.h"
#include "core/file.h"
#include "core/proc.h"
#include "logs/record.h"
#include "samples.h"
#include "tracker/client.h"

#include <dirent.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define MAX_TRIALS 64

static char tmp[PATH_MAX - 64], bin[PATH_MAX - 64], url[256];
static pid_t tracker, agents[2];
static struct client *client;

/* ---- processes ---- */

static pid_t start(const char *const *argv, int out_fd)
{
    const struct proc_options o = {.argv = argv, .in_fd = -1, .out_fd = out_fd, .err_fd = 2, .pass_fd = -1};
    struct why why = {""};
    pid_t pid = -1;

    if (proc_start(&o, &pid, &why))
        fail_msg("%s", why.text);
    return pid;
}

static void start_tracker(const char *listen)
{
    char exe[PATH_MAX], store[PATH_MAX], line[256] = "";
    const char *argv[] = {exe, "--listen", listen, "--store", store, "--workers", "0", "--lease", "3", NULL};
    int fd[2];
    FILE *f;

    snprintf(exe, sizeof exe, "%s/tune-tracker", bin);
    snprintf(store, sizeof store, "%s/store", tmp);
    assert_int_equal(pipe(fd), 0);
    tracker = start(argv, fd[1]);
    close(fd[1]);
    f = fdopen(fd[0], "r");
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "listening on %255s", url) == 1)
            break;
    fclose(f);
    assert_int_equal(strncmp(url, "tcp://", 6), 0);
}

static pid_t start_agent_on(const char *name, const char *device, const char *key)
{
    char exe[PATH_MAX];
    const char *argv[] = {exe, "--tracker", url, "--device", device, "--key", key, "--name", name, "-v", NULL};

    snprintf(exe, sizeof exe, "%s/tune-agent", bin);
    return start(argv, -1);
}

static pid_t start_agent(const char *name)
{
    return start_agent_on(name, "opencl", "test-key");
}

static void end(pid_t *pid, int signal, int64_t within_ms)
{
    int status;

    if (*pid <= 0)
        return;
    kill(*pid, signal);
    if (proc_wait(*pid, within_ms, &status))
        fail_msg("process %d is alive %d ms after signal %d", (int)*pid, (int)within_ms, signal);
    *pid = 0;
}

static int n_work_dirs(void)
{
    DIR *dir = opendir(tmp);
    const struct dirent *e;
    int n = 0;

    while (dir && (e = readdir(dir)))
        n += strncmp(e->d_name, "tune-agent.", 11) == 0;
    if (dir)
        closedir(dir);
    return n;
}

/* ---- calls ---- */

static cJSON *call(const char *op, cJSON *args, int64_t wait_ms)
{
    struct why why = {""};
    cJSON *result = NULL;

    if (client_call(client, op, args, NULL, wait_ms, &result, NULL, &why))
        fail_msg("%s: %s", op, why.text);
    return result;
}

static cJSON *parse(const char *format, ...) __attribute__((format(printf, 1, 2)));

static cJSON *parse(const char *format, ...)
{
    char text[2048];
    va_list args;
    cJSON *json;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    json = cJSON_Parse(text);
    assert_non_null(json);
    return json;
}

struct job {
    char id[32];
    const char *key, *purpose;
    const char *more; /* members of bodies, begun with a comma */
    int64_t token;
    cJSON *trials; /* args being gathered */
    int n;
    char program[MAX_TRIALS][65];
    struct record records[MAX_TRIALS];
    int n_records;
};

static void open_job_on(struct job *j, const char *key)
{
    cJSON *r = call("job_submit",
                    parse("{\"title\":\"t\",\"user\":\"u\",\"key\":\"%s\",\"body\":\"x\",\"lease\":true}", key), 0);
    const char *id;

    memset(j, 0, sizeof *j);
    assert_int_equal(json_get_text(r, "job", &id, NULL), ERR_OK);
    assert_int_equal(json_get_i64(r, "token", 0, JSON_EXACT_MAX, &j->token, NULL), ERR_OK);
    snprintf(j->id, sizeof j->id, "%s", id);
    cJSON_Delete(r);
    j->trials = cJSON_CreateArray();
    j->key = key;
    j->purpose = "search";
    j->more = "";
}

static void open_job(struct job *j)
{
    open_job_on(j, "test-key");
}

static void add_sample(struct job *j, struct sample *takes, const char *anchor)
{
    struct why why = {""};

    snprintf(j->program[j->n], sizeof j->program[j->n], "%s", sample_seal(takes).hex);
    if (client_put_blobs(client, &takes->blobs, &why))
        fail_msg("%s", why.text);
    sample_fini(takes);
    cJSON_AddItemToArray(
        j->trials,
        parse("{\"n\":%d,\"key\":\"%s\",\"fingerprint\":\"\",\"program\":\"%s\",\"anchor\":\"%s\",\"purpose\":\"%s\","
              "\"protocol\":\"rounds-1\",\"body\":{\"purpose\":\"%s\",\"proposed_by\":\"user\",\"timing\":{"
              "\"rounds\":3,"
              "\"rounds_near_best\":3,\"min_slot_ms\":1},\"limits\":{\"build_s\":5,\"run_s\":1}%s}}",
              j->n, j->key, j->program[j->n], anchor, j->purpose, j->purpose, j->more));
    j->n++;
}

/* `salt` makes otherwise equal programs differ. */
static void add(struct job *j, const char *source, int salt, const char *anchor)
{
    struct sample m;
    char knobs[48];

    sample_make(&m, source, 64);
    snprintf(knobs, sizeof knobs, "{\"salt\":%d}", salt);
    m.p.knobs = cJSON_Parse(knobs);
    add_sample(j, &m, anchor);
}

/* What a replay device runs: knobs, nothing else. */
static void add_knobs(struct job *j, const char *knobs, const char *anchor)
{
    struct sample m;

    program_init(&m.p);
    blobs_init(&m.blobs, 1 << 20);
    m.p.workload = strdup("toy");
    m.p.template_id = strdup("");
    m.p.flops = 1e6;
    strcpy(m.p.api, "replay");
    m.p.knobs = cJSON_Parse(knobs);
    add_sample(j, &m, anchor);
}

static void submit(struct job *j)
{
    cJSON *args = parse("{\"job\":\"%s\",\"token\":%lld}", j->id, (long long)j->token);

    cJSON_AddItemToObject(args, "trials", j->trials);
    j->trials = cJSON_CreateArray();
    cJSON_Delete(call("trial_add", args, 0));
}

/* How many of its first `max` records are there, within 5 s one at least. */
static int n_done(const struct job *j, int max)
{
    cJSON *r = call("record_wait", parse("{\"job\":\"%s\",\"after\":0,\"max\":%d,\"wait_ms\":5000}", j->id, max), 5000);
    const int n = cJSON_GetArraySize(cJSON_GetObjectItem(r, "records"));

    cJSON_Delete(r);
    return n;
}

/* Waits until `n` records are there; checks that each trial has one only. */
static void gather(struct job *j, int n, int64_t within_ms)
{
    const int64_t until = clock_now_ns() + within_ms * 1000000;
    int64_t after = 0;

    for (int i = 0; i < j->n_records; i++)
        record_fini(&j->records[i]);
    j->n_records = 0;
    while (j->n_records < n && clock_now_ns() < until) {
        cJSON *r =
            call("record_wait",
                 parse("{\"job\":\"%s\",\"after\":%lld,\"max\":64,\"wait_ms\":1000}", j->id, (long long)after), 1000);
        const cJSON *list = cJSON_GetObjectItem(r, "records"), *one;

        cJSON_ArrayForEach(one, list)
        {
            const char *line = cJSON_GetObjectItem(one, "record")->valuestring;
            struct why why = {""};

            assert_true(j->n_records < MAX_TRIALS);
            record_init(&j->records[j->n_records]);
            if (record_parse(line, strlen(line), &j->records[j->n_records], &why))
                fail_msg("%s", why.text);
            j->n_records++;
        }
        json_get_i64(r, "next", 0, JSON_EXACT_MAX, &after, NULL);
        cJSON_Delete(r);
    }
    assert_int_equal(j->n_records, n);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            assert_string_not_equal(j->records[i].id, j->records[k].id);
}

static const struct record *record_of(const struct job *j, int n)
{
    for (int i = 0; i < j->n_records; i++)
        if (strcmp(j->records[i].program.hex, j->program[n]) == 0)
            return &j->records[i];
    fail_msg("no record of trial %d", n);
    return NULL;
}

static void close_job(struct job *j)
{
    cJSON_Delete(call(
        "job_done",
        parse("{\"job\":\"%s\",\"token\":%lld,\"state\":\"done\",\"summary\":{}}", j->id, (long long)j->token), 0));
    cJSON_Delete(j->trials);
    for (int i = 0; i < j->n_records; i++)
        record_fini(&j->records[i]);
}

/* ---- facts ---- */

static void every_misbehaviour_gets_its_record_and_the_farm_goes_on(void **state)
{
    static const struct {
        const char *source;
        enum record_status status;
    } cases[] = {{sample_good, STATUS_OK},    {sample_wrong, STATUS_WRONG}, {sample_broken, STATUS_COMPILE},
                 {sample_wild, STATUS_CRASH}, {sample_bomb, STATUS_CRASH},  {sample_lazy, STATUS_WRONG},
                 {sample_good, STATUS_OK}};
    const int n = sizeof cases / sizeof *cases;
    static struct job j;

    (void)state;
    agents[0] = start_agent("a0");
    open_job(&j);
    for (int i = 0; i < n; i++)
        add(&j, cases[i].source, i, i ? j.program[0] : "");
    submit(&j);
    gather(&j, n, 60000);
    for (int i = 0; i < n; i++) {
        const struct record *r = record_of(&j, i);

        if (r->status != cases[i].status)
            fail_msg("trial %d: %s at %s: %s; wanted %s", i, status_name(r->status), r->stage, r->why ? r->why : "",
                     status_name(cases[i].status));
        assert_string_equal(r->key, "test-key");
        assert_string_equal(r->agent, "a0");
        assert_string_equal(r->protocol, "rounds-1");
        assert_non_null(r->device);
    }
    close_job(&j);
}

/* Whose tuner makes other data of the same fills, of the program's and of a sheet's passes: the values are not those
 * of the agent's data. Before anything is built: one that does not compile is told the same. */
static void programs_of_tuners_who_make_other_data_are_refused_in_words(void **state)
{
    static const struct {
        const char *source;
        bool has_sheet, is_other;
    } cases[] = {{sample_good, false, false},
                 {sample_good, false, true},
                 {sample_good, true, false},
                 {sample_good, true, true},
                 {sample_broken, true, true}};
    const int n = sizeof cases / sizeof *cases;
    static struct job j;
    char sums[2][PROGRAM_SUM_BYTES];
    struct sample m, sheet;
    const struct sha256 name = sample_sheet(&sheet, 3, 4, -1, false);

    (void)state;
    sample_make(&m, sample_good, 64);
    program_fills_sum(&m.p, sums[0]);
    sample_fini(&m);
    program_fills_sum(&sheet.p, sums[1]);
    assert_string_not_equal(sums[0], sums[1]);
    assert_int_equal(client_put_blobs(client, &sheet.blobs, NULL), ERR_OK);
    open_job(&j);
    for (int i = 0; i < n; i++) {
        char more[160];
        const char *sum = sums[cases[i].has_sheet != cases[i].is_other];

        snprintf(more, sizeof more, ",\"fills\":\"%s\"%s%s%s", sum, cases[i].has_sheet ? ",\"sheet\":\"" : "",
                 cases[i].has_sheet ? name.hex : "", cases[i].has_sheet ? "\"" : "");
        j.more = more;
        add(&j, cases[i].source, 50 + i, "");
    }
    submit(&j);
    gather(&j, n, 60000);
    for (int i = 0; i < n; i++) {
        const struct record *r = record_of(&j, i);

        if (r->status != (cases[i].is_other ? STATUS_RUNTIME : STATUS_OK))
            fail_msg("trial %d: %s at %s: %s", i, status_name(r->status), r->stage, r->why ? r->why : "");
        if (!cases[i].is_other)
            continue;
        assert_string_equal(r->stage, "prepare");
        assert_non_null(strstr(r->why, "bring agents and tuners to one version"));
        assert_non_null(strstr(r->why, sums[0]));
        assert_non_null(strstr(r->why, sums[1]));
        assert_true(r->build_ms == 0);
    }
    sample_fini(&sheet);
    close_job(&j);
}

static void a_polite_end_gives_leases_back_and_cleans_up(void **state)
{
    static struct job j;
    const int64_t from = clock_now_ns();

    (void)state;
    open_job(&j);
    add(&j, sample_endless, 100, "");
    add(&j, sample_good, 101, "");
    submit(&j);
    clock_sleep_ms(1000); /* it is at the endless loop now */
    end(&agents[0], SIGTERM, 2000);
    print_message("ended after %.2f s in all\n", (double)(clock_now_ns() - from) * 1e-9);
    assert_int_equal(n_work_dirs(), 0);
    agents[1] = start_agent("a1");
    gather(&j, 2, 30000);
    assert_int_equal(record_of(&j, 0)->status, STATUS_TIMEOUT);
    assert_int_equal(record_of(&j, 1)->status, STATUS_OK);
    close_job(&j);
}

static void a_killed_agents_trials_go_to_another(void **state)
{
    static struct job j;

    (void)state;
    open_job(&j);
    for (int i = 0; i < 12; i++)
        add(&j, sample_slower, 200 + i, "");
    submit(&j);
    assert_int_equal(n_done(&j, 1), 1);
    end(&agents[1], SIGKILL, 2000);
    assert_true(n_done(&j, MAX_TRIALS) < 12);
    assert_int_equal(n_work_dirs(), 1);
    agents[0] = start_agent("a0");
    gather(&j, 12, 40000);
    for (int i = 0; i < 12; i++)
        assert_int_equal(record_of(&j, i)->status, STATUS_OK);
    assert_int_equal(n_work_dirs(), 1); /* the living one's: the dead one's was swept */
    close_job(&j);
}

/* The living agent's, or a folder in it. */
static void work_dir(const char *below, char *out, size_t n_out)
{
    DIR *dir = opendir(tmp);
    const struct dirent *e;

    while (dir && (e = readdir(dir)))
        if (strncmp(e->d_name, "tune-agent.", 11) == 0)
            snprintf(out, n_out, "%s/%s%s", tmp, e->d_name, below);
    if (dir)
        closedir(dir);
}

static void wait_for_words(const struct job *j, const char *words)
{
    const int64_t until = clock_now_ns() + 10000 * INT64_C(1000000);
    bool said = false;

    while (!said) {
        cJSON *status = call("job_status", parse("{\"job\":\"%s\"}", j->id), 0);
        const cJSON *waits = cJSON_GetObjectItem(status, "waits");

        said = waits && strstr(waits->valuestring, words);
        if (!said && clock_now_ns() > until)
            fail_msg("the job says: %s", waits ? waits->valuestring : "nothing");
        cJSON_Delete(status);
        clock_sleep_ms(100);
    }
}

/* Trials `first` to `first` + 2 of the job, beside its first one: all end well. */
static void do_three(struct job *j, int first)
{
    for (int i = first; i < first + 3; i++)
        add(j, sample_good, 300 + i, j->program[0]);
    submit(j);
    gather(j, first + 3, 60000);
    for (int i = first; i < first + 3; i++)
        assert_int_equal(record_of(j, i)->status, STATUS_OK);
}

/* A disk that takes nothing: the folder of the blobs is away for a while, then are its files, the compiler cache, all
 * of it. */
static void a_disk_that_fails_costs_no_trial(void **state)
{
    static struct job j;
    char blobs[PATH_MAX], aside[PATH_MAX];
    int status;

    (void)state;
    work_dir("/blobs", blobs, sizeof blobs);
    work_dir("/aside", aside, sizeof aside);
    open_job(&j);
    for (int i = 0; i < 6; i++)
        add(&j, i == 1 ? sample_broken : sample_good, 300 + i, "");
    assert_int_equal(rename(blobs, aside), 0);
    submit(&j);
    wait_for_words(&j, "the disk of agent a0 is full or cannot be written");
    gather(&j, 0, 0);
    assert_int_equal(rename(aside, blobs), 0);
    gather(&j, 6, 40000);
    for (int i = 0; i < 6; i++)
        assert_int_equal(record_of(&j, i)->status, i == 1 ? STATUS_COMPILE : STATUS_OK);
    dir_remove(blobs);
    assert_int_equal(dir_make(blobs, 0711, NULL), ERR_OK);
    do_three(&j, 6);
    work_dir("/cache.0", aside, sizeof aside);
    dir_remove(aside);
    do_three(&j, 9);
    work_dir("", blobs, sizeof blobs);
    dir_remove(blobs);
    add(&j, sample_good, 320, "");
    submit(&j);
    assert_int_equal(proc_wait(agents[0], 20000, &status), ERR_OK);
    agents[0] = start_agent("a0");
    gather(&j, 13, 40000);
    assert_int_equal(record_of(&j, 12)->status, STATUS_OK);
    close_job(&j);
}

static void write_file(const char *name, const char *text)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", tmp, name);
    assert_int_equal(file_replace(path, text, strlen(text), 0600, NULL), ERR_OK);
}

static void a_recorded_space_answers_as_a_device_would(void **state)
{
    static struct job j;
    char device[PATH_MAX + 32];
    const struct record *r;

    (void)state;
    write_file("toy.csv",
               "bx,status,time_ms,cost_ms,compile_ms\n1,ok,2.5,1,40\n2,compile,,1,45\n3,runtime,,1,41\n4,ok,5,1,1\n");
    write_file("toy.json", "{\"space\":\"toy-card\",\"device\":\"card\",\"params\":[{\"name\":\"bx\"}]}");
    snprintf(device, sizeof device, "replay:%s/toy.json", tmp);
    agents[0] = start_agent_on("a0", device, "toy");
    open_job_on(&j, "toy");
    for (int i = 0; i < 4; i++) {
        char knobs[32];

        snprintf(knobs, sizeof knobs, "{\"bx\":%d}", i + 1);
        add_knobs(&j, knobs, i ? j.program[0] : "");
    }
    submit(&j);
    gather(&j, 4, 20000);
    assert_int_equal(record_of(&j, 1)->status, STATUS_COMPILE);
    assert_int_equal(record_of(&j, 2)->status, STATUS_RUNTIME);
    r = record_of(&j, 0);
    assert_true(r->status == STATUS_OK && r->time_ns == 2.5e6 && r->se == 0);
    r = record_of(&j, 3);
    assert_true(r->status == STATUS_OK && r->time_ns == 5e6 && r->lnratio > 0.693 && r->lnratio < 0.694);
    close_job(&j);
    end(&agents[0], SIGTERM, 2000);
}

static int open_farm(void **state)
{
    struct client_options o = {.url = url, .role = "tune", .name = "test"};
    struct why why = {""};

    (void)state;
    if (proc_own_dir(bin, sizeof bin - 8) || dir_temporary("test-farm", tmp, sizeof tmp, &why))
        return -1;
    strcat(bin, "/../bin");
    setenv("TMPDIR", tmp, 1);
    setenv("TUNE_LOCK_DIR", tmp, 1);
    start_tracker("tcp://127.0.0.1:0");
    if (client_open(&o, &client, &why))
        print_message("%s\n", why.text);
    return client ? 0 : -1;
}

static int close_farm(void **state)
{
    (void)state;
    client_close(client);
    end(&agents[0], SIGKILL, 2000);
    end(&agents[1], SIGKILL, 2000);
    end(&tracker, SIGKILL, 2000);
    clock_sleep_ms(100);
    dir_remove(tmp);
    return 0;
}

/* `test_agent_farm replay`: what needs no OpenCL; else the rest. */
int main(int argc, char **argv)
{
    const struct CMUnitTest replay[] = {cmocka_unit_test(a_recorded_space_answers_as_a_device_would)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_misbehaviour_gets_its_record_and_the_farm_goes_on),
        cmocka_unit_test(programs_of_tuners_who_make_other_data_are_refused_in_words),
        cmocka_unit_test(a_polite_end_gives_leases_back_and_cleans_up),
        cmocka_unit_test(a_killed_agents_trials_go_to_another),
        cmocka_unit_test(a_disk_that_fails_costs_no_trial),
    };

    if (argc > 1 && strcmp(argv[1], "replay") == 0)
        return cmocka_run_group_tests(replay, open_farm, close_farm);
    return cmocka_run_group_tests(tests, open_farm, close_farm);
}
