/* SPDX-License-Identifier: MIT */
/* given.h - descriptions of devices that an application has opened itself. The same facts, and so the same fingerprint,
 * as an agent tells of the device. */
#ifndef TUNE_RUNTIME_GIVEN_H
#define TUNE_RUNTIME_GIVEN_H

#include "core/err.h"
#include "runtime/device_desc.h"

#include <stdint.h>

struct _cl_context; /* cl_context and cl_device_id are pointers to these */
struct _cl_device_id;

/* `threads`: host threads of PoCL where the application has set them by other means than POCL_MAX_PTHREAD_COUNT, 0 =
 * ask. May build and run a small kernel. Thread-safe. ERR_NOT_FOUND: no OpenCL loader; ERR_INPUT: no such device. */
enum err given_opencl(struct _cl_context *context, struct _cl_device_id *device, int64_t threads,
                      struct device_desc *out, struct why *why);

/* `device`: a CUdevice. Thread-safe. ERR_NOT_FOUND, ERR_DEVICE: no driver; ERR_UNSUPPORTED: an architecture too old. */
enum err given_cuda(int device, struct device_desc *out, struct why *why);

/* The newest CUDA that the driver knows, 12040 = 12.4; after given_cuda has succeeded. */
int given_cuda_version(void);

#endif
