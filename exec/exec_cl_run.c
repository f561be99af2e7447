/* SPDX-License-Identifier: MIT */
/* exec_cl_run.c - packing weights and running, on the caller's queue. */
#include "exec/exec_cl_parts.h"

#include <stdlib.h>
#include <string.h>

/* One pack or run on its way into a queue. */
struct exec_cl_job {
    struct exec_cl_op *op;
    cl_command_queue queue;
    int pack;
    const cl_mem *tensors; /* the caller's, of this phase */
    const struct exec_cl_weights *weights;
    struct exec_words *words;
    int64_t n_left;  /* commands to come; the last one gives the event */
    cl_event *event; /* of the last command */
};

static cl_mem *exec_cl_mem_of(const struct exec_cl_job *j, int i)
{
    struct exec_cl_op *op = j->op;
    const struct exec_spot *spot = &op->layout.spots[i];
    switch (spot->place) {
    case EXEC_TENSOR:
        if (op->plan->buffers[i].role == EXEC_WEIGHT && !j->pack) {
            return &j->weights->mems[i];
        }
        return (cl_mem *)&j->tensors[spot->index];
    case EXEC_OF_OP:
        return &op->own[i];
    case EXEC_OF_WEIGHTS:
        return &j->weights->mems[i];
    case EXEC_OF_SESSION:
        return &op->s->slots[spot->index];
    case EXEC_NOWHERE:
        break;
    }
    return NULL;
}

/* Where the command that is enqueued next puts its event: the last one of the job, and only that. */
static cl_event *exec_cl_next(struct exec_cl_job *j)
{
    return --j->n_left == 0 ? j->event : NULL;
}

/* Is the buffer filled before this phase? */
static int exec_cl_fills(const struct exec_cl_job *j, int i)
{
    const struct exec_buffer *b = &j->op->plan->buffers[i];
    const struct exec_spot *spot = &j->op->layout.spots[i];
    if (b->fill == EXEC_FILL_NONE || (spot->place != EXEC_OF_WEIGHTS && spot->place != EXEC_OF_SESSION)) {
        return 0;
    }
    return j->pack ? spot->in_pack : spot->in_run && b->each_run;
}

static enum exec_status exec_cl_fill(struct exec_cl_job *j, int i)
{
    const struct exec_buffer *b = &j->op->plan->buffers[i];
    cl_mem to = *exec_cl_mem_of(j, i);
    cl_int code;
    if (b->fill == EXEC_FILL_VALUE) {
        code = clEnqueueFillBuffer(j->queue, to, b->pattern, b->n_pattern, 0, b->n_bytes, 0, NULL, exec_cl_next(j));
    } else {
        code = clEnqueueCopyBuffer(j->queue, j->op->pristine[i], to, 0, 0, b->n_bytes, 0, NULL, exec_cl_next(j));
    }
    return code == CL_SUCCESS ? EXEC_OK : exec_cl_failed(j->words, "filling", b->id, code);
}

static cl_int exec_cl_start_kernel(struct exec_cl_job *j, int i_launch, const int64_t *iteration)
{
    const struct exec_launch *l = &j->op->plan->launches[i_launch];
    cl_kernel kernel = j->op->kernels[i_launch];
    size_t global[3];
    cl_int code = CL_SUCCESS;
    for (int i = 0; code == CL_SUCCESS && i < l->n_args; i++) {
        const struct exec_arg *a = &l->args[i];
        if (a->kind == EXEC_ARG_BUFFER) {
            code = clSetKernelArg(kernel, (cl_uint)i, sizeof(cl_mem), exec_cl_mem_of(j, (int)a->integer));
        } else if (exec_arg_bumps(a)) {
            code = exec_cl_set(kernel, (cl_uint)i, a, exec_arg_value(a, iteration));
        }
    }
    for (int d = 0; d < 3; d++) {
        global[d] = l->grid[d] * l->block[d];
    }
    return code != CL_SUCCESS
               ? code
               : clEnqueueNDRangeKernel(j->queue, kernel, 3, NULL, global, l->block, 0, NULL, exec_cl_next(j));
}

static cl_int exec_cl_start_other(struct exec_cl_job *j, const struct exec_launch *l)
{
    const int to = (int)l->args[0].integer;
    unsigned char pattern[8];
    if (l->op == EXEC_COPY) {
        return clEnqueueCopyBuffer(j->queue, *exec_cl_mem_of(j, (int)l->args[1].integer), *exec_cl_mem_of(j, to), 0, 0,
                                   (size_t)l->args[2].integer, 0, NULL, exec_cl_next(j));
    }
    for (int i = 0; i < 8; i++) {
        pattern[i] = (unsigned char)((uint64_t)l->args[1].integer >> (8 * i));
    }
    return clEnqueueFillBuffer(j->queue, *exec_cl_mem_of(j, to), pattern, (size_t)l->args[2].integer, 0,
                               j->op->plan->buffers[to].n_bytes, 0, NULL, exec_cl_next(j));
}

static enum exec_status exec_cl_start(int i_launch, const int64_t *iteration, void *arg)
{
    struct exec_cl_job *j = arg;
    const struct exec_launch *l = &j->op->plan->launches[i_launch];
    const cl_int code = l->op == EXEC_KERNEL ? exec_cl_start_kernel(j, i_launch, iteration) : exec_cl_start_other(j, l);
    return code == CL_SUCCESS ? EXEC_OK : exec_cl_failed(j->words, "starting", l->kernel, code);
}

/* What the session did last on another queue comes first: its scratch memory is used again. */
static enum exec_status exec_cl_wait(struct exec_cl_job *j)
{
    struct exec_cl *s = j->op->s;
    cl_int code = CL_SUCCESS;
    if (s->last_queue != NULL && s->last_queue != j->queue) {
        code = clFlush(s->last_queue);
        if (code == CL_SUCCESS) {
            code = clEnqueueBarrierWithWaitList(j->queue, 1, &s->last_event, NULL);
        }
    }
    return code == CL_SUCCESS ? EXEC_OK : exec_cl_failed(j->words, "waiting for", "the run before", code);
}

static enum exec_status exec_cl_enqueue(struct exec_cl_job *j)
{
    struct exec_cl *s = j->op->s;
    cl_event event = NULL;
    enum exec_status status = exec_cl_wait(j);
    j->event = &event; // cppcheck-suppress autoVariables ; set back before this call ends
    j->n_left = j->pack ? j->op->layout.n_pack : j->op->layout.n_run;
    for (int i = 0; i < j->op->plan->n_buffers; i++) {
        j->n_left += exec_cl_fills(j, i);
    }
    for (int i = 0; status == EXEC_OK && i < j->op->plan->n_buffers; i++) {
        status = exec_cl_fills(j, i) ? exec_cl_fill(j, i) : EXEC_OK;
    }
    status = status == EXEC_OK ? exec_walk(j->op->plan, j->pack, exec_cl_start, j) : status;
    if (status != EXEC_OK) {
        (void)clFinish(j->queue); /* what was enqueued of it must not meet what comes next */
    }
    if (event != NULL) {
        exec_cl_forget(s);
        clRetainCommandQueue(j->queue);
        s->last_queue = j->queue;
        s->last_event = event;
    }
    return status;
}

EXEC_API void exec_cl_weights_free(struct exec_cl_weights *w)
{
    if (w != NULL) {
        exec_cl_release(w->mems, w->n_mems);
        free(w);
    }
}

/* The caller's buffer of tensor i must be there and large enough. */
static enum exec_status exec_cl_check(const struct exec_cl_op *op, int i, cl_mem mem, struct exec_words *words)
{
    const struct exec_buffer *b = &op->plan->buffers[i];
    size_t n = 0;
    if (mem == NULL || clGetMemObjectInfo(mem, CL_MEM_SIZE, sizeof n, &n, NULL) != CL_SUCCESS) {
        return exec_fail(words, EXEC_BAD_ARGUMENT, "tensor %s: expected an OpenCL buffer of %zu bytes", b->id,
                         b->n_bytes);
    }
    if (n < b->n_bytes) {
        return exec_fail(words, EXEC_BAD_ARGUMENT, "tensor %s: expected a buffer of %zu bytes, got one of %zu", b->id,
                         b->n_bytes, n);
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
        if (spot->place == EXEC_TENSOR && (op->plan->buffers[i].role == EXEC_WEIGHT) == weights) {
            status = exec_cl_check(op, i, mems != NULL ? mems[spot->index] : NULL, words);
        }
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
    if (op == NULL) {
        return exec_fail(words, EXEC_BAD_ARGUMENT, "expected an open op");
    }
    status = exec_cl_check_queue(op->s, queue, words);
    status = status == EXEC_OK ? exec_cl_check_all(op, 1, weights, words) : status;
    if (status != EXEC_OK) {
        return status;
    }
    w = calloc(1, sizeof *w);
    if (w == NULL || (w->mems = calloc((size_t)op->plan->n_buffers + 1, sizeof *w->mems)) == NULL) {
        free(w);
        return exec_fail(words, EXEC_NO_MEMORY, "out of memory");
    }
    w->op = op;
    w->n_mems = op->plan->n_buffers;
    status = exec_cl_weights_make(op, weights, words, w);
    if (status == EXEC_OK) {
        struct exec_cl_job j = {op, queue, 1, weights, w, words, 0, NULL};
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
    if (op == NULL) {
        return exec_fail(words, EXEC_BAD_ARGUMENT, "expected an open op");
    }
    if (weights == NULL || weights->op != op) {
        return exec_fail(words, EXEC_NOT_PACKED, "expected weights that were packed for %.900s", op->plan->workload);
    }
    status = exec_cl_check_queue(op->s, queue, words);
    status = status == EXEC_OK ? exec_cl_check_all(op, 0, tensors, words) : status;
    if (status == EXEC_OK) {
        struct exec_cl_job j = {op, queue, 0, tensors, weights, words, 0, NULL};
        status = exec_cl_enqueue(&j);
    }
    return status;
}
