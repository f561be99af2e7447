/* SPDX-License-Identifier: MIT */
/* sparse.h - the operator sparse_conv2d: a convolution whose weights, mostly
 * zeros, are part of the workload. */
#ifndef TUNE_KERNELS_SPARSE_CONV2D_SPARSE_H
#define TUNE_KERNELS_SPARSE_CONV2D_SPARSE_H

#include "core/err.h"
#include "kernels/conv/shape.h"
#include "kernels/operator.h"
#include "kernels/template.h"

#include <stdint.h>

extern const struct operator_desc operator_sparse_conv2d;
extern const struct template sparse_conv2d_unrolled, sparse_conv2d_generated, sparse_conv2d_csr,
    sparse_conv2d_dense_direct, sparse_conv2d_dense_gemm, sparse_conv2d_naive;

/* Number of weights [k][c/groups][r][s], zeros too. */
int64_t sparse_n_weights(const struct conv_shape *z);

/* The weights of a checked workload, [k][c/groups][r][s] row-major: drawn from
 * sparsity and seed, or from the store. free() them. ERR_NOMEM; ERR_NOT_FOUND,
 * ERR_INPUT when the store's copy is gone or another. */
enum err sparse_weights(const struct workload *w, float **out, struct why *why);

/* Weights of `n` elements that are not zero, exactly: round((1 - sparsity) *
 * n), sparsity in millionths. */
int64_t sparse_n_kept(int64_t n, int64_t millionths);

/* Nonzeros of the workload's weights; < 0 when they cannot be had. Cheap for
 * drawn ones. */
int64_t sparse_nnz(const struct workload *w);

/* The nonzeros of all weights in compressed rows: those of output channel k are
 * row[k] .. row[k+1]-1, ascending in (c, r, s); c counts from 0 over all of x
 * (groups are resolved). */
struct sparse_list {
    int64_t nnz, *row; /* row[k + 1] */
    int32_t *c, *r, *s;
    float *value;
};
enum err sparse_list_make(const struct workload *w, struct sparse_list *out, struct why *why);
void sparse_list_fini(struct sparse_list *l);

/* Adds a buffer of role PACKED filled from `bytes`: weights that are baked into
 * the program, no tensor of the caller. */
int sparse_buffer(struct build *b, const char *id, enum dtype t, int64_t n_elems, const void *bytes);

#endif
