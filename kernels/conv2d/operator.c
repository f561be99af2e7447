#include "kernels/conv/ref.h"
#include "kernels/conv2d/conv2d.h"

#define MAX_SIZE ((int64_t)1 << 24)

static const struct operator_key keys[] = {
    {"n", KEY_INT, true, 1, MAX_SIZE, 0, NULL, "batch"},
    {"c", KEY_INT, true, 1, MAX_SIZE, 0, NULL, "input channels"},
    {"h", KEY_INT, true, 1, MAX_SIZE, 0, NULL, "input rows"},
    {"w", KEY_INT, true, 1, MAX_SIZE, 0, NULL, "input columns"},
    {"k", KEY_INT, true, 1, MAX_SIZE, 0, NULL, "output channels"},
    {"r", KEY_INT, true, 1, 4096, 0, NULL, "window rows"},
    {"s", KEY_INT, true, 1, 4096, 0, NULL, "window columns"},
    {"stride", KEY_PAIR, false, 1, 4096, 1, NULL, "step of the window"},
    {"pad", KEY_PAD, false, 0, 4096, 0, NULL, "zeros around the input"},
    {"dilation", KEY_PAIR, false, 1, 4096, 1, NULL, "distance between window elements"},
    {"groups", KEY_INT, false, 1, MAX_SIZE, 1, NULL, "groups of channels"},
    {"layout", KEY_WORD, false, 0, 0, 0, conv_layouts, "layout of input and output"},
    {"acc", KEY_WORD, false, 0, 0, 0, conv_accs, "type of the sums"},
    {"epilogue", KEY_WORD, false, 0, 0, 0, epilogue_words, "what is applied to the sums"},
    {0},
};

static const struct template *const templates[] = {&conv2d_direct_tile,
                                                   &conv2d_direct_row,
                                                   &conv2d_spatial_pack,
                                                   &conv2d_im2col_gemm,
                                                   &conv2d_direct,
                                                   &conv2d_group,
                                                   &conv2d_winograd_tile,
                                                   &conv2d_winograd,
                                                   &conv2d_winograd_shared,
                                                   &conv2d_i8_tile,
                                                   &conv2d_i8,
                                                   &conv2d_group_i8,
                                                   &conv2d_naive,
                                                   NULL};

const struct operator operator_conv2d = {
    .name = "conv2d",
    .summary = "2-D convolution (cross-correlation) with padding, stride, dilation, groups",
    .formula = "y[n,k,p,q] = sum over c,r,s of x[n,c,p*stride+r*dilation-pad,q*stride+s*dilation-pad] * w[k,c,r,s]",
    .keys = keys,
    .dtypes = 1u << DTYPE_F32 | 1u << DTYPE_F16 | 1u << DTYPE_I8,
    .check = conv_check,
    .flops = conv_flops,
    .bytes_min = conv_bytes_min,
    .tensors = conv_tensors,
    .reference = conv_reference,
    .templates = templates,
};
