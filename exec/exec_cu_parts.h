/* SPDX-License-Identifier: MIT */
/* exec_cu_parts.h - what the files of the CUDA executor share; nobody else includes it. Between exec_cu_enter and
 * exec_cu_leave the session's context is current. */
#ifndef TUNE_EXEC_CU_PARTS_H
#define TUNE_EXEC_CU_PARTS_H

#include "exec/common.h"
#include "exec/exec_cu.h"
#include "exec/exec_cu_driver.h"
#include "exec/exec_cu_launch.h"

#include <stddef.h>

/* A module as it is loaded, for as long as an op uses it. */
struct exec_cu_module {
    const struct exec_module *module; /* NULL = a free entry */
    struct CUmod_st *loaded;
    int n_uses;
};

/* Memory that plans use one after the other. */
struct exec_cu_slot {
    exec_cu_mem at;
    size_t n_bytes;
};

struct exec_cu {
    struct exec_cu_calls cu;
    struct CUctx_st *context;
    int ordinal, sm, units, optin_bytes;
    char name[256];
    struct CUevent_st *event; /* the end of the last pack or run, which was on `stream` */
    struct CUstream_st *stream;
    int busy; /* the event was recorded */
    struct exec_cu_module *modules;
    int n_modules;
    struct exec_cu_slot *slots;
    int n_slots;
    int n_grown; /* slots that were replaced by larger ones so far */
};

struct exec_cu_op {
    struct exec_cu *s;
    const struct exec_plan *plan;
    struct exec_layout layout;
    int *modules;                     /* one a module of the plan: entry of the session, -1 = not loaded */
    exec_cu_mem *mems;                /* one a buffer; those that live with the op */
    struct exec_cu_launches launches; /* its stream 0 is the caller's of the run */
};

struct exec_cu_weights {
    struct exec_cu_op *op;
    exec_cu_mem *mems; /* one a buffer: packed ones, our own, and weights that runs read themselves */
    int uploaded;      /* those are our own too */
};

/* exec_cu.c. Wait: until what was enqueued last has ended, before memory or code goes away. */
EXEC_API enum exec_status exec_cu_enter(struct exec_cu *s, struct exec_words *words);
EXEC_API void exec_cu_leave(struct exec_cu *s);
EXEC_API void exec_cu_wait(struct exec_cu *s);

/* exec_cu_code.c: a module of the session's table, loaded once; `out` is its entry. */
EXEC_API enum exec_status exec_cu_use_module(struct exec_cu *s, const struct exec_module *m, int *out,
                                             struct exec_words *words);
EXEC_API void exec_cu_drop_module(struct exec_cu *s, int entry); /* accepts -1 */

/* exec_cu_op.c: memory; `id` is for the words. Memory of its own for each buffer of one place, filled; free accepts
 * NULL. */
EXEC_API enum exec_status exec_cu_allocate(const struct exec_cu *s, const char *id, size_t n_bytes, exec_cu_mem *out,
                                           struct exec_words *words);
EXEC_API enum exec_status exec_cu_make_mems(struct exec_cu_op *op, enum exec_place place, exec_cu_mem *mems,
                                            struct CUstream_st *stream, struct exec_words *words);
EXEC_API void exec_cu_free_mems(struct exec_cu_op *op, enum exec_place place, const exec_cu_mem *mems);
/* What a buffer starts with. */
EXEC_API enum exec_status exec_cu_fill(const struct exec_cu *s, const struct exec_buffer *b, exec_cu_mem to,
                                       struct CUstream_st *stream, struct exec_words *words);

#endif
