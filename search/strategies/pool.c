/* SPDX-License-Identifier: MIT */
#include "search/strategies/pool.h"

#include "core/err.h"
#include "core/vec.h"
#include "search/strategies/breed.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void pool_init(struct pool *p, const struct axes *axes, const struct prior *prior)
{
    *p = (struct pool){.axes = axes, .prior = prior};
}

void pool_fini(struct pool *p)
{
    free(p->configs);
    free(p->rows);
    free(p->doubts);
    *p = (struct pool){0};
}

static enum err widen(struct pool *p)
{
    size_t cap_configs = p->cap, cap_rows = cap_configs;
    enum err e = VEC_ROOM(p->configs, cap_configs, p->n + 1, VEC_ANY);

    if (!e)
        e = vec_room(&p->rows, &cap_rows, p->n + 1, VEC_ANY, p->axes->n * sizeof *p->rows);
    return e ? e : VEC_ROOM(p->doubts, p->cap, p->n + 1, VEC_ANY);
}

static void add(struct pool *p, const struct config *c)
{
    if (p->failed == ERR_OK)
        p->failed = widen(p);
    if (p->failed)
        return;
    assert(p->n < p->cap);
    p->configs[p->n] = *c;
    p->doubts[p->n] = (float)prior_doubts(p->prior, c);
    axes_row(p->axes, c, p->rows + p->n * p->axes->n);
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
        if (space_at(ground->space, ground->valid[i], &c) == ERR_OK)
            add(p, &c);
    p->is_all = true;
}

/* The neighbours of the parents, then children of two each. */
static void add_family(struct filter *f, const struct config *const *parents, size_t n, size_t n_children,
                       struct rng *rng)
{
    const struct space *space = f->ground->space;
    struct config child;

    for (size_t i = 0; i < n; i++)
        space_neighbours(space, parents[i], add_new, f);
    for (size_t i = 0; n > 0 && i < n_children; i++) {
        const struct config *mother = parents[rng_below(rng, n)];

        breed(space, rng, mother, parents[rng_below(rng, n)], &child);
        add_new(&child, f);
    }
}

/* Uniform draws, then what lies around the best configs. */
static void add_drawn(struct pool *p, const struct ground *ground, const struct history *history, struct rng *rng)
{
    struct filter f = {.pool = p, .ground = ground, .seen = {.space = ground->space}};
    const struct config *parents[POOL_PARENTS];
    size_t best[POOL_PARENTS];
    const size_t n_best = history_top(history, POOL_PARENTS, best);
    struct config c;

    for (size_t i = 0; i < POOL_DRAWS && ground_sample(ground, rng, &c) == ERR_OK; i++)
        add_new(&c, &f);
    for (size_t i = 0; i < n_best; i++)
        parents[i] = &history->items[best[i]].config;
    add_family(&f, parents, n_best, POOL_CHILDREN, rng);
    ground_fini(&f.seen);
}

enum err pool_fill(struct pool *p, const struct ground *ground, const struct history *history, struct rng *rng)
{
    if (p->is_all)
        return ERR_OK;
    p->n = 0;
    p->failed = ERR_OK;
    if (ground->is_listed && ground->n_valid <= POOL_MAX_ALL)
        add_listed(p, ground);
    else
        add_drawn(p, ground, history, rng);
    return p->failed;
}

enum err pool_breed(struct pool *p, const struct ground *ground, const size_t *parents, size_t n, struct rng *rng)
{
    struct filter f = {.pool = p, .ground = ground, .seen = {.space = ground->space}};
    struct config copies[POOL_PARENTS];
    const struct config *list[POOL_PARENTS];

    if (p->is_all)
        return ERR_OK;
    n = n < POOL_PARENTS ? n : POOL_PARENTS;
    for (size_t i = 0; i < n; i++) {
        assert(parents[i] < p->n);
        copies[i] = p->configs[parents[i]]; /* the pool may move while it grows */
        list[i] = &copies[i];
    }
    for (size_t i = 0; p->failed == ERR_OK && i < p->n; i++)
        p->failed = ground_take(&f.seen, space_index(ground->space, &p->configs[i]));
    add_family(&f, list, n, POOL_CHILDREN / 4, rng);
    ground_fini(&f.seen);
    return p->failed;
}
