/* SPDX-License-Identifier: MIT */
/* exec_cl_op.c - plans made ready on an OpenCL device: kernels, and buffers that live with them. */
#include "exec/exec_cl_parts.h"

#include <stdlib.h>
#include <string.h>

EXEC_API enum exec_status exec_cl_make(const struct exec_cl *s, const struct exec_buffer *b, int filled,
                                       struct exec_words *words, cl_mem *out)
{
    cl_int code = CL_SUCCESS;
    unsigned char *made = NULL;
    const unsigned char *content = filled && b->fill == EXEC_FILL_BYTES ? b->bytes : NULL;
    if (filled && b->fill == EXEC_FILL_VALUE) {
        content = made = malloc(b->n_bytes);
        for (size_t i = 0; made != NULL && i < b->n_bytes; i++) {
            made[i] = b->pattern[i % b->n_pattern];
        }
        code = made != NULL ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
    }
    if (code == CL_SUCCESS) {
        *out = clCreateBuffer(s->context, CL_MEM_READ_WRITE | (content != NULL ? CL_MEM_COPY_HOST_PTR : 0), b->n_bytes,
                              (void *)content, &code);
    }
    free(made);
    return code == CL_SUCCESS ? EXEC_OK : exec_cl_failed(words, "buffer", b->id, code);
}

static enum exec_status exec_cl_op_buffers(struct exec_cl_op *op, struct exec_words *words)
{
    enum exec_status status = EXEC_OK;
    for (int i = 0; status == EXEC_OK && i < op->plan->n_buffers; i++) {
        const struct exec_buffer *b = &op->plan->buffers[i];
        const enum exec_place place = op->layout.spots[i].place;
        if (place == EXEC_OF_OP) {
            status = exec_cl_make(op->s, b, 1, words, &op->own[i]);
        } else if ((place == EXEC_OF_WEIGHTS || place == EXEC_OF_SESSION) && b->fill == EXEC_FILL_BYTES) {
            status = exec_cl_make(op->s, b, 1, words, &op->pristine[i]);
        }
    }
    return status;
}

/* Grows the arena to what the plan needs; commands under way keep what they were given. */
static enum exec_status exec_cl_grow(struct exec_cl_op *op, struct exec_words *words)
{
    struct exec_cl *s = op->s;
    if (op->layout.n_slots > s->n_slots) {
        const size_t n = (size_t)op->layout.n_slots, old = (size_t)s->n_slots;
        cl_mem *slots = realloc(s->slots, n * sizeof *slots);
        size_t *bytes = realloc(s->slot_bytes, n * sizeof *bytes);
        if (slots != NULL) {
            s->slots = slots;
        }
        if (bytes != NULL) {
            s->slot_bytes = bytes;
        }
        if (slots == NULL || bytes == NULL) {
            return exec_fail(words, EXEC_NO_MEMORY, "out of memory");
        }
        memset(slots + old, 0, (n - old) * sizeof *slots);
        memset(bytes + old, 0, (n - old) * sizeof *bytes);
        s->n_slots = op->layout.n_slots;
    }
    for (int i = 0; i < op->plan->n_buffers; i++) {
        const struct exec_buffer *b = &op->plan->buffers[i];
        const struct exec_spot *spot = &op->layout.spots[i];
        cl_mem larger = NULL;
        if (spot->place != EXEC_OF_SESSION || b->n_bytes <= s->slot_bytes[spot->index]) {
            continue;
        }
        enum exec_status status = exec_cl_make(s, b, 0, words, &larger);
        if (status != EXEC_OK) {
            return status;
        }
        if (s->slots[spot->index] != NULL) {
            clReleaseMemObject(s->slots[spot->index]);
        }
        s->slots[spot->index] = larger;
        s->slot_bytes[spot->index] = b->n_bytes;
    }
    return EXEC_OK;
}

EXEC_API cl_int exec_cl_set(cl_kernel kernel, cl_uint i, const struct exec_arg *a, int64_t integer)
{
    const cl_int i32 = (cl_int)integer;
    const cl_uint u32 = (cl_uint)integer;
    const cl_long i64 = (cl_long)integer;
    const cl_float f32 = (cl_float)a->real;
    switch (a->kind) {
    case EXEC_ARG_BUFFER:
        return CL_SUCCESS; /* with every run */
    case EXEC_ARG_I32:
        return clSetKernelArg(kernel, i, sizeof i32, &i32);
    case EXEC_ARG_U32:
        return clSetKernelArg(kernel, i, sizeof u32, &u32);
    case EXEC_ARG_I64:
        return clSetKernelArg(kernel, i, sizeof i64, &i64);
    case EXEC_ARG_F32:
        return clSetKernelArg(kernel, i, sizeof f32, &f32);
    case EXEC_ARG_LOCAL:
        return clSetKernelArg(kernel, i, (size_t)integer, NULL);
    }
    return CL_INVALID_ARG_VALUE;
}

/* On many devices the limit of a work-group falls with the registers of the built kernel. */
static enum exec_status exec_cl_ask_kernel(const struct exec_cl *s, cl_kernel kernel, const struct exec_launch *l,
                                           struct exec_words *words)
{
    const size_t items = l->block[0] * l->block[1] * l->block[2];
    size_t most = items;
    (void)clGetKernelWorkGroupInfo(kernel, s->device, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most, NULL);
    if (items > most) {
        return exec_fail(words, EXEC_NO_DEVICE, "kernel %.64s needs work-groups of %zu, this device allows %zu",
                         l->kernel, items, most);
    }
    return EXEC_OK;
}

static enum exec_status exec_cl_op_kernels(struct exec_cl_op *op, const cl_program *programs, struct exec_words *words)
{
    for (int i = 0; i < op->plan->n_launches; i++) {
        const struct exec_launch *l = &op->plan->launches[i];
        cl_int code = CL_SUCCESS;
        if (l->op != EXEC_KERNEL) {
            continue;
        }
        op->kernels[i] = clCreateKernel(programs[l->i_module], l->kernel, &code);
        for (int j = 0; code == CL_SUCCESS && j < l->n_args; j++) {
            code = exec_cl_set(op->kernels[i], (cl_uint)j, &l->args[j], l->args[j].integer);
        }
        if (code != CL_SUCCESS) {
            return exec_cl_failed(words, "kernel", l->kernel, code);
        }
        enum exec_status status = exec_cl_ask_kernel(op->s, op->kernels[i], l, words);
        if (status != EXEC_OK) {
            return status;
        }
    }
    return EXEC_OK;
}

static enum exec_status exec_cl_op_make(struct exec_cl_op *op, struct exec_words *words)
{
    const struct exec_plan *plan = op->plan;
    cl_program *programs = calloc((size_t)plan->n_modules + 1, sizeof *programs);
    enum exec_status status;
    op->kernels = calloc((size_t)plan->n_launches + 1, sizeof *op->kernels);
    op->own = calloc((size_t)plan->n_buffers + 1, sizeof *op->own);
    op->pristine = calloc((size_t)plan->n_buffers + 1, sizeof *op->pristine);
    status = exec_layout_init(plan, &op->layout);
    if (status != EXEC_OK || programs == NULL || op->kernels == NULL || op->own == NULL || op->pristine == NULL) {
        free(programs);
        return exec_fail(words, EXEC_NO_MEMORY, "out of memory");
    }
    for (int i = 0; status == EXEC_OK && i < plan->n_modules; i++) {
        status = exec_cl_module(op->s, plan->modules[i], words, &programs[i]);
    }
    status = status == EXEC_OK ? exec_cl_op_kernels(op, programs, words) : status;
    status = status == EXEC_OK ? exec_cl_op_buffers(op, words) : status;
    status = status == EXEC_OK ? exec_cl_grow(op, words) : status;
    free(programs);
    return status;
}

EXEC_API enum exec_status exec_cl_op_open(struct exec_cl *s, const struct exec_plan *plan, struct exec_words *words,
                                          struct exec_cl_op **out)
{
    enum exec_status status;
    struct exec_cl_op *op;
    if (s == NULL || plan == NULL) {
        return exec_fail(words, EXEC_BAD_ARGUMENT, "expected an open session and a plan");
    }
    op = calloc(1, sizeof *op);
    if (op == NULL) {
        return exec_fail(words, EXEC_NO_MEMORY, "out of memory");
    }
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
    if (op == NULL) {
        return;
    }
    for (int i = 0; op->kernels != NULL && i < op->plan->n_launches; i++) {
        if (op->kernels[i] != NULL) {
            clReleaseKernel(op->kernels[i]);
        }
    }
    exec_cl_release(op->own, op->plan->n_buffers);
    exec_cl_release(op->pristine, op->plan->n_buffers);
    exec_layout_fini(&op->layout);
    free(op->kernels);
    free(op);
}
