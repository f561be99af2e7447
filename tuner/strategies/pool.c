#include "tuner/strategies/pool.h"

#include "tuner/strategies/breed.h"

#include <stdlib.h>
#include <string.h>

void pool_init(struct pool *p, const struct features *features)
{
    *p = (struct pool){.features = features};
}

void pool_fini(struct pool *p)
{
    free(p->configs);
    free(p->rows);
    *p = (struct pool){0};
}

static enum err widen(struct pool *p)
{
    const size_t cap = p->cap ? 2 * p->cap : 1024;
    struct config *configs = realloc(p->configs, cap * sizeof(*configs));
    float *rows;

    if (!configs)
        return ERR_NOMEM;
    p->configs = configs;
    rows = realloc(p->rows, cap * p->features->n * sizeof(*rows) + 1);
    if (!rows)
        return ERR_NOMEM;
    p->rows = rows;
    p->cap = cap;
    return ERR_OK;
}

static void add(struct pool *p, const struct config *c)
{
    if (p->failed == ERR_OK && p->n == p->cap)
        p->failed = widen(p);
    if (p->failed)
        return;
    p->configs[p->n] = *c;
    features_row(p->features, c, p->rows + p->n * p->features->n);
    p->n++;
}

/* Configs that came another way than from the list: only open ones, and each once. */
struct filter {
    struct pool *pool;
    const struct ground *ground;
    struct ground seen; /* only its set is used */
};

static bool add_new(const struct config *c, void *arg)
{
    struct filter *f = arg;
    const uint64_t index = space_index(f->ground->space, c);

    if (!ground_is_open(f->ground, c) || ground_is_taken(&f->seen, index))
        return true;
    if (f->pool->failed == ERR_OK)
        f->pool->failed = ground_take(&f->seen, index);
    add(f->pool, c);
    return f->pool->failed == ERR_OK;
}

static void add_listed(struct pool *p, const struct ground *ground)
{
    struct config c;

    for (size_t i = 0; i < ground->n_valid; i++)
        if (!ground_is_taken(ground, ground->valid[i]) && space_at(ground->space, ground->valid[i], &c) == ERR_OK)
            add(p, &c);
}

/* Uniform draws, then what lies around the best configs. */
static void add_drawn(struct pool *p, const struct ground *ground, const struct history *history, struct rng *rng)
{
    struct filter f = {.pool = p, .ground = ground, .seen = {.space = ground->space}};
    size_t best[POOL_PARENTS];
    const size_t n_best = history_top(history, POOL_PARENTS, best);
    struct config c;

    for (size_t i = 0; i < POOL_TRIES && p->n < POOL_DRAWS; i++)
        if (space_at(ground->space, rng_below(rng, space_size(ground->space)), &c) == ERR_OK)
            add_new(&c, &f);
    for (size_t i = 0; i < n_best; i++)
        space_neighbours(ground->space, &history->items[best[i]].config, add_new, &f);
    for (size_t i = 0; n_best > 0 && i < POOL_CHILDREN; i++) {
        const struct config *mother = &history->items[best[rng_below(rng, n_best)]].config;

        breed(ground->space, rng, mother, &history->items[best[rng_below(rng, n_best)]].config, &c);
        add_new(&c, &f);
    }
    ground_fini(&f.seen);
}

enum err pool_fill(struct pool *p, const struct ground *ground, const struct history *history, struct rng *rng)
{
    p->n = 0;
    p->failed = ERR_OK;
    if (ground->is_listed && ground->n_valid <= POOL_MAX_ALL)
        add_listed(p, ground);
    else
        add_drawn(p, ground, history, rng);
    return p->failed;
}
