/* SPDX-License-Identifier: MIT */
/* coded.h - rows of features turned once into 8-bit codes, for many fits on the same rows: no float is
 * read and nothing is binned again. Columns that tell nothing or repeat another's codes are dropped. */
#ifndef TUNE_COST_MODEL_CODED_H
#define TUNE_COST_MODEL_CODED_H

#include "core/err.h"
#include "cost_model/model.h"

#include <stddef.h>
#include <stdint.h>

struct coded;

/* Codes rows[n][n_features] (borrowed; NAN = missing); cuts are learned from all of them. Gives *out: coded_free it.
 * ERR_INPUT for no rows or features, ERR_LIMIT for more than a model takes (data.h), ERR_NOMEM. */
enum err coded_new(struct coded **out, const float *rows, size_t n, size_t n_features);

void coded_free(struct coded *c);

/* What a fit on some rows of a table takes; everything is borrowed for the call. */
struct coded_data {
    const struct coded *table;
    const uint32_t *rows; /* [n] numbers of rows, may repeat; NULL: the first n of the table */
    const float *targets; /* [n], to be minimised */
    const float *weights; /* [n] or NULL: all 1 */
    size_t n;
};

/* gbdt.h's fit on rows of a table. The old fit stays on failure. ERR_INPUT as gbdt_ops.fit and for a row out of range.
 */
enum err gbdt_fit_coded(struct model *m, const struct coded_data *data);

#endif
