/* SPDX-License-Identifier: MIT */
/* best.c - `tune best`: the best configs of logs. */
#include "cli/log.h"

#include "cli/table.h"
#include "core/buf.h"
#include "core/err.h"
#include "core/json.h"
#include "core/terminal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct cli_option options[] = {
    OPT_KEY,
    CLI_OPTION("output", CLI_TEXT, .letter = 'o', .argument = "FILE",
               .help = "write the best records as a log of their own"),
    OPT_JSON,
    CLI_END,
};

/* What other tuners do not say of their records (the error, the work done, a template) is left out. */
static void print_record(const struct record *r)
{
    char *knobs = json_line(r->knobs);

    printf("%s\n  %s: %.4g ms", r->workload, r->key, r->time_ns / 1e6);
    if (!isnan(r->se))
        printf(" +- %.1f %% in its run", table_error_percent(r));
    printf("%s, %s%s%s (%s)\n", cmd_speed(r).text, r->template_id, r->template_id[0] ? " " : "", knobs ? knobs : "",
           r->purpose);
    cJSON_free(knobs);
}

static enum err print_json(const struct record *r)
{
    struct buf line;
    enum err e;

    buf_init(&line, RECORD_MAX_BYTES);
    e = record_print(r, &line);
    if (!e)
        fputs(buf_text(&line), stdout);
    buf_fini(&line);
    return e;
}

static int print_all(const struct cli *c, const struct best_set *best)
{
    const char *path = cli_text(c, "output");
    struct why why = {""};
    enum err e = ERR_OK;

    if (best_n(best) == 0) {
        fputs("tune: no valid config in these logs\n", stderr);
        return EXIT_NO_CONFIG;
    }
    for (size_t i = 0; i < best_n(best) && !e; i++) {
        const struct record *r = best_at(best, i);

        if (!r)
            e = ERR_NOMEM;
        else if (cli_flag(c, "json"))
            e = print_json(r);
        else
            print_record(r);
    }
    if (!e && path)
        e = best_write(best, path, &why);
    return e ? cmd_fail(e, &why) : EXIT_FINE;
}

static int run(const struct cli *c)
{
    struct best_set *best = NULL;
    struct why why = {""};
    enum err e = c->n_rest ? log_best(c->rest, c->n_rest, cli_text(c, "key"), &best, &why)
                           : why_set(&why, ERR_INPUT, "no log: expected e.g. conv.jsonl");
    const int code = e ? cmd_fail(e, &why) : print_all(c, best);

    best_free(best);
    return code;
}

/* The same as a verb of `tune log`. */
const struct command cmd_log_best = {
    .name = "best",
    .summary = "the best configs of logs",
    .usage = "log best LOG... [options]",
    .example = "tune log best conv.jsonl dense.jsonl -o all.best.jsonl",
    .options = options,
    .run = run,
};

const struct command cmd_best = {
    .name = "best",
    .summary = "the best configs of logs",
    .usage = "best LOG... [options]",
    .example = "tune best conv.jsonl dense.jsonl -o all.best.jsonl",
    .options = options,
    .run = run,
};
