/* SPDX-License-Identifier: MIT */
#include "tracker/store.h"

#include <string.h>

/* Each a file store_*.c. */
extern const struct store_ops store_sqlite;

const struct store_ops *const store_table[] = {
    &store_sqlite,
    /* the next one here */
    NULL,
};

const struct store_ops *store_find(const char *name)
{
    for (size_t i = 0; store_table[i]; i++)
        if (strcmp(store_table[i]->name, name) == 0)
            return store_table[i];
    return NULL;
}

const struct store_ops *store_parse(const char *text, const char **dir)
{
    const size_t n = strcspn(text, ":");

    for (size_t i = 0; text[n] && store_table[i]; i++)
        if (strlen(store_table[i]->name) == n && strncmp(store_table[i]->name, text, n) == 0) {
            *dir = text + n + 1;
            return store_table[i];
        }
    *dir = text;
    return store_table[0];
}
