/* SPDX-License-Identifier: MIT */
/* genetic.c - a steady population of the best configs told; children by uniform crossover of two tournament winners and
 * mutation of single knobs (Goldberg 1989). Needs no model, and no scale of the values: only their order. */
#include "search/strategies/base.h"
#include "search/strategies/breed.h"
#include "search/strategies/near.h"

#include <assert.h>

#define POPULATION 16
#define N_INIT 16
#define TRIES 8 /* children bred for one proposal, before one that is not open is moved to the nearest that is */

struct strategy {
    struct base base; /* first: base_new */
};

static enum err init(struct strategy **out, const struct space *space, const struct strategy_options *options)
{
    return base_new(out, sizeof(struct strategy), space, options);
}

static const struct config *tournament(struct strategy *s, const size_t *best, size_t n_best)
{
    const uint64_t a = rng_below(&s->base.rng, n_best), b = rng_below(&s->base.rng, n_best);

    assert(best[a < b ? a : b] < s->base.history.n);
    return &s->base.history.items[best[a < b ? a : b]].config;
}

/* An open child of the population. ERR_NOT_FOUND when none turns up. */
static enum err child_of(struct strategy *s, const size_t *best, size_t n_best, struct config *out)
{
    struct base *b = &s->base;

    assert(n_best > 0 && n_best <= POPULATION);
    for (int i = 0; i < TRIES; i++) {
        const struct config *mother = tournament(s, best, n_best), *father = tournament(s, best, n_best);

        breed(b->ground.space, &b->rng, mother, father, out);
        if (ground_is_open(&b->ground, out))
            return ERR_OK;
    }
    return near_open(&b->ground, &b->rng, out);
}

static enum err next(struct strategy *s, struct config *out, const char **by)
{
    struct base *b = &s->base;
    size_t best[POPULATION];
    size_t n_best;

    if (b->ground.n_taken < N_INIT)
        return base_sample_apart(b, out, by);
    n_best = history_top(&b->history, POPULATION, best);
    *by = "genetic";
    if (n_best > 1 && child_of(s, best, n_best, out) == ERR_OK)
        return ERR_OK;
    return base_explore(b, out, by);
}

static enum err ask(struct strategy *s, size_t n, struct proposal *out, size_t *n_out)
{
    return base_ask(&s->base, s, next, n, out, n_out);
}

static enum err tell(struct strategy *s, const struct outcome *outcomes, size_t n)
{
    return history_tell(&s->base.history, &s->base.ground, outcomes, n);
}

const struct strategy_ops genetic_ops = {
    .name = "genetic",
    .summary = "crossover and mutation of the best configs so far",
    .init = init,
    .ask = ask,
    .tell = tell,
    .fini = base_free,
};
