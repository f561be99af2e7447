/* SPDX-License-Identifier: MIT */
/* The bundle of a whole network as it was printed. */
#define CL_TARGET_OPENCL_VERSION 300
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wunused-function"
#include "whole/whole.c"
#pragma GCC diagnostic pop
#pragma GCC diagnostic error "-Wincompatible-pointer-types"

#include "tests/deploy/printed.h"

struct printed printed_whole(const struct exec_network **out)
{
    *out = &network;
    return (struct printed){.plans = plans,
                            .n_plans = N_PLANS,
                            .layers = whole_layers,
                            .n_layers = WHOLE_N_LAYERS,
                            .tuned_on = &tunedon,
                            .device = whole_device,
                            .fingerprint = whole_fingerprint,
                            .threads = whole_threads,
                            .max_tensors = MAX_TENSORS};
}
