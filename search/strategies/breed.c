/* SPDX-License-Identifier: MIT */
#include "search/strategies/breed.h"

#include <assert.h>

static uint16_t turned(struct rng *rng, uint16_t choice, size_t n_values)
{
    assert(n_values > 1 && choice < n_values);

    const uint64_t draw = rng_below(rng, 4);
    const uint64_t other = rng_below(rng, n_values - 1);

    if (draw == 0 && choice > 0)
        return (uint16_t)(choice - 1);
    if (draw == 1 && (size_t)choice + 1 < n_values)
        return (uint16_t)(choice + 1);
    return (uint16_t)(other + (other >= choice));
}

size_t breed_n_turning(const struct space *space)
{
    size_t n = 0;

    for (size_t i = 0; i < space_n_knobs(space); i++)
        n += space_n_values(space, i) > 1;
    return n;
}

void breed_turn(const struct space *space, struct rng *rng, struct config *c)
{
    const size_t n_turning = breed_n_turning(space);
    uint64_t which = n_turning ? rng_below(rng, n_turning) : 0;

    for (size_t i = 0; i < space_n_knobs(space) && n_turning; i++)
        if (space_n_values(space, i) > 1 && which-- == 0) {
            c->choice[i] = turned(rng, c->choice[i], space_n_values(space, i));
            return;
        }
}

void breed(const struct space *space, struct rng *rng, const struct config *mother, const struct config *father,
           struct config *child)
{
    const uint64_t n_turning = breed_n_turning(space);

    *child = (struct config){{0}};
    for (size_t i = 0; i < space_n_knobs(space); i++) {
        const size_t n_values = space_n_values(space, i);

        child->choice[i] = rng_below(rng, 2) ? mother->choice[i] : father->choice[i];
        if (n_values > 1 && rng_below(rng, n_turning) == 0)
            child->choice[i] = turned(rng, child->choice[i], n_values);
        assert(child->choice[i] < n_values);
    }
}
