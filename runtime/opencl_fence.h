/* SPDX-License-Identifier: MIT */
/* opencl_fence.h - buffers of the host's memory whose bands nobody may touch. A kernel that reads or writes there, if
 * only to drop what it read, ends the process by a signal; before that the process says on stderr which buffer it was
 * and where. */
#ifndef TUNE_RUNTIME_OPENCL_FENCE_H
#define TUNE_RUNTIME_OPENCL_FENCE_H

#include "runtime/opencl.h"

#include <stdbool.h>
#include <stddef.h>

#define OPENCL_FENCE_FRONT "front"

/* A buffer of n bytes, GUARD_BYTES of them at both ends a band; n > 2 * GUARD_BYTES. The bands and 1 MiB beyond are
 * pages without access. The buffer's end is at such a page but for its alignment of 128 bytes, its beginning may be
 * most of a page away; where TUNE_FENCE is OPENCL_FENCE_FRONT the other way round. `name`: for people, copied. NULL
 * with the call's error. */
cl_mem opencl_fence_new(cl_context context, size_t n, const char *name, cl_int *error);

/* Closes the bands, or opens them to the host; nothing to do for other buffers. */
void opencl_fence_set(cl_mem mem, bool closed);

/* What lies between the bands may only be read, or written too; nothing to do for other buffers. */
void opencl_fence_read_only(cl_mem mem, bool read_only);

/* Frees a buffer with a fence, its memory object too; false: it has none. */
bool opencl_fence_free(cl_mem mem);

#endif
