/* SPDX-License-Identifier: MIT */
#include "tests/sim/sim_job.h"

#include "runtime/program.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "sim_job: %s\n", what);
    abort();
}

static cJSON *parse(const char *format, ...) __attribute__((format(printf, 1, 2)));

static cJSON *parse(const char *format, ...)
{
    char text[1024];
    va_list args;
    cJSON *json;

    va_start(args, format);
    must(vsnprintf(text, sizeof text, format, args) < (int)sizeof text, "too long");
    va_end(args);
    json = cJSON_Parse(text);
    if (!json)
        fprintf(stderr, "%s\n", text);
    must(json != NULL, "no JSON");
    return json;
}

void sim_job_init(struct sim_job *j, struct net *n, const char *key, int64_t first)
{
    memset(j, 0, sizeof *j);
    j->peer.net = n;
    j->key = key;
    j->first = first;
}

struct sim_trial *sim_job_add(struct sim_job *j, const char *knobs, int anchor)
{
    struct sim_trial *t = &j->trials[j->n++];

    must(j->n <= SIM_JOB_MAX, "too many trials");
    *t = (struct sim_trial){.anchor = anchor,
                            .purpose = "search",
                            .workload = "sim",
                            .timing = "\"rounds\":3,\"rounds_near_best\":3,\"min_slot_ms\":1",
                            .limits = "\"build_s\":10,\"run_s\":5",
                            .body = "",
                            .n_elems = 16};
    snprintf(t->knobs, sizeof t->knobs, "%s", knobs);
    record_init(&t->record);
    return t;
}

void sim_job_fini(struct sim_job *j)
{
    for (int i = 0; i < j->n; i++)
        record_fini(&j->trials[i].record);
}

/* ---- programs ---- */

static void make_program(const struct sim_job *j, int i, struct program *p, struct blobs *set)
{
    static const int64_t one[3] = {1, 1, 1};
    const struct sim_trial *t = &j->trials[i];
    struct program_module *m;
    struct program_launch *l;
    char source[64];

    p->workload = strdup(t->workload);
    p->template_id = strdup("");
    p->knobs = parse("{\"n\":%lld%s%s}", (long long)(j->first + i), *t->knobs ? "," : "", t->knobs);
    p->flops = 1e6;
    p->build_s = t->build_s;
    p->run_s = t->run_s;
    strcpy(p->api, t->cuda ? "cuda" : "opencl");
    m = program_add_module(p, "m", t->cuda ? LANG_CUDA_C : LANG_OPENCL_C, "");
    snprintf(source, sizeof source, "source %lld\n", (long long)(j->first + i));
    must(m && blobs_put(set, source, strlen(source), &m->source) == ERR_OK, "no module");
    must(program_add_buffer(p, "y", ROLE_OUTPUT, DTYPE_F32, t->n_elems) != NULL, "no buffer");
    l = program_add_kernel(p, PHASE_RUN, 0, "f", one, one);
    must(l && program_arg_buffer(l, 0) == ERR_OK, "no launch");
}

/* Gives its blobs to the tracker. */
static void send_program(struct sim_job *j, int i, struct client *c)
{
    struct sim_trial *t = &j->trials[i];
    struct blobs set, sent;
    struct program p;
    struct sha256 name;
    struct buf text;
    struct why why = {""};

    blobs_init(&set, 1 << 20);
    blobs_init(&sent, 1 << 20);
    buf_init(&text, PROGRAM_MAX_BYTES);
    program_init(&p);
    make_program(j, i, &p, &set);
    if (program_check_sane(&p, &why) || program_to_json(&p, &text))
        fprintf(stderr, "%s\n", why.text);
    must(blobs_put(&sent, text.data, text.len, &name) == ERR_OK, "no program");
    snprintf(t->program, sizeof t->program, "%s", name.hex);
    if (!t->withheld)
        must(blobs_put(&sent, set.items[0].data, set.items[0].n_bytes, NULL) == ERR_OK, "no source");
    must(client_put_blobs(c, &sent, &why) == ERR_OK, why.text);
    program_fini(&p);
    buf_fini(&text);
    blobs_fini(&set);
    blobs_fini(&sent);
}

/* ---- the job ---- */

static cJSON *must_call(struct client *c, const char *op, cJSON *args, int64_t wait_ms)
{
    struct why why = {""};
    cJSON *result = NULL;

    if (client_call(c, op, args, NULL, wait_ms, &result, NULL, &why))
        fprintf(stderr, "%s: %s\n", op, why.text);
    must(result != NULL, op);
    return result;
}

static int64_t open_job(struct sim_job *j, struct client *c)
{
    cJSON *r =
        must_call(c, "job_submit",
                  parse("{\"title\":\"t\",\"user\":\"u\",\"key\":\"%s\",\"body\":\"x\",\"lease\":true}", j->key), 0);
    const char *id = "";
    int64_t token = 0;

    json_get_text(r, "job", &id, NULL);
    snprintf(j->id, sizeof j->id, "%s", id);
    json_get_i64(r, "token", 0, JSON_EXACT_MAX, &token, NULL);
    cJSON_Delete(r);
    return token;
}

static cJSON *trial_json(const struct sim_job *j, int i)
{
    const struct sim_trial *t = &j->trials[i];
    cJSON *o = parse("{\"n\":%d,\"program\":\"%s\",\"anchor\":\"%s\",\"purpose\":\"%s\",\"protocol\":\"rounds-1\"}", i,
                     t->program, t->anchor >= 0 ? j->trials[t->anchor].program : "", t->purpose);

    cJSON_AddItemToObject(o, "body",
                          parse("{\"purpose\":\"%s\",\"proposed_by\":\"user\",\"timing\":{%s},\"limits\":{%s}%s}",
                                t->purpose, t->timing, t->limits, t->body));
    return o;
}

static void add_trials(struct sim_job *j, struct client *c, int64_t token)
{
    cJSON *args = parse("{\"job\":\"%s\",\"token\":%lld}", j->id, (long long)token), *reply;
    cJSON *list = cJSON_AddArrayToObject(args, "trials"), *item;
    int i = 0;

    for (i = 0; i < j->n; i++)
        cJSON_AddItemToArray(list, trial_json(j, i));
    reply = must_call(c, "trial_add", args, 0);
    i = 0;
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(reply, "trials"))
    {
        snprintf(j->trials[i].id, sizeof j->trials[i].id, "%s", cJSON_GetObjectItem(item, "trial")->valuestring);
        i++;
    }
    must(i == j->n, "not all trials were taken");
    cJSON_Delete(reply);
    j->added = true;
}

static void take_record(struct sim_job *j, const cJSON *item)
{
    const char *line = "";
    int64_t n = -1;
    struct sim_trial *t;
    struct why why = {""};

    json_get_i64(item, "n", 0, j->n - 1, &n, NULL);
    must(n >= 0 && json_get_text(item, "record", &line, NULL) == ERR_OK, "a record of no trial");
    t = &j->trials[n];
    record_fini(&t->record);
    record_init(&t->record);
    if (record_parse(line, strlen(line), &t->record, &why))
        must(false, why.text);
    j->n_answered += t->n_records++ == 0;
}

/* False when the job was cancelled. */
static bool gather(struct sim_job *j, struct client *c, int64_t *after)
{
    cJSON *r =
        must_call(c, "record_wait",
                  parse("{\"job\":\"%s\",\"after\":%lld,\"max\":64,\"wait_ms\":5000}", j->id, (long long)*after), 5000);
    const cJSON *item;
    const char *state = "";

    cJSON_ArrayForEach(item, cJSON_GetObjectItem(r, "records")) take_record(j, item);
    json_get_i64(r, "next", 0, JSON_EXACT_MAX, after, NULL);
    json_text_or(r, "state", "", &state, NULL);
    item = cJSON_GetObjectItem(r, "records");
    if (strcmp(state, "cancelled") == 0 && cJSON_GetArraySize(item) == 0) {
        cJSON_Delete(r);
        return false;
    }
    cJSON_Delete(r);
    return true;
}

static void act(void *arg)
{
    struct sim_job *j = arg;
    struct world *w = net_world(j->peer.net);
    struct client *c = NULL;
    int64_t token, after = 0;

    world_sleep(w, j->start_ns);
    while (net_client(&j->peer, "test", &c, NULL))
        world_sleep(w, WORLD_S);
    must(client_settle_key(c, j->key, NULL) == ERR_OK, "no tracker of the key's part");
    token = open_job(j, c);
    for (int i = 0; i < j->n; i++)
        send_program(j, i, c);
    add_trials(j, c, token);
    while (j->n_answered < j->n && gather(j, c, &after))
        ;
    client_close(c);
    j->done_ns = world_now_ns(w);
    j->done = true;
}

void sim_job_start(struct sim_job *j)
{
    world_add(net_world(j->peer.net), "job", act, j);
}

cJSON *sim_call(struct net *n, const char *op, const char *format, ...)
{
    struct peer peer = {.net = n};
    struct client *c = NULL;
    cJSON *result = NULL;
    struct why why = {""};
    char text[512];
    va_list args;
    enum err e;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    while (net_client(&peer, "test", &c, NULL))
        world_sleep(net_world(n), WORLD_S);
    e = client_call(c, op, parse("%s", text), NULL, 0, &result, NULL, &why);
    if (e)
        fprintf(stderr, "%s: %s\n", op, why.text);
    client_close(c);
    return result;
}
