/* SPDX-License-Identifier: MIT */
#include "logs/merge.h"

#include "core/err.h"
#include "logs/input.h"
#include "logs/line.h"
#include "logs/seen.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_BITS 44 /* of a place: the line's number; above it the file's, from 1 */

struct merge {
    const struct merge_options *o;
    const char *const *paths;
    size_t i_file;   /* being read */
    int64_t *ends;   /* lines of each file at the first reading, where there are two */
    bool is_first;   /* of two readings: nothing is written */
    int64_t i_given; /* lines given of this file so far, of foreign files too */
    struct seen seen;
    struct file_out out;
    struct merge_report report;
    enum err failed;
    struct why why;
};

static uint64_t place_of(size_t i_file, int64_t i_line)
{
    assert(i_line > 0 && i_line >> LINE_BITS == 0);
    return (uint64_t)(i_file + 1) << LINE_BITS | (uint64_t)i_line;
}

/* Tells of a line, or ends it all when strict; false then. */
static bool tell(struct merge *m, enum merge_word word, int64_t i_line, const char *words)
{
    const char *path = m->paths[m->i_file];

    if (m->o->strict)
        m->failed = why_set(&m->why, ERR_INPUT, "%s:%lld: %s; nothing was written", path, (long long)i_line, words);
    else if (m->o->tell)
        m->o->tell(word, path, i_line, words, m->o->arg);
    return !m->failed;
}

static bool tell_other(struct merge *m, const struct line_head *h, int64_t i_line, uint64_t former)
{
    const size_t i_file = (size_t)(former >> LINE_BITS) - 1;
    char words[512];

    assert(former >> LINE_BITS > 0 && i_file <= m->i_file);
    m->report.n_other++;
    snprintf(words, sizeof words, "trial %.64s of job %.40s stands at %.200s:%llu with other content", h->id, h->job,
             m->paths[i_file], (unsigned long long)(former & (((uint64_t)1 << LINE_BITS) - 1)));
    return tell(m, MERGE_OTHER, i_line, words);
}

static bool put(struct merge *m, const char *text, size_t n)
{
    assert(!m->failed && !(m->o->one_a_trial && m->is_first));
    m->failed = file_out_put(&m->out, text, n, &m->why);
    if (!m->failed)
        m->failed = file_out_put(&m->out, "\n", 1, &m->why);
    m->report.n_written++;
    m->report.n_written_first += m->i_file == 0;
    return !m->failed;
}

/* Every line that differs stays. */
static bool take_each(struct merge *m, const struct log_line *line, size_t n, const struct line_head *h)
{
    const uint64_t trial = seen_trial(&m->seen, h->id, h->job, h->ts_ms), hash = seen_hash(&m->seen, line->text, n);
    enum seen_kind kind;
    uint64_t former;

    m->failed = seen_note(&m->seen, trial, hash, place_of(m->i_file, line->i_line), &kind, &former);
    if (m->failed)
        return false;
    m->report.n_equal += kind == SEEN_EQUAL;
    if (kind == SEEN_EQUAL)
        return true;
    if (kind == SEEN_OTHER && !tell_other(m, h, line->i_line, former))
        return false;
    return put(m, line->text, n);
}

/* The first of two readings: where the last line of each trial stands. */
static bool note_last(struct merge *m, const struct log_line *line, size_t n, const struct line_head *h)
{
    const uint64_t hash = seen_hash(&m->seen, line->text, n);
    struct seen_entry *entry = seen_only(&m->seen, seen_trial(&m->seen, h->id, h->job, h->ts_ms));
    const uint64_t former = entry ? entry->place : 0;

    assert(m->o->one_a_trial && m->is_first);
    if (!entry) {
        m->failed = ERR_NOMEM;
        return false;
    }
    if (former && entry->line == hash) { /* of equal lines the first stays */
        m->report.n_equal++;
        return true;
    }
    entry->line = hash;
    entry->place = place_of(m->i_file, line->i_line);
    return !former || tell_other(m, h, line->i_line, former);
}

/* The second: only these are written. */
static bool write_last(struct merge *m, const struct log_line *line, size_t n, const struct line_head *h)
{
    const struct seen_entry *entry = seen_find(&m->seen, seen_trial(&m->seen, h->id, h->job, h->ts_ms));

    if (entry && entry->place == place_of(m->i_file, line->i_line))
        return put(m, line->text, n);
    return true;
}

/* What can be said of one line alone is said once. */
static bool look_at(struct merge *m, const struct log_line *line, struct line_head *h, bool *is_good)
{
    struct why why = {""};
    const enum err e = line_head(line, h, &why);

    *is_good = !e;
    if (e == ERR_NOMEM) {
        m->failed = e;
        return false;
    }
    if (m->o->one_a_trial && !m->is_first)
        return true;
    m->report.n_lines++;
    m->report.n_bad += !*is_good;
    if (!*is_good)
        return tell(m, MERGE_BAD, line->i_line, why.text);
    if (h->schema <= RECORD_SCHEMA)
        return true;
    m->report.n_newer++;
    snprintf(why.text, sizeof why.text, "schema %lld is newer than %d, the newest known here", (long long)h->schema,
             RECORD_SCHEMA);
    return tell(m, MERGE_NEWER, line->i_line, why.text);
}

static bool take(const struct log_line *line, void *arg)
{
    struct merge *m = arg;
    size_t n = line->n;
    struct line_head h;
    bool is_good;

    m->i_given++;
    if (m->o->one_a_trial && !m->is_first && m->i_given > m->ends[m->i_file])
        return false; /* appended since the first reading */
    if (!look_at(m, line, &h, &is_good))
        return false;
    if (!is_good)
        return true;
    if (n && line->text[n - 1] == '\r')
        n--;
    if (!m->o->one_a_trial)
        return take_each(m, line, n, &h);
    return m->is_first ? note_last(m, line, n, &h) : write_last(m, line, n, &h);
}

/* Of foreign files: what is no record. */
static void take_warning(const char *path, int64_t i_line, const char *words, void *arg)
{
    struct merge *m = arg;

    (void)path;
    if (m->failed || (m->o->one_a_trial && !m->is_first))
        return;
    m->report.n_lines++;
    m->report.n_bad++;
    (void)tell(m, MERGE_BAD, i_line, words);
}

static enum err read_file(struct merge *m, size_t i, int fd, struct why *why)
{
    enum err e;

    m->i_file = i;
    m->i_given = 0;
    e = m->o->lines(fd, m->paths[i], take, take_warning, m, why);
    if (m->ends && m->is_first)
        m->ends[i] = m->i_given;
    if (!e && m->failed)
        e = why_set(why, m->failed, "%s", m->why.text[0] ? m->why.text : err_words(m->failed));
    return e;
}

/* One reading, file by file. */
static enum err stream(struct merge *m, size_t n, struct why *why)
{
    enum err e = ERR_OK;

    for (size_t i = 0; i < n && !e; i++) {
        int fd;

        e = input_open(m->paths[i], &fd, why);
        if (e)
            break;
        e = read_file(m, i, fd, why);
        close(fd);
    }
    return e;
}

/* Two readings of files that stay open in between: what is renamed or taken away meanwhile is no matter. */
static enum err stream_twice(struct merge *m, size_t n, struct why *why)
{
    int fds[MERGE_MAX_OPEN];
    size_t n_open = 0;
    enum err e = n <= MERGE_MAX_OPEN ? ERR_OK : ERR_LIMIT;

    if (e)
        return why_set(why, e, "%zu files, expected at most %d: merge them first", n, MERGE_MAX_OPEN);
    for (; n_open < n && !e; n_open += !e)
        e = input_open(m->paths[n_open], &fds[n_open], why);
    for (int pass = 0; pass < 2; pass++) {
        m->is_first = pass == 0;
        for (size_t i = 0; i < n && !e; i++) {
            e = lseek(fds[i], 0, SEEK_SET) == 0 ? ERR_OK
                                                : why_set(why, ERR_IO, "%s: cannot be read twice", m->paths[i]);
            if (!e)
                e = read_file(m, i, fds[i], why);
        }
    }
    while (n_open)
        close(fds[--n_open]);
    return e;
}

enum err merge_logs(const char *const *paths, size_t n, const char *out, const struct merge_options *o,
                    struct merge_report *report, struct why *why)
{
    struct merge *m = calloc(1, sizeof *m);
    enum err e = m ? ERR_OK : ERR_NOMEM;

    if (!e && n > MERGE_MAX_FILES)
        e = why_set(why, ERR_LIMIT, "%zu files, expected at most %d", n, MERGE_MAX_FILES);
    if (m) {
        *m = (struct merge){.o = o, .paths = paths, .out = {.fd = -1}};
        m->ends = o->one_a_trial ? calloc(n + 1, sizeof *m->ends) : NULL;
    }
    if (!e)
        e = o->one_a_trial && !m->ends ? ERR_NOMEM : seen_init(&m->seen);
    if (!e)
        e = file_out_open(&m->out, out, 0644, why);
    if (!e)
        e = o->one_a_trial ? stream_twice(m, n, why) : stream(m, n, why);
    if (!e && m->report.n_bad && m->report.n_written == 0)
        e = why_set(why, ERR_INPUT, "%s: no record in it; expected a log", paths[0]);
    if (!e)
        e = file_out_commit(&m->out, why);
    assert(e || (m->report.n_written_first <= m->report.n_written && m->report.n_written <= m->report.n_lines));
    if (!e)
        *report = m->report;
    if (m) {
        file_out_close(&m->out);
        seen_fini(&m->seen);
        free(m->ends);
        free(m);
    }
    return e == ERR_NOMEM ? why_set(why, e, "%s", err_words(e)) : e;
}
