/* SPDX-License-Identifier: MIT */
/* emulated.h - for tests that speak to the emulated driver directly: its functions by dlsym, kernels from text. */
#ifndef TUNE_TESTS_CUDA_EMULATED_H
#define TUNE_TESTS_CUDA_EMULATED_H

#include "tests/cuda/driver_api.h"
#include "tests/cuda/nvrtc_api.h"

#include <stdbool.h>

/* One member a function, of its own type: cuda.cuInit(0). */
/* clang-format off */
#define EMULATED_DRIVER(X) \
    X(cuInit) X(cuDriverGetVersion) X(cuGetErrorName) X(cuGetErrorString) \
    X(cuGetProcAddress_v2) X(cuDeviceGet) X(cuDeviceGetCount) X(cuDeviceGetName) \
    X(cuDeviceGetUuid_v2) X(cuDeviceGetAttribute) X(cuDeviceTotalMem_v2) X(cuDeviceGetPCIBusId) \
    X(cuCtxCreate_v2) X(cuCtxDestroy_v2) X(cuCtxSetCurrent) X(cuCtxGetCurrent) \
    X(cuCtxPushCurrent_v2) X(cuCtxPopCurrent_v2) X(cuCtxSynchronize) X(cuDevicePrimaryCtxRetain) \
    X(cuDevicePrimaryCtxRelease_v2) X(cuMemGetInfo_v2) X(cuMemAlloc_v2) X(cuMemFree_v2) \
    X(cuMemHostAlloc) X(cuMemFreeHost) X(cuMemcpyHtoD_v2) X(cuMemcpyDtoH_v2) \
    X(cuMemcpyHtoDAsync_v2) X(cuMemcpyDtoHAsync_v2) X(cuMemcpyDtoDAsync_v2) X(cuMemsetD8Async) \
    X(cuMemsetD32Async) X(cuModuleLoadData) X(cuModuleLoadDataEx) X(cuModuleUnload) \
    X(cuModuleGetFunction) X(cuModuleGetGlobal_v2) X(cuFuncGetAttribute) X(cuFuncSetAttribute) \
    X(cuFuncSetCacheConfig) X(cuLaunchKernel) X(cuLaunchCooperativeKernel) X(cuStreamCreate) \
    X(cuStreamDestroy_v2) X(cuStreamSynchronize) X(cuStreamQuery) X(cuStreamWaitEvent) \
    X(cuEventCreate) X(cuEventDestroy_v2) X(cuEventRecord) X(cuEventSynchronize) \
    X(cuEventQuery) X(cuEventElapsedTime) X(cuStreamBeginCapture_v2) X(cuStreamEndCapture) \
    X(cuGraphInstantiateWithFlags) X(cuGraphLaunch) X(cuGraphExecDestroy) X(cuGraphDestroy) \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor)
#define EMULATED_NVRTC(X) \
    X(nvrtcVersion) X(nvrtcGetNumSupportedArchs) X(nvrtcGetSupportedArchs) X(nvrtcGetErrorString) \
    X(nvrtcCreateProgram) X(nvrtcDestroyProgram) X(nvrtcCompileProgram) X(nvrtcGetCUBINSize) \
    X(nvrtcGetCUBIN) X(nvrtcGetPTXSize) X(nvrtcGetPTX) X(nvrtcGetProgramLogSize) \
    X(nvrtcGetProgramLog)
/* clang-format on */

#define EMULATED_MEMBER(f) __typeof__(f) *f;
struct emulated_cuda {
    EMULATED_DRIVER(EMULATED_MEMBER)
};
struct emulated_nvrtc {
    EMULATED_NVRTC(EMULATED_MEMBER)
};
extern struct emulated_cuda cuda;
extern struct emulated_nvrtc nvrtc;

/* Opens both libraries of this build. 0; 77 (and words on stdout) without g++; 1 when something is wrong. */
int emulated_open(void);

/* A fresh context on device 0 of these architectures ("61", "75,80"), settings read anew; fails the test otherwise. */
CUcontext emulated_start(const char *sm);

/* Text into an image of the kind asked for ("sm_80", "compute_61"): malloc()ed; NULL and log[500] when it does not
 * compile. */
char *emulated_image(const char *text, const char *arch, char *log);

/* Compiles for the device of emulated_start, loads, and finds the kernel; fails the test on any error. */
CUfunction emulated_kernel(const char *text, const char *name);

/* A buffer with content (NULL: left as it is), and its content back. */
CUdeviceptr emulated_buffer(const void *content, size_t n_bytes);
void emulated_read(void *to, CUdeviceptr from, size_t n_bytes);

#endif
