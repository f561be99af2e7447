/* SPDX-License-Identifier: MIT */
/* streams.c - streams and events. Nothing is done before somebody waits for it; then streams take turns in an order
 * that changes, each as far as it can, so that what should have waited for an event and did not is found. */
#include "tests/cuda/driver.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static int n_streams, n_events;

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Work. */

struct work *work_new(enum work_kind kind)
{
    struct work *w = calloc(1, sizeof *w);

    if (w)
        w->kind = kind;
    return w;
}

void work_free(struct work *w)
{
    if (w && w->kind == WORK_KERNEL)
        free(w->kernel.params);
    free(w);
}

void queue_put(struct queue *q, struct work *w)
{
    w->next = NULL;
    if (q->last && q->first)
        q->last->next = w;
    else
        q->first = w;
    q->last = w;
}

static void fill(const struct work *w)
{
    unsigned char *to = w->set.to;

    for (size_t i = 0; i < w->set.n; i++)
        memcpy(to + i * w->set.width, &w->set.value, w->set.width); /* little-endian */
}

/* In a graph: how far its streams are. */
struct progress {
    const struct work *at[GRAPH_STREAMS];
};

static CUresult run_graph(CUgraph g, uint64_t seed);

/* false: must wait for an event first. */
static bool do_work(const struct work *w, uint64_t seed, CUresult *e)
{
    switch (w->kind) {
    case WORK_KERNEL:
        *e = kernel_run(w, seed);
        break;
    case WORK_COPY:
        memmove(w->copy.to, w->copy.from, w->copy.n_bytes);
        break;
    case WORK_SET:
        fill(w);
        break;
    case WORK_RECORD:
        w->event.event->n_done = w->event.serial;
        w->event.event->done_ns = now_ns();
        break;
    case WORK_WAIT:
        return w->event.event->n_done >= w->event.serial;
    case WORK_GRAPH:
        *e = run_graph(w->graph, seed);
        break;
    }
    return true;
}

/* Graphs: their streams take turns as those of a context do. Events in them count for the graph alone. */

static const struct work *next_of(const struct work *w, int stream)
{
    while (w && w->stream != stream)
        w = w->next;
    return w;
}

static bool run_graph_stream(struct progress *p, int stream, uint64_t seed, CUresult *e)
{
    bool any = false;

    while (!*e && p->at[stream] && do_work(p->at[stream], seed, e)) {
        p->at[stream] = next_of(p->at[stream]->next, stream);
        any = true;
    }
    return any;
}

static CUresult run_graph(CUgraph g, uint64_t seed)
{
    struct progress p;
    CUresult e = CUDA_SUCCESS;
    bool any = true;

    for (const struct work *w = g->work.first; w; w = w->next)
        if (w->kind == WORK_RECORD)
            w->event.event->n_done = 0; /* of the launch before */
    for (int i = 0; i < g->n_streams; i++)
        p.at[i] = next_of(g->work.first, i);
    while (any && !e) {
        any = false;
        for (int k = 0; k < g->n_streams && !e; k++)
            any |= run_graph_stream(&p, seed % 2 ? k : g->n_streams - 1 - k, seed, &e);
    }
    return e;
}

/* Draining. */

static void forget_work(CUcontext c)
{
    for (CUstream s = c->streams; s; s = s->next)
        while (s->queue.first) {
            struct work *w = s->queue.first;

            s->queue.first = w->next;
            work_free(w);
        }
}

/* Does what it can; true when it did something. */
static bool run_stream(CUcontext c, CUstream s)
{
    bool any = false;

    while (s->queue.first && !c->sticky) {
        struct work *w = s->queue.first;
        CUresult e = CUDA_SUCCESS;

        if (!do_work(w, (uint64_t)environment_number("TUNE_CUDA_SEED", 1) + c->n_drained, &e))
            break;
        any = true;
        s->queue.first = w->next;
        work_free(w);
        if (e)
            c->sticky = e;
    }
    return any;
}

/* In the order of the list or against it. */
static bool run_streams(CUcontext c, bool backwards, bool only_blocking)
{
    CUstream list[256];
    int n = 0;
    bool any = false;

    for (CUstream s = c->streams; s && n < 256; s = s->next)
        if (s->queue.first && (s->blocking || !only_blocking))
            list[n++] = s;
    for (int i = 0; i < n; i++)
        any |= run_stream(c, list[backwards ? n - 1 - i : i]);
    return any;
}

static CUresult end_drain(CUcontext c)
{
    if (c->sticky)
        forget_work(c);
    return c->sticky;
}

CUresult stream_drain(CUcontext c, CUstream only)
{
    const bool backwards = ++c->n_drained % 2;

    if (!only)
        while (run_streams(c, backwards, false))
            ;
    else if (c->n_drained % 3 == 0) /* now and then the others are quicker */
        run_streams(c, backwards, false);
    while (only && only->queue.first && !c->sticky)
        if (!run_stream(c, only) && !run_streams(c, backwards, false))
            break; /* waits for an event that nobody records */
    return end_drain(c);
}

CUresult stream_drain_null(CUcontext c)
{
    const bool backwards = ++c->n_drained % 2;

    while (run_streams(c, backwards, true))
        ;
    while (!c->sticky && c->null_stream->queue.first && run_streams(c, backwards, false))
        ;
    return end_drain(c);
}

CUresult stream_put(CUstream s, struct work *w)
{
    CUcontext c = s->context;

    if (s->capture) {
        w->stream = s->i_capture;
        s->capture->n_work[s->i_capture] += w->kind != WORK_RECORD && w->kind != WORK_WAIT;
        queue_put(&s->capture->work, w);
        return CUDA_SUCCESS;
    }
    if (s == c->null_stream && capture_is_on(c)) {
        work_free(w);
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    if (s == c->null_stream)
        while (run_streams(c, ++c->n_drained % 2, true))
            ;
    if (!c->sticky)
        queue_put(&s->queue, w);
    if (s == c->null_stream && !c->sticky)
        run_stream(c, s); /* later work of other streams comes behind it */
    if (c->sticky) {      /* is told at the next call that waits, not here */
        forget_work(c);
        c->coming = c->coming ? c->coming : c->sticky;
        c->sticky = CUDA_SUCCESS;
    }
    return CUDA_SUCCESS;
}

CUresult stream_find(CUstream s, CUstream *out)
{
    if ((uintptr_t)s <= 2)
        s = context_current()->null_stream;
    if (s->magic != MAGIC_STREAM || !s->alive)
        return CUDA_ERROR_INVALID_HANDLE;
    if (s->capture && s->capture->invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    *out = s;
    return CUDA_SUCCESS;
}

/* Streams. */

CUresult cuStreamCreateWithPriority(CUstream *out, unsigned flags, int priority)
{
    const CUresult e = driver_enter(CALL_CONTEXT, "cuStreamCreate", "flags=%u priority=%d", flags, priority);
    CUcontext c = context_current();
    CUstream s;

    if (e)
        return e;
    s = calloc(1, sizeof *s);
    if (!s)
        return driver_leave(CUDA_ERROR_OUT_OF_MEMORY);
    *s = (struct CUstream_st){.magic = MAGIC_STREAM,
                              .id = ++n_streams,
                              .alive = true,
                              .blocking = !(flags & 1),
                              .context = c,
                              .next = c->streams};
    c->streams = s;
    *out = s;
    return driver_leave(CUDA_SUCCESS);
}

CUresult cuStreamCreate(CUstream *s, unsigned flags)
{
    return cuStreamCreateWithPriority(s, flags, 0);
}

/* Its work is still done. */
CUresult cuStreamDestroy_v2(CUstream s)
{
    CUresult e = driver_enter(CALL_WAIT, "cuStreamDestroy", "%s", "");

    if (e)
        return e;
    e = (uintptr_t)s <= 2 ? CUDA_ERROR_INVALID_HANDLE : stream_find(s, &s);
    if (e)
        return driver_leave(e);
    e = stream_drain(s->context, s);
    s->alive = false;
    return driver_leave(e);
}

/* A capturing stream cannot be waited for; trying spoils the capture. */
static CUresult find_for_waiting(CUstream *s)
{
    CUresult e = stream_find(*s, s);

    if (!e && (*s)->capture) {
        (*s)->capture->invalid = true;
        e = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return e;
}

CUresult cuStreamSynchronize(CUstream s)
{
    CUresult e = driver_enter(CALL_WAIT, "cuStreamSynchronize", "stream=%d", (uintptr_t)s > 2 ? s->id : 0);

    if (e)
        return e;
    e = find_for_waiting(&s);
    if (!e)
        e = s == s->context->null_stream ? stream_drain_null(s->context) : stream_drain(s->context, s);
    return driver_leave(e);
}

/* Not ready the first time, so that who does not expect that is found. */
CUresult cuStreamQuery(CUstream s)
{
    CUresult e = driver_enter(CALL_WAIT, "cuStreamQuery", "%s", "");
    bool busy;

    if (e)
        return e;
    e = find_for_waiting(&s);
    if (e)
        return driver_leave(e);
    busy = s->queue.first != NULL;
    e = stream_drain(s->context, s);
    return driver_leave(e ? e : busy ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS);
}

/* Events. */

static CUresult find_event(CUevent e)
{
    return e && e->magic == MAGIC_EVENT && e->alive ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuEventCreate(CUevent *out, unsigned flags)
{
    const CUresult e = driver_enter(CALL_CONTEXT, "cuEventCreate", "flags=%u", flags);
    CUcontext c = context_current();
    CUevent made;

    if (e)
        return e;
    made = calloc(1, sizeof *made);
    if (!made)
        return driver_leave(CUDA_ERROR_OUT_OF_MEMORY);
    *made = (struct CUevent_st){
        .magic = MAGIC_EVENT, .id = ++n_events, .alive = true, .timed = !(flags & 2), .context = c, .next = c->events};
    c->events = made;
    *out = made;
    return driver_leave(CUDA_SUCCESS);
}

CUresult cuEventDestroy_v2(CUevent event)
{
    CUresult e = driver_enter(CALL_CONTEXT, "cuEventDestroy", "%s", "");

    if (e)
        return e;
    e = find_event(event);
    if (!e)
        event->alive = false; /* work that names it goes on */
    return driver_leave(e);
}

static CUresult put_event(CUstream s, enum work_kind kind, CUevent event, uint64_t serial)
{
    struct work *w = work_new(kind);

    if (!w)
        return CUDA_ERROR_OUT_OF_MEMORY;
    w->event.event = event;
    w->event.serial = serial;
    return stream_put(s, w);
}

/* In a capture an event stands for a place in the graph: a twin of it is recorded whenever the graph runs. */
static CUresult record_captured(CUevent event, CUstream s)
{
    CUevent twin = calloc(1, sizeof *twin);

    if (!twin)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *twin = (struct CUevent_st){.magic = MAGIC_EVENT, .context = s->context, .next = s->context->events};
    s->context->events = twin;
    event->capture = s->capture;
    event->i_capture = s->i_capture;
    event->capture_n = s->capture->n_work[s->i_capture];
    event->twin = twin;
    return put_event(s, WORK_RECORD, twin, 1);
}

CUresult cuEventRecord(CUevent event, CUstream s)
{
    CUresult e = driver_enter(CALL_CONTEXT, "cuEventRecord", "event=%d stream=%d", event ? event->id : 0,
                              (uintptr_t)s > 2 ? s->id : 0);

    if (e)
        return e;
    e = find_event(event);
    if (!e)
        e = stream_find(s, &s);
    if (e)
        return driver_leave(e);
    if (s->capture)
        return driver_leave(record_captured(event, s));
    event->capture = NULL;
    return driver_leave(put_event(s, WORK_RECORD, event, ++event->n_recorded));
}

/* The stream joins the capture that the event is of. */
static CUresult wait_captured(CUstream s, CUevent event)
{
    CUgraph g = event->capture;

    if (s->capture && s->capture != g)
        return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    if (!s->capture) {
        if (s == s->context->null_stream || g->n_streams == GRAPH_STREAMS)
            return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        s->capture = g;
        s->i_capture = g->n_streams++;
    }
    if (s->i_capture != event->i_capture && g->joined[event->i_capture] < event->capture_n)
        g->joined[event->i_capture] = event->capture_n;
    return put_event(s, WORK_WAIT, event->twin, 1);
}

CUresult cuStreamWaitEvent(CUstream s, CUevent event, unsigned flags)
{
    CUresult e = driver_enter(CALL_CONTEXT, "cuStreamWaitEvent", "stream=%d event=%d flags=%u",
                              (uintptr_t)s > 2 ? s->id : 0, event ? event->id : 0, flags);

    if (e)
        return e;
    e = find_event(event);
    if (!e)
        e = stream_find(s, &s);
    if (e)
        return driver_leave(e);
    if (event->capture && event->capture->capturing)
        return driver_leave(wait_captured(s, event));
    if (s->capture)
        return driver_leave(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED); /* an event from outside of the capture */
    return driver_leave(event->n_recorded ? put_event(s, WORK_WAIT, event, event->n_recorded) : CUDA_SUCCESS);
}

static CUresult find_event_for_waiting(CUevent event)
{
    const CUresult e = find_event(event);

    return !e && event->capture ? CUDA_ERROR_CAPTURED_EVENT : e;
}

CUresult cuEventSynchronize(CUevent event)
{
    CUresult e = driver_enter(CALL_WAIT, "cuEventSynchronize", "event=%d", event ? event->id : 0);
    CUcontext c;

    if (e)
        return e;
    e = find_event_for_waiting(event);
    if (e)
        return driver_leave(e);
    c = event->context;
    for (CUstream s = c->streams; s && event->n_done < event->n_recorded && !c->sticky; s = s->next)
        run_stream(c, s);
    while (event->n_done < event->n_recorded && !c->sticky && run_streams(c, false, false))
        ;
    return driver_leave(end_drain(c));
}

CUresult cuEventQuery(CUevent event)
{
    CUresult e = driver_enter(CALL_WAIT, "cuEventQuery", "%s", "");

    if (e)
        return e;
    e = find_event_for_waiting(event);
    if (e || event->n_done >= event->n_recorded)
        return driver_leave(e);
    e = stream_drain(event->context, NULL);
    return driver_leave(e ? e : CUDA_ERROR_NOT_READY);
}

CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to)
{
    CUresult e = driver_enter(CALL_CONTEXT, "cuEventElapsedTime", "%s", "");

    if (e)
        return e;
    e = find_event_for_waiting(from);
    if (!e)
        e = find_event_for_waiting(to);
    if (!e && (!from->timed || !to->timed || !from->n_recorded || !to->n_recorded))
        e = CUDA_ERROR_INVALID_HANDLE;
    if (!e && (from->n_done < from->n_recorded || to->n_done < to->n_recorded))
        e = CUDA_ERROR_NOT_READY;
    if (!e)
        *ms = (float)((double)(to->done_ns - from->done_ns) / 1e6);
    return driver_leave(e);
}

CUresult cuEventElapsedTime_v2(float *ms, CUevent from, CUevent to)
{
    return cuEventElapsedTime(ms, from, to);
}
