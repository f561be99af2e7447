/* SPDX-License-Identifier: MIT */
/* pause.c - `tune pause` and `tune resume`: a paused job keeps what it has and gets no device. */
#include "cli/cmd.h"

#include <limits.h>
#include <stdio.h>

static const struct cli_option options[] = {OPT_TRACKER_DEFAULT, OPT_KEY_FILE, OPT_QUIET, CLI_END};

static enum err set(struct client *client, const struct cli *c, bool paused, struct why *why)
{
    enum err e = ERR_OK;

    for (int i = 0; i < c->n_rest && !e; i++) {
        const struct job_pause_args args = {.job = c->rest[i], .paused = paused};
        struct job_pause_result result;
        cJSON *tree = NULL;

        e = client_job_pause(client, &args, &result, &tree, why);
        if (!e && !cli_flag(c, "quiet"))
            printf("%s %s\n", c->rest[i], result.state);
        cJSON_Delete(tree);
    }
    return e;
}

static enum err pause_all(struct client *client, const struct cli *c, struct why *why)
{
    return set(client, c, true, why);
}

static enum err resume_all(struct client *client, const struct cli *c, struct why *why)
{
    return set(client, c, false, why);
}

static int run_pause(const struct cli *c)
{
    return cmd_ask(c, 1, INT_MAX, "j", pause_all);
}

static int run_resume(const struct cli *c)
{
    return cmd_ask(c, 1, INT_MAX, "j", resume_all);
}

const struct command cmd_pause = {
    .name = "pause",
    .summary = "keep jobs from getting devices until `tune resume`",
    .usage = "pause JOB... [options]",
    .example = "tune pause j12 --tracker farm:9477",
    .options = options,
    .run = run_pause,
};

const struct command cmd_resume = {
    .name = "resume",
    .summary = "let paused jobs go on",
    .usage = "resume JOB... [options]",
    .example = "tune resume j12 --tracker farm:9477",
    .options = options,
    .run = run_resume,
};
