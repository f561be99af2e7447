/* SPDX-License-Identifier: MIT */
/* canary.h - a fixed FMA kernel that tells how fast the device is just now: throttling, a busy machine, and the peak
 * that GFLOPS are a share of. Its times judge the validity of others and never enter them. */
#ifndef TUNE_AGENT_CANARY_H
#define TUNE_AGENT_CANARY_H

#include "core/err.h"
#include "runtime/device.h"

#include <stdint.h>

struct canary;

/* Builds the kernel for the device (OpenCL, CUDA); ERR_UNSUPPORTED for a backend that runs nothing or has another
 * language. `cache_dir` as in device_ops.load. */
enum err canary_open(const struct device_ops *ops, struct device *d, const char *cache_dir, struct canary **out,
                     struct why *why);
void canary_close(struct canary *c);

/* Median of five runs once the last five agree within 1 %, or after at most max_ms; ns of one run. */
enum err canary_time(struct canary *c, int64_t max_ms, double *ns, struct why *why);

/* Median of three runs, one after another. */
enum err canary_now(struct canary *c, double *ns, struct why *why);

/* Arithmetic of one run, in FLOP. */
double canary_flops(const struct canary *c);

#endif
