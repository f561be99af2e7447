/* SPDX-License-Identifier: MIT */
#include "search/strategies/near.h"

#include "core/err.h"
#include "search/strategies/breed.h"

#include <assert.h>
#include <math.h>

#define DRAWS 400 /* around a point of a space too large to list */

double near_distance(const struct space *space, const struct config *a, const struct config *b)
{
    double sum = 0;

    for (size_t i = 0; i < space_n_knobs(space); i++) {
        const double apart = fabs((double)a->choice[i] - (double)b->choice[i]);

        assert(apart < (double)space_n_values(space, i));
        if (apart > 0 && space_knob_value(space, i, 0).text)
            sum += 1;
        else if (apart > 0)
            sum += 0.5 + 0.5 * apart / (double)(space_n_values(space, i) - 1);
    }
    return sum;
}

/* The nearest open config met so far. */
struct nearest {
    const struct ground *ground;
    struct rng *rng;
    struct config from, best;
    double distance;
    uint64_t n_equal; /* met at that distance */
};

static void meet(struct nearest *n, const struct config *c)
{
    const double distance = near_distance(n->ground->space, &n->from, c);

    if (distance > n->distance)
        return;
    n->n_equal = distance < n->distance ? 1 : n->n_equal + 1;
    n->distance = distance;
    if (rng_below(n->rng, n->n_equal) == 0)
        n->best = *c;
}

static bool meet_valid(const struct config *c, void *arg)
{
    struct nearest *n = arg;

    if (!ground_is_taken(n->ground, space_index(n->ground->space, c)))
        meet(n, c);
    return true;
}

static void meet_listed(struct nearest *n)
{
    const struct ground *g = n->ground;
    struct config c;

    for (size_t i = 0; i < g->n_valid; i++)
        if (!ground_is_taken(g, g->valid[i]) && space_at(g->space, g->valid[i], &c) == ERR_OK)
            meet(n, &c);
}

/* Points with a growing number of knobs turned. */
static void meet_drawn(struct nearest *n)
{
    const struct space *space = n->ground->space;

    for (size_t i = 0; i < DRAWS; i++) {
        struct config c = n->from;

        for (size_t k = 0; k < 2 + i * space_n_knobs(space) / DRAWS; k++)
            breed_turn(space, n->rng, &c);
        if (ground_is_open(n->ground, &c))
            meet(n, &c);
    }
}

enum err near_open(const struct ground *g, struct rng *rng, struct config *c)
{
    struct nearest n = {.ground = g, .rng = rng, .from = *c, .distance = INFINITY};

    if (ground_is_open(g, c))
        return ERR_OK;
    space_neighbours(g->space, c, meet_valid, &n);
    if (isinf(n.distance) && g->is_listed)
        meet_listed(&n);
    else if (isinf(n.distance))
        meet_drawn(&n);
    if (isinf(n.distance))
        return ERR_NOT_FOUND;
    assert(ground_is_open(g, &n.best));
    *c = n.best;
    return ERR_OK;
}
