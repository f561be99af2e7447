/* SPDX-License-Identifier: MIT */
#include "core/rng.h"

#include <assert.h>

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t rng_at(uint64_t seed, uint64_t index)
{
    return mix(mix(seed + UINT64_C(0x9e3779b97f4a7c15)) + (index + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

void rng_at_each(uint64_t seed, uint64_t index, uint64_t *out, size_t n)
{
    const uint64_t step = UINT64_C(0x9e3779b97f4a7c15), base = mix(seed + step);

    for (size_t i = 0; i < n; i++)
        out[i] = mix(base + (index + i + 1) * step);
}

void rng_init(struct rng *r, uint64_t seed)
{
    for (int i = 0; i < 4; i++)
        r->s[i] = mix(seed += UINT64_C(0x9e3779b97f4a7c15));
}

static uint64_t rotate(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

uint64_t rng_next(struct rng *r)
{
    const uint64_t result = rotate(r->s[1] * 5, 7) * 9, t = r->s[1] << 17;

    r->s[2] ^= r->s[0];
    r->s[3] ^= r->s[1];
    r->s[1] ^= r->s[2];
    r->s[0] ^= r->s[3];
    r->s[2] ^= t;
    r->s[3] = rotate(r->s[3], 45);
    return result;
}

uint64_t rng_below(struct rng *r, uint64_t n)
{
    uint64_t threshold;

    assert(n > 0);
    threshold = -n % n;
    for (;;) {
        const unsigned __int128 wide = (unsigned __int128)rng_next(r) * n;

        if ((uint64_t)wide >= threshold)
            return (uint64_t)(wide >> 64);
    }
}

double rng_unit(struct rng *r)
{
    return (double)(rng_next(r) >> 11) * 0x1p-53;
}
