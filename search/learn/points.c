/* SPDX-License-Identifier: MIT */
#include "search/learn/points.h"

#include "core/err.h"
#include "core/order.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Distinct values of one knob, ascending, into out[n]. */
static size_t places_of(const double *values, size_t n, size_t n_knobs, size_t i_knob, double *out)
{
    size_t n_values = 0, n_places = 0;

    for (size_t i = 0; i < n; i++)
        if (!isnan(values[i * n_knobs + i_knob]))
            out[n_values++] = values[i * n_knobs + i_knob];
    qsort(out, n_values, sizeof *out, order_doubles);
    for (size_t i = 0; i < n_values; i++)
        if (n_places == 0 || out[n_places - 1] != out[i])
            out[n_places++] = out[i];
    assert(n_places <= n_values && n_values <= n);
    return n_places;
}

/* What the other columns span over the rows. */
static enum err find_spans(struct points *p, const double *values, size_t n)
{
    const size_t width = p->ragged.n;
    float *row = malloc((width + 1) * sizeof *row);

    if (!row)
        return ERR_NOMEM;
    for (size_t j = 0; j < width; j++) {
        p->low[j] = INFINITY;
        p->high[j] = -INFINITY;
    }
    for (size_t i = 0; i < n; i++) {
        features_of(&p->ragged, values + i * p->n_knobs, row);
        for (size_t j = 0; j < width; j++) {
            p->low[j] = fminf(p->low[j], row[j]); /* of a number and NAN the number */
            p->high[j] = fmaxf(p->high[j], row[j]);
        }
    }
    free(row);
    return ERR_OK;
}

static void count(struct points *p)
{
    p->n = 0;
    for (size_t i = 0; i < p->n_knobs; i++)
        p->n += p->first[i + 1] - p->first[i] > 1;
    for (size_t j = 0; j < p->ragged.n; j++)
        p->n += p->high[j] > p->low[j];
    p->n = p->n > POINTS_MAX ? POINTS_MAX : p->n;
}

enum err points_init(struct points *p, const struct features_knob *knobs, size_t n_knobs, const double *values,
                     size_t n)
{
    enum err e = features_list(&p->ragged, knobs, n_knobs, FEATURES_RAGGED);

    if (e)
        return e;
    p->n_knobs = n_knobs;
    p->places = malloc((n_knobs * n + 1) * sizeof *p->places);
    p->first = calloc(n_knobs + 1, sizeof *p->first);
    p->low = malloc((2 * p->ragged.n + 1) * sizeof *p->low);
    if (!p->places || !p->first || !p->low) {
        points_fini(p);
        return ERR_NOMEM;
    }
    p->high = p->low + p->ragged.n;
    for (size_t i = 0; i < n_knobs; i++) {
        const bool is_word = knobs[i].n_words > 0;

        p->first[i + 1] = p->first[i];
        if (!is_word)
            p->first[i + 1] += places_of(values, n, n_knobs, i, p->places + p->first[i]);
        assert(p->first[i + 1] <= (i + 1) * n); /* within `places` */
    }
    e = find_spans(p, values, n);
    count(p);
    if (e)
        points_fini(p);
    return e;
}

void points_fini(struct points *p)
{
    if (!p)
        return;
    free(p->places);
    free(p->first);
    free(p->low);
    p->places = NULL;
    p->first = NULL;
    p->low = p->high = NULL;
}

/* Place of a value among n >= 2 ascending ones, 0 to 1; between two of them by its distance to both. */
static double place_of(const double *places, size_t n, double value)
{
    size_t above = 0;

    assert(n >= 2);
    if (isnan(value))
        return 0.5;
    while (above < n && places[above] < value)
        above++;
    if (above == n)
        return 1;
    if (above == 0 || places[above] == value)
        return (double)above / (double)(n - 1);
    return ((double)above - (places[above] - value) / (places[above] - places[above - 1])) / (double)(n - 1);
}

void points_of(const struct points *p, const double *values, float *row)
{
    float ragged[FEATURES_MAX_COLUMNS];
    size_t n = 0;

    for (size_t i = 0; i < p->n_knobs && n < p->n; i++)
        if (p->first[i + 1] - p->first[i] > 1)
            row[n++] = (float)place_of(p->places + p->first[i], p->first[i + 1] - p->first[i], values[i]);
    features_of(&p->ragged, values, ragged);
    for (size_t j = 0; j < p->ragged.n && n < p->n; j++)
        if (p->high[j] > p->low[j])
            row[n++] = isfinite(ragged[j]) ? (ragged[j] - p->low[j]) / (p->high[j] - p->low[j]) : 0.5f;
    assert(n == p->n);
}
