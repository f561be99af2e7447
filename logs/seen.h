/* SPDX-License-Identifier: MIT */
/* seen.h - which trials and lines were met before: a set of fixed size a line, however long the lines. */
#ifndef TUNE_LOGS_SEEN_H
#define TUNE_LOGS_SEEN_H

#include "core/err.h"
#include "core/map.h"

#include <stddef.h>
#include <stdint.h>

struct seen_entry {
    uint64_t trial, line; /* keyed hashes */
    uint64_t place;       /* the caller's, never 0 */
};

/* Some 50 bytes a line. */
struct seen {
    struct seen_entry *entries;
    size_t n, cap;
    struct map by_trial;
    uint64_t key[2]; /* of the hashes: nobody can make lines that collide */
};

enum seen_kind { SEEN_NEW, SEEN_EQUAL, SEEN_OTHER /* the trial, but with another line */ };

/* ERR_IO: no random numbers. */
enum err seen_init(struct seen *s);
void seen_fini(struct seen *s);

/* SipHash-1-3 (Aumasson, Bernstein: SipHash, a fast short-input PRF, 2012) under the set's key. */
uint64_t seen_hash(const struct seen *s, const void *bytes, size_t n);

/* The hash of a trial: each private farm counts ids and jobs anew, so the time of the measurement belongs to its name.
 */
uint64_t seen_trial(const struct seen *s, const char *id, const char *job, int64_t ts_ms);

/* Notes a line of a trial unless it is there; *former: the place of the equal line, or of the trial's first other one,
 * else 0. ERR_NOMEM, ERR_LIMIT. */
enum err seen_note(struct seen *s, uint64_t trial, uint64_t line, uint64_t place, enum seen_kind *kind,
                   uint64_t *former);

/* An entry of the trial; NULL when there is none. */
const struct seen_entry *seen_find(const struct seen *s, uint64_t trial);

/* The trial's one entry, or a new one with place 0, of which the caller sets the place at once. NULL without memory. */
struct seen_entry *seen_only(struct seen *s, uint64_t trial);

#endif
