/* SPDX-License-Identifier: MIT */
/* cuda_made.h - who made a kept cubin, and with what: a small file beside it, so that what is loaded is told as it is.
 */
#ifndef TUNE_RUNTIME_CUDA_MADE_H
#define TUNE_RUNTIME_CUDA_MADE_H

#include "core/err.h"

/* `by`: the builder; "" = whoever owns the directory. Both "" where nothing is known. */
struct cuda_made {
    char by[64], compiler[32];
};

/* For the cubin of this path, which need not be there yet. ERR_IO. */
enum err cuda_made_write(const char *cubin_path, const struct cuda_made *made, struct why *why);

/* Unknown (both "") where there is no such file. */
void cuda_made_read(const char *cubin_path, struct cuda_made *out);

#endif
