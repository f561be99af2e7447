/* SPDX-License-Identifier: MIT */
/* npy.h - arrays of numbers from files of NumPy's .npy format (versions 1 to 3; f16, f32, f64, whole numbers of 1 to 8
 * bytes, truth values, either byte order), as floats. */
#ifndef TUNE_KERNELS_NPY_H
#define TUNE_KERNELS_NPY_H

#include "core/err.h"

#include <stddef.h>
#include <stdint.h>

#define NPY_MAX_DIMS 8
#define NPY_MAX_HEADER 65536 /* bytes of the header's text */
#define NPY_MAX_ELEMS ((int64_t)1 << 28)
#define NPY_MAX_BYTES (((size_t)1 << 31) + NPY_MAX_HEADER + 16) /* of a file */

struct npy {
    int n_dims;
    int64_t shape[NPY_MAX_DIMS]; /* each >= 1 */
    int64_t n_elems;
    float *values; /* row-major, whatever the file's order; owned */
};

/* Reads `n` bytes of a file. f64 and large whole numbers are rounded to f32; a number that is finite
 * there and not here is infinite. ERR_INPUT and ERR_LIMIT say what was
 * expected; ERR_NOMEM. For the fuzzer and tests: the product reads files. */
enum err npy_parse(const void *bytes, size_t n, struct npy *out, struct why *why);

/* The same from a file, a device or a pipe; words begin with its path. Reads no further than the header says, and not
 * beyond the first bytes of what is no .npy file. ERR_NOT_FOUND, ERR_IO too. */
enum err npy_read(const char *path, struct npy *out, struct why *why);
void npy_fini(struct npy *a);

#endif
