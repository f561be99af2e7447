/* SPDX-License-Identifier: MIT */
/* kernel_tuner.c - cache files of Kernel Tuner: one JSON object whose header names kernel, device and parameters and
 * whose last member, "cache", grows by a result at a time: the closing brackets are missing while a tuning runs and
 * after it was killed. Times in ms; a failed config has the name of an error in the place of its time (or as
 * "__error__"). */
#include "formats/syntax/foreign.h"
#include "formats/syntax/json_parts.h"
#include "formats/syntax/timestamp.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OLD_FAILURE_MS 1e20 /* what versions before the named errors wrote for a failed config */

/* What the header says. */
struct header {
    char *kernel, *device;
    cJSON *keys, *args;
    struct json_part cache; /* lent; value NULL = not reached */
    enum json_part_kind cache_end;
};

static void header_fini(struct header *h)
{
    free(h->kernel);
    free(h->device);
    cJSON_Delete(h->keys);
    cJSON_Delete(h->args);
}

static bool sniff(const char *head, size_t n)
{
    struct json_parts p;

    return json_parts_open(&p, head, n, 1) && p.close == '}' && memmem(head, n, "\"device_name\"", 13) &&
           memmem(head, n, "\"kernel_name\"", 13);
}

/* A copy of a part that is a string; ERR_INPUT for others. */
static enum err take_text(const struct json_part *part, char **out, struct why *why)
{
    cJSON *tree = NULL;
    enum err e = json_part_tree(part, FOREIGN_MAX_ROW_BYTES, &tree, why);

    if (e)
        return e;
    if (cJSON_IsString(tree) && !*out)
        *out = strdup(tree->valuestring);
    cJSON_Delete(tree);
    return *out ? ERR_OK : why_set(why, ERR_INPUT, "expected a string");
}

/* Members of the header that say what was computed; they go into args under their names. */
static enum err take_arg(const struct json_part *part, cJSON *args, struct why *why)
{
    char name[32];
    cJSON *tree = NULL;
    enum err e = json_part_tree(part, FOREIGN_MAX_ROW_BYTES, &tree, why);

    if (e)
        return e;
    snprintf(name, sizeof name, "%.*s", (int)part->n_key, part->key);
    if (cJSON_AddItemToObject(args, name, tree))
        return ERR_OK;
    cJSON_Delete(tree);
    return why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
}

static enum err take_member(struct header *h, const struct json_part *part, struct why *why)
{
    enum err e = ERR_OK;

    if (json_part_is(part, "kernel_name"))
        e = take_text(part, &h->kernel, why);
    else if (json_part_is(part, "device_name"))
        e = take_text(part, &h->device, why);
    else if (json_part_is(part, "tune_params_keys") && !h->keys)
        e = json_part_tree(part, FOREIGN_MAX_ROW_BYTES, &h->keys, why);
    else if (json_part_is(part, "problem_size") || json_part_is(part, "objective") ||
             json_part_is(part, "schema_version"))
        e = take_arg(part, h->args, why);
    return e ? why_prefix(why, e, "line %lld: %.*s", (long long)part->i_line, (int)part->n_key, part->key) : ERR_OK;
}

/* All members but the results, which are only passed over. */
static enum err read_header(struct json_parts *p, struct header *h, struct why *why)
{
    for (;;) {
        struct json_part part;
        const enum json_part_kind kind = json_parts_next(p, &part);
        enum err e;

        if (kind == JSON_PART_BAD)
            return why_set(why, ERR_INPUT, "line %lld: not JSON", (long long)p->i_line);
        if (kind != JSON_PART_END && json_part_is(&part, "cache") && part.value < p->end) {
            h->cache = part;
            h->cache_end = kind;
        }
        if (kind != JSON_PART_ONE)
            return ERR_OK;
        e = take_member(h, &part, why);
        if (e)
            return e;
    }
}

static double number_of(const cJSON *entry, const char *name)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(entry, name);

    return cJSON_IsNumber(v) && isfinite(v->valuedouble) && v->valuedouble > 0 ? v->valuedouble : 0;
}

/* The error of an entry, by whichever member names one; NULL when there is none. */
static const char *error_of(const cJSON *entry, enum record_status *status)
{
    static const struct {
        const char *word;
        enum record_status status;
    } errors[] = {{"InvalidConfig", STATUS_LIMITS},
                  {"CompilationFailedConfig", STATUS_COMPILE},
                  {"RuntimeFailedConfig", STATUS_RUNTIME},
                  {"ErrorConfig", STATUS_RUNTIME}};
    const cJSON *member;

    cJSON_ArrayForEach(member, entry)
    {
        for (size_t i = 0; cJSON_IsString(member) && i < sizeof errors / sizeof *errors; i++)
            if (strcmp(member->valuestring, errors[i].word) == 0) {
                *status = errors[i].status;
                return errors[i].word;
            }
    }
    return NULL;
}

/* The time, or how it failed. */
static void read_time(const cJSON *entry, struct foreign_row *row)
{
    const double ms = number_of(entry, "time");
    const char *error = error_of(entry, &row->status);
    const cJSON *sample;

    if (error || ms <= 0 || ms >= OLD_FAILURE_MS) {
        if (!error)
            row->status = STATUS_RUNTIME;
        snprintf(row->why, sizeof row->why, "%s", error ? error : "no time was measured");
        return;
    }
    assert(row->status == STATUS_OK && row->n_samples == 0);
    row->time_s = ms / 1e3;
    cJSON_ArrayForEach(sample, cJSON_GetObjectItemCaseSensitive(entry, "times"))
    {
        if (row->n_samples < RECORD_MAX_SAMPLES && cJSON_IsNumber(sample) && sample->valuedouble > 0)
            row->samples_s[row->n_samples++] = sample->valuedouble / 1e3;
    }
}

/* Moves the parameters of the entry into the row's knobs. */
static enum err take_knobs(const struct header *h, cJSON *entry, struct foreign_row *row, struct why *why)
{
    const cJSON *key;

    row->knobs = cJSON_CreateObject();
    cJSON_ArrayForEach(key, h->keys)
    {
        const char *name = cJSON_IsString(key) ? key->valuestring : "";
        cJSON *value = cJSON_DetachItemFromObjectCaseSensitive(entry, name);

        if (!value)
            return why_set(why, ERR_INPUT, "the parameter '%.60s' is missing", name);
        if (!cJSON_AddItemToObject(row->knobs, name, value)) {
            cJSON_Delete(value);
            return why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
        }
    }
    return row->knobs ? ERR_OK : why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
}

/* Fills a row from one result; `entry` is the row's afterwards. */
static enum err fill_row(const struct header *h, cJSON *entry, struct foreign_row *row, struct why *why)
{
    const cJSON *when = cJSON_GetObjectItemCaseSensitive(entry, "timestamp");

    row->extra = entry;
    if (!cJSON_IsObject(entry))
        return why_set(why, ERR_INPUT, "expected an object");
    row->task = strdup(h->kernel);
    row->target = h->device ? strdup(h->device) : NULL;
    row->args = cJSON_Duplicate(h->args, true);
    if (!row->task || !row->args || (h->device && !row->target))
        return why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
    read_time(entry, row);
    row->build_s = number_of(entry, "compile_time") / 1e3;
    row->ts_ms = cJSON_IsString(when) ? timestamp_ms(when->valuestring) : 0;
    return take_knobs(h, entry, row, why);
}

static void tell_bad(const struct foreign_sink *sink, int64_t i_line, const char *words)
{
    if (sink->bad)
        sink->bad(i_line, words, sink->arg);
}

/* One result; false ends the reading. */
static bool take_entry(const struct header *h, const struct json_part *part, const struct foreign_sink *sink,
                       enum err *e)
{
    struct foreign_row row;
    struct why why = {""};
    cJSON *entry = NULL;
    bool more = true;

    foreign_row_init(&row);
    row.i_line = part->i_line;
    *e = json_part_tree(part, FOREIGN_MAX_ROW_BYTES, &entry, &why);
    if (!*e)
        *e = fill_row(h, entry, &row, &why);
    if (!*e)
        more = sink->row(&row, sink->arg);
    foreign_row_fini(&row);
    if (*e == ERR_NOMEM)
        return false;
    if (*e) {
        why_prefix(&why, *e, "result \"%.*s\"", (int)(part->n_key > 80 ? 80 : part->n_key), part->key);
        tell_bad(sink, part->i_line, why.text);
        *e = ERR_OK;
    }
    return more;
}

static enum err read_cache(const struct header *h, const char *end, const struct foreign_sink *sink)
{
    struct json_parts p;
    struct json_part part;
    enum json_part_kind kind;
    enum err e = ERR_OK;

    assert(h->cache.value && h->cache.value < end);
    if (!json_parts_open(&p, h->cache.value, (size_t)(end - h->cache.value), h->cache.i_line) || p.close != '}') {
        tell_bad(sink, h->cache.i_line, "\"cache\": expected an object of results");
        return ERR_OK;
    }
    while ((kind = json_parts_next(&p, &part)) == JSON_PART_ONE)
        if (!take_entry(h, &part, sink, &e))
            return e;
    if (kind == JSON_PART_BAD)
        tell_bad(sink, p.i_line, "not JSON from here on: what follows is left out");
    else if (kind == JSON_PART_CUT && part.key)
        tell_bad(sink, part.i_line, "the file ends within this result");
    return ERR_OK;
}

static enum err read(const char *text, size_t n, const struct foreign_sink *sink, struct why *why)
{
    struct header h = {.args = cJSON_CreateObject()};
    struct json_parts p;
    enum err e = ERR_OK;

    if (!h.args)
        return why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
    if (!json_parts_open(&p, text, n, 1) || p.close != '}')
        e = why_set(why, ERR_INPUT, "expected a cache of Kernel Tuner: an object with device_name, kernel_name, cache");
    if (!e)
        e = read_header(&p, &h, why);
    if (!e && !h.cache.value)
        tell_bad(sink, p.i_line, "the file ends before its results (\"cache\")");
    else if (!e && (!h.kernel || !cJSON_IsArray(h.keys)))
        e = why_set(why, ERR_INPUT, "expected \"kernel_name\" and \"tune_params_keys\" before the results");
    if (!e && h.cache.value)
        e = read_cache(&h, text + n, sink);
    header_fini(&h);
    return e;
}

const struct foreign_format foreign_kernel_tuner = {
    .name = "kernel_tuner",
    .summary = "cache file of Kernel Tuner (JSON, also cut short)",
    .sniff = sniff,
    .read = read,
};
