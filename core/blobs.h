/* SPDX-License-Identifier: MIT */
/* blobs.h - a set of byte strings named by their SHA-256, with a cap on their sum. */
#ifndef TUNE_CORE_BLOBS_H
#define TUNE_CORE_BLOBS_H

#include "core/err.h"
#include "core/hash.h"

#include <stddef.h>

struct blob {
    struct sha256 name;
    unsigned char *data;
    size_t n_bytes;
};

struct blobs {
    struct blob *items;
    size_t n, cap;
    size_t sum_bytes, max_bytes;
};

void blobs_init(struct blobs *s, size_t max_bytes);
void blobs_fini(struct blobs *s);

/* Copies bytes into the set (equal content is kept once) and tells their name (`name` may be NULL). ERR_LIMIT,
 * ERR_NOMEM. */
enum err blobs_put(struct blobs *s, const void *bytes, size_t n, struct sha256 *name);

/* The same with a name that the caller has from an earlier put of these bytes: a large text is not hashed again. */
enum err blobs_put_named(struct blobs *s, const void *bytes, size_t n, const struct sha256 *name);

/* Lends a blob by hex name; NULL when it is not in the set. The pointer lives until the set changes. */
const struct blob *blobs_get(const struct blobs *s, const char *hex);

/* Copies all of `from` into `to`. */
enum err blobs_merge(struct blobs *to, const struct blobs *from);

#endif
