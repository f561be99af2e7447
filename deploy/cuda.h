/* SPDX-License-Identifier: MIT */
/* cuda.h - code of a CUDA kernel text for a bundle, made by NVRTC when the bundle is written. */
#ifndef TUNE_DEPLOY_CUDA_H
#define TUNE_DEPLOY_CUDA_H

#include "core/blobs.h"
#include "core/err.h"
#include "runtime/device_desc.h"
#include "runtime/program.h"
#include "deploy/binaries.h"

/* Appends PTX for the architecture of `d` (compute_XY: what drivers of newer devices compile, too) and the cubins asked
 * for; `w->device` means one for `d` itself. The newest NVRTC is taken that knows the architecture and whose PTX the
 * device's driver takes. `nvrtc`: libnvrtc or its folder, NULL = found. ERR_NOT_FOUND: no NVRTC; ERR_UNSUPPORTED: none
 * that knows the architecture; ERR_COMPILE. */
enum err deploy_cuda_code(const struct program_module *m, const struct blobs *blobs, const struct device_desc *d,
                          const struct deploy_ahead *w, const char *nvrtc, struct deploy_code *out, struct why *why);

#endif
