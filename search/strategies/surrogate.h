/* SPDX-License-Identifier: MIT */
/* surrogate.h - what the model strategy expects of each config of a pool: a Gaussian process over ln time with doubts
 * as its prior mean, failures and the cost of an evaluation as outputs of their own. */
#ifndef TUNE_SEARCH_STRATEGIES_SURROGATE_H
#define TUNE_SEARCH_STRATEGIES_SURROGATE_H

#include "core/err.h"
#include "cost_model/gpr.h"
#include "search/strategies/pool.h"

#include <stdbool.h>
#include <stddef.h>

#define SURROGATE_MAX (GPR_MAX_ROWS - 64) /* measured and expected configs it takes */

struct surrogate {
    const struct axes *axes;
    const struct prior *prior;
    double cost_power;            /* gain is divided by the expected cost to this power; 0: cost does not matter */
    struct gpr *g;                /* of times: its lengths are learned */
    struct gpr *steady;           /* of failures and costs, which may hang on other knobs: its lengths stay */
    struct gpr_view *view, *look; /* what they say of the pool */
    /* One for each measured config in the order of the history, then for each that is expected. */
    float *rows;     /* [n][axes->n] */
    double *targets; /* [n] */
    double *failed, *costs;
    double *believed; /* [n] what stands for a time where there is none */
    size_t n, cap;
    size_t n_shaped;                   /* measured when lengths were improved last */
    double best, centre, spread;       /* of targets: the least; mean and deviation before they were standardised */
    double doubts, doubt;              /* mean of the measured ones; what one is worth */
    double failing, cost, cost_spread; /* share of failures; mean and deviation of ln cost */
    float *mean, *sd, *fails, *dear;   /* [pool n] */
    size_t n_room;
};

/* Keeps `axes` and `prior`. ERR_NOMEM. */
enum err surrogate_init(struct surrogate *s, const struct axes *axes, const struct prior *prior);
void surrogate_fini(struct surrogate *s);

/* Learns from the whole history (n_ok >= 1) and from configs whose results are awaited. At most SURROGATE_MAX in all.
 * ERR_LIMIT, ERR_NOMEM. */
enum err surrogate_learn(struct surrogate *s, struct history *h, const struct config *awaited, size_t n_awaited);

/* Looks at a pool, after learn; `is_new`: its configs are others than at the last look. ERR_NOMEM. */
enum err surrogate_look(struct surrogate *s, const struct pool *p, bool is_new);

/* gain[n] of each config of the pool, higher = better to measure next: expected improvement (Jones et al. 1998) times
 * the chance to succeed, over cost. */
void surrogate_gain(const struct surrogate *s, const struct pool *p, double *gain);

/* Takes config `i` of the pool for measured, as expected; ERR_NOMEM, ERR_LIMIT. */
enum err surrogate_expect(struct surrogate *s, const struct pool *p, size_t i);

#endif
