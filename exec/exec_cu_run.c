/* SPDX-License-Identifier: MIT */
/* exec_cu_run.c - packing weights and running, launch by launch on one stream. */
#include "exec/exec_cu_parts.h"

#include <assert.h>
#include <stdlib.h>

/* ---- launches ---- */

/* One pack or run on its way. */
struct exec_cu_going {
    struct exec_cu_op *op;
    struct CUstream_st *stream;
    const exec_cu_mem *tensors, *own; /* inputs and outputs; weights and packed ones by buffer */
    struct exec_words *words;
};

static exec_cu_mem exec_cu_mem_of(const struct exec_cu_going *g, int i)
{
    const struct exec_spot *spot = &g->op->layout.spots[i];
    switch (spot->place) {
    case EXEC_TENSOR:
        if (g->op->plan->buffers[i].role == EXEC_WEIGHT)
            return g->own[i];
        return g->tensors ? g->tensors[spot->index] : 0; /* a packing sees none */
    case EXEC_OF_WEIGHTS:
        return g->own[i];
    case EXEC_OF_SESSION:
        assert(spot->index < g->op->s->n_slots);
        return g->op->s->slots[spot->index].at;
    default:
        return g->op->mems[i];
    }
}

/* Within a capture of the stream into a graph the order of graphs is the caller's business. */
static int exec_cu_is_captured(const struct exec_cu *s, struct CUstream_st *stream)
{
    int status = 0;
    return s->cu.cuStreamIsCapturing && s->cu.cuStreamIsCapturing(stream, &status) == 0 && status != 0;
}

static enum exec_status exec_cu_start_all(struct exec_cu_going *g, enum exec_phase phase)
{
    struct exec_cu_launches *l = &g->op->launches;
    const struct exec_plan *plan = g->op->plan;
    enum exec_status status = EXEC_OK;
    for (int i = 0; status == EXEC_OK && i < plan->n_buffers; i++) {
        l->mems[i] = exec_cu_mem_of(g, i);
        if (exec_is_filled(plan, &g->op->layout, i, phase))
            status = exec_cu_fill(g->op->s, &plan->buffers[i], l->mems[i], g->stream, g->words);
    }
    if (status != EXEC_OK)
        return status;
    l->streams[0] = g->stream;
    const int error = exec_cu_launch(l, phase);
    const struct exec_launch *x = l->i_launch >= 0 ? &plan->launches[l->i_launch] : NULL;
    return exec_cu_check(l->cu, error, !x ? "a queue" : x->op == EXEC_KERNEL ? x->kernel : "a fill or copy", g->words);
}

/* One pack or run behind all others of the session. */
static enum exec_status exec_cu_go(struct exec_cu_going *g, enum exec_phase phase)
{
    struct exec_cu *s = g->op->s;
    const int captured = exec_cu_is_captured(s, g->stream);
    enum exec_status status = EXEC_OK;
    int error = 0;
    if (s->busy && s->stream != g->stream && !captured)
        error = s->cu.cuStreamWaitEvent(g->stream, s->event, 0);
    status = exec_cu_check(&s->cu, error, "waiting for another stream", g->words);
    status = status == EXEC_OK ? exec_cu_start_all(g, phase) : status;
    if (status != EXEC_OK && !captured) /* streams of the op that nothing waits for any more */
        for (int q = 1; q < EXEC_QUEUES; q++)
            (void)(g->op->launches.streams[q] ? s->cu.cuStreamSynchronize(g->op->launches.streams[q]) : 0);
    if (!captured && s->cu.cuEventRecord(s->event, g->stream) == 0) {
        s->busy = 1;
        s->stream = g->stream;
    }
    return status;
}

/* ---- weights ---- */

static enum exec_status exec_cu_take_weights(const struct exec_cu_op *op, const exec_cu_mem *given, exec_cu_mem *mems,
                                             struct exec_words *words)
{
    for (int i = 0; i < op->plan->n_buffers; i++) {
        const struct exec_buffer *b = &op->plan->buffers[i];
        if (b->role != EXEC_WEIGHT)
            continue;
        if (!given || given[op->layout.spots[i].index] == 0)
            return exec_fail(words, EXEC_BAD_ARGUMENT, "%s: weight %s is missing", op->plan->workload, b->id);
        mems[i] = given[op->layout.spots[i].index];
    }
    return EXEC_OK;
}

static enum exec_status exec_cu_make_weights(struct exec_cu_weights *w, struct CUstream_st *stream,
                                             const exec_cu_mem *given, struct exec_words *words)
{
    struct exec_cu_going g = {w->op, stream, NULL, w->mems, words};
    enum exec_status status = exec_cu_take_weights(w->op, given, w->mems, words);
    status = status == EXEC_OK ? exec_cu_enter(w->op->s, words) : status;
    if (status == EXEC_OK) {
        status = exec_cu_make_mems(w->op, EXEC_OF_WEIGHTS, w->mems, stream, words);
        status = status == EXEC_OK ? exec_cu_go(&g, EXEC_PACK) : status;
        exec_cu_leave(w->op->s);
    }
    return status;
}

EXEC_API enum exec_status exec_cu_pack(struct exec_cu_op *op, struct CUstream_st *stream, const exec_cu_mem *weights,
                                       struct exec_words *words, struct exec_cu_weights **out)
{
    if (!op || !out)
        return exec_fail(words, EXEC_BAD_ARGUMENT, "no op, or no place for its weights");
    struct exec_cu_weights *w = calloc(1, sizeof *w);
    exec_cu_mem *mems = calloc((size_t)op->plan->n_buffers + 1, sizeof *mems);
    if (!w || !mems) {
        free(w);
        free(mems);
        return exec_fail(words, EXEC_NO_MEMORY, "out of memory");
    }
    w->op = op;
    w->mems = mems;
    const enum exec_status status = exec_cu_make_weights(w, stream, weights, words);
    if (status != EXEC_OK) {
        exec_cu_weights_free(w);
        return status;
    }
    *out = w;
    return EXEC_OK;
}

/* Device copies of weights in host memory, by buffer. */
static enum exec_status exec_cu_upload(struct exec_cu_op *op, struct CUstream_st *stream, const void *const *weights,
                                       exec_cu_mem *mems, struct exec_words *words)
{
    enum exec_status status = EXEC_OK;
    for (int i = 0; status == EXEC_OK && i < op->plan->n_buffers; i++) {
        const struct exec_buffer *b = &op->plan->buffers[i];
        const int at = op->layout.spots[i].index;
        if (b->role != EXEC_WEIGHT)
            continue;
        if (!weights || !weights[at])
            return exec_fail(words, EXEC_BAD_ARGUMENT, "%s: weight %s is missing", op->plan->workload, b->id);
        status = exec_cu_allocate(op->s, b->id, b->n_bytes, &mems[at], words);
        if (status == EXEC_OK) {
            const int error = op->s->cu.cuMemcpyHtoDAsync_v2(mems[at], weights[at], b->n_bytes, stream);
            status = exec_cu_check(&op->s->cu, error, b->id, words);
        }
    }
    return status;
}

/* Frees uploads; those that runs read go over to `w`, where there is one. */
static void exec_cu_drop_uploads(struct exec_cu_op *op, const exec_cu_mem *mems, struct exec_cu_weights *w)
{
    for (int i = 0; i < op->plan->n_buffers; i++) {
        const struct exec_spot *spot = &op->layout.spots[i];
        if (op->plan->buffers[i].role == EXEC_WEIGHT && mems[spot->index] != 0 && (!w || !spot->in_run))
            (void)op->s->cu.cuMemFree_v2(mems[spot->index]);
    }
    if (w)
        w->uploaded = 1;
}

EXEC_API enum exec_status exec_cu_pack_host(struct exec_cu_op *op, struct CUstream_st *stream,
                                            const void *const *weights, struct exec_words *words,
                                            struct exec_cu_weights **out)
{
    struct exec_cu_weights *w = NULL;
    exec_cu_mem *mems = op ? calloc((size_t)op->layout.n_weights + 1, sizeof *mems) : NULL;
    enum exec_status status;
    if (!mems || !out) {
        free(mems);
        return exec_fail(words, EXEC_BAD_ARGUMENT, "no op, no place for its weights, or no memory");
    }
    status = exec_cu_enter(op->s, words);
    if (status == EXEC_OK) {
        status = exec_cu_upload(op, stream, weights, mems, words);
        status = status == EXEC_OK ? exec_cu_pack(op, stream, mems, words, &w) : status;
        (void)op->s->cu.cuStreamSynchronize(stream);
        exec_cu_drop_uploads(op, mems, w);
        exec_cu_leave(op->s);
    }
    free(mems);
    if (status == EXEC_OK)
        *out = w;
    return status;
}

EXEC_API void exec_cu_weights_free(struct exec_cu_weights *w)
{
    if (!w)
        return;
    if (exec_cu_enter(w->op->s, NULL) == EXEC_OK) {
        exec_cu_wait(w->op->s);
        exec_cu_free_mems(w->op, EXEC_OF_WEIGHTS, w->mems);
        for (int i = 0; w->uploaded && i < w->op->plan->n_buffers; i++)
            if (w->op->plan->buffers[i].role == EXEC_WEIGHT && w->op->layout.spots[i].in_run)
                (void)w->op->s->cu.cuMemFree_v2(w->mems[i]);
        exec_cu_leave(w->op->s);
    }
    free(w->mems);
    free(w);
}

/* ---- runs ---- */

static enum exec_status exec_cu_check_run(const struct exec_cu_op *op, const exec_cu_mem *tensors,
                                          const struct exec_cu_weights *w, struct exec_words *words)
{
    for (int i = 0; i < op->plan->n_buffers; i++) {
        const struct exec_spot *spot = &op->layout.spots[i];
        const struct exec_buffer *b = &op->plan->buffers[i];
        const int weight = b->role == EXEC_WEIGHT || spot->place == EXEC_OF_WEIGHTS;
        if (weight && !w)
            return exec_fail(words, EXEC_NOT_PACKED, "%s: run before its weights were packed", op->plan->workload);
        if (spot->place == EXEC_TENSOR && !weight && (!tensors || tensors[spot->index] == 0))
            return exec_fail(words, EXEC_BAD_ARGUMENT, "%s: tensor %s is missing", op->plan->workload, b->id);
    }
    if (w && w->op != op)
        return exec_fail(words, EXEC_BAD_ARGUMENT, "%s: the weights were packed for another op", op->plan->workload);
    return EXEC_OK;
}

EXEC_API enum exec_status exec_cu_run(struct exec_cu_op *op, struct CUstream_st *stream, const exec_cu_mem *tensors,
                                      const struct exec_cu_weights *weights, struct exec_words *words)
{
    if (!op)
        return exec_fail(words, EXEC_BAD_ARGUMENT, "no op to run");
    struct exec_cu_going g = {op, stream, tensors, weights ? weights->mems : NULL, words};
    enum exec_status status = exec_cu_check_run(op, tensors, weights, words);
    status = status == EXEC_OK ? exec_cu_enter(op->s, words) : status;
    if (status == EXEC_OK) {
        status = exec_cu_go(&g, EXEC_RUN);
        exec_cu_leave(op->s);
    }
    return status;
}
