/* SPDX-License-Identifier: MIT */
/* status.c - `tune status`: one job, or the tracker itself. */
#include "cli/cmd.h"

#include <stdio.h>

static const struct cli_option options[] = {OPT_TRACKER_DEFAULT, OPT_KEY_FILE, OPT_JSON, CLI_END};

static void print_members(const cJSON *o, int depth)
{
    for (const cJSON *m = o->child; m; m = m->next) {
        if (cJSON_IsObject(m)) {
            printf("%*s%s:\n", 2 * depth, "", m->string ? m->string : "-");
            print_members(m, depth + 1);
        } else if (cJSON_IsString(m)) {
            printf("%*s%-*s %s\n", 2 * depth, "", 14 - 2 * depth, m->string, m->valuestring);
        } else if (cJSON_IsNumber(m)) {
            printf("%*s%-*s %.15g\n", 2 * depth, "", 14 - 2 * depth, m->string, m->valuedouble);
        } else if (cJSON_IsBool(m)) {
            printf("%*s%-*s %s\n", 2 * depth, "", 14 - 2 * depth, m->string, cJSON_IsTrue(m) ? "yes" : "no");
        }
    }
}

static enum err show(struct client *client, const struct cli *c, struct why *why)
{
    const struct job_name args = {.job = c->n_rest ? c->rest[0] : NULL};
    cJSON *result = NULL;
    char *line;
    const enum err e = c->n_rest ? client_job_status(client, &args, NULL, &result, why)
                                 : client_status(client, NULL, NULL, &result, why);

    if (e)
        return e;
    line = cli_flag(c, "json") ? cJSON_PrintUnformatted(result) : NULL;
    if (line)
        puts(line);
    else
        print_members(result, 0);
    cJSON_free(line);
    cJSON_Delete(result);
    return ERR_OK;
}

static int run(const struct cli *c)
{
    return cmd_ask(c, show);
}

const struct command cmd_status = {
    .name = "status",
    .summary = "one job, or the tracker itself",
    .usage = "status [JOB] [options]",
    .example = "tune status j12 --tracker farm:9477",
    .options = options,
    .run = run,
};
