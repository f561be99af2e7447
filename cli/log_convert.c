/* SPDX-License-Identifier: MIT */
/* log_convert.c - `tune log convert`: records from and to the files of other tuners. */
#include "cli/log.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

static const struct cli_option options[] = {
    CLI_OPTION("from", CLI_TEXT, .argument = "FORMAT", .help = "what the files are; without it their content tells",
               .word = convert_name_at),
    CLI_OPTION("to", CLI_TEXT, .argument = "FORMAT", .otherwise = "tune", .help = "what is written; tune = our own log",
               .word = convert_name_at),
    OPT_OUTPUT_FILE,
    CLI_OPTION("list", CLI_FLAG, .help = "print the formats there are and end"),
    CLI_END,
};

struct converting {
    struct convert_out *out;
    const char *path;
    int64_t n, n_refused, n_bad;
    enum err failed;
    struct why why;
};

static bool take(const struct record *r, const char *line, size_t n, void *arg)
{
    struct converting *c = arg;
    struct why why = {""};
    const enum err e = convert_put(c->out, r, line, n, &why);

    c->n += !e;
    if (e == ERR_UNSUPPORTED && c->n_refused++ < LOG_MAX_TOLD)
        fprintf(stderr, "tune: %s: record %.16s: %s; left out\n", c->path, r->id, why.text);
    if (e && e != ERR_UNSUPPORTED) {
        c->failed = e;
        c->why = why;
    }
    return !c->failed;
}

static void tell_bad(const char *path, int64_t i_line, const char *words, void *arg)
{
    struct converting *c = arg;

    if (c->n_bad++ < LOG_MAX_TOLD)
        cmd_log_warning(path, i_line, words, NULL);
}

static int list_formats(void)
{
    printf("%-14s %-10s %s\n", "tune", "in, out", "our own log: docs/log-format.md");
    for (const struct foreign_format *const *f = foreign_formats; *f; f++) {
        const struct convert_map *m = convert_map_of((*f)->name);
        const bool in = (*f)->read && m && m->to_record, out = (*f)->write && m && m->from_record;

        printf("%-14s %-10s %s\n", (*f)->name, in && out ? "in, out" : in ? "in" : "out", (*f)->summary);
    }
    return EXIT_FINE;
}

static enum err convert_all(const struct cli *c, struct converting *v, struct why *why)
{
    enum err e = ERR_OK;

    for (int i = 0; i < c->n_rest && !e; i++) {
        v->path = c->rest[i];
        e = convert_scan(v->path, cli_text(c, "from"), take, tell_bad, v, why);
        if (!e && v->failed)
            e = why_set(why, v->failed, "%s", v->why.text);
    }
    if (!e && v->n == 0 && v->n_refused == 0)
        e = why_set(why, ERR_INPUT,
                    "%s has no record that could be read: expected a log of tune, or a file of one of "
                    "the formats of --list; nothing was written",
                    c->rest[0]);
    else if (!e && v->n == 0)
        e = why_set(why, ERR_INPUT, "%s: not one record that format %s can hold; nothing was written", c->rest[0],
                    cli_text(c, "to"));
    return e;
}

static int run(const struct cli *c)
{
    struct converting v = {.out = NULL};
    struct why why = {""};
    const char *out = NULL;
    enum err e, closed;

    if (cli_flag(c, "list"))
        return list_formats();
    e = log_need(c, INT16_MAX, "cache.json --from kernel_tuner -o cache.jsonl", &why);
    if (!e)
        e = log_output(c, &out, &why);
    if (!e)
        e = convert_open(&v.out, out, cli_text(c, "to"), &why);
    if (!e)
        e = convert_all(c, &v, &why);
    closed = convert_close(v.out, !e, e ? NULL : &why);
    if (e || closed)
        return cmd_fail(e ? e : closed, &why);
    assert(v.n > 0); /* convert_all */
    fprintf(log_summary(out), "%s: %" PRId64 " records as %s", out, v.n, cli_text(c, "to"));
    if (v.n_refused || v.n_bad)
        fprintf(log_summary(out), "; left out: %" PRId64 " that it cannot hold, %" PRId64 " that are no records",
                v.n_refused, v.n_bad);
    fputs("\n", log_summary(out));
    return EXIT_FINE;
}

const struct command cmd_log_convert = {
    .name = "convert",
    .summary = "records from and to the files of other tuners (--list)",
    .usage = "log convert FILE... [--from FORMAT] [--to FORMAT] -o FILE",
    .example = "tune log convert cache.json --to tune -o cache.jsonl",
    .options = options,
    .run = run,
};
