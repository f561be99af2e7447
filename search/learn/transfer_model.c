/* SPDX-License-Identifier: MIT */
/* transfer_model.c - tables to a transfer and ensembles, and these to one ranking. */
#include "search/learn/transfer_model.h"

#include "core/csvz.h"
#include "core/err.h"
#include "core/vec.h"
#include "search/learn/transfer_model_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static enum err no_memory(struct why *why)
{
    return why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
}

void transfer_table_fini(struct transfer_table *t)
{
    if (!t)
        return;
    for (size_t i = 0; t->names && i < t->n_knobs; i++)
        free(t->names[i]);
    free(t->label);
    free(t->names);
    free(t->knobs);
    free(t->values);
    *t = (struct transfer_table){.n = 0};
}

void transfer_model_free(struct transfer_model *m)
{
    if (!m)
        return;
    columns_fini(&m->columns);
    for (size_t i = 0; i < m->n_sources; i++)
        transfer_table_fini(&m->sources[i]);
    free(m->sources);
    transfer_table_fini(&m->target);
    transfer_free(m->transfer);
    ensemble_free(m->with);
    ensemble_free(m->without);
    free(m);
}

const struct columns *transfer_model_columns(const struct transfer_model *m)
{
    return &m->columns;
}

/* Values as records have them to knobs as transfers do: words by their text. */
static void knobs_of(const struct columns *c, const double *values, size_t n, double *knobs)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < c->n; j++) {
            const double v = values[i * c->n + j];

            knobs[i * c->n + j] = c->knobs[j].n_words && !isnan(v) ? transfer_word(c->words[j][(size_t)v]) : v;
        }
    }
}

/* A table of records; takes nothing. */
static enum err table_of(struct transfer_table *t, const char *label, const struct columns *c, const struct records *r)
{
    bool ok;

    *t = (struct transfer_table){.label = strdup(label), .n = r->n, .n_knobs = c->n};
    t->names = calloc(c->n + 1, sizeof(*t->names));
    t->knobs = malloc(r->n * c->n * sizeof(*t->knobs) + 1);
    t->values = malloc(r->n * sizeof(*t->values) + 1);
    ok = t->label && t->names && t->knobs && t->values;
    for (size_t i = 0; ok && i < c->n; i++)
        ok = (t->names[i] = strdup(c->names[i])) != NULL;
    if (!ok) {
        transfer_table_fini(t);
        return ERR_NOMEM;
    }
    if (r->n)
        knobs_of(c, r->values, r->n, t->knobs);
    for (size_t i = 0; i < r->n; i++)
        t->values[i] = log(r->times[i]);
    return ERR_OK;
}

enum err transfer_model_take_source(struct transfer_model *m, struct transfer_table *t, struct why *why)
{
    if (VEC_ROOM(m->sources, m->cap_sources, m->n_sources + 1, VEC_ANY))
        return no_memory(why);
    if (m->n_rows + t->n > TRANSFER_MODEL_MAX_ROWS)
        return why_set(why, ERR_LIMIT, "%.200s: more than %zu rows of all sources", t->label, TRANSFER_MODEL_MAX_ROWS);
    m->n_rows += t->n;
    m->sources[m->n_sources++] = *t;
    *t = (struct transfer_table){.n = 0};
    return ERR_OK;
}

/* What a source's file tells; its columns go to *columns when that is not NULL. */
static enum err read_source(struct transfer_model *m, const char *path, struct columns *columns, struct why *why)
{
    struct records r = {0};
    struct columns c = {0};
    struct transfer_table t = {.n = 0};
    enum err e = records_read(path, &r, &c, why);

    if (e == ERR_OK && (e = table_of(&t, path, &c, &r)))
        no_memory(why);
    if (e == ERR_OK)
        e = transfer_model_take_source(m, &t, why);
    transfer_table_fini(&t);
    records_fini(&r);
    if (e == ERR_OK && columns)
        *columns = c;
    else
        columns_fini(&c);
    return e;
}

/* The columns of a table without rows: as a source has those of the same name, else numbers. */
static enum err columns_like(struct columns *out, const struct csvz *t, const struct columns *like)
{
    out->names = calloc(t->n_columns + 1, sizeof(*out->names));
    out->words = calloc(t->n_columns + 1, sizeof(*out->words));
    out->knobs = calloc(t->n_columns + 1, sizeof(*out->knobs));
    if (!out->names || !out->words || !out->knobs)
        return ERR_NOMEM;
    for (size_t i = 0; i < t->n_columns; i++) {
        const char *name = t->cells[i];
        const size_t at = out->n;

        if (strcmp(name, "time_ms") == 0 || strcmp(name, "status") == 0)
            continue;
        out->n++;
        if (!(out->names[at] = strdup(name)))
            return ERR_NOMEM;
        for (size_t k = 0; k < like->n; k++) {
            if (strcmp(like->names[k], name) != 0)
                continue;
            out->knobs[at] = like->knobs[k];
            out->knobs[at].n_words = 0;
            out->words[at] = calloc(like->knobs[k].n_words + 1, sizeof(char *));
            for (size_t w = 0; out->words[at] && w < like->knobs[k].n_words; w++) {
                if (!(out->words[at][w] = strdup(like->words[k][w])))
                    return ERR_NOMEM;
                out->knobs[at].n_words++;
            }
            if (!out->words[at])
                return ERR_NOMEM;
        }
    }
    return ERR_OK;
}

/* The names of a table without rows. ERR_INPUT when it has none but time_ms and status. */
static enum err read_names(struct transfer_model *m, const char *path, const struct csvz *t, const struct columns *like,
                           struct why *why)
{
    const enum err e = columns_like(&m->columns, t, like);

    if (e)
        return no_memory(why);
    if (m->columns.n == 0)
        return why_set(why, ERR_INPUT, "%.200s:1: no column of a knob, expected some beside time_ms and status", path);
    if (csvz_column(t, "time_ms") < 0 || csvz_column(t, "status") < 0)
        return why_set(why, ERR_INPUT, "%.200s:1: no column %s", path,
                       csvz_column(t, "time_ms") < 0 ? "time_ms" : "status");
    return ERR_OK;
}

static enum err fit_one(struct transfer_model *m, const struct records *r, const float *extra, struct ensemble **out)
{
    const enum err e = ensemble_fit(out,
                                    &(struct ensemble_data){m->columns.knobs, r->values, r->times, extra, r->n,
                                                            r->n_knobs, extra ? transfer_n_columns(m->transfer) : 0},
                                    m->seed, NULL);

    return e == ERR_INPUT ? ERR_OK : e; /* too few rows, or all alike: the transfer does without */
}

static enum err fit(struct transfer_model *m, const struct records *r, struct why *why)
{
    const size_t width = transfer_n_columns(m->transfer);
    float *extra = malloc(r->n * width * sizeof(*extra) + 1);
    enum err e = extra ? transfer_columns(m->transfer, m->target.knobs, r->n, extra) : ERR_NOMEM;

    if (e == ERR_OK && width <= ENSEMBLE_MAX_EXTRA)
        e = fit_one(m, r, extra, &m->with);
    if (e == ERR_OK)
        e = fit_one(m, r, NULL, &m->without);
    if (e)
        why_set(why, e, "%s", err_words(e));
    free(extra);
    return e;
}

enum err transfer_model_join(struct transfer_model *m, struct why *why)
{
    const struct transfer_table *t = &m->target;
    float *columns = NULL;
    enum err e = transfer_new(&m->transfer, (const char *const *)m->columns.names, m->columns.n, m->seed);

    if (e)
        return why_set(why, e, "%zu knobs, expected 1 to %d", m->columns.n, TRANSFER_MAX_KNOBS);
    for (size_t i = 0; e == ERR_OK && i < m->n_sources; i++) {
        const struct transfer_table *s = &m->sources[i];

        e = transfer_add_source(
            m->transfer, s->label,
            &(struct transfer_rows){(const char *const *)s->names, s->knobs, s->values, s->n, s->n_knobs}, why);
    }
    if (e)
        return e;
    columns = malloc(t->n * transfer_n_columns(m->transfer) * sizeof(*columns) + 1);
    e = columns ? transfer_columns(m->transfer, t->knobs, t->n, columns) : ERR_NOMEM;
    if (e == ERR_OK)
        e = transfer_tell(m->transfer, t->knobs, columns, t->values, t->n);
    free(columns);
    return e ? why_set(why, e, "%s", err_words(e)) : ERR_OK;
}

/* The target's table: its rows, or its names alone. */
static enum err read_target(struct transfer_model *m, const char *path, struct records *r, const struct columns *like,
                            struct why *why)
{
    struct csvz t;
    enum err e = csvz_read(path, &t, why);

    if (e)
        return e;
    if (t.n_rows)
        e = records_read(path, r, &m->columns, why);
    else
        e = read_names(m, path, &t, like, why);
    csvz_fini(&t);
    if (e == ERR_OK && (e = table_of(&m->target, path, &m->columns, r)))
        no_memory(why);
    return e;
}

enum err transfer_model_train(struct transfer_model **out, const char *path, const char *const *sources,
                              size_t n_sources, uint64_t seed, struct why *why)
{
    struct transfer_model *m = calloc(1, sizeof(*m));
    struct records r = {0};
    struct columns like = {0};
    enum err e = m ? ERR_OK : no_memory(why);

    if (m)
        m->seed = seed;
    for (size_t i = 0; e == ERR_OK && i < n_sources; i++)
        e = read_source(m, sources[i], i == 0 ? &like : NULL, why);
    if (e == ERR_OK)
        e = read_target(m, path, &r, &like, why);
    if (e == ERR_OK)
        e = transfer_model_join(m, why);
    if (e == ERR_OK && r.n)
        e = fit(m, &r, why);
    columns_fini(&like);
    records_fini(&r);
    if (e)
        transfer_model_free(m);
    else
        *out = m;
    return e;
}

/* Scores of an ensemble, or nothing where there is none. */
static enum err ask(const struct ensemble *m, const double *values, const float *extra, size_t n, float **out)
{
    *out = NULL;
    if (!m)
        return ERR_OK;
    *out = malloc(n * sizeof(**out) + 1);
    return *out ? ensemble_predict(m, values, extra, n, *out) : ERR_NOMEM;
}

enum err transfer_model_predict(struct transfer_model *m, const double *values, size_t n, float *scores)
{
    const size_t width = transfer_n_columns(m->transfer);
    double *knobs = malloc(n * m->columns.n * sizeof(*knobs) + 1), *ranks = malloc(n * sizeof(*ranks) + 1);
    float *columns = malloc(n * width * sizeof(*columns) + 1), *with = NULL, *without = NULL;
    enum err e = knobs && ranks && columns ? ERR_OK : ERR_NOMEM;

    if (e == ERR_OK) {
        knobs_of(&m->columns, values, n, knobs);
        e = transfer_columns(m->transfer, knobs, n, columns);
    }
    if (e == ERR_OK)
        e = ask(m->with, values, columns, n, &with);
    if (e == ERR_OK)
        e = ask(m->without, values, NULL, n, &without);
    if (e == ERR_OK)
        e = transfer_rank(m->transfer, knobs, columns, n, with, without, ranks);
    for (size_t i = 0; e == ERR_OK && i < n; i++)
        scores[i] = (float)ranks[i];
    free(knobs);
    free(ranks);
    free(columns);
    free(with);
    free(without);
    return e;
}
