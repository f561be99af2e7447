/* SPDX-License-Identifier: MIT */
/* contexts.c - contexts, and memory that hangs on them. Each buffer ends where a page that nobody may touch begins, so
 * that an access behind it is an error 700 and not luck; fresh memory is NaN. */
#include "tests/cuda/driver.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ALIGNMENT ((size_t)16)            /* of buffers: the widest load of a thread. A device has 256. */
#define MOST_POISONED ((size_t)256 << 20) /* larger buffers start as zeros */
#define BORDER_BYTES ((size_t)64 << 10)   /* of address space, a multiple of every page size */
#define MOST_WATCHED ((size_t)64 << 20)   /* for what blocks do to each other (blocks_apart.h), 8 bytes each */
#define MAX_NESTED 16

static CUcontext contexts; /* all that ever were */
static _Thread_local struct {
    CUcontext stack[MAX_NESTED];
    int n;
} current;

CUcontext context_current(void)
{
    return current.n ? current.stack[current.n - 1] : NULL;
}

static bool is_context(const struct CUctx_st *c)
{
    for (const struct CUctx_st *at = contexts; at; at = at->next)
        if (at == c)
            return at->alive;
    return false;
}

static CUcontext make(CUdevice d)
{
    CUcontext c = calloc(1, sizeof *c);
    CUstream s = calloc(1, sizeof *s);

    if (!c || !s) {
        free(c);
        free(s);
        return NULL;
    }
    *s = (struct CUstream_st){.magic = MAGIC_STREAM, .alive = true, .blocking = true, .context = c};
    *c = (struct CUctx_st){
        .magic = MAGIC_CONTEXT, .device = d, .alive = true, .streams = s, .null_stream = s, .next = contexts};
    contexts = c;
    return c;
}

static void drop_memory(struct memory *m)
{
    if (m->mapping)
        munmap(m->mapping, m->mapping_bytes);
    free(m->touches);
    free(m);
}

/* Everything on it; its handles stay told from others until the process ends. What is still there is noted. */
static void drop(CUcontext c)
{
    int n_memory = 0, n_streams = 0, n_events = 0, n_modules = 0;

    for (struct memory *m = c->memory, *next; m; m = next) {
        next = m->next;
        n_memory += m->mapping != NULL;
        drop_memory(m);
    }
    c->memory = NULL;
    for (CUstream s = c->streams; s; s = s->next) {
        n_streams += s->alive && s != c->null_stream;
        s->alive = false;
        while (s->queue.first) {
            struct work *w = s->queue.first;

            s->queue.first = w->next;
            work_free(w);
        }
    }
    for (CUevent e = c->events; e; e = e->next) {
        n_events += e->alive;
        e->alive = false;
    }
    for (CUmodule m = c->modules; m; m = m->next) {
        n_modules += module_is_alive(m);
        module_drop(m);
    }
    c->alive = false;
    driver_note("  left over: buffers=%d streams=%d events=%d modules=%d", n_memory, n_streams, n_events, n_modules);
}

/* Contexts. */

static CUresult create(CUcontext *out, CUdevice d, const char *name)
{
    const CUresult e = driver_enter(CALL_FREE, name, "device=%d", d);
    CUcontext c;

    if (e)
        return e;
    if (!driver_is_up())
        return driver_leave(CUDA_ERROR_NOT_INITIALIZED);
    if (!device_sm(d))
        return driver_leave(CUDA_ERROR_INVALID_DEVICE);
    c = make(d);
    if (!c || current.n == MAX_NESTED)
        return driver_leave(CUDA_ERROR_OUT_OF_MEMORY);
    current.stack[current.n++] = c;
    *out = c;
    return driver_leave(CUDA_SUCCESS);
}

CUresult cuCtxCreate_v2(CUcontext *c, unsigned flags, CUdevice d)
{
    (void)flags;
    return create(c, d, "cuCtxCreate");
}

CUresult cuCtxCreate_v4(CUcontext *c, void *params, unsigned flags, CUdevice d)
{
    (void)params;
    (void)flags;
    return create(c, d, "cuCtxCreate");
}

static void forget_current(CUcontext c)
{
    int kept = 0;

    for (int i = 0; i < current.n; i++)
        if (current.stack[i] != c)
            current.stack[kept++] = current.stack[i];
    current.n = kept;
}

CUresult cuCtxDestroy_v2(CUcontext c)
{
    const CUresult e = driver_enter(CALL_FREE, "cuCtxDestroy", "%s", "");

    if (e)
        return e;
    if (!is_context(c))
        return driver_leave(CUDA_ERROR_INVALID_CONTEXT);
    drop(c);
    forget_current(c);
    return driver_leave(CUDA_SUCCESS);
}

CUresult cuCtxSetCurrent(CUcontext c)
{
    const CUresult e = driver_enter(CALL_FREE, "cuCtxSetCurrent", "%s", "");

    if (e)
        return e;
    if (c && !is_context(c))
        return driver_leave(CUDA_ERROR_INVALID_CONTEXT);
    current.n -= current.n > 0;
    if (c)
        current.stack[current.n++] = c;
    return driver_leave(CUDA_SUCCESS);
}

CUresult cuCtxGetCurrent(CUcontext *c)
{
    *c = context_current();
    return driver_is_up() ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult cuCtxPushCurrent_v2(CUcontext c)
{
    const CUresult e = driver_enter(CALL_FREE, "cuCtxPushCurrent", "%s", "");

    if (e)
        return e;
    if (!is_context(c) || current.n == MAX_NESTED)
        return driver_leave(CUDA_ERROR_INVALID_CONTEXT);
    current.stack[current.n++] = c;
    return driver_leave(CUDA_SUCCESS);
}

CUresult cuCtxPopCurrent_v2(CUcontext *c)
{
    const CUresult e = driver_enter(CALL_FREE, "cuCtxPopCurrent", "%s", "");

    if (e)
        return e;
    if (!current.n)
        return driver_leave(CUDA_ERROR_INVALID_CONTEXT);
    current.n--;
    if (c)
        *c = current.stack[current.n];
    return driver_leave(CUDA_SUCCESS);
}

CUresult cuCtxGetDevice(CUdevice *d)
{
    const CUresult e = driver_enter(CALL_CONTEXT, "cuCtxGetDevice", "%s", "");

    if (e)
        return e;
    *d = context_current()->device;
    return driver_leave(CUDA_SUCCESS);
}

CUresult cuCtxSynchronize(void)
{
    const CUresult e = driver_enter(CALL_WAIT, "cuCtxSynchronize", "%s", "");

    if (e)
        return e;
    if (capture_is_on(context_current()))
        return driver_leave(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    return driver_leave(stream_drain(context_current(), NULL));
}

static CUcontext primary_of(CUdevice d)
{
    for (CUcontext c = contexts; c; c = c->next)
        if (c->device == d && c->alive && c->n_retained)
            return c;
    return NULL;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice d)
{
    const CUresult e = driver_enter(CALL_FREE, "cuDevicePrimaryCtxRetain", "device=%d", d);
    CUcontext c;

    if (e)
        return e;
    if (!driver_is_up() || !device_sm(d))
        return driver_leave(driver_is_up() ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_NOT_INITIALIZED);
    c = primary_of(d);
    if (!c)
        c = make(d);
    if (!c)
        return driver_leave(CUDA_ERROR_OUT_OF_MEMORY);
    c->n_retained++;
    *out = c;
    return driver_leave(CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice d)
{
    const CUresult e = driver_enter(CALL_FREE, "cuDevicePrimaryCtxRelease", "device=%d", d);
    CUcontext c;

    if (e)
        return e;
    c = primary_of(d);
    if (!c)
        return driver_leave(CUDA_ERROR_INVALID_CONTEXT);
    if (!--c->n_retained)
        drop(c);
    return driver_leave(CUDA_SUCCESS);
}

/* Memory. */

struct memory *memory_find(CUcontext c, const void *at, size_t n_bytes)
{
    const unsigned char *from = at;

    for (struct memory *m = c->memory; m; m = m->next)
        if (from >= m->at && from <= m->at + m->n_bytes && n_bytes <= (size_t)(m->at + m->n_bytes - from))
            return m;
    return NULL;
}

CUresult memory_note(CUcontext c, void *at, size_t n_bytes, const void *owner)
{
    struct memory *m = memory_find(c, at, n_bytes) ? NULL : calloc(1, sizeof *m);

    if (m) {
        *m = (struct memory){.at = at, .n_bytes = n_bytes, .owner = owner, .next = c->memory};
        c->memory = m;
    }
    return CUDA_SUCCESS;
}

void memory_forget(CUcontext c, const void *owner)
{
    for (struct memory **link = &c->memory; *link;) {
        struct memory *m = *link;

        if (m->owner != owner) {
            link = &m->next;
            continue;
        }
        *link = m->next;
        drop_memory(m);
    }
}

/* A buffer between two borders of nobody; shared with the processes that blocks of a cooperative launch are. */
static struct memory *map(size_t n_bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), rounded = (n_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    const size_t inner = (rounded + page - 1) / page * page, all = inner + 2 * BORDER_BYTES;
    struct memory *m = calloc(1, sizeof *m);
    unsigned char *at = m ? mmap(NULL, all, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) : MAP_FAILED;

    if (at == MAP_FAILED || mprotect(at + BORDER_BYTES, inner, PROT_READ | PROT_WRITE)) {
        free(m);
        return NULL;
    }
    *m = (struct memory){
        .at = at + BORDER_BYTES + inner - rounded, .n_bytes = n_bytes, .mapping = at, .mapping_bytes = all};
    if (n_bytes <= MOST_POISONED)
        memset(at + BORDER_BYTES, 0xff, inner);
    return m;
}

static CUresult allocate(size_t n_bytes, bool host, unsigned char **out)
{
    CUcontext c = context_current();
    struct memory *m;

    if (!n_bytes)
        return CUDA_ERROR_INVALID_VALUE;
    if (capture_is_on(c))
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (!host && c->used_bytes + (int64_t)n_bytes > device_memory(c->device))
        return CUDA_ERROR_OUT_OF_MEMORY;
    m = map(n_bytes);
    if (!m)
        return CUDA_ERROR_OUT_OF_MEMORY;
    m->host = host;
    m->touches = host || n_bytes > MOST_WATCHED ? NULL : calloc(n_bytes, sizeof *m->touches);
    m->next = c->memory;
    c->memory = m;
    c->used_bytes += host ? 0 : (int64_t)n_bytes;
    *out = m->at;
    return CUDA_SUCCESS;
}

static CUresult release(const void *at, bool host)
{
    CUcontext c = context_current();

    for (struct memory **link = &c->memory; *link; link = &(*link)->next) {
        struct memory *m = *link;

        if (m->at != at || m->host != host || !m->mapping)
            continue;
        *link = m->next;
        c->used_bytes -= host ? 0 : (int64_t)m->n_bytes;
        drop_memory(m);
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemGetInfo_v2(size_t *n_free, size_t *n_total)
{
    const CUresult e = driver_enter(CALL_CONTEXT, "cuMemGetInfo", "%s", "");

    if (e)
        return e;
    *n_total = (size_t)device_memory(context_current()->device);
    *n_free = *n_total - (size_t)context_current()->used_bytes;
    return driver_leave(CUDA_SUCCESS);
}

CUresult cuMemAlloc_v2(CUdeviceptr *to, size_t n_bytes)
{
    CUresult e = driver_enter(CALL_CONTEXT, "cuMemAlloc", "bytes=%zu", n_bytes);
    unsigned char *at = NULL;

    if (e)
        return e;
    e = allocate(n_bytes, false, &at);
    if (!e)
        *to = (CUdeviceptr)(uintptr_t)at;
    return driver_leave(e);
}

/* Frees when everything that may use it is done, as on a device. */
CUresult cuMemFree_v2(CUdeviceptr at)
{
    CUresult e = driver_enter(CALL_WAIT, "cuMemFree", "%s", "");

    if (e)
        return e;
    e = at ? stream_drain(context_current(), NULL) : CUDA_SUCCESS;
    return driver_leave(e || !at ? e : release((void *)(uintptr_t)at, false));
}

CUresult cuMemHostAlloc(void **to, size_t n_bytes, unsigned flags)
{
    CUresult e = driver_enter(CALL_CONTEXT, "cuMemHostAlloc", "bytes=%zu flags=%u", n_bytes, flags);
    unsigned char *at = NULL;

    if (e)
        return e;
    e = allocate(n_bytes, true, &at);
    if (!e)
        *to = at;
    return driver_leave(e);
}

CUresult cuMemAllocHost_v2(void **to, size_t n_bytes)
{
    return cuMemHostAlloc(to, n_bytes, 0);
}

CUresult cuMemFreeHost(void *at)
{
    CUresult e = driver_enter(CALL_WAIT, "cuMemFreeHost", "%s", "");

    if (e)
        return e;
    e = stream_drain(context_current(), NULL);
    return driver_leave(e ? e : release(at, true));
}
