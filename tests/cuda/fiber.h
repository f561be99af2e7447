/* SPDX-License-Identifier: MIT */
/* fiber.h - stacks that take turns in one thread of the operating system. */
#ifndef TUNE_TESTS_CUDA_FIBER_H
#define TUNE_TESTS_CUDA_FIBER_H

struct fiber; /* a stack, kept for the next who needs one */

/* A fiber that will call run(arg) at the first switch to it; run must not return. NULL without memory. */
struct fiber *fiber_new(void (*run)(void *arg), void *arg);
void fiber_free(struct fiber *f); /* back to the stock; not while it runs */

void fiber_go(struct fiber *f);   /* from the main stack into `f`, until it waits */
void fiber_wait(struct fiber *f); /* from `f` back to the main stack */

#endif
