/* SPDX-License-Identifier: MIT */
#include "runtime/fill_cache.h"

#include "core/err.h"

#include <assert.h>
#include <stdlib.h>

#define MAX_ENTRIES 32

struct entry {
    struct program_fill fill;
    enum dtype dtype;
    int64_t n_elems;
    size_t n_bytes;
    void *data; /* NULL = free */
    int64_t used;
};

static struct {
    struct entry entries[MAX_ENTRIES];
    size_t max_bytes, sum_bytes;
    int64_t stamp, n_made;
} cache;

static void forget(struct entry *e)
{
    assert(e && e->data && cache.sum_bytes >= e->n_bytes);
    free(e->data);
    cache.sum_bytes -= e->n_bytes;
    *e = (struct entry){.n_bytes = 0};
}

static struct entry *oldest(void)
{
    struct entry *found = NULL;

    for (struct entry *e = cache.entries; e < cache.entries + MAX_ENTRIES; e++)
        if (e->data && (!found || e->used < found->used))
            found = e;
    return found;
}

/* A free entry with room for n_bytes (<= max_bytes). */
static struct entry *make_room(size_t n_bytes)
{
    assert(n_bytes <= cache.max_bytes);
    while (cache.sum_bytes + n_bytes > cache.max_bytes)
        forget(oldest());
    for (struct entry *e = cache.entries; e < cache.entries + MAX_ENTRIES; e++)
        if (!e->data)
            return e;
    forget(oldest());
    return make_room(n_bytes);
}

void fill_cache_limit(size_t max_bytes)
{
    cache.max_bytes = max_bytes;
    while (cache.sum_bytes > max_bytes)
        forget(oldest());
}

size_t fill_cache_bytes(void)
{
    return cache.sum_bytes;
}

int64_t fill_cache_made(void)
{
    return cache.n_made;
}

static struct entry *find(const struct program_fill *f, enum dtype t, int64_t n_elems)
{
    for (struct entry *e = cache.entries; e < cache.entries + MAX_ENTRIES; e++)
        if (e->data && program_fill_equal(&e->fill, f) && e->dtype == t && e->n_elems == n_elems)
            return e;
    return NULL;
}

/* A blob is its own contents. */
static enum err lend_blob(const struct program_fill *f, size_t n_bytes, const struct blobs *blobs, struct fill_use *out)
{
    const struct blob *b = blobs ? blobs_get(blobs, f->blob.hex) : NULL;

    if (!b)
        return ERR_NOT_FOUND;
    if (b->n_bytes != n_bytes)
        return ERR_INPUT;
    *out = (struct fill_use){.data = b->data};
    return ERR_OK;
}

static enum err make(const struct program_fill *f, enum dtype t, int64_t n_elems, size_t n_bytes,
                     const struct blobs *blobs, void **out)
{
    void *data = malloc(n_bytes ? n_bytes : 1);
    const enum err e = data ? fill_elems(f, t, data, n_elems, blobs) : ERR_NOMEM;

    if (e)
        free(data);
    else
        *out = data;
    cache.n_made += cache.max_bytes > 0;
    return e;
}

enum err fill_lend(const struct program_fill *f, enum dtype t, int64_t n_elems, const struct blobs *blobs,
                   struct fill_use *out)
{
    const size_t n_bytes = n_elems < 0 ? 0 : (size_t)n_elems * dtype_bytes(t);
    const bool keeps = f->kind != FILL_NONE && f->kind != FILL_ZERO && f->kind != FILL_VALUE && f->kind != FILL_BLOB &&
                       n_bytes && n_bytes <= cache.max_bytes;
    struct entry *e = keeps ? find(f, t, n_elems) : NULL;
    void *data = NULL;
    enum err error;

    if (f->kind == FILL_BLOB)
        return lend_blob(f, n_bytes, blobs, out);
    if (!e) {
        error = make(f, t, n_elems, n_bytes, blobs, &data);
        if (error)
            return error;
        if (!keeps) {
            *out = (struct fill_use){.data = data, .own = data};
            return ERR_OK;
        }
        e = make_room(n_bytes);
        *e = (struct entry){.fill = *f, .dtype = t, .n_elems = n_elems, .n_bytes = n_bytes, .data = data};
        cache.sum_bytes += n_bytes;
        assert(cache.sum_bytes <= cache.max_bytes);
    }
    e->used = ++cache.stamp;
    *out = (struct fill_use){.data = e->data};
    return ERR_OK;
}

void fill_done(struct fill_use *u)
{
    free(u->own);
    *u = (struct fill_use){.data = NULL};
}
