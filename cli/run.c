/* SPDX-License-Identifier: MIT */
/* run.c - `tune run`: tunes workloads here and now, with a private farm or through a tracker. */
#include "cli/cmd.h"

#include "formats/convert.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct cli_option options[] = {
    OPT_LINK,
    OPT_JOB,
    CLI_OPTION("output", CLI_TEXT, .letter = 'o', .argument = "FILE", .otherwise = "tune.jsonl",
               .help = "log of all trials; what it holds already counts as done"),
    CLI_OPTION("records", CLI_TEXT, .argument = "FILE",
               .help = "log of earlier runs, or another tuner's, to learn from"),
    CLI_OPTION("detach", CLI_FLAG, .help = "when interrupted, leave the job to `tune work` at the tracker"),
    CLI_OPTION("dry-run", CLI_FLAG, .help = "say what would be done, measure nothing"),
    OPT_KERNEL_DIR,
    OPT_JSON,
    OPT_VERBOSE,
    OPT_QUIET,
    CLI_END,
};

#define PLAN_BYTES                                                                                                     \
    ((size_t)64 << 20) /* for a set of valid configs; the larger ones, which take long, are estimated                  \
                        */

static void print_plan(const struct session *s)
{
    for (size_t i = 0; i < s->n_tasks; i++) {
        const struct task *t = &s->tasks[i];

        printf("%s%s%s  (x %lld): %lld trials, %lld done\n", t->name, *t->name ? ": " : "", t->text,
               (long long)t->count, (long long)t->budget, (long long)t->n_counted);
        if (t->note[0])
            printf("  %s\n", t->note);
        for (size_t k = 0; k < t->n_arms; k++) {
            bool exact;
            const double n = cmd_count_valid(t->arms[k].space, PLAN_BYTES, &exact);

            printf("  %-28s %s%.0f valid of %llu configs%s\n", t->arms[k].id, exact ? "" : "about ", n,
                   (unsigned long long)space_size(t->arms[k].space), t->arms[k].baseline ? ", measured once" : "");
        }
    }
    printf("device %s (key %s), strategy %s, seed %lld\n", s->device.desc.name, s->device.key, s->o.job->strategy,
           (long long)s->o.job->seed);
}

/* A kernel of one's own whose conditions no config meets: there is nothing to search. */
static bool is_without_config(const struct session *s)
{
    const struct space *space = s->o.job->spec && s->n_tasks && s->tasks[0].n_arms ? s->tasks[0].arms[0].space : NULL;
    bool exact = false;

    return space && space_count_valid(space, 200000, &exact) == 0 && exact;
}

static int tell_without_config(struct session *s, bool dry)
{
    struct why why = {""};

    why_set(&why, ERR_INPUT, "no valid config: the job's Conditions leave none of the %llu configs",
            (unsigned long long)space_size(s->tasks[0].arms[0].space));
    (void)cmd_fail(ERR_INPUT, &why);
    if (!dry)
        session_close(s, "failed", &why);
    return EXIT_NO_CONFIG;
}

static int run_session(const struct cli *c, const struct session_options *given, struct link *l)
{
    struct session_options o = *given;
    const bool dry = cli_flag(c, "dry-run");
    struct why why = {""};
    struct session s;
    char job_id[40] = "";
    enum err e = dry ? ERR_OK : cmd_submit_job(l->client, o.job, cli_int(c, "priority"), true, job_id, &o.token, &why);
    int code;

    o.job_id = job_id;
    if (e)
        return cmd_fail(e, &why);
    e = session_init(&s, &o, &why);
    if (e) {
        code = cmd_fail(e, &why);
        if (!dry)
            session_close(&s, "failed", &why);
    } else if (is_without_config(&s)) {
        code = tell_without_config(&s, dry);
    } else if (dry) {
        print_plan(&s);
        code = EXIT_FINE;
    } else {
        code = cmd_drive(&s, o.progress, cli_flag(c, "detach") && !l->is_private ? "" : "cancelled");
    }
    session_fini(&s);
    return code;
}

static bool count(const struct record *r, const char *line, size_t n_line, void *arg)
{
    size_t *n = arg;

    (void)r;
    (void)line;
    (void)n_line;
    n[0]++;
    return true;
}

static void count_bad(const char *path, int64_t i_line, const char *words, void *arg)
{
    size_t *n = arg;

    n[1]++;
    cmd_log_warning(path, i_line, words, NULL);
}

/* Tells damaged lines of --records; a file that has no others is no log. */
static enum err check_records(const char *path, struct why *why)
{
    size_t n[2] = {0, 0};
    enum err e = path ? convert_scan(path, NULL, count, count_bad, n, why) : ERR_OK;

    if (e == ERR_OK && n[0] == 0 && n[1] > 0)
        e = why_set(why, ERR_INPUT, "--records %.200s: expected a log, no line of it is a record", path);
    return e;
}

/* A dry run reads the log that there is, and makes none. */
static bool wants_log(const struct cli *c)
{
    return !cli_flag(c, "dry-run") || access(cli_text(c, "output"), F_OK) == 0;
}

static int run_job(const struct cli *c, struct job *j)
{
    const bool json = cli_flag(c, "json"), logged = wants_log(c);
    struct progress progress;
    struct joblog log = {.lock_fd = -1};
    struct why why = {""};
    struct link l;
    struct session_options o = {.job = j, .progress = &progress, .interrupted = cmd_interrupted, .wait_device_ms = -1};
    enum err e;
    int code;

    progress_init(&progress, cli_flag(c, "quiet") || cli_flag(c, "dry-run"), json);
    if (json)
        cmd_need_reader();
    progress.verbosity = (int)cli_int(c, "verbose");
    e = check_records(cli_text(c, "records"), &why);
    if (!e && logged)
        e = joblog_open(&log, cli_text(c, "output"), NULL, cmd_log_warning, NULL, &why);
    if (!e)
        e = link_open(&l, c, "tune", &why);
    if (e) {
        joblog_close(&log);
        return cmd_fail(e, &why);
    }
    if (l.is_private) {
        snprintf(j->key, sizeof j->key, "%s", l.farm.key);
        o.wait_device_ms = 60000;
    }
    o.client = l.client;
    o.log = logged ? &log : NULL;
    o.records = cli_text(c, "records");
    o.check_farm = l.is_private ? link_check : NULL;
    o.farm = &l;
    code = run_session(c, &o, &l);
    link_close(&l);
    joblog_close(&log);
    return code;
}

static int run(const struct cli *c)
{
    struct why why = {""};
    struct job j;
    enum err e;
    int code;

    cmd_catch_interrupts();
    e = cmd_job(c, &j, &why);
    if (e)
        return cmd_fail(e, &why);
    code = run_job(c, &j);
    job_fini(&j);
    return code;
}

const struct command cmd_run = {
    .name = "run",
    .summary = "tune workloads here and now, with a progress line and a table at the end",
    .usage = "run WORKLOAD... [options]",
    .example = "tune run \"conv2d f32 n=1 c=256 h=56 w=56 k=256 r=3 s=3 stride=1 pad=1\" --trials 60 -o conv.jsonl",
    .options = options,
    .run = run,
};
