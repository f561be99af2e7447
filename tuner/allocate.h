/* SPDX-License-Identifier: MIT */
/* allocate.h - which of several templates gets the next trial: a lower confidence bound on its best value so far. */
#ifndef TUNE_TUNER_ALLOCATE_H
#define TUNE_TUNER_ALLOCATE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* What is known of one template ("arm") of a task. Values are ln time: 0.1 is ten percent. */
struct allocate_arm {
    double best;     /* best value so far, NAN = none ok yet */
    size_t n_trials; /* proposed so far */
    bool possible;   /* fits less well: gets a tenth of the trials at the most */
    bool exhausted;  /* has nothing more to propose */
};

/* Index of the arm for the next trial, n when all are exhausted. The smallest best - 0.5 sqrt(ln(1+N) / (1+n)) wins
 * (UCB1 of Auer et al. 2002 turned to minima, 0.5 = the spread of ln time among good configs); an arm without a valid
 * config counts as the worst of the others. Arms that only `possible`-fit are left out above 10 % of all trials. Ties:
 * the first. */
size_t allocate_next(const struct allocate_arm *arms, size_t n);

#endif
