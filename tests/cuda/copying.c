/* SPDX-License-Identifier: MIT */
/* copying.c - copies and fills. What the host gives or takes without pinned memory is copied at once. */
#include "tests/cuda/driver.h"

#include <stdlib.h>
#include <string.h>

static void *place(CUdeviceptr at)
{
    return (void *)(uintptr_t)at;
}

/* Both ends, where they are of the device, lie within buffers; a pinned host buffer may be a device's too. */
static bool is_device(const void *at, size_t n_bytes)
{
    return memory_find(context_current(), at, n_bytes) != NULL;
}

static bool is_pinned(const void *at, size_t n_bytes)
{
    const struct memory *m = memory_find(context_current(), at, n_bytes);

    return m && m->host;
}

/* A copy that waits for all that the NULL stream waits for. */
static CUresult copy_now(const char *name, void *to, bool to_device, const void *from, bool from_device, size_t n_bytes)
{
    CUresult e = driver_enter(CALL_WAIT, name, "bytes=%zu", n_bytes);

    if (e)
        return e;
    if ((to_device && !is_device(to, n_bytes)) || (from_device && !is_device(from, n_bytes)))
        return driver_leave(CUDA_ERROR_INVALID_VALUE);
    if (capture_is_on(context_current()))
        return driver_leave(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    e = stream_drain_null(context_current());
    if (!e)
        memmove(to, from, n_bytes);
    return driver_leave(e);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t n_bytes)
{
    return copy_now("cuMemcpyHtoD", place(to), true, from, false, n_bytes);
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t n_bytes)
{
    return copy_now("cuMemcpyDtoH", to, false, place(from), true, n_bytes);
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t n_bytes)
{
    return copy_now("cuMemcpyDtoD", place(to), true, place(from), true, n_bytes);
}

static CUresult put_copy(CUstream s, void *to, const void *from, size_t n_bytes)
{
    struct work *w = work_new(WORK_COPY);

    if (!w)
        return CUDA_ERROR_OUT_OF_MEMORY;
    w->copy.to = to;
    w->copy.from = from;
    w->copy.n_bytes = n_bytes;
    return stream_put(s, w);
}

/* The host's side is not pinned: the driver is done with it when the call returns. */
static CUresult copy_staged(CUstream s, void *to, const void *from, size_t n_bytes)
{
    CUresult e;

    if (s->capture)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    e = stream_drain(s->context, s);
    if (!e)
        memmove(to, from, n_bytes);
    return e;
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t n_bytes, CUstream s)
{
    CUresult e = driver_enter(CALL_CONTEXT, "cuMemcpyHtoDAsync", "bytes=%zu", n_bytes);

    if (e)
        return e;
    e = stream_find(s, &s);
    if (!e && !is_device(place(to), n_bytes))
        e = CUDA_ERROR_INVALID_VALUE;
    if (!e)
        e = is_pinned(from, n_bytes) ? put_copy(s, place(to), from, n_bytes) : copy_staged(s, place(to), from, n_bytes);
    return driver_leave(e);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t n_bytes, CUstream s)
{
    CUresult e = driver_enter(CALL_CONTEXT, "cuMemcpyDtoHAsync", "bytes=%zu", n_bytes);

    if (e)
        return e;
    e = stream_find(s, &s);
    if (!e && !is_device(place(from), n_bytes))
        e = CUDA_ERROR_INVALID_VALUE;
    if (!e)
        e = is_pinned(to, n_bytes) ? put_copy(s, to, place(from), n_bytes) : copy_staged(s, to, place(from), n_bytes);
    return driver_leave(e);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t n_bytes, CUstream s)
{
    CUresult e = driver_enter(CALL_CONTEXT, "cuMemcpyDtoDAsync", "bytes=%zu", n_bytes);

    if (e)
        return e;
    e = stream_find(s, &s);
    if (!e && (!is_device(place(to), n_bytes) || !is_device(place(from), n_bytes)))
        e = CUDA_ERROR_INVALID_VALUE;
    return driver_leave(e ? e : put_copy(s, place(to), place(from), n_bytes));
}

/* `n` values of `width` bytes. */
static CUresult set(const char *name, CUdeviceptr to, uint32_t value, size_t n, size_t width, CUstream s)
{
    CUresult e = driver_enter(CALL_CONTEXT, name, "value=%u n=%zu", value, n);
    struct work *w = NULL;

    if (e)
        return e;
    e = stream_find(s, &s);
    if (!e && (!is_device(place(to), n * width) || to % width))
        e = CUDA_ERROR_INVALID_VALUE;
    if (!e && !(w = work_new(WORK_SET)))
        e = CUDA_ERROR_OUT_OF_MEMORY;
    if (e)
        return driver_leave(e);
    w->set.to = place(to);
    w->set.value = value;
    w->set.n = n;
    w->set.width = width;
    return driver_leave(stream_put(s, w));
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t n, CUstream s)
{
    return set("cuMemsetD8Async", to, value, n, 1, s);
}

CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t n, CUstream s)
{
    return set("cuMemsetD16Async", to, value, n, 2, s);
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t n, CUstream s)
{
    return set("cuMemsetD32Async", to, value, n, 4, s);
}

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t n)
{
    return set("cuMemsetD8", to, value, n, 1, NULL);
}

CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t n)
{
    return set("cuMemsetD16", to, value, n, 2, NULL);
}

CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t n)
{
    return set("cuMemsetD32", to, value, n, 4, NULL);
}
