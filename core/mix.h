/* SPDX-License-Identifier: MIT */
/* mix.h - hashes of texts and of short runs of 64-bit words, for tables within one process. Multiplication carries
 * upwards only, so that words whose low bits are all alike (whole numbers as doubles) need the high bits folded down
 * twice. */
#ifndef TUNE_CORE_MIX_H
#define TUNE_CORE_MIX_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MIX_BEGIN 0x243f6a8885a308d3u

static inline uint64_t mix_word(uint64_t h, uint64_t word)
{
    h = (h ^ word) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 32;
}

static inline size_t mix_end(uint64_t h)
{
    h *= 0xd6e8feb86659fd93u;
    return (size_t)(h ^ h >> 32);
}

static inline size_t mix_text(const char *text)
{
    uint64_t h = MIX_BEGIN;

    for (; *text; text++)
        h = mix_word(h, (unsigned char)*text);
    return mix_end(h);
}

static inline uint64_t mix_bits(double v)
{
    uint64_t bits;

    memcpy(&bits, &v, sizeof bits);
    return bits;
}

#endif
