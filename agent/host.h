/* SPDX-License-Identifier: MIT */
/* host.h - what the machine tells of itself round a measurement, and a trial's device object. */
#ifndef TUNE_AGENT_HOST_H
#define TUNE_AGENT_HOST_H

#include "core/json.h"
#include "runtime/device_desc.h"

#include <stdint.h>

/* Load average of the last minute; temperature of the CPUs in degrees Celsius, of the hottest zone where theirs is not
 * known: NAN where it cannot be read. */
double host_load(void);
double host_temperature_c(void);

/* Bytes that a process may still take without swapping; 0 = not known. */
int64_t host_available_bytes(void);
int64_t host_total_bytes(void);

/* The newest CUDA that the device's driver knows (12040 = 12.4); INT_MAX where it does not tell. */
int host_cuda_version(const struct device_desc *d);

/* the device's description with peak_gflops, machine, os, microcode, load, clock_mhz and temperature_c, as far
 * as readable. NULL on lack of memory. */
cJSON *host_device_object(const struct device_desc *d, double peak_gflops, int cpu);

#endif
