/* SPDX-License-Identifier: MIT */
/* model.c - `tune model train|predict|eval|table`: cost models of measured configs in tables; see docs/cost-model.md.
 */
#include "core/file.h"
#include "cli/cmd.h"
#include "cli/model_eval.h"
#include "search/learn/model_file.h"
#include "search/learn/transfer_model.h"
#include "cli/logtable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct cli_option options[] = {
    {.name = "in",
     .letter = 'i',
     .kind = CLI_TEXT,
     .argument = "F.csv",
     .help = "table of configs: a column a knob, time_ms and status, in any order; may be gzipped; table: a log"},
    {.name = "out",
     .letter = 'o',
     .kind = CLI_TEXT,
     .argument = "FILE",
     .help = "train: the model; predict: one score a line, lower = faster; eval: all scores as CSV; table: the table"},
    {.name = "source",
     .kind = CLI_TEXT,
     .argument = "S.csv",
     .help = "train: a table of another device, shape or version of the kernel; may be given again; then --in needs no "
             "rows"},
    {.name = "model",
     .letter = 'm',
     .kind = CLI_TEXT,
     .argument = "M.json",
     .help = "predict: a model that train wrote"},
    {.name = "space",
     .kind = CLI_TEXT,
     .argument = "F.json",
     .help = "train, eval: the space, whose constraints and launch formulas become features; a model keeps it"},
    {.name = "late",
     .kind = CLI_TEXT,
     .argument = "A[,B]",
     .help = "train: columns known only after a build (registers, spills); a second stage ranks by them where they are "
             "known"},
    {.name = "workload", .kind = CLI_TEXT, .argument = "W", .help = "table: records of this one only"},
    {.name = "template", .kind = CLI_TEXT, .argument = "ID", .help = "table: records of this one only"},
    {.name = "seed",
     .kind = CLI_INT,
     .argument = "N",
     .otherwise = "0",
     .max = 9007199254740992.0,
     .help = "train: repeats a model; eval: the first split"},
    {.name = "sizes",
     .kind = CLI_TEXT,
     .argument = "N[,N]",
     .otherwise = "64,256,1024,4096",
     .help = "eval: numbers of training rows"},
    {.name = "seeds",
     .kind = CLI_INT,
     .argument = "K",
     .otherwise = "3",
     .min = 1,
     .max = 10000,
     .help = "eval: splits of each table and size"},
    OPT_END,
};

static enum err need(const struct cli *c, const char *verb, const char *option, struct why *why)
{
    if (cli_text(c, option) && *cli_text(c, option))
        return ERR_OK;
    return why_set(why, ERR_INPUT, "tune model %s needs --%s", verb, option);
}

static enum err no_more(const struct cli *c, struct why *why)
{
    return c->n_rest > 1 ? why_set(why, ERR_INPUT, "stray argument \"%.60s\"", c->rest[1]) : ERR_OK;
}

/* As train, with what other devices tell. */
static enum err train_with_sources(const struct cli *c, struct why *why)
{
    const char *sources[TRANSFER_MAX_SOURCES];
    const int n = cli_texts(c, "source", sources, TRANSFER_MAX_SOURCES);
    struct transfer_model *m = NULL;
    enum err e;

    if (n > TRANSFER_MAX_SOURCES)
        return why_set(why, ERR_LIMIT, "%d sources, expected at most %d", n, TRANSFER_MAX_SOURCES);
    e = transfer_model_train(&m, cli_text(c, "in"), sources, (size_t)n, (uint64_t)cli_int(c, "seed"), why);
    if (e == ERR_OK)
        e = transfer_model_write(m, cli_text(c, "out"), why);
    transfer_model_free(m);
    return e;
}

/* The late columns of the table that `r` was read from, NULL when one of them is not there. ERR_INPUT when the file is
 * another one by now. */
static enum err read_late(const struct cli *c, const struct model_file *m, const struct records *r, float **late,
                          struct why *why)
{
    size_t n = 0;
    enum err e =
        records_read_numbers(cli_text(c, "in"), (const char *const *)m->second.names, m->second.n, late, &n, why);

    if (e || !*late || n == r->n)
        return e;
    free(*late);
    return why_set(why, ERR_INPUT, "%s changed while it was read: %zu rows, then %zu", cli_text(c, "in"), r->n, n);
}

static enum err train_second(const struct cli *c, struct model_file *m, const struct records *r, struct why *why)
{
    float *late = NULL;
    enum err e = read_late(c, m, r, &late, why);

    if (e == ERR_OK && !late)
        e = why_set(why, ERR_INPUT, "%s:1: one of the late columns %.60s is not there", cli_text(c, "in"),
                    cli_text(c, "late"));
    if (e)
        return e;
    e = model_file_learn_second(m, r->values, late, r->times, r->n, (uint64_t)cli_int(c, "seed"), why);
    if (e)
        why_prefix(why, e, "%s: rows with late columns", cli_text(c, "in"));
    free(late);
    return e;
}

/* Ranks anew what was built, where the table tells. */
static enum err rerank(const struct cli *c, const struct model_file *m, const struct records *r, float *scores,
                       struct why *why)
{
    float *late = NULL;
    enum err e = read_late(c, m, r, &late, why);

    if (e || !late)
        return e;
    e = model_file_rerank(m, r->values, late, r->n, scores);
    if (e)
        why_set(why, e, "%s", err_words(e));
    free(late);
    return e;
}

static enum err train(const struct cli *c, struct why *why)
{
    struct model_file m = {.space = NULL};
    struct records r = {0};
    enum err e = no_more(c, why);

    if (e == ERR_OK)
        e = need(c, "train", "in", why);
    if (e == ERR_OK)
        e = need(c, "train", "out", why);
    if (e == ERR_OK && cli_get(c, "source")->given)
        return cli_text(c, "space") || cli_text(c, "late")
                   ? why_set(why, ERR_INPUT, "--space and --late do not go together with --source")
                   : train_with_sources(c, why);
    if (e == ERR_OK && cli_text(c, "late"))
        e = model_file_name_second(&m, cli_text(c, "late"), why);
    if (e == ERR_OK)
        e = records_read_without(cli_text(c, "in"), (const char *const *)m.second.names, m.second.n, &r, &m.columns,
                                 why);
    if (e == ERR_OK && cli_text(c, "space"))
        e = model_file_take_space(&m, cli_text(c, "space"), why);
    if (e == ERR_OK) {
        e = model_file_learn(&m, m.columns.knobs, r.values, r.times, r.n, (uint64_t)cli_int(c, "seed"), why);
        if (e)
            why_prefix(why, e, "%s", cli_text(c, "in"));
    }
    if (e == ERR_OK && m.second.n > 0)
        e = train_second(c, &m, &r, why);
    if (e == ERR_OK)
        e = model_file_write(cli_text(c, "out"), &m, why);
    model_file_fini(&m);
    records_fini(&r);
    return e;
}

static enum err write_scores(const char *path, const float *scores, size_t n, struct why *why)
{
    struct buf out;
    enum err e;

    buf_init(&out, MODEL_FILE_MAX_BYTES);
    for (size_t i = 0; i < n && !out.failed; i++)
        buf_printf(&out, "%.9g\n", (double)scores[i]);
    e = out.failed ? why_set(why, out.failed, "%s: %s", path, err_words(out.failed))
                   : file_replace(path, buf_text(&out), out.len, 0644, why);
    buf_fini(&out);
    return e;
}

/* As predict, with a model that has sources. */
static enum err predict_with_sources(const struct cli *c, struct why *why)
{
    struct transfer_model *m = NULL;
    struct records r = {0};
    float *scores = NULL;
    enum err e = transfer_model_read(&m, cli_text(c, "model"), why);

    if (e == ERR_OK)
        e = records_read_as(cli_text(c, "in"), transfer_model_columns(m), false, &r, why);
    if (e == ERR_OK) {
        scores = malloc((r.n + 1) * sizeof *scores);
        e = scores ? transfer_model_predict(m, r.values, r.n, scores) : ERR_NOMEM;
        if (e)
            why_set(why, e, "%s", err_words(e));
    }
    if (e == ERR_OK)
        e = write_scores(cli_text(c, "out"), scores, r.n, why);
    free(scores);
    records_fini(&r);
    transfer_model_free(m);
    return e;
}

/* A space that is named although the model has one must be the same. */
static enum err check_space(const struct cli *c, struct model_file *m, struct why *why)
{
    struct model_file other = {.columns = m->columns};
    enum err e;

    if (!cli_text(c, "space"))
        return ERR_OK;
    e = model_file_take_space(&other, cli_text(c, "space"), why);
    if (e == ERR_OK && !(m->space && cJSON_Compare(m->space, other.space, true)))
        e = why_set(why, ERR_INPUT, "%s: the model was trained %s", cli_text(c, "space"),
                    m->space ? "with another space" : "without a space");
    other.columns = (struct columns){0};
    model_file_fini(&other);
    return e;
}

static enum err predict(const struct cli *c, struct why *why)
{
    struct model_file m = {.space = NULL};
    struct records r = {0};
    float *scores = NULL;
    enum err e = no_more(c, why);

    for (size_t i = 0; e == ERR_OK && i < 3; i++)
        e = need(c, "predict", (const char *const[]){"model", "in", "out"}[i], why);
    if (e == ERR_OK && transfer_model_is(cli_text(c, "model")))
        return cli_text(c, "space") ? why_set(why, ERR_INPUT, "--space does not go together with a model of --source")
                                    : predict_with_sources(c, why);
    if (e == ERR_OK)
        e = model_file_read(cli_text(c, "model"), &m, why);
    if (e == ERR_OK)
        e = check_space(c, &m, why);
    if (e == ERR_OK)
        e = records_read_as(cli_text(c, "in"), &m.columns, false, &r, why);
    if (e == ERR_OK) {
        scores = malloc((r.n + 1) * sizeof *scores);
        e = scores ? model_file_predict(&m, r.values, r.n, scores) : ERR_NOMEM;
        if (e)
            why_set(why, e, "%s", err_words(e));
    }
    if (e == ERR_OK && m.second.n > 0)
        e = rerank(c, &m, &r, scores, why);
    if (e == ERR_OK)
        e = write_scores(cli_text(c, "out"), scores, r.n, why);
    free(scores);
    model_file_fini(&m);
    records_fini(&r);
    return e;
}

/* "64,256" into sizes; returns how many, 0 for a malformed list. */
static size_t parse_sizes(const char *text, size_t sizes[MODEL_EVAL_MAX_SIZES])
{
    size_t n = 0;

    for (;;) {
        char *end;
        const unsigned long v = strtoul(text, &end, 10);

        if (*text < '1' || *text > '9' || (*end && *end != ',') || v < 2 || v > RECORDS_MAX_ROWS ||
            n == MODEL_EVAL_MAX_SIZES)
            return 0;
        sizes[n++] = v;
        if (!*end)
            return n;
        text = end + 1;
    }
}

static enum err eval(const struct cli *c, struct why *why)
{
    struct model_eval o = {.seed = (uint64_t)cli_int(c, "seed"), .n_seeds = (size_t)cli_int(c, "seeds")};
    const char *one = cli_text(c, "in");

    o.n_sizes = parse_sizes(cli_text(c, "sizes"), o.sizes);
    if (o.n_sizes == 0)
        return why_set(why, ERR_INPUT, "--sizes %.60s: expected up to %d numbers from 2 on, separated by commas",
                       cli_text(c, "sizes"), MODEL_EVAL_MAX_SIZES);
    o.paths = one ? &one : c->rest + 1;
    o.n_paths = one ? 1 : (size_t)(c->n_rest - 1);
    o.out = cli_text(c, "out");
    o.space = cli_text(c, "space");
    if (o.n_paths == 0)
        return why_set(why, ERR_INPUT, "tune model eval needs tables: expected F.csv...");
    if (one && c->n_rest > 1)
        return no_more(c, why);
    return model_eval(&o, why);
}

/* The records of a log as a table. */
static enum err table(const struct cli *c, struct why *why)
{
    struct buf out;
    size_t n = 0;
    enum err e = no_more(c, why);

    if (!e)
        e = need(c, "table", "in", why);
    if (!e)
        e = need(c, "table", "out", why);
    if (e)
        return e;
    buf_init(&out, (size_t)1 << 30);
    e = logtable_write(cli_text(c, "in"), cli_text(c, "workload"), cli_text(c, "template"), cmd_log_warning, &out, &n,
                       why);
    if (!e)
        e = file_replace(cli_text(c, "out"), out.data, out.len, 0644, why);
    if (!e)
        fprintf(stderr, "%zu configs\n", n);
    buf_fini(&out);
    return e;
}

static int run(const struct cli *c)
{
    static const struct {
        const char *name;
        enum err (*run)(const struct cli *c, struct why *why);
    } verbs[] = {{"train", train}, {"predict", predict}, {"eval", eval}, {"table", table}};
    struct why why = {""};
    enum err e =
        c->n_rest ? why_set(&why, ERR_INPUT, "tune model \"%.40s\": expected train, predict, eval or table", c->rest[0])
                  : why_set(&why, ERR_INPUT, "tune model: expected train, predict, eval or table");

    cmd_catch_interrupts();
    for (size_t i = 0; c->n_rest > 0 && i < sizeof verbs / sizeof verbs[0]; i++)
        if (strcmp(c->rest[0], verbs[i].name) == 0)
            e = verbs[i].run(c, &why);
    return e ? cmd_fail(e, &why) : EXIT_FINE;
}

const struct subcommand cmd_model = {
    .name = "model",
    .summary = "cost models: learn from measured configs, rank others, judge the ranking",
    .usage = "model train|predict|eval|table [options]",
    .example = "tune model train --in measured.csv --out model.json",
    .options = options,
    .run = run,
};
