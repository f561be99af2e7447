/* SPDX-License-Identifier: MIT */
/* row.c - a record's line as what the script draws: the members that lists and pictures take, and no others. */
#include "page/page.h"

#include "core/json.h"

#include <string.h>

#define WORDS_BYTES 200 /* of a failure in a row */

/* In the order in which they are written. Those of `whole` only where all is asked for. */
static const struct member {
    const char *name;
    bool whole;
} members[] = {
    {"id", false},       {"job", true},          {"purpose", false},     {"workload", false}, {"template", false},
    {"knobs", false},    {"status", false},      {"stage", false},       {"why", false},      {"time_ns", false},
    {"energy_j", false}, {"objective", false},   {"lnratio", false},     {"se", false},       {"rounds", true},
    {"calls", true},     {"samples_ns", true},   {"canary", true},       {"verified", true},  {"censored", false},
    {"build_ms", false}, {"build_cached", true}, {"verify_ms", true},    {"device_ms", true}, {"compiler", true},
    {"resources", true}, {"flops", false},       {"proposed_by", false}, {"program", true},   {"fingerprint", true},
    {"protocol", true},  {"key", false},         {"agent", false},       {"ts", false},
};

/* A false flag, an empty text and null say no more than a member that is missing. */
static bool says_something(const cJSON *item)
{
    return !cJSON_IsNull(item) && !cJSON_IsFalse(item) && !(cJSON_IsString(item) && !item->valuestring[0]);
}

/* Cuts a text behind at most n bytes, between two characters. */
static void cut(char *text, size_t n)
{
    if (strlen(text) <= n)
        return;
    while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
        n--;
    text[n] = '\0';
}

static void move(cJSON *from, const char *name, cJSON *to)
{
    cJSON *item = cJSON_DetachItemFromObjectCaseSensitive(from, name);

    if (item && says_something(item))
        cJSON_AddItemToObject(to, name, item);
    else
        cJSON_Delete(item);
}

/* Of the anchor: its epoch and what is added to compare with other epochs. */
static void move_anchor(const cJSON *from, cJSON *to)
{
    cJSON *anchor = cJSON_GetObjectItemCaseSensitive(from, "anchor");

    move(anchor, "epoch", to);
    move(anchor, "bridge", to);
}

enum err page_row(const char *line, size_t n_line, int64_t seq, enum page_detail detail, struct buf *out)
{
    cJSON *record = NULL, *row, *why;
    bool ok = true;
    enum err e = json_parse(line, n_line, &record, NULL);

    if (!e && !cJSON_IsObject(record))
        e = ERR_INPUT;
    row = e ? NULL : cJSON_CreateObject();
    if (row) {
        json_add_i64(row, "seq", seq, &ok);
        for (size_t i = 0; i < sizeof members / sizeof *members; i++)
            if (detail == PAGE_WHOLE || !members[i].whole)
                move(record, members[i].name, row);
        move_anchor(record, row);
        why = cJSON_GetObjectItemCaseSensitive(row, "why");
        if (detail == PAGE_ROW && cJSON_IsString(why))
            cut(why->valuestring, WORDS_BYTES);
    }
    if (!e)
        e = row && ok ? json_print(row, out) : ERR_NOMEM;
    cJSON_Delete(row);
    cJSON_Delete(record);
    return e;
}
