/* SPDX-License-Identifier: MIT */
/* annealing.c - simulated annealing (Kirkpatrick, Gelatt and Vecchi 1983): a walk over neighbours that also accepts
 * worse configs, fewer and fewer as it cools. A batch is a handful of steps tried from one place. */
#include "search/strategies/base.h"
#include "core/err.h"
#include "search/strategies/breed.h"
#include "search/strategies/near.h"

#include <assert.h>
#include <math.h>

#define N_INIT 12
#define HOT 0.1 /* first and last temperature, as shares of what separates the median from the best told */
#define COLD 0.002
#define PERIOD 200 /* results told until it is cold, where no budget is known */
#define STUCK 24   /* results without a step, then it walks on from the best */
#define SECOND 0.3 /* share of steps that turn two knobs */
#define TRIES 8    /* steps drawn for one proposal, before one that is not open is moved to the nearest that is */

struct strategy {
    struct base base; /* first: base_new */
    size_t i_current; /* item of the history; no meaning before any is ok */
    size_t n_told, n_stuck;
};

static enum err init(struct strategy **out, const struct space *space, const struct strategy_options *options)
{
    return base_new(out, sizeof(struct strategy), space, options);
}

static enum err step(struct strategy *s, struct config *out)
{
    struct base *b = &s->base;

    assert(s->i_current < b->history.n);
    for (int i = 0; i < TRIES; i++) {
        *out = b->history.items[s->i_current].config;
        breed_turn(b->ground.space, &b->rng, out);
        if (rng_unit(&b->rng) < SECOND)
            breed_turn(b->ground.space, &b->rng, out);
        if (ground_is_open(&b->ground, out))
            return ERR_OK;
    }
    return near_open(&b->ground, &b->rng, out);
}

static enum err next(struct strategy *s, struct config *out, const char **by)
{
    struct base *b = &s->base;

    if (b->ground.n_taken < N_INIT)
        return base_sample_apart(b, out, by);
    *by = "annealing";
    if (b->history.n_ok > 0 && step(s, out) == ERR_OK)
        return ERR_OK;
    return base_explore(b, out, by);
}

static enum err ask(struct strategy *s, size_t n, struct proposal *out, size_t *n_out)
{
    return base_ask(&s->base, s, next, n, out, n_out);
}

static double temperature(struct strategy *s)
{
    const double period = s->base.budget ? (double)s->base.budget : PERIOD;
    const double share = fmod((double)s->n_told, period) / period;

    assert(share >= 0 && share < 1);
    return history_spread(&s->base.history) * HOT * pow(COLD / HOT, share);
}

/* Metropolis: a better config is always the next place, a worse one with probability exp(-loss / temperature). */
static void consider(struct strategy *s, size_t i)
{
    struct base *b = &s->base;
    const double loss = base_value(b, i) - base_value(b, s->i_current);
    size_t best;

    s->n_told++;
    s->n_stuck++;
    if (i == s->i_current || loss <= 0 || rng_unit(&b->rng) < exp(-loss / temperature(s))) {
        s->i_current = i;
        s->n_stuck = 0;
    } else if (s->n_stuck >= STUCK && history_top(&b->history, 1, &best) == 1) {
        s->i_current = best;
        s->n_stuck = 0;
    }
}

static enum err tell(struct strategy *s, const struct outcome *outcomes, size_t n)
{
    struct base *b = &s->base;
    const enum err e = history_tell(&b->history, &b->ground, outcomes, n);

    for (size_t i = 0; e == ERR_OK && i < n; i++)
        consider(s, history_find(&b->history, b->ground.space, &outcomes[i].config));
    return e;
}

const struct strategy_ops annealing_ops = {
    .name = "annealing",
    .summary = "simulated annealing: a walk that accepts ever fewer losses",
    .init = init,
    .ask = ask,
    .tell = tell,
    .fini = base_free,
};
