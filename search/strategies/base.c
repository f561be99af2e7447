/* SPDX-License-Identifier: MIT */
#include "search/strategies/base.h"

#include "core/err.h"
#include "search/strategies/near.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define DRAWS 16 /* uniform draws for one config of a spread-out start */

enum err base_init(struct base *b, const struct space *space, const struct strategy_options *options)
{
    enum err e;

    *b = (struct base){.budget = options->budget};
    rng_init(&b->rng, options->seed);
    history_init(&b->history);
    e = ground_init(&b->ground, space);
    return e ? e : start_init(&b->start, options);
}

void base_fini(struct base *b)
{
    start_fini(&b->start);
    ground_fini(&b->ground);
    history_fini(&b->history);
}

enum err base_new(struct strategy **out, size_t n_bytes, const struct space *space,
                  const struct strategy_options *options)
{
    struct base *b = calloc(1, n_bytes);
    const enum err e = b ? base_init(b, space, options) : ERR_NOMEM;

    assert(n_bytes >= sizeof *b);
    if (e)
        base_free((struct strategy *)b);
    else
        *out = (struct strategy *)b;
    return e;
}

void base_free(struct strategy *s)
{
    if (!s)
        return;
    base_fini((struct base *)s);
    free(s);
}

enum err base_ask(struct base *b, struct strategy *s, base_next *next, size_t n, struct proposal *out, size_t *n_out)
{
    size_t n_done = 0;
    enum err e = start_ask(&b->start, &b->ground, n, out, &n_done);

    while (e == ERR_OK && n_done < n) {
        const char *by = "explore";
        struct config c;

        e = next(s, &c, &by);
        if (e == ERR_OK)
            e = propose(&b->ground, &c, by, out, &n_done);
    }
    if (e && e != ERR_NOT_FOUND)
        return e;
    assert(n_done <= n);
    *n_out = n_done;
    return ERR_OK;
}

enum err base_tell_each(struct base *b, struct strategy *s, void (*settle)(struct strategy *s, size_t item),
                        const struct outcome *outcomes, size_t n)
{
    const enum err e = history_tell(&b->history, &b->ground, outcomes, n);

    for (size_t i = 0; e == ERR_OK && i < n; i++)
        settle(s, history_find(&b->history, b->ground.space, &outcomes[i].config));
    return e;
}

enum err base_explore(struct base *b, struct config *out, const char **by)
{
    *by = "explore";
    return ground_sample(&b->ground, &b->rng, out);
}

enum err base_sample_apart(struct base *b, struct config *out, const char **by)
{
    double farthest = -1;

    *by = "init";
    if (b->n_apart == BASE_APART)
        return ground_sample(&b->ground, &b->rng, out);
    for (int i = 0; i < DRAWS; i++) {
        double nearest = INFINITY;
        struct config c;
        const enum err e = ground_sample(&b->ground, &b->rng, &c);

        if (e)
            return e;
        for (size_t j = 0; j < b->n_apart; j++)
            nearest = fmin(nearest, near_distance(b->ground.space, &c, &b->apart[j]));
        if (nearest > farthest) {
            farthest = nearest;
            *out = c;
        }
    }
    assert(b->n_apart < BASE_APART && farthest >= 0);
    b->apart[b->n_apart++] = *out;
    return ERR_OK;
}

double base_value(const struct base *b, size_t i)
{
    assert(i < b->history.n);

    const double value = b->history.items[i].value;

    return isnan(value) ? INFINITY : value;
}
