/* SPDX-License-Identifier: MIT */
/* network_find.h - what the executors of networks ask of a network's tables. */
#ifndef TUNE_EXEC_NETWORK_FIND_H
#define TUNE_EXEC_NETWORK_FIND_H

#include "exec/device.h"
#include "exec/network.h"

#include <stddef.h>

/* The plan of a step. */
EXEC_API const struct exec_plan *exec_net_plan(const struct exec_network *n, int i_step);

/* The step of a layer; -1: there is none. */
EXEC_API int exec_net_layer(const struct exec_network *n, const char *layer);

/* How many weights a plan takes. */
EXEC_API int exec_net_weights(const struct exec_plan *plan);

/* Has each step as many tensors as its plan's inputs and outputs? *most: those of the step that has most.
 * EXEC_BAD_ARGUMENT with words. */
EXEC_API enum exec_status exec_net_check(const struct exec_network *n, int *most, struct exec_words *words);

/* The step of a layer, and which of its plan's weights `name` of n_bytes is. EXEC_BAD_ARGUMENT with words: no such
 * layer or weight, or other bytes. */
EXEC_API enum exec_status exec_net_find(const struct exec_network *n, const char *layer, const char *name,
                                        size_t n_bytes, int *i_step, int *k, struct exec_words *words);

#endif
