/* SPDX-License-Identifier: MIT */
/* coded.h - rows of features turned once into 8-bit codes, for many fits and predictions on the same rows: no float is
 * read and nothing is binned again. Columns that tell nothing or repeat another's codes are dropped. */
#ifndef TUNE_COST_MODEL_CODED_H
#define TUNE_COST_MODEL_CODED_H

#include "cost_model/model.h"

#include <stdint.h>

struct coded;

/* Codes rows[n][n_features] (borrowed; NAN = missing); cuts are learned from all of them. Gives *out: coded_free it.
 * ERR_INPUT for no rows or features, ERR_LIMIT for more than a model takes (data.h), ERR_NOMEM. */
enum err coded_new(struct coded **out, const float *rows, size_t n, size_t n_features);

/* Codes other rows[n][coded_n_features] by the cuts of `like`: a model fitted on one predicts the other. */
enum err coded_like(struct coded **out, const struct coded *like, const float *rows, size_t n);

void coded_free(struct coded *c);

size_t coded_n_rows(const struct coded *c);
size_t coded_n_features(const struct coded *c);
size_t coded_n_columns(const struct coded *c); /* those that were kept */

/* What a fit on some rows of a table takes; everything is borrowed for the call. */
struct coded_data {
    const struct coded *table;
    const uint32_t *rows; /* [n] numbers of rows, may repeat; NULL: the first n of the table */
    const float *targets; /* [n], to be minimised */
    const float *weights; /* [n] or NULL: all 1 */
    const float *offsets; /* [n] or NULL: what is known of each row already; the trees learn target - offset, and
                             predictions leave it out (the caller adds its own) */
    size_t n;
};

/* gbdt.h's fit on rows of a table. The old fit stays on failure. ERR_INPUT as gbdt_ops.fit and for a row out of range.
 */
enum err gbdt_fit_coded(struct model *m, const struct coded_data *data);

/* Scores of the rows [first, first + n) of a table, as gbdt_ops.predict would give them for their floats; spread may be
 * NULL. ERR_INPUT without a fit, for rows out of range, or for a table of other cuts than that of the fit. */
enum err gbdt_predict_coded(const struct model *m, const struct coded *table, size_t first, size_t n, float *scores,
                            float *spread);

/* The same for rows[n] by their numbers. */
enum err gbdt_predict_listed(const struct model *m, const struct coded *table, const uint32_t *rows, size_t n,
                             float *scores, float *spread);

#endif
