/* SPDX-License-Identifier: MIT */
/* Subcommands that ask a tracker, against a real one: what they send, what they print, their exit codes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/tracker/farm.h"
#include "tests/cli/shell.h"

#include "core/clock.h"

#define TILES "replay:" TUNE_RECORDED_DIR "/tiles.json"

static struct farm farm;
static struct buf said;

/* `tune ARGS --tracker URL`; fails unless it ends with the code. */
static void tune(int code, const char *const *args)
{
    const char *all[32];
    size_t n = 0;
    int got;

    for (; args[n]; n++)
        all[n] = args[n];
    all[n++] = "--tracker";
    all[n++] = farm.url;
    all[n] = NULL;
    got = tune_run(farm.dir, all, &said);
    if (got != code)
        fail_msg("tune %s: exit %d, expected %d; said: %s", args[0], got, code, buf_text(&said));
}

#define TUNE(code, ...) tune(code, (const char *const[]){__VA_ARGS__, NULL})

static void says(const char *words)
{
    if (!strstr(buf_text(&said), words))
        fail_msg("expected '%s' in: %s", words, buf_text(&said));
}

static cJSON *said_json(void)
{
    cJSON *o = cJSON_Parse(buf_text(&said));

    if (!o)
        fail_msg("no JSON: %s", buf_text(&said));
    return o;
}

/* A job's body as the tracker keeps it. */
static cJSON *body_of(const char *job)
{
    struct client *c = farm_client(&farm, "test");
    cJSON *r = farm_must(c, "job_status", "{'job':'%s'}", job), *body = cJSON_Parse(text_in(r, "body"));

    assert_non_null(body);
    cJSON_Delete(r);
    client_close(c);
    return body;
}

static const char *submitted(void)
{
    static char id[40];

    const char *line = strrchr(strcmp(buf_text(&said), "") == 0 ? "\n" : buf_text(&said), '\n');

    while (line > buf_text(&said) && line[-1] != '\n') /* the last line: what is said before is for people */
        line--;
    assert_int_equal(sscanf(line, "%39s", id), 1);
    return id;
}

#define DENSE "dense f32 m=64 n=2048 k=512"

static double number(const cJSON *o, const char *name)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, name);

    if (!cJSON_IsNumber(v))
        fail_msg("no number %s", name);
    return v->valuedouble;
}

static void every_option_of_a_job_reaches_the_tracker(void **state)
{
    cJSON *body;
    const cJSON *timing, *layers;

    (void)state;
    TUNE(0, "submit", "dense f32 k=512 n=2048 m=64", "batch_gemm f32 b=2 m=8 n=8 k=8", "--key", "k1", "--trials", "7,9",
         "--patience", "3", "--time", "10m", "--target", "1.5ms", "--min-gain", "2%", "--strategy", "genetic", "--seed",
         "42", "--repeat", "30", "--min-repeat-ms", "2.5", "--warmup", "2");
    body = body_of(submitted());
    layers = cJSON_GetObjectItem(body, "layers") ? cJSON_GetObjectItem(body, "layers")
                                                 : cJSON_GetObjectItem(body, "workloads");
    assert_int_equal(cJSON_GetArraySize(layers), 2);
    assert_string_equal(text_in(cJSON_GetArrayItem(layers, 0), "workload"), DENSE); /* canonical */
    assert_true(number(cJSON_GetArrayItem(layers, 0), "trials") == 7);
    assert_true(number(cJSON_GetArrayItem(layers, 1), "trials") == 9);
    assert_string_equal(text_in(body, "key"), "k1");
    assert_true(number(body, "early_stopping") == 3);
    assert_true(number(body, "time_s") == 600);
    assert_true(number(body, "target_ns") == 1.5e6 && number(body, "target_gflops") == 0);
    assert_true(number(body, "min_gain") == 0.02);
    assert_string_equal(text_in(body, "strategy"), "genetic");
    assert_true(number(body, "seed") == 42);
    timing = cJSON_GetObjectItem(body, "timing");
    assert_true(number(timing, "rounds") == 30 && number(timing, "rounds_near_best") >= 30);
    assert_true(number(timing, "min_slot_ms") == 2.5 && number(timing, "warmup") == 2);
    cJSON_Delete(body);
}

static void exactness_is_plain_only_where_it_is_said(void **state)
{
    static const char *const given[] = {NULL, "any", "plain"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        const cJSON *said_of;
        cJSON *body;

        if (given[i])
            TUNE(0, "submit", DENSE, "--key", "k1", "--exactness", given[i]);
        else
            TUNE(0, "submit", DENSE, "--key", "k1");
        body = body_of(submitted());
        said_of = cJSON_GetObjectItem(body, "exactness"); /* left out: any */
        assert_int_equal(cJSON_IsString(said_of) && strcmp(said_of->valuestring, "plain") == 0, i == 2);
        cJSON_Delete(body);
    }
    TUNE(1, "submit", DENSE, "--key", "k1", "--exactness", "some");
    says("expected one of any, plain");
}

static void limits_of_time_are_told_apart(void **state)
{
    cJSON *body;

    (void)state;
    TUNE(0, "submit", DENSE, "--key", "k1", "--build-timeout", "90s", "--run-timeout", "20s", "--target", "500GFLOPS",
         "--objective", "edp", "--template", "dense/gemm_direct,dense/naive");
    body = body_of(submitted());
    assert_true(number(body, "build_s") == 90 && number(body, "run_s") == 20);
    assert_true(number(body, "target_gflops") == 500 && number(body, "target_ns") == 0);
    assert_true(number(body, "trials") == 100 && number(body, "time_s") == 0 && number(body, "early_stopping") == 0);
    assert_string_equal(text_in(body, "objective"), "edp");
    assert_string_equal(text_in(body, "templates"), "dense/gemm_direct,dense/naive");
    cJSON_Delete(body);
}

static void networks_are_submitted_by_name(void **state)
{
    struct client *c = farm_client(&farm, "test");
    char job[40];
    cJSON *body, *r;

    (void)state;
    TUNE(0, "submit", "--network", "resnet-18", "--dtype", "f16", "--key", "k1", "-q");
    snprintf(job, sizeof job, "%s", submitted());
    body = body_of(job);
    assert_string_equal(text_in(body, "network"), "resnet-18 f16");
    r = farm_must(c, "job_status", "{'job':'%s'}", job);
    assert_string_equal(text_in(r, "title"), "resnet-18 f16");
    cJSON_Delete(r);
    cJSON_Delete(body);
    client_close(c);
}

/* Layers of one's own: a graph's are counted by workload, a list's stand there. */
static void networks_are_submitted_from_files(void **state)
{
    static const char graph[] = "x = input c=4 h=8 w=8\na = conv2d x k=4 r=3 s=3 pad=1 relu6\n"
                                "b = conv2d a + x k=4 r=3 s=3 pad=1\nf = dense b n=3\n",
                      list[] = "# mine\nfc | 3 | " DENSE "\n", bad[] = "fc | 3 | " DENSE "\nfc 3\n";
    const char *const files[][3] = {{"net.graph", graph, NULL},
                                    {"layers.net", list, NULL},
                                    {"bad.net", bad, "line 2: expected 'name | count | workload'"},
                                    {"bad.graph", "x = input c=4", "graph bad, line 1: input needs h="},
                                    {"net.txt", graph, "unknown network"},
                                    {"net.onnx", "no model", "net.onnx: "}};

    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        const char *path = tune_at(farm.dir, files[i][0]);
        cJSON *body, *layers;

        assert_int_equal(file_replace(path, files[i][1], strlen(files[i][1]), 0600, NULL), ERR_OK);
        TUNE(files[i][2] ? 1 : 0, "submit", "--network", path, "--key", "k1", "-q");
        if (files[i][2]) {
            says(files[i][2]);
            continue;
        }
        body = body_of(submitted());
        assert_string_equal(text_in(body, "network"), i ? "layers" : "net");
        layers = cJSON_GetObjectItem(body, "layers");
        assert_int_equal(cJSON_GetArraySize(layers), i ? 1 : 2);
        assert_string_equal(text_in(cJSON_GetArrayItem(layers, 0), "workload"),
                            i ? DENSE : "conv2d f32 n=1 c=4 h=8 w=8 k=4 r=3 s=3 pad=1");
        assert_true(number(cJSON_GetArrayItem(layers, 0), "count") == (i ? 3 : 2));
        cJSON_Delete(body);
    }
}

/* A list of tune_missing_write: its workloads behind those of the command line, its key where none is given. */
static void lists_of_missing_workloads_are_jobs(void **state)
{
    static const char list[] = "# workloads without a record\n# key: slug-1 \n" DENSE "\nfc | dense f32 m=1 n=2 k=3\n",
                      first[] = "# key: slug-2\n" DENSE "\n";
    const char *path = tune_at(farm.dir, "missing");
    cJSON *body;
    const cJSON *layers;

    (void)state;
    assert_int_equal(file_replace(path, list, sizeof list - 1, 0600, NULL), ERR_OK);
    TUNE(0, "submit", "dense f32 m=9 n=9 k=9", "--missing", path);
    body = body_of(submitted());
    assert_string_equal(text_in(body, "key"), "slug-1");
    layers = cJSON_GetObjectItem(body, "layers") ? cJSON_GetObjectItem(body, "layers")
                                                 : cJSON_GetObjectItem(body, "workloads");
    assert_int_equal(cJSON_GetArraySize(layers), 3);
    assert_string_equal(text_in(cJSON_GetArrayItem(layers, 0), "workload"), "dense f32 m=9 n=9 k=9");
    assert_string_equal(text_in(cJSON_GetArrayItem(layers, 2), "workload"), "dense f32 m=1 n=2 k=3");
    cJSON_Delete(body);
    TUNE(0, "submit", "--missing", path, "--key", "mine");
    body = body_of(submitted());
    assert_string_equal(text_in(body, "key"), "mine");
    cJSON_Delete(body);
    assert_int_equal(file_replace(path, first, sizeof first - 1, 0600, NULL), ERR_OK);
    TUNE(0, "submit", "--missing", path);
    body = body_of(submitted());
    assert_string_equal(text_in(body, "key"), "slug-2");
    cJSON_Delete(body);
    TUNE(1, "submit", "--missing", path, "--network", "resnet-18");
    assert_int_equal(file_replace(path, "# none\n", 7, 0600, NULL), ERR_OK);
    TUNE(1, "submit", "--missing", path);
    says("lists no workload");
}

/* Without a device nobody can tell which key was meant; a named one may come later. */
static void a_job_needs_a_key_where_no_device_is(void **state)
{
    (void)state;
    TUNE(1, "submit", DENSE);
    TUNE(0, "submit", DENSE, "--key", "of-tomorrow", "--json");
    says("{\"job\":\"j");
}

/* Two trials waiting, one leased, one done, for the key "busy"; gives the job. */
static void make_busy_job(char job[40])
{
    struct client *c = farm_client(&farm, "test");
    cJSON *r = farm_must(c, "job_submit", "{'title':'a title','user':'someone','key':'busy','body':'b','lease':true}");
    static int n_programs; /* a program that was measured is not measured again */
    enum err e;

    snprintf(job, 40, "%s", text_in(r, "job"));
    cJSON_Delete(r);
    farm_do(c, "agent_register", "{'agent':'a1','nonce':'n','key':'busy','fingerprint':'%s','device':{'name':'dev'}}",
            hash_of(-1));
    for (int i = 0; i < 4; i++) {
        char program[65];

        snprintf(program, sizeof program, "%s", hash_of(++n_programs));
        farm_do(c, "trial_add",
                "{'job':'%s','token':1,'trials':[{'n':%d,'key':'busy','fingerprint':'%s','program':'%s','purpose':"
                "'search','protocol':'rounds-1','body':{}}]}",
                job, i, hash_of(-1), program);
    }
    r = farm_call(c, &e, 0, "trial_lease", "{'agent':'a1','max':2}");
    assert_int_equal(e, ERR_OK);
    {
        const cJSON *t = cJSON_GetArrayItem(cJSON_GetObjectItem(r, "trials"), 0);
        char program[65];

        snprintf(program, sizeof program, "%s", text_in(t, "program"));
        cJSON_Delete(farm_must(c, "trial_result",
                               "{'trial':'%s','token':%d,'envelope':{'key':'busy','fingerprint':'%s','program':'%s',"
                               "'status':'ok','time_ns':1000,'flops':2000,'device_ms':5},'record':'a line'}",
                               text_in(t, "trial"), (int)number_in(t, "token"), hash_of(-1), program));
    }
    cJSON_Delete(r);
    client_close(c);
}

static void lists_have_a_line_a_job(void **state)
{
    char job[40], id[40], job_state[40], key[40], user[40], title[80];
    int done, open, lost, n_lines = 0;
    const char *line;

    (void)state;
    make_busy_job(job);
    TUNE(0, "list", "--max", "1");
    for (const char *at = buf_text(&said); *at; at++)
        n_lines += *at == '\n';
    assert_int_equal(n_lines, 2); /* the names of columns, and the newest job */
    line = strchr(buf_text(&said), '\n') + 1;
    assert_int_equal(
        sscanf(line, "%39s %39s %39s %39s %d %d %d %*s %79[^\n]", id, job_state, key, user, &done, &open, &lost, title),
        8);
    assert_string_equal(id, job);
    assert_string_equal(key, "busy");
    assert_string_equal(user, "someone");
    assert_string_equal(title, "a title");
    assert_int_equal(done, 1);
    assert_int_equal(open, 3); /* waiting, or under way */
    assert_int_equal(lost, 0);
    TUNE(0, "list", "--state", "cancelled");
    assert_null(strstr(buf_text(&said), "busy"));
    TUNE(0, "list", "--json", "--max", "1");
    {
        cJSON *o = said_json();

        assert_string_equal(text_in(o, "job"), job);
        cJSON_Delete(o);
    }
}

static void status_tells_of_one_job_or_of_the_tracker(void **state)
{
    char job[40];
    cJSON *o;

    (void)state;
    make_busy_job(job);
    TUNE(0, "status", job);
    says("title          a title\n");
    says("trials:\n");
    says("  done         1\n");
    TUNE(0, "status", job, "--json");
    o = said_json();
    assert_string_equal(text_in(o, "job"), job);
    cJSON_Delete(o);
    TUNE(0, "status", "--json");
    o = said_json();
    assert_null(cJSON_GetObjectItem(o, "job"));
    assert_true(number(o, "now_ms") > 0);
    cJSON_Delete(o);
    TUNE(1, "status", "j999999");
}

static void cancelled_jobs_say_so(void **state)
{
    char first[40], second[40], words[120];

    (void)state;
    make_busy_job(first);
    make_busy_job(second);
    TUNE(0, "cancel", first, second);
    snprintf(words, sizeof words, "%s cancelled\n%s cancelled\n", first, second);
    assert_string_equal(buf_text(&said), words);
    TUNE(0, "cancel", first, "-q");
    assert_string_equal(buf_text(&said), "");
    TUNE(0, "list", "--state", "cancelled");
    says(first);
    says(second);
    TUNE(1, "cancel", "j999999");
    TUNE(1, "cancel");
}

static void devices_are_listed(void **state)
{
    char job[40];
    cJSON *o;

    (void)state;
    make_busy_job(job);
    TUNE(0, "devices");
    says("busy");
    says("a1");
    TUNE(0, "devices", "--json");
    o = said_json();
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(o, "devices")), 1);
    cJSON_Delete(o);
}

/* 12 MB, three times what a message may have. */
static void two_hundred_long_descriptions_are_listed_whole(void **state)
{
    enum { N = 200, BYTES = 60000 };
    struct farm big = {.more = {NULL}};
    char *long_name = calloc(1, BYTES + 1), name[16];
    struct client *c;

    (void)state;
    farm_start(&big);
    c = farm_client(&big, "test");
    memset(long_name, 'x', BYTES);
    for (int i = 0; i < N; i++)
        farm_do(c, "agent_register",
                "{'agent':'board-%03d','nonce':'n','key':'cpu','fingerprint':'%s','device':{'name':'b%d','more':'%s'}}",
                i, hash_of(1), i, long_name);
    assert_int_equal(tune_run(big.dir, (const char *const[]){"devices", "--tracker", big.url, NULL}, &said), 0);
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "board-%03d", i);
        says(name);
    }
    client_close(c);
    farm_stop(&big);
    free(long_name);
}

static void operators_pause_requeue_drain_and_reserve(void **state)
{
    char job[40], words[120];

    (void)state;
    make_busy_job(job);
    TUNE(0, "pause", job);
    snprintf(words, sizeof words, "%s paused\n", job);
    assert_string_equal(buf_text(&said), words);
    TUNE(0, "list", "--state", "paused");
    says(job);
    TUNE(0, "resume", job);
    snprintf(words, sizeof words, "%s running\n", job);
    assert_string_equal(buf_text(&said), words);
    TUNE(0, "requeue", job);
    snprintf(words, sizeof words, "%s: 0 trials are tried again\n", job);
    assert_string_equal(buf_text(&said), words);
    TUNE(1, "requeue");
    TUNE(1, "requeue", "t999999x");
    TUNE(1, "pause");
    TUNE(0, "devices", "drain", "a1");
    TUNE(0, "devices");
    says("drained");
    TUNE(0, "devices", "reserve", "a1", "ann");
    TUNE(0, "devices");
    says("reserved for ann");
    TUNE(0, "devices", "reserve", "a1", "b9", "bob"); /* the last word is nobody's device */
    assert_string_equal(buf_text(&said), "b9 is not there now: this holds when it comes\n");
    TUNE(0, "devices");
    says("reserved for bob");
    TUNE(0, "devices", "undrain", "a1");
    TUNE(0, "devices", "undrain", "b9");
    TUNE(0, "devices");
    assert_null(strstr(buf_text(&said), "reserved"));
    TUNE(1, "devices", "reserve", "a1");
    TUNE(1, "devices", "drain");
    TUNE(1, "devices", "drown", "a1");
    says("expected drain AGENT");
    TUNE(0, "cancel", job, "-q");
}

/* Nothing was measured well: 2. A cancelled job ends the wait. */
static void following_ends_with_the_job(void **state)
{
    struct client *c = farm_client(&farm, "test");
    char job[40];
    cJSON *o;

    (void)state;
    make_busy_job(job);
    TUNE(0, "cancel", job, "-q");
    TUNE(0, "attach", job, "--json");
    o = said_json(); /* the first line: the job as the page hears of it */
    assert_string_equal(text_in(o, "event"), "job");
    assert_string_equal(text_in(o, "job"), job);
    assert_string_equal(text_in(o, "state"), "cancelled");
    cJSON_Delete(o);
    o = cJSON_Parse(strstr(buf_text(&said), "{\"seq\":2,"));
    assert_string_equal(text_in(o, "event"), "done");
    assert_string_equal(text_in(o, "end"), "cancelled");
    assert_true(number(o, "records") == 1 && number(o, "failed") == 0);
    cJSON_Delete(o);
    TUNE(0, "submit", DENSE, "--key", "bussy"); /* its board may come */
    says("there are: busy; the job waits for one");
    TUNE(0, "submit", DENSE, "--key", "bussy", "--priority", "2", "-q");
    o = farm_must(c, "job_status", "{'job':'%s'}", submitted());
    assert_true(number(o, "priority") == 2);
    cJSON_Delete(o);
    o = farm_must(c, "job_submit", "{'title':'t','user':'u','key':'busy','body':'b'}");
    snprintf(job, sizeof job, "%s", text_in(o, "job"));
    cJSON_Delete(o);
    client_close(c);
    TUNE(0, "cancel", job, "-q");
    TUNE(2, "attach", job, "-q");
    TUNE(1, "attach");
}

static void a_worker_ends_when_asked_to_and_there_is_no_work(void **state)
{
    struct client *c = farm_client(&farm, "test");
    cJSON *r = farm_must(c, "job_list", "{'state':'open','max':1000}"), *job;

    (void)state;
    cJSON_ArrayForEach(job, cJSON_GetObjectItem(r, "jobs"))
    {
        farm_do(c, "job_cancel", "{'job':'%s'}", text_in(job, "job"));
    }
    cJSON_Delete(r);
    TUNE(0, "work", "--once", "-q");
    r = farm_must(c, "job_submit", "{'title':'odd','user':'u','key':'k','body':'of tomorrow'}");
    TUNE(0, "work", "--once", "-q"); /* a job that it does not understand must not come back for ever */
    job = farm_must(c, "job_status", "{'job':'%s'}", text_in(r, "job"));
    assert_string_equal(text_in(job, "state"), "failed");
    cJSON_Delete(job);
    cJSON_Delete(r);
    client_close(c);
}

/* Nobody listens: a second Ctrl-C ends the tries at once, with 4. */
static void a_second_interrupt_ends_the_wait(void **state)
{
    static const char *const args[] = {"list", "--tracker", "127.0.0.1:1", NULL};
    const char *path = tune_at(farm.dir, "interrupted");
    const pid_t pid = tune_start(path, args);
    int status = 0, code;

    (void)state;
    assert_true(pid > 0);
    for (int i = 0; i < 100 && proc_wait(pid, 50, &status) != ERR_OK; i++)
        kill(pid, SIGINT); /* the first one may come before it listens, and a second one ends it too */
    code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    assert_true(code == 4 || code == -SIGINT);
}

/* A job file's Budget stands in for --trials and --time: a number, a share of the valid configs, at least one. */
static void the_budget_of_a_job_file_is_kept(void **state)
{
    static const struct {
        const char *budget;
        const char *trials; /* --trials, or NULL */
        double expected, time_s;
    } cases[] = {
        {"{\"Type\":\"ConfigurationCount\",\"BudgetValue\":17}", NULL, 17, 0},
        {"{\"Type\":\"ConfigurationFraction\",\"BudgetValue\":0.3}", NULL, 3, 0}, /* of 8, rounded up */
        {"{\"Type\":\"ConfigurationFraction\",\"BudgetValue\":0.001}", NULL, 1, 0},
        {"{\"Type\":\"ConfigurationCount\",\"BudgetValue\":0.5}", NULL, 1, 0},
        {"{\"Type\":\"TuningDuration\",\"BudgetValue\":90}", NULL, 100, 90},
        {"{\"Type\":\"ConfigurationCount\",\"BudgetValue\":17}", "5", 5, 0},
    };
    const char *spec = tune_at(farm.dir, "job.json"), *source = tune_at(farm.dir, "f.cl");
    static const char text[] = "kernel void f(global float *y) { y[get_global_id(0)] = A; }\n";

    (void)state;
    assert_int_equal(file_replace(source, text, sizeof text - 1, 0600, NULL), ERR_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char job[1500];
        cJSON *body;

        snprintf(job, sizeof job,
                 "{\"General\":{\"BenchmarkName\":\"f\"},\"ConfigurationSpace\":{\"TuningParameters\":[{\"Name\":\"A\","
                 "\"Type\":\"int\",\"Values\":\"[1, 2, 3, 4, 5, 6, 7, 8]\",\"Default\":1}]},\"KernelSpecification\":{"
                 "\"Language\":\"OpenCL\",\"KernelName\":\"f\",\"KernelFile\":\"f.cl\",\"ProblemSize\":[64],"
                 "\"GlobalSizeType\":\"OpenCL\",\"GlobalSize\":{\"X\":\"64\"},\"LocalSize\":{\"X\":\"8\"},"
                 "\"Arguments\":[{\"Name\":\"y\",\"Type\":\"float\",\"MemoryType\":\"Vector\",\"AccessType\":"
                 "\"WriteOnly\",\"FillType\":\"Constant\",\"FillValue\":0.0,\"Size\":\"64\",\"Output\":1}]},"
                 "\"Budget\":[%s]}",
                 cases[i].budget);
        assert_int_equal(file_replace(spec, job, strlen(job), 0600, NULL), ERR_OK);
        if (cases[i].trials)
            TUNE(0, "submit", "--kernel-spec", spec, "--key", "of-spec", "-q", "--trials", cases[i].trials);
        else
            TUNE(0, "submit", "--kernel-spec", spec, "--key", "of-spec", "-q");
        body = body_of(submitted());
        assert_true(number(body, "trials") == cases[i].expected);
        assert_true(number(body, "time_s") == cases[i].time_s);
        cJSON_Delete(body);
    }
    TUNE(1, "submit", DENSE, "--kernel-spec", spec, "--key", "of-spec");
    says("brings its own kernel");
}

/* A tune-agent of the recorded space of the examples, under the key "rec". */
static pid_t start_agent(void)
{
    char program[4096];
    const char *const argv[] = {program, "--tracker", farm.url, "--device", TILES, "--key", "rec", "-q", NULL};
    pid_t pid;

    snprintf(program, sizeof program, "%s/tune-agent", getenv("TUNE_BIN_DIR"));
    pid = tool_start(tune_at(farm.dir, "agent"), argv);
    assert_true(pid > 0);
    do {
        clock_sleep_ms(10);
        TUNE(0, "devices");
    } while (!strstr(buf_text(&said), "\nrec "));
    return pid;
}

/* The doctor goes all the way: name, connection, hello, clocks, devices; a key that another kind of device holds. */
static void the_doctor_sees_the_farm(void **state)
{
    char job[40];

    (void)state;
    make_busy_job(job);
    TUNE(0, "doctor", "--device", TILES, "--key", "free");
    says("ok     name of the tracker          127.0.0.1\n");
    says("ok     connection                   connected\n");
    says("ok     hello ");
    says("ok     clocks ");
    says("ok     devices of the farm ");
    says("ok     key                          free is free for this device\n");
    TUNE(3, "doctor", "--device", TILES, "--key", "busy");
    says("FAILED key                          conflict: key busy holds devices of fingerprint ");
    TUNE(3, "doctor", "--device", TILES, "--key-file", "/dev/null");
    says("FAILED key file ");
    TUNE(0, "cancel", job, "-q");
}

static void a_submitted_job_is_driven_by_a_worker_and_followed(void **state)
{
    const char *log = tune_at(farm.dir, "rec.jsonl");
    const pid_t agent = start_agent();
    char job[40], done[80];
    cJSON *o;

    (void)state;
    TUNE(0, "submit", "--device", TILES, "--key", "rec", "--trials", "20", "-q");
    snprintf(job, sizeof job, "%s", submitted());
    TUNE(0, "status", job, "--json");
    o = said_json();
    assert_string_equal(text_in(o, "state"), "open");
    cJSON_Delete(o);
    TUNE(0, "work", "--once");
    says("job ");
    TUNE(0, "attach", job, "-o", log);
    snprintf(done, sizeof done, "job %s: done, ", job);
    says(done);
    TUNE(0, "list", "--state", "done", "--json", "--max", "1");
    o = said_json();
    assert_string_equal(text_in(o, "job"), job);
    assert_string_equal(text_in(o, "title"), "replay tiles.json");
    cJSON_Delete(o);
    assert_int_equal(tune_run(farm.dir, (const char *const[]){"log", "stat", log, NULL}, &said), 0);
    says("20 records, 0 lines that are none");
    TUNE(0, "devices", "--json");
    says("\"key\":\"rec\"");
    kill(agent, SIGTERM);
    assert_int_equal(tune_end(agent, 20000), 0);
}

static int start(void **state)
{
    (void)state;
    farm_start(&farm);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    farm_stop(&farm);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_needs_a_key_where_no_device_is), /* before any device is there */
        cmocka_unit_test(every_option_of_a_job_reaches_the_tracker),
        cmocka_unit_test(exactness_is_plain_only_where_it_is_said),
        cmocka_unit_test(limits_of_time_are_told_apart),
        cmocka_unit_test(networks_are_submitted_by_name),
        cmocka_unit_test(networks_are_submitted_from_files),
        cmocka_unit_test(lists_of_missing_workloads_are_jobs),
        cmocka_unit_test(the_budget_of_a_job_file_is_kept), /* before any device is there */
        cmocka_unit_test(lists_have_a_line_a_job),
        cmocka_unit_test(status_tells_of_one_job_or_of_the_tracker),
        cmocka_unit_test(cancelled_jobs_say_so),
        cmocka_unit_test(devices_are_listed),
        cmocka_unit_test(two_hundred_long_descriptions_are_listed_whole),
        cmocka_unit_test(operators_pause_requeue_drain_and_reserve),
        cmocka_unit_test(following_ends_with_the_job),
        cmocka_unit_test(the_doctor_sees_the_farm),
        cmocka_unit_test(a_worker_ends_when_asked_to_and_there_is_no_work),
        cmocka_unit_test(a_submitted_job_is_driven_by_a_worker_and_followed), /* no other job is open any more */
        cmocka_unit_test(a_second_interrupt_ends_the_wait),
    };
    int failed;

    buf_init(&said, 1 << 20);
    failed = cmocka_run_group_tests(tests, start, stop);
    buf_fini(&said);
    return failed;
}
