/* SPDX-License-Identifier: MIT */
#include "search/strategies/axes.h"

#include "core/err.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define FEW_VALUES 4 /* knobs with more may get axes of evenness */
#define MOST 0x1p40  /* larger numbers count as not whole */

typedef double scale_of(double v);

static double plain(double v)
{
    return v;
}

/* The exponent of the largest power of two that divides a whole number; more than 8 count as 8. */
static double evenness(double v)
{
    int n = 0;

    while (n < 8 && fmod(v, 2) == 0) {
        v /= 2;
        n++;
    }
    return n;
}

/* The logarithm of what is left when all factors of two are gone. */
static double oddness(double v)
{
    while (v != 0 && fmod(v, 2) == 0)
        v /= 2;
    return v == 0 ? 0 : log2(fabs(v));
}

bool axes_is_power(double v)
{
    return v >= 1 && v < MOST && v == floor(v) && oddness(v) == 0;
}

/* An axis of n_values places; scaled to [0, 1]. */
static enum err add(struct axes *a, size_t i_knob, scale_of *scale, int i_word)
{
    const size_t n = space_n_values(a->space, i_knob);
    double low = INFINITY, high = -INFINITY;
    float *at;

    if (a->n == AXES_MAX)
        return ERR_OK;
    assert(n > 0 && a->n < AXES_MAX);
    at = malloc(n * sizeof(*at));
    if (!at)
        return ERR_NOMEM;
    for (size_t i = 0; i < n; i++) {
        const double v = scale ? scale(space_knob_value(a->space, i_knob, i).number) : (int)i == i_word;

        low = fmin(low, v);
        high = fmax(high, v);
        at[i] = (float)v;
    }
    for (size_t i = 0; i < n; i++)
        at[i] = high > low ? (float)(((double)at[i] - low) / (high - low)) : 0;
    a->i_knob[a->n] = i_knob;
    a->at[a->n++] = at;
    return ERR_OK;
}

static enum err add_words(struct axes *a, size_t i_knob)
{
    enum err e = ERR_OK;

    for (size_t i = 0; e == ERR_OK && i < space_n_values(a->space, i_knob); i++)
        e = add(a, i_knob, NULL, (int)i);
    return e;
}

static enum err add_numbers(struct axes *a, size_t i_knob)
{
    const size_t n = space_n_values(a->space, i_knob);
    bool positive = true, whole = true, powers = true;
    enum err e;

    for (size_t i = 0; i < n; i++) {
        const double v = space_knob_value(a->space, i_knob, i).number;

        positive = positive && v > 0;
        whole = whole && v == floor(v) && fabs(v) < MOST;
        powers = powers && axes_is_power(v);
    }
    e = add(a, i_knob, positive ? log2 : plain, 0);
    if (e || !whole || powers || n <= FEW_VALUES)
        return e;
    e = add(a, i_knob, evenness, 0);
    return e ? e : add(a, i_knob, oddness, 0);
}

enum err axes_init(struct axes *a, const struct space *space, const struct bounds *sizes)
{
    enum err e = ERR_OK;

    *a = (struct axes){.space = space, .sizes = sizes};
    for (size_t i = 0; e == ERR_OK && i < space_n_knobs(space); i++)
        if (space_n_values(space, i) > 1)
            e = space_knob_value(space, i, 0).text ? add_words(a, i) : add_numbers(a, i);
    if (e == ERR_OK && a->n == 0 && space_n_knobs(space) > 0)
        e = add(a, 0, NULL, 0);
    a->n_own = a->n;
    a->n += sizes ? bounds_n_sizes(sizes) : 0;
    a->n = a->n < AXES_MAX ? a->n : AXES_MAX;
    if (e)
        axes_fini(a);
    return e;
}

void axes_fini(struct axes *a)
{
    for (size_t i = 0; i < a->n_own; i++)
        free(a->at[i]);
    a->n = a->n_own = 0;
}

void axes_row(const struct axes *a, const struct config *c, float *row)
{
    assert(a->n_own <= a->n && a->n <= AXES_MAX);
    for (size_t i = a->n_own; i < a->n; i++)
        row[i] = (float)bounds_size(a->sizes, i - a->n_own, c);
    for (size_t i = 0; i < a->n_own; i++)
        row[i] = a->at[i][c->choice[a->i_knob[i]]];
}
