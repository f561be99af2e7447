/* SPDX-License-Identifier: MIT */
/* curve.h - searches as a picture: each trial's time, and the best so far. */
#ifndef TUNE_CLI_CURVE_H
#define TUNE_CLI_CURVE_H

#include "core/buf.h"
#include "core/err.h"

#include <stdbool.h>
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

/* Appends a panel of 8 lines for a terminal `width` characters wide (40 at least): the best so far over the trials, a
 * filled area on a logarithmic scale, of blocks of an eighth of a line or, where `blocks` is false, of #. ERR_INPUT
 * when the curve has no time, ERR_LIMIT, ERR_NOMEM. */
enum err curve_text(const struct curve *curve, int width, bool blocks, struct buf *out);

/* Does the terminal show UTF-8? */
bool curve_blocks(void);

#endif
