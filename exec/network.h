/* SPDX-License-Identifier: MIT */
/* network.h - a whole network as plain tables: plans one after another over tensors that share memory. C99, needs
 * nothing but plan.h. */
#ifndef TUNE_EXEC_NETWORK_H
#define TUNE_EXEC_NETWORK_H

#include "exec/plan.h"

#include <stddef.h>

/* As the slot of a value: it lies in the memory of the caller's argument i. */
#define EXEC_ARGUMENT(i) (-1 - (i))

struct exec_value {
    const char *name;
    size_t n_bytes;
    int slot; /* of the network's memory, or EXEC_ARGUMENT */
};

/* One plan run once. Steps of equal workload have the same plan, and weights of their own. */
struct exec_step {
    const char *layer; /* unique in the network; weights are given by it */
    int i_plan;
    const int *values; /* of the plan's inputs and outputs, in the plan's order */
    int n_values;
    double time_ns; /* recorded; 0 = not known */
};

struct exec_network {
    const char *name;
    const struct exec_plan *const *plans;
    int n_plans;
    const struct exec_value *values;
    int n_values;
    const size_t *slot_bytes;
    int n_slots;
    const struct exec_step *steps; /* in the order in which they run */
    int n_steps;
    int n_arguments; /* inputs, then outputs */
};

#endif
