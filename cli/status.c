/* SPDX-License-Identifier: MIT */
/* status.c - `tune status`: one job, or the tracker itself. */
#include "cli/cmd.h"

#include "core/err.h"
#include "core/json.h"
#include "core/terminal.h"
#include "logs/log.h"
#include "tuner/job.h"

#include <stdio.h>
#include <string.h>

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

void cmd_print_workload(const char *workload, const struct record *r)
{
    char *knobs = r ? json_line(r->knobs) : NULL;

    printf("  %s\n", workload);
    if (r)
        printf("    %.4g ms%s, %s%s%s (%s)\n", r->time_ns / 1e6, cmd_speed(r).text, r->template_id,
               r->template_id[0] ? " " : "", knobs ? knobs : "", r->purpose);
    else
        puts("    no valid config yet");
    cJSON_free(knobs);
}

enum err cmd_print_best(const struct best_set *best)
{
    for (size_t i = 0; i < best_n(best); i++) {
        const struct record *r = best_at(best, i);

        if (!r)
            return ERR_NOMEM;
        cmd_print_workload(r->workload, r);
    }
    return ERR_OK;
}

/* Those of the order, or, where it is of a recorded space, of the records. A body that is no order of ours says none.
 */
static enum err print_workloads(const char *body, const struct best_set *best)
{
    struct job j;
    const bool is_ours = job_parse(body, strlen(body), &j, NULL) == ERR_OK;
    const size_t n_layers = is_ours ? j.n_layers : 0, n = n_layers ? n_layers : best_n(best);
    enum err e = ERR_OK;

    if (n)
        puts("workloads:");
    for (size_t i = 0; i < n_layers; i++) {
        text_plain(j.layers[i].workload, "");
        cmd_print_workload(j.layers[i].workload, best_find(best, j.layers[i].workload, NULL));
    }
    if (!n_layers)
        e = cmd_print_best(best);
    if (is_ours)
        job_fini(&j);
    return e;
}

static enum err take(const struct record_entry *entry, void *best, struct why *why)
{
    struct record r;
    enum err e;

    record_init(&r);
    e = record_parse(entry->record, strlen(entry->record), &r, NULL);
    if (!e)
        e = best_add(best, &r);
    record_fini(&r);
    return e == ERR_NOMEM ? why_set(why, e, "%s", err_words(e)) : ERR_OK;
}

static enum err print_line(const cJSON *result)
{
    char *line = json_line(result);

    if (line)
        puts(line);
    cJSON_free(line);
    return line ? ERR_OK : ERR_NOMEM;
}

/* The tracker's own `best` is over all workloads, and it does not look into the body: for people both are told here, of
 * the job's records. */
static enum err print_job(struct client *client, const char *job, cJSON *entry, struct why *why)
{
    cJSON *body = cJSON_DetachItemFromObjectCaseSensitive(entry, "body");
    struct best_set *best = NULL;
    int64_t after = 0;
    int n = 1;
    enum err e = best_new(&best);

    while (!e && n)
        e = client_records(client, job, 0, &after, take, best, &n, why);
    if (!e) {
        cJSON_DeleteItemFromObjectCaseSensitive(entry, "best");
        json_plain(entry);
        print_members(entry, 0);
        e = print_workloads(cJSON_IsString(body) ? body->valuestring : "", best);
    }
    best_free(best);
    cJSON_Delete(body);
    return e;
}

static enum err show_job(struct client *client, const struct cli *c, struct why *why)
{
    const struct job_name args = {.job = c->rest[0]};
    cJSON *result = NULL;
    enum err e = client_settle_job(client, args.job, why);

    if (!e)
        e = client_job_status(client, &args, NULL, &result, why);
    if (!e)
        e = cli_flag(c, "json") ? print_line(result) : print_job(client, args.job, result, why);
    cJSON_Delete(result);
    return e;
}

static enum err show_tracker(struct client *one, int64_t part, void *cli, struct why *why)
{
    const struct cli *c = cli;
    cJSON *result = NULL;
    enum err e = client_status(one, NULL, NULL, &result, why);

    if (!e && client_parts(one) > 1 && !cJSON_AddNumberToObject(result, "part", (double)part))
        e = ERR_NOMEM;
    if (!e && cli_flag(c, "json")) {
        e = print_line(result);
    } else if (!e) {
        json_plain(result);
        print_members(result, 0);
    }
    cJSON_Delete(result);
    return e;
}

static enum err show(struct client *client, const struct cli *c, struct why *why)
{
    struct cli all = *c;

    return c->n_rest ? show_job(client, c, why) : client_each_part(client, show_tracker, &all, why);
}

static int run(const struct cli *c)
{
    return cmd_ask(c, 0, 1, "j", show);
}

const struct command cmd_status = {
    .name = "status",
    .summary = "one job, or the tracker itself",
    .usage = "status [JOB] [options]",
    .example = "tune status j12 --tracker farm:9477",
    .options = options,
    .run = run,
};
