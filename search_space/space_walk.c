/* SPDX-License-Identifier: MIT */
#include "search_space/space_private.h"

#include <assert.h>
#include <string.h>

#define COUNT_SEED 20240229u /* of the estimate: the same answer at every call */

uint64_t space_index(const struct space *s, const struct config *c)
{
    uint64_t index = 0;

    assert(space_config_in_range(s, c));
    for (size_t i = s->n_knobs; i-- > 0;)
        index = index * s->knobs[i].n + c->choice[i];
    return index;
}

enum err space_at(const struct space *s, uint64_t index, struct config *out)
{
    assert(s->sealed);
    if (index >= s->size)
        return ERR_LIMIT;
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < s->n_knobs; i++) {
        out->choice[i] = (uint16_t)(index % s->knobs[i].n);
        index /= s->knobs[i].n;
    }
    return ERR_OK;
}

enum err space_sample(const struct space *s, struct rng *rng, uint64_t max_tries, struct config *out)
{
    struct config c;

    for (uint64_t i = 0; i < max_tries; i++) {
        (void)space_at(s, rng_below(rng, s->size), &c);
        if (space_is_valid(s, &c, NULL)) {
            *out = c;
            return ERR_OK;
        }
    }
    return ERR_NOT_FOUND;
}

/* The config of the next index; false behind the last. */
static bool step(const struct space *s, struct config *c)
{
    for (size_t i = 0; i < s->n_knobs; i++) {
        if (++c->choice[i] < s->knobs[i].n)
            return true;
        c->choice[i] = 0;
    }
    return false;
}

static double count_all(const struct space *s)
{
    struct config c = {.choice = {0}};
    uint64_t n = 0;

    do
        n += space_is_valid(s, &c, NULL);
    while (step(s, &c));
    return (double)n;
}

double space_count_valid(const struct space *s, uint64_t max_walk, bool *exact)
{
    struct config c;
    uint64_t n = 0;
    struct rng rng;

    *exact = s->size <= max_walk;
    if (*exact)
        return count_all(s);
    rng_init(&rng, COUNT_SEED);
    for (uint64_t i = 0; i < max_walk; i++) {
        (void)space_at(s, rng_below(&rng, s->size), &c);
        n += space_is_valid(s, &c, NULL);
    }
    return max_walk ? (double)s->size * ((double)n / (double)max_walk) : 0;
}

void space_neighbours(const struct space *s, const struct config *c, bool (*each)(const struct config *n, void *arg),
                      void *arg)
{
    struct config n = *c;

    for (size_t i = 0; i < s->n_knobs; i++) {
        for (size_t v = 0; v < s->knobs[i].n; v++) {
            n.choice[i] = (uint16_t)v;
            if (v != c->choice[i] && space_is_valid(s, &n, NULL) && !each(&n, arg))
                return;
        }
        n.choice[i] = c->choice[i];
    }
}
