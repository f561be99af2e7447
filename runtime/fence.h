/* SPDX-License-Identifier: MIT */
/* fence.h - memory of the host whose bands nobody may touch, for what kernels on CPUs are verified with. A kernel that
 * reads or writes there, if only to drop what it read, ends the process by a signal; before that the process says on
 * stderr which buffer it was and where. */
#ifndef TUNE_RUNTIME_FENCE_H
#define TUNE_RUNTIME_FENCE_H

#include <stdbool.h>
#include <stddef.h>

/* Memory of n bytes, GUARD_BYTES of them at both ends a band; n > 2 * GUARD_BYTES. The bands and 1 MiB beyond are pages
 * without access. The end of what lies between them is at such a page but for its alignment of 128 bytes, its beginning
 * may be most of a page away. `name`: for people, copied. Gives
 * where the first band begins, and that is its key; NULL on lack of memory. fence_free it. */
void *fence_new(size_t n, const char *name);

/* Lets it be known by what an API made of it; keys are unique. */
void fence_know_as(void *at, const void *key);

/* Closes the bands, or opens them to the host; nothing to do for keys of other memory. */
void fence_set(const void *key, bool closed);

/* What lies between the bands may only be read, or written too; nothing to do for keys of other memory. */
void fence_read_only(const void *key, bool read_only);

/* False: the key has no fence. */
bool fence_free(const void *key);

#endif
