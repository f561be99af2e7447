/* SPDX-License-Identifier: MIT */
/* rnn.h - what the files of this operator share: cells, passes, sizes, tensors. Formulas: docs/operators.md. */
#ifndef TUNE_KERNELS_RNN_RNN_H
#define TUNE_KERNELS_RNN_RNN_H

#include "core/err.h"
#include "kernels/build.h"
#include "kernels/expect.h"
#include "kernels/operator.h"
#include "kernels/template.h"

#include <stdint.h>

enum rnn_cell { RNN_LSTM, RNN_GRU, RNN_TANH, RNN_RELU, RNN_GRU_RESET };
enum rnn_pass { RNN_FWD, RNN_BWD_DATA, RNN_BWD_WEIGHT };

struct rnn_shape {
    enum rnn_cell cell;
    enum rnn_pass pass;
    int64_t i, h, l, b, t; /* inputs, hidden units, layers, batch, steps */
    int64_t gates;         /* G, rows of weights a hidden unit: 4 lstm (i f g o), 3 gru and gru_reset (r i n), 1 */
    int64_t sigmoids;      /* gates kept between 0 and 1: 3 lstm (i f o), 2 gru and gru_reset (r i), 0 */
    int64_t slots;         /* gradients of sums kept a hidden unit: 4 lstm (i f g o), 4 gru (r i n q), 1 */
};

struct rnn_shape rnn_shape_of(const struct workload *w);

/* Width of layer l's input. */
int64_t rnn_width(const struct rnn_shape *s, int64_t layer);

/* Class, data and tolerance of every rnn template: 2e-5 (f16: 4e-3) of max(1, |y|) where nonlinear functions take part
 * or sums pass through the recurrence, the plain class for the weight gradient. */
void rnn_numerics(const struct workload *w, const struct space *s, const struct config *c, struct numerics *inout);

/* Defines CELL PASS SIZE_I SIZE_H SIZE_L SIZE_B SIZE_T GATES SLOTS SIGMOIDS. */
void rnn_define_shape(struct build *b, const struct rnn_shape *s);

/* Expected outputs from the definition (ref.c), in double. */
enum err rnn_reference(const struct workload *w, enum exact_data data, struct expected *e);

extern const struct operator_desc operator_rnn;
extern const struct template rnn_lanes, rnn_naive, rnn_plan, rnn_wgrad;

#endif
