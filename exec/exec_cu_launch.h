/* SPDX-License-Identifier: MIT */
/* exec_cu_launch.h - the launches of a plan on a CUDA device: their functions, started in the plan's order. Memory is
 * the keeper's, and so is the first stream: an op's where a plan is deployed, a device's of the agent where it is
 * timed. The context is current in all calls. */
#ifndef TUNE_EXEC_CU_LAUNCH_H
#define TUNE_EXEC_CU_LAUNCH_H

#include "exec/common.h"
#include "exec/exec_cu_driver.h"

#include <stddef.h>
#include <stdint.h>

#define EXEC_CU_MAX_ARGS 64 /* of a kernel */

/* What functions may ask of a device. */
struct exec_cu_limits {
    int units;
    int optin_bytes; /* shared memory of a block, at most */
};

struct exec_cu_launches {
    const struct exec_cu_calls *cu;
    const struct exec_plan *plan;
    struct CUfunc_st **functions;             /* one a launch; NULL for fills and copies */
    exec_cu_mem *symbols;                     /* one a launch: where a symbol lies; 0 */
    exec_cu_mem *mems;                        /* one a buffer; the keeper's to set and to release */
    struct CUstream_st *streams[EXEC_QUEUES]; /* [0] the keeper's; of the others those that the plan uses */
    int64_t n_starts[EXEC_N_PHASES];          /* of a phase, each launch as often as its loops repeat it */
    int i_launch;                             /* what was found or started last; -1 = none: streams or events */
    int error;                                /* the driver's, of the call that failed last */
    struct CUevent_st *begin;                 /* the signal to the other streams */
    struct CUevent_st *joins[EXEC_QUEUES];    /* the end of a stream's work; of used ones but the first */
    struct CUevent_st **after;                /* one a launch that another queue waits for; NULL */
    char *ran;                                /* one a launch: `after` was recorded in this phase */
};

/* Finds the functions in `modules` (one a module of the plan) and asks them for their own limits; makes streams and
 * events. `mems`: NULL, or one a buffer, copied. Keeps `cu` and `plan`. `out` is freed by exec_cu_launches_fini, after
 * failure too. EXEC_BUILD_FAILED: no such kernel, or other arguments than the plan has; EXEC_NO_DEVICE: a block, shared
 * memory or a cooperative launch that the function or the device cannot have; EXEC_NO_MEMORY, EXEC_DEVICE_FAILED. */
EXEC_API enum exec_status exec_cu_launches_init(const struct exec_cu_calls *cu, const struct exec_plan *plan,
                                                const struct exec_cu_limits *limits, struct CUmod_st *const *modules,
                                                const exec_cu_mem *mems, struct exec_words *words,
                                                struct exec_cu_launches *out);
EXEC_API void exec_cu_launches_fini(struct exec_cu_launches *l); /* accepts a zeroed one */

/* Starts the launches of a phase: other streams begin behind stream 0 as it is, and what comes next on stream 0 waits
 * for them. Gives the driver's error. */
EXEC_API int exec_cu_launch(struct exec_cu_launches *l, enum exec_phase phase);

/* One element of 1, 2 or 4 bytes into n_bytes: the driver's error. */
EXEC_API int exec_cu_set(const struct exec_cu_calls *cu, exec_cu_mem to, const unsigned char *element, size_t n_element,
                         size_t n_bytes, struct CUstream_st *stream);

#endif
