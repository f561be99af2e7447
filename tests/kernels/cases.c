/* SPDX-License-Identifier: MIT */
#include "tests/kernels/cases.h"

#include <stddef.h>

/* Each a file cases_*.c. */
extern const struct cases cases_gather, cases_quantize;
extern const struct cases cases_add, cases_attention, cases_batch_gemm, cases_concat, cases_conv2d, cases_conv2d_gpu,
    cases_deformable, cases_dense, cases_dense4, cases_depthwise, cases_eltwise, cases_mma, cases_pool2d, cases_reduce,
    cases_norm, cases_resize2d, cases_rnn, cases_softmax, cases_sparse, cases_strided_copy, cases_transform,
    cases_wgmma, cases_winograd, cases_i8;

const struct cases *const cases_table[] = {
    &cases_conv2d,
    &cases_batch_gemm,
    &cases_conv2d_gpu,
    &cases_deformable,
    &cases_dense,
    &cases_dense4,
    &cases_depthwise,
    &cases_mma,
    &cases_wgmma,
    &cases_rnn,
    &cases_sparse,
    &cases_winograd,
    &cases_i8,
    &cases_pool2d,
    &cases_add,
    &cases_concat,
    &cases_norm,
    &cases_softmax,
    &cases_strided_copy,
    &cases_transform,
    &cases_eltwise,
    &cases_reduce,
    &cases_resize2d,
    &cases_attention,
    &cases_gather,
    &cases_quantize,
    /* the next one here */
    NULL,
};
