/* SPDX-License-Identifier: MIT */
/* weights.h - where the weights of sparse workloads come from: a draw, or a
 * store of files named by their content. */
#ifndef TUNE_KERNELS_SPARSE_CONV2D_WEIGHTS_H
#define TUNE_KERNELS_SPARSE_CONV2D_WEIGHTS_H

#include "core/buf.h"
#include "core/err.h"
#include "kernels/operator.h"

#include <stdint.h>

/* The largest magnitude of a weight from a file: sums of 2^28 products with inputs up to 8 stay finite in f32. */
#define WEIGHTS_MAX 1e28f

/* Draws `kept` of `n` weights at positions uniform over all choices, multiples
 * of 1/64 other than 0 in
 * [-bound/64, bound/64]; the others are 0. The same everywhere for the same
 * seed. */
void weights_draw(uint64_t seed, int64_t n, int64_t kept, int64_t bound, float *out);

/* The store: files NAME.f32 (raw little-endian f32, NAME = their SHA-256) in
 * $TUNE_WEIGHTS_DIR, else $XDG_CACHE_HOME/tune/weights, else
 * $HOME/.cache/tune/weights.
 * The weights of this name: `n` elements, free() them. ERR_NOT_FOUND, ERR_INPUT
 * (another length or content). */
enum err weights_get(const char *hex, int64_t n, float **out, struct why *why);

/* Is there such a file of `n` elements? Cheap: its content is not read.
 * ERR_NOT_FOUND, ERR_INPUT. */
enum err weights_look(const char *hex, int64_t n, struct why *why);

/* Replaces the path in `weights=FILE.npy` of a workload's text by
 * `weights=sha256:HEX` after reading the file, checking it against the
 * workload's shape and keeping a copy in the store. Texts without a path are
 * copied. ERR_INPUT names file and what was expected (shape, numbers that are
 * finite and not over WEIGHTS_MAX, at least one of them not 0). */
enum err weights_import(const char *text, struct buf *out, struct why *why);

#endif
