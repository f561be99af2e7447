/* SPDX-License-Identifier: MIT */
/* arena.h - memory that is taken in small pieces and given back all at once, with a limit. */
#ifndef TUNE_SEARCH_SPACE_ARENA_H
#define TUNE_SEARCH_SPACE_ARENA_H

#include "core/err.h"
#include "core/map.h"

#include <stddef.h>

struct arena_chunk;

struct arena {
    struct arena_chunk *last;
    char *at, *end;          /* free part of the last chunk */
    size_t used, max, chunk; /* bytes: of all chunks, at most, of the next chunk */
    enum err failed;         /* first failure, sticky: ERR_NOMEM; ERR_LIMIT when chunks would pass the maximum */
};

/* Nothing is allocated before the first piece; `first_bytes`: size of the first chunk. */
void arena_init(struct arena *a, size_t first_bytes, size_t max_bytes);
void arena_fini(struct arena *a);

/* A piece of at least `bytes` (also for 0), aligned for any number; NULL on failure. Content: anything, or zeros. */
void *arena_take(struct arena *a, size_t bytes);
void *arena_zero(struct arena *a, size_t bytes);

/* What VEC_ROOM and map_room do, in an arena: in place where nothing was taken behind it, else what is outgrown stays
 * behind until the end. ERR_NOMEM, ERR_LIMIT: of the arena, sticky. */
#define ARENA_ROOM(a, items, cap, n) arena_room((a), &(items), &(cap), (n), sizeof *(items))
enum err arena_widen(struct arena *a, void *items, size_t *cap, size_t n, size_t n_each);
static inline enum err arena_room(struct arena *a, void *items, size_t *cap, size_t n, size_t n_each)
{
    return n <= *cap ? ERR_OK : arena_widen(a, items, cap, n, n_each);
}
enum err arena_map_grow(struct arena *a, struct map *m, size_t n);
static inline enum err arena_map_room(struct arena *a, struct map *m, size_t n)
{
    return map_has_room(m, n) ? ERR_OK : arena_map_grow(a, m, n);
}

#endif
