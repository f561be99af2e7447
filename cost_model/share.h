/* SPDX-License-Identifier: MIT */
/* share.h - one piece of work for several threads, without a pool: helpers are started for it and take shares as long
 * as there are any. Nobody waits for a helper that has not begun: the caller does its shares itself. */
#ifndef TUNE_COST_MODEL_SHARE_H
#define TUNE_COST_MODEL_SHARE_H

#include "core/err.h"

#include <stddef.h>

/* Does [begin, end) of the whole. */
typedef enum err share_fn(void *context, size_t begin, size_t end);

/* Calls fn for all of [0, n) in parts of a multiple of `step`, from up to n_threads threads, the caller among them (0
 * and 1: from it alone, in one call). Returns when all is done: the first error, or ERR_OK. A thread that cannot be
 * started is done without. */
enum err share_out(share_fn *fn, void *context, size_t n, size_t step, size_t n_threads);

#endif
