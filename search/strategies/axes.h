/* SPDX-License-Identifier: MIT */
/* axes.h - a config as a point: coordinates in [0, 1] for a Gaussian process. A number that is always positive stands
 * on a logarithmic axis, a word has an axis for each value, and whole numbers that are not all powers of two have two
 * more: the power of two in them (is a width a multiple of 32?) and what it leaves (is it a power of two?). Then the
 * sizes that constraints speak of. */
#ifndef TUNE_SEARCH_STRATEGIES_AXES_H
#define TUNE_SEARCH_STRATEGIES_AXES_H

#include "core/err.h"
#include "search_space/bounds.h"
#include "search_space/space.h"

#include <stdbool.h>
#include <stddef.h>

#define AXES_MAX 256

struct axes {
    const struct space *space;
    size_t n, n_own; /* axes; those of one knob each, which come first */
    size_t i_knob[AXES_MAX];
    float *at[AXES_MAX]; /* [n_values of the knob] */
    const struct bounds *sizes;
};

/* Keeps `space` and `sizes` (of that space; NULL: none). Axes beyond AXES_MAX are left out; at least one is made.
 * ERR_NOMEM. */
enum err axes_init(struct axes *a, const struct space *space, const struct bounds *sizes);
void axes_fini(struct axes *a);

/* row[a->n] */
void axes_row(const struct axes *a, const struct config *c, float *row);

/* True for a whole number >= 1 that no odd number but 1 divides. */
bool axes_is_power(double v);

#endif
