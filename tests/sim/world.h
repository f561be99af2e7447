/* SPDX-License-Identifier: MIT */
/* world.h - a world in one process for tests of engines: actors that take turns (one runs at a time), a clock that goes
 * on only when all of them wait, and randomness from one seed, so that every run can be repeated.
 * An actor is a thread, so that product code runs as it is; whatever blocks must block here. */
#ifndef TUNE_TESTS_SIM_WORLD_H
#define TUNE_TESTS_SIM_WORLD_H

#include "core/clock.h"
#include "core/entropy.h"
#include "core/rng.h"

#include <stdbool.h>
#include <stdint.h>

#define WORLD_MS ((int64_t)1000000)
#define WORLD_S ((int64_t)1000000000)

struct world;

/* Starts at 1 s of the monotonic clock and 2026-01-01 on the wall. */
struct world *world_new(uint64_t seed);
/* All actors have ended. */
void world_free(struct world *w);

const struct clock *world_clock(struct world *w);
const struct entropy *world_entropy(struct world *w);
struct rng *world_rng(struct world *w);
int64_t world_now_ns(const struct world *w);
/* The wall clock jumps. */
void world_shift_wall(struct world *w, int64_t ms);

/* Another actor, which runs from the next turn on. Names are kept, and told when the world stands still. */
void world_add(struct world *w, const char *name, void (*body)(void *arg), void *arg);

/* Lets the actors act until all have ended. False, with their names on stderr, when `max_ns` of the world's time did
 * not suffice, or nobody can ever go on; then the world cannot be freed. */
bool world_run(struct world *w, int64_t max_ns);

/* In an actor: lets others act for that long (0: those that can act now may). */
void world_sleep(struct world *w, int64_t ns);
/* In an actor: waits until ready(arg) is true (asked after every turn of another) or the time has come; INT64_MAX =
 * never. Gives what ready said last. */
bool world_wait(struct world *w, bool (*ready)(void *arg), void *arg, int64_t until_ns);

/* Turns taken so far. */
int64_t world_turns(const struct world *w);

#endif
