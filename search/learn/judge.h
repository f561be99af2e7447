/* SPDX-License-Identifier: MIT */
/* judge.h - how well scores rank configs that the model has not seen: the measures of tune model eval. */
#ifndef TUNE_SEARCH_LEARN_JUDGE_H
#define TUNE_SEARCH_LEARN_JUDGE_H

#include "core/err.h"

#include <stddef.h>
#include <stdint.h>

#define JUDGE_MAX_TEST 20000 /* rows that are scored, at most */

/* All over the test rows. "First k" is by score, ties by row; times of failed configs are NAN. */
enum measure {
    MEASURE_SPEARMAN,  /* rank correlation of score and time, over ok rows */
    MEASURE_RECALL1,   /* share of the fastest 1 % of the ok rows (k rows, rounded up) found among the first k */
    MEASURE_RECALL5,   /* the same of 5 % */
    MEASURE_REGRET1,   /* best time among the first row / best time; the worst time where all of them failed */
    MEASURE_REGRET8,   /* among the first 8 */
    MEASURE_REGRET32,  /* 32 */
    MEASURE_REGRET128, /* 128 */
    MEASURE_FAIL32,    /* share of failed configs among the first 32 */
    MEASURE_FOUND32,   /* best of the training rows and the first 32 / best of all */
    N_MEASURES
};

extern const char *const measure_names[N_MEASURES];

/* Regrets and found32 are averaged by their logarithms. */
double measure_mean(enum measure m, const double *values, size_t n);

/* order[n]: rows by splitmix64(seed * 2^32 + row); the first ones train, the next ones test. ERR_NOMEM. */
enum err judge_order(uint32_t *order, size_t n, uint64_t seed);

/* Needs an ok row among times[n]. best_trained: the least time of the training rows, INFINITY when none is ok.
 * ERR_NOMEM. */
enum err judge(const double *times, const float *scores, size_t n, double best_trained, double out[N_MEASURES]);

#endif
