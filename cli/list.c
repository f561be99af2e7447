/* SPDX-License-Identifier: MIT */
/* list.c - `tune list`: the jobs of a tracker. */
#include "cli/cmd.h"

#include "core/clock.h"
#include "core/terminal.h"

#include <stdio.h>
#include <stdlib.h>

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

struct listing {
    struct job_list_args args;
    int64_t max;
    cJSON *jobs; /* of all parts, the newest of each first */
};

/* The jobs of one part, at most as many as are wanted of all. */
static enum err list_part(struct client *one, int64_t part, void *listing, struct why *why)
{
    struct listing *l = listing;
    struct job_list_args args = l->args;
    int64_t left = l->max;
    enum err e = ERR_OK;

    (void)part;
    do {
        struct job_list_result result;
        cJSON *tree = NULL;

        args.max = left < PAGE ? left : PAGE;
        e = client_job_list(one, &args, &result, &tree, why);
        args.before = e ? 0 : result.next;
        while (!e && result.jobs->child) {
            cJSON_AddItemToArray(l->jobs, cJSON_DetachItemViaPointer(result.jobs, result.jobs->child));
            left--;
        }
        cJSON_Delete(tree);
    } while (!e && left > 0 && args.before);
    return e;
}

static double created_ms(const cJSON *job)
{
    return cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(job, "created_ms"));
}

static int by_age(const void *a, const void *b)
{
    const double x = created_ms(*(cJSON *const *)a), y = created_ms(*(cJSON *const *)b);

    return (x < y) - (x > y);
}

static enum err print_jobs(cJSON **jobs, int n, bool json, struct why *why)
{
    enum err e = ERR_OK;

    if (!json)
        printf("%-6s %-10s %-14s %-10s %6s %6s %6s %8s  %s\n", "job", "state", "key", "user", "done", "open", "lost",
               "age", "title");
    for (int i = 0; i < n && !e; i++) {
        char *line = json ? json_line(jobs[i]) : NULL;

        if (!json)
            json_plain(jobs[i]);
        if (line)
            puts(line);
        else
            e = json ? ERR_NOMEM : print_job(jobs[i], why);
        cJSON_free(line);
    }
    return e;
}

/* One tracker has them in order already. */
static enum err print_listing(const struct listing *l, int64_t n_parts, bool json, struct why *why)
{
    const int n = cJSON_GetArraySize(l->jobs);
    cJSON **jobs = calloc((size_t)n + 1, sizeof *jobs);
    int i = 0;
    enum err e;

    for (cJSON *j = l->jobs->child; jobs && j; j = j->next)
        jobs[i++] = j;
    if (jobs && n_parts > 1)
        qsort(jobs, (size_t)n, sizeof *jobs, by_age);
    e = jobs ? print_jobs(jobs, n < l->max ? n : (int)l->max, json, why) : ERR_NOMEM;
    free(jobs);
    return e;
}

static enum err list(struct client *client, const struct cli *c, struct why *why)
{
    struct listing l = {.args = {.state = cli_text(c, "state")}, .max = cli_int(c, "max"), .jobs = cJSON_CreateArray()};
    enum err e = l.jobs ? client_each_part(client, list_part, &l, why) : ERR_NOMEM;

    if (!e || e == ERR_UNREACHABLE) {
        struct why words = {""};
        const enum err printed = print_listing(&l, client_parts(client), cli_flag(c, "json"), &words);

        if (printed)
            *why = words;
        e = printed ? printed : e;
    }
    cJSON_Delete(l.jobs);
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
