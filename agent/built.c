/* SPDX-License-Identifier: MIT */
#include "agent/built.h"

#include "core/err.h"
#include "core/json.h"
#include "tracker/calls.h"

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

cJSON *built_to_json(const struct built *b)
{
    struct built_answer a = {.status = status_name(b->status),
                             .why = b->why ? b->why : "",
                             .by = b->by,
                             .compiler = b->compiler,
                             .build_ms = b->build_ms,
                             .cubins = cJSON_CreateArray(),
                             .resources = b->resources ? cJSON_Duplicate(b->resources, true) : NULL};
    bool ok = true;

    for (int i = 0; i < b->n_files; i++) {
        const struct cubin c = {.name = b->files[i].name, .sha256 = b->files[i].blob.hex};

        call_list_add(&a.cubins, cubin_write(&c), &ok);
    }
    if (ok)
        return built_answer_write(&a);
    call_drop(&built_answer_shape, &a);
    return NULL;
}

bool built_name_is_plain(const char *name)
{
    const size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

    return n > 0 && n < BUILT_NAME_BYTES && !name[n] && name[0] != '.';
}

static enum err read_files(const cJSON *list, struct built *b, struct why *why)
{
    const cJSON *entry;

    cJSON_ArrayForEach(entry, list)
    {
        struct cubin c;

        if (cubin_read(entry, &c, why) != ERR_OK)
            return ERR_PROTOCOL;
        if (!built_name_is_plain(c.name) || b->n_files == PROGRAM_MAX_MODULES)
            return why_set(why, ERR_PROTOCOL, "a builder answered with a file '%.80s': expected at most %d plain names",
                           c.name, PROGRAM_MAX_MODULES);
        strcpy(b->files[b->n_files].name, c.name);
        strcpy(b->files[b->n_files++].blob.hex, c.sha256);
    }
    return ERR_OK;
}

static enum err read_all(const cJSON *object, struct built *b, struct why *why)
{
    struct built_answer a;

    if (built_answer_read(object, &a, why) != ERR_OK)
        return ERR_PROTOCOL;
    if (status_by_name(a.status) < 0)
        return why_set(why, ERR_PROTOCOL, "a builder answered with status '%.40s'", a.status);
    b->status = (enum record_status)status_by_name(a.status);
    b->build_ms = a.build_ms;
    snprintf(b->by, sizeof b->by, "%s", a.by);
    snprintf(b->compiler, sizeof b->compiler, "%s", a.compiler);
    b->why = strdup(a.why);
    b->resources = cJSON_IsArray(a.resources) ? cJSON_Duplicate(a.resources, true) : NULL;
    return b->why ? read_files(a.cubins, b, why) : ERR_NOMEM;
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
            if (cJSON_IsNumber(m) && !json_has(one, m->string))
                cJSON_AddItemToObject(one, m->string, cJSON_Duplicate(m, true));
    }
    return own;
}
