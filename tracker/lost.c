/* SPDX-License-Identifier: MIT */
/* lost.c - the one record that a tracker writes itself. Members as in docs/log-format.md, in its order. */
#include "tracker/state.h"

#include "core/buf.h"
#include "core/err.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static void add_members(cJSON *o, const struct trial_row *row, const char *key, const char *why, int64_t ts_ms,
                        bool *ok)
{
    char text[24];

    json_add_i64(o, "schema", 1, ok);
    snprintf(text, sizeof text, "t%lld", (long long)row->id);
    json_add_text(o, "id", text, ok);
    snprintf(text, sizeof text, "j%lld", (long long)row->job);
    json_add_text(o, "job", text, ok);
    json_add_text(o, "purpose", row->purpose, ok);
    json_add_text(o, "workload", "", ok); /* inside the program, where the tracker does not look */
    json_add_text(o, "template", "", ok);
    json_add_item(o, "knobs", cJSON_CreateObject(), ok);
    json_add_text(o, "status", "lost", ok);
    json_add_text(o, "why", why, ok);
    json_add_text(o, "program", row->program, ok);
    if (row->fingerprint[0])
        json_add_text(o, "fingerprint", row->fingerprint, ok);
    json_add_text(o, "protocol", row->protocol, ok);
    json_add_text(o, "key", key, ok);
    json_add_i64(o, "ts", ts_ms, ok);
}

enum err lost_line(const struct trial_row *row, const char *key, const char *why, int64_t ts_ms, struct buf *out)
{
    cJSON *o = cJSON_CreateObject();
    bool ok = o != NULL;
    enum err e;

    if (o)
        add_members(o, row, key, why, ts_ms, &ok);
    e = ok ? json_print(o, out) : ERR_NOMEM;
    cJSON_Delete(o);
    if (e)
        return e;
    assert(out->len > 0 && out->data[out->len - 1] == '}'); /* the brace, and nothing else, is taken off */
    /* The CRC is the last member: over the line as it is without it, the closing brace left out. */
    out->data[--out->len] = '\0';
    return buf_printf(out, ",\"crc32c\":\"%08x\"}\n", crc32c(out->data, out->len));
}
