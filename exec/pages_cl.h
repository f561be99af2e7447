/* SPDX-License-Identifier: MIT */
/* pages_cl.h - buffers of a CPU's OpenCL device side by side in large pages of host memory: the weights of a whole
 * network are more than what small pages' translations are kept of. */
#ifndef TUNE_EXEC_PAGES_CL_H
#define TUNE_EXEC_PAGES_CL_H

#include "exec/exec_cl.h"

#include <stddef.h>

struct exec_pages {
    char *block; /* NULL: there are none */
    size_t at, n_bytes;
};

/* Bytes that a buffer of n takes. */
EXEC_API size_t exec_pages_room(size_t n);

/* Room for n_bytes; none on devices that are no CPU, or without memory. */
EXEC_API void exec_pages_open(struct exec_pages *p, cl_device_id device, size_t n_bytes);

/* The next buffer of n bytes; NULL where there is no room. The pages outlive it. */
EXEC_API cl_mem exec_pages_buffer(struct exec_pages *p, cl_context context, size_t n);

/* Behind all commands that use its buffers. */
EXEC_API void exec_pages_close(struct exec_pages *p);

#endif
