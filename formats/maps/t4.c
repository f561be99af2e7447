/* SPDX-License-Identifier: MIT */
/* t4.c - results in the form T4 as records and back. A result of ours carries its whole record as a line of text in a
 * member of its own, "tune", which counts as long as configuration, outcome and times still say the same. A T4 file of
 * others names no kernel: the workload is "kernel t4-HEX", made of the names of its parameters. */
#include "formats/maps/own_kernel.h"

#include "core/buf.h"
#include "formats/convert.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLOSE 1e-9 /* of two times that went through milliseconds as text */

/* A name for a kernel without one: equal parameters, equal name. */
static enum err name_of(const cJSON *knobs, char out[24])
{
    struct buf names;
    const cJSON *k;

    buf_init(&names, 65536);
    cJSON_ArrayForEach(k, knobs)
    {
        buf_printf(&names, "%s,", k->string ? k->string : "");
    }
    if (!names.failed)
        snprintf(out, 24, "t4-%.8s", sha256_of(buf_text(&names), names.len).hex);
    buf_fini(&names);
    return out[0] ? ERR_OK : ERR_LIMIT;
}

/* Energy in joules, where an observer of Kernel Tuner measured it, or tune. */
static double energy_of(const cJSON *extra)
{
    static const char *const names[] = {"energy", "nvml_energy", "ps_energy"};
    const cJSON *m;

    cJSON_ArrayForEach(m, cJSON_GetObjectItemCaseSensitive(extra, "measurements"))
    {
        const cJSON *name = cJSON_GetObjectItemCaseSensitive(m, "name"),
                    *v = cJSON_GetObjectItemCaseSensitive(m, "value");

        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (cJSON_IsString(name) && strcmp(name->valuestring, names[i]) == 0 && cJSON_IsNumber(v) &&
                isfinite(v->valuedouble) && v->valuedouble > 0)
                return v->valuedouble;
    }
    return 0;
}

static enum err from_theirs(const struct foreign_row *row, struct record *out, struct why *why)
{
    struct foreign_row named = *row;
    char name[24] = "";
    enum err e = row->task ? ERR_OK : name_of(row->knobs, name);

    if (e)
        return why_set(why, ERR_UNSUPPORTED, "the names of the parameters are too long");
    if (!row->task)
        named.task = name;
    e = own_kernel_record(&named, NULL, out, why);
    if (!e)
        out->energy_j = energy_of(row->extra);
    return e;
}

/* At most n - 1 bytes, no character cut in two. */
static void copy_words(char *out, size_t n, const char *words)
{
    size_t len = strlen(words);

    assert(n > 0);
    if (len >= n)
        for (len = n - 1; len > 0 && (unsigned char)words[len - 1] >= 0x80; len--)
            ;
    memcpy(out, words, len);
    out[len] = '\0';
}

/* How each status is written, as a status that is read again. */
static enum record_status as_read(enum record_status s)
{
    return s == STATUS_CRASH || s == STATUS_LOST ? STATUS_RUNTIME : s;
}

static bool is_close(double a, double b)
{
    return fabs(a - b) <= CLOSE * fmax(fabs(a), fabs(b));
}

/* Does the record say what the result says? */
static bool agrees(const struct record *r, const struct foreign_row *row)
{
    if (as_read(r->status) != row->status || !r->knobs || !cJSON_Compare(r->knobs, row->knobs, true))
        return false;
    if (r->status != STATUS_OK)
        return true;
    if (!is_close(r->time_ns, row->time_s * 1e9) || r->n_samples != row->n_samples)
        return false;
    for (size_t i = 0; i < r->n_samples; i++)
        if (!is_close(r->samples_ns[i], row->samples_s[i] * 1e9))
            return false;
    return true;
}

static enum err to_record(const struct foreign_row *row, struct record *out, struct why *why)
{
    const cJSON *line = cJSON_GetObjectItemCaseSensitive(row->extra, CONVERT_CARRIED);
    struct record r;

    if (cJSON_IsString(line)) {
        record_init(&r);
        if (record_parse(line->valuestring, strlen(line->valuestring), &r, NULL) == ERR_OK && agrees(&r, row)) {
            *out = r;
            return ERR_OK;
        }
        record_fini(&r);
    }
    return from_theirs(row, out, why);
}

static void add_measurement(cJSON *list, const char *name, double value, const char *unit, bool *ok)
{
    cJSON *o = value > 0 ? cJSON_CreateObject() : NULL;

    if (!o)
        return;
    json_add_text(o, "name", name, ok);
    json_add_real(o, "value", value, ok);
    json_add_text(o, "unit", unit, ok);
    if (!cJSON_AddItemToArray(list, o)) {
        cJSON_Delete(o);
        *ok = false;
    }
}

static cJSON *extra_of(const struct record *r, const char *line)
{
    cJSON *extra = cJSON_CreateObject(), *times = cJSON_CreateObject(), *measurements = cJSON_CreateArray();
    bool ok = extra != NULL;

    json_add_real(times, "framework", r->wait_ms, &ok);
    json_add_real(times, "search_algorithm", 0, &ok);
    json_add_real(times, "validation", r->verify_ms, &ok);
    add_measurement(measurements, "GFLOP/s", record_gflops(r), "GFLOP/s", &ok);
    add_measurement(measurements, "energy", r->energy_j, "J", &ok);
    json_add_item(extra, "times", times, &ok);
    json_add_item(extra, "measurements", measurements, &ok);
    json_add_text(extra, CONVERT_CARRIED, line, &ok);
    if (ok)
        return extra;
    cJSON_Delete(extra);
    return NULL;
}

static enum err fill(const struct record *r, const char *line, struct foreign_row *out)
{
    const cJSON *device = cJSON_GetObjectItemCaseSensitive(r->device, "name");
    const char *task = r->workload ? r->workload : "";

    out->task = strdup(strncmp(task, "kernel ", 7) == 0 ? task + 7 : task);
    if (out->task && strncmp(task, "kernel ", 7) == 0)
        out->task[strcspn(out->task, " ")] = '\0';
    out->target = cJSON_IsString(device) ? strdup(device->valuestring) : NULL;
    out->knobs = r->knobs ? cJSON_Duplicate(r->knobs, true) : cJSON_CreateObject();
    out->status = r->status;
    copy_words(out->why, sizeof out->why, r->status == STATUS_OK ? "" : r->why ? r->why : status_name(r->status));
    out->time_s = r->time_ns / 1e9;
    out->build_s = r->build_ms / 1e3;
    out->ts_ms = r->ts_ms;
    assert(out->n_samples == 0);
    for (size_t i = 0; i < r->n_samples && i < RECORD_MAX_SAMPLES; i++)
        out->samples_s[out->n_samples++] = r->samples_ns[i] / 1e9;
    out->extra = extra_of(r, line);
    return out->task && out->knobs && out->extra && (!device || out->target) ? ERR_OK : ERR_NOMEM;
}

static enum err from_record(const struct record *r, struct foreign_row *out, struct why *why)
{
    struct buf line;
    enum err e;

    foreign_row_init(out);
    buf_init(&line, RECORD_MAX_BYTES);
    e = record_print(r, &line);
    if (!e) {
        assert(line.len > 0 && line.data[line.len - 1] == '\n');
        line.data[--line.len] = '\0'; /* without its end of line */
        e = fill(r, buf_text(&line), out);
    }
    buf_fini(&line);
    if (e)
        foreign_row_fini(out);
    return e ? why_set(why, e, "%s", err_words(e)) : ERR_OK;
}

const struct convert_map map_t4 = {.format = "t4", .to_record = to_record, .from_record = from_record};
