/* SPDX-License-Identifier: MIT */
/* grid.c - the valid configs in the order of their index: the first knob turns fastest. Complete, and blind. */
#include "search/strategies/base.h"

#include <assert.h>

#define MAX_STEPS (UINT64_C(1) << 24) /* configs looked at for one proposal */

struct strategy {
    struct base base; /* first: base_new */
    uint64_t next;    /* index in the product */
};

static enum err init(struct strategy **out, const struct space *space, const struct strategy_options *options)
{
    return base_new(out, sizeof(struct strategy), space, options);
}

/* The first open config from `next` on. ERR_NOT_FOUND at the end, or after MAX_STEPS of a sparse product. */
static enum err next(struct strategy *s, struct config *out, const char **by)
{
    const struct ground *g = &s->base.ground;
    const uint64_t size = space_size(g->space);

    *by = "grid";
    for (uint64_t i = 0; i < MAX_STEPS && s->next < size; i++)
        if (space_at(g->space, s->next++, out) == ERR_OK && ground_is_open(g, out))
            return ERR_OK;
    assert(s->next <= size);
    return ERR_NOT_FOUND;
}

static enum err ask(struct strategy *s, size_t n, struct proposal *out, size_t *n_out)
{
    return base_ask(&s->base, s, next, n, out, n_out);
}

static enum err tell(struct strategy *s, const struct outcome *outcomes, size_t n)
{
    return history_tell(&s->base.history, &s->base.ground, outcomes, n);
}

const struct strategy_ops grid_ops = {
    .name = "grid",
    .summary = "all valid configs in index order, the first knob fastest",
    .is_blind = true,
    .init = init,
    .ask = ask,
    .tell = tell,
    .fini = base_free,
};
