/* SPDX-License-Identifier: MIT */
/* client_series.c - typed calls, and what takes several of them: records, devices, blobs. */
#include "tracker/client.h"

#include "core/buf.h"
#include "tracker/protocol.h"

#include <string.h>

enum err client_settle_key(struct client *c, const char *key, struct why *why)
{
    return client_settle(c, part_of_key(key, client_parts(c)), why);
}

enum err client_settle_job(struct client *c, const char *job, struct why *why)
{
    int64_t id;
    const enum err e = call_id_parse(job, 'j', &id);

    return e ? why_set(why, e, "'%.60s' is no job", job) : client_settle(c, part_of_id(id, client_parts(c)), why);
}

enum err client_ask_with(struct client *c, enum call_name call, const void *takes_args, const struct blobs *attach,
                         void *result, cJSON **tree, struct blobs *received, struct why *why)
{
    static const struct nothing nothing;
    const struct call_type *type = &call_table[call];
    const int64_t wait_ms = takes_args ? call_wait_ms(call, takes_args) : 0;
    cJSON *args = call_write(type->args, takes_args ? takes_args : &nothing), *got = NULL;
    enum err e = args ? client_call(c, type->name, args, attach, wait_ms, &got, received, why)
                      : why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));

    if (!e && result && call_read(type->result, type->name, got, result, why) != ERR_OK)
        e = why_prefix(why, ERR_PROTOCOL, "the tracker's answer");
    if (tree && !e)
        *tree = got;
    else
        cJSON_Delete(got);
    return e;
}

enum err client_ask(struct client *c, enum call_name call, const void *takes_args, void *result, cJSON **tree,
                    struct why *why)
{
    return client_ask_with(c, call, takes_args, NULL, result, tree, NULL, why);
}

enum err client_records(struct client *c, const char *job, int64_t wait_ms, int64_t *after,
                        enum err (*each)(const struct record_entry *r, void *arg, struct why *why), void *arg, int *n,
                        struct why *why)
{
    const struct record_wait_args args = {.job = job, .after = *after, .max = 64, .wait_ms = wait_ms};
    struct record_wait_result result;
    cJSON *tree = NULL;
    const cJSON *entry;
    enum err e = client_record_wait(c, &args, &result, &tree, why);

    *n = 0;
    for (entry = e ? NULL : result.records->child; entry && !e; entry = entry->next) {
        struct record_entry r;

        e = record_entry_read(entry, &r, why);
        if (!e)
            e = each(&r, arg, why);
        if (e)
            break;
        *after = r.seq;
        (*n)++;
    }
    cJSON_Delete(tree);
    return e;
}

enum err client_each_part(struct client *c,
                          enum err (*ask)(struct client *one, int64_t part, void *arg, struct why *why), void *arg,
                          struct why *why)
{
    const int64_t n = client_parts(c);
    struct why lacking = {""};
    bool lacks = false;
    enum err e = ERR_OK;

    for (int64_t part = 1; part <= n && !e; part++) {
        struct client *one = c;

        e = n > 1 ? client_part(c, part, &one, why) : ERR_OK;
        if (!e)
            e = ask(one, part, arg, why);
        if (e == ERR_UNREACHABLE && n > 1) {
            lacking = why && !lacks ? *why : lacking;
            lacks = true;
            e = ERR_OK;
        }
    }
    return e || !lacks ? e : why_set(why, ERR_UNREACHABLE, "%s: what it has is left out", lacking.text);
}

/* Moves the entries of a list in `from` behind those in `to`. */
static void move_list(cJSON *to, cJSON *from, const char *name)
{
    cJSON *list = cJSON_GetObjectItemCaseSensitive(from, name), *all = cJSON_GetObjectItemCaseSensitive(to, name);

    while (all && list && list->child)
        cJSON_AddItemToArray(all, cJSON_DetachItemViaPointer(list, list->child));
}

/* Of one part, or of the part of the key. */
static enum err part_devices(struct client *c, const char *key, cJSON **tree, struct why *why)
{
    struct devices_args args = {.key = key};
    enum err e = ERR_OK;

    do {
        struct devices_result page;
        cJSON *more = NULL;

        e = client_devices(c, &args, &page, &more, why);
        args.after = e ? 0 : page.next;
        if (!*tree) {
            *tree = more;
        } else {
            move_list(*tree, more, "devices");
            move_list(*tree, more, "builders");
            cJSON_Delete(more);
        }
    } while (!e && args.after);
    return e;
}

/* Each says its part, where there are several. */
static enum err name_part(cJSON *list, int64_t part)
{
    cJSON *entry;

    cJSON_ArrayForEach(entry, list)
    {
        if (!cJSON_AddNumberToObject(entry, "part", (double)part))
            return ERR_NOMEM;
    }
    return ERR_OK;
}

static enum err add_devices(struct client *one, int64_t part, void *all, struct why *why)
{
    static const char *const lists[] = {"devices", "builders"};
    cJSON **tree = all, *mine = NULL;
    enum err e = part_devices(one, "", &mine, why);

    for (int i = 0; i < 2 && !e && client_parts(one) > 1; i++)
        e = name_part(cJSON_GetObjectItemCaseSensitive(mine, lists[i]), part);
    if (!e && *tree) {
        move_list(*tree, mine, lists[0]);
        move_list(*tree, mine, lists[1]);
    } else if (!e) {
        *tree = mine;
        mine = NULL;
    }
    cJSON_Delete(mine);
    return e;
}

enum err client_all_devices(struct client *c, const char *key, cJSON **tree, struct why *why)
{
    enum err e;

    *tree = NULL;
    e = key && *key ? part_devices(c, key, tree, why) : client_each_part(c, add_devices, tree, why);
    if (!e || e == ERR_UNREACHABLE) {
        cJSON_DeleteItemFromObjectCaseSensitive(*tree, "next");
    } else {
        cJSON_Delete(*tree);
        *tree = NULL;
    }
    return e;
}

/* ---- blobs ---- */

static enum err put_chunk(struct client *c, const struct blob *b, size_t offset, struct why *why)
{
    const size_t n = b->n_bytes - offset < MESSAGE_CHUNK_BYTES ? b->n_bytes - offset : MESSAGE_CHUNK_BYTES;
    const struct blob_put_args args = {.sha256 = b->name.hex, .offset = (int64_t)offset, .total = (int64_t)b->n_bytes};
    struct blobs one;
    enum err e;

    blobs_init(&one, MESSAGE_CHUNK_BYTES);
    e = blobs_put(&one, b->data + offset, n, NULL);
    if (!e)
        e = client_ask_with(c, CALL_BLOB_PUT, &args, &one, NULL, NULL, NULL, why);
    blobs_fini(&one);
    return e;
}

static enum err put_large(struct client *c, const struct blob *b, struct why *why)
{
    enum err e = ERR_OK;

    for (size_t offset = 0; !e && offset < b->n_bytes; offset += MESSAGE_CHUNK_BYTES)
        e = put_chunk(c, b, offset, why);
    return e;
}

static enum err flush_small(struct client *c, struct blobs *group, struct why *why)
{
    const struct blob_put_args whole = {.sha256 = NULL};
    enum err e = group->n ? client_ask_with(c, CALL_BLOB_PUT, &whole, group, NULL, NULL, NULL, why) : ERR_OK;

    blobs_fini(group);
    return e;
}

/* Sends the blobs named in `missing`: large ones in chunks, small ones many to a message. */
static enum err put_missing(struct client *c, const struct blobs *set, const cJSON *missing, struct why *why)
{
    const cJSON *name;
    struct blobs group;
    enum err e = ERR_OK;

    blobs_init(&group, MESSAGE_CHUNK_BYTES);
    cJSON_ArrayForEach(name, missing)
    {
        const struct blob *b = blobs_get(set, name->valuestring);

        if (!b || e)
            continue;
        if (b->n_bytes > BLOB_MAX_BYTES)
            e = why_set(why, ERR_LIMIT, "a blob of %zu bytes: at most %zu", b->n_bytes, BLOB_MAX_BYTES);
        else if (b->n_bytes > MESSAGE_CHUNK_BYTES)
            e = put_large(c, b, why);
        else {
            if (group.sum_bytes + b->n_bytes > MESSAGE_CHUNK_BYTES || group.n == MESSAGE_MAX_BLOBS)
                e = flush_small(c, &group, why);
            if (!e)
                e = blobs_put(&group, b->data, b->n_bytes, NULL);
        }
    }
    if (!e)
        e = flush_small(c, &group, why);
    blobs_fini(&group);
    return e;
}

enum err client_put_blobs(struct client *c, const struct blobs *set, struct why *why)
{
    enum err e = ERR_OK;

    for (size_t i = 0; !e && i < set->n;) {
        struct blob_have_args args = {.sha256 = NULL};
        struct blob_have_result result;
        cJSON *tree = NULL;
        bool ok = true;

        for (size_t n = 0; i < set->n && n < MESSAGE_MAX_BLOBS; i++, n++)
            call_list_add_text(&args.sha256, set->items[i].name.hex, &ok);
        if (!ok) {
            call_drop(&blob_have_args_shape, &args);
            return ERR_NOMEM;
        }
        e = client_blob_have(c, &args, &result, &tree, why);
        if (!e)
            e = put_missing(c, set, result.missing, why);
        cJSON_Delete(tree);
    }
    return e;
}

/* Fetches one chunk behind `whole`; *total is what the tracker says the blob has. */
static enum err get_chunk(struct client *c, const char *hex, struct buf *whole, int64_t *total, struct why *why)
{
    const struct blob_get_args args = {
        .sha256 = hex, .offset = (int64_t)whole->len, .bytes = (int64_t)MESSAGE_CHUNK_BYTES};
    struct blob_get_result result;
    struct blobs got;
    enum err e;

    blobs_init(&got, MESSAGE_CHUNK_BYTES);
    e = client_ask_with(c, CALL_BLOB_GET, &args, NULL, &result, NULL, &got, why);
    if (!e && got.n != 1)
        e = why_set(why, ERR_PROTOCOL, "the tracker sent %zu chunks, expected 1", got.n);
    if (!e)
        e = buf_append(whole, got.items[0].data, got.items[0].n_bytes);
    if (!e && got.items[0].n_bytes == 0 && (int64_t)whole->len < result.total)
        e = why_set(why, ERR_PROTOCOL, "the tracker sent an empty chunk");
    if (!e)
        *total = result.total;
    blobs_fini(&got);
    return e;
}

enum err client_get_blob(struct client *c, const char *hex, struct blobs *set, struct why *why)
{
    struct buf whole;
    int64_t total = 1;
    enum err e = ERR_OK;

    if (blobs_get(set, hex))
        return ERR_OK;
    buf_init(&whole, BLOB_MAX_BYTES);
    do
        e = get_chunk(c, hex, &whole, &total, why);
    while (!e && (int64_t)whole.len < total);
    if (!e && strcmp(sha256_of(whole.data, whole.len).hex, hex) != 0)
        e = why_set(why, ERR_PROTOCOL, "blob %.12s.. arrived with another content", hex);
    if (!e)
        e = blobs_put(set, whole.len ? whole.data : "", whole.len, NULL);
    buf_fini(&whole);
    return e;
}
