/* SPDX-License-Identifier: MIT */
/* pso.c - particle swarm optimisation (Kennedy and Eberhart 1995) on the places of values in their lists: each particle
 * flies on, drawn to the best it has seen and to the best of all. */
#include "search/strategies/base.h"
#include "search/strategies/near.h"
#include "search/strategies/pending.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define PARTICLES 12
#define INERTIA 0.5
#define OWN 1.2    /* pull of a particle's own best, times a uniform draw */
#define SHARED 1.8 /* and of the best of all */
#define NONE SIZE_MAX

struct particle {
    double x[SPACE_MAX_KNOBS], v[SPACE_MAX_KNOBS]; /* places in the lists of values, and moves of them */
    size_t best;                                   /* item of the history; NONE = none yet */
    bool begun;
};

struct strategy {
    struct base base; /* first: base_new */
    struct pending pending;
    struct particle particles[PARTICLES];
    size_t i_next;
};

static void fini(struct strategy *s)
{
    if (s)
        pending_fini(&s->pending);
    base_free(s);
}

static enum err init(struct strategy **out, const struct space *space, const struct strategy_options *options)
{
    const enum err e = base_new(out, sizeof(struct strategy), space, options);

    for (size_t i = 0; e == ERR_OK && i < PARTICLES; i++)
        (*out)->particles[i].best = NONE;
    return e;
}

static void put(struct strategy *s, struct particle *p, const struct config *c)
{
    const struct space *space = s->base.ground.space;

    for (size_t i = 0; i < space_n_knobs(space); i++) {
        p->x[i] = c->choice[i];
        p->v[i] = (rng_unit(&s->base.rng) - 0.5) * (double)(space_n_values(space, i) - 1);
    }
    p->begun = true;
}

/* One move, and the config at its end: each place the nearest value's, never out of the list. */
static void fly(struct strategy *s, struct particle *p, struct config *out)
{
    struct base *b = &s->base;
    const struct space *space = b->ground.space;
    const struct config *own = &b->history.items[p->best].config, *shared;
    size_t i_shared = 0;

    assert(p->best < b->history.n && b->history.n_ok > 0);
    history_top(&b->history, 1, &i_shared);
    shared = &b->history.items[i_shared].config;
    *out = (struct config){{0}};
    for (size_t i = 0; i < space_n_knobs(space); i++) {
        const double last = (double)(space_n_values(space, i) - 1);
        const double to_own = OWN * rng_unit(&b->rng) * ((double)own->choice[i] - p->x[i]);
        const double to_shared = SHARED * rng_unit(&b->rng) * ((double)shared->choice[i] - p->x[i]);

        p->v[i] = fmin(fmax(INERTIA * p->v[i] + to_own + to_shared, -last), last);
        p->x[i] = fmin(fmax(p->x[i] + p->v[i], 0), last);
        out->choice[i] = (uint16_t)lround(p->x[i]);
        assert(out->choice[i] < space_n_values(space, i));
    }
}

static enum err next(struct strategy *s, struct config *out, const char **by)
{
    struct base *b = &s->base;
    struct particle *p = &s->particles[s->i_next];
    const size_t i = s->i_next;
    enum err e;

    s->i_next = (s->i_next + 1) % PARTICLES;
    if (!p->begun) {
        e = base_sample_apart(b, out, by);
        if (e)
            return e;
        put(s, p, out);
        return pending_add(&s->pending, space_index(b->ground.space, out), i);
    }
    *by = "pso";
    if (p->best == NONE || b->history.n_ok == 0)
        return base_explore(b, out, by);
    fly(s, p, out);
    if (near_open(&b->ground, &b->rng, out))
        return base_explore(b, out, by);
    return pending_add(&s->pending, space_index(b->ground.space, out), i);
}

static enum err ask(struct strategy *s, size_t n, struct proposal *out, size_t *n_out)
{
    return base_ask(&s->base, s, next, n, out, n_out);
}

/* The particle that a config nobody asked for may inform: one that has not begun, else that with the worst best. */
static size_t weakest(const struct strategy *s)
{
    size_t worst = 0;

    for (size_t i = 0; i < PARTICLES; i++) {
        const struct particle *p = &s->particles[i], *w = &s->particles[worst];

        if (!p->begun)
            return i;
        if (p->best != NONE && (w->best == NONE || base_value(&s->base, p->best) > base_value(&s->base, w->best)))
            worst = i;
    }
    return worst;
}

static void settle(struct strategy *s, size_t item)
{
    const struct base *b = &s->base;
    const struct config *c = &b->history.items[item].config;
    struct particle *p;
    size_t i;

    if (!pending_take(&s->pending, space_index(b->ground.space, c), &i))
        i = weakest(s);
    assert(i < PARTICLES && item < b->history.n);
    p = &s->particles[i];
    if (!p->begun)
        put(s, p, c);
    if (p->best == NONE || base_value(b, item) < base_value(b, p->best))
        p->best = item;
}

static enum err tell(struct strategy *s, const struct outcome *outcomes, size_t n)
{
    return base_tell_each(&s->base, s, settle, outcomes, n);
}

const struct strategy_ops pso_ops = {
    .name = "pso",
    .summary = "particle swarm over the places of values",
    .init = init,
    .ask = ask,
    .tell = tell,
    .fini = fini,
};
