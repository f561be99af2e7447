/* SPDX-License-Identifier: MIT */
/* mma.h - templates on tensor cores: what dense, batch_gemm and conv2d share (mma.clh). */
#ifndef TUNE_KERNELS_GEMM_MMA_H
#define TUNE_KERNELS_GEMM_MMA_H

#include "core/err.h"
#include "kernels/gemm/gemm.h"
#include "kernels/template.h"

#include <stdint.h>

/* `products` independent ones of A (a rows) and B (b rows), both with k_bytes bytes of k contiguous. */
struct mma_shape {
    int64_t products, a, b, k_bytes;
    int64_t width;       /* bytes in one piece while loading: 16 8 4 2 1 */
    int64_t run;         /* outputs that are neighbours in memory and in the tile, stored together: 8 4 2 1 */
    int64_t least_local; /* bytes of shared memory that another kernel of the program takes; 0 = none */
};

extern const struct template dense_mma, batch_gemm_mma;

/* ERR_UNSUPPORTED with words where the device has no tensor cores for this dtype. */
enum err mma_within(const char *template_id, const struct workload *w, const struct device_desc *d, struct why *why);

/* The largest piece, at most `most` bytes, that divides n_bytes. */
int64_t mma_width(int64_t n_bytes, int64_t most);

enum err mma_space(const struct mma_shape *z, const struct device_desc *d, struct space *s, struct why *why);

/* The tile and the parts of k that a count of cycles says are cheapest, on warps of up to 64 x 64 outputs (64 x 32 for
 * 128 x 128 without cp.async). */
enum err mma_fallback(const struct mma_shape *z, const struct device_desc *d, const struct space *s,
                      struct config *out);

/* Defines that mma.clh wants besides the knobs, of the module added last. */
void mma_define(struct build *b, const struct mma_shape *z);

/* The launches: `kernel` over `inputs` (up to 3 buffers, ended by -1), or where k is split into a buffer of parts, and
 * NAME_add then. n_outputs: elements of y. */
void mma_launch(struct build *b, const char *kernel, const int *inputs, int64_t n_outputs);

#endif
