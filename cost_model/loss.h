/* SPDX-License-Identifier: MIT */
/* loss.h - what boosting minimises: gradients and curvatures of a loss at the present scores. No libm: the same numbers
 * on every machine. Targets are to be minimised; an infinite one is a row that failed: it comes last in a ranking. */
#ifndef TUNE_COST_MODEL_LOSS_H
#define TUNE_COST_MODEL_LOSS_H

#include "core/err.h"
#include "core/rng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rows of which a loss speaks. A loss that ranks compares all of them with each other. */
struct loss_rows {
    const float *targets; /* [n of the fit] */
    const float *weights; /* the same, or NULL: all 1 */
    const uint32_t *rows; /* [n] those that count */
    size_t n;
};

struct loss {
    const char *name, *summary;
    bool takes_failed; /* infinite targets are allowed */
    bool has_base;     /* scores begin at the mean target */
    bool is_flat;      /* curvatures are the weights: not written */
    /* Writes minus the first derivative by each row's score, and the second one or a bound of it. Rows not listed get 0
     * in both. ERR_NOMEM. */
    enum err (*slopes)(const struct loss_rows *r, const float *scores, struct rng *rng, float *gradients,
                       float *curvatures);
    /* The loss itself over the listed rows. ERR_NOMEM. */
    enum err (*value)(const struct loss_rows *r, const float *scores, double *out);
};

/* By number: squared error, pairwise and listwise ranking. NULL-ended. */
extern const struct loss *const loss_table[];

/* e^x within 1e-13 of it, 0 below -700; x <= 700. From + - * / alone. */
double loss_exp(double x);
double loss_log(double x); /* x > 0, within 1e-13 of 1 + |ln x| */

#endif
