/* SPDX-License-Identifier: MIT */
/* exec_cu_run.c - packing weights and running, launch by launch on one stream. */
#include "exec/exec_cu_parts.h"

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
        return g->op->plan->buffers[i].role == EXEC_WEIGHT ? g->own[i] : g->tensors[spot->index];
    case EXEC_OF_WEIGHTS:
        return g->own[i];
    case EXEC_OF_SESSION:
        return g->op->s->slots[spot->index].at;
    default:
        return g->op->mems[i];
    }
}

union exec_cu_value {
    exec_cu_mem at;
    int32_t i32;
    uint32_t u32;
    int64_t i64;
    float f32;
};

static union exec_cu_value exec_cu_value_of(const struct exec_cu_going *g, const struct exec_arg *a,
                                            const int64_t *iteration)
{
    const int64_t integer = exec_arg_value(a, iteration);
    union exec_cu_value v = {0};
    switch (a->kind) {
    case EXEC_ARG_BUFFER:
        v.at = exec_cu_mem_of(g, (int)a->integer);
        break;
    case EXEC_ARG_I32:
        v.i32 = (int32_t)integer;
        break;
    case EXEC_ARG_U32:
        v.u32 = (uint32_t)integer;
        break;
    case EXEC_ARG_F32:
        v.f32 = (float)a->real;
        break;
    default:
        v.i64 = integer;
        break;
    }
    return v;
}

static int exec_cu_start_kernel(const struct exec_cu_going *g, int i, const int64_t *iteration)
{
    const struct exec_cu_calls *cu = &g->op->s->cu;
    const struct exec_launch *l = &g->op->plan->launches[i];
    const unsigned x = (unsigned)l->grid[0], y = (unsigned)l->grid[1], z = (unsigned)l->grid[2];
    const unsigned bx = (unsigned)l->block[0], by = (unsigned)l->block[1], bz = (unsigned)l->block[2];
    struct CUfunc_st *f = g->op->functions[i];
    union exec_cu_value values[EXEC_CU_MAX_ARGS];
    void *params[EXEC_CU_MAX_ARGS];
    for (int a = 0; a < l->n_args; a++) {
        values[a] = exec_cu_value_of(g, &l->args[a], iteration);
        params[a] = &values[a];
    }
    if (l->cooperative) {
        return cu->cuLaunchCooperativeKernel(f, x, y, z, bx, by, bz, (unsigned)l->dyn_local, g->stream, params);
    }
    return cu->cuLaunchKernel(f, x, y, z, bx, by, bz, (unsigned)l->dyn_local, g->stream, params, NULL);
}

static int exec_cu_start_fill(const struct exec_cu_going *g, int i)
{
    const struct exec_arg *a = g->op->plan->launches[i].args;
    const int buffer = (int)a[0].integer;
    unsigned char element[8];
    for (int b = 0; b < 8; b++) {
        element[b] = (unsigned char)((uint64_t)a[1].integer >> (8 * b));
    }
    return exec_cu_set(g->op->s, exec_cu_mem_of(g, buffer), element, (size_t)a[2].integer,
                       g->op->plan->buffers[buffer].n_bytes, g->stream);
}

static enum exec_status exec_cu_start_one(int i, const int64_t *iteration, void *arg)
{
    const struct exec_cu_going *g = arg;
    const struct exec_launch *l = &g->op->plan->launches[i];
    const struct exec_arg *a = l->args;
    int error = 0;
    if (l->op == EXEC_KERNEL) {
        error = exec_cu_start_kernel(g, i, iteration);
    } else if (l->op == EXEC_FILL) {
        error = exec_cu_start_fill(g, i);
    } else {
        error =
            g->op->s->cu.cuMemcpyDtoDAsync_v2(exec_cu_mem_of(g, (int)a[0].integer),
                                              exec_cu_mem_of(g, (int)a[1].integer), (size_t)a[2].integer, g->stream);
    }
    return exec_cu_check(&g->op->s->cu, error, l->op == EXEC_KERNEL ? l->kernel : "a fill or copy", g->words);
}

/* Within a capture of the stream into a graph the order of graphs is the caller's business. */
static int exec_cu_is_captured(const struct exec_cu *s, struct CUstream_st *stream)
{
    int status = 0;
    return s->cu.cuStreamIsCapturing != NULL && s->cu.cuStreamIsCapturing(stream, &status) == 0 && status != 0;
}

/* Is a buffer's content put anew before this pack or run? Memory of the session has been everybody's. */
static int exec_cu_is_filled(const struct exec_cu_op *op, int i, int pack)
{
    const struct exec_spot *spot = &op->layout.spots[i];
    if (spot->place == EXEC_OF_SESSION) {
        return pack ? spot->in_pack : spot->in_run;
    }
    return !pack && op->plan->buffers[i].each_run && (spot->place == EXEC_OF_OP || spot->place == EXEC_OF_WEIGHTS);
}

/* One pack or run behind all others of the session. */
static enum exec_status exec_cu_go(struct exec_cu_going *g, int pack)
{
    struct exec_cu *s = g->op->s;
    const int captured = exec_cu_is_captured(s, g->stream);
    enum exec_status status = EXEC_OK;
    int error = 0;
    if (s->busy && s->stream != g->stream && !captured) {
        error = s->cu.cuStreamWaitEvent(g->stream, s->event, 0);
    }
    status = exec_cu_check(&s->cu, error, "waiting for another stream", g->words);
    for (int i = 0; status == EXEC_OK && i < g->op->plan->n_buffers; i++) {
        if (exec_cu_is_filled(g->op, i, pack)) {
            status = exec_cu_fill(s, &g->op->plan->buffers[i], exec_cu_mem_of(g, i), g->stream, g->words);
        }
    }
    status = status == EXEC_OK ? exec_walk(g->op->plan, pack, exec_cu_start_one, g) : status;
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
        if (b->role != EXEC_WEIGHT) {
            continue;
        }
        if (given == NULL || given[op->layout.spots[i].index] == 0) {
            return exec_fail(words, EXEC_BAD_ARGUMENT, "%s: weight %s is missing", op->plan->workload, b->id);
        }
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
        status = status == EXEC_OK ? exec_cu_go(&g, 1) : status;
        exec_cu_leave(w->op->s);
    }
    return status;
}

EXEC_API enum exec_status exec_cu_pack(struct exec_cu_op *op, struct CUstream_st *stream, const exec_cu_mem *weights,
                                       struct exec_words *words, struct exec_cu_weights **out)
{
    if (op == NULL || out == NULL) {
        return exec_fail(words, EXEC_BAD_ARGUMENT, "no op, or no place for its weights");
    }
    struct exec_cu_weights *w = calloc(1, sizeof *w);
    exec_cu_mem *mems = calloc((size_t)op->plan->n_buffers + 1, sizeof *mems);
    if (w == NULL || mems == NULL) {
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
        if (b->role != EXEC_WEIGHT) {
            continue;
        }
        if (weights == NULL || weights[at] == NULL) {
            return exec_fail(words, EXEC_BAD_ARGUMENT, "%s: weight %s is missing", op->plan->workload, b->id);
        }
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
        if (op->plan->buffers[i].role == EXEC_WEIGHT && mems[spot->index] != 0 && (w == NULL || !spot->in_run)) {
            (void)op->s->cu.cuMemFree_v2(mems[spot->index]);
        }
    }
    if (w != NULL) {
        w->uploaded = 1;
    }
}

EXEC_API enum exec_status exec_cu_pack_host(struct exec_cu_op *op, struct CUstream_st *stream,
                                            const void *const *weights, struct exec_words *words,
                                            struct exec_cu_weights **out)
{
    struct exec_cu_weights *w = NULL;
    exec_cu_mem *mems = op != NULL ? calloc((size_t)op->layout.n_weights + 1, sizeof *mems) : NULL;
    enum exec_status status;
    if (mems == NULL || out == NULL) {
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
    if (status == EXEC_OK) {
        *out = w;
    }
    return status;
}

EXEC_API void exec_cu_weights_free(struct exec_cu_weights *w)
{
    if (w == NULL) {
        return;
    }
    if (exec_cu_enter(w->op->s, NULL) == EXEC_OK) {
        exec_cu_wait(w->op->s);
        exec_cu_free_mems(w->op, EXEC_OF_WEIGHTS, w->mems);
        for (int i = 0; w->uploaded && i < w->op->plan->n_buffers; i++) {
            if (w->op->plan->buffers[i].role == EXEC_WEIGHT && w->op->layout.spots[i].in_run) {
                (void)w->op->s->cu.cuMemFree_v2(w->mems[i]);
            }
        }
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
        if (weight && w == NULL) {
            return exec_fail(words, EXEC_NOT_PACKED, "%s: run before its weights were packed", op->plan->workload);
        }
        if (spot->place == EXEC_TENSOR && !weight && (tensors == NULL || tensors[spot->index] == 0)) {
            return exec_fail(words, EXEC_BAD_ARGUMENT, "%s: tensor %s is missing", op->plan->workload, b->id);
        }
    }
    if (w != NULL && w->op != op) {
        return exec_fail(words, EXEC_BAD_ARGUMENT, "%s: the weights were packed for another op", op->plan->workload);
    }
    return EXEC_OK;
}

EXEC_API enum exec_status exec_cu_run(struct exec_cu_op *op, struct CUstream_st *stream, const exec_cu_mem *tensors,
                                      const struct exec_cu_weights *weights, struct exec_words *words)
{
    if (op == NULL) {
        return exec_fail(words, EXEC_BAD_ARGUMENT, "no op to run");
    }
    struct exec_cu_going g = {op, stream, tensors, weights != NULL ? weights->mems : NULL, words};
    enum exec_status status = exec_cu_check_run(op, tensors, weights, words);
    status = status == EXEC_OK ? exec_cu_enter(op->s, words) : status;
    if (status == EXEC_OK) {
        status = exec_cu_go(&g, 0);
        exec_cu_leave(op->s);
    }
    return status;
}
