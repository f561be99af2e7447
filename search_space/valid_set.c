/* SPDX-License-Identifier: MIT */
#include "search_space/valid_private.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void valid_set_free(struct valid_set *v)
{
    if (!v)
        return;
    arena_fini(&v->store);
    free(v->kept);
    free(v);
}

uint64_t valid_set_count(const struct valid_set *v)
{
    return v->count;
}

size_t valid_set_knob(const struct valid_set *v, size_t i_place)
{
    assert(i_place < v->n_levels);
    return v->levels[i_place].i_knob;
}

/* The last edge of [first, end) that has at most `rank` ways before it. */
static size_t edge_of_rank(const struct valid_level *l, size_t first, size_t end, uint64_t rank)
{
    while (end - first > 1) {
        const size_t middle = first + (end - first) / 2;

        if (l->before[middle] <= rank)
            first = middle;
        else
            end = middle;
    }
    return first;
}

static void group_at(const struct valid_set *v, const struct valid_group *g, uint64_t rank, struct config *out)
{
    uint32_t node = g->root;

    assert(rank < g->count);
    for (size_t i = g->first; i < g->end; i++) {
        const struct valid_level *l = &v->levels[i];
        const size_t edge = edge_of_rank(l, l->first[node], l->first[node + 1], rank);

        out->choice[l->i_knob] = l->choice[edge];
        rank -= l->before[edge];
        node = l->child[edge];
    }
    assert(rank == 0); /* each way has been taken account of */
}

enum err valid_set_at(const struct valid_set *v, uint64_t rank, struct config *out)
{
    if (rank >= v->count)
        return ERR_LIMIT;
    if (v->is_filtered)
        rank = v->kept[rank];
    memset(out, 0, sizeof *out);
    for (size_t i = v->n_groups; i-- > 0;) {
        const struct valid_group *g = &v->groups[i];

        group_at(v, g, rank % g->count, out);
        rank /= g->count;
    }
    return ERR_OK;
}

/* The edge of a node for a choice, or SIZE_MAX. */
static size_t edge_of_choice(const struct valid_level *l, uint32_t node, uint16_t choice)
{
    size_t first = l->first[node], end = l->first[node + 1];

    while (end - first > 1) {
        const size_t middle = first + (end - first) / 2;

        if (l->choice[middle] <= choice)
            first = middle;
        else
            end = middle;
    }
    return l->choice[first] == choice ? first : SIZE_MAX;
}

/* Follows a config through a group's levels and adds to its rank; false: it leads nowhere. */
static bool follow(const struct valid_set *v, const struct valid_group *g, const struct config *c, uint64_t *rank)
{
    uint32_t node = g->root;

    for (size_t i = g->first; i < g->end; i++) {
        const struct valid_level *l = &v->levels[i];
        const size_t edge = edge_of_choice(l, node, c->choice[l->i_knob]);

        if (edge == SIZE_MAX)
            return false;
        *rank += l->before[edge];
        node = l->child[edge];
    }
    return true;
}

/* The place of a rank of the diagram among those kept. */
static enum err find_kept(const struct valid_set *v, uint64_t rank, uint64_t *out)
{
    uint64_t first = 0, end = v->count;

    while (first < end) {
        const uint64_t middle = first + (end - first) / 2;

        if (v->kept[middle] < rank)
            first = middle + 1;
        else
            end = middle;
    }
    if (first == v->count || v->kept[first] != rank)
        return ERR_NOT_FOUND;
    *out = first;
    return ERR_OK;
}

enum err valid_set_rank(const struct valid_set *v, const struct config *c, uint64_t *rank)
{
    uint64_t all = 0;

    if (v->count == 0)
        return ERR_NOT_FOUND;
    for (size_t i = 0; i < v->n_groups; i++) {
        const struct valid_group *g = &v->groups[i];
        uint64_t here = 0;

        if (!follow(v, g, c, &here))
            return ERR_NOT_FOUND;
        all = all * g->count + here;
    }
    if (v->is_filtered)
        return find_kept(v, all, rank);
    *rank = all;
    return ERR_OK;
}

bool valid_set_has(const struct valid_set *v, const struct config *c)
{
    uint64_t rank;

    return valid_set_rank(v, c, &rank) == ERR_OK;
}

enum err valid_set_sample(const struct valid_set *v, struct rng *rng, struct config *out)
{
    return v->count ? valid_set_at(v, rng_below(rng, v->count), out) : ERR_NOT_FOUND;
}

struct valid_set_size valid_set_size(const struct valid_set *v)
{
    struct valid_set_size size = {.n_groups = v->n_groups, .bytes = sizeof *v};

    for (size_t i = 0; i < v->n_levels; i++) {
        const struct valid_level *l = &v->levels[i];

        size.n_nodes += l->n_nodes;
        size.n_edges += l->n_edges;
        size.bytes += (l->n_nodes + 1) * sizeof *l->first;
        size.bytes += l->n_edges * (sizeof *l->choice + sizeof *l->child + sizeof *l->before);
    }
    size.bytes += v->is_filtered ? v->n_diagram * sizeof *v->kept : 0;
    return size;
}
