/* SPDX-License-Identifier: MIT */
/* ensemble_parts.h - what an ensemble is made of; shared by ensemble.c (learns, predicts) and ensemble_json.c. */
#ifndef TUNE_SEARCH_LEARN_ENSEMBLE_PARTS_H
#define TUNE_SEARCH_LEARN_ENSEMBLE_PARTS_H

#include "core/err.h"
#include "cost_model/gpr.h"
#include "cost_model/model.h"
#include "search/learn/ensemble.h"
#include "search/learn/points.h"

#include <stddef.h>

#define ENSEMBLE_N_FORESTS 6
#define ENSEMBLE_GP_ROWS 512 /* with more rows there is no Gaussian process */
#define ENSEMBLE_LEAST_WEIGHT 0.02
#define ENSEMBLE_BLOCK 1024 /* rows predicted at once */

struct ensemble_recipe {
    double sharpness, care;
    enum features_set set;
    size_t max_leaves; /* 0: trees of depth 6 */
};

struct ensemble {
    size_t n_knobs, n_extra;
    struct features features[2]; /* FEATURES_SOME, FEATURES_ALL */
    struct model *forests[ENSEMBLE_N_FORESTS];
    struct points points;
    struct gpr *process;   /* NULL: none */
    double process_weight; /* a forest has 1 */
    size_t n;              /* rows of the process, kept for the file: */
    double *values, *times;
};

extern const struct ensemble_recipe ensemble_recipes[ENSEMBLE_N_FORESTS];

/* One without its parts yet. ERR_LIMIT, ERR_NOMEM. */
enum err ensemble_new(struct ensemble **out, const struct features_knob *knobs, size_t n_knobs, size_t n_extra,
                      struct why *why);

/* Learns the Gaussian process. ERR_INPUT as ensemble_fit, ERR_NOMEM. */
enum err ensemble_fit_process(struct ensemble *m, const struct ensemble_data *d, struct why *why);

#endif
