/* SPDX-License-Identifier: MIT */
/* ils.c - iterated local search (Lourenco, Martin and Stutzle 2003): the best neighbour, knob by knob, of a home
 * config; when none is better for a while, a kick from one of the best and on from there. No config is tried twice, so
 * that what lies behind is tabu. */
#include "search/strategies/base.h"
#include "search/strategies/breed.h"
#include "search/strategies/near.h"

#include <assert.h>

#define N_INIT 12
#define PATIENCE 1.0 /* neighbours tried without a gain before a kick, times the number of knobs */
#define KICKED 3     /* knobs that a kick turns */
#define HOMES 4      /* best configs of which a kick starts at one */
#define TRIES 8

struct strategy {
    struct base base; /* first: base_new */
    size_t i_home;    /* item of the history; no meaning before any is ok */
    size_t n_idle;    /* told since the last gain */
};

static enum err init(struct strategy **out, const struct space *space, const struct strategy_options *options)
{
    return base_new(out, sizeof(struct strategy), space, options);
}

/* Home is one of the best now, and the config is some knobs away from it. */
static void kick(struct strategy *s, struct config *out)
{
    struct base *b = &s->base;
    size_t best[HOMES];
    const size_t n = history_top(&b->history, HOMES, best);

    assert(n > 0 && n <= HOMES);
    s->i_home = best[rng_below(&b->rng, n)];
    s->n_idle = 0;
    *out = b->history.items[s->i_home].config;
    for (int i = 0; i < KICKED; i++)
        breed_turn(b->ground.space, &b->rng, out);
}

/* A neighbour of home, open if such a one turns up soon. */
static void step(struct strategy *s, struct config *out)
{
    struct base *b = &s->base;

    for (int i = 0; i < TRIES; i++) {
        *out = b->history.items[s->i_home].config;
        breed_turn(b->ground.space, &b->rng, out);
        if (ground_is_open(&b->ground, out))
            return;
    }
}

static enum err next(struct strategy *s, struct config *out, const char **by)
{
    struct base *b = &s->base;

    if (b->ground.n_taken < N_INIT)
        return base_sample_apart(b, out, by);
    if (b->history.n_ok == 0)
        return base_explore(b, out, by);
    if ((double)s->n_idle > PATIENCE * (double)breed_n_turning(b->ground.space))
        kick(s, out);
    else
        step(s, out);
    *by = "ils";
    return near_open(&b->ground, &b->rng, out) ? base_explore(b, out, by) : ERR_OK;
}

static enum err ask(struct strategy *s, size_t n, struct proposal *out, size_t *n_out)
{
    return base_ask(&s->base, s, next, n, out, n_out);
}

static void settle(struct strategy *s, size_t i)
{
    assert(i < s->base.history.n && s->i_home < s->base.history.n);
    s->n_idle++;
    if (base_value(&s->base, i) < base_value(&s->base, s->i_home)) {
        s->i_home = i;
        s->n_idle = 0;
    }
}

static enum err tell(struct strategy *s, const struct outcome *outcomes, size_t n)
{
    return base_tell_each(&s->base, s, settle, outcomes, n);
}

const struct strategy_ops ils_ops = {
    .name = "ils",
    .summary = "iterated local search with kicks",
    .init = init,
    .ask = ask,
    .tell = tell,
    .fini = base_free,
};
