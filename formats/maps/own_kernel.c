/* SPDX-License-Identifier: MIT */
#include "formats/maps/own_kernel.h"

#include "core/buf.h"
#include "core/err.h"
#include "core/json.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WORKLOAD 4096

/* Words of a workload are told apart by blanks. */
static void put_word(struct buf *out, const char *word)
{
    for (; *word; word++)
        buf_append(out, (unsigned char)*word <= ' ' ? "_" : word, 1);
}

static void put_size(struct buf *out, const cJSON *value)
{
    const cJSON *item;

    if (cJSON_IsNumber(value))
        buf_printf(out, "%.15g", value->valuedouble);
    else if (cJSON_IsString(value))
        put_word(out, value->valuestring);
    if (!cJSON_IsArray(value))
        return;
    cJSON_ArrayForEach(item, value)
    {
        if (item != value->child)
            buf_puts(out, ",");
        put_size(out, item);
    }
}

static enum err set_workload(const struct foreign_row *row, const cJSON *sizes, struct record *out, struct why *why)
{
    struct buf text;
    const cJSON *size;
    enum err e;

    if (!row->task || !*row->task)
        return why_set(why, ERR_UNSUPPORTED, "no kernel is named");
    buf_init(&text, MAX_WORKLOAD);
    buf_puts(&text, "kernel ");
    put_word(&text, row->task);
    cJSON_ArrayForEach(size, sizes)
    {
        buf_puts(&text, " ");
        put_word(&text, size->string);
        buf_puts(&text, "=");
        put_size(&text, size);
    }
    e = text.failed;
    out->workload = buf_take(&text);
    buf_fini(&text);
    if (e == ERR_LIMIT)
        return why_set(why, ERR_UNSUPPORTED, "name and sizes are longer than %d bytes", MAX_WORKLOAD);
    return e ? why_set(why, e, "%s", err_words(e)) : ERR_OK;
}

/* A knob's value as a record holds it; NULL when there is no way. */
static cJSON *knob_of(const cJSON *value)
{
    if (cJSON_IsBool(value))
        return cJSON_CreateNumber(cJSON_IsTrue(value));
    if (cJSON_IsString(value) || (cJSON_IsNumber(value) && isfinite(value->valuedouble)))
        return cJSON_Duplicate(value, false);
    return NULL;
}

static enum err set_knobs(const struct foreign_row *row, struct record *out, struct why *why)
{
    const cJSON *value;

    out->knobs = cJSON_CreateObject();
    if (row->knobs && !cJSON_IsObject(row->knobs))
        return why_set(why, ERR_UNSUPPORTED, "the knobs have no names");
    cJSON_ArrayForEach(value, row->knobs)
    {
        cJSON *knob = knob_of(value);

        if (!knob)
            return why_set(why, ERR_UNSUPPORTED, "knob '%.60s' is neither a number nor a word", value->string);
        if (!cJSON_AddItemToObject(out->knobs, value->string, knob)) {
            cJSON_Delete(knob);
            return why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
        }
    }
    return out->knobs ? ERR_OK : why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
}

/* What was measured, or how it failed and where. */
static bool set_outcome(const struct foreign_row *row, struct record *out)
{
    static const char *const stages[N_STATUSES] = {
        [STATUS_COMPILE] = "build", [STATUS_LIMITS] = "prepare", [STATUS_RUNTIME] = "time",
        [STATUS_WRONG] = "verify",  [STATUS_TIMEOUT] = "time",   [STATUS_CRASH] = "time"};

    assert((unsigned)row->status < N_STATUSES && row->n_samples <= RECORD_MAX_SAMPLES);
    out->status = row->status;
    out->time_ns = row->time_s * 1e9;
    out->build_ms = row->build_s * 1e3;
    out->ts_ms = row->ts_ms;
    if (stages[row->status])
        strcpy(out->stage, stages[row->status]);
    out->why = row->why[0] ? strdup(row->why) : NULL;
    out->samples_ns = row->n_samples ? malloc(row->n_samples * sizeof *out->samples_ns) : NULL;
    for (size_t i = 0; out->samples_ns && i < row->n_samples; i++)
        out->samples_ns[i] = row->samples_s[i] * 1e9;
    out->n_samples = out->samples_ns ? row->n_samples : 0;
    return out->n_samples == row->n_samples && !out->why == !row->why[0];
}

enum err own_kernel_record(const struct foreign_row *row, const cJSON *sizes, struct record *out, struct why *why)
{
    struct record r;
    enum err e;

    record_init(&r);
    e = set_workload(row, sizes, &r, why);
    if (!e)
        e = set_knobs(row, &r, why);
    if (!e && !set_outcome(row, &r))
        e = why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
    if (!e && row->target) {
        r.device = cJSON_CreateObject();
        if (!r.device || !cJSON_AddStringToObject(r.device, "name", row->target))
            e = why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
    }
    if (e)
        record_fini(&r);
    else
        *out = r;
    return e;
}
