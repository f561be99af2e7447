/* SPDX-License-Identifier: MIT */
/* exec_cl_op.c - plans made ready on an OpenCL device: kernels, and buffers that live with them. */
#include "exec/exec_cl_parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

EXEC_API enum exec_status exec_cl_make(const struct exec_cl *s, const struct exec_buffer *b, int filled,
                                       struct exec_words *words, cl_mem *out)
{
    cl_int code = CL_SUCCESS;
    unsigned char *made = NULL;
    const unsigned char *content = filled && b->fill == EXEC_FILL_BYTES ? b->bytes : NULL;
    if (filled && b->fill == EXEC_FILL_VALUE) {
        assert(b->n_pattern > 0 && b->n_pattern <= sizeof b->pattern);
        content = made = malloc(b->n_bytes);
        for (size_t i = 0; made && i < b->n_bytes; i++)
            made[i] = b->pattern[i % b->n_pattern];
        code = made ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
    }
    if (code == CL_SUCCESS) {
        *out = clCreateBuffer(s->context, CL_MEM_READ_WRITE | (content ? CL_MEM_COPY_HOST_PTR : 0), b->n_bytes,
                              (void *)content, &code);
    }
    free(made);
    return code == CL_SUCCESS ? EXEC_OK : exec_cl_failed(words, "buffer", b->id, code);
}

/* A slot is as large as its largest user; commands under way keep what they were given. */
static enum exec_status exec_cl_want_slot(struct exec_cl *s, int slot, const struct exec_buffer *b,
                                          struct exec_words *words)
{
    cl_mem larger = NULL;
    enum exec_status status;
    assert(slot >= 0);
    if (slot >= s->n_slots) {
        struct exec_cl_slot *grown = realloc(s->slots, ((size_t)slot + 1) * sizeof *grown);
        if (!grown)
            return exec_fail(words, EXEC_NO_MEMORY, "out of memory");
        memset(grown + s->n_slots, 0, (size_t)(slot + 1 - s->n_slots) * sizeof *grown);
        s->slots = grown;
        s->n_slots = slot + 1;
    }
    if (b->n_bytes <= s->slots[slot].n_bytes)
        return EXEC_OK;
    status = exec_cl_make(s, b, 0, words, &larger);
    if (status != EXEC_OK)
        return status;
    if (s->slots[slot].mem)
        clReleaseMemObject(s->slots[slot].mem);
    s->slots[slot] = (struct exec_cl_slot){larger, b->n_bytes};
    s->n_grown++;
    return EXEC_OK;
}

static enum exec_status exec_cl_op_buffers(struct exec_cl_op *op, struct exec_words *words)
{
    enum exec_status status = EXEC_OK;
    for (int i = 0; status == EXEC_OK && i < op->plan->n_buffers; i++) {
        const struct exec_buffer *b = &op->plan->buffers[i];
        const struct exec_spot *spot = &op->layout.spots[i];
        if (spot->place == EXEC_OF_OP)
            status = exec_cl_make(op->s, b, 1, words, &op->own[i]);
        if (spot->place == EXEC_OF_SESSION)
            status = exec_cl_want_slot(op->s, spot->index, b, words);
        if (status == EXEC_OK && b->fill == EXEC_FILL_BYTES &&
            (spot->place == EXEC_OF_WEIGHTS || spot->place == EXEC_OF_SESSION))
            status = exec_cl_make(op->s, b, 1, words, &op->pristine[i]);
    }
    return status;
}

/* Queues beside the caller's, where the plan names them. */
static enum exec_status exec_cl_op_queues(struct exec_cl_op *op, struct exec_words *words)
{
    const unsigned used = exec_queues(op->plan);
    cl_int code = CL_SUCCESS;
    for (int q = 1; code == CL_SUCCESS && q < EXEC_QUEUES; q++)
        if ((used >> q & 1) != 0)
            op->launches.queues[q] = clCreateCommandQueue(op->s->context, op->s->device, 0, &code);
    return code == CL_SUCCESS ? EXEC_OK : exec_cl_failed(words, "a queue of", op->plan->workload, code);
}

EXEC_API enum exec_status exec_cl_programs(const struct exec_cl_op *op, struct exec_words *words, cl_program **out)
{
    cl_program *programs = calloc((size_t)op->plan->n_modules + 1, sizeof *programs);
    enum exec_status status = programs ? EXEC_OK : exec_fail(words, EXEC_NO_MEMORY, "out of memory");
    for (int i = 0; status == EXEC_OK && i < op->plan->n_modules; i++)
        status = exec_cl_module(op->s, op->plan->modules[i], words, &programs[i]);
    if (status == EXEC_OK)
        *out = programs;
    else
        free(programs);
    return status;
}

static enum exec_status exec_cl_op_launches(struct exec_cl_op *op, struct exec_words *words)
{
    const struct exec_plan *plan = op->plan;
    cl_program *programs = NULL;
    cl_ulong local = 0;
    enum exec_status status = exec_cl_programs(op, words, &programs);
    (void)clGetDeviceInfo(op->s->device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof local, &local, NULL);
    if (status == EXEC_OK)
        status = exec_cl_launches_init(plan, op->s->device, (size_t)local, programs, NULL, op->s->team, words,
                                       &op->launches);
    free(programs);
    return status == EXEC_OK ? exec_cl_op_queues(op, words) : status;
}

static enum exec_status exec_cl_op_make(struct exec_cl_op *op, struct exec_words *words)
{
    const size_t n = (size_t)op->plan->n_buffers + 1;
    enum exec_status status = exec_layout_init(op->plan, &op->layout);
    op->own = calloc(n, sizeof *op->own);
    op->pristine = calloc(n, sizeof *op->pristine);
    if (status != EXEC_OK || !op->own || !op->pristine)
        return exec_fail(words, EXEC_NO_MEMORY, "out of memory");
    status = exec_cl_op_launches(op, words);
    return status == EXEC_OK ? exec_cl_op_buffers(op, words) : status;
}

EXEC_API enum exec_status exec_cl_op_open(struct exec_cl *s, const struct exec_plan *plan, struct exec_words *words,
                                          struct exec_cl_op **out)
{
    enum exec_status status;
    struct exec_cl_op *op;
    if (!s || !plan)
        return exec_fail(words, EXEC_BAD_ARGUMENT, "expected an open session and a plan");
    op = calloc(1, sizeof *op);
    if (!op)
        return exec_fail(words, EXEC_NO_MEMORY, "out of memory");
    op->s = s;
    op->plan = plan;
    status = exec_cl_op_make(op, words);
    if (status != EXEC_OK) {
        exec_cl_op_close(op);
        return status;
    }
    *out = op;
    return EXEC_OK;
}

EXEC_API void exec_cl_op_close(struct exec_cl_op *op)
{
    if (!op)
        return;
    for (int q = 1; q < EXEC_QUEUES; q++)
        if (op->launches.queues[q])
            clReleaseCommandQueue(op->launches.queues[q]);
    exec_cl_launches_fini(&op->launches);
    exec_cl_release(op->own, op->plan->n_buffers);
    exec_cl_release(op->pristine, op->plan->n_buffers);
    exec_layout_fini(&op->layout);
    free(op);
}
