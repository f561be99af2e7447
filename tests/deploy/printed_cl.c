/* SPDX-License-Identifier: MIT */
/* The bundle for OpenCL as it was printed. */
#define CL_TARGET_OPENCL_VERSION 300
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wunused-function"
#include "cl/net.c"
#include "cl/net_vectors.c"
#pragma GCC diagnostic pop
#pragma GCC diagnostic error "-Wincompatible-pointer-types"

#include "tests/deploy/printed.h"

/* Roles decide where a tensor stands among the parameters, dtypes which type it has; these do not compile otherwise. */
int (*const pack_dense)(cl_command_queue, const float *, struct net_weights **) = net_dense_f32_m8_n32_k16_pack;
int (*const run_dense)(cl_command_queue, cl_mem, const struct net_weights *, cl_mem) = net_dense_f32_m8_n32_k16;
int (*const pack_half)(cl_command_queue, const uint16_t *, const uint16_t *, struct net_weights **) = net_int_pack;
int (*const pack_pool)(cl_command_queue, struct net_weights **) = net_no_weights_pack;
int (*const run_short_cut)(cl_command_queue, cl_mem, cl_mem, const struct net_weights *, cl_mem) = net_short_cut;
int (*const pack_by_hand)(cl_command_queue, const int8_t *, const int32_t *, struct net_weights **) = net_by_hand_pack;

struct printed printed_cl(void)
{
    return (struct printed){.plans = plans,
                            .n_plans = N_PLANS,
                            .layers = net_layers,
                            .n_layers = NET_N_LAYERS,
                            .tuned_on = &tunedon,
                            .device = net_device,
                            .fingerprint = net_fingerprint,
                            .threads = net_threads,
                            .max_tensors = MAX_TENSORS};
}
