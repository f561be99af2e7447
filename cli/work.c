/* SPDX-License-Identifier: MIT */
/* work.c - `tune work`: leases jobs without a driver from a tracker and drives them side by side, each in a process of
 * its own, which gets the lease on its command line: one that crashes or computes for long keeps no other job back. */
#include "cli/cmd.h"

#include "core/clock.h"
#include "core/proc.h"

#include <assert.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#define MAX_JOBS 1024
#define LOOK_MS 100  /* between two looks at the processes while no job may be leased */
#define WAIT_MS 1000 /* of a long poll for a job */
#define END_MS 4000  /* processes have that long to give their jobs back */

static const struct cli_option options[] = {
    OPT_TRACKER_DEFAULT,
    OPT_KEY_FILE,
    CLI_OPTION("jobs", CLI_INT, .letter = 'j', .argument = "N", .otherwise = "64", .min = 1, .max = MAX_JOBS,
               .help = "so many jobs side by side, each in a process of its own"),
    CLI_OPTION("part", CLI_INT, .argument = "I", .otherwise = "0", .max = PARTS_MOST,
               .help = "of a farm in parts (tune-tracker --parts): the one whose jobs are driven"),
    CLI_OPTION("once", CLI_FLAG, .help = "end when there is no job left"),
    CLI_OPTION("lease", CLI_TEXT, .argument = "JOB:TOKEN",
               .help = "drive only the job whose lease this is (what `tune work` starts for each)"),
    OPT_KERNEL_DIR,
    OPT_VERBOSE,
    OPT_QUIET,
    CLI_END,
};

struct leased {
    char id[40];
    int64_t token;
    struct job job;
};

/* What is known of the lease of the command line: the job's body. */
static enum err read_job(struct client *c, struct leased *l, struct why *why)
{
    const struct job_name args = {.job = l->id};
    struct job_entry entry;
    cJSON *tree = NULL;
    enum err e = client_job_status(c, &args, &entry, &tree, why);

    if (!e)
        e = entry.body ? job_parse(entry.body, strlen(entry.body), &l->job, why)
                       : why_set(why, ERR_INPUT, "job %s has no body", l->id);
    cJSON_Delete(tree);
    return e;
}

static void fail_job(struct client *c, const struct leased *l)
{
    const struct job_done_args args = {.job = l->id, .token = l->token, .state = "failed"};

    client_job_done(c, &args, NULL, NULL, NULL);
}

static void drive(struct client *c, struct leased *l, struct progress *p)
{
    const struct session_options o = {.client = c,
                                      .job = &l->job,
                                      .job_id = l->id,
                                      .token = l->token,
                                      .progress = p,
                                      .interrupted = cmd_interrupted,
                                      .wait_device_ms = -1,
                                      .stored = true};
    struct why why = {""};
    struct session s;
    const enum err e = session_init(&s, &o, &why);

    assert(l->id[0]); /* lease */
    progress_note(p, "job %s: %zu workloads", l->id, l->job.n_layers);
    if (e == ERR_CANCELLED || e == ERR_STALE)
        session_close(&s, s.cancelled ? "cancelled" : "", NULL);
    else if (e) {
        cmd_fail(e, &why);
        fail_job(c, l);
    } else {
        cmd_drive(&s, p, "");
    }
    session_fini(&s);
}

static enum err read_lease(const char *text, struct leased *out, struct why *why)
{
    const char *colon = strchr(text, ':');

    *out = (struct leased){.token = colon ? strtoll(colon + 1, NULL, 10) : 0};
    if (!colon || out->token < 1 || colon - text >= (ptrdiff_t)sizeof out->id)
        return why_set(why, ERR_INPUT, "--lease %.60s: expected a job and its token, e.g. j12:1", text);
    snprintf(out->id, sizeof out->id, "%.*s", (int)(colon - text), text);
    return ERR_OK;
}

/* Drives the job of --lease to its end. A job that this tune does not understand, or whose files are gone, must not
 * come back for ever: it has failed. */
static enum err drive_lease(struct client *c, struct leased *l, struct progress *p, struct why *why)
{
    enum err e;

    job_init(&l->job);
    e = client_settle_job(c, l->id, why);
    if (!e)
        e = read_job(c, l, why);
    if (!e)
        e = cmd_fetch_files(c, &l->job, why) ? ERR_INPUT : ERR_OK;
    if (e == ERR_INPUT)
        fail_job(c, l);
    if (!e)
        drive(c, l, p);
    job_fini(&l->job);
    return e;
}

/* ---- many at once ---- */

struct crew {
    const struct cli *cli;
    char program[PATH_MAX];
    pid_t pids[MAX_JOBS];
    int n, max;
};

static enum err crew_init(struct crew *w, const struct cli *c, struct why *why)
{
    char dir[PATH_MAX - 8];

    *w = (struct crew){.cli = c, .max = (int)cli_int(c, "jobs")};
    if (proc_own_dir(dir, sizeof dir) != ERR_OK)
        return why_set(why, ERR_NOT_FOUND, "cannot tell where this program is");
    snprintf(w->program, sizeof w->program, "%s/tune", dir);
    return ERR_OK;
}

/* A process for one job: the same command with --lease. A group of its own, so that Ctrl-C reaches it once: through us.
 */
static enum err crew_start(struct crew *w, const char *lease, struct why *why)
{
    static const char *const passed[] = {"tracker", "key-file", "ca", "cert", "kernel-dir"};
    const char *argv[20] = {w->program, "work", "--lease", lease};
    struct proc_options o = {.argv = argv, .in_fd = -1, .out_fd = 1, .err_fd = 2, .pass_fd = -1, .own_group = true};
    char names[5][16];
    int n = 4;

    for (int i = 0; i < 5; i++) {
        if (!cli_text(w->cli, passed[i]))
            continue;
        snprintf(names[i], sizeof names[i], "--%s", passed[i]);
        argv[n++] = names[i];
        argv[n++] = cli_text(w->cli, passed[i]);
    }
    if (cli_flag(w->cli, "quiet"))
        argv[n++] = "-q";
    if (cli_int(w->cli, "verbose"))
        argv[n++] = cli_int(w->cli, "verbose") > 1 ? "-vv" : "-v";
    argv[n] = NULL;
    assert(w->n < w->max);
    return proc_start(&o, &w->pids[w->n], why) ? ERR_CHILD : (w->n++, ERR_OK);
}

/* The lease of a process that died runs out by itself: a job that kills its tuner is back after a pause. */
static void crew_reap(struct crew *w)
{
    int status;

    for (int i = 0; i < w->n;)
        if (proc_wait(w->pids[i], 0, &status) != ERR_TIMEOUT)
            w->pids[i] = w->pids[--w->n];
        else
            i++;
}

static void crew_end(struct crew *w)
{
    for (int i = 0; i < w->n; i++)
        proc_kill(w->pids[i], SIGTERM, true);
    for (int ms = 0; w->n && ms < END_MS; ms += LOOK_MS) {
        crew_reap(w);
        if (w->n)
            clock_sleep_ms(LOOK_MS);
    }
    for (int i = 0; i < w->n; i++)
        proc_kill(w->pids[i], SIGKILL, true);
}

/* Leases one job, when there is one within wait_ms, and starts its process. */
static enum err take_one(struct client *c, struct crew *w, int64_t wait_ms, bool *any, struct why *why)
{
    const struct job_lease_args args = {.wait_ms = wait_ms};
    struct job_lease_result result;
    cJSON *tree = NULL;
    char text[80];
    enum err e = client_job_lease(c, &args, &result, &tree, why);

    *any = !e && result.job;
    if (*any) {
        const struct job_release_args back = {.job = result.job, .token = result.token};

        snprintf(text, sizeof text, "%s:%lld", result.job, (long long)result.token);
        e = crew_start(w, text, why);
        if (e)
            client_job_release(c, &back, NULL, NULL, NULL);
    }
    cJSON_Delete(tree);
    return e;
}

static enum err loop(struct client *c, struct crew *w, bool once, struct why *why)
{
    enum err e = ERR_OK;

    while (!e && !cmd_interrupted()) {
        bool any = false;

        crew_reap(w);
        if (w->n < w->max)
            e = take_one(c, w, once ? 0 : WAIT_MS, &any, why);
        if (!e && once && !any && w->n == 0)
            break;
        if (!any && (once || w->n == w->max))
            clock_sleep_ms(LOOK_MS);
    }
    crew_end(w);
    return cmd_interrupted() ? ERR_OK : e;
}

static int run(const struct cli *c)
{
    static struct crew crew;
    const char *lease = cli_text(c, "lease");
    struct leased leased;
    struct why why = {""};
    struct progress p;
    struct link l;
    enum err e = cmd_check_words(c, 0, 0, "", &why);

    if (!e && lease)
        e = read_lease(lease, &leased, &why);
    if (e)
        return cmd_fail(e, &why);
    cmd_catch_interrupts();
    progress_init(&p, cli_flag(c, "quiet"), false);
    p.verbosity = (int)cli_int(c, "verbose");
    e = link_open(&l, c, "work", &why);
    if (!e && lease)
        e = drive_lease(l.client, &leased, &p, &why);
    else if (!e && (e = client_settle(l.client, cli_int(c, "part"), &why)) == ERR_OK &&
             (e = crew_init(&crew, c, &why)) == ERR_OK)
        e = loop(l.client, &crew, cli_flag(c, "once"), &why);
    link_close(&l);
    return e ? cmd_fail(e, &why) : EXIT_FINE;
}

const struct command cmd_work = {
    .name = "work",
    .summary = "drive submitted jobs of a tracker (the tracker's --workers run this)",
    .usage = "work [options]",
    .example = "tune work --tracker farm:9477 --once",
    .options = options,
    .run = run,
};
