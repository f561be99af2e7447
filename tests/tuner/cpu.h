/* SPDX-License-Identifier: MIT */
/* cpu.h - a made-up CPU device for tests that need no driver. */
#ifndef TUNE_TESTS_TUNER_CPU_H
#define TUNE_TESTS_TUNER_CPU_H

#include "runtime/device_desc.h"

#include <stdio.h>

static inline struct device_desc test_cpu(void)
{
    struct device_desc d = {.kind = DEVICE_CPU,
                            .units = 1,
                            .threads = 1,
                            .max_work_group = 4096,
                            .local_bytes = 65536,
                            .global_bytes = (int64_t)1 << 30,
                            .max_alloc_bytes = (int64_t)1 << 28,
                            .vector_bits = 512};

    snprintf(d.api, sizeof d.api, "opencl");
    snprintf(d.name, sizeof d.name, "test cpu");
    for (int i = 0; i < 3; i++)
        d.max_local[i] = 4096;
    return d;
}

#endif
