/* SPDX-License-Identifier: MIT */
#include "runtime/device_desc.h"

#include "core/buf.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const char *const class_names[] = {
    [DEVICE_CPU] = "cpu", [DEVICE_GPU] = "gpu", [DEVICE_MALI] = "mali", [DEVICE_OTHER] = "other"};

#define N_CLASSES (sizeof class_names / sizeof class_names[0])

const char *device_class_name(enum device_class c)
{
    return (size_t)c < N_CLASSES ? class_names[c] : class_names[DEVICE_OTHER];
}

static const struct {
    const char *name;
    size_t offset, n_bytes;
} texts[] = {
#define TEXT(member)                                                                                                   \
    {                                                                                                                  \
#member, offsetof(struct device_desc, member), sizeof((struct device_desc *)0)->member                         \
    }
    TEXT(api), TEXT(platform), TEXT(platform_version), TEXT(vendor), TEXT(name), TEXT(driver), TEXT(extensions),
    TEXT(cpu), TEXT(dots),
#undef TEXT
};

static const struct {
    const char *name;
    size_t offset;
} numbers[] = {
#define NUMBER(member)                                                                                                 \
    {                                                                                                                  \
#member, offsetof(struct device_desc, member)                                                                  \
    }
    NUMBER(units),           NUMBER(threads),          NUMBER(max_work_group),
    NUMBER(local_bytes),     NUMBER(constant_bytes),   NUMBER(global_bytes),
    NUMBER(max_alloc_bytes), NUMBER(vector_bits),      NUMBER(sm),
    NUMBER(local_max_bytes), NUMBER(local_unit_bytes), NUMBER(local_reserved),
    NUMBER(registers),       NUMBER(unit_threads),     NUMBER(unit_groups),
    NUMBER(cache_bytes),
#undef NUMBER
};

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

static const char *text_at(const struct device_desc *d, size_t i)
{
    assert(i < COUNT(texts));
    return (const char *)d + texts[i].offset;
}

static int64_t number_at(const struct device_desc *d, size_t i)
{
    int64_t v;

    assert(i < COUNT(numbers));
    memcpy(&v, (const char *)d + numbers[i].offset, sizeof v);
    return v;
}

static bool is_optional(const struct device_desc *d, size_t i)
{
    return text_at(d, i) == d->dots || text_at(d, i) == d->cpu;
}

struct sha256 device_desc_fingerprint(const struct device_desc *d)
{
    char text[sizeof *d + 256];
    int n = 0;

    for (size_t i = 0; i < COUNT(texts); i++)
        if (!is_optional(d, i) || text_at(d, i)[0]) /* devices without any keep the fingerprints they had */
            n += snprintf(text + n, sizeof text - (size_t)n, "%s=%s\n", texts[i].name, text_at(d, i));
    n += snprintf(text + n, sizeof text - (size_t)n, "units=%lld\nthreads=%lld\n", (long long)d->units,
                  (long long)d->threads);
    if (d->sm)
        n += snprintf(text + n, sizeof text - (size_t)n, "sm=%lld\n", (long long)d->sm);
    assert(n > 0 && (size_t)n < sizeof text);
    return sha256_of(text, (size_t)n);
}

struct sha256 device_desc_former(const struct device_desc *d)
{
    struct device_desc before = *d;

    before.cpu[0] = '\0';
    return d->cpu[0] ? device_desc_fingerprint(&before) : (struct sha256){""};
}

bool device_desc_has(const struct device_desc *d, const struct sha256 *fingerprint)
{
    return fingerprint->hex[0] && (strcmp(fingerprint->hex, device_desc_fingerprint(d).hex) == 0 ||
                                   strcmp(fingerprint->hex, device_desc_former(d).hex) == 0);
}

static bool add_max_local(cJSON *object, const struct device_desc *d)
{
    cJSON *list = cJSON_AddArrayToObject(object, "max_local");

    for (int i = 0; list && i < 3; i++)
        if (!cJSON_AddItemToArray(list, cJSON_CreateNumber((double)d->max_local[i])))
            return false;
    return list != NULL;
}

cJSON *device_desc_to_json(const struct device_desc *d)
{
    cJSON *object = cJSON_CreateObject();
    bool ok = object != NULL;

    if (!ok)
        return NULL;
    for (size_t i = 0; i < COUNT(texts); i++)
        if (text_at(d, i) != d->cpu || d->cpu[0])
            json_add_text(object, texts[i].name, text_at(d, i), &ok);
    if (d->cpu[0])
        json_add_text(object, "former", device_desc_former(d).hex, &ok);
    json_add_text(object, "kind", device_class_name(d->kind), &ok);
    for (size_t i = 0; i < COUNT(numbers); i++)
        if (number_at(d, i) || numbers[i].offset < offsetof(struct device_desc, sm))
            json_add_i64(object, numbers[i].name, number_at(d, i), &ok);
    ok = ok && add_max_local(object, d);
    json_add_bool(object, "fp16", d->fp16, &ok);
    json_add_bool(object, "shares_host", d->shares_host, &ok);
    json_add_real(object, "peak_gflops", d->peak_gflops, &ok);
    if (ok)
        return object;
    cJSON_Delete(object);
    return NULL;
}

static enum err read_text(const cJSON *object, struct device_desc *d, size_t i, struct why *why)
{
    const char *text = "";
    enum err e = json_text_or(object, texts[i].name, "", &text, why);

    if (e)
        return e;
    if (strlen(text) >= texts[i].n_bytes)
        return why_set(why, ERR_LIMIT, "'%s' of a device is longer than %zu bytes", texts[i].name,
                       texts[i].n_bytes - 1);
    strcpy((char *)d + texts[i].offset, text);
    return ERR_OK;
}

static enum err read_number(const cJSON *object, struct device_desc *d, size_t i, struct why *why)
{
    int64_t v = 0;
    enum err e = json_i64_or(object, numbers[i].name, 0, 0, JSON_EXACT_MAX, &v, why);

    if (!e)
        memcpy((char *)d + numbers[i].offset, &v, sizeof v);
    return e;
}

static enum err read_kind(const cJSON *object, struct device_desc *d, struct why *why)
{
    const char *kind = "";
    enum err e = json_get_text(object, "kind", &kind, why);

    for (size_t i = 0; !e && i < N_CLASSES; i++)
        if (strcmp(kind, class_names[i]) == 0) {
            d->kind = (enum device_class)i;
            return ERR_OK;
        }
    return e ? e : why_set(why, ERR_INPUT, "'kind' of a device is '%.40s', expected cpu, gpu, mali or other", kind);
}

static enum err read_max_local(const cJSON *object, struct device_desc *d, struct why *why)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(object, "max_local"), *item;
    int i = 0;

    if (!list)
        return ERR_OK;
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) != 3)
        return why_set(why, ERR_INPUT, "'max_local' of a device is not a list of three numbers");
    cJSON_ArrayForEach(item, list)
    {
        if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble <= (double)JSON_EXACT_MAX))
            return why_set(why, ERR_INPUT, "'max_local' of a device is not a list of three numbers");
        d->max_local[i++] = (int64_t)item->valuedouble;
    }
    return ERR_OK;
}

enum err device_desc_from_json(const cJSON *object, struct device_desc *out, struct why *why)
{
    struct device_desc d = {0};
    enum err e = cJSON_IsObject(object) ? ERR_OK : why_set(why, ERR_INPUT, "a device is a JSON object");

    for (size_t i = 0; !e && i < COUNT(texts); i++)
        e = read_text(object, &d, i, why);
    for (size_t i = 0; !e && i < COUNT(numbers); i++)
        e = read_number(object, &d, i, why);
    if (!e)
        e = read_kind(object, &d, why);
    if (!e)
        e = read_max_local(object, &d, why);
    if (!e)
        e = json_bool_or(object, "fp16", false, &d.fp16, why);
    if (!e)
        e = json_bool_or(object, "shares_host", false, &d.shares_host, why);
    if (!e)
        e = json_real_or(object, "peak_gflops", 0, &d.peak_gflops, why);
    if (!e)
        *out = d;
    return e;
}
