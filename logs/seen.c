/* SPDX-License-Identifier: MIT */
#include "logs/seen.h"

#include "core/entropy.h"
#include "core/hash.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAP 1024
#define MAX_TRIAL_BYTES 192 /* id, job and time, more than records hold */

enum err seen_init(struct seen *s)
{
    enum err e;

    *s = (struct seen){.cap = FIRST_CAP};
    e = entropy_fill(NULL, s->key, sizeof s->key);
    s->entries = e ? NULL : calloc(s->cap, sizeof *s->entries);
    return e ? e : s->entries ? ERR_OK : ERR_NOMEM;
}

void seen_fini(struct seen *s)
{
    free(s->entries);
    *s = (struct seen){.n = 0};
}

static uint64_t turn(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = turn(v[1], 13) ^ v[0];
    v[3] = turn(v[3], 16) ^ v[2];
    v[0] = turn(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = turn(v[1], 17) ^ v[2];
    v[3] = turn(v[3], 21) ^ v[0];
    v[2] = turn(v[2], 32);
}

static void sip_word(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    sip_round(v);
    v[0] ^= word;
}

uint64_t seen_hash(const struct seen *s, const void *bytes, size_t n)
{
    uint64_t v[4] = {s->key[0] ^ 0x736f6d6570736575u, s->key[1] ^ 0x646f72616e646f6du, s->key[0] ^ 0x6c7967656e657261u,
                     s->key[1] ^ 0x7465646279746573u};
    const unsigned char *p = bytes;
    uint64_t word;
    size_t left = n;

    for (; left >= 8; left -= 8, p += 8) {
        memcpy(&word, p, 8);
        sip_word(v, word);
    }
    word = (uint64_t)n << 56;
    for (size_t i = 0; i < left; i++)
        word |= (uint64_t)p[i] << 8 * i;
    sip_word(v, word);
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t seen_trial(const struct seen *s, const char *id, const char *job, int64_t ts_ms)
{
    char name[MAX_TRIAL_BYTES];
    const int n = snprintf(name, sizeof name, "%s %s %lld", id, job, (long long)ts_ms);

    return seen_hash(s, name, n < MAX_TRIAL_BYTES ? (size_t)n : MAX_TRIAL_BYTES - 1);
}

static enum err grow(struct seen *s)
{
    const size_t cap = 2 * s->cap;
    struct seen_entry *entries = calloc(cap, sizeof *entries);

    assert((cap & (cap - 1)) == 0 && s->n < s->cap);
    if (!entries)
        return ERR_NOMEM;
    for (size_t i = 0; i < s->cap; i++) {
        size_t k = (size_t)s->entries[i].trial & (cap - 1);

        if (!s->entries[i].place)
            continue;
        while (entries[k].place)
            k = (k + 1) & (cap - 1);
        entries[k] = s->entries[i];
    }
    free(s->entries);
    s->entries = entries;
    s->cap = cap;
    return ERR_OK;
}

enum err seen_note(struct seen *s, uint64_t trial, uint64_t line, uint64_t place, enum seen_kind *kind,
                   uint64_t *former)
{
    size_t k;

    if (4 * (s->n + 1) > 3 * s->cap && grow(s))
        return ERR_NOMEM;
    assert(place != 0 && s->n < s->cap); /* a free slot ends each search */
    *kind = SEEN_NEW;
    *former = 0;
    for (k = (size_t)trial & (s->cap - 1); s->entries[k].place; k = (k + 1) & (s->cap - 1)) {
        const struct seen_entry *other = &s->entries[k];

        if (other->trial != trial)
            continue;
        if (other->line == line) {
            *kind = SEEN_EQUAL;
            *former = other->place;
            return ERR_OK;
        }
        if (*kind == SEEN_NEW)
            *former = other->place;
        *kind = SEEN_OTHER;
    }
    s->entries[k] = (struct seen_entry){trial, line, place};
    s->n++;
    return ERR_OK;
}

const struct seen_entry *seen_find(const struct seen *s, uint64_t trial)
{
    assert(s->n < s->cap);
    for (size_t k = (size_t)trial & (s->cap - 1); s->entries[k].place; k = (k + 1) & (s->cap - 1))
        if (s->entries[k].trial == trial)
            return &s->entries[k];
    return NULL;
}

struct seen_entry *seen_only(struct seen *s, uint64_t trial)
{
    size_t k;

    if (4 * (s->n + 1) > 3 * s->cap && grow(s))
        return NULL;
    for (k = (size_t)trial & (s->cap - 1); s->entries[k].place; k = (k + 1) & (s->cap - 1))
        if (s->entries[k].trial == trial)
            return &s->entries[k];
    assert(4 * (s->n + 1) <= 3 * s->cap);
    s->entries[k] = (struct seen_entry){.trial = trial};
    s->n++;
    return &s->entries[k];
}
