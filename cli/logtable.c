/* SPDX-License-Identifier: MIT */
#include "cli/logtable.h"

#include "core/csvz.h"
#include "core/err.h"
#include "core/json.h"
#include "core/vec.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const char *const late_names[] = {"registers", "local_bytes", "spill_bytes"};

#define N_LATE (sizeof late_names / sizeof *late_names)

struct logtable {
    const char *workload, *template_id; /* asked for, or NULL */
    struct record *rows;
    size_t n, cap;
    bool has_late[N_LATE];
    enum err e;
    struct why *why;
};

/* The largest figure of that name of a record's kernels; -1 = not told. */
static double late_of(const struct record *r, const char *name)
{
    const cJSON *kernel;
    double most = -1;

    cJSON_ArrayForEach(kernel, r->resources)
    {
        const cJSON *figure = cJSON_GetObjectItemCaseSensitive(kernel, name);

        if (cJSON_IsNumber(figure) && figure->valuedouble > most)
            most = figure->valuedouble;
    }
    return most;
}

static bool is_same_kind(const struct record *a, const struct record *b)
{
    return strcmp(a->workload, b->workload) == 0 && strcmp(a->template_id, b->template_id) == 0 &&
           a->template_version == b->template_version;
}

static bool has_same_knobs(const struct record *a, const struct record *b)
{
    const cJSON *knob;

    cJSON_ArrayForEach(knob, a->knobs)
    {
        const cJSON *other = cJSON_GetObjectItemCaseSensitive(b->knobs, knob->string);

        if (!other || cJSON_IsString(other) != cJSON_IsString(knob))
            return false;
    }
    return cJSON_GetArraySize(a->knobs) == cJSON_GetArraySize(b->knobs);
}

static enum err check(const struct logtable *t, const struct record *r)
{
    const struct record *first = &t->rows[0];

    if (!is_same_kind(first, r))
        return why_set(
            t->why, ERR_INPUT,
            "the log holds several kinds of config, a table one: choose with --workload and --template, e.g. "
            "--workload \"%.200s\" --template %.60s",
            first->workload, first->template_id);
    return has_same_knobs(first, r)
               ? ERR_OK
               : why_set(t->why, ERR_INPUT, "records %.20s and %.20s have knobs of other names or kinds", first->id,
                         r->id);
}

/* The row of this program, or a new one; NULL on lack of memory. */
static struct record *row_of(struct logtable *t, const struct record *r)
{
    for (size_t i = t->n; i-- > 0;)
        if (strcmp(t->rows[i].program.hex, r->program.hex) == 0 && r->program.hex[0])
            return &t->rows[i];
    if (VEC_ROOM(t->rows, t->cap, t->n + 1, VEC_ANY))
        return NULL;
    record_init(&t->rows[t->n]);
    return &t->rows[t->n++];
}

static bool take(const struct record *r, const char *line, size_t n_line, void *arg)
{
    struct logtable *t = arg;
    struct record copy, *row;

    (void)line;
    (void)n_line;
    if ((t->workload && strcmp(r->workload, t->workload) != 0) ||
        (t->template_id && strcmp(r->template_id, t->template_id) != 0) || r->status == STATUS_LOST)
        return true;
    t->e = t->n ? check(t, r) : ERR_OK;
    if (t->e)
        return false;
    row = row_of(t, r);
    if (!row || record_copy(&copy, r)) {
        t->e = ERR_NOMEM;
        return false;
    }
    for (size_t i = 0; i < N_LATE; i++)
        t->has_late[i] |= late_of(r, late_names[i]) >= 0;
    if (row->time_ns > 0 && r->time_ns <= 0) {
        record_fini(&copy);
        return true;
    }
    record_fini(row);
    *row = copy;
    return true;
}

/* A cell that core/csvz.h reads back, and the comma behind it. */
static enum err write_word(const char *word, struct buf *out)
{
    assert(!strpbrk(word, "\r\n")); /* a record has no control characters (logs/record.h) */
    csvz_put(out, word);
    return buf_puts(out, ",");
}

static enum err write_head(const struct logtable *t, struct buf *out)
{
    const cJSON *knob;
    enum err e = ERR_OK;

    assert(t->n > 0);
    cJSON_ArrayForEach(knob, t->rows[0].knobs)
    {
        if (!e)
            e = write_word(knob->string, out);
    }
    for (size_t i = 0; i < N_LATE; i++)
        if (t->has_late[i])
            buf_printf(out, "%s,", late_names[i]);
    return e ? e : buf_puts(out, "time_ms,status\n");
}

static enum err write_row(const struct logtable *t, const struct record *r, struct buf *out)
{
    const cJSON *column;
    enum err e = ERR_OK;

    cJSON_ArrayForEach(column, t->rows[0].knobs)
    {
        const cJSON *knob = cJSON_GetObjectItemCaseSensitive(r->knobs, column->string);

        if (!e && cJSON_IsString(knob))
            e = write_word(knob->valuestring, out);
        else if (!e)
            e = buf_printf(out, "%.17g,", knob->valuedouble);
    }
    for (size_t i = 0; i < N_LATE; i++) {
        const double v = late_of(r, late_names[i]);

        if (t->has_late[i] && v >= 0)
            buf_printf(out, "%.17g", v);
        if (t->has_late[i])
            buf_puts(out, ",");
    }
    if (r->time_ns > 0)
        buf_printf(out, "%.17g", r->time_ns * 1e-6);
    return e ? e : buf_printf(out, ",%s\n", status_name(r->status));
}

enum err logtable_write(const char *log_path, const char *workload, const char *template_id, log_warn *warn,
                        struct buf *out, size_t *n_rows, struct why *why)
{
    struct logtable t = {.workload = workload, .template_id = template_id, .why = why};
    enum err e = log_scan(log_path, take, warn, &t, why);

    if (!e)
        e = t.e == ERR_NOMEM ? why_set(why, ERR_NOMEM, "out of memory") : t.e;
    if (!e && t.n == 0)
        e = why_set(why, ERR_NOT_FOUND, "%.300s holds no record%s", log_path,
                    workload || template_id ? " of that workload and template" : "");
    if (!e)
        e = write_head(&t, out);
    for (size_t i = 0; i < t.n && !e; i++)
        e = write_row(&t, &t.rows[i], out);
    for (size_t i = 0; i < t.n; i++)
        record_fini(&t.rows[i]);
    free(t.rows);
    if (out->failed)
        return why_set(why, out->failed, "the table: %s", err_words(out->failed));
    if (!e)
        *n_rows = t.n;
    return e;
}
