/* SPDX-License-Identifier: MIT */
/* bins.h - floats to small codes: each feature cut into at most 254 ranges, learned from rows.
 * Features that put all rows into the same ranges (a knob and its log2) become one column. */
#ifndef TUNE_COST_MODEL_BINS_H
#define TUNE_COST_MODEL_BINS_H

#include "core/err.h"

#include <stddef.h>
#include <stdint.h>

#define BINS_MAX 254   /* ranges per feature; codes run from 1 to BINS_MAX */
#define BINS_MISSING 0 /* the code of NAN and of infinities */
#define BINS_BLOCK 64  /* rows that tables and predictions keep together */

struct bin_column {
    size_t i_feature;
    size_t n_cuts;
    const float *cuts;       /* [n_cuts] ascending; code = 1 + number of cuts below the value */
    const float *low, *high; /* [n_cuts + 2] by code: least and greatest value seen; NULL: of a model read */
};

struct bins {
    struct bin_column *columns;
    size_t n_columns, n_features;
    float *numbers; /* of all columns */
};

/* Learns cuts from rows[n][n_features] and keeps the columns that tell rows apart. Gives codes[n_columns][n] (free it)
 * of those rows. ERR_NOMEM leaves `b` empty. */
enum err bins_fit(struct bins *b, const float *rows, size_t n, size_t n_features, uint8_t **codes);
void bins_fini(struct bins *b);

/* Codes one column of rows[n][n_features]: n codes. */
void bins_code_column(const struct bins *b, size_t i_column, const float *rows, size_t n, uint8_t *codes);

uint8_t bins_code(const struct bin_column *column, float value);

#endif
