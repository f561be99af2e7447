/* SPDX-License-Identifier: MIT */
/* conv2d.h - this operator and its templates. */
#ifndef TUNE_KERNELS_CONV2D_CONV2D_H
#define TUNE_KERNELS_CONV2D_CONV2D_H

#include "kernels/conv/shape.h"
#include "kernels/template.h"

extern const struct operator_desc operator_conv2d;
extern const struct template conv2d_naive, conv2d_direct_tile, conv2d_direct_row, conv2d_spatial_pack,
    conv2d_im2col_gemm, conv2d_direct, conv2d_group, conv2d_winograd_tile, conv2d_winograd, conv2d_winograd_shared,
    conv2d_i8_tile, conv2d_i8_amx, conv2d_i8, conv2d_group_i8, conv2d_mma, conv2d_wgmma, conv2d_implicit_gemm;

#endif
