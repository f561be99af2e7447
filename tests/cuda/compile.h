/* SPDX-License-Identifier: MIT */
/* compile.h - g++ behind the emulated NVRTC: CUDA C++ text in, a shared object's bytes out. */
#ifndef TUNE_TESTS_CUDA_COMPILE_H
#define TUNE_TESTS_CUDA_COMPILE_H

#include "core/buf.h"

/* Where objects are kept between processes and temporary files are made; settings by environment:
 * TUNE_NVRTC_CACHE=DIR (else "nvrtc-cache" beside the library), TUNE_NVRTC_CXX (else g++), TUNE_NVRTC_FLAGS=-O0,...
 * `defines` are arguments for g++ (-D, -U, -I), NULL-ended. ERR_COMPILE with its words in `log`; ERR_NOT_FOUND without
 * g++; ERR_IO. */
enum err compile_cuda(const char *text, const char *const *defines, struct buf *object, struct buf *log);

#endif
