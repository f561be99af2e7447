/* SPDX-License-Identifier: MIT */
/* opencl_memory.h - buffers of the OpenCL backend: copied to and from where the device has its own memory, mapped where
 * it shares the host's (Mali, CPUs). */
#ifndef TUNE_RUNTIME_OPENCL_MEMORY_H
#define TUNE_RUNTIME_OPENCL_MEMORY_H

#include "runtime/opencl.h"

/* A buffer of n bytes, read and written by kernels; NULL with the call's error. */
cl_mem opencl_buffer(const struct device *d, size_t n, cl_int *error);

/* n bytes from `offset` on into the buffer, or out of it; waits for the queue. ERR_DEVICE with words. */
enum err opencl_put(const struct device *d, cl_command_queue queue, cl_mem to, size_t offset, size_t n,
                    const void *data, struct why *why);
enum err opencl_get(const struct device *d, cl_command_queue queue, cl_mem from, size_t offset, size_t n, void *data,
                    struct why *why);

#endif
