/* SPDX-License-Identifier: MIT */
/* scarce.h - memory that runs out: the n-th allocation fails, for each n there is. A test links `scarce` and says what
 * is watched; allocations of libraries but cJSON are their own. */
#ifndef TUNE_TESTS_SCARCE_SCARCE_H
#define TUNE_TESTS_SCARCE_SCARCE_H

#include <stdbool.h>
#include <stdint.h>

/* From now on, of the allocations of this thread while they are watched, the n-th fails; with `for_good` all behind it,
 * too. 0: none. */
void scarce_begin(int64_t n, bool for_good);
void scarce_watch(bool on);

/* Allocations watched since the beginning. */
int64_t scarce_count(void);
/* Did one fail? */
bool scarce_failed(void);
/* Blocks of all threads that were not given back yet. */
int64_t scarce_n_blocks(void);

/* Does `work` with the first allocation failing, the second, and so on until it takes no more, once for a moment and
 * once for good. It returns whether it could do its work; what it may not: say so wrongly (its own affair), or keep
 * a block. Gives how many allocations it takes. Failing is the end of the test. */
int64_t scarce_each(bool (*work)(void *arg), void *arg);

#endif
