/* SPDX-License-Identifier: MIT */
/* share.h - which task of a job with one budget gets the next trials: where the end-to-end time is expected to gain
 * most. */
#ifndef TUNE_TUNER_SHARE_H
#define TUNE_TUNER_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is known of one task. */
struct share_task {
    double time_ns; /* its part of the end-to-end time: count x best time so far; NAN = nothing valid yet */
    double gain;    /* expected drop of ln time by its next batch; NAN = not known */
    int64_t n_out;  /* trials measured or under way */
    bool open;      /* takes more */
};

/* The task for the next batch, n when none is open. A task below `minimum` trials, or below a tenth of an equal part
 * of all that is out, comes first, the one with fewest; so nobody starves. Else the largest time_ns x (1 - exp(-g)):
 * the nanoseconds the batch is expected to save, where g is half the task's own gain and half what gains x trials are
 * on average over all tasks, by its trials: a single curve is a noisy witness. A task without a valid config counts as
 * one of mean time whose gain is 1/2 at first and falls as 1 / trials; a gain not known counts as 1/2. Ties: the first.
 */
size_t share_next(const struct share_task *tasks, size_t n, int64_t minimum);

#endif
