/* SPDX-License-Identifier: MIT */
/* opencl_memory.h - buffers of the OpenCL backend: copied to and from where the device has its own memory, mapped where
 * it shares the host's (Mali, CPUs). */
#ifndef TUNE_RUNTIME_OPENCL_MEMORY_H
#define TUNE_RUNTIME_OPENCL_MEMORY_H

#include "core/err.h"
#include "runtime/opencl.h"

#include <stddef.h>

/* A buffer of n bytes, read and written by kernels; NULL with the call's error. `banded`: the name of one with
 * GUARD_BYTES at both ends of the n, NULL of others. With TUNE_FENCE in the environment the bands of PoCL's CPUs are
 * out of bounds (runtime/fence.h). opencl_buffer_free frees it, NULL too. */
cl_mem opencl_buffer(const struct device *d, size_t n, const char *banded, cl_int *error);
void opencl_buffer_free(cl_mem mem);

/* n bytes from `offset` on into the buffer, or out of it; waits for the queue. ERR_DEVICE with words. */
enum err opencl_put(const struct device *d, cl_command_queue queue, cl_mem to, size_t offset, size_t n,
                    const void *data, struct why *why);
enum err opencl_get(const struct device *d, cl_command_queue queue, cl_mem from, size_t offset, size_t n, void *data,
                    struct why *why);

/* n bytes from `offset` on in their place, none of them of a band, until they are given back. ERR_UNSUPPORTED: the
 * device has its own memory; ERR_DEVICE with words. */
enum err opencl_lend(const struct device *d, cl_command_queue queue, cl_mem from, size_t offset, size_t n,
                     const void **out, struct why *why);
void opencl_give_back(cl_command_queue queue, cl_mem from, const void *at);

#endif
