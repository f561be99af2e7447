/* SPDX-License-Identifier: MIT */
/* team_cl.h - a context of several of PoCL's devices `basic` (POCL_DEVICES="basic basic"), each of which computes in
 * the thread that starts a kernel: launches are split among the caller's thread and one more for each further device.
 * Those stay awake for half a millisecond after a launch; PoCL's own workers sleep at once. A bundle has it where it is
 * built with threads (its NAME_TEAM). */
#ifndef TUNE_EXEC_TEAM_CL_H
#define TUNE_EXEC_TEAM_CL_H

#include "exec/cl_calls.h"
#include "exec/plan.h"

#include <stddef.h>

struct exec_cl_team;

/* How many devices `basic` the device's platform has, when it is one of them; else 1. */
EXEC_API int exec_cl_team_size(cl_device_id device);

/* All devices `basic` of the platform of `first`, in *n (0 to `most`), `first` in front. */
EXEC_API void exec_cl_team_devices(cl_device_id first, cl_uint most, cl_device_id *out, cl_uint *n);

/* The further devices of a context, a queue and a thread for each. Borrows the context. NULL: there are none that are
 * `basic`, or no memory. Free it by exec_cl_team_close, which accepts NULL. */
EXEC_API struct exec_cl_team *exec_cl_team_open(cl_context context, cl_device_id first);
EXEC_API void exec_cl_team_close(struct exec_cl_team *team);

/* As exec_cl_from_text, for all devices of the team. A text that asks how many groups or work-items a launch has is
 * built for the first one alone and never split. */
EXEC_API cl_program exec_cl_team_text(const struct exec_cl_team *team, const char *text, size_t n_bytes,
                                      const char *options, cl_int *code);

/* Was the kernel's program built for all of a team? */
EXEC_API int exec_cl_team_has(cl_kernel kernel);

/* Has the queue nothing to wait for, so that its next launch runs at once? */
EXEC_API int exec_cl_team_is_idle(cl_command_queue queue);

/* What a launch is: global sizes are grid * block. */
struct exec_cl_team_job {
    cl_kernel kernel;
    const size_t *grid, *block; /* of 3 */
    cl_uint n_wait;
    const cl_event *wait;
    cl_event *event; /* of the caller's part; NULL = not wanted */
};

/* Starts a kernel of exec_cl_team_has; where `splits`, it has ended on return. One thread at a time. */
EXEC_API cl_int exec_cl_team_start(struct exec_cl_team *team, cl_command_queue queue,
                                   const struct exec_cl_team_job *job, int splits);

#endif
