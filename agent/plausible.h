/* SPDX-License-Identifier: MIT */
/* plausible.h - can a time be true? Nothing is faster than the device. */
#ifndef TUNE_AGENT_PLAUSIBLE_H
#define TUNE_AGENT_PLAUSIBLE_H

#include "core/err.h"
#include "runtime/device_desc.h"
#include "runtime/program.h"

#define PLAUSIBLE_MARGIN 1.2 /* what a measured peak may be wrong by */

/* The least time in ns that a run can take: `least_flops` operations at the peak of the program's type, every byte of
 * its outputs written once. peak_gflops: of FMA in f32, as the canary measured it at its fastest. 0 = nothing is known,
 * nor of a peak that is an emulator's. */
double plausible_ns(const struct program *p, const struct device_desc *d, double least_flops, double peak_gflops);

/* ERR_WRONG, with words, when a time is less than that by more than the margin. */
enum err plausible_check(const struct program *p, const struct device_desc *d, double least_flops, double peak_gflops,
                         double time_ns, struct why *why);

#endif
