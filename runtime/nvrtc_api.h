/* SPDX-License-Identifier: MIT */
/* nvrtc_api.h - the calls of NVRTC in use, declared by ourselves: no toolkit is needed to build. Source of names,
 * arguments and result codes: the NVRTC documentation. Included by nvrtc*.c only. */
#ifndef TUNE_RUNTIME_NVRTC_API_H
#define TUNE_RUNTIME_NVRTC_API_H

#include "core/err.h"

#include <stddef.h>

typedef int nvrtc_result; /* 0 = success */
typedef void *nvrtc_program;

#define NVRTC_OUT_OF_MEMORY 1
#define NVRTC_INVALID_OPTION 5
#define NVRTC_COMPILATION 6

/* Names as the library exports them, each a pointer of the struct below. */
#define NVRTC_CALLS(X)                                                                                                 \
    X(nvrtcVersion)                                                                                                    \
    X(nvrtcGetNumSupportedArchs)                                                                                       \
    X(nvrtcGetSupportedArchs)                                                                                          \
    X(nvrtcCreateProgram)                                                                                              \
    X(nvrtcDestroyProgram)                                                                                             \
    X(nvrtcCompileProgram)                                                                                             \
    X(nvrtcGetCUBINSize)                                                                                               \
    X(nvrtcGetCUBIN)                                                                                                   \
    X(nvrtcGetPTXSize)                                                                                                 \
    X(nvrtcGetPTX)                                                                                                     \
    X(nvrtcGetProgramLogSize)                                                                                          \
    X(nvrtcGetProgramLog)                                                                                              \
    X(nvrtcGetErrorString)

struct nvrtc_calls {
    nvrtc_result (*nvrtcVersion)(int *major, int *minor);
    nvrtc_result (*nvrtcGetNumSupportedArchs)(int *n);
    nvrtc_result (*nvrtcGetSupportedArchs)(int *archs);
    nvrtc_result (*nvrtcCreateProgram)(nvrtc_program *out, const char *text, const char *name, int n_headers,
                                       const char *const *headers, const char *const *include_names);
    nvrtc_result (*nvrtcDestroyProgram)(nvrtc_program *program);
    nvrtc_result (*nvrtcCompileProgram)(nvrtc_program program, int n_options, const char *const *options);
    nvrtc_result (*nvrtcGetCUBINSize)(nvrtc_program program, size_t *n);
    nvrtc_result (*nvrtcGetCUBIN)(nvrtc_program program, char *out);
    nvrtc_result (*nvrtcGetPTXSize)(nvrtc_program program, size_t *n);
    nvrtc_result (*nvrtcGetPTX)(nvrtc_program program, char *out);
    nvrtc_result (*nvrtcGetProgramLogSize)(nvrtc_program program, size_t *n);
    nvrtc_result (*nvrtcGetProgramLog)(nvrtc_program program, char *out);
    const char *(*nvrtcGetErrorString)(nvrtc_result result);
};

/* Loads a library and finds its calls: gives a handle of dlopen. `path` NULL searches as nvrtc_open says and passes
 * over the first n_skip that are there; `found` gets the file (n_found bytes). ERR_NOT_FOUND with words. */
enum err nvrtc_load(const char *path, size_t n_skip, struct nvrtc_calls *out, void **handle, char *found,
                    size_t n_found, struct why *why);

#endif
