/* SPDX-License-Identifier: MIT */
/* gbdt_model.h - what a fitted gbdt holds: for the files that fit it, predict with it, save and load it. */
#ifndef TUNE_COST_MODEL_GBDT_MODEL_H
#define TUNE_COST_MODEL_GBDT_MODEL_H

#include "core/err.h"
#include "cost_model/coded_table.h"
#include "cost_model/forest.h"
#include "cost_model/gbdt.h"

#include <stddef.h>
#include <stdint.h>

struct gbdt_fit {
    struct coded_cuts *cuts; /* kept; NULL: no fit yet */
    struct tree *trees;      /* forest by forest */
    size_t *first;           /* [n_forests + 1] first tree of each forest, and their number */
    double base;             /* added to every score */
    double *gains;           /* [n_features] loss reductions won */
    struct forest forest;    /* the trees as predictions read them */
};

struct model {
    struct gbdt_options options;
    uint64_t seed;
    struct gbdt_fit fit;
};

void gbdt_fit_fini(struct gbdt_fit *f, size_t n_forests);

/* Makes the trees ready for predictions. ERR_NOMEM. */
enum err gbdt_fit_finish(struct gbdt_fit *f, size_t n_forests);

/* gbdt_ops.predict */
enum err gbdt_predict(const struct model *m, const float *rows, size_t n, float *scores, float *spread);

#endif
