/* SPDX-License-Identifier: MIT */
/* nvrtc_api.h - the part of NVRTC's interface that the emulated one has; see NVIDIA's public reference. */
#ifndef TUNE_TESTS_CUDA_NVRTC_API_H
#define TUNE_TESTS_CUDA_NVRTC_API_H

#include <stddef.h>

typedef int nvrtcResult;
typedef struct nvrtc_program *nvrtcProgram;

enum {
    NVRTC_SUCCESS = 0,
    NVRTC_ERROR_OUT_OF_MEMORY = 1,
    NVRTC_ERROR_INVALID_INPUT = 3,
    NVRTC_ERROR_INVALID_PROGRAM = 4,
    NVRTC_ERROR_INVALID_OPTION = 5,
    NVRTC_ERROR_COMPILATION = 6,
    NVRTC_ERROR_INTERNAL_ERROR = 11,
};

#define API __attribute__((visibility("default")))

API nvrtcResult nvrtcVersion(int *major, int *minor);
API nvrtcResult nvrtcGetNumSupportedArchs(int *n);
API nvrtcResult nvrtcGetSupportedArchs(int *archs);
API const char *nvrtcGetErrorString(nvrtcResult e);
API nvrtcResult nvrtcCreateProgram(nvrtcProgram *p, const char *source, const char *name, int n_headers,
                                   const char *const *headers, const char *const *names);
API nvrtcResult nvrtcDestroyProgram(nvrtcProgram *p);
API nvrtcResult nvrtcCompileProgram(nvrtcProgram p, int n_options, const char *const *options);
API nvrtcResult nvrtcGetCUBINSize(nvrtcProgram p, size_t *n);
API nvrtcResult nvrtcGetCUBIN(nvrtcProgram p, char *bytes);
API nvrtcResult nvrtcGetPTXSize(nvrtcProgram p, size_t *n);
API nvrtcResult nvrtcGetPTX(nvrtcProgram p, char *text);
API nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram p, size_t *n);
API nvrtcResult nvrtcGetProgramLog(nvrtcProgram p, char *log);

#endif
