/* SPDX-License-Identifier: MIT */
#include "runtime/opencl_memory.h"

#include "core/err.h"
#include "runtime/device_checks.h"
#include "runtime/fence.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void opencl_buffer_free(cl_mem mem)
{
    if (!mem)
        return;
    clReleaseMemObject(mem);
    (void)fence_free(mem);
}

/* One in memory of ours, whose bands nobody may touch. */
static cl_mem fenced(cl_context context, size_t n, const char *name, cl_int *error)
{
    void *at = fence_new(n, name);
    cl_mem mem;

    *error = CL_OUT_OF_HOST_MEMORY;
    if (!at)
        return NULL;
    mem = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, n, at, error);
    if (*error == CL_SUCCESS)
        fence_know_as(at, mem);
    else
        (void)fence_free(at);
    return *error == CL_SUCCESS ? mem : NULL;
}

cl_mem opencl_buffer(const struct device *d, size_t n, const char *banded, cl_int *error)
{
    const cl_mem_flags flags = CL_MEM_READ_WRITE | (d->desc.shares_host ? CL_MEM_ALLOC_HOST_PTR : 0);

    if (banded && d->pocl && d->desc.kind == DEVICE_CPU && n > 2 * GUARD_BYTES && getenv("TUNE_FENCE"))
        return fenced(d->context, n, banded, error);
    return clCreateBuffer(d->context, flags, n, NULL, error);
}

/* The part of a buffer as host memory; the driver may have to flush or invalidate caches, but copies nothing. */
static enum err map(cl_command_queue queue, cl_mem mem, cl_map_flags flags, size_t offset, size_t n, void **out,
                    struct why *why)
{
    cl_int error = CL_SUCCESS;

    *out = clEnqueueMapBuffer(queue, mem, CL_TRUE, flags, offset, n, 0, NULL, NULL, &error);
    return error == CL_SUCCESS ? ERR_OK : opencl_failed(why, ERR_DEVICE, "clEnqueueMapBuffer", error);
}

/* What was written is waited for: a kernel on another queue may be next. */
static enum err unmap(cl_command_queue queue, cl_mem mem, void *at, bool written, struct why *why)
{
    cl_int error = clEnqueueUnmapMemObject(queue, mem, at, 0, NULL, NULL);

    if (error == CL_SUCCESS && written)
        error = clFinish(queue);
    return error == CL_SUCCESS ? ERR_OK : opencl_failed(why, ERR_DEVICE, "clEnqueueUnmapMemObject", error);
}

enum err opencl_put(const struct device *d, cl_command_queue queue, cl_mem to, size_t offset, size_t n,
                    const void *data, struct why *why)
{
    void *at = NULL;
    cl_int error;
    enum err e;

    if (!d->desc.shares_host) {
        error = clEnqueueWriteBuffer(queue, to, CL_TRUE, offset, n, data, 0, NULL, NULL);
        return error == CL_SUCCESS ? ERR_OK : opencl_failed(why, ERR_DEVICE, "clEnqueueWriteBuffer", error);
    }
    e = map(queue, to, CL_MAP_WRITE_INVALIDATE_REGION, offset, n, &at, why);
    if (e)
        return e;
    fence_set(to, false);
    memcpy(at, data, n);
    fence_set(to, true);
    return unmap(queue, to, at, true, why);
}

enum err opencl_get(const struct device *d, cl_command_queue queue, cl_mem from, size_t offset, size_t n, void *data,
                    struct why *why)
{
    void *at = NULL;
    cl_int error;
    enum err e;

    if (!d->desc.shares_host) {
        error = clEnqueueReadBuffer(queue, from, CL_TRUE, offset, n, data, 0, NULL, NULL);
        return error == CL_SUCCESS ? ERR_OK : opencl_failed(why, ERR_DEVICE, "clEnqueueReadBuffer", error);
    }
    e = map(queue, from, CL_MAP_READ, offset, n, &at, why);
    if (e)
        return e;
    fence_set(from, false);
    memcpy(data, at, n);
    fence_set(from, true);
    return unmap(queue, from, at, false, why);
}

enum err opencl_lend(const struct device *d, cl_command_queue queue, cl_mem from, size_t offset, size_t n,
                     const void **out, struct why *why)
{
    void *at = NULL;
    enum err e = d->desc.shares_host ? map(queue, from, CL_MAP_READ, offset, n, &at, why) : ERR_UNSUPPORTED;

    *out = at;
    return e;
}

void opencl_give_back(cl_command_queue queue, cl_mem from, const void *at)
{
    (void)clEnqueueUnmapMemObject(queue, from, (void *)(uintptr_t)at, 0, NULL, NULL);
}
