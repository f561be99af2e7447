/* SPDX-License-Identifier: MIT */
/* pool.h - configs with their axes and doubts: what the model strategy chooses from. Those of a small space are all
 * there from the start, taken or not; of a larger one, some open ones are gathered anew each time. */
#ifndef TUNE_SEARCH_STRATEGIES_POOL_H
#define TUNE_SEARCH_STRATEGIES_POOL_H

#include "core/err.h"
#include "search/strategies/axes.h"
#include "search/strategies/history.h"
#include "search/strategies/prior.h"

#include <stdbool.h>
#include <stddef.h>

#define POOL_MAX_ALL 20000 /* valid configs of a listed space are all taken up to this number */
#define POOL_DRAWS 4000    /* else: so many uniform draws */
#define POOL_PARENTS 8     /* whose neighbours and children join then */
#define POOL_CHILDREN 2000

struct pool {
    const struct axes *axes;
    const struct prior *prior;
    struct config *configs;
    float *rows;   /* [n][axes->n] */
    float *doubts; /* [n] */
    size_t n, cap;
    bool is_all;     /* every valid config is there, in the order of the ground's list */
    enum err failed; /* sticky, while filling */
};

/* Keeps `axes` and `prior`. */
void pool_init(struct pool *p, const struct axes *axes, const struct prior *prior);
void pool_fini(struct pool *p);

/* Fills the pool: once for a small space, else anew with open configs, each once, in an order that depends only on the
 * arguments. ERR_NOMEM. */
enum err pool_fill(struct pool *p, const struct ground *ground, const struct history *history, struct rng *rng);

/* Adds the open neighbours and children of some of its configs that are not there yet: parents[n] are their numbers.
 * Nothing where all are there. ERR_NOMEM. */
enum err pool_breed(struct pool *p, const struct ground *ground, const size_t *parents, size_t n, struct rng *rng);

#endif
