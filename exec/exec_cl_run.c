/* SPDX-License-Identifier: MIT */
/* exec_cl_run.c - packing weights and running, on the caller's queue. */
#include "exec/exec_cl_parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* One pack or run on its way into a queue. */
struct exec_cl_job {
    struct exec_cl_op *op;
    cl_command_queue queue;
    enum exec_phase phase;
    const cl_mem *tensors; /* the caller's, of this phase */
    const struct exec_cl_weights *weights;
    struct exec_words *words;
    struct exec_cl_launches *bound; /* NULL: those of the op, which are bound now */
};

static struct exec_cl_launches *exec_cl_launches_of(const struct exec_cl_job *j)
{
    return j->bound ? j->bound : &j->op->launches;
}

static cl_mem exec_cl_mem_of(const struct exec_cl_job *j, int i)
{
    struct exec_cl_op *op = j->op;
    const struct exec_spot *spot = &op->layout.spots[i];
    switch (spot->place) {
    case EXEC_TENSOR:
        if ((op->plan->buffers[i].role == EXEC_WEIGHT) == (j->phase == EXEC_PACK))
            return j->tensors[spot->index];
        return j->weights->mems[i]; /* a run's weight; NULL: a packing sees no inputs */
    case EXEC_OF_OP:
        return op->own[i];
    case EXEC_OF_WEIGHTS:
        return j->weights->mems[i];
    case EXEC_OF_SESSION:
        assert(spot->index < op->s->n_slots && op->s->slots[spot->index].n_bytes >= op->plan->buffers[i].n_bytes);
        return op->s->slots[spot->index].mem;
    case EXEC_NOWHERE:
        break;
    }
    return NULL;
}

static enum exec_status exec_cl_fill(struct exec_cl_job *j, int i)
{
    const struct exec_buffer *b = &j->op->plan->buffers[i];
    cl_mem to = j->op->launches.mems[i];
    cl_int code;
    assert(to);
    if (b->fill == EXEC_FILL_VALUE)
        code = clEnqueueFillBuffer(j->queue, to, b->pattern, b->n_pattern, 0, b->n_bytes, 0, NULL, NULL);
    else
        code = clEnqueueCopyBuffer(j->queue, j->op->pristine[i], to, 0, 0, b->n_bytes, 0, NULL, NULL);
    return code == CL_SUCCESS ? EXEC_OK : exec_cl_failed(j->words, "filling", b->id, code);
}

/* What the session did last on another queue comes first: its scratch memory is used again. */
static enum exec_status exec_cl_wait(struct exec_cl_job *j)
{
    struct exec_cl *s = j->op->s;
    cl_int code = CL_SUCCESS;
    if (s->last_queue && s->last_queue != j->queue) {
        code = clFlush(s->last_queue);
        if (code == CL_SUCCESS)
            code = clEnqueueBarrierWithWaitList(j->queue, 1, &s->last_event, NULL);
    }
    return code == CL_SUCCESS ? EXEC_OK : exec_cl_failed(j->words, "waiting for", "the run before", code);
}

/* What comes next on queue `to` waits for all that was enqueued on `from`; the event of that, where it is wanted. */
static cl_int exec_cl_follow(cl_command_queue from, cl_command_queue to, cl_event *joined)
{
    cl_event event = NULL;
    cl_int code = clEnqueueMarkerWithWaitList(from, 0, NULL, &event);
    if (code != CL_SUCCESS)
        return code;
    code = clFlush(from);
    code = code == CL_SUCCESS ? clEnqueueBarrierWithWaitList(to, 1, &event, joined) : code;
    clReleaseEvent(event);
    return code;
}

/* The op's own queues begin behind the caller's, and what comes next on the caller's waits for them. */
static cl_int exec_cl_launch_all(struct exec_cl_job *j, cl_event *last)
{
    struct exec_cl_launches *l = exec_cl_launches_of(j);
    cl_int code = CL_SUCCESS;
    for (int q = 1; code == CL_SUCCESS && q < EXEC_QUEUES; q++)
        code = l->queues[q] ? exec_cl_follow(j->queue, l->queues[q], NULL) : CL_SUCCESS;
    code = code == CL_SUCCESS ? exec_cl_launch(l, j->phase) : code;
    if (code == CL_SUCCESS && l->n_started > 0) {
        *last = l->started[l->n_started - 1].event;
        clRetainEvent(*last);
    }
    for (int q = 1; code == CL_SUCCESS && q < EXEC_QUEUES; q++) {
        if (l->queues[q]) {
            cl_event joined = NULL;
            code = exec_cl_follow(l->queues[q], j->queue, &joined);
            if (joined && *last)
                clReleaseEvent(*last);
            *last = joined ? joined : *last;
        }
    }
    return code;
}

/* Memory of the op's own launches: filled where the plan says so, and bound. */
static enum exec_status exec_cl_bring(struct exec_cl_job *j)
{
    struct exec_cl_launches *l = &j->op->launches;
    const struct exec_plan *plan = j->op->plan;
    enum exec_status status = EXEC_OK;
    cl_int code;
    for (int i = 0; i < plan->n_buffers; i++)
        l->mems[i] = exec_cl_mem_of(j, i);
    for (int i = 0; status == EXEC_OK && i < plan->n_buffers; i++)
        status = exec_is_filled(plan, &j->op->layout, i, j->phase) ? exec_cl_fill(j, i) : EXEC_OK;
    if (status != EXEC_OK)
        return status;
    code = exec_cl_bind(l, j->phase);
    return code == CL_SUCCESS ? EXEC_OK
                              : exec_cl_failed(j->words, "starting", plan->launches[l->i_launch].kernel, code);
}

static enum exec_status exec_cl_start_all(struct exec_cl_job *j, cl_event *last)
{
    struct exec_cl_launches *l = exec_cl_launches_of(j);
    enum exec_status status = exec_cl_wait(j);
    cl_int code;
    l->queues[0] = j->queue;
    status = status == EXEC_OK && !j->bound ? exec_cl_bring(j) : status;
    if (status != EXEC_OK)
        return status;
    code = exec_cl_launch_all(j, last);
    return code == CL_SUCCESS ? EXEC_OK
                              : exec_cl_failed(j->words, "starting", j->op->plan->launches[l->i_launch].kernel, code);
}

static enum exec_status exec_cl_enqueue(struct exec_cl_job *j)
{
    struct exec_cl *s = j->op->s;
    cl_event last = NULL;
    const enum exec_status status = exec_cl_start_all(j, &last);
    struct exec_cl_launches *l = exec_cl_launches_of(j);
    if (status != EXEC_OK) /* what was enqueued of it must not meet what comes next */
        for (int q = 0; q < EXEC_QUEUES; q++)
            (void)(l->queues[q] ? clFinish(l->queues[q]) : CL_SUCCESS);
    exec_cl_forget_starts(l);
    if (last) { /* of a part, too: what comes next waits for it */
        exec_cl_forget(s);
        clRetainCommandQueue(j->queue);
        s->last_queue = j->queue;
        s->last_event = last;
    }
    return status;
}

EXEC_API void exec_cl_weights_free(struct exec_cl_weights *w)
{
    if (w) {
        exec_cl_release(w->mems, w->n_mems);
        free(w);
    }
}

/* The caller's buffer of tensor i must be there, large enough and of the op's context. */
static enum exec_status exec_cl_check(const struct exec_cl_op *op, int i, cl_mem mem, struct exec_words *words)
{
    const struct exec_buffer *b = &op->plan->buffers[i];
    cl_context context = NULL;
    size_t n = 0;
    if (!mem || clGetMemObjectInfo(mem, CL_MEM_SIZE, sizeof n, &n, NULL) != CL_SUCCESS) {
        return exec_fail(words, EXEC_BAD_ARGUMENT, "tensor %s: expected an OpenCL buffer of %zu bytes", b->id,
                         b->n_bytes);
    }
    if (n < b->n_bytes) {
        return exec_fail(words, EXEC_BAD_ARGUMENT, "tensor %s: expected a buffer of %zu bytes, got one of %zu", b->id,
                         b->n_bytes, n);
    }
    if (clGetMemObjectInfo(mem, CL_MEM_CONTEXT, sizeof context, &context, NULL) != CL_SUCCESS ||
        context != op->s->context) {
        return exec_fail(words, EXEC_BAD_ARGUMENT, "tensor %s: the buffer is of another context than the queue", b->id);
    }
    return EXEC_OK;
}

/* Checks the caller's buffers of one kind: weights, or inputs and outputs. */
static enum exec_status exec_cl_check_all(const struct exec_cl_op *op, int weights, const cl_mem *mems,
                                          struct exec_words *words)
{
    enum exec_status status = EXEC_OK;
    for (int i = 0; status == EXEC_OK && i < op->plan->n_buffers; i++) {
        const struct exec_spot *spot = &op->layout.spots[i];
        if (spot->place == EXEC_TENSOR && (op->plan->buffers[i].role == EXEC_WEIGHT) == weights)
            status = exec_cl_check(op, i, mems ? mems[spot->index] : NULL, words);
    }
    return status;
}

/* The memory of a set of weights. */
static enum exec_status exec_cl_weights_make(const struct exec_cl_op *op, const cl_mem *given, struct exec_words *words,
                                             struct exec_cl_weights *w)
{
    enum exec_status status = EXEC_OK;
    for (int i = 0; status == EXEC_OK && i < op->plan->n_buffers; i++) {
        const struct exec_buffer *b = &op->plan->buffers[i];
        const struct exec_spot *spot = &op->layout.spots[i];
        if (spot->place == EXEC_OF_WEIGHTS) {
            status = exec_cl_make(op->s, b, 0, words, &w->mems[i]);
        } else if (spot->place == EXEC_TENSOR && b->role == EXEC_WEIGHT && spot->in_run) {
            clRetainMemObject(given[spot->index]);
            w->mems[i] = given[spot->index];
        }
    }
    return status;
}

EXEC_API enum exec_status exec_cl_pack(struct exec_cl_op *op, cl_command_queue queue, const cl_mem *weights,
                                       struct exec_words *words, struct exec_cl_weights **out)
{
    struct exec_cl_weights *w;
    enum exec_status status;
    if (!op)
        return exec_fail(words, EXEC_BAD_ARGUMENT, "expected an open op");
    status = exec_cl_check_queue(op->s, queue, words);
    status = status == EXEC_OK ? exec_cl_check_all(op, 1, weights, words) : status;
    if (status != EXEC_OK)
        return status;
    w = calloc(1, sizeof *w);
    if (!w || (w->mems = calloc((size_t)op->plan->n_buffers + 1, sizeof *w->mems)) == NULL) {
        free(w);
        return exec_fail(words, EXEC_NO_MEMORY, "out of memory");
    }
    w->op = op;
    w->n_mems = op->plan->n_buffers;
    status = exec_cl_weights_make(op, weights, words, w);
    if (status == EXEC_OK) {
        struct exec_cl_job j = {op, queue, EXEC_PACK, weights, w, words, NULL};
        status = exec_cl_enqueue(&j);
    }
    if (status != EXEC_OK) {
        exec_cl_weights_free(w);
        return status;
    }
    *out = w;
    return EXEC_OK;
}

EXEC_API enum exec_status exec_cl_run(struct exec_cl_op *op, cl_command_queue queue, const cl_mem *tensors,
                                      const struct exec_cl_weights *weights, struct exec_words *words)
{
    enum exec_status status;
    if (!op)
        return exec_fail(words, EXEC_BAD_ARGUMENT, "expected an open op");
    if (!weights || weights->op != op)
        return exec_fail(words, EXEC_NOT_PACKED, "expected weights that were packed for %.900s", op->plan->workload);
    status = exec_cl_check_queue(op->s, queue, words);
    status = status == EXEC_OK ? exec_cl_check_all(op, 0, tensors, words) : status;
    if (status == EXEC_OK) {
        struct exec_cl_job j = {op, queue, EXEC_RUN, tensors, weights, words, NULL};
        status = exec_cl_enqueue(&j);
    }
    return status;
}

/* ---- over memory that stays the same ---- */

EXEC_API int exec_cl_is_plain(const struct exec_cl_op *op)
{
    for (int i = 0; i < op->plan->n_buffers; i++)
        if (exec_is_filled(op->plan, &op->layout, i, EXEC_RUN))
            return 0;
    return exec_queues(op->plan) == 1;
}

EXEC_API enum exec_status exec_cl_bound_init(struct exec_cl_op *op, const cl_mem *tensors,
                                             const struct exec_cl_weights *weights, struct exec_words *words,
                                             struct exec_cl_launches *out)
{
    const struct exec_cl_job j = {op, NULL, EXEC_RUN, tensors, weights, words, out};
    cl_mem *mems = calloc((size_t)op->plan->n_buffers + 1, sizeof *mems);
    cl_program *programs = NULL;
    enum exec_status status =
        mems ? exec_cl_check_all(op, 0, tensors, words) : exec_fail(words, EXEC_NO_MEMORY, "out of memory");
    assert(exec_cl_is_plain(op));
    for (int i = 0; status == EXEC_OK && i < op->plan->n_buffers; i++)
        mems[i] = exec_cl_mem_of(&j, i);
    status = status == EXEC_OK ? exec_cl_programs(op, words, &programs) : status;
    if (status == EXEC_OK) /* what the device can have was looked at with the op */
        status = exec_cl_launches_init(op->plan, op->s->device, (size_t)-1, programs, mems, op->s->team, words, out);
    if (status != EXEC_OK && out->plan)
        exec_cl_launches_fini(out);
    free(programs);
    free(mems);
    return status;
}

EXEC_API enum exec_status exec_cl_bound_run(struct exec_cl_op *op, cl_command_queue queue,
                                            struct exec_cl_launches *bound, struct exec_words *words)
{
    struct exec_cl_job j = {op, queue, EXEC_RUN, NULL, NULL, words, bound};
    return exec_cl_enqueue(&j);
}
