/* SPDX-License-Identifier: MIT */
/* model.h - cost models by table: rows of features in, scores out (lower = faster, on the scale of the targets).
 * A model is fitted anew from all rows, then only read; predict may run from several threads. */
#ifndef TUNE_COST_MODEL_MODEL_H
#define TUNE_COST_MODEL_MODEL_H

#include "core/err.h"
#include "core/rng.h"

#include <stddef.h>
#include <stdint.h>

struct model;

/* rows: row-major [n][n_features], NAN = missing. targets[n]: to be minimised, e.g. ln time. weights[n] or NULL. */
struct model_data {
    const float *rows;
    const float *targets;
    const float *weights;
    size_t n, n_features;
};

struct model_ops {
    const char *name, *summary;
    /* A fresh model; the same seed and data give the same model on every machine. */
    enum err (*init)(struct model **out, uint64_t seed);
    /* ERR_INPUT for n == 0, no features or targets that are not finite; ERR_NOMEM. The old fit stays on failure. */
    enum err (*fit)(struct model *m, const struct model_data *data);
    /* scores[n]; and, when spread is not NULL, spread[n] >= 0: disagreement between parts of the model on that row. */
    enum err (*predict)(const struct model *m, const float *rows, size_t n, float *scores, float *spread);
    /* importance[n_features] >= 0, sum 1 (or all 0): share of the loss reduction won by each feature. */
    enum err (*importance)(const struct model *m, float *importance);
    void (*fini)(struct model *m);
};

/* All models, NULL-ended, the default one first. */
extern const struct model_ops *const model_table[];
const struct model_ops *model_find(const char *name);
const char *model_name_at(size_t i); /* NULL behind the last */

#endif
