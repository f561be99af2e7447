/* SPDX-License-Identifier: MIT */
#include "core/map.h"

#include <assert.h>
#include <stdlib.h>

#define FIRST_SLOTS 16

size_t map_slots_for(const struct map *m, size_t n)
{
    size_t n_slots = m->n_slots > 0 ? m->n_slots : FIRST_SLOTS;

    assert(n <= MAP_MAX_ITEMS);
    while (n > n_slots / 2)
        n_slots *= 2;
    return n_slots;
}

static void put(struct map *m, struct map_slot s)
{
    size_t i = s.hash & (m->n_slots - 1);

    while (m->slots[i].hash)
        i = (i + 1) & (m->n_slots - 1);
    m->slots[i] = s;
    m->n++;
}

/* From behind a free slot on, so that items of one hash stay in their order. */
void map_move(struct map *m, struct map_slot *slots, size_t n_slots)
{
    const struct map old = *m;
    size_t first = 0;

    assert((n_slots & (n_slots - 1)) == 0 && n_slots > old.n);
    while (first < old.n_slots && old.slots[first].hash)
        first++;
    *m = (struct map){.slots = slots, .n_slots = n_slots};
    for (size_t i = 0; i < old.n_slots; i++) {
        const struct map_slot s = old.slots[(first + i) & (old.n_slots - 1)];

        if (s.hash)
            put(m, s);
    }
}

enum err map_room(struct map *m, size_t n)
{
    struct map_slot *slots, *old = m->slots;
    size_t n_slots;

    if (map_has_room(m, n))
        return ERR_OK;
    if (n > MAP_MAX_ITEMS)
        return ERR_LIMIT;
    n_slots = map_slots_for(m, n);
    slots = calloc(n_slots, sizeof *slots);
    if (!slots)
        return ERR_NOMEM;
    map_move(m, slots, n_slots);
    free(old);
    return ERR_OK;
}

void map_fini(struct map *m)
{
    free(m->slots);
    *m = (struct map){.slots = NULL};
}

void map_add(struct map *m, uint64_t hash, size_t item)
{
    assert(item < MAP_MAX_ITEMS && map_has_room(m, m->n + 1));
    put(m, (struct map_slot){map_fold(hash), (uint32_t)item});
}
