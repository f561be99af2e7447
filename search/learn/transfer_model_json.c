/* SPDX-License-Identifier: MIT */
/* transfer_model_json.c - a transfer model in a file: the rows it learned from and its ensembles. The transfer itself
 * is computed anew from the rows, which takes less time than reading what it would need. */
#include "core/buf.h"
#include "core/err.h"
#include "core/file.h"
#include "core/json.h"
#include "search/learn/transfer_model_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT "tune transfer model"
#define VERSION 1
#define MAX_BYTES ((size_t)1 << 30)

/* Looks at the beginning only: the other format may be large. */
bool transfer_model_is(const char *path)
{
    char start[128] = "";
    FILE *file = fopen(path, "re");

    if (!file)
        return false;
    start[fread(start, 1, sizeof(start) - 1, file)] = '\0';
    fclose(file);
    return strstr(start, "\"" FORMAT "\"") != NULL;
}

static void write_text(struct buf *out, const char *text)
{
    cJSON *item = cJSON_CreateString(text);

    if (!item || json_print(item, out))
        out->failed = out->failed ? out->failed : ERR_NOMEM;
    cJSON_Delete(item);
}

static void write_number(struct buf *out, double x)
{
    if (isfinite(x))
        buf_printf(out, "%.17g", x);
    else
        buf_puts(out, "null");
}

/* {"label":..,"knobs":[names],"rows":[[knobs.., ln ms or null]..]} */
static void write_table(struct buf *out, const struct transfer_table *t)
{
    buf_puts(out, "{\"label\":");
    write_text(out, t->label);
    buf_puts(out, ",\"knobs\":[");
    for (size_t i = 0; i < t->n_knobs; i++) {
        buf_puts(out, i ? "," : "");
        write_text(out, t->names[i]);
    }
    buf_puts(out, "],\"rows\":[");
    for (size_t i = 0; i < t->n && !out->failed; i++) {
        buf_puts(out, i ? ",\n[" : "\n[");
        for (size_t j = 0; j < t->n_knobs; j++) {
            write_number(out, t->knobs[i * t->n_knobs + j]);
            buf_puts(out, ",");
        }
        write_number(out, t->values[i]);
        buf_puts(out, "]");
    }
    buf_puts(out, "]}");
}

static enum err write_ensemble(struct buf *out, const char *name, const struct ensemble *m)
{
    buf_printf(out, ",\"%s\":", name);
    return m ? ensemble_write(m, out) : buf_puts(out, "null");
}

enum err transfer_model_write(const struct transfer_model *m, const char *path, struct why *why)
{
    struct buf out;
    enum err e;

    buf_init(&out, MAX_BYTES);
    buf_printf(&out, "{\"format\":\"" FORMAT "\",\"version\":%d,\"seed\":%llu,\"columns\":", VERSION,
               (unsigned long long)m->seed);
    e = columns_write(&m->columns, &out);
    buf_puts(&out, ",\"sources\":[");
    for (size_t i = 0; i < m->n_sources; i++) {
        buf_puts(&out, i ? "," : "");
        write_table(&out, &m->sources[i]);
    }
    buf_puts(&out, "],\"target\":");
    write_table(&out, &m->target);
    if (e == ERR_OK)
        e = write_ensemble(&out, "with", m->with);
    if (e == ERR_OK)
        e = write_ensemble(&out, "without", m->without);
    buf_puts(&out, "}\n");
    e = e ? e : out.failed;
    if (e)
        why_set(why, e, "%s: %s", path, err_words(e));
    else
        e = file_replace(path, buf_text(&out), out.len, 0644, why);
    buf_fini(&out);
    return e;
}

static enum err read_names(struct transfer_table *t, const cJSON *knobs, struct why *why)
{
    const cJSON *item;

    t->names = calloc((size_t)cJSON_GetArraySize(knobs) + 1, sizeof(*t->names));
    if (!t->names)
        return ERR_NOMEM;
    cJSON_ArrayForEach(item, knobs)
    {
        if (!cJSON_IsString(item))
            return why_set(why, ERR_INPUT, "\"knobs\": expected names");
        if (!(t->names[t->n_knobs] = strdup(item->valuestring)))
            return ERR_NOMEM;
        t->n_knobs++;
    }
    return ERR_OK;
}

/* One row: n_knobs numbers or nulls, then the value. */
static enum err read_row(struct transfer_table *t, const cJSON *row, struct why *why)
{
    const cJSON *cell = cJSON_IsArray(row) ? row->child : NULL;

    for (size_t j = 0; j <= t->n_knobs; j++, cell = cell->next) {
        double *to = j < t->n_knobs ? &t->knobs[t->n * t->n_knobs + j] : &t->values[t->n];

        if (!cell || !(cJSON_IsNumber(cell) || cJSON_IsNull(cell)))
            return why_set(why, ERR_INPUT, "row %zu of \"%.80s\": expected %zu numbers", t->n, t->label,
                           t->n_knobs + 1);
        *to = cJSON_IsNumber(cell) ? cell->valuedouble : (double)NAN;
    }
    if (cell)
        return why_set(why, ERR_INPUT, "row %zu of \"%.80s\": expected %zu numbers", t->n, t->label, t->n_knobs + 1);
    t->n++;
    return ERR_OK;
}

static enum err read_table(struct transfer_table *t, const cJSON *object, struct why *why)
{
    const cJSON *knobs = NULL, *rows = NULL, *row;
    const char *label = NULL;
    enum err e = json_get_text(object, "label", &label, why);
    size_t n;

    if (e == ERR_OK)
        e = json_get_array(object, "knobs", &knobs, why);
    if (e == ERR_OK)
        e = json_get_array(object, "rows", &rows, why);
    if (e)
        return e;
    n = (size_t)cJSON_GetArraySize(rows);
    t->label = strdup(label);
    e = t->label ? read_names(t, knobs, why) : ERR_NOMEM;
    if (e)
        return e;
    t->knobs = malloc(n * t->n_knobs * sizeof(*t->knobs) + 1);
    t->values = malloc(n * sizeof(*t->values) + 1);
    if (!t->knobs || !t->values)
        return ERR_NOMEM;
    cJSON_ArrayForEach(row, rows)
    {
        e = read_row(t, row, why);
        if (e)
            return e;
    }
    return ERR_OK;
}

static enum err read_sources(struct transfer_model *m, const cJSON *root, struct why *why)
{
    const cJSON *sources = NULL, *item;
    enum err e = json_get_array(root, "sources", &sources, why);

    if (e)
        return e;
    cJSON_ArrayForEach(item, sources)
    {
        struct transfer_table t = {.n = 0};

        e = read_table(&t, item, why);
        if (e == ERR_OK)
            e = transfer_model_take_source(m, &t, why);
        transfer_table_fini(&t);
        if (e)
            return e;
    }
    return ERR_OK;
}

/* null, or an ensemble with so many features beside the columns. */
static enum err read_ensemble(struct transfer_model *m, const cJSON *root, const char *name, size_t n_extra,
                              struct ensemble **out, struct why *why)
{
    const cJSON *object = cJSON_GetObjectItemCaseSensitive(root, name);
    enum err e;

    if (cJSON_IsNull(object))
        return ERR_OK;
    e = json_get_object(root, name, &object, why);
    if (e == ERR_OK)
        e = ensemble_read(out, m->columns.knobs, m->columns.n, object, why);
    if (e == ERR_OK && ensemble_n_extra(*out) != n_extra)
        e = why_set(why, ERR_INPUT, "\"%s\": %zu more features, expected %zu", name, ensemble_n_extra(*out), n_extra);
    return e;
}

static enum err read_parts(struct transfer_model *m, const cJSON *root, struct why *why)
{
    const cJSON *columns = NULL, *target = NULL;
    int64_t version = 0, seed = 0;
    enum err e = json_get_i64(root, "version", 0, JSON_EXACT_MAX, &version, why);

    if (e == ERR_OK && version != VERSION)
        e = why_set(why, ERR_INPUT, "version %lld of the format, expected %d", (long long)version, VERSION);
    if (e == ERR_OK)
        e = json_get_i64(root, "seed", 0, JSON_EXACT_MAX, &seed, why);
    m->seed = (uint64_t)seed;
    if (e == ERR_OK)
        e = json_get_array(root, "columns", &columns, why);
    if (e == ERR_OK)
        e = columns_read(&m->columns, columns, why);
    if (e == ERR_OK)
        e = read_sources(m, root, why);
    if (e == ERR_OK)
        e = json_get_object(root, "target", &target, why);
    if (e == ERR_OK)
        e = read_table(&m->target, target, why);
    if (e == ERR_OK && m->target.n_knobs != m->columns.n)
        e = why_set(why, ERR_INPUT, "\"target\": %zu knobs, expected %zu", m->target.n_knobs, m->columns.n);
    if (e == ERR_OK)
        e = transfer_model_join(m, why);
    if (e == ERR_OK)
        e = read_ensemble(m, root, "with", transfer_n_columns(m->transfer), &m->with, why);
    if (e == ERR_OK)
        e = read_ensemble(m, root, "without", 0, &m->without, why);
    return e;
}

enum err transfer_model_read(struct transfer_model **out, const char *path, struct why *why)
{
    struct transfer_model *m = calloc(1, sizeof(*m));
    struct why own = {""};
    cJSON *root = NULL;
    struct buf text;
    enum err e;

    buf_init(&text, MAX_BYTES);
    e = m ? file_read(path, &text, why) : ERR_NOMEM;
    if (e == ERR_OK) {
        e = json_parse(buf_text(&text), text.len, &root, &own);
        if (e == ERR_OK)
            e = read_parts(m, root, &own);
        if (e)
            why_set(why, e, "%.200s: %.700s", path, *own.text ? own.text : err_words(e));
    }
    buf_fini(&text);
    cJSON_Delete(root);
    if (e)
        transfer_model_free(m);
    else
        *out = m;
    return e;
}
