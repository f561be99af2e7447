/* SPDX-License-Identifier: MIT */
/* replay.h - a strategy run on a recorded space: what a farm would do, without a farm. */
#ifndef TUNE_TUNER_REPLAY_H
#define TUNE_TUNER_REPLAY_H

#include "core/err.h"
#include "search_space/recorded.h"
#include "search/strategy.h"

#include <stddef.h>

#define REPLAY_MAX_BATCH 1024

struct replay_options {
    const struct strategy_ops *ops;
    struct strategy_options strategy; /* seed, and the budget: evaluations of the run, at least 1 */
    size_t batch;                     /* configs asked for at a time, 1 to REPLAY_MAX_BATCH */
};

struct replay_run {
    size_t *rows;       /* numbers of recorded rows in the order of their evaluation */
    size_t n;           /* fewer than the budget when the strategy ran out of configs */
    double overhead_ms; /* processor time of the strategy */
};

/* Asks for a batch, looks the answers up, tells them (values are ln ms, costs in seconds), until the budget is spent.
 * What the strategy's init, ask and tell return, with words. */
enum err replay(const struct recorded *recorded, const struct replay_options *options, struct replay_run *out,
                struct why *why);
void replay_run_fini(struct replay_run *r);

#endif
