/* SPDX-License-Identifier: MIT */
/* cancel.c - `tune cancel`: withdraws jobs; what was measured stays. */
#include "cli/cmd.h"

#include <stdio.h>

static const struct cli_option options[] = {OPT_TRACKER_DEFAULT, OPT_KEY_FILE, OPT_QUIET, CLI_END};

static enum err cancel(struct client *client, const char *job, bool quiet, struct why *why)
{
    cJSON *args = cJSON_CreateObject(), *result = NULL;
    const char *state = "";
    bool ok = args != NULL;
    enum err e;

    json_add_text(args, "job", job, &ok);
    e = client_call(client, "job_cancel", args, NULL, 0, &result, NULL, why);
    if (!e)
        e = json_text_or(result, "state", "cancelled", &state, why);
    if (!e && !quiet)
        printf("%s %s\n", job, state);
    cJSON_Delete(result);
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
