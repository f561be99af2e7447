/* SPDX-License-Identifier: MIT */
#include "agent/built.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void built_init(struct built *b)
{
    memset(b, 0, sizeof *b);
}

void built_fini(struct built *b)
{
    free(b->why);
    cJSON_Delete(b->resources);
    built_init(b);
}

static cJSON *files_json(const struct built *b, bool *ok)
{
    cJSON *list = cJSON_CreateArray();

    *ok = *ok && list;
    for (int i = 0; i < b->n_files && *ok; i++) {
        cJSON *one = cJSON_CreateObject();

        json_add_text(one, "name", b->files[i].name, ok);
        json_add_text(one, "sha256", b->files[i].blob.hex, ok);
        cJSON_AddItemToArray(list, one);
    }
    return list;
}

cJSON *built_to_json(const struct built *b)
{
    cJSON *o = cJSON_CreateObject();
    bool ok = o != NULL;

    json_add_text(o, "status", status_name(b->status), &ok);
    json_add_text(o, "why", b->why ? b->why : "", &ok);
    json_add_text(o, "by", b->by, &ok);
    json_add_text(o, "compiler", b->compiler, &ok);
    json_add_real(o, "build_ms", b->build_ms, &ok);
    json_add_item(o, "cubins", files_json(b, &ok), &ok);
    if (b->resources)
        json_add_item(o, "resources", cJSON_Duplicate(b->resources, true), &ok);
    if (ok)
        return o;
    cJSON_Delete(o);
    return NULL;
}

bool built_name_is_plain(const char *name)
{
    const size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

    return n > 0 && n < BUILT_NAME_BYTES && !name[n] && name[0] != '.';
}

static enum err read_file_entry(const cJSON *item, struct built *b, struct why *why)
{
    const char *name = "", *hex = "";
    enum err e = json_get_text(item, "name", &name, why);

    if (!e)
        e = json_get_text(item, "sha256", &hex, why);
    if (e)
        return ERR_PROTOCOL;
    if (!built_name_is_plain(name) || !sha256_is_hex(hex) || b->n_files == PROGRAM_MAX_MODULES)
        return why_set(why, ERR_PROTOCOL,
                       "a builder answered with a file '%.80s' of content '%.12s': expected at most %d "
                       "plain names with their SHA-256",
                       name, hex, PROGRAM_MAX_MODULES);
    strcpy(b->files[b->n_files].name, name);
    strcpy(b->files[b->n_files++].blob.hex, hex);
    return ERR_OK;
}

static enum err read_files(const cJSON *object, struct built *b, struct why *why)
{
    const cJSON *item, *list = cJSON_GetObjectItemCaseSensitive(object, "cubins");
    enum err e = ERR_OK;

    cJSON_ArrayForEach(item, list)
    {
        if (!e)
            e = read_file_entry(item, b, why);
    }
    return e;
}

static enum err read_all(const cJSON *object, struct built *b, struct why *why)
{
    const cJSON *resources = cJSON_GetObjectItemCaseSensitive(object, "resources");
    const char *status = "", *words = "", *by = "", *compiler = "";
    enum err e = json_get_text(object, "status", &status, why);

    if (!e)
        e = json_text_or(object, "why", "", &words, why);
    if (!e)
        e = json_text_or(object, "by", "", &by, why);
    if (!e)
        e = json_text_or(object, "compiler", "", &compiler, why);
    if (!e)
        e = json_real_or(object, "build_ms", 0, &b->build_ms, why);
    if (e)
        return ERR_PROTOCOL;
    if (status_by_name(status) < 0)
        return why_set(why, ERR_PROTOCOL, "a builder answered with status '%.40s'", status);
    b->status = (enum record_status)status_by_name(status);
    snprintf(b->by, sizeof b->by, "%s", by);
    snprintf(b->compiler, sizeof b->compiler, "%s", compiler);
    b->why = strdup(words);
    b->resources = cJSON_IsArray(resources) ? cJSON_Duplicate(resources, true) : NULL;
    return b->why ? read_files(object, b, why) : ERR_NOMEM;
}

enum err built_from_json(const cJSON *object, struct built *out, struct why *why)
{
    enum err e;

    built_init(out);
    e = read_all(object, out, why);
    if (e)
        built_fini(out);
    return e;
}

/* ---- resources ---- */

static const struct {
    const char *name;
    size_t offset;
} figures[] = {{"registers", offsetof(struct kernel_resources, registers)},
               {"local_bytes", offsetof(struct kernel_resources, local_bytes)},
               {"spill_bytes", offsetof(struct kernel_resources, spill_bytes)},
               {"stack_bytes", offsetof(struct kernel_resources, stack_bytes)},
               {"constant_bytes", offsetof(struct kernel_resources, constant_bytes)},
               {"max_group", offsetof(struct kernel_resources, max_group)}};

cJSON *resources_json(const struct kernel_resources *r, size_t n)
{
    cJSON *list = n ? cJSON_CreateArray() : NULL;
    bool ok = list != NULL;

    for (size_t i = 0; i < n && ok; i++) {
        cJSON *one = cJSON_CreateObject();

        json_add_text(one, "kernel", r[i].kernel, &ok);
        for (size_t k = 0; k < sizeof figures / sizeof *figures; k++) {
            int v;

            memcpy(&v, (const char *)&r[i] + figures[k].offset, sizeof v);
            if (v >= 0)
                json_add_i64(one, figures[k].name, v, &ok);
        }
        cJSON_AddItemToArray(list, one);
    }
    if (ok)
        return list;
    cJSON_Delete(list);
    return NULL;
}

static const cJSON *same_kernel(const cJSON *list, const cJSON *one)
{
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(one, "kernel"), *item;

    cJSON_ArrayForEach(item, list)
    {
        const cJSON *other = cJSON_GetObjectItemCaseSensitive(item, "kernel");

        if (cJSON_IsString(name) && cJSON_IsString(other) && strcmp(name->valuestring, other->valuestring) == 0)
            return item;
    }
    return NULL;
}

cJSON *resources_merge(cJSON *own, const cJSON *other)
{
    cJSON *one;

    if (!own)
        return other ? cJSON_Duplicate(other, true) : NULL;
    cJSON_ArrayForEach(one, own)
    {
        const cJSON *more = same_kernel(other, one);

        for (const cJSON *m = more ? more->child : NULL; m; m = m->next)
            if (cJSON_IsNumber(m) && !cJSON_HasObjectItem(one, m->string))
                cJSON_AddItemToObject(one, m->string, cJSON_Duplicate(m, true));
    }
    return own;
}
