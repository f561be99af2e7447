/* SPDX-License-Identifier: MIT */
#include "kernels/conv/ref.h"
#include "kernels/depthwise_conv2d/depthwise_conv2d.h"

static const struct operator_key keys[] = {
    CONV_INPUT_KEYS,
    CONV_WINDOW_KEYS,
    CONV_KEY("mult", KEY_INT, false, 1, 4096, 1, NULL, "output channels of each input channel"),
    CONV_LAYOUT_KEY,
    CONV_ACC_KEY,
    CONV_EPILOGUE_KEY,
    {0}};

static const struct template *const templates[] = {&depthwise_tile,     &depthwise_direct, &depthwise_shared,
                                                   &depthwise_channels, &depthwise_naive,  NULL};

const struct operator_desc operator_depthwise_conv2d = {
    .name = "depthwise_conv2d",
    .summary = "2-D convolution of each channel with its own windows",
    .formula = "y[n,k,p,q] = sum over r,s of x[n,k/mult,p*stride+r*dilation-pad,q*stride+s*dilation-pad] * w[k,0,r,s]",
    .keys = keys,
    .dtypes = 1u << DTYPE_F32 | 1u << DTYPE_F16 | 1u << DTYPE_I8 | 1u << DTYPE_U8,
    .check = conv_check,
    .flops = conv_flops,
    .flops_least = conv_flops_least,
    .bytes_min = operator_bytes_min,
    .tensors = conv_tensors,
    .reference = conv_reference,
    .templates = templates,
};
