/* SPDX-License-Identifier: MIT */
/* model.c - `tune model train|predict|eval|table`: cost models of measured configs in tables; see docs/cost-model.md.
 */
#include "core/buf.h"
#include "core/err.h"
#include "core/file.h"
#include "cli/cmd.h"
#include "cli/model_eval.h"
#include "core/json.h"
#include "search/learn/model_file.h"
#include "search/learn/transfer_model.h"
#include "cli/logtable.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPT_IN(what) CLI_OPTION("in", CLI_TEXT, .letter = 'i', .argument = "FILE", .help = what)
#define OPT_OUT(what) CLI_OPTION("out", CLI_TEXT, .letter = 'o', .argument = "FILE", .help = what)
#define OPT_MEASURED                                                                                                   \
    OPT_IN("table of measured configs: a column a knob, time_ms and status, in any order; may be gzipped")
#define OPT_SPACE(what) CLI_OPTION("space", CLI_TEXT, .argument = "F.json", .help = what)

static const struct cli_option train_options[] = {
    OPT_MEASURED,
    OPT_OUT("the model"),
    CLI_OPTION("source", CLI_TEXT, .argument = "S.csv",
               .help =
                   "a table of another device, shape or version of the kernel; may be given again; then --in needs no "
                   "rows"),
    OPT_SPACE("the space, whose constraints and launch formulas become features; the model keeps it"),
    CLI_OPTION("late", CLI_TEXT, .argument = "A[,B]",
               .help =
                   "columns known only after a build (registers, spills); a second stage ranks by them where they are "
                   "known"),
    OPT_SEED("repeats a model"),
    CLI_END,
};

static const struct cli_option predict_options[] = {
    CLI_OPTION("model", CLI_TEXT, .letter = 'm', .argument = "M.json", .help = "a model that train wrote"),
    OPT_IN("table of configs: a column a knob, in any order; may be gzipped"),
    OPT_OUT("one score a line, lower = faster"),
    OPT_SPACE("the space; the model must have been trained with it"),
    CLI_END,
};

static const struct cli_option eval_options[] = {
    OPT_MEASURED,
    OPT_OUT("all scores as CSV"),
    OPT_SPACE("the space, whose constraints and launch formulas become features"),
    OPT_SEED("the first split"),
    CLI_OPTION("sizes", CLI_TEXT, .argument = "N[,N]", .otherwise = "64,256,1024,4096",
               .help = "numbers of training rows"),
    CLI_OPTION("seeds", CLI_INT, .argument = "K", .otherwise = "3", .min = 1, .max = 10000,
               .help = "splits of each table and size"),
    CLI_END,
};

static const struct cli_option table_options[] = {
    OPT_IN("a log"),
    OPT_OUT("the table"),
    CLI_OPTION("workload", CLI_TEXT, .argument = "W", .help = "records of this one only"),
    CLI_OPTION("template", CLI_TEXT, .argument = "ID", .word = template_id_at, .loose = true,
               .help = "records of this one only"),
    CLI_END,
};

static enum err need(const struct cli *c, const char *verb, const char *option, struct why *why)
{
    if (cli_text(c, option) && *cli_text(c, option))
        return ERR_OK;
    return why_set(why, ERR_INPUT, "tune model %s needs --%s", verb, option);
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
    *late = NULL;
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
    enum err e = cmd_check_words(c, 0, 0, "", why);

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
    assert(e || r.n_knobs == m.columns.n);
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
    enum err e = cmd_check_words(c, 0, 0, "", why);

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
    assert(e || r.n_knobs == m.columns.n);
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
    o.paths = one ? &one : c->rest;
    o.n_paths = one ? 1 : (size_t)c->n_rest;
    o.out = cli_text(c, "out");
    o.space = cli_text(c, "space");
    if (o.n_paths == 0)
        return why_set(why, ERR_INPUT, "tune model eval needs tables: expected F.csv...");
    if (one && c->n_rest > 0)
        return cmd_check_words(c, 0, 0, "", why);
    return model_eval(&o, why);
}

/* The records of a log as a table. */
static enum err table(const struct cli *c, struct why *why)
{
    struct buf out;
    size_t n = 0;
    enum err e = cmd_check_words(c, 0, 0, "", why);

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

static int run(const struct cli *c, enum err (*verb)(const struct cli *c, struct why *why))
{
    struct why why = {""};
    enum err e;

    cmd_catch_interrupts();
    e = verb(c, &why);
    return e ? cmd_fail(e, &why) : EXIT_FINE;
}

static int run_train(const struct cli *c)
{
    return run(c, train);
}

static int run_predict(const struct cli *c)
{
    return run(c, predict);
}

static int run_eval(const struct cli *c)
{
    return run(c, eval);
}

static int run_table(const struct cli *c)
{
    return run(c, table);
}

static const struct command cmd_train = {
    .name = "train",
    .summary = "learn from measured configs",
    .usage = "model train --in F.csv --out M.json [options]",
    .example = "tune model train --in examples/recorded/tiles.csv --out tiles.model.json",
    .options = train_options,
    .run = run_train,
};

static const struct command cmd_predict = {
    .name = "predict",
    .summary = "score configs by a model",
    .usage = "model predict --model M.json --in F.csv --out SCORES [options]",
    .example = "tune model predict --model tiles.model.json --in examples/recorded/tiles.csv --out scores.txt",
    .options = predict_options,
    .run = run_predict,
};

static const struct command cmd_eval = {
    .name = "eval",
    .summary = "judge how well models rank tables of measured configs",
    .usage = "model eval F.csv... [options]",
    .example = "tune model eval examples/recorded/tiles.csv --sizes 16,32",
    .options = eval_options,
    .run = run_eval,
};

static const struct command cmd_table = {
    .name = "table",
    .summary = "make a table of a log",
    .usage = "model table --in LOG --out F.csv [options]",
    .example = "tune run --device replay:examples/recorded/tiles.json --trials 60 -o tiles.jsonl\n"
               "  tune model table --in tiles.jsonl --out measured.csv",
    .options = table_options,
    .run = run_table,
};

static const struct command *const verbs[] = {&cmd_train, &cmd_predict, &cmd_eval, &cmd_table, NULL};

const struct command cmd_model = {
    .name = "model",
    .summary = "cost models: learn from measured configs, rank others, judge the ranking",
    .usage = "model VERB [options]",
    .example = "tune model train --in examples/recorded/tiles.csv --out tiles.model.json",
    .verbs = verbs,
};
