/* SPDX-License-Identifier: MIT */
/* rng.h - random numbers that are the same on every machine.
 * Stream: xoshiro256** seeded by splitmix64 (Blackman and Vigna 2018). Counter-based: splitmix64 of (seed, index). */
#ifndef TUNE_CORE_RNG_H
#define TUNE_CORE_RNG_H

#include <stddef.h>
#include <stdint.h>

struct rng {
    uint64_t s[4];
};

void rng_init(struct rng *r, uint64_t seed);

/* Uniform over all 64-bit values. */
uint64_t rng_next(struct rng *r);

/* Uniform in [0, n), without bias (Lemire 2019); n >= 1. */
uint64_t rng_below(struct rng *r, uint64_t n);

/* Uniform in [0, 1), 53 bits. */
double rng_unit(struct rng *r);

/* The value number `index` of the stream `seed`: order-free, so that any part of a tensor can be filled alone. */
uint64_t rng_at(uint64_t seed, uint64_t index);

/* rng_at of `n` indices from `index` on, at a third of the cost. */
void rng_at_each(uint64_t seed, uint64_t index, uint64_t *out, size_t n);

#endif
