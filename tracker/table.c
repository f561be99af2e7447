/* SPDX-License-Identifier: MIT */
#include "tracker/table.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct table_entry {
    struct table_entry *next;
    void *value;
    uint64_t hash;
    size_t n_key;
    unsigned char key[];
};

/* FNV-1a (Fowler, Noll, Vo), finished by a multiply so that low bits depend on all. */
static uint64_t hash_of(const void *key, size_t n)
{
    const unsigned char *p = key;
    uint64_t h = 14695981039346656037u;

    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * 1099511628211u;
    return h ^ h >> 29;
}

static struct table_entry **place(const struct table *t, uint64_t hash, const void *key, size_t n_key)
{
    struct table_entry **p;

    if (!t->n_buckets)
        return NULL;
    for (p = &t->buckets[hash & (t->n_buckets - 1)]; *p; p = &(*p)->next)
        if ((*p)->hash == hash && (*p)->n_key == n_key && memcmp((*p)->key, key, n_key) == 0)
            break;
    return p;
}

static bool grow(struct table *t)
{
    const size_t n_new = t->n_buckets ? t->n_buckets * 2 : 16;
    struct table_entry **fresh = calloc(n_new, sizeof *fresh);

    if (!fresh)
        return false;
    for (size_t i = 0; i < t->n_buckets; i++)
        for (struct table_entry *e = t->buckets[i], *next; e; e = next) {
            next = e->next;
            e->next = fresh[e->hash & (n_new - 1)];
            fresh[e->hash & (n_new - 1)] = e;
        }
    free(t->buckets);
    assert((n_new & (n_new - 1)) == 0); /* a hash is masked, not divided */
    t->buckets = fresh;
    t->n_buckets = n_new;
    return true;
}

void table_fini(struct table *t)
{
    for (size_t i = 0; i < t->n_buckets; i++)
        for (struct table_entry *e = t->buckets[i], *next; e; e = next) {
            next = e->next;
            free(e);
        }
    free(t->buckets);
    *t = (struct table){0};
}

enum err table_put(struct table *t, const void *key, size_t n_key, void *value)
{
    const uint64_t hash = hash_of(key, n_key);
    struct table_entry **p = place(t, hash, key, n_key), *e;

    if (p && *p) {
        (*p)->value = value;
        return ERR_OK;
    }
    if (t->n >= t->n_buckets && !grow(t))
        return ERR_NOMEM;
    e = malloc(sizeof *e + n_key);
    if (!e)
        return ERR_NOMEM;
    *e = (struct table_entry){.value = value, .hash = hash, .n_key = n_key};
    memcpy(e->key, key, n_key);
    e->next = t->buckets[hash & (t->n_buckets - 1)];
    t->buckets[hash & (t->n_buckets - 1)] = e;
    t->n++;
    return ERR_OK;
}

void *table_get(const struct table *t, const void *key, size_t n_key)
{
    struct table_entry **p = place(t, hash_of(key, n_key), key, n_key);

    return p && *p ? (*p)->value : NULL;
}

void *table_remove(struct table *t, const void *key, size_t n_key)
{
    struct table_entry **p = place(t, hash_of(key, n_key), key, n_key), *e;
    void *value;

    if (!p || !*p)
        return NULL;
    e = *p;
    assert(t->n > 0);
    value = e->value;
    *p = e->next;
    free(e);
    t->n--;
    return value;
}

/* *at holds the bucket in its high half and the position in the chain in its low 16 bits. */
void *table_next(const struct table *t, size_t *at)
{
    size_t bucket = *at >> 16, skip = *at & 0xffff;

    for (; bucket < t->n_buckets; bucket++, skip = 0) {
        const struct table_entry *e = t->buckets[bucket];

        for (size_t i = 0; e && i < skip; i++)
            e = e->next;
        if (e) {
            *at = bucket << 16 | (skip + 1);
            return e->value;
        }
    }
    *at = bucket << 16;
    return NULL;
}

enum err table_put_text(struct table *t, const char *key, void *value)
{
    return table_put(t, key, strlen(key), value);
}

void *table_get_text(const struct table *t, const char *key)
{
    return table_get(t, key, strlen(key));
}

void *table_remove_text(struct table *t, const char *key)
{
    return table_remove(t, key, strlen(key));
}

enum err table_put_i64(struct table *t, int64_t key, void *value)
{
    return table_put(t, &key, sizeof key, value);
}

void *table_get_i64(const struct table *t, int64_t key)
{
    return table_get(t, &key, sizeof key);
}

void *table_remove_i64(struct table *t, int64_t key)
{
    return table_remove(t, &key, sizeof key);
}
