/* SPDX-License-Identifier: MIT */
/* ref.h - convolution by its definition, in double: what the operators of the family expect of their outputs. */
#ifndef TUNE_KERNELS_CONV_REF_H
#define TUNE_KERNELS_CONV_REF_H

#include "core/err.h"
#include "kernels/conv/shape.h"
#include "kernels/expect.h"

#include <stdbool.h>
#include <stdint.h>

/* One pass's tensors on the host: x in nchw whatever its layout, without its zero point, the others as stored; NULL
 * where the workload has none. Addends may be whole numbers that floats do not hold. */
struct conv_data {
    float *x, *w, *scale, *sum_scale, *zero;
    double *bias, *residual;
    int64_t tile; /* outputs of a tile of Winograd's, 2 or 4; 0 = none: errors go by an output's own products */
};

/* Samples and projection of y by the definition with groups, layouts and epilogue. operator->reference of conv2d and
 * depthwise_conv2d. */
enum err conv_reference(const struct workload *w, enum exact_data data, struct expected *e);

/* The same with the caller's data (which stays the caller's); the tensors' fills must be those the data came from. */
enum err conv_reference_of(const struct workload *w, const struct conv_data *exact, const struct conv_data *random,
                           struct expected *e);

/* Output channels, or blocks of them, repeat a few in the random pass, where groups allow it: folds what belongs to
 * them.
 */
void conv_fold_channels(const struct workload *w, const struct conv_shape *s, struct expected *e);

/* The data of one pass from the tensors' fills; ERR_NOMEM. conv_data_fini frees it. */
enum err conv_data_make(struct expected *e, const struct conv_shape *s, bool exact, struct conv_data *out);
void conv_data_fini(struct conv_data *d);

#endif
