/* SPDX-License-Identifier: MIT */
#include "core/vec.h"

#include <stdlib.h>
#include <string.h>

enum err vec_room(void *items, size_t *cap, size_t n, size_t n_max, size_t n_each)
{
    const size_t most_bytes = SIZE_MAX / 2 / (n_each ? n_each : 1), most = most_bytes < n_max ? most_bytes : n_max;
    size_t more = *cap < most / 2 ? 2 * *cap : most;
    void *list, *grown;

    if (n <= *cap)
        return ERR_OK;
    if (n > most)
        return n > n_max ? ERR_LIMIT : ERR_NOMEM;
    if (more < n)
        more = n;
    memcpy(&list, items, sizeof list); /* a T *, of whatever type */
    grown = realloc(list, more * (n_each ? n_each : 1));
    if (!grown)
        return ERR_NOMEM;
    memcpy(items, &grown, sizeof grown);
    *cap = more;
    /* cppcheck-suppress memleak ; `items` holds it */
    return ERR_OK;
}
