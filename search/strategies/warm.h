/* SPDX-License-Identifier: MIT */
/* warm.h - a strategy around another one: proposals from records of other devices and from the inner strategy, in
 * turns. The more the target's own measurements bear the records out, the more turns these get; none are left to them
 * that no longer find anything. */
#ifndef TUNE_SEARCH_STRATEGIES_WARM_H
#define TUNE_SEARCH_STRATEGIES_WARM_H

#include "search/strategy.h"

/* init wants options->history, a transfer whose knobs are the space's in its order, and uses options->inner. */
extern const struct strategy_ops warm_ops;

#endif
