/* SPDX-License-Identifier: MIT */
#include "kernels/conv/ref.h"
#include "kernels/conv2d/conv2d.h"

static const struct operator_key keys[] = {CONV_INPUT_KEYS, CONV_K_KEY,   CONV_WINDOW_KEYS,  CONV_GROUPS_KEY,
                                           CONV_LAYOUT_KEY, CONV_ACC_KEY, CONV_EPILOGUE_KEY, {0}};

/* The best for a device come first. */
static const struct template *const templates[] = {&conv2d_direct_tile,   &conv2d_direct_row, &conv2d_spatial_pack,
                                                   &conv2d_wgmma,         &conv2d_mma,        &conv2d_implicit_gemm,
                                                   &conv2d_im2col_gemm,   &conv2d_direct,     &conv2d_group,
                                                   &conv2d_winograd_tile, &conv2d_winograd,   &conv2d_winograd_shared,
                                                   &conv2d_i8_amx,        &conv2d_i8_tile,    &conv2d_i8,
                                                   &conv2d_group_i8,      &conv2d_naive,      NULL};

const struct operator_desc operator_conv2d = {
    .name = "conv2d",
    .summary = "2-D convolution (cross-correlation) with padding, stride, dilation, groups",
    .formula = "y[n,k,p,q] = sum over c,r,s of x[n,c,p*stride+r*dilation-pad,q*stride+s*dilation-pad] * w[k,c,r,s]",
    .keys = keys,
    .dtypes = 1u << DTYPE_F32 | 1u << DTYPE_F16 | 1u << DTYPE_BF16 | 1u << DTYPE_I8 | 1u << DTYPE_U8,
    .check = conv_check,
    .flops = conv_flops,
    .flops_least = conv_flops_least,
    .bytes_min = operator_bytes_min,
    .tensors = conv_tensors,
    .reference = conv_reference,
    .templates = templates,
};
