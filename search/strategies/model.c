/* SPDX-License-Identifier: MIT */
/* model.c - a few likely and spread-out configs, then the open config from which the model expects to gain most, again
 * and again. Few measurements are modelled by a Gaussian process; many, or where a cost model is named, by that. */
#include "core/err.h"
#include "core/vec.h"
#include "search/strategies/base.h"
#include "search/strategies/scorer.h"
#include "search/strategies/near.h"
#include "search/strategies/surrogate.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COST 1.0    /* power of the expected cost that a gain is divided by, in auto */
#define N_INIT 4    /* configs of the start, earlier results included */
#define DRAWS 16    /* likely draws for each of them */
#define NEAR 0.1    /* share of picks that differ in one knob at most from one of */
#define NEAR_BEST 3 /* so many best configs */
#define TRIES 64    /* uniform draws for a likely one */
#define LIKELY 0.17 /* chance of a draw to be taken, by each doubt */

struct strategy {
    struct base base;
    struct axes axes;
    struct prior prior;
    struct pool pool;
    struct surrogate surrogate;
    struct scorer scorer;
    const struct model_ops *named; /* cost model asked for, or NULL */
    struct config *awaited;        /* proposed and not told yet */
    size_t n_awaited, cap_awaited;
};

static void fini(struct strategy *s)
{
    if (!s)
        return;
    base_fini(&s->base);
    axes_fini(&s->axes);
    prior_fini(&s->prior);
    pool_fini(&s->pool);
    surrogate_fini(&s->surrogate);
    scorer_fini(&s->scorer);
    free(s->awaited);
    free(s);
}

static enum err init_with(double cost_power, const struct space *space, const struct strategy_options *options,
                          struct strategy **out)
{
    struct strategy *s = calloc(1, sizeof(*s));
    enum err e = s ? base_init(&s->base, space, options) : ERR_NOMEM;

    if (e == ERR_OK)
        e = prior_init(&s->prior, space);
    if (e == ERR_OK)
        e = axes_init(&s->axes, space, s->prior.items);
    if (e == ERR_OK)
        e = surrogate_init(&s->surrogate, &s->axes, &s->prior);
    if (e == ERR_OK && options->cost_model && !(s->named = model_find(options->cost_model)))
        e = ERR_INPUT;
    if (e) {
        fini(s);
        return e;
    }
    s->surrogate.cost_power = cost_power;
    pool_init(&s->pool, &s->axes, &s->prior);
    scorer_init(&s->scorer, space, s->named ? s->named : model_table[0], options->seed);
    *out = s;
    return ERR_OK;
}

static enum err init(struct strategy **out, const struct space *space, const struct strategy_options *options)
{
    return init_with(0, space, options, out);
}

static enum err init_auto(struct strategy **out, const struct space *space, const struct strategy_options *options)
{
    return init_with(COST, space, options, out);
}

/* An open config that little speaks against: each doubt makes it less likely. */
static enum err draw_likely(struct strategy *s, struct config *out)
{
    double least = INFINITY;

    for (int i = 0; i < TRIES; i++) {
        struct config c;
        const enum err e = ground_sample(&s->base.ground, &s->base.rng, &c);
        double doubts;

        if (e)
            return e;
        doubts = prior_doubts(&s->prior, &c);
        if (doubts < least) {
            least = doubts;
            *out = c;
        }
        if (rng_unit(&s->base.rng) < pow(LIKELY, doubts)) {
            *out = c;
            return ERR_OK;
        }
    }
    assert(isfinite(least)); /* one was drawn */
    return ERR_OK;
}

/* Of some likely draws the one farthest from all that was told or is awaited. */
static enum err draw_apart(struct strategy *s, struct config *out)
{
    const struct history *h = &s->base.history;
    const struct space *space = s->base.ground.space;
    double farthest = -1;

    for (int i = 0; i < DRAWS; i++) {
        double nearest = INFINITY;
        struct config c;
        const enum err e = draw_likely(s, &c);

        if (e)
            return e;
        for (size_t j = 0; j < h->n; j++)
            nearest = fmin(nearest, near_distance(space, &c, &h->items[j].config));
        for (size_t j = 0; j < s->n_awaited; j++)
            nearest = fmin(nearest, near_distance(space, &c, &s->awaited[j]));
        if (nearest > farthest) {
            farthest = nearest;
            *out = c;
        }
    }
    assert(farthest >= 0); /* one was drawn */
    return ERR_OK;
}

static enum err await(struct strategy *s, const struct config *c)
{
    const enum err e = VEC_ROOM(s->awaited, s->cap_awaited, s->n_awaited + 1, VEC_ANY);

    if (e == ERR_OK)
        s->awaited[s->n_awaited++] = *c;
    return e;
}

static enum err put(struct strategy *s, const struct config *c, const char *by, struct proposal *out, size_t *n_out)
{
    const enum err e = propose(&s->base.ground, c, by, out, n_out);

    return e ? e : await(s, c);
}

/* Spread-out configs until there are N_INIT, and, while nothing has succeeded, on and on. */
static enum err ask_init(struct strategy *s, size_t n, struct proposal *out, size_t *n_out)
{
    enum err e = ERR_OK;

    while (e == ERR_OK && *n_out < n && (s->base.ground.n_taken < N_INIT || s->base.history.n_ok == 0)) {
        struct config c;

        e = draw_apart(s, &c);
        if (e == ERR_OK)
            e = put(s, &c, "init", out, n_out);
    }
    return e;
}

/* True for a config that differs from one of the best in one knob at most. */
static bool is_near(const struct strategy *s, const struct config *c, const size_t *best, size_t n_best)
{
    const size_t n_knobs = space_n_knobs(s->base.ground.space);

    for (size_t i = 0; i < n_best; i++) {
        const struct config *b = &s->base.history.items[best[i]].config;
        size_t apart = 0;

        for (size_t k = 0; k < n_knobs && apart < 2; k++)
            apart += c->choice[k] != b->choice[k];
        if (apart < 2)
            return true;
    }
    return false;
}

/* The open config of the pool with the highest gain, or the number of configs there when none is open. */
static size_t best_of(const struct strategy *s, const double *gain, bool near)
{
    size_t best[8];
    const size_t n_best = near ? history_top(&s->base.history, (size_t)NEAR_BEST, best) : 0;
    const struct ground *g = &s->base.ground;
    double most = -INFINITY;
    size_t i_best = s->pool.n;

    assert(n_best <= (size_t)NEAR_BEST && (size_t)NEAR_BEST <= sizeof best / sizeof best[0]);
    for (size_t i = 0; i < s->pool.n; i++)
        if (gain[i] > most && (!near || is_near(s, &s->pool.configs[i], best, n_best)) &&
            !ground_is_taken(g, space_index(g->space, &s->pool.configs[i]))) {
            most = gain[i];
            i_best = i;
        }
    return i_best;
}

/* Numbers of some configs of the highest gain, of a pool that is not all of the space. */
static size_t top_of(const struct strategy *s, const double *gain, size_t *top)
{
    size_t n = 0;

    for (size_t i = 0; i < s->pool.n; i++) {
        size_t place = n;

        while (place > 0 && gain[top[place - 1]] < gain[i])
            place--;
        if (place == POOL_PARENTS)
            continue;
        n += n < POOL_PARENTS;
        for (size_t j = n - 1; j > place; j--)
            top[j] = top[j - 1];
        top[place] = i;
        assert(place < n && n <= POOL_PARENTS);
        assert(place + 1 == n || gain[top[place + 1]] < gain[i]); /* descending */
    }
    return n;
}

#define GENERATIONS 3 /* of configs bred from those of the highest gain, where a pool is not all of the space */

/* The gains of all configs of the pool, which may grow by what is bred from the best of them. */
static enum err look(struct strategy *s, double **gain)
{
    enum err e = surrogate_look(&s->surrogate, &s->pool, !s->pool.is_all);
    size_t cap = 0;

    for (int i = 0; e == ERR_OK; i++) {
        size_t top[POOL_PARENTS], n_top;

        e = VEC_ROOM(*gain, cap, s->pool.n, VEC_ANY);
        if (e)
            break;
        surrogate_gain(&s->surrogate, &s->pool, *gain);
        if (s->pool.is_all || i == GENERATIONS)
            break;
        n_top = top_of(s, *gain, top);
        e = pool_breed(&s->pool, &s->base.ground, top, n_top, &s->base.rng);
        if (e == ERR_OK)
            e = surrogate_look(&s->surrogate, &s->pool, true);
    }
    return e;
}

static enum err ask_surrogate(struct strategy *s, size_t n, struct proposal *out, size_t *n_out)
{
    double *gain = NULL;
    enum err e = surrogate_learn(&s->surrogate, &s->base.history, s->awaited, s->n_awaited);

    if (e == ERR_OK)
        e = pool_fill(&s->pool, &s->base.ground, &s->base.history, &s->base.rng);
    if (e == ERR_OK)
        e = look(s, &gain);
    while (e == ERR_OK && *n_out < n) {
        const bool near = rng_unit(&s->base.rng) < NEAR;
        size_t i = best_of(s, gain, near);

        if (near && i == s->pool.n)
            i = best_of(s, gain, false);
        if (i == s->pool.n)
            break;
        e = put(s, &s->pool.configs[i], "model", out, n_out);
        if (e == ERR_OK && *n_out < n)
            e = surrogate_expect(&s->surrogate, &s->pool, i);
        if (e == ERR_OK)
            surrogate_gain(&s->surrogate, &s->pool, gain);
    }
    free(gain);
    return e;
}

static enum err ask_scorer(struct strategy *s, size_t n, struct proposal *out, size_t *n_out)
{
    double *gain = NULL;
    enum err e = pool_fill(&s->pool, &s->base.ground, &s->base.history, &s->base.rng);

    if (e == ERR_OK)
        gain = malloc(s->pool.n * sizeof(*gain) + 1);
    if (e == ERR_OK)
        e = gain ? scorer_gain(&s->scorer, &s->base.history, &s->pool, gain) : ERR_NOMEM;
    while (e == ERR_OK && *n_out < n) {
        const size_t i = best_of(s, gain, false);

        if (i == s->pool.n)
            break;
        e = put(s, &s->pool.configs[i], "model", out, n_out);
    }
    free(gain);
    return e;
}

static enum err ask(struct strategy *s, size_t n, struct proposal *out, size_t *n_out)
{
    const struct history *h = &s->base.history;
    size_t n_done = 0;
    enum err e = start_ask(&s->base.start, &s->base.ground, n, out, &n_done);

    for (size_t i = 0; e == ERR_OK && i < n_done; i++)
        e = await(s, &out[i].config);
    if (e == ERR_OK)
        e = ask_init(s, n, out, &n_done);
    if (e == ERR_OK && n_done < n) {
        if (s->named || h->n + s->n_awaited + (n - n_done) > SURROGATE_MAX)
            e = ask_scorer(s, n, out, &n_done);
        else
            e = ask_surrogate(s, n, out, &n_done);
    }
    while (e == ERR_OK && n_done < n) { /* the pool is used up: draw */
        struct config c;

        e = ground_sample(&s->base.ground, &s->base.rng, &c);
        if (e == ERR_OK)
            e = put(s, &c, "explore", out, &n_done);
    }
    assert(n_done <= n);
    if (e && e != ERR_NOT_FOUND)
        return e;
    *n_out = n_done;
    return ERR_OK;
}

static void forget_awaited(struct strategy *s, const struct config *c)
{
    for (size_t i = 0; i < s->n_awaited; i++)
        if (space_config_equal(s->base.ground.space, &s->awaited[i], c)) {
            s->awaited[i] = s->awaited[--s->n_awaited];
            return;
        }
}

static enum err tell(struct strategy *s, const struct outcome *outcomes, size_t n)
{
    const enum err e = history_tell(&s->base.history, &s->base.ground, outcomes, n);

    for (size_t i = 0; e == ERR_OK && i < n; i++)
        forget_awaited(s, &outcomes[i].config);
    return e;
}

const struct strategy_ops model_strategy_ops = {
    .name = "model",
    .summary = "expected improvement by a model of what was measured",
    .has_cost_model = true,
    .init = init,
    .ask = ask,
    .tell = tell,
    .fini = fini,
};

const struct strategy_ops auto_ops = {
    .name = "auto",
    .summary = "needs no choice: model, and cheap evaluations first; the default",
    .has_cost_model = true,
    .init = init_auto,
    .ask = ask,
    .tell = tell,
    .fini = fini,
};
