/* SPDX-License-Identifier: MIT */
/* log_check.c - `tune log check`: which lines of logs are bad, and why. */
#include "cli/log.h"

#include "core/json.h"
#include "core/terminal.h"
#include "logs/input.h"
#include "logs/line.h"
#include "logs/seen.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

static const struct cli_option options[] = {OPT_JSON, CLI_END};

/* What is told of a line: equal things only so often. */
enum told { TOLD_BAD, TOLD_NO_TIME, TOLD_NO_WORKLOAD, TOLD_EQUAL, TOLD_OTHER, N_TOLD };

struct checking {
    const char *path;
    bool json;
    struct seen seen;
    int64_t n_lines, n[N_TOLD];
    enum err failed;
};

static void print_json(const char *path, int64_t i_line, const char *kind, const char *words)
{
    cJSON *o = cJSON_CreateObject();
    bool ok = o;
    char *text;

    json_add_text(o, "file", path, &ok);
    json_add_i64(o, "line", i_line, &ok);
    json_add_text(o, "kind", kind, &ok);
    json_add_text(o, "why", words, &ok);
    text = ok ? json_line(o) : NULL;
    if (text)
        puts(text);
    cJSON_free(text);
    cJSON_Delete(o);
}

static void tell(struct checking *k, int64_t i_line, enum told told, const char *words)
{
    const char *kind = told == TOLD_BAD ? "bad" : "doubt";

    if (k->json)
        print_json(k->path, i_line, kind, words);
    else if (k->n[told] < LOG_MAX_TOLD)
        printf("%s:%" PRId64 ": %s: %s\n", k->path, i_line, kind, words);
    k->n[told]++;
}

static void take_bad(const char *path, int64_t i_line, const char *words, void *arg)
{
    struct checking *k = arg;

    (void)path;
    tell(k, i_line, TOLD_BAD, words);
}

/* Does another line say something else of the same trial, or the same? */
static void check_trial(struct checking *k, const struct log_line *line)
{
    struct line_head h;
    char words[256];
    enum seen_kind kind;
    uint64_t former;

    if (line_head(line, &h, NULL))
        return;
    k->failed = seen_note(&k->seen, seen_trial(&k->seen, h.id, h.job, h.ts_ms),
                          seen_hash(&k->seen, line->text, line->n), (uint64_t)line->i_line, &kind, &former);
    if (k->failed || kind == SEEN_NEW)
        return;
    assert(former < (uint64_t)line->i_line); /* lines are read in their order */
    snprintf(words, sizeof words,
             kind == SEEN_EQUAL ? "the same as line %" PRIu64 : "another line of line %" PRIu64 "'s trial", former);
    tell(k, line->i_line, kind == SEEN_EQUAL ? TOLD_EQUAL : TOLD_OTHER, words);
}

static void check_record(struct checking *k, const struct record *r, int64_t i_line)
{
    struct workload w;
    struct why why = {""};

    if (r->status == STATUS_OK && !(r->time_ns > 0))
        tell(k, i_line, TOLD_NO_TIME, "ok without a time");
    if (strncmp(r->workload, "kernel ", 7) == 0 || strncmp(r->workload, "replay ", 7) == 0) /* no operators */
        return;
    if (workload_parse(r->workload, &w, &why))
        tell(k, i_line, TOLD_NO_WORKLOAD, why.text);
}

static bool take(const struct log_line *line, void *arg)
{
    struct checking *k = arg;
    struct why why = {""};
    struct record r;

    k->n_lines++;
    if (log_line_record(line, &r, &why)) {
        take_bad(k->path, line->i_line, why.text, k);
        return true;
    }
    check_record(k, &r, line->i_line);
    check_trial(k, line);
    record_fini(&r);
    return !k->failed;
}

static void summarize(const struct checking *k)
{
    int64_t n_doubts = 0, n_untold = 0;

    for (int i = 0; i < N_TOLD; i++) {
        n_doubts += i == TOLD_BAD ? 0 : k->n[i];
        n_untold += k->n[i] > LOG_MAX_TOLD ? k->n[i] - LOG_MAX_TOLD : 0;
    }
    printf("%s: %" PRId64 " lines, %" PRId64 " bad, %" PRId64 " doubtful\n", k->path, k->n_lines, k->n[TOLD_BAD],
           n_doubts);
    if (n_untold)
        printf("%s: %" PRId64 " more like these were not told; --json tells all\n", k->path, n_untold);
}

/* One file; bad lines are counted, an error is a file that cannot be read. */
static enum err check(const char *path, bool json, int64_t *n_bad, struct why *why)
{
    struct checking k = {.path = path, .json = json};
    int fd = -1;
    enum err e = seen_init(&k.seen);

    if (!e)
        e = input_open(path, &fd, why);
    if (!e)
        e = log_lines_of(fd, path, take, take_bad, &k, why);
    e = e ? e : k.failed;
    if (!e && !json)
        summarize(&k);
    if (fd >= 0)
        close(fd);
    seen_fini(&k.seen);
    *n_bad += k.n[TOLD_BAD];
    return e;
}

static int run(const struct cli *c)
{
    struct why why = {""};
    int64_t n_bad = 0;
    enum err e = log_need(c, INT16_MAX, "week.jsonl", &why);

    for (int i = 0; i < c->n_rest && !e; i++)
        e = check(c->rest[i], cli_flag(c, "json"), &n_bad, &why);
    if (e)
        return cmd_fail(e, &why);
    return n_bad ? EXIT_USAGE : EXIT_FINE;
}

const struct command cmd_log_check = {
    .name = "check",
    .summary = "which lines are bad, and why; exit 1 when there are some",
    .usage = "log check LOG... [options]",
    .example = "tune log check week.jsonl",
    .options = options,
    .run = run,
};
