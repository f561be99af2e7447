/* SPDX-License-Identifier: MIT */
/* cancel.c - `tune cancel`: withdraws jobs; what was measured stays. */
#include "cli/cmd.h"

#include <stdio.h>

static const struct cli_option options[] = {OPT_TRACKER_DEFAULT, OPT_KEY_FILE, OPT_QUIET, CLI_END};

static enum err cancel(struct client *client, const char *job, bool quiet, struct why *why)
{
    const struct job_name args = {.job = job};
    struct job_cancel_result result;
    cJSON *tree = NULL;
    enum err e = client_job_cancel(client, &args, &result, &tree, why);

    if (!e && !quiet)
        printf("%s %s\n", job, result.state);
    cJSON_Delete(tree);
    return e;
}

static int run(const struct cli *c)
{
    struct why why = {""};
    struct link l;
    enum err e;

    if (c->n_rest == 0)
        return cmd_fail(why_set(&why, ERR_INPUT, "no job: expected its id, e.g. j12"), &why);
    cmd_catch_interrupts();
    e = link_open(&l, c, "tune", &why);
    for (int i = 0; i < c->n_rest && !e; i++)
        e = cancel(l.client, c->rest[i], cli_flag(c, "quiet"), &why);
    link_close(&l);
    return e ? cmd_fail(e, &why) : EXIT_FINE;
}

const struct command cmd_cancel = {
    .name = "cancel",
    .summary = "withdraw jobs; what was measured stays",
    .usage = "cancel JOB... [options]",
    .example = "tune cancel j12 --tracker farm:9477",
    .options = options,
    .run = run,
};
