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

/* A larger piece with the content of an old one (NULL with 0 bytes: none). */
static void *grow(struct arena *a, void *old, size_t old_bytes, size_t bytes)
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

enum err arena_widen(struct arena *a, void *items, size_t *cap, size_t n, size_t n_each)
{
    size_t more = *cap > 0 ? 2 * *cap : 16;
    void *list;

    if (more < n)
        more = n;
    if (n_each > 0 && more > SIZE_MAX / 2 / n_each) {
        fail(a, ERR_LIMIT);
        return a->failed;
    }
    memcpy(&list, items, sizeof list); /* a T *, of whatever type */
    list = grow(a, list, *cap * n_each, more * n_each);
    if (!list)
        return a->failed;
    memcpy(items, &list, sizeof list);
    *cap = more;
    return ERR_OK;
}

enum err arena_map_grow(struct arena *a, struct map *m, size_t n)
{
    size_t n_slots;
    struct map_slot *slots;

    if (n > MAP_MAX_ITEMS / 2) {
        fail(a, ERR_LIMIT);
        return a->failed;
    }
    n_slots = map_slots_for(m, m->n ? 2 * n : n); /* fourfold: the old ones stay */
    slots = arena_zero(a, n_slots * sizeof *slots);
    if (!slots)
        return a->failed;
    map_move(m, slots, n_slots);
    return ERR_OK;
}
