/* SPDX-License-Identifier: MIT */
/* opencl_memory.h - buffers of the OpenCL backend: copied to and from where the device has its own memory, mapped where
 * it shares the host's (Mali, CPUs). */
#ifndef TUNE_RUNTIME_OPENCL_MEMORY_H
#define TUNE_RUNTIME_OPENCL_MEMORY_H

#include "core/err.h"
#include "runtime/opencl.h"

#include <stdbool.h>
#include <stddef.h>

/* A buffer of n bytes, read and written by kernels; NULL with the call's error. With TUNE_FENCE in the environment the
 * bands of a buffer of PoCL's CPUs that has some (GUARD_BYTES at both ends of the n) are memory
 * that nobody may touch but opencl_put and opencl_get, and so is 1 MiB beyond: a kernel that reads or writes there, if
 * only to drop what it read, ends the process by a signal. The buffer's end is at the band but for its alignment of 128
 * bytes, its beginning may be most of a page away. opencl_buffer_free frees it, NULL too. */
cl_mem opencl_buffer(const struct device *d, size_t n, bool has_bands, cl_int *error);
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
