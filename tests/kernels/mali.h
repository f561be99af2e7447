/* SPDX-License-Identifier: MIT */
/* mali.h - a Mali-T860 MP4 as its driver (Midgard r14 and later) describes it, for tests without one. */
#ifndef TUNE_TESTS_KERNELS_MALI_H
#define TUNE_TESTS_KERNELS_MALI_H

#include "kernels/template.h"

static const struct device_desc mali_t860 = {.api = "opencl",
                                             .kind = DEVICE_MALI,
                                             .platform = "ARM Platform",
                                             .name = "Mali-T860",
                                             .extensions = "cl_khr_fp16",
                                             .units = 4,
                                             .max_work_group = 256,
                                             .max_local = {256, 256, 256},
                                             .local_bytes = 32768,
                                             .constant_bytes = 65536,
                                             .global_bytes = (int64_t)2 << 30,
                                             .max_alloc_bytes = (int64_t)1 << 29,
                                             .vector_bits = 128,
                                             .fp16 = true,
                                             .shares_host = true};

#endif
