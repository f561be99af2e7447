/* SPDX-License-Identifier: MIT */
/* exec_cu.h - carries plans out over the CUDA driver, which is loaded at run time (libcuda.so.1): in the caller's
 * current context and stream. The same habits as exec_cl.h. */
#ifndef TUNE_EXEC_CU_H
#define TUNE_EXEC_CU_H

#include "exec/plan.h"

struct CUctx_st; /* a CUcontext is a pointer to it, a CUstream to CUstream_st; a CUdeviceptr is exec_cu_mem */
struct CUstream_st;
typedef unsigned long long exec_cu_mem;

struct exec_cu;
struct exec_cu_op;
struct exec_cu_weights;

/* What the context is on. */
struct exec_cu_device {
    char name[256];
    int ordinal; /* CUdevice */
    int sm;      /* 10 * major + minor */
    int units;
};

/* `context` NULL: the calling thread's current one. A cubin of the device's own sm is taken first, then PTX of the
 * highest compute_XY that is not above it. EXEC_NO_DEVICE: no driver, or none of the code fits. */
EXEC_API enum exec_status exec_cu_open(struct CUctx_st *context, struct exec_words *words, struct exec_cu **out);
EXEC_API void exec_cu_close(struct exec_cu *s); /* accepts NULL; close its ops and weights first */
EXEC_API void exec_cu_device(const struct exec_cu *s, struct exec_cu_device *out);

/* Loads what is not loaded yet. Keeps `plan` and `s`. Waits. */
EXEC_API enum exec_status exec_cu_op_open(struct exec_cu *s, const struct exec_plan *plan, struct exec_words *words,
                                          struct exec_cu_op **out);
EXEC_API void exec_cu_op_close(struct exec_cu_op *op);

/* Packs weights: the plan's tensors of role weight, in the plan's order. Runs read some of them directly: they must
 * outlive the result. A plan without weights gives an object too. */
EXEC_API enum exec_status exec_cu_pack(struct exec_cu_op *op, struct CUstream_st *stream, const exec_cu_mem *weights,
                                       struct exec_words *words, struct exec_cu_weights **out);
/* The same from host memory, which is read before this returns. Waits. */
EXEC_API enum exec_status exec_cu_pack_host(struct exec_cu_op *op, struct CUstream_st *stream,
                                            const void *const *weights, struct exec_words *words,
                                            struct exec_cu_weights **out);
EXEC_API void exec_cu_weights_free(struct exec_cu_weights *w);

/* Starts one run: `tensors` has inputs and outputs in the plan's order. Runs of one session on different streams wait
 * for one another. A stream that is being captured into a graph is not waited for, nor made to wait: the order of
 * graphs is then the caller's business; open all ops before, since an op that needs more scratch memory moves it. */
EXEC_API enum exec_status exec_cu_run(struct exec_cu_op *op, struct CUstream_st *stream, const exec_cu_mem *tensors,
                                      const struct exec_cu_weights *weights, struct exec_words *words);

#endif
