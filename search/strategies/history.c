/* SPDX-License-Identifier: MIT */
#include "search/strategies/history.h"

#include "core/err.h"
#include "core/order.h"
#include "core/vec.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

void history_init(struct history *h)
{
    *h = (struct history){0};
}

void history_fini(struct history *h)
{
    free(h->items);
    *h = (struct history){0};
}

size_t history_find(const struct history *h, const struct space *space, const struct config *c)
{
    size_t i = 0;

    while (i < h->n && !space_config_equal(space, &h->items[i].config, c))
        i++;
    return i;
}

static enum err add(struct history *h, struct ground *ground, const struct outcome *o)
{
    const uint64_t index = space_index(ground->space, &o->config);
    const double value = isfinite(o->value) ? o->value : (double)NAN;
    const size_t i_old = ground_is_taken(ground, index) ? history_find(h, ground->space, &o->config) : h->n;
    enum err e;

    if (i_old < h->n) {
        struct outcome *old = &h->items[i_old];

        h->n_ok += isnan(old->value) && !isnan(value);
        old->value = isnan(value) ? old->value : value;
        return ERR_OK;
    }
    e = VEC_ROOM(h->items, h->cap, h->n + 1, VEC_ANY);
    if (e)
        return e;
    h->items[h->n++] = (struct outcome){o->config, value, o->cost_s};
    h->n_ok += !isnan(value);
    assert(h->n_ok <= h->n);
    return ground_take(ground, index);
}

enum err history_tell(struct history *h, struct ground *ground, const struct outcome *outcomes, size_t n)
{
    enum err e = ERR_OK;

    for (size_t i = 0; i < n; i++)
        if (!space_config_in_range(ground->space, &outcomes[i].config))
            return ERR_INPUT;
    for (size_t i = 0; e == ERR_OK && i < n; i++)
        e = add(h, ground, &outcomes[i]);
    return e;
}

double history_best(const struct history *h)
{
    double best = INFINITY;

    assert(h->n_ok > 0 && h->n_ok <= h->n);
    for (size_t i = 0; i < h->n; i++)
        best = fmin(best, h->items[i].value);
    return best;
}

/* Only now and then counted anew: it changes slowly. */
double history_spread(struct history *h)
{
    double *values;
    size_t n = 0;

    if (h->n_ok < 3 || h->n_ok <= h->n_spread + h->n_spread / 8)
        return h->spread;
    values = malloc(h->n_ok * sizeof(*values));
    for (size_t i = 0; values && i < h->n; i++)
        if (!isnan(h->items[i].value))
            values[n++] = h->items[i].value;
    assert(!values || n == h->n_ok);
    if (values) {
        qsort(values, n, sizeof(*values), order_doubles);
        h->spread = values[n / 2] - values[0];
        h->n_spread = n;
        assert(h->spread >= 0);
    }
    free(values);
    return h->spread;
}

size_t history_top(const struct history *h, size_t n, size_t *best)
{
    size_t n_best = 0;

    for (size_t i = 0; i < h->n; i++) {
        const double value = h->items[i].value;
        size_t place = n_best;

        if (isnan(value))
            continue;
        while (place > 0 && h->items[best[place - 1]].value > value)
            place--;
        if (place == n)
            continue;
        n_best += n_best < n;
        for (size_t j = n_best - 1; j > place; j--)
            best[j] = best[j - 1];
        best[place] = i;
        assert(place < n_best && n_best <= n);
        assert(place + 1 == n_best || h->items[best[place + 1]].value > value); /* ascending */
    }
    return n_best;
}
