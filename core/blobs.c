/* SPDX-License-Identifier: MIT */
#include "core/blobs.h"

#include "core/err.h"
#include "core/vec.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void blobs_init(struct blobs *s, size_t max_bytes)
{
    *s = (struct blobs){.max_bytes = max_bytes};
}

void blobs_fini(struct blobs *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n; i++)
        free(s->items[i].data);
    free(s->items);
    *s = (struct blobs){.max_bytes = s->max_bytes};
}

const struct blob *blobs_get(const struct blobs *s, const char *hex)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->items[i].name.hex, hex) == 0)
            return &s->items[i];
    return NULL;
}

enum err blobs_put_named(struct blobs *s, const void *bytes, size_t n, const struct sha256 *name)
{
    struct blob b = {.name = *name, .n_bytes = n};

    assert(s->n <= s->cap && s->sum_bytes <= s->max_bytes);
    if (blobs_get(s, name->hex))
        return ERR_OK;
    if (n > s->max_bytes || s->sum_bytes > s->max_bytes - n)
        return ERR_LIMIT;
    if (VEC_ROOM(s->items, s->cap, s->n + 1, VEC_ANY))
        return ERR_NOMEM;
    b.data = malloc(n + 1);
    if (!b.data)
        return ERR_NOMEM;
    if (n)
        memcpy(b.data, bytes, n);
    b.data[n] = 0; /* text blobs can be read as C strings */
    s->items[s->n++] = b;
    s->sum_bytes += n;
    return ERR_OK;
}

enum err blobs_put(struct blobs *s, const void *bytes, size_t n, struct sha256 *name)
{
    const struct sha256 own = sha256_of(bytes, n);

    if (name)
        *name = own;
    return blobs_put_named(s, bytes, n, &own);
}

enum err blobs_merge(struct blobs *to, const struct blobs *from)
{
    enum err e = ERR_OK;

    for (size_t i = 0; !e && i < from->n; i++)
        e = blobs_put_named(to, from->items[i].data, from->items[i].n_bytes, &from->items[i].name);
    return e;
}
