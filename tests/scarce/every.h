/* SPDX-License-Identifier: MIT */
/* every.h - as scarce.h, but of the whole program with its libraries and threads: malloc itself is replaced. */
#ifndef TUNE_TESTS_SCARCE_EVERY_H
#define TUNE_TESTS_SCARCE_EVERY_H

#include <stdbool.h>
#include <stdint.h>

extern const bool every_can; /* false where malloc is a sanitizer's, or no glibc's */

/* From now on the n-th allocation fails; with `for_good` all behind it, too. 0: none. Until every_end. */
void every_begin(int64_t n, bool for_good);
void every_end(void);

/* Since the beginning: did one fail, and how many there were. */
bool every_failed(void);
int64_t every_count(void);

/* Of that library (or program) alone, which has this address; before the beginning. */
void every_only(uintptr_t address);

#endif
