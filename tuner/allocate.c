/* SPDX-License-Identifier: MIT */
#include "tuner/allocate.h"

#include <assert.h>

#define SPREAD 0.5
#define POSSIBLE_SHARE 0.1

static double worst_best(const struct allocate_arm *arms, size_t n)
{
    double worst = -INFINITY;

    for (size_t i = 0; i < n; i++)
        if (!isnan(arms[i].best) && arms[i].best > worst)
            worst = arms[i].best;
    return isinf(worst) ? 0 : worst;
}

static bool only_possible_left(const struct allocate_arm *arms, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!arms[i].exhausted && !arms[i].possible)
            return false;
    return true;
}

size_t allocate_next(const struct allocate_arm *arms, size_t n)
{
    const double worst = worst_best(arms, n);
    const bool all_possible = only_possible_left(arms, n);
    double least = INFINITY;
    size_t sum = 0, next = n;

    for (size_t i = 0; i < n; i++)
        sum += arms[i].n_trials;
    for (size_t i = 0; i < n; i++) {
        const double best = isnan(arms[i].best) ? worst : arms[i].best;
        const double score = best - SPREAD * sqrt(log(1.0 + (double)sum) / (1.0 + (double)arms[i].n_trials));

        if (arms[i].exhausted)
            continue;
        if (arms[i].possible && !all_possible && (double)arms[i].n_trials >= POSSIBLE_SHARE * (double)sum)
            continue;
        if (score < least) {
            least = score;
            next = i;
        }
    }
    assert(next == n || !arms[next].exhausted);
    return next;
}
