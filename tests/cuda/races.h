/* SPDX-License-Identifier: MIT */
/* races.h - who wrote and who read each byte of a block's shared memory last, so that two accesses of different threads
 * are told when one of them is a write and nothing orders them: no barrier of the block, no __syncwarp. (The clocks of
 * "FastTrack", Flanagan and Freund, PLDI 2009; of the readers of a byte the last two are known.) What finds a race ends
 * the launch by block_fail(719). */
#ifndef TUNE_TESTS_CUDA_RACES_H
#define TUNE_TESTS_CUDA_RACES_H

#include "tests/cuda/emulated_abi.h"

#include <stdbool.h>
#include <stddef.h>

/* Before a launch: shared memory lies in the n_bytes at `base`; false: that is more than can be watched. Then each
 * variable of it. */
bool races_watch(const unsigned char *base, size_t n_bytes);
void races_watch_variable(const unsigned char *at, size_t n_bytes);

/* A block begins. */
void races_start(int n_threads);

/* All threads have met: what was before is ordered before what comes. */
void races_barrier(int n_threads);

/* The threads first + i for all i of `mask` have met: __syncwarp. */
void races_meet(int first, unsigned mask);

/* The running thread reads or writes; what lies elsewhere is nobody's affair. */
void races_access(const void *at, size_t n, int writes);

/* cp.async of the running thread: until it ends nobody may touch its target, the thread itself neither. */
void races_copy_begins(const void *to, size_t n);
void races_copy_ends(const void *to, size_t n);

#endif
