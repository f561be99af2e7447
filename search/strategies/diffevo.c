/* SPDX-License-Identifier: MIT */
/* diffevo.c - differential evolution (Storn and Price 1997) on the places of values in their lists: each member of a
 * population is challenged by a mix of itself and the best, moved by the difference of two others. */
#include "search/strategies/base.h"
#include "search/strategies/near.h"
#include "search/strategies/pending.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define MEMBERS 12
#define PULL 0.5  /* towards the best */
#define SCALE 0.6 /* of the difference of two members */
#define CROSS 0.6 /* share of knobs that a challenger takes from the mutant */
#define NONE SIZE_MAX

struct strategy {
    struct base base; /* first: base_new */
    struct pending pending;
    size_t members[MEMBERS]; /* items of the history; NONE = none yet */
    bool begun[MEMBERS];     /* a first config is out */
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

    for (size_t i = 0; e == ERR_OK && i < MEMBERS; i++)
        (*out)->members[i] = NONE;
    return e;
}

/* A value's place from a real one: the two nearest by lot, so that small moves count too. */
static uint16_t place(struct rng *rng, double x, size_t n_values)
{
    const double last = (double)(n_values - 1), low = floor(fmin(fmax(x, 0), last));

    return (uint16_t)fmin(low + (rng_unit(rng) < x - low), last);
}

static const struct config *some_member(struct strategy *s)
{
    const struct base *b = &s->base;
    const size_t start = (size_t)rng_below(&s->base.rng, MEMBERS);

    for (size_t i = 0; i < MEMBERS; i++)
        if (s->members[(start + i) % MEMBERS] != NONE)
            return &b->history.items[s->members[(start + i) % MEMBERS]].config;
    return NULL;
}

/* "current to best": knob by knob x + SCALE (best - x) + SCALE (a - b), or x where the mutant is not crossed in. */
static void challenge(struct strategy *s, size_t i_member, struct config *out)
{
    struct base *b = &s->base;
    const struct space *space = b->ground.space;
    const struct config *x = &b->history.items[s->members[i_member]].config;
    const struct config *p = some_member(s), *q = some_member(s), *best;
    const size_t kept = (size_t)rng_below(&b->rng, space_n_knobs(space));
    size_t i_best = 0;

    assert(s->members[i_member] < b->history.n && p && q && b->history.n_ok > 0);
    history_top(&b->history, 1, &i_best);
    best = &b->history.items[i_best].config;
    *out = *x;
    for (size_t i = 0; i < space_n_knobs(space); i++) {
        const double from = x->choice[i], to = best->choice[i];
        const double moved = from + PULL * (to - from) + SCALE * ((double)p->choice[i] - (double)q->choice[i]);

        if (i == kept || rng_unit(&b->rng) < CROSS)
            out->choice[i] = place(&b->rng, moved, space_n_values(space, i));
    }
}

static enum err begin(struct strategy *s, size_t i_member, struct config *out, const char **by)
{
    struct base *b = &s->base;
    enum err e = base_sample_apart(b, out, by);

    if (e == ERR_OK)
        e = pending_add(&s->pending, space_index(b->ground.space, out), i_member);
    s->begun[i_member] = e == ERR_OK;
    return e;
}

static enum err next(struct strategy *s, struct config *out, const char **by)
{
    struct base *b = &s->base;
    const size_t first = s->i_next;

    for (size_t i = 0; i < MEMBERS; i++)
        if (!s->begun[i])
            return begin(s, i, out, by);
    do
        s->i_next = (s->i_next + 1) % MEMBERS;
    while (s->members[s->i_next] == NONE && s->i_next != first);
    if (s->members[s->i_next] == NONE || b->history.n_ok < 2)
        return base_explore(b, out, by);
    *by = "diffevo";
    challenge(s, s->i_next, out);
    if (near_open(&b->ground, &b->rng, out))
        return base_explore(b, out, by);
    return pending_add(&s->pending, space_index(b->ground.space, out), s->i_next);
}

static enum err ask(struct strategy *s, size_t n, struct proposal *out, size_t *n_out)
{
    return base_ask(&s->base, s, next, n, out, n_out);
}

/* The member that a config nobody asked for may challenge: one that has not begun, else the worst. */
static size_t weakest(const struct strategy *s)
{
    size_t worst = 0;

    for (size_t i = 0; i < MEMBERS; i++) {
        if (!s->begun[i])
            return i;
        if (s->members[i] != NONE && (s->members[worst] == NONE ||
                                      base_value(&s->base, s->members[i]) > base_value(&s->base, s->members[worst])))
            worst = i;
    }
    return worst;
}

static bool is_member(const struct strategy *s, size_t item)
{
    for (size_t i = 0; i < MEMBERS; i++)
        if (s->members[i] == item)
            return true;
    return false;
}

/* A challenger that is no worse than its member takes the place. */
static void settle(struct strategy *s, size_t item)
{
    const struct base *b = &s->base;
    size_t i_member;

    if (!pending_take(&s->pending, space_index(b->ground.space, &b->history.items[item].config), &i_member)) {
        if (is_member(s, item))
            return;
        i_member = weakest(s);
    }
    assert(i_member < MEMBERS && item < b->history.n);
    s->begun[i_member] = true;
    if (s->members[i_member] == NONE || base_value(b, item) <= base_value(b, s->members[i_member]))
        s->members[i_member] = item;
}

static enum err tell(struct strategy *s, const struct outcome *outcomes, size_t n)
{
    return base_tell_each(&s->base, s, settle, outcomes, n);
}

const struct strategy_ops diffevo_ops = {
    .name = "diffevo",
    .summary = "differential evolution of a small population",
    .init = init,
    .ask = ask,
    .tell = tell,
    .fini = fini,
};
