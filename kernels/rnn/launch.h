/* SPDX-License-Identifier: MIT */
/* launch.h - launches with whole-number arguments that change in loops, for the templates of this operator. */
#ifndef TUNE_KERNELS_RNN_LAUNCH_H
#define TUNE_KERNELS_RNN_LAUNCH_H

#include "kernels/build.h"

#include <stdint.h>

/* An i32 argument: its first value, and what each loop around the launch adds an iteration, outermost first. */
struct launch_int {
    int64_t value, bump[2];
};

/* Adds a launch of `items` work-items (rounded up to groups of wg) x layers, over buffers (ended by -1), then `n`
 * numbers. Its index, -1 after an error. */
int launch_add(struct build *b, enum launch_phase phase, const char *kernel, int64_t items, int64_t wg, int64_t layers,
               const int *buffers, int n, const struct launch_int *numbers);

/* Adds a launch that fills a buffer with zeros. */
void launch_zeros(struct build *b, int i_buffer);

/* Puts a launch on a queue. */
void launch_queue(struct build *b, int i_launch, int queue);

/* i_launch begins when the latest start of `i_other` has ended; neither is -1 or both on one queue: nothing to do. */
void launch_after(struct build *b, int i_launch, int i_other);

/* Repeats launches first .. the last so far; nothing when there is none. */
void launch_loop(struct build *b, int first, int64_t count);

/* The index that the next launch will have. */
int launch_next(const struct build *b);

#endif
