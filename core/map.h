/* SPDX-License-Identifier: MIT */
/* map.h - finds by hash: numbers of items that the caller keeps, compares and counts from 0. Of open addressing; no
 * item is ever taken out. All zero is an empty map.
 *
 *     for (size_t at = 0; (s = map_next(&map, hash, &at));)
 *         if (is_equal(&items[s->item], key))
 *             return &items[s->item];
 */
#ifndef TUNE_CORE_MAP_H
#define TUNE_CORE_MAP_H

#include "core/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAP_MAX_ITEMS ((size_t)1 << 30)

struct map_slot {
    uint32_t hash; /* folded; 0 = free */
    uint32_t item; /* the caller may put another one in its place that has the same hash */
};

struct map {
    struct map_slot *slots;
    size_t n_slots; /* a power of two, or 0 */
    size_t n;
};

static inline uint32_t map_fold(uint64_t hash)
{
    const uint32_t h = (uint32_t)(hash ^ hash >> 32);

    return h ? h : 1;
}

/* The next slot of an item with this hash, in the order in which they were added; NULL behind the last. *at: 0 before
 * the first call, and left alone between calls. */
static inline struct map_slot *map_next(const struct map *m, uint64_t hash, size_t *at)
{
    const uint32_t h = map_fold(hash);

    while (m->n_slots > 0) {
        struct map_slot *s = &m->slots[(h + (*at)++) & (m->n_slots - 1)];

        if (s->hash == h)
            return s;
        if (!s->hash)
            break;
    }
    return NULL;
}

/* Is there room for n items in all? Half of the slots are free at least, so that searches are short. */
static inline bool map_has_room(const struct map *m, size_t n)
{
    return n <= m->n_slots / 2;
}

/* Makes room for n items in all. ERR_NOMEM; ERR_LIMIT beyond MAP_MAX_ITEMS. */
enum err map_room(struct map *m, size_t n);
void map_fini(struct map *m);

/* Adds an item; there is room for it. */
void map_add(struct map *m, uint64_t hash, size_t item);

/* For who has other memory than the heap: the slots that n items want, and the move of all items to slots that are
 * zero; the old ones are the caller's again. */
size_t map_slots_for(const struct map *m, size_t n);
void map_move(struct map *m, struct map_slot *slots, size_t n_slots);

#endif
