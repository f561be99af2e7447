/* SPDX-License-Identifier: MIT */
#include "search_space/recorded.h"

#include "core/buf.h"
#include "core/csvz.h"
#include "core/err.h"
#include "core/file.h"
#include "core/json.h"
#include "search_space/space_file.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_JSON_BYTES (1u << 20)

struct place {
    uint64_t index; /* in the space */
    size_t i_row;
};

struct recorded {
    struct space *space;
    char name[128];
    struct csvz table; /* keeps the words of the rows */
    struct recorded_row *rows;
    struct place *places; /* sorted by index */
    size_t n_rows;
};

static enum err out_of_memory(struct why *why)
{
    return why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
}

static int by_index(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    return x->index < y->index ? -1 : x->index > y->index;
}

int64_t recorded_find(const struct recorded *r, const struct config *c)
{
    const struct place key = {.index = space_index(r->space, c)};
    const struct place *found = bsearch(&key, r->places, r->n_rows, sizeof key, by_index);

    return found ? (int64_t)found->i_row : -1;
}

static bool has_row(const struct space *s, const struct config *c, void *arg)
{
    (void)s;
    return recorded_find(arg, c) >= 0;
}

static enum err read_space(struct recorded *r, const cJSON *object, struct why *why)
{
    const char *name = NULL;
    bool is_known = true;
    enum err e = json_text_or(object, "space", "", &name, why);

    if (!e && space_new(&r->space))
        e = out_of_memory(why);
    if (e)
        return e;
    snprintf(r->name, sizeof r->name, "%s", name);
    e = space_file_add(r->space, object, &is_known, why);
    if (!e && !is_known)
        e = space_add_filter(r->space, has_row, r, "the recording has a row for it", why);
    return e ? e : space_seal(r->space, why);
}

static enum err read_json(struct recorded *r, const char *path, struct why *why)
{
    cJSON *object = NULL;
    struct buf text;
    enum err e;

    buf_init(&text, MAX_JSON_BYTES);
    e = file_read(path, &text, why);
    if (!e) {
        e = json_parse(buf_text(&text), text.len, &object, why);
        if (!e)
            e = read_space(r, object, why);
        if (e)
            why_prefix(why, e, "%s", path);
    }
    cJSON_Delete(object);
    buf_fini(&text);
    return e;
}

/* Which column of the table holds what. */
struct columns {
    int knobs[SPACE_MAX_KNOBS];
    int status, time, cost, compile, verify, bench, framework;
};

static enum err find_columns(const struct recorded *r, struct columns *c, struct why *why)
{
    const struct {
        const char *name;
        int *to;
    } wanted[] = {{"status", &c->status},         {"time_ms", &c->time},     {"cost_ms", &c->cost},
                  {"compile_ms", &c->compile},    {"verify_ms", &c->verify}, {"bench_ms", &c->bench},
                  {"framework_ms", &c->framework}};

    for (size_t i = 0; i < space_n_knobs(r->space); i++) {
        c->knobs[i] = csvz_column(&r->table, space_knob_name(r->space, i));
        if (c->knobs[i] < 0)
            return why_set(why, ERR_INPUT, "no column '%s'", space_knob_name(r->space, i));
    }
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        *wanted[i].to = csvz_column(&r->table, wanted[i].name);
        if (*wanted[i].to < 0)
            return why_set(why, ERR_INPUT, "no column '%s'", wanted[i].name);
    }
    return ERR_OK;
}

/* The place of a cell in the knob's list, or -1. */
static int choice_of(const struct space *s, size_t i_knob, const char *text, double number)
{
    for (size_t v = 0; v < space_n_values(s, i_knob); v++) {
        const struct value value = space_knob_value(s, i_knob, v);

        if (value.text ? strcmp(value.text, text) == 0 : value.number == number)
            return (int)v;
    }
    return -1;
}

/* ms of a config that ran; NaN for one that failed, which is also what an empty cell says. */
static enum err read_time(const struct csvz *t, const struct columns *c, size_t i, double *out, struct why *why)
{
    const char *text = csvz_text(t, i, (size_t)c->time);
    const double ms = csvz_number(t, i, (size_t)c->time);

    *out = NAN;
    if (strcmp(csvz_text(t, i, (size_t)c->status), "ok") != 0 || !*text)
        return ERR_OK;
    if (!(ms > 0 && isfinite(ms)))
        return why_set(why, ERR_INPUT, "line %zu: time_ms '%.60s': expected a number above 0", i + 2, text);
    *out = ms;
    return ERR_OK;
}

static enum err read_row(struct recorded *r, const struct columns *c, size_t i, struct why *why)
{
    const struct csvz *t = &r->table;
    struct recorded_row *row = &r->rows[i];

    for (size_t k = 0; k < space_n_knobs(r->space); k++) {
        const size_t column = (size_t)c->knobs[k];
        const int v = choice_of(r->space, k, csvz_text(t, i, column), csvz_number(t, i, column));

        if (v < 0)
            return why_set(why, ERR_INPUT, "line %zu: '%.60s' is not a value of knob '%s'", i + 2,
                           csvz_text(t, i, column), space_knob_name(r->space, k));
        row->config.choice[k] = (uint16_t)v;
    }
    row->status = csvz_text(t, i, (size_t)c->status);
    row->cost_ms = csvz_number(t, i, (size_t)c->cost);
    row->compile_ms = csvz_number(t, i, (size_t)c->compile);
    row->verify_ms = csvz_number(t, i, (size_t)c->verify);
    row->bench_ms = csvz_number(t, i, (size_t)c->bench);
    row->framework_ms = csvz_number(t, i, (size_t)c->framework);
    r->places[i] = (struct place){space_index(r->space, &row->config), i};
    return read_time(t, c, i, &row->time_ms, why);
}

/* Each config at most once, and valid: the recording and its restrictions agree. */
static enum err check_rows(const struct recorded *r, struct why *why)
{
    for (size_t i = 0; i < r->n_rows; i++) {
        const size_t line = r->places[i].i_row + 2;
        const char *violated = "";

        if (i && r->places[i].index == r->places[i - 1].index)
            return why_set(why, ERR_INPUT, "line %zu: the config of line %zu again", line, r->places[i - 1].i_row + 2);
        if (!space_is_valid(r->space, &r->rows[r->places[i].i_row].config, &violated))
            return why_set(why, ERR_INPUT, "line %zu: not valid under '%.200s'", line, violated);
    }
    return ERR_OK;
}

static enum err read_rows(struct recorded *r, struct why *why)
{
    struct columns c;
    const size_t n = r->table.n_rows;
    enum err e = find_columns(r, &c, why);

    if (e)
        return e;
    r->rows = calloc(n + 1, sizeof *r->rows);
    r->places = calloc(n + 1, sizeof *r->places);
    if (!r->rows || !r->places)
        return out_of_memory(why);
    for (size_t i = 0; !e && i < n; i++)
        e = read_row(r, &c, i, why);
    if (e)
        return e;
    r->n_rows = n;
    qsort(r->places, n, sizeof *r->places, by_index);
    return check_rows(r, why);
}

static enum err read_table(struct recorded *r, const char *json_path, struct why *why)
{
    char path[PATH_MAX];
    const size_t n = strlen(json_path);
    enum err e;

    if (n < 5 || strcmp(json_path + n - 5, ".json") != 0 || n + 3 > sizeof path)
        return why_set(why, ERR_INPUT, "%.200s: expected a name that ends in .json", json_path);
    snprintf(path, sizeof path, "%.*s.csv", (int)(n - 5), json_path);
    if (access(path, R_OK) != 0)
        strcat(path, ".gz");
    e = csvz_read(path, &r->table, why);
    if (e)
        return e;
    e = read_rows(r, why);
    return e ? why_prefix(why, e, "%.300s", path) : ERR_OK;
}

enum err recorded_open(const char *path, struct recorded **out, struct why *why)
{
    struct recorded *r = calloc(1, sizeof *r);
    enum err e;

    if (!r)
        return out_of_memory(why);
    e = read_json(r, path, why);
    if (!e)
        e = read_table(r, path, why);
    if (e)
        recorded_close(r);
    else
        *out = r;
    return e;
}

void recorded_close(struct recorded *r)
{
    if (!r)
        return;
    space_free(r->space);
    csvz_fini(&r->table);
    free(r->rows);
    free(r->places);
    free(r);
}

const struct space *recorded_space(const struct recorded *r)
{
    return r->space;
}

const char *recorded_name(const struct recorded *r)
{
    return r->name;
}

size_t recorded_n_rows(const struct recorded *r)
{
    return r->n_rows;
}

const struct recorded_row *recorded_row(const struct recorded *r, size_t i_row)
{
    return i_row < r->n_rows ? &r->rows[i_row] : NULL;
}

double recorded_optimum_ms(const struct recorded *r)
{
    double best = NAN;

    for (size_t i = 0; i < r->n_rows; i++)
        if (!(r->rows[i].time_ms >= best))
            best = isnan(r->rows[i].time_ms) ? best : r->rows[i].time_ms;
    return best;
}
