/* SPDX-License-Identifier: MIT */
/* The bundle for CUDA as it was printed; its names would meet those of the other. */
#define net_device cu_device
#define net_fingerprint cu_fingerprint
#define net_threads cu_threads
#define net_layers cu_layers
#define net_find cu_find
#define net_init cu_init
#define net_init_any cu_init_any
#define net_fini cu_fini
#define net_words cu_words
#define net_weights_free cu_weights_free
#define net_layer_pack cu_layer_pack
#define net_layer_pack_buffers cu_layer_pack_buffers
#define net_layer_run cu_layer_run
#define net_by_hand cu_by_hand
#define net_by_hand_pack cu_by_hand_pack
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wunused-function"
#include "cu/net.c"
#pragma GCC diagnostic pop

#include "tests/tuner/deploy/printed.h"

int (*const pack_cuda)(struct CUstream_st *, const int8_t *, const int32_t *, struct net_weights **) = net_by_hand_pack;
int (*const run_cuda)(struct CUstream_st *, net_mem, const struct net_weights *, net_mem) = net_by_hand;

struct printed printed_cu(void)
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
