/* SPDX-License-Identifier: MIT */
#include "runtime/given.h"

#include "runtime/cuda.h"

enum err given_cuda(int device, struct device_desc *out, struct why *why)
{
    char uuid[CUDA_UUID_BYTES];
    const enum err e = cuda_driver_load(why);

    return e ? e : cuda_describe_device(device, out, uuid, why);
}

int given_cuda_version(void)
{
    return cuda_driver_version();
}
