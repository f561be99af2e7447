/* SPDX-License-Identifier: MIT */
/* list.c - `tune list`: the jobs of a tracker. */
#include "cli/cmd.h"

#include "core/clock.h"
#include "core/terminal.h"

#include <stdio.h>

#define PAGE 1000 /* jobs of one call */

/* As docs/protocol.md has them. */
static const char *state_at(size_t i)
{
    static const char *const states[] = {"all", "open", "running", "paused", "done", "failed", "cancelled", NULL};

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

static enum err print_job(const cJSON *entry, struct why *why)
{
    struct trial_counts trials;
    struct job_entry j;
    char age[32];
    enum err e = job_entry_read(entry, &j, why);

    if (!e)
        e = trial_counts_read(j.trials, &trials, why);
    if (e)
        return e;
    duration_text((double)(clock_wall_ms() - j.created_ms) / 1000, age, sizeof age);
    printf("%-6s %-10s %-14s %-10s %6lld %6lld %6lld %8s  %.60s\n", j.job, j.state, j.key, j.user,
           (long long)trials.done, (long long)(trials.open + trials.leased), (long long)trials.lost, age, j.title);
    return ERR_OK;
}

/* One call's jobs; args->before is that of the next call, 0 behind the last. */
static enum err print_page(struct client *client, struct job_list_args *args, bool json, int64_t *left, struct why *why)
{
    struct job_list_result result;
    cJSON *tree = NULL;
    enum err e = client_job_list(client, args, &result, &tree, why);

    if (!e && !json)
        json_plain(tree); /* result lends from it */

    if (!e && !json && !args->before)
        printf("%-6s %-10s %-14s %-10s %6s %6s %6s %8s  %s\n", "job", "state", "key", "user", "done", "open", "lost",
               "age", "title");
    for (const cJSON *j = e ? NULL : result.jobs->child; j && !e; j = j->next) {
        char *line = json ? json_line(j) : NULL;

        (*left)--;
        if (line)
            puts(line);
        else
            e = print_job(j, why);
        cJSON_free(line);
    }
    args->before = e ? 0 : result.next;
    cJSON_Delete(tree);
    return e;
}

static enum err list(struct client *client, const struct cli *c, struct why *why)
{
    struct job_list_args args = {.state = cli_text(c, "state")};
    int64_t left = cli_int(c, "max");
    enum err e = ERR_OK;

    do {
        args.max = left < PAGE ? left : PAGE;
        e = print_page(client, &args, cli_flag(c, "json"), &left, why);
    } while (!e && left > 0 && args.before);
    return e;
}

static int run(const struct cli *c)
{
    return cmd_ask(c, 0, 0, "", list);
}

const struct command cmd_list = {
    .name = "list",
    .summary = "the jobs of a tracker",
    .usage = "list [options]",
    .example = "tune list --tracker farm:9477 --state open",
    .options = options,
    .run = run,
};
