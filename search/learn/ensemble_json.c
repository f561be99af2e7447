/* SPDX-License-Identifier: MIT */
/* ensemble_json.c - ensembles as text: the forests as trees, the Gaussian process as the rows that it is learned from.
 */
#include "search/learn/ensemble_parts.h"

#include "core/buf.h"
#include "core/err.h"
#include "core/json.h"
#include "cost_model/gbdt_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void write_number(struct buf *out, double v)
{
    if (isfinite(v))
        buf_printf(out, "%.17g", v);
    else
        buf_puts(out, "null");
}

/* Names of the columns that a forest reads, the extra ones too; free them as one. NULL: no memory. */
static const char **names_of(const struct ensemble *m, enum features_set set)
{
    const struct features *f = &m->features[set == FEATURES_ALL];
    const size_t n = f->n + m->n_extra;
    const char **names = malloc(n * (sizeof *names + FEATURES_NAME_BYTES) + 1);
    char *text = names ? (char *)(names + n) : NULL;

    for (size_t i = 0; names && i < n; i++, text += FEATURES_NAME_BYTES) {
        names[i] = text;
        if (i < f->n)
            features_name(f, i, text);
        else
            snprintf(text, FEATURES_NAME_BYTES, "derived %zu", i - f->n);
    }
    return names;
}

static void write_row(const struct ensemble *m, size_t i, struct buf *out)
{
    buf_puts(out, "\n[");
    write_number(out, m->times[i]);
    for (size_t j = 0; j < m->n_knobs; j++) {
        buf_puts(out, ",");
        write_number(out, m->values[i * m->n_knobs + j]);
    }
    buf_puts(out, "]");
}

enum err ensemble_write(const struct ensemble *m, struct buf *out)
{
    enum err e = ERR_OK;

    buf_printf(out, "{\"derived\":%zu,\"forests\":[", m->n_extra);
    for (size_t i = 0; e == ERR_OK && i < ENSEMBLE_N_FORESTS; i++) {
        const char **names = names_of(m, ensemble_recipes[i].set);

        buf_puts(out, i > 0 ? ",\n" : "\n");
        e = names ? gbdt_write(m->forests[i], names, out) : ERR_NOMEM;
        free(names);
    }
    buf_puts(out, "],\"process_rows\":[");
    for (size_t i = 0; i < m->n && !out->failed; i++) {
        if (i > 0)
            buf_puts(out, ",");
        write_row(m, i, out);
    }
    buf_puts(out, "]}");
    return e ? e : out->failed;
}

static enum err read_row(const cJSON *row, size_t i, size_t n_knobs, double *times, double *values, struct why *why)
{
    const cJSON *item;
    size_t j = 0;

    if (!cJSON_IsArray(row) || (size_t)cJSON_GetArraySize(row) != 1 + n_knobs)
        return why_set(why, ERR_INPUT, "process_rows: number %zu, expected an array of %zu numbers", i, 1 + n_knobs);
    cJSON_ArrayForEach(item, row)
    {
        const double v = cJSON_IsNumber(item) ? item->valuedouble : (double)NAN;

        if (!cJSON_IsNumber(item) && !cJSON_IsNull(item))
            return why_set(why, ERR_INPUT, "process_rows: number %zu, expected numbers or null", i);
        if (j == 0)
            times[i] = v;
        else
            values[i * n_knobs + j - 1] = v;
        j++;
    }
    return ERR_OK;
}

/* The Gaussian process is learned anew from its rows, which are few. */
static enum err read_process(struct ensemble *m, const struct features_knob *knobs, const cJSON *object,
                             struct why *why)
{
    const cJSON *rows = NULL, *row;
    size_t i = 0;
    enum err e = json_get_array(object, "process_rows", &rows, why);

    if (e)
        return e;
    m->n = (size_t)cJSON_GetArraySize(rows);
    if (m->n == 0)
        return ERR_OK;
    if (m->n > ENSEMBLE_GP_ROWS)
        return why_set(why, ERR_INPUT, "process_rows: %zu, expected at most %d", m->n, ENSEMBLE_GP_ROWS);
    m->times = malloc(m->n * sizeof *m->times);
    m->values = malloc(m->n * m->n_knobs * sizeof *m->values);
    if (!m->times || !m->values)
        return why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
    cJSON_ArrayForEach(row, rows)
    {
        e = read_row(row, i++, m->n_knobs, m->times, m->values, why);
        if (e)
            return e;
    }
    return ensemble_fit_process(m, &(struct ensemble_data){knobs, m->values, m->times, NULL, m->n, m->n_knobs, 0}, why);
}

static enum err read_forests(struct ensemble *m, const cJSON *object, struct why *why)
{
    const cJSON *forests = NULL;
    enum err e = json_get_array(object, "forests", &forests, why);

    if (e == ERR_OK && cJSON_GetArraySize(forests) != ENSEMBLE_N_FORESTS)
        e = why_set(why, ERR_INPUT, "forests: %d, expected %d", cJSON_GetArraySize(forests), ENSEMBLE_N_FORESTS);
    for (int i = 0; e == ERR_OK && i < ENSEMBLE_N_FORESTS; i++) {
        const enum features_set set = ensemble_recipes[i].set;
        const char **names = names_of(m, set);

        e = names ? gbdt_read(&m->forests[i], cJSON_GetArrayItem(forests, i), names,
                              m->features[set == FEATURES_ALL].n + m->n_extra, why)
                  : why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
        free(names);
    }
    return e;
}

enum err ensemble_read(struct ensemble **out, const struct features_knob *knobs, size_t n_knobs, const cJSON *object,
                       struct why *why)
{
    struct ensemble *m = NULL;
    int64_t n_extra = 0;
    enum err e = json_get_i64(object, "derived", 0, ENSEMBLE_MAX_EXTRA, &n_extra, why);

    if (e == ERR_OK)
        e = ensemble_new(&m, knobs, n_knobs, (size_t)n_extra, why);
    if (e == ERR_OK)
        e = read_forests(m, object, why);
    if (e == ERR_OK)
        e = read_process(m, knobs, object, why);
    if (e)
        ensemble_free(m);
    else
        *out = m;
    return e;
}
