/* SPDX-License-Identifier: MIT */
/* fill_cache.h - contents of fills, kept from one program to the next: all candidates of a workload have the same
 * inputs. One for the process; it keeps nothing until fill_cache_limit is called, and is used by one thread at a time
 * from then on. */
#ifndef TUNE_RUNTIME_FILL_CACHE_H
#define TUNE_RUNTIME_FILL_CACHE_H

#include "core/blobs.h"
#include "core/err.h"
#include "runtime/program.h"

#include <stddef.h>
#include <stdint.h>

/* Lent contents of one fill. */
struct fill_use {
    const void *data;
    void *own; /* to be freed; NULL = lent by the cache or a blob */
};

/* Keeps at most `max_bytes` of generated contents, those used last; 0 forgets all. */
void fill_cache_limit(size_t max_bytes);

/* The bytes that fill_elems would write; borrows `blobs` until fill_done. Valid until fill_done or the next fill_lend
 * of this cache. Errors as fill_elems, ERR_NOMEM. */
enum err fill_lend(const struct program_fill *f, enum dtype t, int64_t n_elems, const struct blobs *blobs,
                   struct fill_use *out);
void fill_done(struct fill_use *u);

/* Bytes kept now, and how often contents were made since the process began: for tests. */
size_t fill_cache_bytes(void);
int64_t fill_cache_made(void);

#endif
