/* SPDX-License-Identifier: MIT */
/* replay.c - `tune replay`: runs a strategy on recorded spaces; a JSON line a run. */
#include "core/buf.h"
#include "core/err.h"
#include "core/json.h"
#include "cost_model/model.h"
#include "cli/cmd.h"
#include "search/learn/transfer_recorded.h"
#include "tuner/replay.h"
#include "search/strategies/warm.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILES 256

static const struct cli_option options[] = {
    CLI_OPTION("space", CLI_TEXT, .argument = "F[,G]",
               .help = "recorded spaces: X.json, with X.csv or X.csv.gz beside it"),
    OPT_STRATEGY,
    CLI_OPTION("history", CLI_TEXT, .argument = "F[,G]",
               .help = "recorded spaces of other devices that warm the strategy; the one that is run on is left out"),
    CLI_OPTION("model", CLI_TEXT, .argument = "NAME", .help = "cost model of the strategy, instead of its own choice",
               .word = model_name_at),
    CLI_OPTION("budget", CLI_INT, .argument = "N", .otherwise = "100", .min = 1, .max = 1e6,
               .help = "evaluations of a run"),
    CLI_OPTION("batch", CLI_INT, .argument = "N", .otherwise = "1", .min = 1, .max = REPLAY_MAX_BATCH,
               .help = "configs asked for at a time"),
    CLI_OPTION("seeds", CLI_INT, .argument = "K", .otherwise = "1", .min = 1, .max = 10000,
               .help = "runs of each space"),
    OPT_SEED("seed of the first run; the next ones count up"),
    CLI_OPTION("method", CLI_TEXT, .argument = "TEXT", .help = "label of the runs; else the strategy's name"),
    CLI_OPTION("output", CLI_TEXT, .letter = 'o', .argument = "FILE",
               .help = "where the lines go; else standard output"),
    CLI_END,
};

/* Names separated by commas, cut in place. */
struct names {
    char *text;
    const char *list[MAX_FILES];
    size_t n;
};

static enum err names_add(struct names *out, char *text, struct why *why)
{
    char *save = NULL;

    for (char *at = strtok_r(text, ",", &save); at; at = strtok_r(NULL, ",", &save)) {
        if (out->n == MAX_FILES)
            return why_set(why, ERR_LIMIT, "more than %d recorded spaces", MAX_FILES);
        out->list[out->n++] = at;
    }
    return ERR_OK;
}

/* What --space names, and the arguments that are no options. */
static enum err read_names(const struct cli *c, struct names *out, struct why *why)
{
    const char *given = cli_text(c, "space");
    enum err e = ERR_OK;

    *out = (struct names){.text = strdup(given ? given : "")};
    if (!out->text)
        return why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
    e = names_add(out, out->text, why);
    for (int i = 0; e == ERR_OK && i < c->n_rest; i++) {
        if (out->n == MAX_FILES)
            return why_set(why, ERR_LIMIT, "more than %d recorded spaces", MAX_FILES);
        out->list[out->n++] = c->rest[i];
    }
    if (e == ERR_OK && out->n == 0)
        e = why_set(why, ERR_INPUT, "no recorded space: expected --space FILE.json");
    return e;
}

/* Where the lines go, with its name for messages. */
struct output {
    FILE *file;
    const char *path;
};

static enum err print_run(const struct output *to, const char *space, uint64_t seed, const char *method,
                          const struct replay_run *r, struct why *why)
{
    cJSON *line = cJSON_CreateObject(), *rows = cJSON_CreateArray();
    bool ok = line && rows;
    struct buf text;
    enum err e;

    buf_init(&text, (size_t)64 << 20);
    json_add_text(line, "space", space, &ok);
    json_add_i64(line, "seed", (int64_t)seed, &ok);
    json_add_text(line, "method", method, &ok);
    for (size_t i = 0; ok && i < r->n; i++)
        ok = cJSON_AddItemToArray(rows, cJSON_CreateNumber((double)r->rows[i]));
    json_add_item(line, "traj", rows, &ok);
    json_add_real(line, "overhead_ms", r->overhead_ms, &ok);
    e = ok ? json_print(line, &text) : ERR_NOMEM;
    if (e)
        why_set(why, e, "%s", err_words(e));
    else if (fprintf(to->file, "%s\n", buf_text(&text)) < 0 || fflush(to->file))
        e = why_set(why, ERR_IO, "%.200s: %s", to->path, strerror(errno));
    cJSON_Delete(line);
    buf_fini(&text);
    return e;
}

/* Adds the recorded space of a path to `t`, unless it is the one that is run on. */
static enum err add_history(struct transfer *t, const char *path, const char *target, struct why *why)
{
    struct recorded *recorded = NULL;
    enum err e = recorded_open(path, &recorded, why);

    if (e == ERR_OK && strcmp(recorded_name(recorded), target) != 0)
        e = transfer_add_recorded(t, recorded, why);
    recorded_close(recorded);
    return e;
}

/* What --history names, for one recorded space; NULL without the option. */
static enum err read_history(const struct cli *c, const struct recorded *recorded, struct transfer **out,
                             struct why *why)
{
    const char *given = cli_text(c, "history");
    struct names names = {.text = strdup(given ? given : "")};
    enum err e = names.text ? ERR_OK : ERR_NOMEM;

    *out = NULL;
    if (e == ERR_OK)
        e = names_add(&names, names.text, why);
    if (e == ERR_OK && names.n)
        e = transfer_new_for(out, recorded_space(recorded), (uint64_t)cli_int(c, "seed"));
    if (e == ERR_NOMEM)
        why_set(why, e, "%s", err_words(e));
    for (size_t i = 0; e == ERR_OK && i < names.n; i++)
        e = add_history(*out, names.list[i], recorded_name(recorded), why);
    free(names.text);
    return e;
}

static enum err replay_space(const struct cli *c, const struct strategy_ops *ops, const char *path,
                             const struct output *to, struct why *why)
{
    const char *method = cli_text(c, "method") ? cli_text(c, "method") : ops->name;
    struct replay_options o = {.ops = ops, .batch = (size_t)cli_int(c, "batch")};
    struct recorded *recorded = NULL;
    enum err e = recorded_open(path, &recorded, why);

    if (e == ERR_OK)
        e = read_history(c, recorded, &o.strategy.history, why);
    if (o.strategy.history) {
        o.strategy.inner = ops;
        o.ops = &warm_ops;
    }
    o.strategy.command = strategy_command(cli_text(c, "strategy"));
    o.strategy.budget = (size_t)cli_int(c, "budget");
    o.strategy.cost_model = cli_text(c, "model");
    for (int64_t i = 0; e == ERR_OK && i < cli_int(c, "seeds") && !cmd_interrupted(); i++) {
        struct replay_run run = {.rows = NULL};

        o.strategy.seed = (uint64_t)(cli_int(c, "seed") + i);
        e = replay(recorded, &o, &run, why);
        assert(run.n <= o.strategy.budget);
        if (e)
            why_prefix(why, e, "%s", path);
        else
            e = print_run(to, recorded_name(recorded), o.strategy.seed, method, &run, why);
        replay_run_fini(&run);
    }
    transfer_free(o.strategy.history);
    recorded_close(recorded);
    return e;
}

/* All that can be refused before the output is emptied. */
static enum err check(const struct cli *c, const struct names *names, struct why *why)
{
    enum err e = ERR_OK;

    for (size_t i = 0; e == ERR_OK && i < names->n; i++) {
        struct recorded *recorded = NULL;
        struct transfer *history = NULL;

        e = recorded_open(names->list[i], &recorded, why);
        if (e == ERR_OK && i == 0)
            e = read_history(c, recorded, &history, why);
        transfer_free(history);
        recorded_close(recorded);
    }
    return e;
}

static enum err replay_all(const struct cli *c, const struct names *names, const struct output *to, struct why *why)
{
    const struct strategy_ops *ops = NULL;
    enum err e = strategy_named(cli_text(c, "strategy"), &ops, why);

    assert(names->n <= MAX_FILES);
    if (!e && strategy_command(cli_text(c, "strategy")) && cli_text(c, "history"))
        e = why_set(why, ERR_INPUT, "--history warms the strategies of tune, not exec:COMMAND");
    if (!e && ops == strategy_find("exec") && !strategy_command(cli_text(c, "strategy")))
        e = why_set(why, ERR_INPUT, "--strategy exec: expected exec:COMMAND, what a shell runs");
    if (!e && cli_text(c, "model") && !ops->has_cost_model)
        e = why_set(why, ERR_INPUT, "--model is of the strategies auto and model; --strategy %s has none", ops->name);
    for (size_t i = 0; e == ERR_OK && i < names->n && !cmd_interrupted(); i++)
        e = replay_space(c, ops, names->list[i], to, why);
    return e;
}

static int run(const struct cli *c)
{
    const char *output = cli_text(c, "output"), *path = output && strcmp(output, "-") == 0 ? NULL : output;
    struct names names = {.text = NULL};
    struct why why = {""};
    struct output to = {stdout, path ? path : "standard output"};
    enum err e = read_names(c, &names, &why);

    cmd_catch_interrupts();
    if (e == ERR_OK)
        e = check(c, &names, &why);
    if (e == ERR_OK && path && !(to.file = fopen(path, "we"))) {
        e = why_set(&why, ERR_IO, "%.200s: %s", path, strerror(errno));
        to.file = stdout;
    }
    if (e == ERR_OK)
        e = replay_all(c, &names, &to, &why);
    if (to.file != stdout && fclose(to.file) && e == ERR_OK)
        e = why_set(&why, ERR_IO, "%.200s: %s", path, strerror(errno));
    free(names.text);
    if (e)
        return cmd_fail(e, &why);
    return cmd_interrupted() ? EXIT_INTERRUPTED : EXIT_FINE;
}

const struct command cmd_replay = {
    .name = "replay",
    .summary = "a strategy run on recorded spaces; a JSON line a run",
    .usage = "replay --space FILE.json[,FILE.json] [options]",
    .example = "tune replay --space examples/recorded/tiles.json --strategy auto --budget 30 --seeds 20 -o runs.jsonl",
    .options = options,
    .run = run,
};
