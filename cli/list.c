/* SPDX-License-Identifier: MIT */
/* list.c - `tune list`: the jobs of a tracker. */
#include "cli/cmd.h"

#include "core/clock.h"

#include <stdio.h>

/* As docs/protocol.md has them. */
static const char *state_at(size_t i)
{
    static const char *const states[] = {"all", "open", "running", "done", "failed", "cancelled", NULL};

    return states[i];
}

static const struct cli_option options[] = {
    OPT_TRACKER_DEFAULT,
    OPT_KEY_FILE,
    CLI_OPTION("state", CLI_TEXT, .argument = "STATE", .otherwise = "all", .word = state_at, .help = "which ones"),
    CLI_OPTION("max", CLI_INT, .argument = "N", .otherwise = "50", .min = 1, .max = 10000,
               .help = "at most so many, the newest first"),
    OPT_JSON,
    CLI_END,
};

static const char *text_of(const cJSON *o, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, name);

    return cJSON_IsString(item) ? item->valuestring : "";
}

static double number_of(const cJSON *o, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, name);

    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static void print_job(const cJSON *j)
{
    const cJSON *trials = cJSON_GetObjectItemCaseSensitive(j, "trials");
    char age[32];

    duration_text(((double)clock_wall_ms() - number_of(j, "created_ms")) / 1000, age, sizeof age);
    printf("%-6s %-10s %-14s %-10s %6.0f %6.0f %6.0f %8s  %.60s\n", text_of(j, "job"), text_of(j, "state"),
           text_of(j, "key"), text_of(j, "user"), number_of(trials, "done"),
           number_of(trials, "open") + number_of(trials, "leased"), number_of(trials, "lost"), age,
           text_of(j, "title"));
}

static enum err list(struct client *client, const struct cli *c, struct why *why)
{
    cJSON *args = cJSON_CreateObject(), *result = NULL;
    const cJSON *jobs, *j;
    bool ok = args != NULL;
    enum err e;

    json_add_text(args, "state", cli_text(c, "state"), &ok);
    json_add_i64(args, "max", cli_int(c, "max"), &ok);
    e = client_call(client, "job_list", args, NULL, 0, &result, NULL, why);
    if (!e)
        e = json_get_array(result, "jobs", &jobs, why);
    if (!e && !cli_flag(c, "json"))
        printf("%-6s %-10s %-14s %-10s %6s %6s %6s %8s  %s\n", "job", "state", "key", "user", "done", "open", "lost",
               "age", "title");
    for (j = e ? NULL : jobs->child; j; j = j->next) {
        char *line = cli_flag(c, "json") ? cJSON_PrintUnformatted(j) : NULL;

        if (line)
            puts(line);
        else
            print_job(j);
        cJSON_free(line);
    }
    cJSON_Delete(result);
    return e;
}

static int run(const struct cli *c)
{
    return cmd_ask(c, list);
}

const struct command cmd_list = {
    .name = "list",
    .summary = "the jobs of a tracker",
    .usage = "list [options]",
    .example = "tune list --tracker farm:9477 --state open",
    .options = options,
    .run = run,
};
