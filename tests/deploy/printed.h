/* SPDX-License-Identifier: MIT */
/* printed.h - the tables of a compiled bundle, in types that both interfaces share. */
#ifndef TUNE_TESTS_DEPLOY_PRINTED_H
#define TUNE_TESTS_DEPLOY_PRINTED_H

#include "exec/device.h"
#include "exec/network.h"
#include "exec/plan.h"

#include <stddef.h>

struct printed {
    const struct exec_plan *plans;
    size_t n_plans;
    const void *layers; /* struct net_layer[n_layers] */
    size_t n_layers;
    const struct exec_device *tuned_on;
    const char *device, *fingerprint;
    int threads, max_tensors;
};

struct printed printed_cl(void);
struct printed printed_cu(void);

/* Of a whole network: its steps, weights, x and y are whole_steps[] and so on, of whole.h. */
struct printed printed_whole(const struct exec_network **network);

#endif
