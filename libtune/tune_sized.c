/* SPDX-License-Identifier: MIT */
/* tune_sized.c - structs of tune.h that begin with their size: the caller's may be an older, shorter one or a newer,
 * longer one than this library's. */
#include "libtune/tune_parts.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#define MAX_SIZE 4096 /* a struct whose size was never set is likely to say more */

/* The caller's size; 0 = no size that a struct can have. */
static size_t size_of(const void *callers)
{
    size_t size;

    memcpy(&size, callers, sizeof size);
    return size < sizeof size || size > MAX_SIZE ? 0 : size;
}

static enum tune_status no_size(const char *name)
{
    return tune_fail(TUNE_BAD_ARGUMENT, "%s: expected its size, sizeof(struct %s), in the member `size`", name, name);
}

static bool is_zero(const unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (bytes[i])
            return false;
    return true;
}

enum tune_status tune_take_sized(const char *name, const void *callers, void *own, size_t n_own)
{
    const size_t size = size_of(callers), n = size < n_own ? size : n_own;

    if (!size)
        return no_size(name);
    if (!is_zero((const unsigned char *)callers + n, size - n))
        return tune_fail(TUNE_BAD_ARGUMENT, "%s: a member is set that libtune " TUNE_VERSION " does not know", name);
    assert(n <= n_own && n <= size);
    memset(own, 0, n_own);
    memcpy(own, callers, n);
    return TUNE_OK;
}

enum tune_status tune_give_sized(const char *name, const void *own, size_t n_own, void *callers)
{
    const size_t size = size_of(callers), n = size < n_own ? size : n_own;

    if (!size)
        return no_size(name);
    assert(n <= n_own && n <= size);
    memcpy(callers, own, n);
    memset((unsigned char *)callers + n, 0, size - n);
    memcpy(callers, &size, sizeof size);
    return TUNE_OK;
}
