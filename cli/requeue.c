/* SPDX-License-Identifier: MIT */
/* requeue.c - `tune requeue`: trials that were given up are tried again. */
#include "cli/cmd.h"

#include <limits.h>
#include <stdio.h>

static const struct cli_option options[] = {OPT_TRACKER_DEFAULT, OPT_KEY_FILE, OPT_QUIET, CLI_END};

static enum err requeue(struct client *client, const struct cli *c, struct why *why)
{
    enum err e = ERR_OK;

    for (int i = 0; i < c->n_rest && !e; i++) {
        const char *name = c->rest[i];
        const struct requeue_args args = {.trial = *name == 't' ? name : NULL, .job = *name == 't' ? NULL : name};
        struct requeue_result result;
        cJSON *tree = NULL;

        e = client_requeue(client, &args, &result, &tree, why);
        if (!e && !cli_flag(c, "quiet"))
            printf("%s: %lld trials are tried again\n", name, (long long)result.requeued);
        cJSON_Delete(tree);
    }
    return e;
}

static int run(const struct cli *c)
{
    return cmd_ask(c, 1, INT_MAX, "jt", requeue);
}

const struct command cmd_requeue = {
    .name = "requeue",
    .summary = "try lost trials again, of whole jobs or single ones",
    .usage = "requeue JOB|TRIAL... [options]",
    .example = "tune requeue j12 --tracker farm:9477",
    .options = options,
    .run = run,
};
