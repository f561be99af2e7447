/* SPDX-License-Identifier: MIT */
#include "tracker/store.h"

#include <string.h>

/* Each a file store_*.c. */
extern const struct store_ops store_sqlite;
#ifdef TUNE_WITH_LIBPQ
extern const struct store_ops store_postgres;
#endif

const struct store_ops *const store_table[] = {
    &store_sqlite,
#ifdef TUNE_WITH_LIBPQ
    &store_postgres,
#endif
    /* the next one here */
    NULL,
};

enum err store_parse(const char *text, const struct store_ops **ops, const char **dir, struct why *why)
{
    const size_t n = strcspn(text, ":/");
    const bool named = text[n] == ':';
    size_t i = 0;

    while (named && store_table[i] &&
           (strlen(store_table[i]->name) != n || strncmp(store_table[i]->name, text, n) != 0))
        i++;
    if (!store_table[i])
        return why_set(why, ERR_INPUT,
                       "'%.*s' is no kind of store (a directory of that name: ./%.60s); expected e.g. %s:DIR",
                       (int)(n < 40 ? n : 40), text, text, store_table[0]->name);
    *ops = store_table[i];
    *dir = named ? text + n + 1 : text;
    return ERR_OK;
}
