/* SPDX-License-Identifier: MIT */
/* peak.h - what the cores can do just now: fused multiply-adds in registers, and reading a large array. In C with
 * vector types, on all OpenMP threads; no library takes part. */
#ifndef TUNE_TESTS_BENCH_OPS_PEAK_H
#define TUNE_TESTS_BENCH_OPS_PEAK_H

#include "core/err.h"

/* f32 FLOP per ns: the median of slices of about 0.3 ms over `ms`. */
double peak_flops(int ms);

/* Lanes of the vectors that peak_flops uses. */
int peak_lanes(void);

/* Bytes per ns of one pass over the next part (128 MiB) of an array of 512 MiB; 0 when there is no memory for it. */
double peak_read(void);
void peak_fini(void);

#endif
