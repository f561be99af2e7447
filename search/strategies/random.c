/* SPDX-License-Identifier: MIT */
/* random.c - uniform draws without replacement: what every other strategy is measured against. */
#include "search/strategies/base.h"

struct strategy {
    struct base base; /* first: base_new */
};

static enum err init(struct strategy **out, const struct space *space, const struct strategy_options *options)
{
    return base_new(out, sizeof(struct strategy), space, options);
}

static enum err next(struct strategy *s, struct config *out, const char **by)
{
    *by = "random";
    return ground_sample(&s->base.ground, &s->base.rng, out);
}

static enum err ask(struct strategy *s, size_t n, struct proposal *out, size_t *n_out)
{
    return base_ask(&s->base, s, next, n, out, n_out);
}

static enum err tell(struct strategy *s, const struct outcome *outcomes, size_t n)
{
    return history_tell(&s->base.history, &s->base.ground, outcomes, n);
}

const struct strategy_ops random_ops = {
    .name = "random",
    .summary = "uniform draws without replacement",
    .is_blind = true,
    .init = init,
    .ask = ask,
    .tell = tell,
    .fini = base_free,
};
