/* SPDX-License-Identifier: MIT */
/* page_farm.c - plays a farm for the page to show: agents that beat, jobs whose records are made up by rule.
 *   page_farm URL agents N              registers N agents of 4 keys, which beat until standard input ends
 *   page_farm URL job TRIALS TITLE      a job of that many trials over 3 layers; all answered, then done
 *   page_farm URL live TRIALS TITLE     the same job, left open; then each line on standard input answers one trial
 * more With TUNE_KEY_FILE set the tracker's key is used. */
#include "core/clock.h"
#include "core/mix.h"
#include "tests/tracker/farm.h"
#include "tracker/calls.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <unistd.h>
#include <cmocka.h>

#define AT_ONCE 64
#define N_LAYERS 3

static const char *const layers[N_LAYERS] = {"conv2d f32 n=1 c=64 h=56 w=56 k=64 r=3 s=3 pad=1",
                                             "conv2d f32 n=1 c=256 h=14 w=14 k=256 r=3 s=3 pad=1",
                                             "dense f32 m=1 n=1000 k=2048"};
static const double flops[N_LAYERS] = {231211008, 231211008, 4096000};
static const char *const keys[4] = {"rk3399-mali", "pc-cpu", "rtx-3090", "pixel-8"};

static struct client *c;
static struct why why;
static double job_token; /* of the lease of the job that is played */

static cJSON *call(const char *op, cJSON *args)
{
    cJSON *result = NULL;

    if (client_call(c, op, args, NULL, 0, &result, NULL, &why) != ERR_OK) {
        fprintf(stderr, "page_farm: %s: %s\n", op, why.text);
        exit(1);
    }
    return result;
}

/* In [0, 1), the same for the same two numbers. */
static double chance(int64_t i, int what)
{
    const uint64_t h = mix_word(mix_word(mix_word(MIX_BEGIN, (uint64_t)i), (uint64_t)what), 77);

    return (double)(h >> 11) / 9007199254740992.0;
}

/* ---- the program of all trials ---- */

static struct sha256 program;

static void put(const char *text, struct sha256 *name)
{
    struct blobs set;
    cJSON *result = NULL;

    blobs_init(&set, 65536);
    if (blobs_put(&set, text, strlen(text), name) != ERR_OK ||
        client_call(c, "blob_put", cJSON_CreateObject(), &set, 0, &result, NULL, &why) != ERR_OK)
        exit(1);
    cJSON_Delete(result);
    blobs_fini(&set);
}

static void put_program(void)
{
    struct sha256 source;
    char text[400];

    put("__kernel void conv(__global float *y) /* </pre><script>window.bad = 1</script> */\n{\n    y[0] = 1;\n}\n",
        &source);
    snprintf(text, sizeof text,
             "{\"schema\":1,\"modules\":[{\"id\":\"kernels\",\"lang\":\"opencl-c\",\"sha256\":\"%s\",\"defines\":"
             "{\"VEC\":\"4\"}}]}",
             source.hex);
    put(text, &program);
}

/* ---- agents ---- */

static void register_one(int i, const char *fingerprint)
{
    char name[64];
    cJSON *args = cJSON_CreateObject(), *device = cJSON_AddObjectToObject(args, "device");
    static const char *const names[4] = {"Mali-T860", "Intel(R) Xeon(R) Processor", "NVIDIA GeForce RTX 3090",
                                         "Mali-G715"};

    snprintf(name, sizeof name, "%s-%03d", keys[i % 4], i / 4);
    cJSON_AddStringToObject(args, "agent", name);
    cJSON_AddStringToObject(args, "nonce", "n");
    cJSON_AddStringToObject(args, "version", "0.2.0");
    cJSON_AddStringToObject(args, "key", keys[i % 4]);
    cJSON_AddStringToObject(args, "fingerprint", fingerprint);
    cJSON_AddBoolToObject(args, "mix", 1);
    cJSON_AddStringToObject(device, "name", names[i % 4]);
    cJSON_AddNumberToObject(device, "units", 4 << i % 4);
    cJSON_Delete(call("agent_register", args));
}

static void beat(int i, int64_t round)
{
    char name[64];
    cJSON *args = cJSON_CreateObject();

    snprintf(name, sizeof name, "%s-%03d", keys[i % 4], i / 4);
    cJSON_AddStringToObject(args, "agent", name);
    cJSON_AddStringToObject(args, "state", "idle");
    cJSON_AddNumberToObject(args, "temperature", 45 + 15 * chance(i, 1) + 3 * sin((double)round / 7));
    cJSON_AddNumberToObject(args, "load", 0.1 + 0.4 * chance(i + round, 2));
    cJSON_AddNumberToObject(args, "canary_ns", 512000 * (1 + 0.02 * chance(i + round, 3)));
    cJSON_Delete(call("agent_beat", args));
}

static bool input_is_open(void)
{
    fd_set set;
    struct timeval none = {0, 0};
    char byte;

    FD_ZERO(&set);
    FD_SET(0, &set);
    return select(1, &set, NULL, NULL, &none) == 0 || read(0, &byte, 1) == 1;
}

static void play_agents(int n)
{
    for (int i = 0; i < n; i++)
        register_one(i, hash_of(i % 4));
    puts("ready");
    fflush(stdout);
    for (int64_t round = 0; input_is_open(); round++)
        for (int i = 0; i < n && input_is_open(); i++) {
            beat(i, round);
            clock_sleep_ms(n > 100 ? 2 : 1000 / n);
        }
}

/* ---- one job ---- */

static cJSON *knobs_of(int64_t i)
{
    static const int vec[] = {1, 2, 4, 8, 16}, tile[] = {1, 2, 4, 8, 16, 32};
    cJSON *k = cJSON_CreateObject();

    cJSON_AddNumberToObject(k, "vec", i < N_LAYERS ? 4 : vec[(int)(5 * chance(i, 4))]);
    cJSON_AddNumberToObject(k, "tile_x", i < N_LAYERS ? 8 : tile[(int)(6 * chance(i, 5))]);
    cJSON_AddNumberToObject(k, "tile_y", i < N_LAYERS ? 8 : tile[(int)(6 * chance(i, 6))]);
    cJSON_AddNumberToObject(k, "unroll", chance(i, 7) > 0.5);
    cJSON_AddStringToObject(k, "order", chance(i, 8) > 0.5 ? "rows" : "columns");
    return k;
}

static double number(const cJSON *o, const char *name)
{
    return cJSON_GetObjectItem(o, name)->valuedouble;
}

static double time_of(int64_t i, const cJSON *k)
{
    const double vec = log2(number(k, "vec")) - 3, x = log2(number(k, "tile_x")) - 2, y = log2(number(k, "tile_y")) - 3;

    return 1e6 * (double)(1 + i % N_LAYERS) * exp(0.32 * vec * vec + 0.09 * x * x + 0.05 * y * y + 0.06 * chance(i, 9));
}

static const char *status_of(int64_t i)
{
    const double p = i < N_LAYERS ? 1 : chance(i, 10);

    return p < 0.04 ? "compile" : p < 0.06 ? "wrong" : p < 0.07 ? "timeout" : "ok";
}

static const char *why_of(const char *status)
{
    return !strcmp(status, "compile") ? "kernel.cl:41:17: error: use of undeclared identifier 'acc16' <b>"
           : !strcmp(status, "wrong") ? "element 4711: found 3.25, expected 3.5 (tolerance 1e-4)"
                                      : "ran for over 10 s";
}

/* The line that an agent would send about trial number i. */
static char *line_of(int64_t i, const char *trial, const char *agent)
{
    const char *status = status_of(i);
    cJSON *r = cJSON_CreateObject(), *k = knobs_of(i), *samples = cJSON_CreateArray();
    const double t = time_of(i, k), se = 0.001 + 0.004 * chance(i, 11);
    char *text;

    cJSON_AddNumberToObject(r, "schema", 1);
    cJSON_AddStringToObject(r, "id", trial);
    cJSON_AddStringToObject(r, "purpose", "search");
    cJSON_AddStringToObject(r, "workload", layers[i % N_LAYERS]);
    cJSON_AddStringToObject(r, "template", i % N_LAYERS == 2 ? "dense/gemm" : "conv2d/direct");
    cJSON_AddItemToObject(r, "knobs", k);
    cJSON_AddStringToObject(r, "status", status);
    if (strcmp(status, "ok") != 0) {
        cJSON_AddStringToObject(r, "stage", !strcmp(status, "compile") ? "build" : "verify");
        cJSON_AddStringToObject(r, "why", why_of(status));
    }
    cJSON_AddNumberToObject(r, "time_ns", strcmp(status, "ok") ? 0 : round(t));
    cJSON_AddNumberToObject(r, "se", se);
    for (int s = 0; s < 9; s++)
        cJSON_AddItemToArray(samples, cJSON_CreateNumber(round(t * (1 + se * (2 * chance(i * 16 + s, 12) - 1)))));
    cJSON_AddItemToObject(r, "samples_ns", samples);
    cJSON_AddNumberToObject(r, "flops", flops[i % N_LAYERS]);
    cJSON_AddStringToObject(r, "proposed_by", i < N_LAYERS ? "init" : "model");
    cJSON_AddStringToObject(r, "program", program.hex);
    cJSON_AddStringToObject(r, "key", "pc-cpu");
    cJSON_AddStringToObject(r, "agent", agent);
    cJSON_AddNumberToObject(r, "ts", 1790000000000.0 + 900.0 * (double)i);
    text = cJSON_PrintUnformatted(r);
    cJSON_Delete(r);
    return text;
}

static void add_trials(const char *job, int64_t from, int64_t n)
{
    cJSON *args = cJSON_CreateObject(), *list = cJSON_CreateArray();

    cJSON_AddStringToObject(args, "job", job);
    cJSON_AddNumberToObject(args, "token", job_token);
    for (int64_t i = from; i < from + n; i++) {
        cJSON *t = cJSON_CreateObject();

        cJSON_AddNumberToObject(t, "n", (double)i);
        cJSON_AddStringToObject(t, "program", hash_of((int)i));
        cJSON_AddItemToObject(t, "body", cJSON_CreateObject());
        cJSON_AddItemToArray(list, t);
    }
    cJSON_AddItemToObject(args, "trials", list);
    cJSON_Delete(call("trial_add", args));
}

static void answer_one(const cJSON *lease, const char *agent)
{
    const char *trial = cJSON_GetObjectItem(lease, "trial")->valuestring;
    const int64_t i = (int64_t)number(lease, "n");
    const char *status = status_of(i);
    cJSON *args = cJSON_CreateObject(), *envelope = cJSON_AddObjectToObject(args, "envelope"), *k = knobs_of(i);
    char *line = line_of(i, trial, agent);

    cJSON_AddStringToObject(args, "trial", trial);
    cJSON_AddNumberToObject(args, "token", number(lease, "token"));
    cJSON_AddStringToObject(args, "record", line);
    cJSON_AddStringToObject(envelope, "status", status);
    cJSON_AddNumberToObject(envelope, "time_ns", strcmp(status, "ok") ? 0 : round(time_of(i, k)));
    cJSON_AddNumberToObject(envelope, "flops", flops[i % N_LAYERS]);
    cJSON_AddNumberToObject(envelope, "device_ms", 10);
    cJSON_Delete(call("trial_result", args));
    cJSON_Delete(k);
    free(line);
}

static int answer_some(const char *agent, int max)
{
    cJSON *args = cJSON_CreateObject(), *result;
    const cJSON *lease;
    int n = 0;

    cJSON_AddStringToObject(args, "agent", agent);
    cJSON_AddNumberToObject(args, "max", max);
    result = call("trial_lease", args);
    cJSON_ArrayForEach(lease, cJSON_GetObjectItem(result, "trials"))
    {
        answer_one(lease, agent);
        n++;
    }
    cJSON_Delete(result);
    return n;
}

static void tell_progress(const char *job, int64_t done, int64_t total)
{
    cJSON *args = cJSON_CreateObject(), *progress = cJSON_AddObjectToObject(args, "progress");

    cJSON_AddStringToObject(args, "job", job);
    cJSON_AddNumberToObject(args, "token", job_token);
    cJSON_AddNumberToObject(progress, "done", (double)done);
    cJSON_AddNumberToObject(progress, "total", (double)total);
    cJSON_AddNumberToObject(progress, "eta_s", (double)(total - done) * 0.9);
    cJSON_Delete(call("job_renew", args));
}

static void play_job(int64_t n, const char *title, bool live)
{
    static const char agent[] = "pc-cpu-player";
    cJSON *args = cJSON_CreateObject(), *result, *done;
    char job[32];

    put_program();
    cJSON_AddStringToObject(args, "title", title);
    cJSON_AddStringToObject(args, "user", "ada");
    cJSON_AddStringToObject(args, "key", "pc-cpu");
    cJSON_AddStringToObject(args, "body", "{}");
    cJSON_AddBoolToObject(args, "lease", 1);
    result = call("job_submit", args);
    snprintf(job, sizeof job, "%s", cJSON_GetObjectItem(result, "job")->valuestring);
    job_token = number(result, "token");
    cJSON_Delete(result);
    args = cJSON_Parse("{\"agent\":\"pc-cpu-player\",\"nonce\":\"p\",\"key\":\"pc-cpu\",\"mix\":true}");
    cJSON_AddStringToObject(args, "fingerprint", hash_of(1));
    cJSON_Delete(call("agent_register", args));
    for (int64_t i = 0; i < n;) {
        const int64_t some = n - i < AT_ONCE ? n - i : AT_ONCE;

        add_trials(job, i, some);
        for (int64_t left = some; left > 0;)
            left -= answer_some(agent, AT_ONCE);
        i += some;
        if (i % (16 * AT_ONCE) == 0)
            tell_progress(job, i, n);
    }
    tell_progress(job, n, live ? 2 * n : n);
    puts(job);
    fflush(stdout);
    for (char line[16]; live && fgets(line, sizeof line, stdin);) {
        add_trials(job, n++, 1);
        answer_some(agent, 1);
    }
    if (live)
        return;
    done = cJSON_CreateObject();
    cJSON_AddStringToObject(done, "job", job);
    cJSON_AddNumberToObject(done, "token", job_token);
    cJSON_Delete(call("job_done", done));
}

int main(int argc, char **argv)
{
    const struct client_options o = {
        .url = argc > 1 ? argv[1] : "", .key_file = getenv("TUNE_KEY_FILE"), .role = "tune", .name = "page_farm"};

    if (argc < 4 || client_open(&o, &c, &why) != ERR_OK) {
        fprintf(stderr, "page_farm: %s\n", argc < 4 ? "URL agents|job|live N [TITLE]" : why.text);
        return 1;
    }
    if (strcmp(argv[2], "agents") == 0)
        play_agents(atoi(argv[3]));
    else
        play_job(atoll(argv[3]), argc > 4 ? argv[4] : "a job", strcmp(argv[2], "live") == 0);
    _exit(0); /* nng 1.5 may deadlock when closed */
}
