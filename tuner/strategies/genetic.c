/* genetic.c - a steady population of the best configs told; children by uniform crossover of two tournament winners and
 * mutation of single knobs (Goldberg 1989). Needs no model, and no scale of the values: only their order. */
#include "tuner/strategies/table.h"

#include "tuner/strategies/breed.h"
#include "tuner/strategies/start.h"

#include <stdlib.h>

#define POPULATION 16
#define TRIES 64 /* children tried for one proposal */

struct strategy {
    struct start start;
    struct ground ground;
    struct history history;
    struct rng rng;
};

static void fini(struct strategy *s)
{
    if (!s)
        return;
    start_fini(&s->start);
    ground_fini(&s->ground);
    history_fini(&s->history);
    free(s);
}

static enum err init(struct strategy **out, const struct space *space, const struct strategy_options *options)
{
    struct strategy *s = calloc(1, sizeof(*s));
    enum err e = s ? ground_init(&s->ground, space) : ERR_NOMEM;

    if (e == ERR_OK)
        e = start_init(&s->start, options);
    if (e) {
        fini(s);
        return e;
    }
    rng_init(&s->rng, options->seed);
    *out = s;
    return ERR_OK;
}

static const struct config *tournament(struct strategy *s, const size_t *best, size_t n_best)
{
    const uint64_t a = rng_below(&s->rng, n_best), b = rng_below(&s->rng, n_best);

    return &s->history.items[best[a < b ? a : b]].config;
}

/* An open child of the population. ERR_NOT_FOUND when none turns up. */
static enum err child_of(struct strategy *s, const size_t *best, size_t n_best, struct config *out)
{
    for (int i = 0; i < TRIES; i++) {
        const struct config *mother = tournament(s, best, n_best), *father = tournament(s, best, n_best);

        breed(s->ground.space, &s->rng, mother, father, out);
        if (ground_is_open(&s->ground, out))
            return ERR_OK;
    }
    return ERR_NOT_FOUND;
}

static enum err ask(struct strategy *s, size_t n, struct proposal *out, size_t *n_out)
{
    size_t best[POPULATION], n_done = 0;
    const size_t n_best = history_top(&s->history, POPULATION, best);
    enum err e = start_ask(&s->start, &s->ground, n, out, &n_done);

    while (e == ERR_OK && n_done < n) {
        const bool is_first = s->ground.n_taken < POPULATION || n_best < 2;
        struct config c;

        e = is_first ? ERR_NOT_FOUND : child_of(s, best, n_best, &c);
        if (e == ERR_OK) {
            e = propose(&s->ground, &c, "genetic", out, &n_done);
            continue;
        }
        e = ground_sample(&s->ground, &s->rng, &c);
        if (e == ERR_OK)
            e = propose(&s->ground, &c, is_first ? "init" : "explore", out, &n_done);
    }
    if (e && e != ERR_NOT_FOUND)
        return e;
    *n_out = n_done;
    return ERR_OK;
}

static enum err tell(struct strategy *s, const struct outcome *outcomes, size_t n)
{
    return history_tell(&s->history, &s->ground, outcomes, n);
}

const struct strategy_ops genetic_ops = {
    "genetic", "crossover and mutation of the best configs so far", init, ask, tell, fini};
