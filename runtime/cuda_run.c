/* SPDX-License-Identifier: MIT */
/* cuda_run.c - running a phase: streams for queues, events for waits and for time, or all of it as one graph. */
#include "core/clock.h"
#include "runtime/cuda.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_GRAPH_RUNS 65536 /* launches in one graph */
#define TRIALS 3             /* of each way, before the faster one is kept */
#define GRAPH_STARTS 10      /* of launches: what handing over a graph takes the host, and one for each NODES nodes */
#define GRAPH_NODES 8

/* Queues. */

static bool is_awaited(const struct program *p, size_t i)
{
    for (size_t o = 0; o < p->n_launches; o++)
        for (size_t a = 0; a < p->launches[o].n_after; a++)
            if (p->launches[o].after[a] == (int)i && p->launches[o].queue != p->launches[i].queue)
                return true;
    return false;
}

static cuda_result make_events(struct loaded *l)
{
    cuda_result error = cuda.cuEventCreate(&l->start, CUDA_EVENT_TIMED);

    if (!error)
        error = cuda.cuEventCreate(&l->end, CUDA_EVENT_TIMED);
    if (!error)
        error = cuda.cuEventCreate(&l->begin, CUDA_EVENT_PLAIN);
    for (int q = 1; !error && q < CUDA_QUEUES; q++)
        if (l->streams[q])
            error = cuda.cuEventCreate(&l->joins[q], CUDA_EVENT_PLAIN);
    for (size_t i = 0; !error && i < l->program.n_launches; i++)
        if (is_awaited(&l->program, i))
            error = cuda.cuEventCreate(&l->after[i], CUDA_EVENT_PLAIN);
    return error;
}

enum err cuda_make_queues(struct loaded *l, struct why *why)
{
    bool used[CUDA_QUEUES] = {true};
    cuda_result error = 0;

    for (size_t i = 0; i < l->program.n_launches; i++)
        used[l->program.launches[i].queue] = true;
    for (int q = 0; !error && q < CUDA_QUEUES; q++)
        if (used[q])
            error = cuda.cuStreamCreate(&l->streams[q], CUDA_STREAM_NON_BLOCKING);
    if (!error)
        error = make_events(l);
    return error ? cuda_blame(l->device, NULL, why, "making streams and events", error) : ERR_OK;
}

static void drop_event(cuda_event e)
{
    if (e)
        cuda.cuEventDestroy_v2(e);
}

void cuda_drop_queues(struct loaded *l)
{
    if (l->replay.graph)
        cuda.cuGraphExecDestroy(l->replay.graph);
    drop_event(l->start);
    drop_event(l->end);
    drop_event(l->begin);
    for (size_t i = 0; l->after && i < l->program.n_launches; i++)
        drop_event(l->after[i]);
    for (int q = 0; q < CUDA_QUEUES; q++) {
        drop_event(l->joins[q]);
        if (l->streams[q])
            cuda.cuStreamDestroy_v2(l->streams[q]);
    }
}

/* One launch. */

union value {
    cuda_ptr pointer;
    int32_t i32;
    uint32_t u32;
    int64_t i64;
    float f32;
    double f64;
};

static union value value_of(const struct loaded *l, const struct program_arg *a, const int64_t *iteration)
{
    const int64_t integer = program_arg_bumps(a) ? program_arg_value(a, iteration) : a->integer;

    switch (a->kind) {
    case ARG_BUFFER:
        return (union value){.pointer = l->mems[a->i_buffer]};
    case ARG_I32:
        return (union value){.i32 = (int32_t)integer};
    case ARG_U32:
        return (union value){.u32 = (uint32_t)integer};
    case ARG_F32:
        return (union value){.f32 = (float)a->real};
    case ARG_F64:
        return (union value){.f64 = a->real};
    default:
        return (union value){.i64 = integer};
    }
}

static cuda_result start_kernel(struct loaded *l, size_t i, const int64_t *iteration)
{
    const struct program_launch *x = &l->program.launches[i];
    const unsigned g[3] = {(unsigned)x->grid[0], (unsigned)x->grid[1], (unsigned)x->grid[2]};
    const unsigned b[3] = {(unsigned)x->block[0], (unsigned)x->block[1], (unsigned)x->block[2]};
    const unsigned dynamic = (unsigned)x->dyn_local;
    const cuda_stream s = l->streams[x->queue];
    union value values[PROGRAM_MAX_ARGS];
    void *params[PROGRAM_MAX_ARGS];

    assert(l->functions[i] && x->n_args <= PROGRAM_MAX_ARGS);
    for (size_t a = 0; a < x->n_args; a++) {
        values[a] = value_of(l, &x->args[a], iteration);
        params[a] = &values[a];
    }
    if (x->cooperative)
        return cuda.cuLaunchCooperativeKernel(l->functions[i], g[0], g[1], g[2], b[0], b[1], b[2], dynamic, s, params);
    return cuda.cuLaunchKernel(l->functions[i], g[0], g[1], g[2], b[0], b[1], b[2], dynamic, s, params, NULL);
}

static cuda_result start_fill(struct loaded *l, size_t i, const int64_t *iteration)
{
    const struct program_launch *x = &l->program.launches[i];
    const struct program_buffer *b = &l->program.buffers[x->args[0].i_buffer];
    const cuda_ptr to = l->mems[x->args[0].i_buffer];
    const cuda_stream s = l->streams[x->queue];
    const size_t n = (size_t)b->n_elems;
    uint32_t pattern = 0; /* its first bytes are the element's: little-endian, as all hosts of such devices are */

    (void)iteration;
    assert(x->n_args == 2 && dtype_bytes(b->dtype) <= sizeof pattern);
    dtype_store(b->dtype, &pattern, 0, x->args[1].real);
    switch (dtype_bytes(b->dtype)) {
    case 1:
        return cuda.cuMemsetD8Async(to, (unsigned char)pattern, n, s);
    case 2:
        return cuda.cuMemsetD16Async(to, (unsigned short)pattern, n, s);
    default:
        return cuda.cuMemsetD32Async(to, pattern, n, s);
    }
}

static cuda_result start_copy(struct loaded *l, size_t i, const int64_t *iteration)
{
    const struct program_launch *x = &l->program.launches[i];
    const struct program_arg *a = x->args;

    (void)iteration;
    assert(x->n_args == 3);
    return cuda.cuMemcpyDtoDAsync_v2(l->mems[a[0].i_buffer], l->mems[a[1].i_buffer], (size_t)a[2].integer,
                                     l->streams[x->queue]);
}

static cuda_result (*const starters[N_LAUNCH_OPS])(struct loaded *, size_t, const int64_t *) = {
    [LAUNCH_KERNEL] = start_kernel, [LAUNCH_FILL] = start_fill, [LAUNCH_COPY] = start_copy};

struct starting {
    struct loaded *l;
    struct why *why;
};

static enum err start_one(size_t i, const int64_t *iteration, void *arg)
{
    const struct starting *to = arg;
    struct loaded *l = to->l;
    const struct program_launch *x = &l->program.launches[i];
    char what[PROGRAM_ID_BYTES + 64];
    cuda_result error = 0;

    assert(l->streams[x->queue]);
    for (size_t a = 0; !error && a < x->n_after; a++) {
        const int other = x->after[a];

        assert((size_t)other < l->program.n_launches);
        if (l->program.launches[other].queue != x->queue && l->ran[other])
            error = cuda.cuStreamWaitEvent(l->streams[x->queue], l->after[other], 0);
    }
    if (!error)
        error = starters[x->op](l, i, iteration);
    if (!error && l->after[i])
        error = cuda.cuEventRecord(l->after[i], l->streams[x->queue]);
    if (!error) {
        l->ran[i] = true;
        return ERR_OK;
    }
    snprintf(what, sizeof what, "launch '%s'", x->id);
    return cuda_blame(l->device, l, to->why, what, error);
}

/* Joins: the other streams begin behind a point of stream 0, and end before another one. */
static cuda_result fork_queues(struct loaded *l)
{
    cuda_result error = 0;
    bool recorded = false;

    for (int q = 1; !error && q < CUDA_QUEUES; q++)
        if (l->streams[q]) {
            if (!recorded)
                error = cuda.cuEventRecord(l->begin, l->streams[0]);
            recorded = true;
            if (!error)
                error = cuda.cuStreamWaitEvent(l->streams[q], l->begin, 0);
        }
    return error;
}

static cuda_result join_queues(struct loaded *l)
{
    cuda_result error = 0;

    for (int q = 1; !error && q < CUDA_QUEUES; q++)
        if (l->streams[q]) {
            error = cuda.cuEventRecord(l->joins[q], l->streams[q]);
            if (!error)
                error = cuda.cuStreamWaitEvent(l->streams[0], l->joins[q], 0);
        }
    return error;
}

static enum err start_phase(struct loaded *l, enum launch_phase phase, struct why *why)
{
    struct starting to = {l, why};
    cuda_result error = fork_queues(l);
    enum err e;

    memset(l->ran, 0, l->program.n_launches * sizeof *l->ran);
    if (error)
        return cuda_blame(l->device, l, why, "starting the queues", error);
    e = program_each_run(&l->program, phase, start_one, &to);
    if (e)
        return e;
    error = join_queues(l);
    return error ? cuda_blame(l->device, l, why, "joining the queues", error) : ERR_OK;
}

/* Graphs. */

static bool has_graphs(void)
{
    return cuda.cuStreamBeginCapture_v2 && cuda.cuStreamEndCapture && cuda.cuGraphLaunch && cuda.cuGraphDestroy &&
           cuda.cuGraphExecDestroy && (cuda.cuGraphInstantiateWithFlags || cuda.cuGraphInstantiate_v2);
}

static cuda_result instantiate(cuda_graph g, cuda_graph_exec *out)
{
    if (cuda.cuGraphInstantiateWithFlags)
        return cuda.cuGraphInstantiateWithFlags(out, g, 0);
    return cuda.cuGraphInstantiate_v2(out, g, NULL, NULL, 0);
}

/* Takes down what the launches would do, without doing it. What cannot be taken down is run as it is. */
static void make_graph(struct loaded *l)
{
    cuda_graph g = NULL;
    enum err e;

    l->replay.refused = true;
    if (cuda.cuStreamBeginCapture_v2(l->streams[0], CUDA_CAPTURE_THREAD))
        return;
    e = start_phase(l, PHASE_RUN, NULL);
    if (cuda.cuStreamEndCapture(l->streams[0], &g) == 0 && g && !e && instantiate(g, &l->replay.graph) == 0)
        l->replay.refused = false;
    else
        l->replay.graph = NULL;
    if (g)
        cuda.cuGraphDestroy(g);
}

/* Is this run to be that of the graph? By itself it is tried after the direct way, each a few times, and what was
 * faster stays. */
static bool wants_graph(struct loaded *l, enum launch_phase phase)
{
    const struct replay *r = &l->replay;
    const enum graph_mode mode = l->device->graph;

    if (phase != PHASE_RUN || mode == GRAPH_OFF || r->refused || l->n_runs[phase] > MAX_GRAPH_RUNS || !has_graphs())
        return false;
    if (mode == GRAPH_AUTO && (l->n_runs[phase] < 2 || r->n_direct < TRIALS))
        return false;
    if (!r->graph)
        make_graph(l);
    if (!r->graph)
        return false;
    return mode == GRAPH_ON || r->n_graph < TRIALS || r->graph_ns < r->direct_ns;
}

/* The first run of either way warms up and does not count. */
static void note_time(struct replay *r, bool graph, int64_t ns)
{
    int *n = graph ? &r->n_graph : &r->n_direct;
    int64_t *best = graph ? &r->graph_ns : &r->direct_ns;

    assert(*n >= 0 && *n <= TRIALS);
    if (*n > 0 && (*n == 1 || ns < *best))
        *best = ns;
    if (*n < TRIALS)
        ++*n;
}

/* What goes before the time that counts. */

static cuda_result reset_buffers(struct loaded *l, bool *any)
{
    cuda_result error = 0;

    for (size_t i = 0; !error && i < l->program.n_buffers; i++)
        if (l->pristine[i]) {
            error = cuda.cuMemcpyDtoDAsync_v2(l->mems[i], l->pristine[i], buffer_bytes(&l->program.buffers[i]),
                                              l->streams[0]);
            *any = true;
        }
    return error;
}

static cuda_result flush_cache(struct loaded *l, bool *any)
{
    struct device *d = l->device;

    if (!d->flush)
        return 0;
    *any = true;
    return cuda.cuMemsetD32Async(d->flush, 0, d->flush_bytes / 4, l->streams[0]);
}

/* Waited for, so that the host's time leaves it out too. */
static enum err prepare(struct loaded *l, struct why *why)
{
    bool any = false;
    cuda_result error = reset_buffers(l, &any);

    if (!error)
        error = flush_cache(l, &any);
    if (!error && any)
        error = cuda.cuStreamSynchronize(l->streams[0]);
    return error ? cuda_blame(l->device, l, why, "reset of buffers", error) : ERR_OK;
}

/* Running. */

static enum err start_all(struct loaded *l, enum launch_phase phase, bool graph, struct why *why)
{
    cuda_result error;

    assert(!graph || (phase == PHASE_RUN && l->replay.graph));
    if (!graph)
        return start_phase(l, phase, why);
    error = cuda.cuGraphLaunch(l->replay.graph, l->streams[0]);
    return error ? cuda_blame(l->device, l, why, "cuGraphLaunch", error) : ERR_OK;
}

static enum err finish(struct loaded *l, int64_t *device_ns, struct why *why)
{
    float ms = 0;
    cuda_result error = cuda.cuEventRecord(l->end, l->streams[0]);

    if (!error)
        error = cuda.cuStreamSynchronize(l->streams[0]);
    if (!error)
        error = cuda.cuEventElapsedTime(&ms, l->start, l->end);
    if (error)
        return cuda_blame(l->device, l, why, "running", error);
    *device_ns = (int64_t)((double)ms * 1e6);
    return ERR_OK;
}

/* After an error of a launch: whatever was started comes to its end before anybody uses the buffers again. */
static void wait_for_all(struct loaded *l)
{
    for (int q = 0; q < CUDA_QUEUES; q++)
        if (l->streams[q])
            cuda.cuStreamSynchronize(l->streams[q]);
}

static enum err run_timed(struct loaded *l, enum launch_phase phase, bool graph, int64_t *device_ns, struct why *why)
{
    const int64_t n_starts = graph ? GRAPH_STARTS + l->n_runs[phase] / GRAPH_NODES : l->n_runs[phase];
    cuda_result error = phase == PHASE_RUN ? cuda_gate_close(&l->device->gate, l->streams[0], n_starts) : 0;
    enum err e;

    if (!error)
        error = cuda.cuEventRecord(l->start, l->streams[0]);
    if (error)
        return cuda_blame(l->device, l, why, "cuEventRecord", error);
    e = start_all(l, phase, graph, why);
    if (!e)
        e = finish(l, device_ns, why);
    else
        wait_for_all(l);
    return e;
}

enum err cuda_run(struct loaded *l, enum launch_phase phase, int64_t *device_ns, int64_t *wall_ns, struct why *why)
{
    enum err e = cuda_enter(l->device, why);
    int64_t start_ns, ns = 0;
    bool graph;

    if (!e && phase == PHASE_RUN)
        e = prepare(l, why);
    if (e)
        return e;
    graph = wants_graph(l, phase);
    start_ns = clock_now_ns();
    e = run_timed(l, phase, graph, &ns, why);
    if (e)
        return e;
    if (wall_ns)
        *wall_ns = clock_now_ns() - start_ns;
    if (device_ns)
        *device_ns = ns;
    if (phase == PHASE_RUN)
        note_time(&l->replay, graph, ns);
    return ERR_OK;
}
