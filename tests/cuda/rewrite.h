/* SPDX-License-Identifier: MIT */
/* rewrite.h - preprocessed CUDA C++ into what g++ can compile behind emulated_device.h. */
#ifndef TUNE_TESTS_CUDA_REWRITE_H
#define TUNE_TESTS_CUDA_REWRITE_H

#include "core/buf.h"

/* Copies `text` with `extern __shared__` arrays made names of the dynamic shared memory, and appends the table of its
 * kernels. ERR_NOMEM; ERR_LIMIT: more kernels than there is room for. */
enum err rewrite_cuda(const char *text, struct buf *out);

#endif
