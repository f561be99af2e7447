/* SPDX-License-Identifier: MIT */
/* graphs.c - capture of streams into graphs, and their launch. An executable graph is a copy of the captured one. */
#include "tests/cuda/driver.h"

#include <stdlib.h>
#include <string.h>

bool capture_is_on(CUcontext c)
{
    for (CUgraph g = c->graphs; g; g = g->next)
        if (g->capturing)
            return true;
    return false;
}

static CUgraph make(CUcontext c, unsigned magic)
{
    CUgraph g = calloc(1, sizeof *g);

    if (!g)
        return NULL;
    *g = (struct CUgraph_st){.magic = magic, .alive = true, .context = c, .next = c->graphs};
    c->graphs = g;
    return g;
}

static void empty(CUgraph g)
{
    while (g->work.first) {
        struct work *w = g->work.first;

        g->work.first = w->next;
        work_free(w);
    }
    g->alive = false;
}

static CUresult find(CUgraph g, unsigned magic)
{
    return g && g->magic == magic && g->alive ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuStreamBeginCapture_v2(CUstream s, int mode)
{
    CUresult e = driver_enter(CALL_CONTEXT, "cuStreamBeginCapture", "mode=%d", mode);
    CUgraph g;

    if (e)
        return e;
    e = stream_find(s, &s);
    if (e)
        return driver_leave(e);
    if (s == s->context->null_stream || s->capture)
        return driver_leave(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    g = make(s->context, MAGIC_GRAPH);
    if (!g)
        return driver_leave(CUDA_ERROR_OUT_OF_MEMORY);
    g->capturing = true;
    g->n_streams = 1;
    s->capture = g;
    s->i_capture = 0;
    return driver_leave(CUDA_SUCCESS);
}

/* Everything that other streams did in the capture, somebody has waited for. */
static CUresult check_joined(const struct CUgraph_st *g)
{
    for (int i = 1; i < g->n_streams; i++)
        if (g->joined[i] < g->n_work[i])
            return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream s, CUgraph *out)
{
    CUresult e = driver_enter(CALL_CONTEXT, "cuStreamEndCapture", "%s", "");
    CUgraph g;

    if (e)
        return e;
    if ((uintptr_t)s <= 2 || s->magic != MAGIC_STREAM || !s->alive || !s->capture || s->i_capture)
        return driver_leave(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    g = s->capture;
    g->capturing = false;
    for (CUstream other = s->context->streams; other; other = other->next)
        if (other->capture == g)
            other->capture = NULL;
    e = g->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : check_joined(g);
    *out = e ? NULL : g;
    if (e)
        empty(g);
    return driver_leave(e);
}

CUresult cuStreamIsCapturing(CUstream s, int *status)
{
    const CUresult e = driver_enter(CALL_CONTEXT, "cuStreamIsCapturing", "%s", "");

    if (e)
        return e;
    if ((uintptr_t)s > 2 && s->magic != MAGIC_STREAM)
        return driver_leave(CUDA_ERROR_INVALID_HANDLE);
    *status = (uintptr_t)s <= 2 || !s->capture ? 0 : s->capture->invalid ? 2 : 1;
    return driver_leave(CUDA_SUCCESS);
}

/* Parameters of a kernel again: they lie behind their addresses in one piece of memory. */
static void **copy_params(const struct work *w)
{
    const struct emu_kernel *k = w->kernel.function->kernel;
    size_t n_bytes = (size_t)k->n_params * sizeof(void *);
    void **copy;

    for (int i = 0; i < k->n_params; i++)
        n_bytes += (size_t)(k->param_bytes[i] + 15) / 16 * 16;
    copy = malloc(n_bytes + 16);
    if (!copy)
        return NULL;
    memcpy(copy, w->kernel.params, n_bytes);
    for (int i = 0; i < k->n_params; i++)
        copy[i] = (unsigned char *)copy + ((unsigned char *)w->kernel.params[i] - (unsigned char *)w->kernel.params);
    return copy;
}

static CUresult copy_work(CUgraph to, const struct CUgraph_st *from)
{
    for (const struct work *w = from->work.first; w; w = w->next) {
        struct work *copy = work_new(w->kind);

        if (!copy)
            return CUDA_ERROR_OUT_OF_MEMORY;
        *copy = *w;
        if (w->kind == WORK_KERNEL && !(copy->kernel.params = copy_params(w))) {
            free(copy);
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        queue_put(&to->work, copy);
    }
    return CUDA_SUCCESS;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph g, uint64_t flags)
{
    CUresult e = driver_enter(CALL_CONTEXT, "cuGraphInstantiate", "flags=%llu", (unsigned long long)flags);
    CUgraphExec x;

    if (e)
        return e;
    e = find(g, MAGIC_GRAPH);
    if (e)
        return driver_leave(e);
    x = make(g->context, MAGIC_EXEC);
    if (!x)
        return driver_leave(CUDA_ERROR_OUT_OF_MEMORY);
    x->n_streams = g->n_streams;
    *out = x;
    return driver_leave(copy_work(x, g));
}

CUresult cuGraphInstantiate_v2(CUgraphExec *x, CUgraph g, void *node, char *log, size_t n)
{
    (void)node;
    if (log && n)
        *log = '\0';
    return cuGraphInstantiateWithFlags(x, g, 0);
}

CUresult cuGraphUpload(CUgraphExec x, CUstream s)
{
    CUresult e = driver_enter(CALL_CONTEXT, "cuGraphUpload", "%s", "");

    if (e)
        return e;
    e = find(x, MAGIC_EXEC);
    return driver_leave(e ? e : stream_find(s, &s));
}

CUresult cuGraphLaunch(CUgraphExec x, CUstream s)
{
    CUresult e = driver_enter(CALL_LAUNCH, "cuGraphLaunch", "stream=%d", (uintptr_t)s > 2 ? s->id : 0);
    struct work *w;

    if (e)
        return e;
    e = find(x, MAGIC_EXEC);
    if (!e)
        e = stream_find(s, &s);
    if (e)
        return driver_leave(e);
    w = work_new(WORK_GRAPH);
    if (!w)
        return driver_leave(CUDA_ERROR_OUT_OF_MEMORY);
    w->graph = x;
    return driver_leave(stream_put(s, w));
}

/* Launches of it that are under way are done first. */
static CUresult destroy(const char *name, CUgraph g, unsigned magic)
{
    CUresult e = driver_enter(CALL_WAIT, name, "%s", "");

    if (e)
        return e;
    e = find(g, magic);
    if (e)
        return driver_leave(e);
    if (magic == MAGIC_EXEC)
        e = stream_drain(g->context, NULL);
    empty(g);
    return driver_leave(e);
}

CUresult cuGraphExecDestroy(CUgraphExec x)
{
    return destroy("cuGraphExecDestroy", x, MAGIC_EXEC);
}

CUresult cuGraphDestroy(CUgraph g)
{
    return destroy("cuGraphDestroy", g, MAGIC_GRAPH);
}
