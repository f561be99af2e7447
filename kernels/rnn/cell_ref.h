/* SPDX-License-Identifier: MIT */
/* cell_ref.h - recurrent layers by their definition, in double, for chosen columns of the batch. */
#ifndef TUNE_KERNELS_RNN_CELL_REF_H
#define TUNE_KERNELS_RNN_CELL_REF_H

#include "core/err.h"
#include "kernels/rnn/rnn.h"

#include <stdbool.h>
#include <stdint.h>

/* A pass's tensors as stored (docs/operators.md); NULL where the cell or pass has none. */
struct rnn_tensors {
    const float *x, *w, *w_up, *r, *bias, *h0, *c0; /* forward */
    const float *dy, *gates, *cand, *q, *cs, *hs;   /* backward: w w_up r h0 c0 too */
    const float *dgates;                            /* weight gradient: x hs h0 too */
};

/* Results with the batch's chosen columns only: each tensor's last dimension is `ld` >= n_cols, a multiple of 8.
 * Forward: y, hn, cn and what backward needs; backward: dx, dgates, dh0, dc0. held: how far off elements of y, hn and
 * cn may be in f32, in units of its tolerance: by roundings of gates, which states that open gates keep add up. */
struct rnn_results {
    int64_t n_cols, ld;
    const int64_t *cols; /* [n_cols] of the batch, borrowed */
    double *y, *hn, *cn, *gates, *cand, *q, *cs, *hs;
    double *y_held, *hn_held, *cn_held;
    double *dx, *dgates, *dh0, *dc0;
};

/* Allocates the results of the pass; ERR_NOMEM. fini accepts half-made ones. */
enum err rnn_results_init(const struct rnn_shape *s, const int64_t *cols, int64_t n_cols, struct rnn_results *out);
void rnn_results_fini(struct rnn_results *r);

/* ERR_NOMEM. */
enum err rnn_forward(const struct rnn_shape *s, const struct rnn_tensors *in, struct rnn_results *out);
enum err rnn_backward(const struct rnn_shape *s, const struct rnn_tensors *in, struct rnn_results *out);

/* One element of the weight gradient and the sum of its products' magnitudes. dw and dw_up: `recurrent` false, of layer
 * l; dr: true. column -1: of dbias. */
double rnn_gradient(const struct rnn_shape *s, const struct rnn_tensors *in, bool recurrent, int64_t l, int64_t row,
                    int64_t column, double *scale);

#endif
