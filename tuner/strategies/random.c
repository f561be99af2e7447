/* random.c - uniform draws without replacement: what every other strategy is measured against. */
#include "tuner/strategies/table.h"

#include "tuner/strategies/start.h"

#include <stdlib.h>

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

static enum err ask(struct strategy *s, size_t n, struct proposal *out, size_t *n_out)
{
    size_t n_done = 0;
    enum err e = start_ask(&s->start, &s->ground, n, out, &n_done);

    while (e == ERR_OK && n_done < n) {
        struct config c;

        e = ground_sample(&s->ground, &s->rng, &c);
        if (e == ERR_OK)
            e = propose(&s->ground, &c, "random", out, &n_done);
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

const struct strategy_ops random_ops = {"random", "uniform draws without replacement", init, ask, tell, fini};
