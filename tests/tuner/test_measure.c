/* SPDX-License-Identifier: MIT */
/* A handful of trials measured outside any search, and programs read from files. */
#include "core/file.h"
#include "tests/sim/sim_agent.h"
#include "tests/tuner/cpu.h"
#include "tuner/measure.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define N_CONFIGS 12

/* One person who measures configs of a task. */
struct person {
    struct net *net;
    struct peer peer;
    struct task task;
    struct job job;
    struct sim_agent *agent;
    int64_t stop_at; /* interrupted when that many are here; -1 = never */
    int n_each[N_CONFIGS];
    struct sha256 programs[N_CONFIGS];
    bool wrong_program, check_fails;
    const struct program *own; /* measured instead of configs; its blobs: */
    const struct blobs *own_blobs;
    enum err e;
    struct why why;
    int64_t n_seen;
    int n_user_trials;
    int64_t least_lease_ns;
    char job_id[40];
};

static struct person *who; /* measure_options.interrupted has no argument */

static bool interrupted(void)
{
    return who->stop_at >= 0 && who->n_seen >= who->stop_at;
}

static enum err check(void *arg, struct why *why)
{
    (void)arg;
    return who->check_fails && who->n_seen >= 3 ? why_set(why, ERR_CHILD, "the farm is gone") : ERR_OK;
}

static enum err note(int64_t n, const struct record *r, const char *line, void *arg, struct why *why)
{
    struct person *p = arg;

    (void)why;
    p->n_seen++;
    p->n_each[n]++;
    p->wrong_program |= strcmp(r->program.hex, p->programs[n].hex) != 0 || !strstr(line, r->program.hex);
    return ERR_OK;
}

static void note_lease(struct net *n, void *arg)
{
    struct person *p = arg;
    struct host_job j;

    if (p->job_id[0] && host_job(n, p->job_id, &j) && j.is_open && j.lease_left_ns < p->least_lease_ns)
        p->least_lease_ns = j.lease_left_ns;
}

static int64_t submit(struct person *p, struct client *c)
{
    cJSON *args = cJSON_CreateObject(), *result = NULL;
    const char *id = "";
    int64_t token = -1;
    bool ok = true;

    json_add_text(args, "title", "t", &ok);
    json_add_text(args, "key", "cpu", &ok);
    json_add_text(args, "body", "{}", &ok);
    json_add_bool(args, "lease", true, &ok);
    if (client_call(c, "job_submit", args, NULL, 0, &result, NULL, &p->why) ||
        json_get_text(result, "job", &id, NULL) || json_get_i64(result, "token", 0, JSON_EXACT_MAX, &token, NULL))
        abort();
    snprintf(p->job_id, sizeof p->job_id, "%s", id);
    cJSON_Delete(result);
    return token;
}

static void fill(struct person *p, struct trial_batch *b)
{
    struct task_proposal proposals[N_CONFIGS];
    size_t n = 0;

    if (p->own) {
        if (blobs_merge(&b->blobs, p->own_blobs) || trial_batch_add_program(b, p->own, 0, &p->programs[0], NULL))
            abort();
        return;
    }
    if (task_ask(&p->task, N_CONFIGS, proposals, &n, NULL) || n != N_CONFIGS)
        abort();
    for (size_t i = 0; i < n; i++)
        if (trial_batch_add(b, &p->task, TRIAL_SEARCH, proposals[i].i_arm, &proposals[i].config, "user", (int64_t)i,
                            &p->programs[i], NULL))
            abort();
}

static void act(void *arg)
{
    struct person *p = arg;
    struct client *c = NULL;
    struct device_choice device = {.n_agents = 1};
    struct trial_batch b;
    struct measure_options o = {.clock = world_clock(net_world(p->net)), .interrupted = interrupted, .check = check};

    world_sleep(net_world(p->net), WORLD_S);
    if (net_client(&p->peer, "person", &c, &p->why))
        abort();
    o.client = c;
    o.job_id = p->job_id;
    o.token = submit(p, c);
    o.arg = p;
    snprintf(device.key, sizeof device.key, "cpu");
    device.fingerprint = p->task.fingerprint;
    if (trial_batch_init(&b, &p->job, &device))
        abort();
    fill(p, &b);
    p->e = measure_trials(&o, &b, note, p, &p->why);
    trial_batch_fini(&b);
    client_close(c);
    p->agent->stopping = p->agent->peer.dead = true;
    net_stop(p->net);
}

static void person_init(struct person *p)
{
    const struct device_desc d = sim_cpu();

    *p = (struct person){.stop_at = -1, .least_lease_ns = INT64_MAX};
    job_init(&p->job);
    snprintf(p->job.strategy, sizeof p->job.strategy, "random");
    snprintf(p->job.templates, sizeof p->job.templates, "dense/gemm_direct");
    assert_int_equal(job_add_layer(&p->job, "dense f32 m=8 n=64 k=64", "", 1), ERR_OK);
    assert_int_equal(task_init(&p->task, &p->job, 0, &d, NULL), ERR_OK);
    who = p;
}

static void count_by(const struct host_trial *t, void *arg)
{
    const char *by = "";

    json_text_or(t->body, "proposed_by", "", &by, NULL);
    assert_string_equal(by, "user");
    assert_string_equal(t->anchor, "");
    assert_string_equal(t->purpose, "search");
    (*(int *)arg)++;
}

static void person_run(struct person *p, const struct sim_faults *faults, int64_t trial_ns)
{
    const struct sim_model model = {.spread = 1, .fail = 200};
    struct world *w = world_new(3);
    struct sim_agent a = {.name = "a", .key = "cpu", .device = sim_cpu(), .model = &model, .trial_ns = trial_ns};

    p->net = a.net = net_new(w);
    p->peer.net = p->net;
    p->agent = &a;
    if (faults)
        a.faults = *faults;
    net_set_lease_ms(p->net, 5000);
    net_on_turn(p->net, note_lease, p);
    net_start(p->net);
    sim_agent_start(&a);
    world_add(w, "person", act, p);
    if (!world_run(w, 3600 * WORLD_S))
        fail_msg("it does not end");
    host_trials(p->net, p->job_id, count_by, &p->n_user_trials);
    net_free(p->net);
    world_free(w);
}

static void person_fini(struct person *p)
{
    task_fini(&p->task);
    job_fini(&p->job);
}

static void each_config_of_a_batch_gets_its_record_once(void **state)
{
    static const struct sim_faults faults[] = {{.die = 0}, {.twice = 1000}, {.die = 100, .twice = 300}};

    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct person p;

        person_init(&p);
        person_run(&p, &faults[i], 1500 * WORLD_MS);
        if (p.e)
            fail_msg("%s", p.why.text);
        for (size_t k = 0; k < N_CONFIGS; k++)
            assert_int_equal(p.n_each[k], 1);
        assert_false(p.wrong_program);
        assert_true(p.least_lease_ns > 3 * WORLD_S); /* renewed each second while it waited */
        person_fini(&p);
    }
}

static void a_batch_can_be_interrupted(void **state)
{
    struct person p;

    (void)state;
    person_init(&p);
    p.stop_at = 4;
    person_run(&p, NULL, WORLD_S);
    assert_int_equal(p.e, ERR_CANCELLED);
    assert_in_range(p.n_seen, 4, 6);
    person_fini(&p);
}

static void what_looks_after_the_farm_ends_a_batch(void **state)
{
    struct person p;

    (void)state;
    person_init(&p);
    p.check_fails = true;
    person_run(&p, NULL, WORLD_S);
    assert_int_equal(p.e, ERR_CHILD);
    assert_string_equal(p.why.text, "the farm is gone");
    assert_in_range(p.n_seen, 3, 5);
    person_fini(&p);
}

static void a_record_that_cannot_be_read_is_an_error_in_words(void **state)
{
    const struct sim_faults damaged = {.damaged = 1000};
    struct person p;

    (void)state;
    person_init(&p);
    person_run(&p, &damaged, WORLD_S);
    assert_int_equal(p.e, ERR_INPUT);
    assert_int_equal(p.n_seen, 0);
    assert_true(p.why.text[0] != '\0');
    person_fini(&p);
}

/* ---- programs ---- */

static char dir[256];

static int make_dir(void **state)
{
    (void)state;
    return dir_temporary("tune-test", dir, sizeof dir, NULL) ? -1 : 0;
}

static int remove_dir(void **state)
{
    (void)state;
    dir_remove(dir);
    return 0;
}

static void put(const char *name, const char *text)
{
    char path[400];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(file_replace(path, text, strlen(text), 0600, NULL), ERR_OK);
}

/* A program whose one module comes from the file `source`, and whose expected values from the file `values`. */
static enum err load(const char *source, const char *values, struct program *out, struct blobs *blobs, struct why *why)
{
    char text[2000], path[400];

    snprintf(
        text, sizeof text,
        "{\"schema\":1,\"workload\":\"w\",\"modules\":[{\"id\":\"main\",\"lang\":\"opencl-c\",\"source_file\":\"%s\"}],"
        "\"buffers\":[{\"id\":\"y\",\"role\":\"output\",\"dtype\":\"f32\",\"elems\":4}],"
        "\"launches\":[{\"id\":\"l0\",\"module\":\"main\",\"kernel\":\"k\",\"grid\":[1,1,1],\"block\":[4,1,1],"
        "\"args\":[{\"buf\":\"y\"}]}],\"verify\":[{\"id\":\"exact\",\"checks\":[{\"kind\":\"sample\",\"buffer\":\"y\","
        "\"n\":4,\"values_file\":\"%s\"}]}]}",
        source, values);
    put("p.json", text);
    snprintf(path, sizeof path, "%s/p.json", dir);
    return program_load(path, out, blobs, why);
}

static void a_program_takes_its_files_from_beside_it_and_no_others(void **state)
{
    static const char *const others[] = {"../k.cl", "/etc/hostname", "a/../../k.cl", "..", "a/..", "x..y/../k.cl"};
    struct why why = {""};
    struct program p;
    struct blobs blobs;

    (void)state;
    blobs_init(&blobs, 1 << 20);
    put("k.cl", "kernel void k(global float *y) {}");
    put("v", "four floats here");
    put("ab..c.cl", "kernel void k(global float *y) {;}");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_int_equal(load(others[i], "v", &p, &blobs, &why), ERR_INPUT);
        assert_non_null(strstr(why.text, "is not beside it"));
    }
    assert_int_equal(blobs.n, 0);
    assert_int_equal(load("k.cl", "../v", &p, &blobs, &why), ERR_INPUT);
    assert_int_equal(load("nothing.cl", "v", &p, &blobs, &why), ERR_NOT_FOUND);
    if (load("k.cl", "v", &p, &blobs, &why))
        fail_msg("%s", why.text);
    assert_int_equal(p.n_modules, 1);
    assert_int_equal(blobs.n, 2);
    assert_non_null(blobs_get(&blobs, sha256_of("kernel void k(global float *y) {}", 33).hex));
    assert_non_null(blobs_get(&blobs, sha256_of("four floats here", 16).hex));
    program_fini(&p);
    if (load("ab..c.cl", "v", &p, &blobs, &why))
        fail_msg("%s", why.text);
    program_fini(&p);
    blobs_fini(&blobs);
}

static void a_persons_own_program_is_measured_alone(void **state)
{
    struct why why = {""};
    struct program program;
    struct blobs blobs;
    struct person p;

    (void)state;
    blobs_init(&blobs, 1 << 20);
    put("k.cl", "kernel void k(global float *y) {}");
    put("v", "four floats here");
    if (load("k.cl", "v", &program, &blobs, &why))
        fail_msg("%s", why.text);
    person_init(&p);
    p.own = &program;
    p.own_blobs = &blobs;
    person_run(&p, NULL, WORLD_S);
    assert_int_equal(p.e, ERR_OK);
    assert_int_equal(p.n_seen, 1);
    assert_false(p.wrong_program);
    assert_int_equal(p.n_user_trials, 1);
    person_fini(&p);
    program_fini(&program);
    blobs_fini(&blobs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_config_of_a_batch_gets_its_record_once),
        cmocka_unit_test(a_batch_can_be_interrupted),
        cmocka_unit_test(what_looks_after_the_farm_ends_a_batch),
        cmocka_unit_test(a_record_that_cannot_be_read_is_an_error_in_words),
        cmocka_unit_test(a_persons_own_program_is_measured_alone),
        cmocka_unit_test(a_program_takes_its_files_from_beside_it_and_no_others),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
