/* SPDX-License-Identifier: MIT */
/* The bundle for CUDA as it was printed. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wunused-function"
#include "cu/cu.c"
#pragma GCC diagnostic pop
#pragma GCC diagnostic error "-Wincompatible-pointer-types"

#include "tests/deploy/printed.h"

int (*const pack_cuda)(struct CUstream_st *, const int8_t *, const int32_t *, struct cu_weights **) = cu_by_hand_pack;
int (*const run_cuda)(struct CUstream_st *, cu_mem, const struct cu_weights *, cu_mem) = cu_by_hand;

struct printed printed_cu(void)
{
    return (struct printed){.plans = plans,
                            .n_plans = N_PLANS,
                            .layers = cu_layers,
                            .n_layers = CU_N_LAYERS,
                            .tuned_on = &tunedon,
                            .device = cu_device,
                            .fingerprint = cu_fingerprint,
                            .threads = cu_threads,
                            .max_tensors = MAX_TENSORS};
}
