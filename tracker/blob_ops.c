/* SPDX-License-Identifier: MIT */
/* blob_ops.c - blobs by content, whole or in chunks. */
#include "tracker/state.h"

#include <string.h>

static enum err read_hex(struct call *c, const char **hex)
{
    enum err e = json_get_text(c->args, "sha256", hex, &c->why);

    return e ? e : sha256_is_hex(*hex) ? ERR_OK : why_set(&c->why, ERR_INPUT, "'sha256' must be 64 hex digits");
}

enum err op_blob_have(struct call *c)
{
    cJSON *missing = cJSON_AddArrayToObject(c->result, "missing");
    const cJSON *names, *name;
    int64_t total;
    enum err e = json_get_array(c->args, "sha256", &names, &c->why);

    if (e || !missing)
        return e ? e : ERR_NOMEM;
    if (cJSON_GetArraySize(names) > 1024)
        return why_set(&c->why, ERR_LIMIT, "over 1024 names in one blob_have");
    cJSON_ArrayForEach(name, names)
    {
        if (!cJSON_IsString(name) || !sha256_is_hex(name->valuestring))
            return why_set(&c->why, ERR_INPUT, "'sha256' must be a list of 64 hex digits each");
        e = c->t->o.ops->blob_get(c->t->o.store, name->valuestring, 0, 0, &total, NULL);
        if (e == ERR_NOT_FOUND)
            cJSON_AddItemToArray(missing, cJSON_CreateString(name->valuestring));
        else if (e)
            return e;
    }
    return ERR_OK;
}

static enum err put_chunk(struct call *c)
{
    const struct message_blob *b = c->message->blobs;
    int64_t offset, total;
    bool stored = false, ok = true;
    const char *hex;
    enum err e = read_hex(c, &hex);

    if (!e)
        e = json_get_i64(c->args, "offset", 0, (int64_t)BLOB_MAX_BYTES, &offset, &c->why);
    if (!e)
        e = json_get_i64(c->args, "total", 0, (int64_t)BLOB_MAX_BYTES, &total, &c->why);
    if (e)
        return e;
    if (c->message->n_blobs != 1 || b->n_bytes > MESSAGE_CHUNK_BYTES || offset + (int64_t)b->n_bytes > total)
        return why_set(&c->why, ERR_INPUT, "expected one chunk of at most %zu bytes inside the total",
                       MESSAGE_CHUNK_BYTES);
    e = c->t->o.ops->blob_put(c->t->o.store, hex, offset, total, b->data, b->n_bytes, &stored);
    if (e == ERR_INPUT)
        why_set(&c->why, e, "the chunks of blob %.12s.. have another content than its name says", hex);
    json_add_bool(c->result, "stored", stored, &ok);
    return e;
}

enum err op_blob_put(struct call *c)
{
    bool stored = true, ok = true;
    enum err e = ERR_OK;

    if (cJSON_HasObjectItem(c->args, "sha256"))
        return put_chunk(c);
    for (size_t i = 0; !e && i < c->message->n_blobs; i++) {
        const struct message_blob *b = &c->message->blobs[i];

        e = c->t->o.ops->blob_put(c->t->o.store, b->name.hex, 0, (int64_t)b->n_bytes, b->data, b->n_bytes, &stored);
    }
    json_add_bool(c->result, "stored", stored, &ok);
    return e;
}

enum err op_blob_get(struct call *c)
{
    int64_t offset, bytes, total = 0;
    const char *hex;
    struct buf part;
    bool ok = true;
    enum err e = read_hex(c, &hex);

    if (!e)
        e = json_i64_or(c->args, "offset", 0, 0, (int64_t)BLOB_MAX_BYTES, &offset, &c->why);
    if (!e)
        e = json_i64_or(c->args, "bytes", (int64_t)MESSAGE_CHUNK_BYTES, 0, (int64_t)MESSAGE_CHUNK_BYTES, &bytes,
                        &c->why);
    if (e)
        return e;
    buf_init(&part, MESSAGE_CHUNK_BYTES);
    e = c->t->o.ops->blob_get(c->t->o.store, hex, offset, (size_t)bytes, &total, &part);
    if (e == ERR_NOT_FOUND)
        why_set(&c->why, e,
                "there is no blob %.12s..: put it first; in a program of your own \"source_file\" names a file in "
                "place of its hash",
                hex);
    if (!e)
        e = blobs_put(&c->out, buf_text(&part), part.len, NULL);
    json_add_i64(c->result, "total", total, &ok);
    buf_fini(&part);
    return e;
}
