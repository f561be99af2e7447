/* SPDX-License-Identifier: MIT */
/* cuda_run.c - running a phase: launch by launch or all of it as one graph, with events for its time. */
#include "core/clock.h"
#include "core/err.h"
#include "runtime/cuda.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_GRAPH_RUNS 65536 /* launches in one graph */
#define TRIALS 3             /* of each way, before the faster one is kept */
#define GRAPH_STARTS 10      /* of launches: what handing over a graph takes the host, and one for each NODES nodes */
#define GRAPH_NODES 8

static enum err start_phase(struct loaded *l, enum launch_phase phase, struct why *why)
{
    const struct exec_cu_launches *x = &l->launches;
    char what[PROGRAM_ID_BYTES + 64] = "forking and joining the queues";

    if (exec_cu_launch(&l->launches, plan_phase(phase)) == 0)
        return ERR_OK;
    if (x->i_launch >= 0)
        snprintf(what, sizeof what, "launch '%s'", l->head.program.launches[x->i_launch].id);
    return cuda_blame(l->device, l, why, what, x->error);
}

static int64_t n_starts(const struct loaded *l, enum launch_phase phase)
{
    return l->launches.n_starts[plan_phase(phase)];
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
    if (cuda.cuStreamBeginCapture_v2(l->stream, CUDA_CAPTURE_THREAD))
        return;
    e = start_phase(l, PHASE_RUN, NULL);
    if (cuda.cuStreamEndCapture(l->stream, &g) == 0 && g && !e && instantiate(g, &l->replay.graph) == 0)
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

    if (phase != PHASE_RUN || mode == GRAPH_OFF || r->refused || n_starts(l, phase) > MAX_GRAPH_RUNS || !has_graphs())
        return false;
    if (mode == GRAPH_AUTO && (n_starts(l, phase) < 2 || r->n_direct < TRIALS))
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

    for (size_t i = 0; !error && i < l->head.program.n_buffers; i++)
        if (l->pristine[i]) {
            error = cuda.cuMemcpyDtoDAsync_v2(l->mems[i], l->pristine[i], buffer_bytes(&l->head.program.buffers[i]),
                                              l->stream);
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
    return cuda.cuMemsetD32Async(d->flush, 0, d->flush_bytes / 4, l->stream);
}

/* Waited for, so that the host's time leaves it out too. */
static enum err prepare(struct loaded *l, struct why *why)
{
    bool any = false;
    cuda_result error = reset_buffers(l, &any);

    if (!error)
        error = flush_cache(l, &any);
    if (!error && any)
        error = cuda.cuStreamSynchronize(l->stream);
    return error ? cuda_blame(l->device, l, why, "reset of buffers", error) : ERR_OK;
}

/* Running. */

static enum err start_all(struct loaded *l, enum launch_phase phase, bool graph, struct why *why)
{
    cuda_result error;

    assert(!graph || (phase == PHASE_RUN && l->replay.graph));
    if (!graph)
        return start_phase(l, phase, why);
    error = cuda.cuGraphLaunch(l->replay.graph, l->stream);
    return error ? cuda_blame(l->device, l, why, "cuGraphLaunch", error) : ERR_OK;
}

static enum err finish(struct loaded *l, int64_t *device_ns, struct why *why)
{
    float ms = 0;
    cuda_result error = cuda.cuEventRecord(l->end, l->stream);

    if (!error)
        error = cuda.cuStreamSynchronize(l->stream);
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
    for (int q = 0; q < EXEC_QUEUES; q++)
        if (l->launches.streams[q])
            cuda.cuStreamSynchronize(l->launches.streams[q]);
}

static enum err run_timed(struct loaded *l, enum launch_phase phase, bool graph, int64_t *device_ns, struct why *why)
{
    const int64_t n = graph ? GRAPH_STARTS + n_starts(l, phase) / GRAPH_NODES : n_starts(l, phase);
    cuda_result error = phase == PHASE_RUN ? cuda_gate_close(&l->device->gate, l->stream, n) : 0;
    enum err e;

    if (!error)
        error = cuda.cuEventRecord(l->start, l->stream);
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

    if (!e && phase == PHASE_RUN && device_ns)
        e = cuda_hold(l->device, &l->hold, why);
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
