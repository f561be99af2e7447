/* SPDX-License-Identifier: MIT */
#include "search_space/relation.h"

#include "core/err.h"
#include "core/mix.h"
#include "search_space/relation_machine.h"

#include <string.h>

static enum err set_levels(const struct terms *t, uint64_t scope, const uint8_t *place, struct relation *r)
{
    r->levels = arena_take(t->arena, (size_t)__builtin_popcountll(scope) * sizeof *r->levels);
    if (!r->levels)
        return t->arena->failed;
    for (uint64_t left = scope; left; left &= left - 1) {
        const size_t i_knob = (size_t)__builtin_ctzll(left);
        size_t at = r->n_levels++;

        for (; at > 0 && place[r->levels[at - 1].i_knob] > place[i_knob]; at--)
            r->levels[at] = r->levels[at - 1];
        r->levels[at] = (struct relation_level){.i_knob = i_knob, .n_values = t->domains[i_knob].n};
    }
    return ERR_OK;
}

/* Works out all rows, level by level, while they are at most max_entries; *all: none is left open. */
static enum err work_out(struct relation *r, size_t max_entries, bool *all)
{
    size_t n_entries = 0;
    enum err e = ERR_OK;

    for (size_t l = 0; l < r->n_levels && !e; l++) {
        n_entries += r->levels[l].n_rows * r->levels[l].n_values;
        *all = n_entries <= max_entries;
        if (!*all)
            break;
        e = relation_machine_expand(r, l, 0, r->levels[l].n_rows);
    }
    return e;
}

/* RELATION_FALSE or RELATION_TRUE for a row that leads nowhere else, else RELATION_ROW. */
static uint32_t verdict(const uint32_t *row, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (row[i] != row[0])
            return RELATION_ROW;
    return row[0] <= RELATION_TRUE ? row[0] : RELATION_ROW;
}

static size_t hash_row(const uint32_t *row, size_t n)
{
    uint64_t h = MIX_BEGIN;

    for (size_t i = 0; i < n; i++)
        h = mix_word(h, row[i]);
    return mix_end(h);
}

struct merger {
    struct arena *arena;
    uint32_t *ids; /* what each old row has become */
};

/* The place of a row among those kept, or the next one, map->n. */
static size_t place_of(const struct map *map, const uint32_t *rows, const uint32_t *row, size_t n, size_t hash)
{
    const struct map_slot *s;

    for (size_t at = 0; (s = map_next(map, hash, &at));)
        if (memcmp(rows + s->item * n, row, n * sizeof *row) == 0)
            return s->item;
    return map->n;
}

/* Keeps one row of each meaning; m->ids holds the next level's ids and then this level's. */
static enum err merge_level(struct relation_level *level, bool is_last, struct merger *m)
{
    const size_t n = level->n_values;
    uint32_t *ids = arena_take(m->arena, level->n_rows * sizeof *ids);
    struct map kept = {.n = 0};

    if (!ids || arena_map_room(m->arena, &kept, level->n_rows))
        return m->arena->failed;
    for (size_t i = 0; i < level->n_rows; i++) {
        uint32_t *row = level->next + i * n;
        size_t hash, place;

        for (size_t v = 0; v < n && !is_last; v++)
            row[v] = row[v] < RELATION_ROW ? row[v] : m->ids[row[v] - RELATION_ROW];
        ids[i] = verdict(row, n);
        if (ids[i] != RELATION_ROW)
            continue;
        hash = hash_row(row, n);
        place = place_of(&kept, level->next, row, n, hash);
        if (place == kept.n) {
            memmove(level->next + place * n, row, n * sizeof *row);
            map_add(&kept, hash, place);
        }
        ids[i] = (uint32_t)place + RELATION_ROW;
    }
    level->n_rows = kept.n;
    m->ids = ids;
    return ERR_OK;
}

static enum err merge(struct arena *arena, struct relation *r)
{
    struct merger m = {.arena = arena};
    enum err e = ERR_OK;

    for (size_t l = r->n_levels; l-- > 0 && !e;)
        e = merge_level(&r->levels[l], l + 1 == r->n_levels, &m);
    if (!e && r->root >= RELATION_ROW)
        r->root = m.ids[r->root - RELATION_ROW];
    return e;
}

enum err relation_build(const struct terms *t, const uint32_t *roots, size_t n_roots, const uint8_t *place,
                        size_t max_entries, struct relation *out)
{
    struct relation r = {.scope = t->items[roots[0]].knobs};
    bool all = false;
    enum err e = set_levels(t, r.scope, place, &r);

    if (!e)
        e = relation_machine_new(t, roots, n_roots, &r);
    if (!e)
        e = work_out(&r, max_entries, &all);
    if (!e && all)
        e = merge(t->arena, &r);
    if (all)
        r.machine = NULL;
    if (!e)
        *out = r;
    return e;
}

enum err relation_open_row(struct relation *r, size_t i_level, size_t i_row)
{
    return relation_machine_expand(r, i_level, i_row, 1);
}
