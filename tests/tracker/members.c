/* SPDX-License-Identifier: MIT */
#include "tests/tracker/members.h"

#include "core/hash.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define MAX_ARGS ((size_t)6 << 20)

cJSON *args_of(const char *format, va_list list)
{
    struct buf text;
    cJSON *args = NULL;

    buf_init(&text, MAX_ARGS);
    if (buf_vprintf(&text, format, list) != ERR_OK)
        fail_msg("arguments of over %zu bytes in the test", MAX_ARGS);
    for (char *p = text.data; p && *p; p++)
        if (*p == '\'')
            *p = '"';
    if (json_parse(buf_text(&text), text.len, &args, NULL) != ERR_OK)
        fail_msg("bad JSON in the test: %s", buf_text(&text));
    buf_fini(&text);
    return args;
}

const char *text_in(const cJSON *o, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, name);

    if (!cJSON_IsString(item))
        fail_msg("no text '%s' in a result", name);
    return item->valuestring;
}

int64_t number_in(const cJSON *o, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, name);

    if (!cJSON_IsNumber(item) && !cJSON_IsBool(item))
        fail_msg("no number '%s' in a result", name);
    return cJSON_IsBool(item) ? cJSON_IsTrue(item) : (int64_t)item->valuedouble;
}

double real_in(const cJSON *o, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, name);

    if (!cJSON_IsNumber(item))
        fail_msg("no number '%s' in a result", name);
    return item->valuedouble;
}

int count_in(const cJSON *o, const char *name)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(o, name);

    if (!cJSON_IsArray(list))
        fail_msg("no list '%s' in a result", name);
    return cJSON_GetArraySize(list);
}

const cJSON *item_in(const cJSON *o, const char *name, int i)
{
    const cJSON *item = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(o, name), i);

    if (!item)
        fail_msg("no item %d in '%s'", i, name);
    return item;
}

const cJSON *object_in(const cJSON *o, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, name);

    if (!cJSON_IsObject(item))
        fail_msg("no object '%s' in a result", name);
    return item;
}

const char *hash_of(int n)
{
    static _Thread_local struct sha256 ring[16];
    static _Thread_local int i;

    i = (i + 1) % 16;
    ring[i] = sha256_of(&n, sizeof n);
    return ring[i].hex;
}
