/* SPDX-License-Identifier: MIT */
/* exec_cl_launch.h - the launches of a plan on an OpenCL device: their kernels, bound and started in the plan's order.
 * Memory and queues are the keeper's: an op's where a plan is deployed, a device's of the agent where it is timed. */
#ifndef TUNE_EXEC_CL_LAUNCH_H
#define TUNE_EXEC_CL_LAUNCH_H

#include "exec/common.h"
#include "exec/exec_cl.h"
#include "exec/team_cl.h"

#include <stddef.h>
#include <stdint.h>

/* A program built of a binary as its driver gave it; NULL when the driver does not take it. */
EXEC_API cl_program exec_cl_from_binary(cl_context context, cl_device_id device, const unsigned char *bytes,
                                        size_t n_bytes, const char *options);
/* One built of text. On failure of the build it is given too, for the compiler's words; NULL: of its making. */
EXEC_API cl_program exec_cl_from_text(cl_context context, cl_device_id device, const char *text, size_t n_bytes,
                                      const char *options, cl_int *code);

/* A start whose event is kept. */
struct exec_cl_start {
    cl_event event;
    int i_launch;
};

struct exec_cl_launches {
    const struct exec_plan *plan;
    cl_kernel *kernels;                   /* one a launch; NULL for fills and copies */
    size_t *local_bytes;                  /* one a launch: of a group's local memory, what arguments ask for included */
    cl_mem *mems;                         /* one a buffer; the keeper's to set and to release */
    cl_command_queue queues[EXEC_QUEUES]; /* those that the plan uses; the keeper's, too */
    int all_events;                       /* of each start, not only of the last and of those that others wait for */
    cl_int (*before)(int i_launch, void *arg); /* of each kernel's start; NULL = nothing is to be done */
    void *arg;
    struct exec_cl_team *team;     /* that launches are split among; NULL */
    char *of_team;                 /* one a launch: its kernel was built for all of the team */
    char *is_small;                /* one a launch: done before another member could help */
    int is_late;                   /* the phase waits for what is under way: its launches are not split */
    int i_launch;                  /* what was bound or started last: on failure the one to blame */
    struct exec_cl_start *started; /* since exec_cl_forget_starts, in order */
    size_t n_started, cap_started;
    cl_event *latest;                /* one a launch, lent from `started`; NULL = not started yet */
    char *awaited;                   /* one a launch */
    int64_t n_starts[EXEC_N_PHASES]; /* of a phase */
    int64_t n_left;                  /* starts to come */
};

/* Makes the kernels, sets their numbers and asks them for their own limits; max_local: bytes that a group may have.
 * `programs`: one a module of the plan. `mems`: NULL, or one a buffer, set as arguments in the same go. `team`: that
 * the programs were built for, or NULL; lent. Keeps `plan`. `out` is freed by exec_cl_launches_fini, after failure too.
 * EXEC_BUILD_FAILED: no such kernel, or other arguments than the plan has; EXEC_NO_DEVICE: a group or local memory that
 * the built kernel or the device cannot have; EXEC_NO_MEMORY, EXEC_DEVICE_FAILED. */
EXEC_API enum exec_status exec_cl_launches_init(const struct exec_plan *plan, cl_device_id device, size_t max_local,
                                                const cl_program *programs, const cl_mem *mems,
                                                struct exec_cl_team *team, struct exec_words *words,
                                                struct exec_cl_launches *out);
EXEC_API void exec_cl_launches_fini(struct exec_cl_launches *l); /* accepts a zeroed one */

/* Sets l->mems as the arguments of one phase's kernels. */
EXEC_API cl_int exec_cl_bind(struct exec_cl_launches *l, enum exec_phase phase);

/* Enqueues the launches of a phase, each as often as its loops say; does not wait. After failure some are under way. */
EXEC_API cl_int exec_cl_launch(struct exec_cl_launches *l, enum exec_phase phase);
EXEC_API void exec_cl_forget_starts(struct exec_cl_launches *l);

#endif
