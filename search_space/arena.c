/* SPDX-License-Identifier: MIT */
#include "search_space/arena.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ALIGN ((size_t)16)
#define MAX_CHUNK ((size_t)1 << 20)

struct arena_chunk {
    struct arena_chunk *before;
    size_t bytes; /* keeps what follows aligned */
};

void arena_init(struct arena *a, size_t first_bytes, size_t max_bytes)
{
    *a = (struct arena){.max = max_bytes, .chunk = first_bytes};
}

void arena_fini(struct arena *a)
{
    while (a->last) {
        struct arena_chunk *before = a->last->before;

        free(a->last);
        a->last = before;
    }
    a->at = a->end = NULL;
}

static size_t round_up(size_t bytes)
{
    return bytes ? (bytes + ALIGN - 1) & ~(ALIGN - 1) : ALIGN;
}

static void *fail(struct arena *a, enum err e)
{
    a->failed = a->failed ? a->failed : e;
    return NULL;
}

static void *take_chunk(struct arena *a, size_t bytes)
{
    const size_t size = sizeof(struct arena_chunk) + (bytes > a->chunk ? bytes : a->chunk);
    struct arena_chunk *chunk;

    if (size > a->max - a->used)
        return fail(a, ERR_LIMIT);
    chunk = malloc(size);
    if (!chunk)
        return fail(a, ERR_NOMEM);
    *chunk = (struct arena_chunk){a->last, size};
    a->last = chunk;
    a->used += size;
    assert(a->used <= a->max);
    a->at = (char *)(chunk + 1) + bytes;
    a->end = (char *)chunk + size;
    if (a->chunk < MAX_CHUNK)
        a->chunk *= 2;
    return chunk + 1;
}

void *arena_take(struct arena *a, size_t bytes)
{
    char *piece = a->at;

    if (bytes > SIZE_MAX / 2)
        return fail(a, ERR_LIMIT);
    bytes = round_up(bytes);
    if ((size_t)(a->end - a->at) < bytes)
        return take_chunk(a, bytes);
    a->at += bytes;
    return piece;
}

void *arena_zero(struct arena *a, size_t bytes)
{
    void *piece = arena_take(a, bytes);

    return piece ? memset(piece, 0, bytes) : NULL;
}

void *arena_grow(struct arena *a, void *old, size_t old_bytes, size_t bytes)
{
    void *piece;

    assert(bytes >= old_bytes && (old || old_bytes == 0));
    if (old && (char *)old + round_up(old_bytes) == a->at && bytes <= (size_t)(a->end - (char *)old)) {
        a->at = (char *)old + round_up(bytes);
        if (a->at <= a->end)
            return old;
        a->at = (char *)old + round_up(old_bytes);
    }
    piece = arena_take(a, bytes);
    if (piece && old)
        memcpy(piece, old, old_bytes);
    return piece;
}
