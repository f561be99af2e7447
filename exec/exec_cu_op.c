/* SPDX-License-Identifier: MIT */
/* exec_cu_op.c - a plan made ready: its functions and the memory that lives with it. */
#include "exec/exec_cu_parts.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ---- */

EXEC_API enum exec_status exec_cu_allocate(const struct exec_cu *s, const char *id, size_t n_bytes, exec_cu_mem *out,
                                           struct exec_words *words)
{
    char what[128];
    exec_cu_mem at = 0;
    const int error = s->cu.cuMemAlloc_v2(&at, n_bytes > 0 ? n_bytes : 1);
    if (error == 0) {
        *out = at;
        return EXEC_OK;
    }
    (void)snprintf(what, sizeof what, "memory for %.64s, %zu bytes", id, n_bytes);
    return exec_cu_check(&s->cu, error, what, words);
}

EXEC_API enum exec_status exec_cu_fill(const struct exec_cu *s, const struct exec_buffer *b, exec_cu_mem to,
                                       struct CUstream_st *stream, struct exec_words *words)
{
    int error = 0;
    if (b->fill == EXEC_FILL_VALUE)
        error = exec_cu_set(&s->cu, to, b->pattern, b->n_pattern, b->n_bytes, stream);
    else if (b->fill == EXEC_FILL_BYTES)
        error = s->cu.cuMemcpyHtoDAsync_v2(to, b->bytes, b->n_bytes, stream);
    return exec_cu_check(&s->cu, error, b->id, words);
}

/* A slot of the session is as large as its largest user; it only grows, when nothing runs. */
static enum exec_status exec_cu_want_slot(struct exec_cu *s, int slot, const struct exec_buffer *b,
                                          struct exec_words *words)
{
    exec_cu_mem at = 0;
    assert(slot >= 0);
    if (slot >= s->n_slots) {
        struct exec_cu_slot *grown = realloc(s->slots, ((size_t)slot + 1) * sizeof *grown);
        if (!grown)
            return exec_fail(words, EXEC_NO_MEMORY, "out of memory");
        memset(grown + s->n_slots, 0, ((size_t)slot + 1 - (size_t)s->n_slots) * sizeof *grown);
        s->slots = grown;
        s->n_slots = slot + 1;
    }
    if (s->slots[slot].at != 0 && s->slots[slot].n_bytes >= b->n_bytes)
        return EXEC_OK;
    enum exec_status status = exec_cu_allocate(s, b->id, b->n_bytes, &at, words);
    if (status == EXEC_OK) {
        exec_cu_wait(s);
        if (s->slots[slot].at != 0)
            (void)s->cu.cuMemFree_v2(s->slots[slot].at);
        s->slots[slot].at = at;
        s->slots[slot].n_bytes = b->n_bytes;
        s->n_grown++;
    }
    return status;
}

/* Buffers of one place get memory of their own. */
EXEC_API enum exec_status exec_cu_make_mems(struct exec_cu_op *op, enum exec_place place, exec_cu_mem *mems,
                                            struct CUstream_st *stream, struct exec_words *words)
{
    enum exec_status status = EXEC_OK;
    for (int i = 0; status == EXEC_OK && i < op->plan->n_buffers; i++) {
        const struct exec_buffer *b = &op->plan->buffers[i];
        if (op->layout.spots[i].place == place) {
            status = exec_cu_allocate(op->s, b->id, b->n_bytes, &mems[i], words);
            status = status == EXEC_OK ? exec_cu_fill(op->s, b, mems[i], stream, words) : status;
        }
    }
    return status;
}

EXEC_API void exec_cu_free_mems(struct exec_cu_op *op, enum exec_place place, const exec_cu_mem *mems)
{
    for (int i = 0; mems && i < op->plan->n_buffers; i++)
        if (op->layout.spots[i].place == place && mems[i] != 0)
            (void)op->s->cu.cuMemFree_v2(mems[i]);
}

/* ---- ops ---- */

static enum exec_status exec_cu_op_launches(struct exec_cu_op *op, struct exec_words *words)
{
    const struct exec_cu_limits limits = {op->s->units, op->s->optin_bytes};
    struct CUmod_st **modules = calloc((size_t)op->plan->n_modules + 1, sizeof(struct CUmod_st *));
    enum exec_status status = modules ? EXEC_OK : exec_fail(words, EXEC_NO_MEMORY, "out of memory");
    for (int i = 0; status == EXEC_OK && i < op->plan->n_modules; i++) {
        status = exec_cu_use_module(op->s, op->plan->modules[i], &op->modules[i], words);
        modules[i] = status == EXEC_OK ? op->s->modules[op->modules[i]].loaded : NULL;
    }
    if (status == EXEC_OK)
        status = exec_cu_launches_init(&op->s->cu, op->plan, &limits, modules, NULL, words, &op->launches);
    free(modules);
    return status;
}

static enum exec_status exec_cu_prepare(struct exec_cu_op *op, struct exec_words *words)
{
    const struct exec_plan *plan = op->plan;
    enum exec_status status = exec_cu_op_launches(op, words);
    for (int i = 0; status == EXEC_OK && i < plan->n_buffers; i++)
        if (op->layout.spots[i].place == EXEC_OF_SESSION)
            status = exec_cu_want_slot(op->s, op->layout.spots[i].index, &plan->buffers[i], words);
    status = status == EXEC_OK ? exec_cu_make_mems(op, EXEC_OF_OP, op->mems, NULL, words) : status;
    return status == EXEC_OK ? exec_cu_check(&op->s->cu, op->s->cu.cuStreamSynchronize(NULL), "filling buffers", words)
                             : status;
}

static enum exec_status exec_cu_new_op(struct exec_cu *s, const struct exec_plan *plan, struct exec_cu_op **out)
{
    struct exec_cu_op *op = calloc(1, sizeof *op);
    if (!op)
        return EXEC_NO_MEMORY;
    op->s = s;
    op->plan = plan;
    op->modules = calloc((size_t)plan->n_modules + 1, sizeof *op->modules);
    op->mems = calloc((size_t)plan->n_buffers + 1, sizeof *op->mems);
    for (int i = 0; op->modules && i < plan->n_modules; i++)
        op->modules[i] = -1;
    *out = op;
    return !op->modules || !op->mems ? EXEC_NO_MEMORY : exec_layout_init(plan, &op->layout);
}

/* The context is entered, or broken. */
static void exec_cu_free_op(struct exec_cu_op *op)
{
    exec_cu_wait(op->s);
    if (op->layout.spots)
        exec_cu_free_mems(op, EXEC_OF_OP, op->mems);
    exec_cu_launches_fini(&op->launches);
    for (int i = 0; op->modules && i < op->plan->n_modules; i++)
        exec_cu_drop_module(op->s, op->modules[i]);
    exec_layout_fini(&op->layout);
    free(op->modules);
    free(op->mems);
    free(op);
}

EXEC_API enum exec_status exec_cu_op_open(struct exec_cu *s, const struct exec_plan *plan, struct exec_words *words,
                                          struct exec_cu_op **out)
{
    struct exec_cu_op *op = NULL;
    if (!s || !plan || !out)
        return exec_fail(words, EXEC_BAD_ARGUMENT, "no session, plan or place for the op");
    enum exec_status status = exec_cu_enter(s, words);
    if (status != EXEC_OK)
        return status;
    status = exec_cu_new_op(s, plan, &op);
    if (status == EXEC_NO_MEMORY)
        (void)exec_fail(words, EXEC_NO_MEMORY, "out of memory");
    if (!op) {
        exec_cu_leave(s);
        return status;
    }
    status = status == EXEC_OK ? exec_cu_prepare(op, words) : status;
    if (status == EXEC_OK)
        *out = op;
    else
        exec_cu_free_op(op);
    exec_cu_leave(s);
    return status;
}

EXEC_API void exec_cu_op_close(struct exec_cu_op *op)
{
    if (!op)
        return;
    struct exec_cu *s = op->s;
    const int entered = exec_cu_enter(s, NULL) == EXEC_OK;
    exec_cu_free_op(op);
    if (entered)
        exec_cu_leave(s);
}
