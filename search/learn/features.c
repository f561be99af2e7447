/* SPDX-License-Identifier: MIT */
#include "search/learn/features.h"

#include "core/err.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST 0x1p40      /* larger numbers count as not whole */
#define ZERO_EVENNESS 40 /* 0 is divided by all powers of two */

enum kind { VALUE, WORD, EVENNESS, WASTE, PRODUCT, RATIO, WASTE_OF_TWO, EVENNESS_OF_TWO, PRODUCT_OF_THREE };

static bool is_whole(double v)
{
    return v == floor(v) && fabs(v) < MOST;
}

/* The exponent of the largest power of two that divides a whole number. */
static int evenness(double v)
{
    int n = 0;

    for (int64_t i = (int64_t)v; i != 0 && i % 2 == 0 && n < 40; i /= 2)
        n++;
    return v == 0 ? ZERO_EVENNESS : n;
}

/* How much more than the extent is covered by whole pieces of a size. */
static double waste(double size)
{
    assert(size > 0);
    return ceil(FEATURES_EXTENT / size) * size / FEATURES_EXTENT;
}

void features_knob_meet(struct features_knob *k, double value)
{
    if (isnan(value))
        return;
    if (k->n_values == 0)
        k->whole = k->positive = k->all_powers = true;
    k->whole = k->whole && is_whole(value);
    k->positive = k->positive && value > 0;
    k->all_powers = k->all_powers && k->positive && k->whole && ldexp(1, evenness(value)) == value;
    for (size_t i = 0; i < k->n_values; i++)
        if (k->seen[i] == value)
            return;
    if (k->n_values < FEATURES_SEEN)
        k->seen[k->n_values++] = value;
}

static void add(struct features *f, enum kind kind, size_t a, size_t b, size_t c)
{
    assert(a < f->n_knobs && (kind == WORD || b < f->n_knobs) && c < f->n_knobs && a <= UINT8_MAX);
    if (f->n_columns < FEATURES_MAX_COLUMNS)
        f->columns[f->n_columns++] = (struct features_column){(uint8_t)kind, (uint8_t)a, (uint8_t)b, (uint8_t)c};
}

/* Numbers of the knobs that form products. */
static size_t factors_of(const struct features *f, size_t *factors)
{
    size_t n = 0;

    for (size_t i = 0; i < f->n_knobs && n < FEATURES_MAX_FACTORS; i++)
        if (f->knobs[i].n_words == 0 && f->knobs[i].positive && f->knobs[i].n_values > 1)
            factors[n++] = i;
    return n;
}

static void add_knobs(struct features *f, enum features_set set)
{
    for (size_t i = 0; i < f->n_knobs; i++) {
        const struct features_knob *k = &f->knobs[i];

        for (size_t w = 0; set != FEATURES_DERIVED && w < k->n_words && w <= UINT8_MAX; w++)
            add(f, WORD, i, w, 0);
        if (k->n_words > 0 || k->n_values < 2)
            continue;
        if (set >= FEATURES_SOME)
            add(f, VALUE, i, 0, 0);
        if (k->whole && !k->all_powers && k->n_values > 2)
            add(f, EVENNESS, i, 0, 0);
        if (set != FEATURES_DERIVED && k->whole && k->positive && !k->all_powers)
            add(f, WASTE, i, 0, 0);
    }
}

static void add_pair(struct features *f, enum features_set set, size_t a, size_t b)
{
    const struct features_knob *ka = &f->knobs[a], *kb = &f->knobs[b];
    const bool ragged = ka->whole && kb->whole && !(ka->all_powers && kb->all_powers);

    if (set != FEATURES_RAGGED)
        add(f, PRODUCT, a, b, 0);
    if (set != FEATURES_DERIVED && ragged)
        add(f, WASTE_OF_TWO, a, b, 0);
    if (set != FEATURES_ALL)
        return;
    add(f, RATIO, a, b, 0);
    if (ragged && ka->n_values > 2 && kb->n_values > 2)
        add(f, EVENNESS_OF_TWO, a, b, 0);
}

enum err features_list(struct features *f, const struct features_knob *knobs, size_t n_knobs, enum features_set set)
{
    size_t factors[FEATURES_MAX_FACTORS], n_factors;

    if (n_knobs > FEATURES_MAX_KNOBS)
        return ERR_LIMIT;
    f->n_columns = 0;
    f->space = NULL;
    f->n_knobs = n_knobs;
    memcpy(f->knobs, knobs, n_knobs * sizeof *knobs);
    add_knobs(f, set);
    n_factors = factors_of(f, factors);
    for (size_t i = 0; i < n_factors; i++)
        for (size_t j = 0; j < i; j++)
            add_pair(f, set, factors[i], factors[j]);
    for (size_t i = 0; set == FEATURES_ALL && i < n_factors && i < FEATURES_MAX_TRIPLES; i++)
        for (size_t j = 0; j < i; j++)
            for (size_t k = 0; k < j; k++)
                add(f, PRODUCT_OF_THREE, factors[i], factors[j], factors[k]);
    f->n = f->n_columns;
    return ERR_OK;
}

static double log2_or_nan(double v)
{
    return v > 0 ? log2(v) : (double)NAN;
}

/* `logs`: of all values, NAN where there is none. */
static double column_of(const struct features_column *o, const double *v, const double *logs)
{
    switch ((enum kind)o->kind) {
    case VALUE:
        return v[o->a];
    case WORD:
        return isnan(v[o->a]) ? v[o->a] : v[o->a] == (double)o->b;
    case EVENNESS:
        return is_whole(v[o->a]) ? evenness(v[o->a]) : (double)NAN;
    case WASTE:
        return v[o->a] > 0 ? waste(v[o->a]) : (double)NAN;
    case PRODUCT:
        return logs[o->a] + logs[o->b];
    case RATIO:
        return logs[o->a] - logs[o->b];
    case WASTE_OF_TWO:
        return v[o->a] > 0 && v[o->b] > 0 ? waste(v[o->a] * v[o->b]) : (double)NAN;
    case EVENNESS_OF_TWO:
        return is_whole(v[o->a]) && is_whole(v[o->b]) ? evenness(v[o->a]) + evenness(v[o->b]) : (double)NAN;
    case PRODUCT_OF_THREE:
        return logs[o->a] + logs[o->b] + logs[o->c];
    }
    return (double)NAN;
}

void features_of(const struct features *f, const double *values, float *row)
{
    double logs[FEATURES_MAX_KNOBS];

    for (size_t i = 0; i < f->n_knobs; i++)
        logs[i] = f->knobs[i].positive && f->knobs[i].n_words == 0 ? log2_or_nan(values[i]) : (double)NAN;
    for (size_t i = 0; i < f->n_columns; i++)
        row[i] = (float)column_of(&f->columns[i], values, logs);
}

void features_name(const struct features *f, size_t i, char *name)
{
    static const struct {
        const char *name;
        int n_knobs;
    } kinds[] = {[VALUE] = {"value", 1},
                 [WORD] = {"word", 2}, /* a knob and the word's number */
                 [EVENNESS] = {"evenness", 1},
                 [WASTE] = {"waste", 1},
                 [PRODUCT] = {"product", 2},
                 [RATIO] = {"ratio", 2},
                 [WASTE_OF_TWO] = {"waste", 2},
                 [EVENNESS_OF_TWO] = {"evenness", 2},
                 [PRODUCT_OF_THREE] = {"product", 3}};
    const struct features_column *o = &f->columns[i];
    const uint8_t of[] = {o->a, o->b, o->c};
    size_t used = (size_t)snprintf(name, FEATURES_NAME_BYTES, "%s", kinds[o->kind].name);

    for (int k = 0; k < kinds[o->kind].n_knobs; k++)
        used += (size_t)snprintf(name + used, FEATURES_NAME_BYTES - used, " %u", of[k]);
}

void features_init(struct features *f, const struct space *space)
{
    struct features_knob knobs[SPACE_MAX_KNOBS] = {{0}};

    for (size_t i = 0; i < space_n_knobs(space); i++)
        for (size_t j = 0; j < space_n_values(space, i); j++) {
            const struct value v = space_knob_value(space, i, j);

            knobs[i].n_words += v.text != NULL;
            if (!v.text)
                features_knob_meet(&knobs[i], v.number);
        }
    features_list(f, knobs, space_n_knobs(space), FEATURES_DERIVED);
    f->space = space;
    f->n = space_n_features(space) + f->n_columns;
}

void features_row(const struct features *f, const struct config *c, float *row)
{
    double values[SPACE_MAX_KNOBS];

    space_features(f->space, c, row);
    for (size_t i = 0; i < f->n_knobs; i++)
        values[i] = space_value(f->space, c, i).number;
    features_of(f, values, row + space_n_features(f->space));
}
