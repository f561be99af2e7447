/* SPDX-License-Identifier: MIT */
/* log_plot.c - `tune log plot`: the searches of logs as a picture, and the curves of them for others. */
#include "cli/log.h"

#include "cli/curve.h"
#include "core/buf.h"
#include "core/file.h"
#include "core/vec.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CURVES 64
#define MAX_TRIALS 1000000 /* a picture of more has no use */

static const struct cli_option options[] = {
    CLI_OPTION("output", CLI_TEXT, .letter = 'o', .argument = "FILE.svg", .help = "the picture; - = standard output"),
    CLI_END,
};

/* The trials of one workload on devices of one key. */
struct search {
    char *workload, title[1100], key[65];
    double *times_ns;
    size_t n, cap;
};

struct plot {
    struct search searches[MAX_CURVES];
    size_t n;
    enum err failed;
    struct why *why;
};

static struct search *search_of(struct plot *p, const struct record *r)
{
    struct search *s = p->searches;

    for (; s < p->searches + p->n; s++)
        if (strcmp(s->workload, r->workload) == 0 && strcmp(s->key, r->key) == 0)
            return s;
    if (p->n == MAX_CURVES) {
        p->failed = why_set(p->why, ERR_LIMIT, "more than %d workloads and keys: plot a part of the log", MAX_CURVES);
        return NULL;
    }
    *s = (struct search){.workload = strdup(r->workload)};
    snprintf(s->key, sizeof s->key, "%s", r->key);
    snprintf(s->title, sizeof s->title, "%.1000s (%s)", r->workload, r->key);
    p->failed = s->workload ? ERR_OK : ERR_NOMEM;
    p->n += s->workload != NULL;
    return s->workload ? s : NULL;
}

static bool take(const struct record *r, const char *line, size_t n_line, void *arg)
{
    struct plot *p = arg;
    struct search *s;

    (void)line;
    (void)n_line;
    if (strcmp(r->purpose, "search") != 0 || r->status == STATUS_LOST || !(s = search_of(p, r)))
        return p->failed == ERR_OK;
    p->failed = VEC_ROOM(s->times_ns, s->cap, s->n + 1, MAX_TRIALS);
    if (p->failed)
        return false;
    assert(s->n < s->cap);
    s->times_ns[s->n++] = r->status == STATUS_OK ? r->time_ns : 0;
    return true;
}

static bool has_time(const struct search *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->times_ns[i] > 0)
            return true;
    return false;
}

/* Those with a time, as curves that lend. */
static size_t curves_of(const struct plot *p, struct curve *out)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n; i++)
        if (has_time(&p->searches[i]))
            out[n++] = (struct curve){p->searches[i].title, p->searches[i].times_ns, p->searches[i].n};
    return n;
}

enum err log_curves(const struct cli *c,
                    enum err (*draw)(const struct curve *curves, size_t n, const struct cli *c, struct why *why),
                    struct why *why)
{
    struct curve curves[MAX_CURVES];
    struct plot p = {.why = why};
    enum err e = ERR_OK;
    size_t n;

    for (int i = 0; i < c->n_rest && !e; i++) {
        e = convert_scan(c->rest[i], NULL, take, cmd_log_warning, &p, why);
        e = e ? e : p.failed;
    }
    n = e ? 0 : curves_of(&p, curves);
    if (!e && n == 0)
        e = why_set(why, ERR_NOT_FOUND, "no search of these logs has a trial with a time");
    if (!e)
        e = draw(curves, n, c, why);
    for (size_t i = 0; i < p.n; i++) {
        free(p.searches[i].workload);
        free(p.searches[i].times_ns);
    }
    return e;
}

static enum err write_picture(const struct curve *curves, size_t n, const struct cli *c, struct why *why)
{
    const char *path = cli_text(c, "output");
    struct buf svg;
    enum err e;

    buf_init(&svg, (size_t)1 << 28);
    e = curve_svg(curves, n, &svg);
    if (e)
        why_set(why, e, "the picture: %s", err_words(e));
    else
        e = log_write(path, &svg, why);
    buf_fini(&svg);
    return e;
}

static int run(const struct cli *c)
{
    struct why why = {""};
    const char *path;
    enum err e = log_need(c, INT16_MAX, "conv.jsonl", &why);

    if (!e)
        e = log_output(c, &path, &why);
    if (!e)
        e = log_curves(c, write_picture, &why);
    return e ? cmd_fail(e, &why) : EXIT_FINE;
}

const struct command cmd_log_plot = {
    .name = "plot",
    .summary = "the searches of logs as a picture: each trial's time and the best so far",
    .usage = "log plot LOG... -o FILE.svg",
    .example = "tune log plot conv.jsonl -o conv.svg",
    .about = "A panel for each workload and device key, time on a logarithmic scale over the number of the trial: a "
             "dot for each trial, on the upper edge a ring for one that is far slower than the best and a cross for "
             "one that failed, a line for the best so far.",
    .options = options,
    .run = run,
};
