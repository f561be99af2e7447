/* SPDX-License-Identifier: MIT */
#include "search/learn/records.h"

#include "core/csvz.h"
#include "core/err.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WORDS 256     /* of one column */
#define MIN_TIME_MS 1e-30 /* so that no ratio of times, nor its cube, leaves a double */
#define MAX_TIME_MS 1e30

static enum err no_memory(const char *path, struct why *why)
{
    return why_set(why, ERR_NOMEM, "%s: %s", path, err_words(ERR_NOMEM));
}

static bool is_outcome(const char *name)
{
    return strcmp(name, "time_ms") == 0 || strcmp(name, "status") == 0;
}

static bool is_number(const char *text)
{
    char *end;

    (void)strtod(text, &end);
    return end != text && *end == '\0';
}

/* The number of a word, or -1. */
static int find_word(const struct columns *c, size_t i, const char *word)
{
    for (size_t w = 0; w < c->knobs[i].n_words; w++)
        if (strcmp(c->words[i][w], word) == 0)
            return (int)w;
    return -1;
}

static enum err bad_cell(const char *path, size_t i_row, const char *name, const char *cell, const char *expected,
                         struct why *why)
{
    return why_set(why, ERR_INPUT, "%s:%zu: column %.40s: \"%.40s\", expected %s", path, i_row + 2, name, cell,
                   expected);
}

/* All cells of one numeric column. */
static enum err read_numbers(const struct csvz *t, const char *path, size_t i_column, size_t i_knob, struct records *r,
                             struct why *why)
{
    for (size_t i = 0; i < t->n_rows; i++) {
        const double v = csvz_number(t, i, i_column);

        if (!isfinite(v))
            return bad_cell(path, i, t->cells[i_column], csvz_text(t, i, i_column), "a finite number", why);
        r->values[i * r->n_knobs + i_knob] = v;
    }
    return ERR_OK;
}

static enum err read_words(const struct csvz *t, const char *path, size_t i_column, const struct columns *c,
                           size_t i_knob, struct records *r, struct why *why)
{
    for (size_t i = 0; i < t->n_rows; i++) {
        const char *cell = csvz_text(t, i, i_column);
        const int w = find_word(c, i_knob, cell);

        if (*cell == '\0' || is_number(cell))
            return bad_cell(path, i, t->cells[i_column], cell, "a word, as in the other rows", why);
        r->values[i * r->n_knobs + i_knob] = w < 0 ? (double)NAN : w;
    }
    return ERR_OK;
}

static enum err find_column(const struct csvz *t, const char *path, const char *name, size_t *out, struct why *why)
{
    const int i = csvz_column(t, name);

    if (i < 0)
        return why_set(why, ERR_INPUT, "%s:1: no column %.60s; %.40s is the first of %zu", path, name, t->cells[0],
                       t->n_columns);
    for (size_t j = (size_t)i + 1; j < t->n_columns; j++)
        if (strcmp(t->cells[j], name) == 0)
            return why_set(why, ERR_INPUT, "%s:1: two columns are called \"%.60s\"", path, name);
    *out = (size_t)i;
    return ERR_OK;
}

static enum err read_times(const struct csvz *t, const char *path, struct records *r, struct why *why)
{
    size_t i_time = 0, i_status = 0;
    enum err e = find_column(t, path, "time_ms", &i_time, why);

    if (e == ERR_OK)
        e = find_column(t, path, "status", &i_status, why);
    if (e)
        return e;
    r->times = malloc((t->n_rows + 1) * sizeof *r->times);
    if (!r->times)
        return no_memory(path, why);
    for (size_t i = 0; i < t->n_rows; i++) {
        const double v = csvz_number(t, i, i_time);

        r->times[i] = NAN;
        if (strcmp(csvz_text(t, i, i_status), "ok") != 0)
            continue;
        if (!isfinite(v) || v <= 0)
            return bad_cell(path, i, "time_ms", csvz_text(t, i, i_time), "a time above 0, as status is ok", why);
        if (v < MIN_TIME_MS || v > MAX_TIME_MS)
            return bad_cell(path, i, "time_ms", csvz_text(t, i, i_time), "ms from 1e-30 to 1e30", why);
        r->times[i] = v;
    }
    return ERR_OK;
}

static enum err take(const struct csvz *t, const char *path, const struct columns *c, bool timed, struct records *out,
                     struct why *why)
{
    struct records r = {.n = t->n_rows, .n_knobs = c->n};
    enum err e = ERR_OK;

    r.values = malloc((r.n * r.n_knobs + 1) * sizeof *r.values);
    if (!r.values)
        return no_memory(path, why);
    for (size_t i = 0; e == ERR_OK && i < c->n; i++) {
        size_t i_column = 0;

        e = find_column(t, path, c->names[i], &i_column, why);
        if (e == ERR_OK && c->knobs[i].n_words > 0)
            e = read_words(t, path, i_column, c, i, &r, why);
        else if (e == ERR_OK)
            e = read_numbers(t, path, i_column, i, &r, why);
    }
    if (e == ERR_OK && timed)
        e = read_times(t, path, &r, why);
    if (e)
        records_fini(&r);
    else
        *out = r;
    return e;
}

void records_fini(struct records *r)
{
    if (!r)
        return;
    free(r->values);
    free(r->times);
    *r = (struct records){0};
}

static enum err learn_words(struct columns *c, size_t i, const struct csvz *t, size_t i_column, const char *path,
                            struct why *why)
{
    c->words[i] = calloc(MAX_WORDS, sizeof **c->words);
    if (!c->words[i])
        return no_memory(path, why);
    for (size_t row = 0; row < t->n_rows; row++) {
        const char *cell = csvz_text(t, row, i_column);

        if (find_word(c, i, cell) >= 0)
            continue;
        if (c->knobs[i].n_words == MAX_WORDS)
            return why_set(why, ERR_LIMIT, "%s: column %.60s: more than %d different words", path, c->names[i],
                           MAX_WORDS);
        c->words[i][c->knobs[i].n_words] = strdup(cell);
        if (!c->words[i][c->knobs[i].n_words])
            return no_memory(path, why);
        c->knobs[i].n_words++;
    }
    return ERR_OK;
}

struct names {
    const char *const *list;
    size_t n;
};

static bool is_named(const struct names *names, const char *name)
{
    for (size_t i = 0; i < names->n; i++)
        if (strcmp(names->list[i], name) == 0)
            return true;
    return false;
}

/* A column of words is one whose first cell is no number. */
static enum err learn_columns(struct columns *c, const struct csvz *t, const struct names *without, const char *path,
                              struct why *why)
{
    enum err e = ERR_OK;

    c->names = calloc(t->n_columns, sizeof *c->names);
    c->words = calloc(t->n_columns, sizeof *c->words);
    c->knobs = calloc(t->n_columns, sizeof *c->knobs);
    if (!c->names || !c->words || !c->knobs)
        return no_memory(path, why);
    for (size_t j = 0; e == ERR_OK && j < t->n_columns; j++) {
        const char *name = t->cells[j];

        if (!*name)
            return why_set(why, ERR_INPUT, "%s:1: column %zu has no name", path, j + 1);
        if (is_outcome(name) || is_named(without, name))
            continue;
        if (c->n == FEATURES_MAX_KNOBS)
            return why_set(why, ERR_LIMIT, "%s:1: more than %d columns", path, FEATURES_MAX_KNOBS);
        assert(c->n < t->n_columns);
        c->names[c->n] = strdup(name);
        if (!c->names[c->n++])
            return no_memory(path, why);
        if (*csvz_text(t, 0, j) != '\0' && !is_number(csvz_text(t, 0, j)))
            e = learn_words(c, c->n - 1, t, j, path, why);
    }
    return e;
}

static enum err check_shape(const struct csvz *t, const char *path, struct why *why)
{
    if (t->n_rows == 0)
        return why_set(why, ERR_INPUT, "%s: no rows behind the line of column names", path);
    if (t->n_rows > RECORDS_MAX_ROWS)
        return why_set(why, ERR_LIMIT, "%s: more than %zu rows", path, RECORDS_MAX_ROWS);
    return ERR_OK;
}

enum err records_read(const char *path, struct records *out, struct columns *c, struct why *why)
{
    return records_read_without(path, NULL, 0, out, c, why);
}

enum err records_read_without(const char *path, const char *const *names, size_t n_names, struct records *out,
                              struct columns *c, struct why *why)
{
    const struct names without = {names, n_names};
    struct csvz t = {.text = NULL};
    struct columns own = {0};
    enum err e = csvz_read(path, &t, why);

    if (e == ERR_OK)
        e = check_shape(&t, path, why);
    if (e == ERR_OK)
        e = learn_columns(&own, &t, &without, path, why);
    if (e == ERR_OK && own.n == 0)
        e = why_set(why, ERR_INPUT, "%s:1: no column of a knob, expected some beside time_ms and status", path);
    if (e == ERR_OK)
        e = take(&t, path, &own, true, out, why);
    csvz_fini(&t);
    if (e) {
        columns_fini(&own);
        return e;
    }
    assert(out->n > 0 && out->n_knobs == own.n);
    for (size_t i = 0; i < out->n * own.n; i++)
        features_knob_meet(&own.knobs[i % own.n], out->values[i]);
    *c = own;
    return ERR_OK;
}

enum err records_read_as(const char *path, const struct columns *c, bool timed, struct records *out, struct why *why)
{
    struct csvz t = {.text = NULL};
    enum err e = csvz_read(path, &t, why);

    if (e == ERR_OK)
        e = check_shape(&t, path, why);
    if (e == ERR_OK)
        e = take(&t, path, c, timed, out, why);
    csvz_fini(&t);
    return e;
}

static enum err read_sparse(const struct csvz *t, const char *path, const char *const *names, size_t n_names,
                            float *out, struct why *why)
{
    for (size_t j = 0; j < n_names; j++) {
        const size_t i_column = (size_t)csvz_column(t, names[j]);

        for (size_t i = 0; i < t->n_rows; i++) {
            const double v = csvz_number(t, i, i_column);

            if (!isfinite(v) && *csvz_text(t, i, i_column))
                return bad_cell(path, i, names[j], csvz_text(t, i, i_column), "a finite number, or nothing", why);
            out[i * n_names + j] = (float)v;
        }
    }
    return ERR_OK;
}

enum err records_read_numbers(const char *path, const char *const *names, size_t n_names, float **out, size_t *n,
                              struct why *why)
{
    struct csvz t = {.text = NULL};
    float *numbers = NULL;
    enum err e = csvz_read(path, &t, why);
    bool found = e == ERR_OK;

    for (size_t j = 0; found && j < n_names; j++)
        found = csvz_column(&t, names[j]) >= 0;
    if (found) {
        numbers = malloc((t.n_rows * n_names + 1) * sizeof *numbers);
        e = numbers ? read_sparse(&t, path, names, n_names, numbers, why) : no_memory(path, why);
    }
    if (e == ERR_OK) {
        *out = numbers;
        *n = t.n_rows;
    } else {
        free(numbers);
    }
    csvz_fini(&t);
    return e;
}
