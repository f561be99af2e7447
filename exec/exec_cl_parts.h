/* SPDX-License-Identifier: MIT */
/* exec_cl_parts.h - what the files of the OpenCL executor share. */
#ifndef TUNE_EXEC_CL_PARTS_H
#define TUNE_EXEC_CL_PARTS_H

#include "exec/common.h"
#include "exec/exec_cl.h"
#include "exec/exec_cl_launch.h"

#include <stddef.h>

struct exec_cl_module {
    char *text, *options; /* own copies: what it was built from */
    cl_program program;
};

struct exec_cl_slot {
    cl_mem mem;
    size_t n_bytes;
};

struct exec_cl {
    cl_context context;
    cl_device_id device;
    struct exec_cl_team *team; /* NULL but for a context of several devices `basic` */
    char *fingerprint;
    struct exec_cl_module *modules;
    int n_modules;
    struct exec_cl_slot *slots; /* the arena: scratch of whichever pack or run is under way */
    int n_slots;
    int n_grown;                 /* slots that were replaced by larger ones so far */
    cl_command_queue last_queue; /* that of the last pack or run, and its last command; NULL = none yet */
    cl_event last_event;
};

struct exec_cl_op {
    struct exec_cl *s;
    const struct exec_plan *plan;
    struct exec_layout layout;
    struct exec_cl_launches launches; /* its queue 0 is the caller's of the run, the others the op's */
    cl_mem *own;                      /* one a buffer: EXEC_OF_OP */
    cl_mem *pristine;                 /* one a buffer: its content, where that is given by bytes */
};

struct exec_cl_weights {
    const struct exec_cl_op *op;
    int n_mems;
    cl_mem *mems; /* one a buffer: EXEC_OF_WEIGHTS, and weights that runs read themselves */
};

/* Words on a failed call, "WHAT NAME: OpenCL error N", and its status. */
EXEC_API enum exec_status exec_cl_failed(struct exec_words *words, const char *what, const char *name, cl_int code);

/* Releases n buffers (NULL among them is fine) and frees the list. */
EXEC_API void exec_cl_release(cl_mem *mems, int n);

/* Forgets the last command of a session. */
EXEC_API void exec_cl_forget(struct exec_cl *s);

/* The session's program of a module: built the first time that its text and options are asked for; lent. */
EXEC_API enum exec_status exec_cl_module(struct exec_cl *s, const struct exec_module *m, struct exec_words *words,
                                         cl_program *out);

/* The programs of a plan's modules, [n_modules], to be freed; lent each. */
EXEC_API enum exec_status exec_cl_programs(const struct exec_cl_op *op, struct exec_words *words, cl_program **out);

/* Runs over memory that stays the same: `out`, to be freed by exec_cl_launches_fini, has kernels of its own, all of
 * whose arguments are set once. Of ops of which exec_cl_is_plain tells that nothing else is to be done before a run,
 * until a slot of the session grows. Errors as of exec_cl_run. */
EXEC_API int exec_cl_is_plain(const struct exec_cl_op *op);
EXEC_API enum exec_status exec_cl_bound_init(struct exec_cl_op *op, const cl_mem *tensors,
                                             const struct exec_cl_weights *weights, struct exec_words *words,
                                             struct exec_cl_launches *out);
EXEC_API enum exec_status exec_cl_bound_run(struct exec_cl_op *op, cl_command_queue queue,
                                            struct exec_cl_launches *bound, struct exec_words *words);

/* A device buffer for `b`; with its fill as content when `filled`. */
EXEC_API enum exec_status exec_cl_make(const struct exec_cl *s, const struct exec_buffer *b, int filled,
                                       struct exec_words *words, cl_mem *out);

#endif
