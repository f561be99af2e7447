/* SPDX-License-Identifier: MIT */
/* network_cu.h - carries whole networks out over CUDA, with the plans' ops of exec_cu.h, as a graph that is replayed.
 * The same habits: one thread at a time; runs do not wait. */
#ifndef TUNE_EXEC_NETWORK_CU_H
#define TUNE_EXEC_NETWORK_CU_H

#include "exec/exec_cu.h"
#include "exec/network.h"

#include <stddef.h>

struct exec_net_cu;

/* Makes the memory between the layers. Keeps all it is given; ops: [n_plans], opened in `s`. */
EXEC_API enum exec_status exec_net_cu_open(struct exec_cu *s, const struct exec_network *n,
                                           struct exec_cu_op *const *ops, struct exec_words *words,
                                           struct exec_net_cu **out);
EXEC_API void exec_net_cu_close(struct exec_net_cu *net); /* accepts NULL; waits; close it before its ops */

/* One weight of a layer, by its tensor's name ("w" "bias" "scale"), from host memory, copied before this returns. The
 * layer is packed when it has all of its weights, which waits; to replace them give all of them again.
 * EXEC_BAD_ARGUMENT: no such layer or weight, or another number of bytes. */
EXEC_API enum exec_status exec_net_cu_set(struct exec_net_cu *net, struct CUstream_st *stream, const char *layer,
                                          const char *name, const void *data, size_t n_bytes, struct exec_words *words);

/* Starts the whole network over the caller's inputs and outputs, [n_arguments]. The first run with these arguments
 * captures its launches into a graph, later ones start that; a driver that cannot capture, and a stream that is being
 * captured itself, get the launches. EXEC_NOT_PACKED names a layer whose weights are missing. */
EXEC_API enum exec_status exec_net_cu_run(struct exec_net_cu *net, struct CUstream_st *stream,
                                          const exec_cu_mem *arguments, struct exec_words *words);

#endif
