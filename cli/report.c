/* SPDX-License-Identifier: MIT */
/* report.c - `tune report`: the trials of logs as one file for a browser. */
#include "cli/log.h"
#include "core/buf.h"
#include "core/file.h"
#include "page/page.h"

#include <inttypes.h>
#include <string.h>

#define MAX_BYTES ((size_t)1 << 30)

static const struct cli_option options[] = {
    CLI_OPTION("output", CLI_TEXT, .letter = 'o', .argument = "FILE", .otherwise = "report.html",
               .help = "the file; - = standard output"),
    CLI_OPTION("title", CLI_TEXT, .argument = "WORDS", .help = "its heading; else the names of the logs"),
    CLI_END,
};

struct report {
    struct buf rows;
    int64_t n;
};

static bool take(const struct record *r, const char *line, size_t n_line, void *arg)
{
    struct report *p = arg;

    (void)r;
    buf_puts(&p->rows, p->n ? ",\n" : "");
    page_row(line, n_line, ++p->n, PAGE_WHOLE, &p->rows);
    return !p->rows.failed;
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static void put_title(const struct cli *c, struct buf *out)
{
    if (cli_text(c, "title"))
        buf_puts(out, cli_text(c, "title"));
    for (int i = 0; i < c->n_rest && !cli_text(c, "title"); i++)
        buf_printf(out, "%s%s", i ? ", " : "", name_of(c->rest[i]));
}

static enum err write_report(const struct cli *c, const struct report *p, const char *path, struct why *why)
{
    struct buf html, title;
    enum err e;

    buf_init(&html, 2 * MAX_BYTES);
    buf_init(&title, 65536);
    put_title(c, &title);
    e = page_report(buf_text(&title), buf_text(&p->rows), &html);
    if (e)
        why_set(why, e, "the report: %s", err_words(e));
    else
        e = log_write(path, &html, why);
    buf_fini(&html);
    buf_fini(&title);
    return e;
}

static enum err gather(const struct cli *c, struct report *p, struct why *why)
{
    enum err e = log_need(c, INT16_MAX, "conv.jsonl", why);

    buf_puts(&p->rows, "[");
    for (int i = 0; i < c->n_rest && !e; i++)
        e = convert_scan(c->rest[i], NULL, take, cmd_log_warning, p, why);
    buf_puts(&p->rows, "]");
    if (!e && p->rows.failed)
        e = why_set(why, p->rows.failed, "the report: %s", err_words(p->rows.failed));
    if (!e && p->n == 0)
        e = why_set(why, ERR_INPUT, "%s has no record: nothing was written", c->rest[0]);
    return e;
}

static int run(const struct cli *c)
{
    const char *path = cli_text(c, "output");
    struct report p = {.n = 0};
    struct why why = {""};
    enum err e;

    buf_init(&p.rows, MAX_BYTES);
    e = gather(c, &p, &why);
    if (!e)
        e = write_report(c, &p, path, &why);
    buf_fini(&p.rows);
    if (e)
        return cmd_fail(e, &why);
    fprintf(log_summary(path), "%s: %" PRId64 " records\n", path, p.n);
    return EXIT_FINE;
}

const struct command cmd_report = {
    .name = "report",
    .summary = "the trials of logs as one file for a browser: curves, layers, knobs, failures",
    .usage = "report LOG... [-o FILE.html]",
    .example = "tune report conv.jsonl -o conv.html",
    .about =
        "The pictures and tables that the tracker's page has of a job, of any log, other tuners' files among them. "
        "The file needs no tracker and loads nothing from elsewhere.",
    .options = options,
    .run = run,
};
