/* SPDX-License-Identifier: MIT */
/* ladder.c - `tune ladder`: the cuDNN 5 post's table of recurrent networks on a device. */
#include "cli/cmd.h"

#include "core/clock.h"
#include "core/terminal.h"
#include "tuner/ladder.h"
#include "tuner/measure.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const struct cli_option options[] = {OPT_LINK, OPT_KEY,   OPT_TIMING, OPT_KERNEL_DIR,
                                            OPT_JSON, OPT_QUIET, CLI_END};

/* What came of each step. */
struct results {
    const struct workload *workload;
    struct {
        enum record_status status;
        double ms, gflops;
        char why[200], knobs[512], workload[256];
    } step[LADDER_MAX_STEPS];
    char key[65];
    size_t n, n_here; /* steps; records of them that came */
    struct link *link;
    struct progress progress;
};

static enum err take(int64_t n, const struct record *r, const char *line, void *arg, struct why *why)
{
    struct results *results = arg;

    (void)line;
    (void)why;
    if (n < 0 || (size_t)n >= results->n)
        return ERR_PROTOCOL;
    assert(results->n_here < results->n); /* one a step: measure_trials */
    results->step[n].status = r->status;
    results->step[n].ms = r->time_ns / 1e6;
    results->step[n].gflops = record_gflops(r);
    results->n_here++;
    snprintf(results->step[n].why, sizeof results->step[n].why, "%s", r->why ? r->why : "");
    return ERR_OK;
}

static enum err add_step(const struct device_choice *d, size_t i, struct results *results, struct trial_batch *b,
                         struct why *why)
{
    struct config config;
    struct task t;
    struct buf text;
    size_t i_arm;
    enum err e = ladder_task(results->workload, i, &d->desc, &t, &i_arm, &config, why);

    assert(i == results->n && i < LADDER_MAX_STEPS);
    if (e)
        return e;
    buf_init(&text, 4096);
    if (space_config_text(t.arms[i_arm].space, &config, &text) == ERR_OK)
        snprintf(results->step[i].knobs, sizeof results->step[i].knobs, "%s", buf_text(&text));
    snprintf(results->step[i].workload, sizeof results->step[i].workload, "%s", t.text);
    e = trial_batch_add(b, &t, TRIAL_SEARCH, i_arm, &config, "user", (int64_t)i, NULL, why);
    buf_fini(&text);
    task_fini(&t);
    return e;
}

/* The records of a batch come together when it is timed: until then the line shows that something goes on. */
static enum err look(void *arg, struct why *why)
{
    struct results *results = arg;
    const struct progress_state p = {.n_tasks = 1,
                                     .task = "steps of the ladder",
                                     .done = (int64_t)results->n_here,
                                     .total = (int64_t)results->n,
                                     .eta_s = -1,
                                     .n_devices = 1,
                                     .key = results->key};

    progress_draw(&results->progress, &p, clock_now_ns(), false);
    return link_check(results->link, why);
}

static enum err measure(const struct cli *c, struct link *l, struct job *j, struct results *results, char name[128],
                        struct why *why)
{
    struct measure_options o = {.client = l->client, .interrupted = cmd_interrupted, .check = look, .arg = results};
    struct device_choice d;
    struct trial_batch b;
    char id[40];
    enum err e = cmd_wait_device(l, l->is_private ? l->farm.key : cli_text(c, "key"), &d, why);

    if (e)
        return e;
    snprintf(name, 128, "%.127s", d.desc.name);
    snprintf(results->key, sizeof results->key, "%s", d.key);
    snprintf(j->key, sizeof j->key, "%s", d.key);
    e = trial_batch_init(&b, j, &d);
    b.is_told = true;
    for (; !e && ladder_steps[results->n].name && results->n < LADDER_MAX_STEPS; results->n++)
        e = add_step(&d, results->n, results, &b, why);
    if (!e)
        e = cmd_submit_job(l->client, j, 0, true, id, &o.token, why);
    o.job_id = id;
    if (!e) {
        progress_note(&results->progress, "%zu steps: each is built and verified, then all are timed together",
                      results->n);
        e = measure_trials(&o, &b, take, results, why);
        progress_pause(&results->progress);
        cmd_end_job(l->client, id, o.token, e ? "cancelled" : "done");
    }
    trial_batch_fini(&b);
    return e;
}

/* Ratio of two rates; 0 when one of them is not known. */
static double ratio(double a, double b)
{
    return a > 0 && b > 0 ? a / b : 0;
}

static void print_row(const struct results *r, size_t i)
{
    const struct ladder_step *s = &ladder_steps[i];
    const double m40 = s->m40_gflops, before = i ? r->step[i - 1].gflops : 0;
    char name[64];

    assert(i < r->n && s->name);
    if (s->all_layers)
        snprintf(name, sizeof name, "%s, l=%lld", s->name, (long long)ladder_layers(r->workload, i));
    else
        snprintf(name, sizeof name, "%s", s->name);
    printf("%-28s", name);
    if (r->step[i].status != STATUS_OK) {
        printf(" %s: %s\n", status_name(r->step[i].status), r->step[i].why);
        return;
    }
    printf(" %9.3f %8.1f", r->step[i].ms, r->step[i].gflops);
    if (i && m40 > 0)
        printf(" %7.2fx", ratio(r->step[i].gflops, before));
    else
        printf(" %8s", "");
    printf(" %7.2fx", ratio(r->step[i].gflops, r->step[0].gflops));
    if (m40 > 0)
        printf("  | %6.0f %6.2fx %6.1fx", m40, i ? m40 / ladder_steps[i - 1].m40_gflops : 1.0,
               m40 / ladder_steps[0].m40_gflops);
    putchar('\n');
}

static void print_table(const struct results *r, const char *device)
{
    size_t whole = 0; /* a step on all layers */

    for (size_t i = 0; i < r->n; i++)
        if (ladder_steps[i].all_layers)
            whole = i;
    printf("%s on %s\n", r->step[whole].workload, device);
    printf("one layer (l=1) where a step names no other number; right of the bar the post's table, an M40\n");
    printf("%-28s %9s %8s %8s %8s  | %6s %7s %7s\n", "step", "ms", "GFLOPS", "step", "all", "GFLOPS", "step", "all");
    for (size_t i = 0; i < r->n; i++)
        print_row(r, i);
}

static void print_json(const struct results *r)
{
    for (size_t i = 0; i < r->n; i++) {
        cJSON *o = cJSON_CreateObject();
        char *text;

        cJSON_AddStringToObject(o, "step", ladder_steps[i].name);
        cJSON_AddStringToObject(o, "workload", r->step[i].workload);
        cJSON_AddStringToObject(o, "knobs", r->step[i].knobs);
        cJSON_AddStringToObject(o, "status", status_name(r->step[i].status));
        if (r->step[i].status == STATUS_OK) {
            cJSON_AddNumberToObject(o, "ms", r->step[i].ms);
            cJSON_AddNumberToObject(o, "gflops", r->step[i].gflops);
            cJSON_AddNumberToObject(o, "to_baseline", ratio(r->step[i].gflops, r->step[0].gflops));
        } else {
            cJSON_AddStringToObject(o, "why", r->step[i].why);
        }
        if (ladder_steps[i].m40_gflops > 0)
            cJSON_AddNumberToObject(o, "m40_gflops", ladder_steps[i].m40_gflops);
        text = json_line(o);
        puts(text ? text : "");
        cJSON_free(text);
        cJSON_Delete(o);
    }
}

/* "rnn" and its keys as two words, or a whole workload. */
static enum err read_workload(const struct cli *c, struct workload *out, struct why *why)
{
    char text[WORKLOAD_MAX_TEXT];

    if (c->n_rest < 1 || c->n_rest > 2)
        return why_set(why, ERR_INPUT, "expected rnn \"cell=lstm i=512 h=512 l=4 b=64 t=100\"");
    if (c->n_rest == 1)
        snprintf(text, sizeof text, "%s", c->rest[0]);
    else
        snprintf(text, sizeof text, "%s %s%s", c->rest[0],
                 strchr(c->rest[1], '=') && c->rest[1][0] != 'f' ? "f32 " : "", c->rest[1]);
    return cmd_workload(text, out, why);
}

static int run(const struct cli *c)
{
    struct results results = {.n = 0};
    struct workload w;
    struct why why = {""};
    struct link l = {.client = NULL};
    struct buf text;
    struct job j;
    char device[128] = "";
    enum err e = read_workload(c, &w, &why);

    cmd_catch_interrupts();
    buf_init(&text, WORKLOAD_MAX_TEXT);
    results.workload = &w;
    results.link = &l;
    progress_init(&results.progress, cli_flag(c, "quiet"), false);
    if (!e)
        e = ladder_workload(&w, 0, &text, &why);
    buf_fini(&text);
    job_init(&j);
    cmd_timing(c, &j);
    if (!e)
        e = link_open(&l, c, "tune", &why);
    if (!e)
        e = measure(c, &l, &j, &results, device, &why);
    link_close(&l);
    job_fini(&j);
    if (e)
        return cmd_fail(e, &why);
    if (cli_flag(c, "json"))
        print_json(&results);
    else
        print_table(&results, device);
    for (size_t i = 0; i < results.n; i++)
        if (results.step[i].status != STATUS_OK)
            return EXIT_NO_CONFIG;
    return EXIT_FINE;
}

const struct command cmd_ladder = {
    .name = "ladder",
    .summary = "the cuDNN 5 post's steps of a recurrent network on a device",
    .usage = "ladder rnn KEYS [options]",
    .example = "tune ladder rnn \"cell=lstm i=512 h=512 l=4 b=64 t=100\"",
    .options = options,
    .run = run,
};
