/* SPDX-License-Identifier: MIT */
#include "logs/seen.h"

#include "core/entropy.h"
#include "core/vec.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TRIAL_BYTES 192 /* id, job and time, more than records hold */

enum err seen_init(struct seen *s)
{
    *s = (struct seen){.n = 0};
    return entropy_fill(NULL, s->key, sizeof s->key);
}

void seen_fini(struct seen *s)
{
    free(s->entries);
    map_fini(&s->by_trial);
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

static enum err add(struct seen *s, struct seen_entry entry)
{
    enum err e = VEC_ROOM(s->entries, s->cap, s->n + 1, VEC_ANY);

    if (!e)
        e = map_room(&s->by_trial, s->n + 1);
    if (e)
        return e;
    map_add(&s->by_trial, entry.trial, s->n);
    s->entries[s->n++] = entry;
    return ERR_OK;
}

/* The trial's next entry; see map_next. */
static struct seen_entry *next(const struct seen *s, uint64_t trial, size_t *at)
{
    const struct map_slot *slot;

    while ((slot = map_next(&s->by_trial, trial, at)))
        if (s->entries[slot->item].trial == trial)
            return &s->entries[slot->item];
    return NULL;
}

enum err seen_note(struct seen *s, uint64_t trial, uint64_t line, uint64_t place, enum seen_kind *kind,
                   uint64_t *former)
{
    const struct seen_entry *other;

    assert(place != 0);
    *kind = SEEN_NEW;
    *former = 0;
    for (size_t at = 0; (other = next(s, trial, &at));) {
        if (other->line == line) {
            *kind = SEEN_EQUAL;
            *former = other->place;
            return ERR_OK;
        }
        if (*kind == SEEN_NEW)
            *former = other->place;
        *kind = SEEN_OTHER;
    }
    return add(s, (struct seen_entry){trial, line, place});
}

const struct seen_entry *seen_find(const struct seen *s, uint64_t trial)
{
    return next(s, trial, &(size_t){0});
}

struct seen_entry *seen_only(struct seen *s, uint64_t trial)
{
    struct seen_entry *entry = next(s, trial, &(size_t){0});

    if (entry)
        return entry;
    return add(s, (struct seen_entry){.trial = trial}) ? NULL : &s->entries[s->n - 1];
}
