/* SPDX-License-Identifier: MIT */
/* data.h - what all models ask of their rows before they fit. */
#ifndef TUNE_COST_MODEL_DATA_H
#define TUNE_COST_MODEL_DATA_H

#include "core/err.h"
#include "cost_model/model.h"

#define MODEL_MAX_ROWS (1u << 24)
#define MODEL_MAX_FEATURES 4096u

/* ERR_INPUT for no rows, no features, targets that are not finite, or weights that are not finite and >= 0 with a
 * positive sum; ERR_LIMIT for more than MODEL_MAX_ROWS or MODEL_MAX_FEATURES. */
enum err model_data_check(const struct model_data *data);

/* The mean of the targets, by weight. */
double model_data_mean(const struct model_data *data);

#endif
