/* pool.h - open configs with their features: what the model strategy chooses from. */
#ifndef TUNE_TUNER_STRATEGIES_POOL_H
#define TUNE_TUNER_STRATEGIES_POOL_H

#include "tuner/learn/features.h"
#include "tuner/strategies/history.h"

#define POOL_MAX_ALL 20000 /* open configs of a listed space are all taken up to this number */
#define POOL_TRIES 40000   /* else: uniform draws from the product, so many at most, */
#define POOL_DRAWS 4000    /* until so many are open */
#define POOL_PARENTS 8     /* whose neighbours and children join then */
#define POOL_CHILDREN 2000

struct pool {
    const struct features *features;
    struct config *configs;
    float *rows; /* [n][features->n] */
    size_t n, cap;
    enum err failed; /* sticky, while filling */
};

/* Keeps `features`. */
void pool_init(struct pool *p, const struct features *features);
void pool_fini(struct pool *p);

/* Fills the pool anew with open configs, each once, in an order that depends only on its arguments. ERR_NOMEM. */
enum err pool_fill(struct pool *p, const struct ground *ground, const struct history *history, struct rng *rng);

#endif
