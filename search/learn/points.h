/* SPDX-License-Identifier: MIT */
/* points.h - configs as points for a Gaussian process, coordinates in about [0, 1]: the place of a number among those
 * that were seen of its knob, the power of two in it, what it wastes, and an axis for each word. */
#ifndef TUNE_SEARCH_LEARN_POINTS_H
#define TUNE_SEARCH_LEARN_POINTS_H

#include "core/err.h"
#include "search/learn/features.h"

#include <stddef.h>

#define POINTS_MAX 64 /* coordinates; those beyond are left out */

struct points {
    size_t n_knobs, n; /* n: coordinates */
    double *places;    /* distinct values of all knobs, ascending, knob by knob; none of words */
    size_t *first;     /* [n_knobs + 1] where each knob's begin in places */
    struct features ragged;
    float *low, *high; /* [ragged.n] over the rows learned from */
};

/* Learns axes from values[n][n_knobs]. ERR_LIMIT, ERR_NOMEM. */
enum err points_init(struct points *p, const struct features_knob *knobs, size_t n_knobs, const double *values,
                     size_t n);
void points_fini(struct points *p);

/* row[p->n]; a missing value is in the middle. */
void points_of(const struct points *p, const double *values, float *row);

#endif
