/* SPDX-License-Identifier: MIT */
/* network_cl.h - carries whole networks out over OpenCL, with the plans' ops of exec_cl.h. The same habits: one thread
 * at a time, functions enqueue on the caller's in-order queue and do not wait. */
#ifndef TUNE_EXEC_NETWORK_CL_H
#define TUNE_EXEC_NETWORK_CL_H

#include "exec/exec_cl.h"
#include "exec/network.h"

#include <stddef.h>

struct exec_net_cl;

/* Makes the memory between the layers. Keeps all it is given; ops: [n_plans], opened in one session with `context`. */
EXEC_API enum exec_status exec_net_cl_open(cl_context context, const struct exec_network *n,
                                           struct exec_cl_op *const *ops, struct exec_words *words,
                                           struct exec_net_cl **out);
EXEC_API void exec_net_cl_close(struct exec_net_cl *net); /* accepts NULL; close it before its ops */

/* The same of a network that never runs beside `base`, with that one's ops: the memory between its layers is the
 * base's, and so is what its layers' weights are packed to where that is the same. Each layer's are given to the base
 * first. Keeps the base, which is closed after it. EXEC_BAD_ARGUMENT: the base has less memory. */
EXEC_API enum exec_status exec_net_cl_open_beside(struct exec_net_cl *base, const struct exec_network *n,
                                                  struct exec_words *words, struct exec_net_cl **out);

/* One weight of a layer, by its tensor's name ("w" "bias" "scale"); the data are copied before this returns. The layer
 * is packed when it has all of its weights; to replace them give all of them again. EXEC_BAD_ARGUMENT: no such layer or
 * weight (the words say which there are), or another number of bytes. */
EXEC_API enum exec_status exec_net_cl_set(struct exec_net_cl *net, cl_command_queue queue, const char *layer,
                                          const char *name, const void *data, size_t n_bytes, struct exec_words *words);

/* Enqueues the whole network over the caller's inputs and outputs, [n_arguments]. EXEC_NOT_PACKED names a layer whose
 * weights are missing. */
EXEC_API enum exec_status exec_net_cl_run(struct exec_net_cl *net, cl_command_queue queue, const cl_mem *arguments,
                                          struct exec_words *words);

#endif
