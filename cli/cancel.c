/* SPDX-License-Identifier: MIT */
/* cancel.c - `tune cancel`: withdraws jobs; what was measured stays. */
#include "cli/cmd.h"

#include <limits.h>
#include <stdio.h>

static const struct cli_option options[] = {OPT_TRACKER_DEFAULT, OPT_KEY_FILE, OPT_QUIET, CLI_END};

static enum err cancel(struct client *client, const struct cli *c, struct why *why)
{
    enum err e = ERR_OK;

    for (int i = 0; i < c->n_rest && !e; i++) {
        const struct job_name args = {.job = c->rest[i]};
        struct job_cancel_result result;
        cJSON *tree = NULL;

        e = client_job_cancel(client, &args, &result, &tree, why);
        if (!e && !cli_flag(c, "quiet"))
            printf("%s %s\n", c->rest[i], result.state);
        cJSON_Delete(tree);
    }
    return e;
}

static int run(const struct cli *c)
{
    return cmd_ask(c, 1, INT_MAX, "j", cancel);
}

const struct command cmd_cancel = {
    .name = "cancel",
    .summary = "withdraw jobs; what was measured stays",
    .usage = "cancel JOB... [options]",
    .example = "tune cancel j12 --tracker farm:9477",
    .options = options,
    .run = run,
};
