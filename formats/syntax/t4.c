/* SPDX-License-Identifier: MIT */
/* t4.c - results in the community's T4 form, as Kernel Tuner, KTT's converter and the benchmark hub write them: one
 * object with "results", an array of {timestamp, configuration, objectives, times, measurements, invalidity,
 * correctness}. It names neither kernel nor device. Times are in the unit of the file's metadata, else of the
 * measurement, else milliseconds. */
#include "formats/syntax/foreign.h"

#include "core/order.h"
#include "formats/syntax/json_parts.h"
#include "formats/syntax/timestamp.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

static bool sniff(const char *head, size_t n)
{
    struct json_parts p;

    return json_parts_open(&p, head, n, 1) && p.close == '}' && memmem(head, n, "\"results\"", 9) &&
           memmem(head, n, "\"configuration\"", 15) && memmem(head, n, "\"invalidity\"", 12);
}

/* Their words; those of one status more than once are read, the first is written. */
static const struct {
    const char *word;
    enum record_status status;
} invalidities[] = {{"correct", STATUS_OK},      {"compile", STATUS_COMPILE}, {"constraints", STATUS_LIMITS},
                    {"runtime", STATUS_RUNTIME}, {"timeout", STATUS_TIMEOUT}, {"correctness", STATUS_WRONG},
                    {"runtime", STATUS_CRASH},   {"runtime", STATUS_LOST}};

/* Seconds of a unit by its first letters ("Milliseconds", "miliseconds", "ms"); 0 for others. */
static double unit_of(const char *name)
{
    static const struct {
        const char *start;
        double s;
    } units[] = {{"mil", 1e-3}, {"ms", 1e-3}, {"mic", 1e-6}, {"us", 1e-6}, {"nan", 1e-9},
                 {"ns", 1e-9},  {"sec", 1},   {"min", 60},   {"h", 3600}};

    if (strcasecmp(name, "s") == 0)
        return 1;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strncasecmp(name, units[i].start, strlen(units[i].start)) == 0)
            return units[i].s;
    return 0;
}

struct reading {
    double unit_s; /* of the file; 0 = it names none */
    const struct foreign_sink *sink;
};

static const cJSON *member(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

static double positive(const cJSON *v)
{
    return cJSON_IsNumber(v) && isfinite(v->valuedouble) && v->valuedouble > 0 ? v->valuedouble : 0;
}

static const cJSON *measurement(const cJSON *result, const char *name)
{
    const cJSON *m;

    cJSON_ArrayForEach(m, member(result, "measurements"))
    {
        const cJSON *own = member(m, "name");

        if (cJSON_IsString(own) && strcmp(own->valuestring, name) == 0)
            return m;
    }
    return NULL;
}

/* The measured time among the names that tuners have for it. */
static const cJSON *time_measurement(const cJSON *result)
{
    const cJSON *m = measurement(result, "time");

    return m ? m : measurement(result, "TotalDuration");
}

static double unit_of_result(const struct reading *r, const cJSON *m)
{
    const cJSON *unit = member(m, "unit");
    const double s = cJSON_IsString(unit) ? unit_of(unit->valuestring) : 0;

    return s > 0 ? s : r->unit_s > 0 ? r->unit_s : 1e-3;
}

static double median(const double *values, size_t n)
{
    double v[RECORD_MAX_SAMPLES];

    assert(n > 0 && n <= RECORD_MAX_SAMPLES);
    memcpy(v, values, n * sizeof *v);
    qsort(v, n, sizeof *v, order_doubles);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static void read_times(const struct reading *r, const cJSON *result, struct foreign_row *row)
{
    const cJSON *times = member(result, "times"), *m = time_measurement(result), *run;
    const double unit_s = unit_of_result(r, m);
    const double build = positive(member(times, "compilation_time"));

    row->build_s = (build > 0 ? build : positive(member(times, "compilation"))) * unit_s;
    cJSON_ArrayForEach(run, member(times, "runtimes"))
    {
        if (row->n_samples < RECORD_MAX_SAMPLES && positive(run) > 0)
            row->samples_s[row->n_samples++] = run->valuedouble * unit_s;
    }
    row->time_s = positive(member(m, "value")) * unit_s;
    if (row->time_s <= 0 && row->n_samples)
        row->time_s = median(row->samples_s, row->n_samples);
}

static enum err read_validity(const cJSON *result, struct foreign_row *row, struct why *why)
{
    const cJSON *word = member(result, "invalidity"), *correct = member(result, "correctness"),
                *value = member(time_measurement(result), "value");
    size_t i = 0;

    while (i < sizeof invalidities / sizeof *invalidities && cJSON_IsString(word) &&
           strcmp(word->valuestring, invalidities[i].word) != 0)
        i++;
    if (!cJSON_IsString(word) || i == sizeof invalidities / sizeof *invalidities)
        return why_set(why, ERR_INPUT,
                       "\"invalidity\": expected correct, compile, runtime, timeout, correctness or constraints");
    row->status = invalidities[i].status;
    if (row->status == STATUS_OK && cJSON_IsNumber(correct) && correct->valuedouble <= 0)
        row->status = STATUS_WRONG;
    if (row->status == STATUS_OK && row->time_s <= 0) {
        row->status = STATUS_RUNTIME;
        snprintf(row->why, sizeof row->why, "no time was measured");
    }
    if (row->status == STATUS_OK)
        return ERR_OK;
    row->time_s = 0;
    row->n_samples = 0;
    if (!row->why[0])
        snprintf(row->why, sizeof row->why, "%.*s", (int)sizeof row->why - 1,
                 cJSON_IsString(value) ? value->valuestring : word->valuestring);
    return ERR_OK;
}

/* `result` is the row's afterwards. */
static enum err fill_row(const struct reading *r, cJSON *result, struct foreign_row *row, struct why *why)
{
    const cJSON *when = member(result, "timestamp"), *task = member(result, "kernel"),
                *target = member(result, "device");

    row->extra = result;
    if (!cJSON_IsObject(result) || !cJSON_IsObject(member(result, "configuration")))
        return why_set(why, ERR_INPUT, "expected an object with \"configuration\"");
    row->knobs = cJSON_DetachItemFromObjectCaseSensitive(result, "configuration");
    row->ts_ms = cJSON_IsString(when) ? timestamp_ms(when->valuestring) : 0;
    row->task = cJSON_IsString(task) ? strdup(task->valuestring) : NULL;
    row->target = cJSON_IsString(target) ? strdup(target->valuestring) : NULL;
    read_times(r, result, row);
    return read_validity(result, row, why);
}

static void tell_bad(const struct reading *r, int64_t i_line, const char *words)
{
    if (r->sink->bad)
        r->sink->bad(i_line, words, r->sink->arg);
}

/* One result; false ends the reading. */
static bool take_result(const struct reading *r, const struct json_part *part, enum err *e)
{
    struct foreign_row row;
    struct why why = {""};
    cJSON *result = NULL;
    bool more = true;

    foreign_row_init(&row);
    row.i_line = part->i_line;
    *e = json_part_tree(part, FOREIGN_MAX_ROW_BYTES, &result, &why);
    if (!*e)
        *e = fill_row(r, result, &row, &why);
    if (!*e)
        more = r->sink->row(&row, r->sink->arg);
    foreign_row_fini(&row);
    if (*e == ERR_NOMEM)
        return false;
    if (*e) {
        tell_bad(r, part->i_line, why.text);
        *e = ERR_OK;
    }
    return more;
}

static enum err read_results(const struct reading *r, const struct json_part *results, const char *end)
{
    struct json_parts p;
    struct json_part part;
    enum json_part_kind kind;
    enum err e = ERR_OK;

    if (!json_parts_open(&p, results->value, (size_t)(end - results->value), results->i_line) || p.close != ']') {
        tell_bad(r, results->i_line, "\"results\": expected an array");
        return ERR_OK;
    }
    while ((kind = json_parts_next(&p, &part)) == JSON_PART_ONE)
        if (!take_result(r, &part, &e))
            return e;
    if (kind == JSON_PART_BAD)
        tell_bad(r, p.i_line, "not JSON from here on: what follows is left out");
    else if (kind == JSON_PART_CUT && part.n_value)
        tell_bad(r, part.i_line, "the file ends within this result");
    return ERR_OK;
}

static void read_metadata(struct reading *r, const struct json_part *part)
{
    cJSON *tree = NULL;
    const cJSON *unit;

    if (json_part_tree(part, FOREIGN_MAX_ROW_BYTES, &tree, NULL))
        return;
    unit = member(tree, "timeunit");
    if (cJSON_IsString(unit))
        r->unit_s = unit_of(unit->valuestring);
    cJSON_Delete(tree);
}

static enum err read(const char *text, size_t n, const struct foreign_sink *sink, struct why *why)
{
    struct reading r = {.sink = sink};
    struct json_part part, results = {.value = NULL};
    enum json_part_kind kind;
    struct json_parts p;

    if (!json_parts_open(&p, text, n, 1) || p.close != '}')
        return why_set(why, ERR_INPUT, "expected results in the form T4: an object with \"results\"");
    do { /* what says how to read the results may stand behind them */
        kind = json_parts_next(&p, &part);
        if ((kind == JSON_PART_ONE || kind == JSON_PART_CUT) && json_part_is(&part, "results") && part.value < p.end)
            results = part;
        else if (kind == JSON_PART_ONE && json_part_is(&part, "metadata"))
            read_metadata(&r, &part);
    } while (kind == JSON_PART_ONE);
    if (!results.value && kind == JSON_PART_BAD)
        return why_set(why, ERR_INPUT, "line %lld: not JSON", (long long)p.i_line);
    if (!results.value)
        return why_set(why, ERR_INPUT, "expected results in the form T4: no \"results\" in it");
    return read_results(&r, &results, text + n);
}

/* Writing. */

static void add_timestamp(cJSON *o, int64_t ts_ms, bool *ok)
{
    const time_t s = (time_t)(ts_ms / 1000);
    char text[80], day[40];
    struct tm tm;

    if (ts_ms <= 0 || !gmtime_r(&s, &tm) || !strftime(day, sizeof day, "%Y-%m-%d %H:%M:%S", &tm))
        return;
    snprintf(text, sizeof text, "%s.%03d+00:00", day, (int)(ts_ms % 1000));
    json_add_text(o, "timestamp", text, ok);
}

static cJSON *times_of(const struct foreign_row *row, bool *ok)
{
    const cJSON *given = member(row->extra, "times");
    cJSON *o = given ? cJSON_Duplicate(given, true) : cJSON_CreateObject(), *runs = cJSON_CreateArray();

    json_add_real(o, "compilation_time", row->build_s * 1e3, ok);
    json_add_real(o, "compilation", row->build_s * 1e3, ok);
    for (size_t i = 0; i < row->n_samples; i++)
        if (!cJSON_AddItemToArray(runs, cJSON_CreateNumber(row->samples_s[i] * 1e3)))
            *ok = false;
    json_add_item(o, "runtimes", runs, ok);
    return o;
}

static cJSON *measurements_of(const struct foreign_row *row, bool *ok)
{
    const cJSON *given = member(row->extra, "measurements");
    cJSON *list = cJSON_IsArray(given) ? cJSON_Duplicate(given, true) : cJSON_CreateArray();
    cJSON *o = cJSON_CreateObject();

    json_add_text(o, "name", "time", ok);
    if (row->status == STATUS_OK)
        json_add_real(o, "value", row->time_s * 1e3, ok);
    else
        json_add_text(o, "value", row->why, ok);
    json_add_text(o, "unit", "ms", ok);
    *ok &= list && cJSON_InsertItemInArray(list, 0, o);
    return list;
}

static cJSON *result_of(const struct foreign_row *row, bool *ok)
{
    const bool is_ok = row->status == STATUS_OK;
    cJSON *o = cJSON_CreateObject(), *objectives = cJSON_CreateArray();
    const cJSON *tune = member(row->extra, "tune");
    size_t i = 0;

    while (invalidities[i].status != row->status)
        i++;
    assert(i < sizeof invalidities / sizeof *invalidities);
    add_timestamp(o, row->ts_ms, ok);
    if (row->task)
        json_add_text(o, "kernel", row->task, ok);
    if (row->target)
        json_add_text(o, "device", row->target, ok);
    json_add_item(o, "configuration", row->knobs ? cJSON_Duplicate(row->knobs, true) : cJSON_CreateObject(), ok);
    *ok &= cJSON_AddItemToArray(objectives, cJSON_CreateString("time"));
    json_add_item(o, "objectives", objectives, ok);
    json_add_item(o, "times", times_of(row, ok), ok);
    json_add_text(o, "invalidity", invalidities[i].word, ok);
    json_add_i64(o, "correctness", is_ok, ok);
    json_add_item(o, "measurements", measurements_of(row, ok), ok);
    if (tune)
        json_add_item(o, "tune", cJSON_Duplicate(tune, true), ok);
    return o;
}

static enum err write(const struct foreign_row *rows, size_t n, struct buf *out, struct why *why)
{
    enum err e =
        buf_puts(out, "{\"metadata\":{\"timeunit\":\"milliseconds\"},\"schema_version\":\"1.0.0\",\"results\":[");

    for (size_t i = 0; i < n && !e; i++) {
        bool ok = true;
        cJSON *o = result_of(&rows[i], &ok);

        e = ok ? buf_puts(out, i ? ",\n" : "\n") : ERR_NOMEM;
        if (!e)
            e = json_print(o, out);
        cJSON_Delete(o);
    }
    if (!e)
        e = buf_puts(out, "\n]}\n");
    return e ? why_set(why, e, "%s", err_words(e)) : ERR_OK;
}

const struct foreign_format foreign_t4 = {
    .name = "t4",
    .summary = "results in the community's T4 form (JSON, also cut short)",
    .sniff = sniff,
    .read = read,
    .write = write,
};
