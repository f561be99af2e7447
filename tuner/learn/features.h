/* features.h - what a cost model is told of a config: the space's own features, and two kinds that
 * need no knowledge of the kernel: how even a whole number is, and products of sizes. */
#ifndef TUNE_TUNER_LEARN_FEATURES_H
#define TUNE_TUNER_LEARN_FEATURES_H

#include "search_space/space.h"

#define FEATURES_MAX_FACTORS 16 /* knobs that form products, the first ones of the space */

struct features {
    const struct space *space;
    size_t n;
    size_t aligned[SPACE_MAX_KNOBS], n_aligned;      /* whole numbers, not all powers of two */
    size_t factors[FEATURES_MAX_FACTORS], n_factors; /* knobs that are always positive */
};

/* Keeps `space`. */
void features_init(struct features *f, const struct space *space);

/* row[f->n]: space_features; then for each aligned knob the power of two in it, as an exponent; then for each pair of
 * factors the log2 of their product. */
void features_row(const struct features *f, const struct config *c, float *row);

#endif
