/* grid.c - the valid configs in the order of their index: the first knob turns fastest. Complete, and blind. */
#include "tuner/strategies/table.h"

#include "tuner/strategies/start.h"

#include <stdlib.h>

#define MAX_STEPS (UINT64_C(1) << 24) /* configs looked at for one proposal */

struct strategy {
    struct start start;
    struct ground ground;
    struct history history;
    uint64_t next; /* index in the product */
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
    *out = s;
    return ERR_OK;
}

/* The first open config from `next` on. ERR_NOT_FOUND at the end, or after MAX_STEPS of a sparse product. */
static enum err step(struct strategy *s, struct config *c)
{
    const uint64_t size = space_size(s->ground.space);

    for (uint64_t i = 0; i < MAX_STEPS && s->next < size; i++)
        if (space_at(s->ground.space, s->next++, c) == ERR_OK && ground_is_open(&s->ground, c))
            return ERR_OK;
    return ERR_NOT_FOUND;
}

static enum err ask(struct strategy *s, size_t n, struct proposal *out, size_t *n_out)
{
    size_t n_done = 0;
    enum err e = start_ask(&s->start, &s->ground, n, out, &n_done);

    while (e == ERR_OK && n_done < n) {
        struct config c;

        e = step(s, &c);
        if (e == ERR_OK)
            e = propose(&s->ground, &c, "grid", out, &n_done);
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

const struct strategy_ops grid_ops = {
    "grid", "all valid configs in index order, the first knob fastest", init, ask, tell, fini};
