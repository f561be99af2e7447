/* SPDX-License-Identifier: MIT */
/* exec_cu_driver.h - the few calls of the CUDA driver that runs need, found at run time and declared here: no toolkit
 * to build, no driver to start. Names, arguments and numbers are those of NVIDIA's public driver API reference. */
#ifndef TUNE_EXEC_CU_DRIVER_H
#define TUNE_EXEC_CU_DRIVER_H

#include "exec/exec_cu.h"

#include <stddef.h>

struct CUmod_st;
struct CUfunc_st;
struct CUevent_st;
struct CUgraph_st;
struct CUgraphExec_st;

/* X(symbol, arguments); each gives 0 or the driver's error. */
#define EXEC_CU_CALLS(X)                                                                                               \
    X(cuInit, (unsigned flags))                                                                                        \
    X(cuDriverGetVersion, (int *version))                                                                              \
    X(cuGetErrorName, (int error, const char **name))                                                                  \
    X(cuCtxGetCurrent, (struct CUctx_st * *out))                                                                       \
    X(cuCtxPushCurrent_v2, (struct CUctx_st * context))                                                                \
    X(cuCtxPopCurrent_v2, (struct CUctx_st * *out))                                                                    \
    X(cuCtxGetDevice, (int *device))                                                                                   \
    X(cuDeviceGetName, (char *name, int n_bytes, int device))                                                          \
    X(cuDeviceGetAttribute, (int *value, int attribute, int device))                                                   \
    X(cuModuleLoadDataEx,                                                                                              \
      (struct CUmod_st * *out, const void *image, unsigned n_options, int *options, void **values))                    \
    X(cuModuleUnload, (struct CUmod_st * module))                                                                      \
    X(cuModuleGetFunction, (struct CUfunc_st * *out, struct CUmod_st * module, const char *name))                      \
    X(cuModuleGetGlobal_v2, (exec_cu_mem * out, size_t * n_bytes, struct CUmod_st * module, const char *name))         \
    X(cuFuncGetAttribute, (int *value, int attribute, struct CUfunc_st *function))                                     \
    X(cuFuncSetAttribute, (struct CUfunc_st * function, int attribute, int value))                                     \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor,                                                                     \
      (int *n, struct CUfunc_st *function, int n_threads, size_t dynamic_bytes))                                       \
    X(cuMemAlloc_v2, (exec_cu_mem * out, size_t n_bytes))                                                              \
    X(cuMemFree_v2, (exec_cu_mem at))                                                                                  \
    X(cuMemcpyHtoDAsync_v2, (exec_cu_mem to, const void *from, size_t n_bytes, struct CUstream_st *stream))            \
    X(cuMemcpyDtoDAsync_v2, (exec_cu_mem to, exec_cu_mem from, size_t n_bytes, struct CUstream_st * stream))           \
    X(cuMemsetD8Async, (exec_cu_mem to, unsigned char value, size_t n, struct CUstream_st *stream))                    \
    X(cuMemsetD16Async, (exec_cu_mem to, unsigned short value, size_t n, struct CUstream_st *stream))                  \
    X(cuMemsetD32Async, (exec_cu_mem to, unsigned value, size_t n, struct CUstream_st *stream))                        \
    X(cuStreamCreate, (struct CUstream_st * *out, unsigned flags))                                                     \
    X(cuStreamDestroy_v2, (struct CUstream_st * stream))                                                               \
    X(cuStreamSynchronize, (struct CUstream_st * stream))                                                              \
    X(cuStreamWaitEvent, (struct CUstream_st * stream, struct CUevent_st * event, unsigned flags))                     \
    X(cuEventCreate, (struct CUevent_st * *out, unsigned flags))                                                       \
    X(cuEventDestroy_v2, (struct CUevent_st * event))                                                                  \
    X(cuEventRecord, (struct CUevent_st * event, struct CUstream_st * stream))                                         \
    X(cuEventSynchronize, (struct CUevent_st * event))                                                                 \
    X(cuLaunchKernel, (struct CUfunc_st * function, unsigned grid_x, unsigned grid_y, unsigned grid_z,                 \
                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned dynamic_bytes,                   \
                       struct CUstream_st *stream, void **params, void **extra))

/* NULL where the driver is older than they are. */
#define EXEC_CU_NEWER_CALLS(X)                                                                                         \
    X(cuLaunchCooperativeKernel,                                                                                       \
      (struct CUfunc_st * function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,               \
       unsigned block_y, unsigned block_z, unsigned dynamic_bytes, struct CUstream_st *stream, void **params))         \
    X(cuFuncGetParamInfo, (struct CUfunc_st * function, size_t i, size_t * offset, size_t * n_bytes))                  \
    X(cuStreamIsCapturing, (struct CUstream_st * stream, int *status))                                                 \
    X(cuStreamBeginCapture_v2, (struct CUstream_st * stream, int mode))                                                \
    X(cuStreamEndCapture, (struct CUstream_st * stream, struct CUgraph_st * *out))                                     \
    X(cuGraphInstantiateWithFlags,                                                                                     \
      (struct CUgraphExec_st * *out, struct CUgraph_st * graph, unsigned long long flags))                             \
    X(cuGraphLaunch, (struct CUgraphExec_st * graph, struct CUstream_st * stream))                                     \
    X(cuGraphDestroy, (struct CUgraph_st * graph))                                                                     \
    X(cuGraphExecDestroy, (struct CUgraphExec_st * graph))

struct exec_cu_calls {
#define X(name, arguments) int(*name) arguments;
    EXEC_CU_CALLS(X)
    EXEC_CU_NEWER_CALLS(X)
#undef X
};

enum exec_cu_number {
    EXEC_CU_UNITS = 16, /* attributes of a device */
    EXEC_CU_MAJOR = 75,
    EXEC_CU_MINOR = 76,
    EXEC_CU_OPTIN_BYTES = 97,
    EXEC_CU_FUNC_MAX_THREADS = 0, /* of a function */
    EXEC_CU_FUNC_SHARED_BYTES = 1,
    EXEC_CU_FUNC_MAX_DYNAMIC = 8,
    EXEC_CU_JIT_ERROR = 5, /* options of cuModuleLoadDataEx */
    EXEC_CU_JIT_ERROR_BYTES = 6,
    EXEC_CU_NO_TIMING = 2,    /* of an event */
    EXEC_CU_NON_BLOCKING = 1, /* of a stream */
    EXEC_CU_CAPTURE_RELAXED = 2,
    EXEC_CU_NOT_FOUND = 500 /* an error */
};

/* Loads the driver from the environment's TUNE_CUDA_LIBRARY or libcuda.so.1, also where WSL has it, and finds its
 * calls; it stays loaded. Gives the library, NULL with words for none. */
EXEC_API void *exec_cu_find_driver(struct exec_cu_calls *out, struct exec_words *words);

/* The same, and initialises it. EXEC_NO_DEVICE. */
EXEC_API enum exec_status exec_cu_load(struct exec_cu_calls *out, struct exec_words *words);

/* Words of a failed call: "WHAT: CUDA_ERROR_OUT_OF_MEMORY". Gives EXEC_DEVICE_FAILED, EXEC_OK for error 0. */
EXEC_API enum exec_status exec_cu_check(const struct exec_cu_calls *cu, int error, const char *what,
                                        struct exec_words *words);

#endif
