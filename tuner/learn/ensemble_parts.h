/* ensemble_parts.h - what an ensemble is made of; shared by ensemble.c (learns, predicts) and ensemble_json.c. */
#ifndef TUNE_TUNER_LEARN_ENSEMBLE_PARTS_H
#define TUNE_TUNER_LEARN_ENSEMBLE_PARTS_H

#include "cost_model/gpr.h"
#include "cost_model/model.h"
#include "tuner/learn/ensemble.h"
#include "tuner/learn/points.h"

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
    uint64_t seed;
    size_t n; /* rows learned from: kept for the file */
    double *values, *times;
    float *extra;                /* NULL when n_extra is 0 */
    struct features features[2]; /* FEATURES_SOME, FEATURES_ALL */
    struct model *forests[ENSEMBLE_N_FORESTS];
    struct points points;
    struct gpr *process;   /* NULL: none */
    double process_weight; /* a forest has 1 */
};

#endif
