/* SPDX-License-Identifier: MIT */
/* valid_set.h - all valid configs of a space, found once: their exact number, the i-th, the rank of one, uniform
 * samples, each in about a microsecond; a million million raw points are no matter where constraints tie
 * few knobs at a time. docs/search-space.md tells how.
 *
 * It holds exactly the configs for which space_is_valid is true. Read-only once made: shareable between threads.
 *
 * Ranks run from 0 to the number of configs - 1: lexicographic over the knobs in the set's own order
 * (valid_set_knob(v, 0) is most significant), each knob's values in the order of its list. The order of knobs follows
 * from the space alone, but may change from one version of this library to the next: what is stored is the raw index of
 * space.h (mixed radix over the whole product, first knob least significant) or the knobs by name, never a rank.
 *
 * In a search: valid_set_new once a space; where valid_set_count is small enough to keep a list, valid_set_list gives
 * all raw indices; else valid_set_sample draws without rejection, and the search has seen all when it has taken
 * valid_set_count configs. valid_set_has asks less than space_is_valid (about 0.1 us). On ERR_LIMIT space_sample is
 * left. */
#ifndef TUNE_SEARCH_SPACE_VALID_SET_H
#define TUNE_SEARCH_SPACE_VALID_SET_H

#include "core/err.h"
#include "search_space/space.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VALID_SET_BYTES ((size_t)512 << 20) /* default limit of memory while building */
#define VALID_SET_MAX_FILTERED (1u << 22)   /* configs that constraints in C are asked about, at most */

struct valid_set;

/* Builds the set of a sealed space; keeps `s`. `max_bytes`: limit of memory (0: VALID_SET_BYTES). Constraints in C are
 * asked last, about each config that all others leave. ERR_LIMIT when memory would pass the limit (the constraints tie
 * too much together), or constraints in C would be asked too often; ERR_NOMEM. A space with no valid config is no
 * error: its count is 0. */
enum err valid_set_new(const struct space *s, size_t max_bytes, struct valid_set **out, struct why *why);
void valid_set_free(struct valid_set *v);

uint64_t valid_set_count(const struct valid_set *v);

/* The knob at a place of the set's own order, 0 <= i_place < number of knobs. */
size_t valid_set_knob(const struct valid_set *v, size_t i_place);

/* The config of a rank; ERR_LIMIT for rank >= count. */
enum err valid_set_at(const struct valid_set *v, uint64_t rank, struct config *out);

/* The rank of a config (any choices, in range or not); ERR_NOT_FOUND when it is not valid. */
enum err valid_set_rank(const struct valid_set *v, const struct config *c, uint64_t *rank);
bool valid_set_has(const struct valid_set *v, const struct config *c);

/* A uniform valid config; ERR_NOT_FOUND when there is none. One draw of `rng`, no rejection. */
enum err valid_set_sample(const struct valid_set *v, struct rng *rng, struct config *out);

/* Raw indices of the configs of ranks first..first+n-1 (within the count, else ERR_LIMIT), in order of rank. */
enum err valid_set_list(const struct valid_set *v, uint64_t first, uint64_t n, uint64_t *indices);

/* What the set is made of, for people. */
struct valid_set_size {
    size_t n_groups; /* of knobs that no constraint ties together */
    size_t n_nodes, n_edges;
    size_t bytes;
};
struct valid_set_size valid_set_size(const struct valid_set *v);

#endif
