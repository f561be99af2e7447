/* SPDX-License-Identifier: MIT */
#include "search/strategies/prior.h"

#include "core/err.h"
#include "search/strategies/axes.h"

#include <assert.h>
#include <math.h>

/* Bounds of a work-group on GPUs; a CPU driver's is larger, and says nothing of what suits it. */
#define LEAST_LIMIT 256
#define MOST_LIMIT 1024
#define FEW_ITEMS 64
#define MANY_ITEMS 256

static bool is_size(const struct space *space, size_t i_knob)
{
    for (size_t i = 0; i < space_n_values(space, i_knob); i++) {
        const struct value v = space_knob_value(space, i_knob, i);

        if (v.text || v.number != floor(v.number))
            return false;
    }
    return space_n_values(space, i_knob) > 2;
}

enum err prior_init(struct prior *p, const struct space *space)
{
    enum err e;

    *p = (struct prior){.space = space};
    assert(space_n_knobs(space) <= sizeof p->sizes / sizeof p->sizes[0]);
    for (size_t i = 0; i < space_n_knobs(space); i++)
        if (is_size(space, i))
            p->sizes[p->n_sizes++] = i;
    e = bounds_new(&p->items, space, LEAST_LIMIT, MOST_LIMIT);
    return e == ERR_LIMIT ? ERR_OK : e; /* then nothing is known of bounds */
}

void prior_fini(struct prior *p)
{
    bounds_free(p->items);
    p->items = NULL;
}

double prior_doubts(const struct prior *p, const struct config *c)
{
    double doubts = 0;

    for (size_t i = 0; i < p->n_sizes; i++) {
        const double v = space_value(p->space, c, p->sizes[i]).number;

        doubts += v >= 1 && !axes_is_power(v);
    }
    for (size_t i = 0; p->items && i < bounds_n(p->items); i++) {
        const double items = bounds_value(p->items, i, c);

        if (items < FEW_ITEMS || items > MANY_ITEMS)
            return doubts + 1;
    }
    return doubts;
}
