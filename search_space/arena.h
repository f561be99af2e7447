/* SPDX-License-Identifier: MIT */
/* arena.h - memory that is taken in small pieces and given back all at once, with a limit. */
#ifndef TUNE_SEARCH_SPACE_ARENA_H
#define TUNE_SEARCH_SPACE_ARENA_H

#include "core/err.h"

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

/* A larger piece with the content of an old one (NULL with 0 bytes: none), in place where nothing was taken after it.
 */
void *arena_grow(struct arena *a, void *old, size_t old_bytes, size_t bytes);

#endif
