/* SPDX-License-Identifier: MIT */
/* curve.h - searches as a picture: each trial's time, and the best so far. */
#ifndef TUNE_CLI_CURVE_H
#define TUNE_CLI_CURVE_H

#include "core/buf.h"
#include "core/err.h"

#include <stddef.h>

/* The trials of one search in their order. */
struct curve {
    const char *title;
    const double *times_ns; /* [n]; 0, and what no clock tells = the trial failed */
    size_t n;
};

/* Appends an SVG file, a panel a curve, one below the other: time on a logarithmic scale over the trial's number. Lends
 * nothing. ERR_INPUT when a curve has no time, ERR_LIMIT, ERR_NOMEM. */
enum err curve_svg(const struct curve *curves, size_t n, struct buf *out);

#endif
