/* SPDX-License-Identifier: MIT */
/* exec_cl.h - carries plans out over the caller's own OpenCL 1.2 objects. One thread at a time for a session and all
 * that was opened in it. Functions enqueue on the caller's in-order queue and do not wait, unless they say so. */
#ifndef TUNE_EXEC_CL_H
#define TUNE_EXEC_CL_H

#include "exec/cl_calls.h" /* not in bundles */
#include "exec/plan.h"

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>

/* A context and device with the modules built for it (each once, whoever asks) and the scratch memory that all its
 * plans share. Runs of one session on different queues wait for one another through events. */
struct exec_cl;

/* A plan made ready: its kernels. */
struct exec_cl_op;

/* One set of weights, packed for a plan. */
struct exec_cl_weights;

/* Keeps (retains) context and device. `fingerprint`: of this device, "" = not known: device binaries are then left
 * alone. */
EXEC_API enum exec_status exec_cl_open(cl_context context, cl_device_id device, const char *fingerprint,
                                       struct exec_words *words, struct exec_cl **out);
EXEC_API void exec_cl_close(struct exec_cl *s); /* accepts NULL; close its ops and weights first */

/* May this process use the tile registers of AMX? Linux gives them to those that ask, for all of their threads; a
 * session asks when it builds a text that uses them. 0 where the processor or the system has none. */
EXEC_API int exec_cl_ask_for_tiles(void);

/* May runs and packing of the session use this queue? EXEC_BAD_ARGUMENT with words for NULL, a queue of another context
 * or device, and one that takes commands out of order. */
EXEC_API enum exec_status exec_cl_check_queue(const struct exec_cl *s, cl_command_queue queue,
                                              struct exec_words *words);

/* Builds what is not built yet. Keeps `plan` and `s`. */
EXEC_API enum exec_status exec_cl_op_open(struct exec_cl *s, const struct exec_plan *plan, struct exec_words *words,
                                          struct exec_cl_op **out);
EXEC_API void exec_cl_op_close(struct exec_cl_op *op);

/* Packs weights: `weights` has the buffers of the plan's tensors of role weight, in the plan's order. They are retained
 * where runs read them directly. A plan without weights gives an object too. */
EXEC_API enum exec_status exec_cl_pack(struct exec_cl_op *op, cl_command_queue queue, const cl_mem *weights,
                                       struct exec_words *words, struct exec_cl_weights **out);
EXEC_API void exec_cl_weights_free(struct exec_cl_weights *w);

/* Enqueues one run: `tensors` has the buffers of inputs and outputs in the plan's order (weights left out). */
EXEC_API enum exec_status exec_cl_run(struct exec_cl_op *op, cl_command_queue queue, const cl_mem *tensors,
                                      const struct exec_cl_weights *weights, struct exec_words *words);

#endif
