/* SPDX-License-Identifier: MIT */
/* cuda_driver.h - what the agent needs of NVIDIA's driver API beside the executor's calls (exec_cu_driver.h), declared
 * likewise: names, arguments and numbers are those of the public CUDA driver API reference; the versioned symbols are
 * spelt out, since they and not the plain ones have today's arguments. Included by cuda*.c only. */
#ifndef TUNE_RUNTIME_CUDA_DRIVER_H
#define TUNE_RUNTIME_CUDA_DRIVER_H

#include "core/err.h"
#include "exec/exec_cu_driver.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int cuda_result; /* 0 = success */
typedef int cuda_device; /* an ordinal */
typedef exec_cu_mem cuda_ptr;
typedef struct CUctx_st *cuda_context;
typedef struct CUmod_st *cuda_module;
typedef struct CUfunc_st *cuda_function;
typedef struct CUstream_st *cuda_stream;
typedef struct CUevent_st *cuda_event;
typedef struct CUgraph_st *cuda_graph;
typedef struct CUgraphExec_st *cuda_graph_exec;
struct cuda_uuid {
    unsigned char bytes[16];
};

enum cuda_error {
    CUDA_OUT_OF_MEMORY = 2,
    CUDA_STUB_LIBRARY = 34,
    CUDA_OLD_DRIVER = 35,
    CUDA_NEEDS_NEWER_DRIVER = 36,
    CUDA_UNAVAILABLE = 46,
    CUDA_NO_DEVICE = 100,
    CUDA_INVALID_IMAGE = 200,
    CUDA_NO_BINARY = 209,
    CUDA_INVALID_PTX = 218,
    CUDA_NO_JIT = 221,
    CUDA_NEW_PTX = 222,
    CUDA_INVALID_SOURCE = 300,
    CUDA_NOT_FOUND = 500,
    CUDA_ILLEGAL_ADDRESS = 700,
    CUDA_TOO_MANY_RESOURCES = 701,
    CUDA_LAUNCH_TIMEOUT = 702,
    CUDA_TOO_LARGE_COOPERATIVE = 720,
    CUDA_NOT_READY = 802,
    CUDA_DRIVER_MISMATCH = 803,
    CUDA_COMPAT_NOT_HERE = 804,
    CUDA_UNKNOWN = 999
};

enum cuda_attribute {
    CUDA_MAX_THREADS = 1,
    CUDA_MAX_BLOCK_X = 2, /* y, z: the next ones */
    CUDA_MAX_GRID_X = 5,
    CUDA_SHARED_BYTES = 8,
    CUDA_CLOCK_KHZ = 13,
    CUDA_UNITS = 16,
    CUDA_RUN_TIME_LIMIT = 17,
    CUDA_INTEGRATED = 18,
    CUDA_L2_BYTES = 38,
    CUDA_UNIT_THREADS = 39,
    CUDA_MAJOR = 75,
    CUDA_MINOR = 76,
    CUDA_UNIT_SHARED_BYTES = 81,
    CUDA_UNIT_REGISTERS = 82,
    CUDA_COOPERATIVE = 95,
    CUDA_SHARED_OPTIN_BYTES = 97,
    CUDA_UNIT_BLOCKS = 106,
    CUDA_SHARED_RESERVED_BYTES = 111
};

enum cuda_function_attribute {
    CUDA_FUNC_MAX_THREADS = 0,
    CUDA_FUNC_SHARED_BYTES = 1,
    CUDA_FUNC_CONST_BYTES = 2,
    CUDA_FUNC_LOCAL_BYTES = 3,
    CUDA_FUNC_REGISTERS = 4,
    CUDA_FUNC_MAX_DYNAMIC_BYTES = 8
};

enum cuda_jit_option { CUDA_JIT_INFO = 3, CUDA_JIT_INFO_BYTES = 4, CUDA_JIT_ERROR = 5, CUDA_JIT_ERROR_BYTES = 6 };

#define CUDA_STREAM_NON_BLOCKING 1u
#define CUDA_EVENT_TIMED 0u
#define CUDA_EVENT_PLAIN 2u /* no time is taken */
#define CUDA_CAPTURE_THREAD 1

/* X(symbol, arguments) */
#define CUDA_CALLS(X)                                                                                                  \
    X(cuGetErrorString, (cuda_result error, const char **text))                                                        \
    X(cuDeviceGetCount, (int *n))                                                                                      \
    X(cuDeviceGet, (cuda_device * out, int ordinal))                                                                   \
    X(cuDeviceTotalMem_v2, (size_t * n_bytes, cuda_device d))                                                          \
    X(cuDevicePrimaryCtxRetain, (cuda_context * out, cuda_device d))                                                   \
    X(cuCtxSetCurrent, (cuda_context c))                                                                               \
    X(cuMemcpyDtoHAsync_v2, (void *to, cuda_ptr from, size_t n_bytes, cuda_stream s))                                  \
    X(cuEventElapsedTime, (float *ms, cuda_event from, cuda_event to))

/* Newer ones: NULL where the driver is older than they are. */
#define CUDA_NEWER_CALLS(X)                                                                                            \
    X(cuDevicePrimaryCtxRelease_v2, (cuda_device d))                                                                   \
    X(cuDevicePrimaryCtxRelease, (cuda_device d)) /* of drivers before CUDA 11 */                                      \
    X(cuDeviceGetUuid, (struct cuda_uuid * out, cuda_device d))                                                        \
    X(cuDeviceGetUuid_v2, (struct cuda_uuid * out, cuda_device d))                                                     \
    X(cuGraphInstantiate_v2, (cuda_graph_exec * out, cuda_graph g, void **node, char *log, size_t n_log))

struct cuda_calls {
#define X(name, arguments) cuda_result(*name) arguments;
    union {
        struct exec_cu_calls exec;
        struct {
            EXEC_CU_CALLS(X)
            EXEC_CU_NEWER_CALLS(X)
        };
    };
    CUDA_CALLS(X)
    CUDA_NEWER_CALLS(X)
#undef X
};

/* The calls, once cuda_driver_load has succeeded. */
extern struct cuda_calls cuda;

/* Loads the driver from TUNE_CUDA_LIBRARY or libcuda.so.1 and initialises it, once a process. Thread-safe.
 * ERR_NOT_FOUND: no driver, or none with a device; ERR_DEVICE: one that does not work. One clear line each. */
enum err cuda_driver_load(struct why *why);
int cuda_driver_version(void); /* 12040 = 12.4 */

/* After such an error of a kernel nothing works any more in this context: the process has to end. */
bool cuda_is_sticky(cuda_result error);

/* The error a caller gets: limits for lack of memory or of resources, timeout for the watchdog of displays, else
 * device; the words name `what`, the driver's name for the error and what can be done about it. */
enum err cuda_failed(struct why *why, const char *what, cuda_result error);

#endif
