/* SPDX-License-Identifier: MIT */
/* ktt.c - results of KTT as its tuner saves them: JSON with "Metadata" and "Results", or the same as XML with
 * attributes in the place of members. Times in the unit that the metadata name. */
#include "formats/syntax/ktt_xml.h"

#include "core/err.h"
#include "core/json.h"
#include "formats/syntax/foreign.h"
#include "formats/syntax/json_parts.h"
#include "formats/syntax/timestamp.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct saved {
    cJSON *metadata;
    double unit_s;
    int64_t ts_ms;
    const struct foreign_sink *sink;
    enum err failed;
};

static const char *text_of(const cJSON *object, const char *name)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(object, name);

    return cJSON_IsString(v) ? v->valuestring : "";
}

/* Seconds of one unit; KTT's default is the millisecond. 0 = no such unit. */
static double unit_of(const char *name)
{
    static const struct {
        const char *name;
        double s;
    } units[] = {{"Nanoseconds", 1e-9}, {"Microseconds", 1e-6}, {"Milliseconds", 1e-3}, {"Seconds", 1}, {"", 1e-3}};

    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(name, units[i].name) == 0)
            return units[i].s;
    return 0;
}

/* Takes the metadata. */
static enum err set_metadata(struct saved *s, cJSON *metadata, struct why *why)
{
    cJSON_Delete(s->metadata);
    s->metadata = metadata;
    s->unit_s = unit_of(text_of(metadata, "TimeUnit"));
    s->ts_ms = timestamp_ms(text_of(metadata, "Timestamp"));
    if (s->unit_s > 0)
        return ERR_OK;
    return why_set(why, ERR_INPUT, "TimeUnit \"%.40s\": expected Nanoseconds, Microseconds, Milliseconds or Seconds",
                   text_of(metadata, "TimeUnit"));
}

static void tell_bad(const struct saved *s, int64_t i_line, const char *words)
{
    if (s->sink->bad)
        s->sink->bad(i_line, words, s->sink->arg);
}

static enum err read_status(const cJSON *result, struct foreign_row *row, struct why *why)
{
    static const struct {
        const char *word;
        enum record_status status;
    } words[] = {{"Ok", STATUS_OK},
                 {"ComputationFailed", STATUS_RUNTIME},
                 {"ValidationFailed", STATUS_WRONG},
                 {"CompilationFailed", STATUS_COMPILE},
                 {"DeviceLimitsExceeded", STATUS_LIMITS}};
    const char *word = text_of(result, "Status");

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i].word) == 0) {
            row->status = words[i].status;
            if (row->status != STATUS_OK)
                snprintf(row->why, sizeof row->why, "%s", word);
            return ERR_OK;
        }
    return why_set(why, ERR_INPUT,
                   "Status \"%.40s\": expected Ok, ComputationFailed, ValidationFailed, "
                   "CompilationFailed or DeviceLimitsExceeded",
                   word);
}

static double seconds_of(const struct saved *s, const cJSON *object, const char *name)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(object, name);

    return cJSON_IsNumber(v) && isfinite(v->valuedouble) && v->valuedouble > 0 ? v->valuedouble * s->unit_s : 0;
}

/* [{"Name", "Value"}] as an object of names and values. */
static enum err take_knobs(cJSON *result, struct foreign_row *row, struct why *why)
{
    cJSON *configuration = cJSON_GetObjectItemCaseSensitive(result, "Configuration"), *pair;

    row->knobs = cJSON_CreateObject();
    if (!cJSON_IsArray(configuration))
        return why_set(why, ERR_INPUT, "expected \"Configuration\", an array of Name and Value");
    cJSON_ArrayForEach(pair, configuration)
    {
        cJSON *value = cJSON_DetachItemFromObjectCaseSensitive(pair, "Value");
        const char *name = text_of(pair, "Name");

        if (!value || !*name || json_has(row->knobs, name)) {
            cJSON_Delete(value);
            return why_set(why, ERR_INPUT, "a pair of \"Configuration\" has no Name, no Value, or a Name used before");
        }
        if (!cJSON_AddItemToObject(row->knobs, name, value)) {
            cJSON_Delete(value);
            return why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
        }
    }
    cJSON_DeleteItemFromObjectCaseSensitive(result, "Configuration");
    return row->knobs ? ERR_OK : why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
}

/* Fills a row; `result` is the row's afterwards. */
static enum err fill_row(const struct saved *s, cJSON *result, struct foreign_row *row, struct why *why)
{
    const char *device = text_of(s->metadata, "Device");
    enum err e;

    row->extra = result;
    if (!cJSON_IsObject(result) || !*text_of(result, "KernelName"))
        return why_set(why, ERR_INPUT, "expected an object with \"KernelName\"");
    row->task = strdup(text_of(result, "KernelName"));
    row->target = *device ? strdup(device) : NULL;
    row->args = s->metadata ? cJSON_Duplicate(s->metadata, true) : NULL;
    if (!row->task || (*device && !row->target) || (s->metadata && !row->args))
        return why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
    e = read_status(result, row, why);
    if (e)
        return e;
    row->time_s = row->status == STATUS_OK ? seconds_of(s, result, "TotalDuration") : 0;
    if (row->status == STATUS_OK && !(row->time_s > 0))
        return why_set(why, ERR_INPUT, "Status Ok without a TotalDuration above 0");
    row->build_s = seconds_of(s, result, "CompilationOverhead");
    row->ts_ms = s->ts_ms;
    return take_knobs(result, row, why);
}

/* Takes one result; false ends the reading. */
static bool take_result(struct saved *s, cJSON *result, int64_t i_line)
{
    struct foreign_row row;
    struct why why = {""};
    bool more = true;
    enum err e;

    foreign_row_init(&row);
    row.i_line = i_line;
    e = fill_row(s, result, &row, &why);
    if (!e)
        more = s->sink->row(&row, s->sink->arg);
    else if (e == ERR_NOMEM)
        s->failed = e;
    else
        tell_bad(s, i_line, why.text);
    foreign_row_fini(&row);
    return more && !s->failed;
}

static void read_results(struct saved *s, const struct json_part *array, const char *end)
{
    struct json_parts p;
    struct json_part part;
    enum json_part_kind kind;

    assert(array->value && array->value < end && s->unit_s > 0);
    if (!json_parts_open(&p, array->value, (size_t)(end - array->value), array->i_line) || p.close != ']') {
        tell_bad(s, array->i_line, "\"Results\": expected an array");
        return;
    }
    while ((kind = json_parts_next(&p, &part)) == JSON_PART_ONE) {
        cJSON *result = NULL;
        struct why why = {""};
        const enum err e = json_part_tree(&part, FOREIGN_MAX_ROW_BYTES, &result, &why);

        if (e == ERR_NOMEM)
            s->failed = e;
        else if (e)
            tell_bad(s, part.i_line, why.text);
        if (s->failed || (!e && !take_result(s, result, part.i_line)))
            return;
    }
    if (kind == JSON_PART_BAD)
        tell_bad(s, p.i_line, "not JSON from here on: what follows is left out");
    else if (kind == JSON_PART_CUT)
        tell_bad(s, part.i_line, "the file ends within its results");
}

/* The metadata wherever they stand; *results: the array, its value NULL where there is none. */
static enum err read_members(struct saved *s, struct json_parts *p, struct json_part *results, struct why *why)
{
    for (;;) {
        struct json_part part;
        const enum json_part_kind kind = json_parts_next(p, &part);
        cJSON *metadata = NULL;
        enum err e = ERR_OK;

        if (kind == JSON_PART_BAD)
            return why_set(why, ERR_INPUT, "line %lld: not JSON", (long long)p->i_line);
        if (kind != JSON_PART_END && json_part_is(&part, "Results") && part.value < p->end)
            *results = part;
        if (kind != JSON_PART_ONE)
            return ERR_OK;
        if (json_part_is(&part, "Metadata"))
            e = json_part_tree(&part, FOREIGN_MAX_ROW_BYTES, &metadata, why);
        if (!e && metadata)
            e = set_metadata(s, metadata, why);
        if (e)
            return e;
    }
}

static enum err read_json(struct saved *s, const char *text, size_t n, struct why *why)
{
    struct json_part results = {.value = NULL};
    struct json_parts p;
    enum err e;

    if (!json_parts_open(&p, text, n, 1) || p.close != '}')
        return why_set(why, ERR_INPUT, "expected results of KTT: JSON with Metadata and Results, or XML");
    e = read_members(s, &p, &results, why);
    if (e)
        return e;
    if (results.value)
        read_results(s, &results, text + n);
    else
        tell_bad(s, p.i_line, "the file ends before its results (\"Results\")");
    return ERR_OK;
}

static bool take_xml(const char *tag, cJSON *tree, int64_t i_line, void *arg, struct why *why)
{
    struct saved *s = arg;

    if (strcmp(tag, "KernelResult") == 0)
        return take_result(s, tree, i_line);
    if (set_metadata(s, tree, why))
        s->failed = ERR_INPUT;
    return !s->failed;
}

static void bad_xml(int64_t i_line, const char *words, void *arg)
{
    tell_bad(arg, i_line, words);
}

static bool is_xml(const char *text, size_t n)
{
    return memmem(text, n < 4096 ? n : 4096, "<TuningData", 11) != NULL;
}

static bool sniff(const char *head, size_t n)
{
    struct json_parts p;

    return is_xml(head, n) ||
           (json_parts_open(&p, head, n, 1) && p.close == '}' && memmem(head, n, "\"KttVersion\"", 12));
}

static enum err read(const char *text, size_t n, const struct foreign_sink *sink, struct why *why)
{
    struct saved s = {.unit_s = unit_of(""), .sink = sink};
    const struct ktt_xml_sink xml = {take_xml, bad_xml, &s};
    enum err e = is_xml(text, n) ? ktt_xml_read(text, n, &xml, why) : read_json(&s, text, n, why);

    cJSON_Delete(s.metadata);
    if (!e && s.failed == ERR_NOMEM)
        why_set(why, s.failed, "%s", err_words(s.failed));
    return e ? e : s.failed;
}

const struct foreign_format foreign_ktt = {
    .name = "ktt",
    .summary = "results of KTT (JSON or XML)",
    .sniff = sniff,
    .read = read,
};
