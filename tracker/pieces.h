/* SPDX-License-Identifier: MIT */
/* pieces.h - the hash of a blob that comes in pieces, made as they come: its last one keeps nobody waiting for all. */
#ifndef TUNE_TRACKER_PIECES_H
#define TUNE_TRACKER_PIECES_H

#include "core/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of the blob whose first piece came last. All zero is none. */
struct pieces {
    char name[SHA256_HEX + 1];
    int64_t n_bytes;
    struct sha256_sum *sum; /* NULL = they came in another order, or memory is short */
};

void pieces_fini(struct pieces *p);

/* A piece of the blob `name` is there, also in the place of one that was. */
void pieces_add(struct pieces *p, const char *name, int64_t offset, const void *bytes, size_t n);

/* *out: the hash of a blob of n bytes, where it was made of its pieces; false where it has to be made of all. Ends it.
 */
bool pieces_end(struct pieces *p, const char *name, int64_t n, struct sha256 *out);

/* Do all bytes of the blob have the hash of its name? By the pieces, or of `bytes` at once. Ends it. */
bool pieces_are(struct pieces *p, const char *name, const void *bytes, size_t n);

#endif
