#include "tuner/learn/features.h"

#include <math.h>

#define MOST 0x1p40 /* larger numbers count as not whole */

static bool is_whole(double v)
{
    return v == floor(v) && fabs(v) < MOST;
}

/* The exponent of the largest power of two that divides a whole number; 0 has them all. */
static int evenness(double v)
{
    int n = 0;

    for (int64_t i = (int64_t)v; i != 0 && i % 2 == 0 && n < 40; i /= 2)
        n++;
    return v == 0 ? 40 : n;
}

struct kind {
    bool whole, positive, all_powers;
};

static struct kind kind_of(const struct space *space, size_t i_knob)
{
    struct kind k = {true, true, true};

    for (size_t i = 0; i < space_n_values(space, i_knob); i++) {
        const struct value v = space_knob_value(space, i_knob, i);

        if (v.text)
            return (struct kind){false, false, false};
        k.positive = k.positive && v.number > 0;
        k.whole = k.whole && is_whole(v.number);
        k.all_powers = k.all_powers && k.positive && k.whole && ldexp(1, evenness(v.number)) == v.number;
    }
    return k;
}

void features_init(struct features *f, const struct space *space)
{
    *f = (struct features){.space = space};
    for (size_t i = 0; i < space_n_knobs(space); i++) {
        const struct kind k = kind_of(space, i);

        if (space_n_values(space, i) < 2)
            continue;
        if (k.whole && !k.all_powers && space_n_values(space, i) > 2)
            f->aligned[f->n_aligned++] = i;
        if (k.positive && f->n_factors < FEATURES_MAX_FACTORS)
            f->factors[f->n_factors++] = i;
    }
    f->n = space_n_features(space) + f->n_aligned + f->n_factors * (f->n_factors - (f->n_factors > 0)) / 2;
}

void features_row(const struct features *f, const struct config *c, float *row)
{
    float logs[FEATURES_MAX_FACTORS];

    space_features(f->space, c, row);
    row += space_n_features(f->space);
    for (size_t i = 0; i < f->n_aligned; i++)
        *row++ = (float)evenness(space_value(f->space, c, f->aligned[i]).number);
    for (size_t i = 0; i < f->n_factors; i++) {
        logs[i] = (float)log2(space_value(f->space, c, f->factors[i]).number);
        for (size_t j = 0; j < i; j++)
            *row++ = logs[i] + logs[j];
    }
}
