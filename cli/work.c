/* SPDX-License-Identifier: MIT */
/* work.c - `tune work`: leases jobs without a driver from a tracker and drives them, one after the other. */
#include "cli/cmd.h"

#include "core/clock.h"
#include "kernels/spec/spec.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const struct cli_option options[] = {
    OPT_TRACKER_DEFAULT,
    OPT_KEY_FILE,
    CLI_OPTION("once", CLI_FLAG, .help = "end when there is no job left"),
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

static enum err lease(struct client *c, bool once, struct leased *out, bool *any, struct why *why)
{
    const struct job_lease_args args = {.wait_ms = once ? 0 : 1000};
    struct job_lease_result result;
    cJSON *tree = NULL;
    enum err e;

    out->id[0] = '\0';
    job_init(&out->job);
    e = client_job_lease(c, &args, &result, &tree, why);
    *any = !e && result.job;
    if (*any) {
        snprintf(out->id, sizeof out->id, "%s", result.job);
        out->token = result.token;
        e = result.body ? job_parse(result.body, strlen(result.body), &out->job, why)
                        : why_set(why, ERR_INPUT, "job %s has no body", result.job);
    }
    cJSON_Delete(tree);
    return e;
}

static void fail_job(struct client *c, const struct leased *l)
{
    const struct job_done_args args = {.job = l->id, .token = l->token, .state = "failed"};

    client_job_done(c, &args, NULL, NULL, NULL);
}

struct fetching {
    struct client *client;
    struct blobs *files;
};

static enum err fetch(const char *hex, void *arg, struct why *why)
{
    const struct fetching *f = arg;

    return client_get_blob(f->client, hex, f->files, why);
}

/* The files of a person's own kernel, which the tracker keeps since the job was submitted. */
static enum err fetch_files(struct client *c, struct job *j, struct why *why)
{
    struct fetching f = {c, &j->spec_files};

    return j->spec ? spec_each_file(j->spec, strlen(j->spec), fetch, &f, why) : ERR_OK;
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

static enum err loop(struct client *c, bool once, struct progress *p, struct why *why)
{
    while (!cmd_interrupted()) {
        struct leased l;
        bool any;
        const enum err e = lease(c, once, &l, &any, why);

        if (e == ERR_INPUT && l.id[0]) { /* a job that this tune does not understand must not come back for ever */
            cmd_fail(e, why);
            fail_job(c, &l);
        } else if (e) {
            return cmd_interrupted() ? ERR_OK : e;
        } else if (any && fetch_files(c, &l.job, why)) {
            cmd_fail(ERR_NOT_FOUND, why);
            fail_job(c, &l);
        } else if (any) {
            drive(c, &l, p);
        } else if (once) {
            return ERR_OK;
        }
        job_fini(&l.job);
    }
    return ERR_OK;
}

static int run(const struct cli *c)
{
    struct why why = {""};
    struct progress p;
    struct link l;
    enum err e;

    cmd_catch_interrupts();
    progress_init(&p, cli_flag(c, "quiet"), false);
    p.verbosity = (int)cli_int(c, "verbose");
    e = link_open(&l, c, "work", &why);
    if (!e)
        e = loop(l.client, cli_flag(c, "once"), &p, &why);
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
