/* SPDX-License-Identifier: MIT */
#include "logs/compact.h"

#include "core/buf.h"
#include "core/err.h"
#include "core/file_out.h"
#include "core/vec.h"
#include "logs/input.h"
#include "logs/line.h"
#include "logs/seen.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_LINES ((size_t)UINT32_MAX)

/* A search record of the first reading. */
struct entry {
    uint64_t search; /* hash of workload, template, version, device */
    float cost;      /* INFINITY = failed */
    uint32_t i_line; /* of the lines that were given, from 0 */
};

struct compact {
    const char *path;
    log_warn *warn;
    struct compact_report *report;
    size_t n_keep;
    struct best_set *best;
    struct seen lines, trials, programs; /* equal lines; trials that the best set keeps; programs that stay */
    struct entry *entries;
    size_t n, cap;
    unsigned char *keep;     /* a bit a line */
    size_t n_given, n_first; /* lines given in this reading, in the first one */
    bool is_first;
    struct file_out out;
    enum err failed;
    struct why why;
};

static bool fail(struct compact *c, enum err e)
{
    c->failed = e;
    if (!c->why.text[0])
        why_set(&c->why, e, "%s", err_words(e));
    return false;
}

static bool add(struct seen *s, uint64_t hash)
{
    struct seen_entry *e = seen_only(s, hash);

    if (e)
        e->place = 1;
    return e;
}

static uint64_t hash_search(const struct compact *c, const struct record *r)
{
    char device[SHA256_HEX + 1];
    struct buf text;
    uint64_t h;

    best_device(r, device);
    buf_init(&text, 2 * RECORD_MAX_BYTES);
    buf_printf(&text, "%s\n%s\n%lld\n%s", r->workload, r->template_id, (long long)r->template_version, device);
    h = seen_hash(&c->lines, buf_text(&text), text.len);
    buf_fini(&text);
    return h;
}

static uint64_t hash_text(const struct compact *c, const char *text)
{
    return seen_hash(&c->lines, text, strlen(text));
}

static bool is_search(const struct record *r)
{
    return strcmp(r->purpose, "search") == 0;
}

/* First reading: a record. */
static bool note_record(struct compact *c, const struct record *r, size_t i_line)
{
    const bool ok = r->status == STATUS_OK && r->time_ns > 0;

    assert(c->is_first && !c->keep);
    if (best_add(c->best, r))
        return fail(c, ERR_NOMEM);
    if (!is_search(r) || r->status == STATUS_LOST)
        return true;
    if (VEC_ROOM(c->entries, c->cap, c->n + 1, VEC_ANY))
        return fail(c, ERR_NOMEM);
    c->entries[c->n++] = (struct entry){hash_search(c, r), ok ? (float)log(r->time_ns) : INFINITY, (uint32_t)i_line};
    return true;
}

static bool put(struct compact *c, const char *text, size_t n)
{
    enum err e = file_out_put(&c->out, text, n, &c->why);

    if (!e)
        e = file_out_put(&c->out, "\n", 1, &c->why);
    c->report->n_written++;
    return e ? fail(c, e) : true;
}

static bool stays(struct compact *c, const struct record *r, size_t i_line)
{
    assert(c->keep && i_line < c->n_first);
    return !is_search(r) || c->keep[i_line / 8] >> i_line % 8 & 1 ||
           seen_find(&c->trials, seen_trial(&c->lines, r->id, r->job, r->ts_ms)) ||
           (r->program.hex[0] && seen_find(&c->programs, hash_text(c, r->program.hex)));
}

/* Second reading: a record. */
static bool write_record(struct compact *c, const struct record *r, const struct log_line *line, size_t n,
                         size_t i_line)
{
    enum seen_kind kind;
    uint64_t former;

    if (r->status == STATUS_LOST) {
        c->report->n_lost++;
        return true;
    }
    if (seen_note(&c->lines, seen_trial(&c->lines, r->id, r->job, r->ts_ms), seen_hash(&c->lines, line->text, n), 1,
                  &kind, &former))
        return fail(c, ERR_NOMEM);
    c->report->n_equal += kind == SEEN_EQUAL;
    return kind == SEEN_EQUAL || !stays(c, r, i_line) || put(c, line->text, n);
}

/* A line that is no record of this schema: kept when it is whole and of a newer one. */
static bool take_other(struct compact *c, const struct log_line *line, size_t n, const char *words)
{
    struct line_head h;
    const bool is_newer = line_head(line, &h, NULL) == ERR_OK && h.schema > RECORD_SCHEMA;

    if (c->is_first)
        return true;
    c->report->n_newer += is_newer;
    c->report->n_bad += !is_newer;
    if (c->warn)
        c->warn(c->path, line->i_line, words, NULL);
    return !is_newer || put(c, line->text, n);
}

static bool take(const struct log_line *line, void *arg)
{
    struct compact *c = arg;
    const size_t i_line = c->n_given++;
    struct why why = {""};
    struct record r;
    size_t n = line->n;
    enum err e;
    bool more;

    if (c->is_first && i_line == MAX_LINES)
        return fail(c, ERR_LIMIT);
    if (!c->is_first && i_line >= c->n_first)
        return false; /* appended meanwhile */
    c->report->n_lines += !c->is_first;
    if (n && line->text[n - 1] == '\r')
        n--;
    e = log_line_record(line, &r, &why);
    if (e)
        return e == ERR_NOMEM ? fail(c, e) : take_other(c, line, n, why.text);
    more = c->is_first ? note_record(c, &r, i_line) : write_record(c, &r, line, n, i_line);
    record_fini(&r);
    return more;
}

static void take_warning(const char *path, int64_t i_line, const char *words, void *arg)
{
    struct compact *c = arg;

    if (c->is_first)
        return;
    c->report->n_lines++;
    c->report->n_bad++;
    if (c->warn)
        c->warn(path, i_line, words, NULL);
}

static int by_cost(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    if (x->search != y->search)
        return x->search < y->search ? -1 : 1;
    if (x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    return (x->i_line > y->i_line) - (x->i_line < y->i_line);
}

static int by_line(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    return (x->i_line > y->i_line) - (x->i_line < y->i_line);
}

static void mark(struct compact *c, const struct entry *e)
{
    assert(e->i_line < c->n_first);
    c->keep[e->i_line / 8] |= (unsigned char)(1 << e->i_line % 8);
}

/* Of n records of one search, fastest first. */
static void choose(struct compact *c, struct entry *e, size_t n)
{
    const size_t n_fast = n <= c->n_keep ? n : c->n_keep - c->n_keep / 2, n_rest = n - n_fast,
                 n_even = n_rest < c->n_keep / 2 ? n_rest : c->n_keep / 2;

    assert(n > 0 && n_fast <= n && n_even <= n_rest);
    for (size_t i = 0; i < n_fast; i++)
        mark(c, &e[i]);
    qsort(e + n_fast, n_rest, sizeof *e, by_line);
    for (size_t i = 0; i < n_even; i++) /* the first and the last among them */
        mark(c, &e[n_fast + (n_even > 1 ? i * (n_rest - 1) / (n_even - 1) : 0)]);
}

static bool keep_best(const struct record *r, bool is_winner, void *arg)
{
    struct compact *c = arg;
    bool ok = add(&c->trials, seen_trial(&c->lines, r->id, r->job, r->ts_ms));

    if (is_winner && r->program.hex[0])
        ok = add(&c->programs, hash_text(c, r->program.hex)) && ok;
    if (is_winner && r->anchor.hash.hex[0])
        ok = add(&c->programs, hash_text(c, r->anchor.hash.hex)) && ok;
    return ok || fail(c, ERR_NOMEM);
}

/* Between the readings: what stays. */
static enum err select_lines(struct compact *c)
{
    c->n_first = c->n_given;
    c->keep = calloc(c->n_first / 8 + 1, 1);
    if (!c->keep)
        return ERR_NOMEM;
    assert(c->n <= c->cap && c->n <= c->n_first);
    if (c->n)
        qsort(c->entries, c->n, sizeof *c->entries, by_cost);
    for (size_t start = 0, i = 1; start < c->n; i++)
        if (i == c->n || c->entries[i].search != c->entries[start].search) {
            choose(c, &c->entries[start], i - start);
            start = i;
        }
    best_each(c->best, keep_best, c);
    free(c->entries);
    c->entries = NULL;
    return c->failed;
}

static enum err init(struct compact *c)
{
    enum err e = best_new(&c->best);

    if (!e)
        e = seen_init(&c->lines);
    if (!e)
        e = seen_init(&c->trials);
    return e ? e : seen_init(&c->programs);
}

static void fini(struct compact *c)
{
    file_out_close(&c->out);
    best_free(c->best);
    seen_fini(&c->lines);
    seen_fini(&c->trials);
    seen_fini(&c->programs);
    free(c->entries);
    free(c->keep);
}

enum err compact_log(const char *path, const char *out, size_t n_keep,
                     enum err (*lines)(int fd, const char *path, bool (*each)(const struct log_line *line, void *arg),
                                       log_warn *warn, void *arg, struct why *why),
                     log_warn *warn, struct compact_report *report, struct why *why)
{
    struct compact c = {.path = path, .warn = warn, .report = report, .n_keep = n_keep, .out = {.fd = -1}};
    int fd = -1;
    enum err e = init(&c);

    *report = (struct compact_report){0};
    if (!e)
        e = input_open(path, &fd, why);
    if (!e)
        e = file_out_open(&c.out, out, 0644, why);
    for (int pass = 0; pass < 2 && !e; pass++) {
        c.is_first = pass == 0;
        c.n_given = 0;
        e = lseek(fd, 0, SEEK_SET) == 0 ? lines(fd, path, take, take_warning, &c, why) : ERR_IO;
        if (!e && !c.failed && c.is_first)
            c.failed = select_lines(&c);
        if (!e && c.failed)
            e = why_set(why, c.failed, "%s: %s", path, c.why.text[0] ? c.why.text : err_words(c.failed));
    }
    assert(report->n_written + report->n_equal + report->n_lost + report->n_bad <= report->n_lines);
    if (!e && report->n_bad && report->n_bad == report->n_lines)
        e = why_set(why, ERR_INPUT, "%s: no record in it; expected a log", path);
    if (!e)
        e = file_out_commit(&c.out, why);
    if (fd >= 0)
        close(fd);
    fini(&c);
    return e == ERR_NOMEM ? why_set(why, e, "%s", err_words(e)) : e;
}
