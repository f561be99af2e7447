/* SPDX-License-Identifier: MIT */
/* npz.h - named arrays from files of NumPy's .npz format: a zip of .npy files, stored or deflated. */
#ifndef TUNE_KERNELS_NPZ_H
#define TUNE_KERNELS_NPZ_H

#include "core/err.h"
#include "kernels/npy.h"

#include <stddef.h>

#define NPZ_MAX_ARRAYS 256
#define NPZ_NAME_BYTES 256
#define NPZ_MAX_BYTES ((size_t)1 << 31) /* of a file, and of all arrays, as floats too */

struct npz {
    struct npz_array {
        char name[NPZ_NAME_BYTES]; /* without .npy */
        struct npy array;
    } * list;
    size_t n;
};

/* Reads `n` bytes of a file. ERR_INPUT: no such file, a damaged one, one of no array, another member than arrays, a
 * name twice; ERR_LIMIT beyond the maxima, with memory for the floats of one array beyond them at the most; ERR_NOMEM.
 */
enum err npz_parse(const void *bytes, size_t n, struct npz *out, struct why *why);

/* The same from a plain file; words begin with its path. ERR_NOT_FOUND, ERR_IO too. */
enum err npz_read(const char *path, struct npz *out, struct why *why);
void npz_fini(struct npz *z);

/* Lends the array of a name; NULL: there is none. */
const struct npy *npz_find(const struct npz *z, const char *name);

#endif
