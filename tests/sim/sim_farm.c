/* SPDX-License-Identifier: MIT */
#include "tests/sim/sim_farm.h"

#include "core/file.h"
#include "kernels/expect.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- sessions ---- */

static _Thread_local struct sim_session *mine;

static bool interrupted(void)
{
    return mine->stop && mine->stop(mine);
}

static enum err submit(struct sim_session *s)
{
    cJSON *args = cJSON_CreateObject(), *result = NULL;
    struct buf body;
    const char *id;
    bool ok = true;
    enum err e;

    buf_init(&body, 1 << 20);
    e = job_text(&s->job, &body);
    json_add_text(args, "title", s->name, &ok);
    json_add_text(args, "user", s->name, &ok);
    json_add_text(args, "key", s->job.key, &ok);
    json_add_text(args, "body", buf_text(&body), &ok);
    json_add_bool(args, "lease", true, &ok);
    assert(!e && ok);
    e = client_call(s->client, "job_submit", args, NULL, 0, &result, NULL, &s->why);
    if (!e)
        e = json_get_text(result, "job", &id, &s->why);
    if (!e) {
        snprintf(s->job_id, sizeof s->job_id, "%s", id);
        e = json_get_i64(result, "token", 0, JSON_EXACT_MAX, &s->token, &s->why);
    }
    cJSON_Delete(result);
    buf_fini(&body);
    return e;
}

/* As `tune work`: the job of another, with the text that the tracker keeps. */
static enum err lease(struct sim_session *s)
{
    enum err e = ERR_OK;

    while (!e && !s->job_id[0]) {
        cJSON *args = cJSON_CreateObject(), *result = NULL;
        const cJSON *id;
        const char *body;
        bool ok = true;

        json_add_i64(args, "wait_ms", 1000, &ok);
        e = client_call(s->client, "job_lease", args, NULL, 1000, &result, NULL, &s->why);
        id = cJSON_GetObjectItemCaseSensitive(result, "job");
        if (!e && cJSON_IsString(id)) {
            snprintf(s->job_id, sizeof s->job_id, "%s", id->valuestring);
            e = json_get_text(result, "body", &body, &s->why);
            if (!e)
                e = json_get_i64(result, "token", 0, JSON_EXACT_MAX, &s->token, &s->why);
            job_fini(&s->job);
            if (!e)
                e = job_parse(body, strlen(body), &s->job, &s->why);
        }
        cJSON_Delete(result);
    }
    return e;
}

static enum err is_well(void *farm, struct why *why)
{
    (void)farm;
    (void)why;
    return ERR_OK;
}

/* What `tune run` does with a job (cli/run.c). */
static void drive(struct sim_session *s)
{
    const struct session_options o = {.client = s->client,
                                      .clock = world_clock(s->farm->world),
                                      .job = &s->job,
                                      .job_id = s->job_id,
                                      .token = s->token,
                                      .log = s->log_path[0] ? &s->log : NULL,
                                      .records = s->records,
                                      .progress = &s->progress,
                                      .interrupted = interrupted,
                                      .wait_device_ms = s->wait_device_ms,
                                      .stored = s->takes_over,
                                      .check_farm = s->own_farm ? is_well : NULL};

    s->e = session_init(&s->session, &o, &s->why);
    if (s->e) {
        if (!s->peer.dead)
            session_close(&s->session, s->e == ERR_CANCELLED || s->e == ERR_STALE ? "" : "failed", NULL);
        return;
    }
    s->ran = true;
    s->e = session_run(&s->session, &s->end, &s->why);
    if (s->peer.dead)
        return;
    if (!s->e && s->end == SESSION_INTERRUPTED)
        session_drain(&s->session);
    if (!s->e)
        s->e = session_write_best(&s->session, &s->why);
    if (!s->e && s->end != SESSION_LEASE_LOST)
        s->e = session_close(&s->session,
                             s->end == SESSION_CANCELLED     ? "cancelled"
                             : s->end == SESSION_INTERRUPTED ? ""
                                                             : "done",
                             &s->why);
}

static void act(void *arg)
{
    struct sim_session *s = arg;
    struct world *w = s->farm->world;

    world_wait(w, s->starts, s->starts_arg, s->starts ? INT64_MAX : s->start_ns);
    s->began = true;
    mine = s;
    s->progress = (struct progress){
        .mode = s->tells ? s->tell_mode : PROGRESS_NONE, .to = s->tells, .verbosity = 1, .clock = world_clock(w)};
    do
        s->e = net_client(&s->peer, s->name, &s->client, &s->why);
    while (s->e == ERR_UNREACHABLE && !s->peer.dead);
    if (!s->e)
        s->e = client_settle_key(s->client, s->job.key, &s->why);
    if (!s->e)
        s->e = s->takes_over ? lease(s) : submit(s);
    if (!s->e && s->log_path[0])
        s->e = joblog_open(&s->log, s->log_path, NULL, NULL, NULL, &s->why);
    if (!s->e)
        drive(s);
    client_close(s->client);
    s->client = NULL;
    joblog_close(&s->log);
    s->ended_ns = world_now_ns(w);
    s->ended = true;
}

/* ---- the farm ---- */

static bool all_ended(void *arg)
{
    const struct sim_farm *f = arg;

    for (size_t i = 0; i < f->n_sessions; i++)
        if (!f->sessions[i].ended)
            return false;
    return true;
}

static void close_down(void *arg)
{
    struct sim_farm *f = arg;

    world_wait(f->world, all_ended, f, INT64_MAX);
    for (size_t i = 0; i < f->n_agents; i++)
        f->agents[i].stopping = true;
    for (size_t i = 0; i < f->n_agents; i++)
        f->agents[i].peer.dead = true;
    net_stop(f->net);
}

void sim_farm_init(struct sim_farm *f, uint64_t seed)
{
    *f = (struct sim_farm){.world = world_new(seed), .model = {.spread = 1.2, .noise = 0.004, .drift = 0.5}};
    f->net = net_new(f->world);
}

struct sim_agent *sim_farm_agent(struct sim_farm *f, const char *name)
{
    struct sim_agent *a = &f->agents[f->n_agents++];

    assert(f->n_agents <= SIM_MAX);
    *a = (struct sim_agent){.net = f->net, .name = name, .key = "cpu", .device = sim_cpu(), .model = &f->model};
    return a;
}

struct sim_session *sim_farm_session(struct sim_farm *f, const char *name, const char *workloads)
{
    struct sim_session *s = &f->sessions[f->n_sessions++];
    char text[200];
    size_t n;

    assert(f->n_sessions <= SIM_MAX);
    *s = (struct sim_session){.farm = f, .name = name, .wait_device_ms = -1, .log = {.lock_fd = -1}};
    s->peer.net = f->net;
    job_init(&s->job);
    s->job.trials = 24;
    s->job.seed = (int64_t)f->n_sessions;
    snprintf(s->job.strategy, sizeof s->job.strategy, "random");
    snprintf(s->job.key, sizeof s->job.key, "cpu");
    snprintf(s->job.templates, sizeof s->job.templates, "dense/gemm_direct,dense/gemm_packed");
    for (const char *p = workloads; *p; p += n + (p[n] == '\n')) {
        n = strcspn(p, "\n");
        snprintf(text, sizeof text, "%.*s", (int)n, p);
        if (job_add_layer(&s->job, text, "", 1))
            abort();
    }
    snprintf(s->log_path, sizeof s->log_path, "%s/%s.jsonl", net_dir(f->net), name);
    return s;
}

static void put_file(const char *path, const char *text, size_t n)
{
    if (file_replace(path, text, n, 0644, NULL))
        abort();
}

void sim_session_replays(struct sim_session *s, int n)
{
    static const char head[] = "{\"space\":\"sim-%d\",\"params\":[";
    char path[400];
    struct buf about, rows;

    buf_init(&about, 4096);
    buf_init(&rows, 1 << 20);
    buf_printf(&about, head, n);
    for (int k = 0; k < 4; k++) {
        buf_printf(&about, "%s{\"name\":\"k%d\",\"values\":[0,1,2,3,4,5]}", k ? "," : "", k);
        buf_printf(&rows, "k%d,", k);
    }
    buf_puts(&about, "],\"restrictions\":null}");
    buf_puts(&rows, "status,time_ms,cost_ms,compile_ms,verify_ms,bench_ms,framework_ms\n");
    for (int i = 0; i < n; i++)
        buf_printf(&rows, "%d,%d,%d,%d,ok,1,10,1,1,1,1\n", i % 6, i / 6 % 6, i / 36 % 6, i / 216 % 6);
    snprintf(path, sizeof path, "%s/sim-%d.csv.gz", net_dir(s->farm->net), n); /* a reader of gzip takes plain text */
    put_file(path, buf_text(&rows), rows.len);
    snprintf(path, sizeof path, "%s/sim-%d.json", net_dir(s->farm->net), n);
    put_file(path, buf_text(&about), about.len);
    snprintf(s->job.replay, sizeof s->job.replay, "%s", path);
    s->job.templates[0] = '\0';
    buf_fini(&about);
    buf_fini(&rows);
}

static bool has_ended(void *arg)
{
    return ((const struct sim_session *)arg)->ended;
}

void sim_session_follows(struct sim_session *s)
{
    assert(s > s->farm->sessions);
    s->starts = has_ended;
    s->starts_arg = s - 1;
}

bool sim_farm_run(struct sim_farm *f, int64_t max_ns)
{
    net_start(f->net);
    for (size_t i = 0; i < f->n_agents; i++)
        sim_agent_start(&f->agents[i]);
    for (size_t i = 0; i < f->n_sessions; i++)
        world_add(f->world, f->sessions[i].name, act, &f->sessions[i]);
    world_add(f->world, "end of the farm", close_down, f);
    return world_run(f->world, max_ns);
}

void sim_farm_fini(struct sim_farm *f)
{
    for (size_t i = 0; i < f->n_sessions; i++) {
        session_fini(&f->sessions[i].session);
        job_fini(&f->sessions[i].job);
    }
    expect_set_watch((struct expect_watch){NULL, NULL});
    net_free(f->net);
    world_free(f->world);
}

/* ---- afterwards ---- */

static void lines_add(struct lines *l, const char *line, size_t n)
{
    while (n && line[n - 1] == '\n')
        n--;
    if (l->n == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 64;
        l->text = realloc(l->text, l->cap * sizeof *l->text);
        assert(l->text);
    }
    l->text[l->n] = strndup(line, n);
    assert(l->text[l->n]);
    l->n++;
}

void lines_fini(struct lines *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->text[i]);
    free(l->text);
    *l = (struct lines){.n = 0};
}

bool lines_have(const struct lines *l, const char *line)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->text[i], line) == 0)
            return true;
    return false;
}

static bool take_line(const struct record *r, const char *line, size_t n, void *arg)
{
    (void)r;
    lines_add(arg, line, n);
    return true;
}

void lines_of_log(const char *path, struct lines *out)
{
    *out = (struct lines){.n = 0};
    (void)log_scan(path, take_line, NULL, out, NULL);
}

static void keep_line(int64_t n_trial, const char *line, void *arg)
{
    (void)n_trial;
    lines_add(arg, line, strlen(line));
}

void lines_of_store(struct sim_farm *f, const char *job_id, struct lines *out)
{
    *out = (struct lines){.n = 0};
    host_records(f->net, job_id, keep_line, out);
}
