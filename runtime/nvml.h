/* SPDX-License-Identifier: MIT */
/* nvml.h - NVIDIA's management library, libnvidia-ml.so.1, loaded at run time: sensors of a device. */
#ifndef TUNE_RUNTIME_NVML_H
#define TUNE_RUNTIME_NVML_H

#include "core/err.h"
#include "runtime/sense.h"

#include <stdbool.h>
#include <stdint.h>

struct nvml_device {
    void *handle; /* of the library's own; NULL = not found */
};

/* Finds the device with this UUID ("GPU-..."; the driver API counts devices in another order than NVML does). False
 * where there is no library, no such device, or no permission. The library is loaded once a process from
 * TUNE_NVML_LIBRARY or libnvidia-ml.so.1. */
bool nvml_find(const char *uuid, struct nvml_device *out);

/* Clocks, temperature, power, reasons for held-down clocks, and the energy counter that Volta and newer have. Fills all
 * of `out`; what a device does not tell stays unknown. */
void nvml_sense(const struct nvml_device *d, struct sense *out);

/* What a device is held at; 0 = the driver chooses. */
struct nvml_hold {
    int64_t core_mhz; /* of the multiprocessors */
    int64_t power_w;  /* at most */
};

/* Holds the device at that until the next call. ERR_LIMITS for values that it does not take, ERR_UNSUPPORTED where it
 * cannot be held (the words say whether it is the device or the right that lacks). */
enum err nvml_hold(const struct nvml_device *d, const struct nvml_hold *h, struct why *why);

/* The driver's version, e.g. "550.54.15"; false where it is not told. */
bool nvml_driver_version(char *out, unsigned n_out);

#endif
