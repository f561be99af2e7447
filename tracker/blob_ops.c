/* SPDX-License-Identifier: MIT */
/* blob_ops.c - blobs by content, whole or in chunks. */
#include "tracker/state.h"

#include "core/buf.h"
#include "core/err.h"
#include "tracker/vault.h"

enum err op_blob_have(struct call *c)
{
    const cJSON *name;

    cJSON_ArrayForEach(name, c->args.blob_have.sha256)
    {
        const enum err e = vault_look(c->t, name->valuestring);

        if (e == ERR_NOT_FOUND)
            call_list_add_text(&c->result.blob_have.missing, name->valuestring, &c->ok);
        else if (e)
            return e;
    }
    return ERR_OK;
}

static enum err put_chunk(struct call *c)
{
    const struct blob_put_args *in = &c->args.blob_put;
    const struct message_blob *b = c->message->blobs;
    enum err e;

    if (c->message->n_blobs != 1 || b->n_bytes > MESSAGE_CHUNK_BYTES || in->offset + (int64_t)b->n_bytes > in->total)
        return why_set(&c->why, ERR_INPUT, "expected one chunk of at most %zu bytes inside the total",
                       MESSAGE_CHUNK_BYTES);
    e = c->t->o.ops->blob_put(c->t->o.store, in->sha256, in->offset, in->total, b->data, b->n_bytes,
                              &c->result.blob_put.stored);
    if (e == ERR_INPUT)
        why_set(&c->why, e, "the chunks of blob %.12s.. have another content than its name says", in->sha256);
    return e;
}

enum err op_blob_put(struct call *c)
{
    enum err e = ERR_OK;

    if (c->args.blob_put.sha256)
        return put_chunk(c);
    c->result.blob_put.stored = true;
    for (size_t i = 0; !e && i < c->message->n_blobs; i++) {
        const struct message_blob *b = &c->message->blobs[i];

        e = c->t->o.ops->blob_put(c->t->o.store, b->name.hex, 0, (int64_t)b->n_bytes, b->data, b->n_bytes,
                                  &c->result.blob_put.stored);
    }
    return e;
}

enum err op_blob_get(struct call *c)
{
    const struct blob_get_args *in = &c->args.blob_get;
    struct buf part;
    enum err e;

    buf_init(&part, MESSAGE_CHUNK_BYTES);
    e = c->t->o.ops->blob_get(c->t->o.store, in->sha256, in->offset, (size_t)in->bytes, &c->result.blob_get.total,
                              &part);
    if (e == ERR_NOT_FOUND)
        why_set(&c->why, e,
                "there is no blob %.12s..: put it first; in a program of your own \"source_file\" names a file in "
                "place of its hash",
                in->sha256);
    if (e == ERR_UNREACHABLE)
        e = vault_fetch(c->t, in->sha256, &c->why);
    if (!e)
        e = blobs_put(&c->out, buf_text(&part), part.len, NULL);
    buf_fini(&part);
    return e;
}
