/* SPDX-License-Identifier: MIT */
/* opencl_binary.h - the binaries of a loaded OpenCL program, for those who want to keep them. */
#ifndef TUNE_RUNTIME_OPENCL_BINARY_H
#define TUNE_RUNTIME_OPENCL_BINARY_H

#include "core/buf.h"
#include "core/err.h"
#include "runtime/device.h"

#include <stddef.h>

/* Appends the binary of module i of a program that the OpenCL backend has loaded. What has run before is in it as it
 * was compiled for its work-groups (PoCL compiles kernels when they run). ERR_UNSUPPORTED: the driver gives none;
 * ERR_LIMIT: more than `out` may hold; ERR_DEVICE. */
enum err opencl_binary(struct loaded *l, size_t i_module, struct buf *out, struct why *why);

#endif
