#include "tracker/store.h"

#include <string.h>

extern const struct store_ops store_sqlite;

const struct store_ops *const store_table[] = {&store_sqlite, NULL};

const struct store_ops *store_find(const char *name)
{
    for (size_t i = 0; store_table[i]; i++)
        if (strcmp(store_table[i]->name, name) == 0)
            return store_table[i];
    return NULL;
}
