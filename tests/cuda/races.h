/* SPDX-License-Identifier: MIT */
/* races.h - who wrote and who read each byte of a block's shared memory last, so that two accesses of different threads
 * are told when one of them is a write and nothing orders them: no barrier of the block, no __syncwarp, no barrier in
 * shared memory (mbarrier). What the copy engine writes and what products of warpgroups read are accesses like others.
 * (The clocks of "FastTrack", Flanagan and Freund, PLDI 2009; of the readers of a byte the last two are known.) What
 * finds a race ends the launch by block_fail(719). */
#ifndef TUNE_TESTS_CUDA_RACES_H
#define TUNE_TESTS_CUDA_RACES_H

#include "tests/cuda/emulated_abi.h"

#include <stdbool.h>
#include <stddef.h>

#define RACES_MAX_BARRIERS 64 /* in shared memory, of a block */

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

/* Barriers in shared memory, by numbers below RACES_MAX_BARRIERS. The running thread arrives: what it did comes before
 * the end of the phase. A phase ends; the running thread has waited for that. */
void races_barrier_made(int i_barrier);
void races_arrive(int i_barrier);
void races_phase_ends(int i_barrier);
void races_pass(int i_barrier);

/* fence.proxy.async of the running thread: of what it has written, and of what others have that it knows of, the copy
 * engine and products see the bytes that were written. Without it they may see older ones, whatever barrier lies
 * between. */
void races_fence(void);

/* The running thread sends the copy engine to n bytes, of a barrier or of a box's target: what was written there
 * without a fence is told. */
void races_engine_comes(const void *at, size_t n);

/* A copy that such a barrier counts (it began as others do): it ends before the phase does. */
void races_box_ends(const void *to, size_t n, int i_barrier);

/* Products of warpgroups. The running thread asks for some of its warp's: what it did comes before they read. A warp's
 * end, all that one wait asks for: what each read. The running thread has waited for a warp's products, but for what
 * the last n_ahead waits of that warp ended. */
void races_products_asked(void);
void races_products_begin(int warp);
void races_products_read(int warp, const void *at, size_t n);
void races_products_done(int warp, long n_ahead);

#endif
