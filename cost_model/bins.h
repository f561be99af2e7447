/* bins.h - floats to small codes: each feature cut into at most 254 ranges, learned from the rows of a fit.
 * Features that put all rows into the same ranges (a knob and its log2) become one column. */
#ifndef TUNE_COST_MODEL_BINS_H
#define TUNE_COST_MODEL_BINS_H

#include "core/err.h"

#include <stddef.h>
#include <stdint.h>

#define BINS_MAX 254   /* ranges per feature; codes run from 1 to BINS_MAX */
#define BINS_MISSING 0 /* the code of NAN and of infinities */
#define BINS_BLOCK 64  /* rows coded at once by bins_code_block */

struct bin_column {
    size_t i_feature;
    const float *cuts; /* ascending; code = 1 + number of cuts below the value */
    size_t n_cuts;
};

struct bins {
    struct bin_column *columns;
    size_t n_columns, n_features;
    float *cuts; /* of all columns */
};

/* Learns cuts from rows[n][n_features] and keeps the columns that tell rows apart. Gives codes[n_columns][n] (free it)
 * of those rows. ERR_NOMEM leaves `b` empty. */
enum err bins_fit(struct bins *b, const float *rows, size_t n, size_t n_features, uint8_t **codes);
void bins_fini(struct bins *b);

/* Codes n <= BINS_BLOCK rows into codes[n_columns][BINS_BLOCK]; places beyond n are BINS_MISSING. */
void bins_code_block(const struct bins *b, const float *rows, size_t n, uint8_t *codes);

#endif
