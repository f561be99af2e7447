/* SPDX-License-Identifier: MIT */
/* vec.h - growth of arrays whose items the caller counts. */
#ifndef TUNE_CORE_VEC_H
#define TUNE_CORE_VEC_H

#include "core/err.h"

#include <stddef.h>
#include <stdint.h>

#define VEC_ANY SIZE_MAX /* no limit but the memory */

/* Room for n items in all: `items` (T *, NULL with cap 0) and `cap` (size_t) are grown to at least twice what they
 * were. ERR_LIMIT: n is more than n_max; ERR_NOMEM; both are left as they were then. */
#define VEC_ROOM(items, cap, n, n_max)                                                                                 \
    ((n) <= (cap) ? ERR_OK : vec_room(&(items), &(cap), (n), (n_max), sizeof *(items)))

/* The same with the address of a T * and the size of an item, which may be 0. */
enum err vec_room(void *items, size_t *cap, size_t n, size_t n_max, size_t n_each);

#endif
