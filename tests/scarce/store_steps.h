/* SPDX-License-Identifier: MIT */
/* store_steps.h - a store's life in steps that write all that one keeps, with what can be read of each from then on;
 * for stores that may fail. */
#ifndef TUNE_TESTS_SCARCE_STORE_STEPS_H
#define TUNE_TESTS_SCARCE_STORE_STEPS_H

#include "tests/tracker/store_place.h"

#define N_STEPS 11

/* A clock that goes on by a tenth of a second with each step. */
extern const struct clock steps_clock;

/* Writes, commits and flushes step i (from 0): acknowledged when it returns ERR_OK, else `why` has the store's words.
 * Then reads what was written: *seen is what that came to. What is read and is another than what was written fails the
 * test. */
enum err step_take(struct place *p, int i, enum err *seen, struct why *why);

/* Fails the test unless all of the first n is there. */
void steps_check(struct place *p, int n);

#endif
