/* SPDX-License-Identifier: MIT */
/* attach.c - `tune attach`: follows a job at a tracker and writes its records to a log. */
#include "cli/cmd.h"

#include "cli/table.h"
#include "core/err.h"
#include "core/terminal.h"
#include "core/vec.h"
#include "logs/log.h"
#include "tuner/failures.h"
#include "tuner/job.h"
#include "tuner/task.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct cli_option options[] = {
    OPT_TRACKER_DEFAULT,
    OPT_KEY_FILE,
    CLI_OPTION("output", CLI_TEXT, .letter = 'o', .argument = "FILE",
               .help = "log to write; lines that it has already are not repeated"),
    OPT_JSON,
    OPT_QUIET,
    CLI_END,
};

/* The highest rate of a workload so far. */
struct rate {
    char *workload;
    double time_ns; /* of the best; 0 = none yet */
    enum record_proof proof;
};

struct following {
    struct client *client;
    const char *job;
    struct joblog *log; /* NULL = none */
    struct progress progress;
    int64_t after, n_records, n_failed;
    struct rate *rates;
    size_t n_rates, cap_rates;
    struct best_set *best;
    struct failures failures;
    char *told;         /* the job as it was told last, JSON; NULL = not yet */
    struct job order;   /* of the job's body */
    bool has_order;     /* it is one of ours */
    bool order_is_read; /* once: what is missing stays so */
    struct task *tasks; /* made of the order for the device of the first record; NULL = not yet, or it cannot be */
    size_t n_tasks;
};

/* Lends; NULL without memory. */
static struct rate *rate_of(struct following *f, const char *workload)
{
    for (size_t i = 0; i < f->n_rates; i++)
        if (strcmp(f->rates[i].workload, workload) == 0)
            return &f->rates[i];
    if (VEC_ROOM(f->rates, f->cap_rates, f->n_rates + 1, VEC_ANY))
        return NULL;
    f->rates[f->n_rates] = (struct rate){.workload = strdup(workload)};
    return f->rates[f->n_rates].workload ? &f->rates[f->n_rates++] : NULL;
}

static void tell(struct following *f, const struct record *r)
{
    const enum record_proof proof = record_proof(r);
    struct rate *best = proof > PROOF_NONE ? rate_of(f, r->workload) : NULL;
    const bool better = best && (proof > best->proof || (proof == best->proof && r->time_ns < best->time_ns));

    progress_measured(&f->progress, r, better);
    if (!better)
        return;
    best->time_ns = r->time_ns;
    best->proof = proof;
    progress_note(&f->progress, "%lld records, %lld failed, best %.4g ms%s: %s %s", (long long)f->n_records,
                  (long long)f->n_failed, r->time_ns / 1e6, cmd_speed(r).text, r->workload, r->template_id);
}

/* ---- the tasks, as `tune run` has them ---- */

static void read_order(struct following *f, const cJSON *entry)
{
    const cJSON *body = cJSON_GetObjectItemCaseSensitive(entry, "body");

    if (f->has_order || f->order_is_read || !cJSON_IsString(body))
        return;
    f->order_is_read = true;
    f->has_order = job_parse(body->valuestring, strlen(body->valuestring), &f->order, NULL) == ERR_OK &&
                   cmd_fetch_files(f->client, &f->order, NULL) == ERR_OK;
    if (f->has_order)
        snprintf(f->order.strategy, sizeof f->order.strategy, "random"); /* nothing is asked of it */
}

static void drop_tasks(struct following *f)
{
    while (f->n_tasks)
        task_fini(&f->tasks[--f->n_tasks]);
    free(f->tasks);
    f->tasks = NULL;
}

/* Without them, where the tracker has the files of an own kernel no more for one, the end is told without the table. */
static void make_tasks(struct following *f, const struct record *r)
{
    const size_t n = f->order.replay[0] ? 1 : f->order.n_layers;
    struct device_desc device;
    enum err e = device_desc_from_json(r->device, &device, NULL);

    f->tasks = e ? NULL : calloc(n + 1, sizeof *f->tasks);
    while (f->tasks && !e && f->n_tasks < n) {
        e = task_init(&f->tasks[f->n_tasks], &f->order, f->n_tasks, &device, NULL);
        f->n_tasks += e == ERR_OK;
    }
    f->has_order = e == ERR_OK;
    if (e)
        drop_tasks(f);
}

static enum err tell_tasks(struct following *f, const struct record *r)
{
    enum err e = ERR_OK;

    if (!f->tasks && f->has_order && r->device)
        make_tasks(f, r);
    for (size_t i = 0; i < f->n_tasks && !e; i++)
        e = task_take(&f->tasks[i], r, ORIGIN_LOG);
    return e;
}

/* Nothing more is measured: the anchor's program may be what its record says. */
static enum err trust(const struct measured *m, struct sha256 *hash, void *arg)
{
    (void)arg;
    *hash = m->record.program;
    return ERR_OK;
}

/* The values on one scale, and the winners those of the best log. */
static enum err finish_tasks(struct following *f)
{
    enum err e = ERR_OK;

    for (size_t i = 0; i < f->n_tasks && !e; i++) {
        struct task *t = &f->tasks[i];
        const struct record *r = best_find(f->best, t->text, t->fingerprint.hex);

        e = task_restore_anchor(t, trust, NULL);
        if (!e && r)
            e = task_crown(t, r);
    }
    return e;
}

static enum err take(const struct record_entry *entry, void *following, struct why *why)
{
    struct following *f = following;
    const char *line = entry->record;
    struct record r;
    enum err e;

    record_init(&r);
    e = record_parse(line, strlen(line), &r, NULL);
    if (!e && f->log)
        e = joblog_line(f->log, &r, line, strlen(line), why);
    if (!e && r.status != STATUS_OK)
        f->n_failed++;
    if (!e)
        failures_add(&f->failures, &r);
    if (!e)
        e = best_add(f->best, &r);
    if (!e)
        e = tell_tasks(f, &r);
    f->n_records++;
    if (!e)
        tell(f, &r);
    record_fini(&r);
    return e == ERR_INPUT ? ERR_OK : e;
}

/* The event `job` of the tracker's page, where it differs from the last one. */
static void tell_job(struct following *f, cJSON *takes_entry)
{
    static const char *const others[] = {"position", "waits", "body", "summary"};
    char *text;

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        cJSON_DeleteItemFromObjectCaseSensitive(takes_entry, others[i]);
    text = json_line(takes_entry);
    if (text && f->told && strcmp(text, f->told) == 0) {
        cJSON_free(text);
        cJSON_Delete(takes_entry);
        return;
    }
    cJSON_free(f->told);
    f->told = text;
    progress_event(&f->progress, "job", takes_entry);
}

static enum err state_of(struct following *f, char *state, size_t n_state, struct why *why)
{
    const struct job_name args = {.job = f->job};
    struct job_entry entry;
    cJSON *tree = NULL;
    const enum err e = client_job_status(f->client, &args, &entry, &tree, why);

    if (!e)
        snprintf(state, n_state, "%s", entry.state);
    if (e)
        cJSON_Delete(tree);
    else {
        read_order(f, tree);
        tell_job(f, tree);
    }
    return e;
}

static bool is_over(const char *state)
{
    return strcmp(state, "done") == 0 || strcmp(state, "failed") == 0 || strcmp(state, "cancelled") == 0;
}

static enum err follow(struct following *f, char *state, size_t n_state, struct why *why)
{
    enum err e = ERR_OK;
    int n = 0;

    while (!e && !cmd_interrupted()) {
        e = state_of(f, state, n_state, why);
        if (!e)
            e = client_records(f->client, f->job, is_over(state) ? 0 : 1000, &f->after, take, f, &n, why);
        if (!e && n == 0 && is_over(state))
            break;
    }
    return e;
}

static void event_done(struct following *f, const char *state)
{
    cJSON *o = cJSON_CreateObject();
    bool ok = o != NULL;

    json_add_text(o, "job", f->job, &ok);
    json_add_text(o, "end", is_over(state) ? state : "interrupted", &ok);
    json_add_i64(o, "records", f->n_records, &ok);
    json_add_i64(o, "failed", f->n_failed, &ok);
    if (f->tasks)
        json_add_item(o, "tasks", table_json(f->tasks, f->n_tasks), &ok);
    progress_event(&f->progress, "done", o);
}

/* What came of it: why trials failed, and the table that `tune run` ends with. */
static enum err print_results(const struct following *f, bool wrote_best)
{
    const struct joblog *log = f->log && f->log->seen.n ? f->log : NULL;
    struct buf words;

    buf_init(&words, (size_t)4 << 20);
    if (f->n_failed)
        failures_explain(&f->failures, &words);
    if (f->tasks)
        table_print(&f->order, f->tasks, f->n_tasks, log ? log->path : NULL,
                    wrote_best && log && best_n(log->best) ? log->best_path : NULL, &words);
    fputs(buf_text(&words), f->log && f->log->is_stdout ? stderr : stdout);
    buf_fini(&words);
    return f->tasks ? ERR_OK : cmd_print_best(f->best);
}

static int finish(struct following *f, const char *state)
{
    struct why why = {""};
    enum err e = finish_tasks(f);

    if (!e && f->log)
        e = joblog_write_best(f->log, &why);
    assert(f->n_failed <= f->n_records);
    if (e)
        return cmd_fail(e, &why);
    progress_note(&f->progress, "job %s: %s, %lld records, %lld failed", f->job, state, (long long)f->n_records,
                  (long long)f->n_failed);
    if (f->progress.mode != PROGRESS_JSON && f->progress.mode != PROGRESS_NONE)
        e = print_results(f, f->log != NULL);
    if (e)
        return cmd_fail(e, NULL);
    event_done(f, state);
    if (!is_over(state))
        return EXIT_INTERRUPTED;
    return f->n_records > f->n_failed ? EXIT_FINE : EXIT_NO_CONFIG;
}

static int run(const struct cli *c)
{
    const char *path = cli_text(c, "output");
    struct why why = {""};
    struct joblog log = {.lock_fd = -1};
    struct following f = {.log = path ? &log : NULL};
    struct link l = {.client = NULL};
    char state[32] = "";
    enum err e;
    int code;

    cmd_catch_interrupts();
    e = cmd_check_words(c, 1, 1, "j", &why);
    if (e)
        return cmd_fail(e, &why);
    progress_init(&f.progress, cli_flag(c, "quiet"), cli_flag(c, "json"));
    if (cli_flag(c, "json"))
        cmd_need_reader();
    f.job = c->rest[0];
    job_init(&f.order);
    failures_init(&f.failures);
    e = best_new(&f.best);
    if (!e && path)
        e = joblog_open(&log, path, NULL, cmd_log_warning, NULL, &why);
    if (!e)
        e = link_open(&l, c, "tune", &why);
    f.client = l.client;
    if (!e)
        e = client_settle_job(l.client, f.job, &why);
    if (!e)
        e = follow(&f, state, sizeof state, &why);
    code = e && !cmd_interrupted() ? cmd_fail(e, &why) : finish(&f, state);
    while (f.n_rates)
        free(f.rates[--f.n_rates].workload);
    free(f.rates);
    cJSON_free(f.told);
    drop_tasks(&f);
    job_fini(&f.order);
    best_free(f.best);
    failures_fini(&f.failures);
    link_close(&l);
    joblog_close(&log);
    return code;
}

const struct command cmd_attach = {
    .name = "attach",
    .summary = "follow a job at a tracker and write its records to a log",
    .usage = "attach JOB [options]",
    .example = "tune attach j12 --tracker farm:9477 -o conv.jsonl",
    .options = options,
    .run = run,
};
