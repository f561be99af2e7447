/* SPDX-License-Identifier: MIT */
/* exec_cu.c - a session: the caller's CUDA context, its device, the memory that plans share. */
#include "exec/exec_cu_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

EXEC_API enum exec_status exec_cu_enter(struct exec_cu *s, struct exec_words *words)
{
    return exec_cu_check(&s->cu, s->cu.cuCtxPushCurrent_v2(s->context), "making the CUDA context current", words);
}

EXEC_API void exec_cu_leave(struct exec_cu *s)
{
    struct CUctx_st *left = NULL;
    (void)s->cu.cuCtxPopCurrent_v2(&left);
}

/* Until what was enqueued last has ended: before memory or code goes away. */
EXEC_API void exec_cu_wait(struct exec_cu *s)
{
    if (s->busy)
        (void)s->cu.cuEventSynchronize(s->event);
}

static enum exec_status exec_cu_describe(struct exec_cu *s, struct exec_words *words)
{
    int device = 0, major = 0, minor = 0;
    int error = s->cu.cuCtxGetDevice(&device);
    error = error != 0 ? error : s->cu.cuDeviceGetName(s->name, (int)sizeof s->name - 1, device);
    error = error != 0 ? error : s->cu.cuDeviceGetAttribute(&major, EXEC_CU_MAJOR, device);
    error = error != 0 ? error : s->cu.cuDeviceGetAttribute(&minor, EXEC_CU_MINOR, device);
    error = error != 0 ? error : s->cu.cuDeviceGetAttribute(&s->units, EXEC_CU_UNITS, device);
    error = error != 0 ? error : s->cu.cuDeviceGetAttribute(&s->optin_bytes, EXEC_CU_OPTIN_BYTES, device);
    error = error != 0 ? error : s->cu.cuEventCreate(&s->event, EXEC_CU_NO_TIMING);
    s->ordinal = device;
    s->sm = 10 * major + minor;
    return exec_cu_check(&s->cu, error, "asking the CUDA device", words);
}

static enum exec_status exec_cu_begin(struct exec_cu *s, struct CUctx_st *context, struct exec_words *words)
{
    enum exec_status status = exec_cu_load(&s->cu, words);
    s->context = context;
    if (status == EXEC_OK && !context)
        (void)s->cu.cuCtxGetCurrent(&s->context);
    if (status == EXEC_OK && !s->context) {
        status = exec_fail(words, EXEC_BAD_ARGUMENT,
                           "no CUDA context is current in this thread: make one, or retain the device's primary one");
    }
    if (status == EXEC_OK)
        status = exec_cu_enter(s, words);
    if (status == EXEC_OK) {
        status = exec_cu_describe(s, words);
        exec_cu_leave(s);
    }
    return status;
}

EXEC_API enum exec_status exec_cu_open(struct CUctx_st *context, struct exec_words *words, struct exec_cu **out)
{
    struct exec_cu *s = out ? calloc(1, sizeof *s) : NULL;
    enum exec_status status = EXEC_OK;
    if (!s)
        return exec_fail(words, out ? EXEC_NO_MEMORY : EXEC_BAD_ARGUMENT, "no memory, or nowhere to give to");
    status = exec_cu_begin(s, context, words);
    if (status != EXEC_OK) {
        free(s);
        return status;
    }
    *out = s;
    return EXEC_OK;
}

EXEC_API void exec_cu_close(struct exec_cu *s)
{
    if (!s)
        return;
    if (exec_cu_enter(s, NULL) == EXEC_OK) {
        exec_cu_wait(s);
        for (int i = 0; i < s->n_slots; i++)
            (void)s->cu.cuMemFree_v2(s->slots[i].at);
        (void)s->cu.cuEventDestroy_v2(s->event);
        exec_cu_leave(s);
    }
    free(s->slots);
    free(s->modules);
    free(s);
}

EXEC_API void exec_cu_device(const struct exec_cu *s, struct exec_cu_device *out)
{
    memset(out, 0, sizeof *out);
    (void)snprintf(out->name, sizeof out->name, "%s", s->name);
    out->ordinal = s->ordinal;
    out->sm = s->sm;
    out->units = s->units;
}
