/* SPDX-License-Identifier: MIT */
#include "tests/bench/ops/cuda_libs.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cuda_libs cuda_libs;

struct symbol {
    const char *name;
    void **to;
};

/* The first of `names` that is there, with all symbols. */
static enum err load(const char *const *names, const struct symbol *symbols, size_t n, bool *loaded, struct why *why)
{
    void *handle = NULL;

    if (*loaded)
        return ERR_OK;
    for (; !handle && *names; names++)
        handle = dlopen(*names, RTLD_NOW | RTLD_GLOBAL);
    if (!handle)
        return why_set(why, ERR_NOT_FOUND, "%s", dlerror());
    for (size_t i = 0; i < n; i++) {
        *symbols[i].to = dlsym(handle, symbols[i].name);
        if (!*symbols[i].to)
            return why_set(why, ERR_NOT_FOUND, "%s has no %s", names[-1], symbols[i].name);
    }
    *loaded = true;
    return ERR_OK;
}

#define X(name) {#name, (void **)&cuda_libs.name},
#define LOADER(function, list, ...)                                                                                    \
    enum err function(struct why *why)                                                                                 \
    {                                                                                                                  \
        static const char *const names[] = {__VA_ARGS__, NULL};                                                        \
        static const struct symbol symbols[] = {list(X)};                                                              \
        static bool loaded;                                                                                            \
                                                                                                                       \
        return load(names, symbols, sizeof symbols / sizeof symbols[0], &loaded, why);                                 \
    }
LOADER(cuda_libs_runtime, CUDART_FUNCTIONS, "libcudart.so.13", "libcudart.so.12", "libcudart.so")
LOADER(cuda_libs_cublas, CUBLAS_FUNCTIONS, "libcublas.so.13", "libcublas.so.12", "libcublas.so")
LOADER(cuda_libs_cudnn, CUDNN_FUNCTIONS, "libcudnn.so.9", "libcudnn.so")
LOADER(cuda_libs_cusparse, CUSPARSE_FUNCTIONS, "libcusparse.so.12", "libcusparse.so")
#undef X

enum err cuda_status(cudaError_t error, const char *call, struct why *why)
{
    if (error == cudaSuccess)
        return ERR_OK;
    return why_set(why, ERR_DEVICE, "%s: %s", call, cuda_libs.cudaGetErrorString(error));
}

enum err cuda_peer_fits(const struct task *t, unsigned dtypes, struct why *why)
{
    if (strcmp(t->ops->name, "cuda") != 0 || !(dtypes >> t->workload.dtype & 1))
        return why_set(why, ERR_UNSUPPORTED, "not compared here");
    return ERR_OK;
}

static enum err enqueue(struct cuda_peer *p, struct why *why)
{
    if (p->graph)
        return cuda_status(cuda_libs.cudaGraphLaunch(p->graph, p->stream), "cudaGraphLaunch", why);
    return p->enqueue(p, why);
}

static enum err run(struct contender *c, struct why *why)
{
    struct cuda_peer *p = c->own;
    const enum err e = enqueue(p, why);

    return e ? e : cuda_status(cuda_libs.cudaStreamSynchronize(p->stream), "cudaStreamSynchronize", why);
}

/* Launches that a graph, and what could not be made one, may take the host as long as. */
#define GRAPH_STARTS 10
#define CALL_STARTS 500
#define CHOICE_CALLS 3

/* Time between events around the work, as our backend takes it. */
enum err cuda_peer_call(struct cuda_peer *p, double *ns, struct why *why)
{
    float ms = 0;
    enum err e = cuda_status((cudaError_t)cuda_gate_close(&p->gate, p->stream, p->graph ? GRAPH_STARTS : CALL_STARTS),
                             "a waiting kernel", why);

    if (!e)
        e = cuda_status(cuda_libs.cudaEventRecord(p->from, p->stream), "cudaEventRecord", why);
    if (!e)
        e = enqueue(p, why);
    if (!e)
        e = cuda_status(cuda_libs.cudaEventRecord(p->to, p->stream), "cudaEventRecord", why);
    if (!e)
        e = cuda_status(cuda_libs.cudaEventSynchronize(p->to), "cudaEventSynchronize", why);
    if (!e)
        e = cuda_status(cuda_libs.cudaEventElapsedTime(&ms, p->from, p->to), "cudaEventElapsedTime", why);
    *ns = (double)ms * 1e6;
    return e;
}

enum err cuda_peer_least(struct cuda_peer *p, double *ns, struct why *why)
{
    double one = 0;
    enum err e = cuda_peer_call(p, &one, why);

    *ns = one;
    for (int i = 0; i < CHOICE_CALLS && !e; i++) {
        e = cuda_peer_call(p, &one, why);
        if (!e && (i == 0 || one < *ns))
            *ns = one;
    }
    return e;
}

static enum err timed_call(struct contender *c, double *ns, struct why *why)
{
    return cuda_peer_call(c->own, ns, why);
}

static enum err slot(struct contender *c, int64_t least_ns, double *ns, struct why *why)
{
    return contender_device_slot(c, timed_call, least_ns, ns, why);
}

static enum err output(struct contender *c, float *y, struct why *why)
{
    struct cuda_peer *p = c->own;

    return cuda_status(cuda_libs.cudaMemcpy(y, p->y, (size_t)p->task->n_y * sizeof *y, cudaMemcpyDeviceToHost),
                       "cudaMemcpy", why);
}

void cuda_peer_outputs(struct cuda_peer *p, float *y, struct contender *out)
{
    p->y = y;
    out->output = output;
}

static void fini(struct contender *c)
{
    struct cuda_peer *p = c->own;

    if (p->fini)
        p->fini(p);
    if (p->graph)
        cuda_libs.cudaGraphExecDestroy(p->graph);
    for (int i = 0; i < p->n_buffers; i++)
        cuda_libs.cudaFree(p->buffers[i]);
    if (p->from)
        cuda_libs.cudaEventDestroy(p->from);
    if (p->to)
        cuda_libs.cudaEventDestroy(p->to);
    if (p->stream)
        cuda_libs.cudaStreamDestroy(p->stream);
    free(p);
}

enum err cuda_peer_begin(struct cuda_peer *p, const struct task *t, struct contender *out, struct why *why)
{
    enum err e = cuda_libs_runtime(why);

    if (e) {
        free(p);
        return e;
    }
    p->task = t;
    out->own = p;
    out->run = run;
    out->slot = slot;
    out->fini = fini;
    out->class = CLASS_PLAIN;
    e = cuda_status(cuda_libs.cudaStreamCreate(&p->stream), "cudaStreamCreate", why);
    if (!e)
        e = cuda_status(cuda_libs.cudaEventCreate(&p->from), "cudaEventCreate", why);
    return e ? e : cuda_status(cuda_libs.cudaEventCreate(&p->to), "cudaEventCreate", why);
}

void *cuda_peer_buffer(struct cuda_peer *p, const void *data, size_t n_bytes, struct why *why)
{
    void *to = NULL;
    enum err e = p->n_buffers < CUDA_PEER_BUFFERS ? ERR_OK : why_set(why, ERR_LIMIT, "too many buffers");

    if (!e)
        e = cuda_status(cuda_libs.cudaMalloc(&to, n_bytes ? n_bytes : 1), "cudaMalloc", why);
    if (e)
        return NULL;
    p->buffers[p->n_buffers++] = to;
    e = data ? cuda_status(cuda_libs.cudaMemcpy(to, data, n_bytes, cudaMemcpyHostToDevice), "cudaMemcpy", why)
             : cuda_status(cuda_libs.cudaMemset(to, 0, n_bytes), "cudaMemset", why);
    return e ? NULL : to;
}

void *cuda_peer_tensor(struct cuda_peer *p, const float *data, int64_t n, enum dtype t, struct why *why)
{
    void *stored = malloc((size_t)n * dtype_bytes(t)), *to;

    if (!stored) {
        why_set(why, ERR_NOMEM, "out of memory");
        return NULL;
    }
    for (int64_t i = 0; i < n; i++)
        dtype_store(t, stored, (size_t)i, (double)data[i]);
    to = cuda_peer_buffer(p, stored, (size_t)n * dtype_bytes(t), why);
    free(stored);
    return to;
}

void cuda_peer_capture(struct cuda_peer *p)
{
    cudaGraph_t graph = NULL;
    struct why why = {""};
    enum err e;

    if (p->enqueue(p, &why) || cuda_libs.cudaStreamSynchronize(p->stream) != cudaSuccess) /* plans are made first */
        return;
    if (cuda_libs.cudaStreamBeginCapture(p->stream, cudaStreamCaptureModeThreadLocal) != cudaSuccess)
        return;
    e = p->enqueue(p, &why);
    if (cuda_libs.cudaStreamEndCapture(p->stream, &graph) != cudaSuccess)
        graph = NULL;
    if (e || !graph || cuda_libs.cudaGraphInstantiate(&p->graph, graph, 0) != cudaSuccess)
        p->graph = NULL;
    if (graph)
        cuda_libs.cudaGraphDestroy(graph);
    if (!p->graph)
        (void)cuda_libs.cudaGetLastError(); /* else the libraries take it for an error of their next call */
}
