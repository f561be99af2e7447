/* SPDX-License-Identifier: MIT */
#include "formats/maps/carried.h"

#include "core/buf.h"
#include "core/err.h"
#include "core/json.h"
#include "formats/convert.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum err carried_add(const struct record *r, cJSON *extra)
{
    struct buf line;
    bool ok = true;
    enum err e;

    buf_init(&line, RECORD_MAX_BYTES);
    e = record_print(r, &line);
    if (!e) {
        line.data[line.len - 1] = '\0';
        json_add_text(extra, CONVERT_CARRIED, line.data, &ok);
    }
    buf_fini(&line);
    return e ? e : ok ? ERR_OK : ERR_NOMEM;
}

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

enum err carried_from_record(const struct record *r, carried_write *to_row, struct foreign_row *out, struct why *why)
{
    enum err e;

    foreign_row_init(out);
    e = to_row(r, out, why);
    if (e)
        foreign_row_fini(out);
    return e;
}

/* Does the line still say what this record says? */
static bool agrees(const struct foreign_row *row, const struct record *r, carried_write *to_row)
{
    struct foreign_row again;
    bool same = carried_from_record(r, to_row, &again, NULL) == ERR_OK;

    same = same && row->task && strcmp(again.task, row->task) == 0 && row->target &&
           strcmp(again.target, row->target) == 0 && cJSON_Compare(again.args, row->args, true) &&
           cJSON_Compare(again.knobs, row->knobs, true) && again.status == row->status &&
           is_near(row->time_s, again.time_s);
    foreign_row_fini(&again);
    return same;
}

/* ERR_NOT_FOUND: none, or the row was changed. */
static enum err take(const struct foreign_row *row, carried_write *to_row, struct record *out)
{
    const cJSON *text = cJSON_GetObjectItemCaseSensitive(row->extra, CONVERT_CARRIED);
    struct record r;
    enum err e;

    if (!cJSON_IsString(text))
        return ERR_NOT_FOUND;
    e = record_parse(text->valuestring, strlen(text->valuestring), &r, NULL);
    if (e)
        return e == ERR_NOMEM ? e : ERR_NOT_FOUND;
    if (!agrees(row, &r, to_row)) {
        record_fini(&r);
        return ERR_NOT_FOUND;
    }
    *out = r;
    return ERR_OK;
}

enum err carried_to_record(const struct foreign_row *row, carried_write *to_row, carried_read *to_record,
                           struct record *out, struct why *why)
{
    enum err e = take(row, to_row, out);

    if (e != ERR_NOT_FOUND)
        return e;
    record_init(out);
    e = to_record(row, out, why);
    if (e)
        record_fini(out);
    return e;
}

static enum err fill_times(const struct foreign_row *row, struct record *r)
{
    assert(row->n_samples <= RECORD_MAX_SAMPLES && r->n_samples == 0);
    if (row->n_samples == 0)
        return ERR_OK;
    r->samples_ns = malloc(row->n_samples * sizeof *r->samples_ns);
    if (!r->samples_ns)
        return ERR_NOMEM;
    r->n_samples = row->n_samples;
    for (size_t i = 0; i < row->n_samples; i++)
        r->samples_ns[i] = row->samples_s[i] * 1e9;
    r->rounds = (int64_t)row->n_samples;
    return ERR_OK;
}

enum err carried_fill(const struct foreign_row *row, const struct workload *w, const struct template *t, const char *by,
                      struct record *r)
{
    struct buf text;
    enum err e;

    buf_init(&text, WORKLOAD_MAX_TEXT);
    e = workload_text(w, &text);
    r->workload = buf_take(&text);
    snprintf(r->purpose, sizeof r->purpose, "search");
    snprintf(r->template_id, sizeof r->template_id, "%s", t->id);
    r->template_version = t->version;
    r->status = row->status;
    snprintf(r->stage, sizeof r->stage, "%s",
             row->status == STATUS_OK ? ""
             : row->status == STATUS_COMPILE || row->status == STATUS_LIMITS || strncmp(row->why, "BUILD", 5) == 0
                 ? "build"
                 : "time");
    if (row->why[0])
        r->why = strdup(row->why);
    r->time_ns = row->time_s * 1e9;
    r->flops = w->op->flops(w);
    snprintf(r->proposed_by, sizeof r->proposed_by, "%s", by);
    r->ts_ms = row->ts_ms;
    if (!e)
        e = fill_times(row, r);
    return e || (r->workload && (!row->why[0] || r->why)) ? e : ERR_NOMEM;
}
