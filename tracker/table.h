/* SPDX-License-Identifier: MIT */
/* table.h - a hash table from byte strings to pointers. */
#ifndef TUNE_TRACKER_TABLE_H
#define TUNE_TRACKER_TABLE_H

#include "core/err.h"

#include <stddef.h>
#include <stdint.h>

struct table_entry;

struct table {
    struct table_entry **buckets;
    size_t n_buckets, n;
};

/* All zero is an empty table. table_fini frees entries, never what they point at. */
void table_fini(struct table *t);

/* Puts or replaces; the key is copied. ERR_NOMEM. */
enum err table_put(struct table *t, const void *key, size_t n_key, void *value);

/* The value of a key, or NULL. */
void *table_get(const struct table *t, const void *key, size_t n_key);

/* Takes a key out and gives its value; NULL when it was not there. */
void *table_remove(struct table *t, const void *key, size_t n_key);

/* Lends values one by one: start with *at = 0, ends with NULL. The table must not change meanwhile. */
void *table_next(const struct table *t, size_t *at);

/* The same with text and number keys. */
enum err table_put_text(struct table *t, const char *key, void *value);
void *table_get_text(const struct table *t, const char *key);
void *table_remove_text(struct table *t, const char *key);
enum err table_put_i64(struct table *t, int64_t key, void *value);
void *table_get_i64(const struct table *t, int64_t key);
void *table_remove_i64(struct table *t, int64_t key);

#endif
