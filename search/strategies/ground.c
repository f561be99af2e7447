/* SPDX-License-Identifier: MIT */
#include "search/strategies/ground.h"

#include "core/err.h"
#include "core/vec.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SET_BYTES ((size_t)64 << 20)
#define MAX_TRIES 200000 /* draws of a sparse space before it counts as exhausted */

static int ascending(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static enum err list_set(struct ground *g)
{
    const uint64_t n = valid_set_count(g->set);

    g->valid = malloc((size_t)n * sizeof(*g->valid) + 1);
    if (!g->valid)
        return ERR_NOMEM;
    g->n_valid = (size_t)n;
    g->is_listed = true;
    if (n == 0)
        return ERR_OK;
    (void)valid_set_list(g->set, 0, n, g->valid);
    qsort(g->valid, g->n_valid, sizeof(*g->valid), ascending);
    assert(g->valid[g->n_valid - 1] < space_size(g->space));
    return ERR_OK;
}

/* Of a space without a set: by asking each config of a small product. */
static enum err list_walk(struct ground *g)
{
    const uint64_t size = space_size(g->space);
    struct config c;

    g->valid = malloc((size_t)size * sizeof(*g->valid) + 1);
    if (!g->valid)
        return ERR_NOMEM;
    for (uint64_t index = 0; index < size; index++)
        if (space_at(g->space, index, &c) == ERR_OK && space_is_valid(g->space, &c, NULL))
            g->valid[g->n_valid++] = index;
    assert(g->n_valid <= size);
    g->is_listed = true;
    return ERR_OK;
}

enum err ground_init(struct ground *g, const struct space *space)
{
    enum err e;

    *g = (struct ground){.space = space};
    e = valid_set_new(space, MAX_SET_BYTES, &g->set, NULL);
    if (e == ERR_LIMIT)
        return space_size(space) <= GROUND_MAX_WALK ? list_walk(g) : ERR_OK;
    if (e)
        return e;
    return valid_set_count(g->set) <= GROUND_MAX_WALK ? list_set(g) : ERR_OK;
}

void ground_fini(struct ground *g)
{
    free(g->taken);
    map_fini(&g->by_index);
    free(g->valid);
    valid_set_free(g->set);
    *g = (struct ground){0};
}

bool ground_is_taken(const struct ground *g, uint64_t index)
{
    const uint64_t hash = rng_at(0, index);
    const struct map_slot *s;

    for (size_t at = 0; (s = map_next(&g->by_index, hash, &at));)
        if (g->taken[s->item] == index)
            return true;
    return false;
}

enum err ground_take(struct ground *g, uint64_t index)
{
    enum err e;

    if (ground_is_taken(g, index))
        return ERR_OK;
    e = VEC_ROOM(g->taken, g->cap_taken, g->n_taken + 1, VEC_ANY);
    if (!e)
        e = map_room(&g->by_index, g->n_taken + 1);
    if (e)
        return e;
    map_add(&g->by_index, rng_at(0, index), g->n_taken);
    g->taken[g->n_taken++] = index;
    return ERR_OK;
}

bool ground_is_open(const struct ground *g, const struct config *c)
{
    return space_config_in_range(g->space, c) && !ground_is_taken(g, space_index(g->space, c)) &&
           (g->set ? valid_set_has(g->set, c) : space_is_valid(g->space, c, NULL));
}

/* The open config number `i_open` of the list, counted from 0. */
static enum err nth_open(const struct ground *g, uint64_t i_open, struct config *out)
{
    for (size_t i = 0; i < g->n_valid; i++)
        if (!ground_is_taken(g, g->valid[i]) && i_open-- == 0)
            return space_at(g->space, g->valid[i], out);
    return ERR_NOT_FOUND;
}

static enum err sample_list(const struct ground *g, struct rng *rng, struct config *out)
{
    uint64_t n_open = 0;

    for (int i = 0; i < 32 && g->n_valid > 0; i++) {
        const uint64_t index = g->valid[rng_below(rng, g->n_valid)];

        if (!ground_is_taken(g, index))
            return space_at(g->space, index, out);
    }
    for (size_t i = 0; i < g->n_valid; i++)
        n_open += !ground_is_taken(g, g->valid[i]);
    assert(n_open <= g->n_valid);
    return n_open > 0 ? nth_open(g, rng_below(rng, n_open), out) : ERR_NOT_FOUND;
}

enum err ground_sample(const struct ground *g, struct rng *rng, struct config *out)
{
    struct config c;

    if (g->is_listed)
        return sample_list(g, rng, out);
    for (int i = 0; i < 32; i++) {
        const enum err e = g->set ? valid_set_sample(g->set, rng, &c) : space_sample(g->space, rng, MAX_TRIES, &c);

        if (e)
            return e;
        if (!ground_is_taken(g, space_index(g->space, &c))) {
            *out = c;
            return ERR_OK;
        }
    }
    return ERR_NOT_FOUND;
}
