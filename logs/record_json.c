/* SPDX-License-Identifier: MIT */
#include "logs/record.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHY_MAX_BYTES 4096
#define TAIL_BYTES 21 /* ,"crc32c":"xxxxxxxx"} */

/* One member of a line. put adds it to the object when it has something to say; get reads it from `item`, which is
 * there, and may take it out of the tree. Both know the member by its offset within struct record. */
struct field {
    const char *name;
    void (*put)(const struct field *f, const struct record *r, cJSON *object, bool *ok);
    enum err (*get)(const struct field *f, cJSON *object, cJSON *item, struct record *r, struct why *why);
    size_t offset, n_bytes; /* n_bytes of a char array */
    bool required;
};

static enum err wrong_type(const struct field *f, const char *expected, struct why *why)
{
    return why_set(why, ERR_INPUT, "'%s': expected %s", f->name, expected);
}

/* Numbers are written by us: the shortest text that reads back as the same double; null for NAN and infinities. */
static cJSON *number(double v)
{
    char text[32] = "null";

    if (isfinite(v))
        for (int digits = 15; digits <= 17; digits++) {
            snprintf(text, sizeof text, "%.*g", digits, v == 0 ? 0 : v);
            if (strtod(text, NULL) == v)
                break;
        }
    return cJSON_CreateRaw(text);
}

static enum err number_or_nan(const cJSON *item, const char *name, double *out, struct why *why)
{
    if (cJSON_IsNull(item))
        *out = NAN;
    else if (cJSON_IsNumber(item) && isfinite(item->valuedouble))
        *out = item->valuedouble;
    else
        return why_set(why, ERR_INPUT, "'%s': expected a number or null", name);
    return ERR_OK;
}

static const char *at(const struct field *f, const struct record *r)
{
    return (const char *)r + f->offset;
}

static char *at_mut(const struct field *f, struct record *r)
{
    return (char *)r + f->offset;
}

static void put_schema(const struct field *f, const struct record *r, cJSON *object, bool *ok)
{
    (void)r;
    json_add_i64(object, f->name, RECORD_SCHEMA, ok);
}

static enum err get_schema(const struct field *f, cJSON *object, cJSON *item, struct record *r, struct why *why)
{
    int64_t schema = 0;
    enum err e = json_get_i64(object, f->name, 1, INT32_MAX, &schema, why);

    (void)item;
    (void)r;
    if (!e && schema > RECORD_SCHEMA)
        e = why_set(why, ERR_INPUT, "schema %lld is newer than %d, the newest known here", (long long)schema,
                    RECORD_SCHEMA);
    return e;
}

static void put_text(const struct field *f, const struct record *r, cJSON *object, bool *ok)
{
    json_add_text(object, f->name, at(f, r), ok);
}

static void put_text_if_any(const struct field *f, const struct record *r, cJSON *object, bool *ok)
{
    if (at(f, r)[0])
        json_add_text(object, f->name, at(f, r), ok);
}

static enum err get_text(const struct field *f, cJSON *object, cJSON *item, struct record *r, struct why *why)
{
    (void)object;
    if (!cJSON_IsString(item) || !item->valuestring || strlen(item->valuestring) >= f->n_bytes)
        return why_set(why, ERR_INPUT, "'%s': expected a string of at most %zu bytes", f->name, f->n_bytes - 1);
    strcpy(at_mut(f, r), item->valuestring);
    return ERR_OK;
}

static enum err get_hash(const struct field *f, cJSON *object, cJSON *item, struct record *r, struct why *why)
{
    enum err e = get_text(f, object, item, r, why);

    if (!e && item->valuestring[0] && !sha256_is_hex(item->valuestring))
        e = wrong_type(f, "64 lower-case hex digits or \"\"", why);
    return e;
}

static void put_workload(const struct field *f, const struct record *r, cJSON *object, bool *ok)
{
    json_add_text(object, f->name, r->workload ? r->workload : "", ok);
}

static enum err replace_text(const struct field *f, const cJSON *item, char **to, struct why *why)
{
    char *copy;

    if (!cJSON_IsString(item) || !item->valuestring)
        return wrong_type(f, "a string", why);
    copy = strdup(item->valuestring);
    if (!copy)
        return why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
    free(*to);
    *to = copy;
    return ERR_OK;
}

static enum err get_workload(const struct field *f, cJSON *object, cJSON *item, struct record *r, struct why *why)
{
    (void)object;
    return replace_text(f, item, &r->workload, why);
}

/* Words of compilers come as any bytes. */
static void put_why(const struct field *f, const struct record *r, cJSON *object, bool *ok)
{
    char clean[WHY_MAX_BYTES + 1];

    if (!r->why)
        return;
    text_utf8(clean, sizeof clean, r->why);
    json_add_text(object, f->name, clean, ok);
}

static enum err get_why(const struct field *f, cJSON *object, cJSON *item, struct record *r, struct why *why)
{
    (void)object;
    return replace_text(f, item, &r->why, why);
}

static void put_i64(const struct field *f, const struct record *r, cJSON *object, bool *ok)
{
    int64_t v;
    char text[32];

    memcpy(&v, at(f, r), sizeof v);
    snprintf(text, sizeof text, "%lld", (long long)v);
    json_add_item(object, f->name, cJSON_CreateRaw(text), ok);
}

static enum err get_i64(const struct field *f, cJSON *object, cJSON *item, struct record *r, struct why *why)
{
    int64_t v = 0;
    enum err e = json_get_i64(object, f->name, -JSON_EXACT_MAX, JSON_EXACT_MAX, &v, why);

    (void)item;
    if (!e)
        memcpy(at_mut(f, r), &v, sizeof v);
    return e;
}

static void put_i64_if_any(const struct field *f, const struct record *r, cJSON *object, bool *ok)
{
    int64_t v;

    memcpy(&v, at(f, r), sizeof v);
    if (v)
        put_i64(f, r, object, ok);
}

static enum err get_i64_if_any(const struct field *f, cJSON *object, cJSON *item, struct record *r, struct why *why)
{
    return get_i64(f, object, item, r, why);
}

static void put_real(const struct field *f, const struct record *r, cJSON *object, bool *ok)
{
    double v;

    memcpy(&v, at(f, r), sizeof v);
    json_add_item(object, f->name, number(v), ok);
}

static void put_real_if_any(const struct field *f, const struct record *r, cJSON *object, bool *ok)
{
    double v;

    memcpy(&v, at(f, r), sizeof v);
    if (v > 0)
        json_add_item(object, f->name, number(v), ok);
}

static enum err get_real(const struct field *f, cJSON *object, cJSON *item, struct record *r, struct why *why)
{
    double v = 0;
    enum err e = number_or_nan(item, f->name, &v, why);

    (void)object;
    if (!e)
        memcpy(at_mut(f, r), &v, sizeof v);
    return e;
}

static enum err get_real_if_any(const struct field *f, cJSON *object, cJSON *item, struct record *r, struct why *why)
{
    return get_real(f, object, item, r, why);
}

static void put_bool(const struct field *f, const struct record *r, cJSON *object, bool *ok)
{
    bool v;

    memcpy(&v, at(f, r), sizeof v);
    json_add_bool(object, f->name, v, ok);
}

static enum err get_bool(const struct field *f, cJSON *object, cJSON *item, struct record *r, struct why *why)
{
    const bool v = cJSON_IsTrue(item);

    (void)object;
    if (!cJSON_IsBool(item))
        return wrong_type(f, "true or false", why);
    memcpy(at_mut(f, r), &v, sizeof v);
    return ERR_OK;
}

static void put_status(const struct field *f, const struct record *r, cJSON *object, bool *ok)
{
    json_add_text(object, f->name, status_name(r->status), ok);
}

static enum err get_status(const struct field *f, cJSON *object, cJSON *item, struct record *r, struct why *why)
{
    const int s = cJSON_IsString(item) ? status_by_name(item->valuestring) : -1;

    (void)object;
    if (s < 0)
        return wrong_type(f, "ok, compile, limits, runtime, wrong, timeout, crash or lost", why);
    r->status = (enum record_status)s;
    return ERR_OK;
}

static void put_knobs(const struct field *f, const struct record *r, cJSON *object, bool *ok)
{
    json_add_item(object, f->name, r->knobs ? cJSON_Duplicate(r->knobs, true) : cJSON_CreateObject(), ok);
}

static enum err get_knobs(const struct field *f, cJSON *object, cJSON *item, struct record *r, struct why *why)
{
    const cJSON *knob;

    if (!cJSON_IsObject(item))
        return wrong_type(f, "an object such as {\"vc\":4}", why);
    cJSON_ArrayForEach(knob, item)
    {
        if (!cJSON_IsString(knob) && !(cJSON_IsNumber(knob) && isfinite(knob->valuedouble)))
            return why_set(why, ERR_INPUT, "'%s': knob '%.60s' is neither a number nor a word", f->name, knob->string);
    }
    cJSON_Delete(r->knobs);
    r->knobs = cJSON_DetachItemViaPointer(object, item);
    return ERR_OK;
}

static void put_device(const struct field *f, const struct record *r, cJSON *object, bool *ok)
{
    json_add_item(object, f->name, r->device ? cJSON_Duplicate(r->device, true) : cJSON_CreateNull(), ok);
}

static enum err get_device(const struct field *f, cJSON *object, cJSON *item, struct record *r, struct why *why)
{
    if (cJSON_IsNull(item))
        return ERR_OK;
    if (!cJSON_IsObject(item))
        return wrong_type(f, "an object or null", why);
    cJSON_Delete(r->device);
    r->device = cJSON_DetachItemViaPointer(object, item);
    return ERR_OK;
}

static void put_resources(const struct field *f, const struct record *r, cJSON *object, bool *ok)
{
    if (r->resources)
        json_add_item(object, f->name, cJSON_Duplicate(r->resources, true), ok);
}

static enum err get_resources(const struct field *f, cJSON *object, cJSON *item, struct record *r, struct why *why)
{
    if (!cJSON_IsArray(item))
        return wrong_type(f, "an array of objects such as {\"kernel\":\"conv\",\"registers\":40}", why);
    cJSON_Delete(r->resources);
    r->resources = cJSON_DetachItemViaPointer(object, item);
    return ERR_OK;
}

static cJSON *samples_array(const double *samples, size_t n, bool *ok)
{
    cJSON *array = cJSON_CreateArray();

    assert(n <= RECORD_MAX_SAMPLES && (n == 0 || samples));
    for (size_t i = 0; array && i < n; i++)
        *ok = cJSON_AddItemToArray(array, number(samples[i])) && *ok;
    return array;
}

static enum err read_samples(const cJSON *array, const char *name, double **out, size_t *n_out, struct why *why)
{
    const int n = cJSON_IsArray(array) ? cJSON_GetArraySize(array) : -1;
    double *samples;
    const cJSON *item;
    size_t i = 0;
    enum err e = ERR_OK;

    if (n < 0 || n > RECORD_MAX_SAMPLES)
        return why_set(why, ERR_INPUT, "'%s': expected an array of at most %d numbers", name, RECORD_MAX_SAMPLES);
    samples = n ? calloc((size_t)n, sizeof *samples) : NULL;
    if (n && !samples)
        return why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
    cJSON_ArrayForEach(item, array)
    {
        if (!e)
            e = number_or_nan(item, name, &samples[i++], why);
    }
    if (e) {
        free(samples);
        return e;
    }
    assert(i == (size_t)n);
    free(*out);
    *out = samples;
    *n_out = (size_t)n;
    return ERR_OK;
}

static void put_samples(const struct field *f, const struct record *r, cJSON *object, bool *ok)
{
    json_add_item(object, f->name, samples_array(r->samples_ns, r->n_samples, ok), ok);
}

static enum err get_samples(const struct field *f, cJSON *object, cJSON *item, struct record *r, struct why *why)
{
    (void)object;
    return read_samples(item, f->name, &r->samples_ns, &r->n_samples, why);
}

static void put_anchor(const struct field *f, const struct record *r, cJSON *object, bool *ok)
{
    const struct record_anchor *a = &r->anchor;
    cJSON *item = a->hash.hex[0] ? cJSON_CreateObject() : cJSON_CreateNull();

    if (item && a->hash.hex[0]) {
        json_add_text(item, "hash", a->hash.hex, ok);
        json_add_i64(item, "epoch", a->epoch, ok);
        json_add_item(item, "bridge", number(a->bridge), ok);
        json_add_item(item, "samples_ns", samples_array(a->samples_ns, a->n_samples, ok), ok);
        if (a->n_slots)
            json_add_item(item, "slots_ns", samples_array(a->slots_ns, a->n_slots, ok), ok);
    }
    json_add_item(object, f->name, item, ok);
}

static enum err read_samples_if_any(const cJSON *object, const char *name, double **out, size_t *n_out, struct why *why)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);

    return item ? read_samples(item, name, out, n_out, why) : ERR_OK;
}

static enum err get_anchor(const struct field *f, cJSON *object, cJSON *item, struct record *r, struct why *why)
{
    struct record_anchor *a = &r->anchor;
    const char *hash = NULL;
    enum err e;

    (void)object;
    if (cJSON_IsNull(item))
        return ERR_OK;
    if (!cJSON_IsObject(item))
        return wrong_type(f, "an object or null", why);
    e = json_get_text(item, "hash", &hash, why);
    if (!e && !sha256_is_hex(hash))
        e = why_set(why, ERR_INPUT, "'hash': expected 64 lower-case hex digits");
    if (!e)
        e = json_i64_or(item, "epoch", 0, 0, JSON_EXACT_MAX, &a->epoch, why);
    if (!e)
        e = json_real_or(item, "bridge", 0, &a->bridge, why);
    if (!e)
        e = read_samples_if_any(item, "samples_ns", &a->samples_ns, &a->n_samples, why);
    if (!e)
        e = read_samples_if_any(item, "slots_ns", &a->slots_ns, &a->n_slots, why);
    if (e)
        return why_prefix(why, e, "%s", f->name);
    strcpy(a->hash.hex, hash);
    return ERR_OK;
}

static void put_canary(const struct field *f, const struct record *r, cJSON *object, bool *ok)
{
    cJSON *item = cJSON_CreateObject();

    json_add_item(item, "before", number(r->canary_before), ok);
    json_add_item(item, "after", number(r->canary_after), ok);
    if (r->n_canary)
        json_add_item(item, "rounds_ns", samples_array(r->canary_ns, r->n_canary, ok), ok);
    json_add_item(object, f->name, item, ok);
}

static enum err get_canary(const struct field *f, cJSON *object, cJSON *item, struct record *r, struct why *why)
{
    enum err e;

    (void)object;
    if (!cJSON_IsObject(item))
        return wrong_type(f, "an object", why);
    e = json_real_or(item, "before", 0, &r->canary_before, why);
    if (!e)
        e = json_real_or(item, "after", 0, &r->canary_after, why);
    if (!e)
        e = read_samples_if_any(item, "rounds_ns", &r->canary_ns, &r->n_canary, why);
    return e ? why_prefix(why, e, "%s", f->name) : ERR_OK;
}

#define TEXT(name, member, required)                                                                                   \
    {                                                                                                                  \
        name, put_text, get_text, offsetof(struct record, member), sizeof((struct record *)0)->member, required        \
    }
#define TEXT_IF_ANY(name, member)                                                                                      \
    {                                                                                                                  \
        name, put_text_if_any, get_text, offsetof(struct record, member), sizeof((struct record *)0)->member, false    \
    }
#define HASH(name, member)                                                                                             \
    {                                                                                                                  \
        name, put_text, get_hash, offsetof(struct record, member), sizeof((struct record *)0)->member, false           \
    }
#define PLAIN(name, kind, member)                                                                                      \
    {                                                                                                                  \
        name, put_##kind, get_##kind, offsetof(struct record, member), 0, false                                        \
    }
#define OWN(name, kind, required)                                                                                      \
    {                                                                                                                  \
        name, put_##kind, get_##kind, 0, 0, required                                                                   \
    }

/* In the order of a line; docs/log-format.md says what each means. */
static const struct field fields[] = {
    OWN("schema", schema, true),
    TEXT("id", id, true),
    TEXT("job", job, false),
    TEXT("purpose", purpose, false),
    OWN("workload", workload, true),
    TEXT("template", template_id, true),
    PLAIN("template_version", i64, template_version),
    OWN("knobs", knobs, true),
    OWN("status", status, true),
    TEXT_IF_ANY("stage", stage),
    TEXT_IF_ANY("cause", cause),
    OWN("why", why, false),
    PLAIN("time_ns", real, time_ns),
    PLAIN("energy_j", real_if_any, energy_j),
    TEXT_IF_ANY("objective", objective),
    PLAIN("lnratio", real, lnratio),
    PLAIN("se", real, se),
    PLAIN("rounds", i64, rounds),
    PLAIN("calls", i64, calls),
    OWN("samples_ns", samples, false),
    OWN("anchor", anchor, false),
    OWN("canary", canary, false),
    PLAIN("pack_ns", real_if_any, pack_ns),
    PLAIN("censored", bool, censored),
    TEXT_IF_ANY("verified", verified),
    PLAIN("build_ms", real, build_ms),
    PLAIN("build_cached", bool, build_cached),
    TEXT_IF_ANY("built_by", built_by),
    TEXT_IF_ANY("compiler", compiler),
    OWN("resources", resources, false),
    PLAIN("verify_ms", real, verify_ms),
    PLAIN("device_ms", real, device_ms),
    PLAIN("wait_ms", real, wait_ms),
    PLAIN("flops", real, flops),
    TEXT("proposed_by", proposed_by, false),
    HASH("program", program),
    HASH("fingerprint", fingerprint),
    OWN("device", device, false),
    TEXT("protocol", protocol, false),
    TEXT("key", key, false),
    TEXT("agent", agent, false),
    TEXT_IF_ANY("tune", tune),
    PLAIN("seed", i64, seed),
    PLAIN("data_seed", i64_if_any, data_seed),
    PLAIN("ts", i64, ts_ms),
};

#define N_FIELDS (sizeof fields / sizeof fields[0])

static bool is_within_limits(const struct record *r)
{
    const size_t counts[] = {r->n_samples, r->anchor.n_samples, r->anchor.n_slots, r->n_canary};
    int64_t v;

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i] > RECORD_MAX_SAMPLES)
            return false;
    for (size_t i = 0; i < N_FIELDS; i++) {
        if (fields[i].put != put_i64 && fields[i].put != put_i64_if_any)
            continue;
        memcpy(&v, at(&fields[i], r), sizeof v);
        if (v > JSON_EXACT_MAX || v < -JSON_EXACT_MAX)
            return false;
    }
    return true;
}

enum err record_print(const struct record *r, struct buf *line)
{
    cJSON *object;
    struct buf text;
    bool ok;
    enum err e;

    if (!is_within_limits(r))
        return ERR_LIMIT;
    object = cJSON_CreateObject();
    ok = object != NULL;
    buf_init(&text, RECORD_MAX_BYTES - TAIL_BYTES);
    for (size_t i = 0; ok && i < N_FIELDS; i++)
        fields[i].put(&fields[i], r, object, &ok);
    e = ok ? ERR_OK : ERR_NOMEM;
    if (!e)
        e = json_print(object, &text);
    if (!e) { /* "{...}" becomes "{...,"crc32c":"..."}", the sum being that of "{..." */
        assert(text.len >= 2 && text.data[0] == '{' && text.data[text.len - 1] == '}');
        text.len--;
        e = buf_printf(line, "%.*s,\"crc32c\":\"%08x\"}\n", (int)text.len, text.data, crc32c(text.data, text.len));
    }
    buf_fini(&text);
    cJSON_Delete(object);
    return e;
}

enum err record_check_sum(const char *line, size_t n, struct why *why)
{
    const char *tail = n > TAIL_BYTES ? line + n - TAIL_BYTES : NULL;
    char expected[TAIL_BYTES + 1];

    if (!tail || line[0] != '{' || memcmp(tail, ",\"crc32c\":\"", 11) != 0 || memcmp(line + n - 2, "\"}", 2) != 0)
        return why_set(why, ERR_INPUT, "not a record, or a torn one: it does not end in its crc32c");
    snprintf(expected, sizeof expected, ",\"crc32c\":\"%08x\"}", crc32c(line, n - TAIL_BYTES));
    if (memcmp(tail, expected, TAIL_BYTES) != 0)
        return why_set(why, ERR_INPUT, "damaged: its crc32c is %.8s, its bytes give %.8s", tail + 11, expected + 11);
    return ERR_OK;
}

static enum err read_fields(cJSON *object, struct record *r, struct why *why)
{
    for (size_t i = 0; i < N_FIELDS; i++) {
        cJSON *item = cJSON_GetObjectItemCaseSensitive(object, fields[i].name);
        enum err e = ERR_OK;

        if (item && strcmp(fields[i].name, "why") == 0)
            text_plain(item->valuestring, "\n\t"); /* a compiler's, in lines */
        else if (item)
            json_plain(item);
        if (item)
            e = fields[i].get(&fields[i], object, item, r, why);
        else if (fields[i].required)
            e = why_set(why, ERR_INPUT, "'%s' is missing", fields[i].name);
        if (e)
            return e;
    }
    return ERR_OK;
}

enum err record_parse(const char *line, size_t n, struct record *out, struct why *why)
{
    struct record r;
    cJSON *object = NULL;
    enum err e;

    if (n && line[n - 1] == '\n')
        n--;
    if (n && line[n - 1] == '\r')
        n--;
    if (n >= RECORD_MAX_BYTES)
        return why_set(why, ERR_INPUT, "longer than %d bytes", RECORD_MAX_BYTES);
    e = record_check_sum(line, n, why);
    if (!e)
        e = json_parse(line, n, &object, why);
    if (e)
        return e == ERR_NOMEM ? e : ERR_INPUT;
    record_init(&r);
    e = read_fields(object, &r, why);
    cJSON_Delete(object);
    if (e)
        record_fini(&r);
    else
        *out = r;
    return e;
}
