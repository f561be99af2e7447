/* SPDX-License-Identifier: MIT */
#include "runtime/opencl_memory.h"

#include "core/err.h"
#include "runtime/device_checks.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ALIGNMENT ((uintptr_t)128) /* of a buffer's beginning: the largest vector type's */
#define BEYOND ((size_t)1 << 20)   /* of the bands, for ever out of bounds */

/* Buffers with fences, of the process: a device belongs to one thread. */
static struct fence {
    cl_mem mem;
    unsigned char *map, *page, *end; /* pages [page, end) hold what lies between the bands */
    size_t n_map;
    struct fence *next;
} * fences;

static struct fence *fence_of(cl_mem mem)
{
    struct fence *f = fences;

    while (f && f->mem != mem)
        f = f->next;
    return f;
}

/* All but what lies between the bands: out of bounds for kernels, or open to put and get. */
static void set_fence(const struct fence *f, bool closed)
{
    const int access = closed ? PROT_NONE : PROT_READ | PROT_WRITE;

    (void)mprotect(f->map + BEYOND, (size_t)(f->page - f->map) - BEYOND, access);
    (void)mprotect(f->end, (size_t)(f->map + f->n_map - f->end) - BEYOND, access);
}

static cl_mem fenced_buffer(const struct device *d, size_t n, cl_int *error)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), middle = n - 2 * GUARD_BYTES;
    const uintptr_t room = (middle + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT, pages = (room + page - 1) / page * page;
    struct fence *f = calloc(1, sizeof *f);
    unsigned char *begin;

    *error = CL_OUT_OF_HOST_MEMORY;
    if (!f)
        return NULL;
    f->n_map = 2 * (BEYOND + GUARD_BYTES) + pages;
    f->map = mmap(NULL, f->n_map, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (f->map == MAP_FAILED) {
        free(f);
        return NULL;
    }
    f->page = f->map + BEYOND + GUARD_BYTES;
    f->end = f->page + pages;
    begin = f->end - room;
    assert(begin >= f->page && (uintptr_t)begin % ALIGNMENT == 0);
    (void)mprotect(f->map + BEYOND, f->n_map - 2 * BEYOND, PROT_READ | PROT_WRITE);
    f->mem = clCreateBuffer(d->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, n, begin - GUARD_BYTES, error);
    if (*error != CL_SUCCESS) {
        (void)munmap(f->map, f->n_map);
        free(f);
        return NULL;
    }
    f->next = fences;
    fences = f;
    set_fence(f, true);
    return f->mem;
}

void opencl_buffer_free(cl_mem mem)
{
    for (struct fence **at = &fences, *f; (f = *at); at = &f->next)
        if (f->mem == mem && mem) {
            *at = f->next;
            clReleaseMemObject(mem);
            (void)munmap(f->map, f->n_map);
            free(f);
            return;
        }
    if (mem)
        clReleaseMemObject(mem);
}

cl_mem opencl_buffer(const struct device *d, size_t n, bool has_bands, cl_int *error)
{
    const cl_mem_flags flags = CL_MEM_READ_WRITE | (d->desc.shares_host ? CL_MEM_ALLOC_HOST_PTR : 0);

    if (has_bands && d->pocl && d->desc.kind == DEVICE_CPU && n > 2 * GUARD_BYTES && getenv("TUNE_FENCE"))
        return fenced_buffer(d, n, error);
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
    const struct fence *f = fence_of(to);
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
    if (f)
        set_fence(f, false);
    memcpy(at, data, n);
    if (f)
        set_fence(f, true);
    return unmap(queue, to, at, true, why);
}

enum err opencl_get(const struct device *d, cl_command_queue queue, cl_mem from, size_t offset, size_t n, void *data,
                    struct why *why)
{
    const struct fence *f = fence_of(from);
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
    if (f)
        set_fence(f, false);
    memcpy(data, at, n);
    if (f)
        set_fence(f, true);
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
