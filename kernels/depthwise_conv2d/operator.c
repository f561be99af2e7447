#include "kernels/conv/ref.h"
#include "kernels/depthwise_conv2d/depthwise_conv2d.h"

#define MAX_SIZE ((int64_t)1 << 24)

static const struct operator_key keys[] = {
    {"n", KEY_INT, true, 1, MAX_SIZE, 0, NULL, "batch"},
    {"c", KEY_INT, true, 1, MAX_SIZE, 0, NULL, "input channels"},
    {"h", KEY_INT, true, 1, MAX_SIZE, 0, NULL, "input rows"},
    {"w", KEY_INT, true, 1, MAX_SIZE, 0, NULL, "input columns"},
    {"r", KEY_INT, true, 1, 4096, 0, NULL, "window rows"},
    {"s", KEY_INT, true, 1, 4096, 0, NULL, "window columns"},
    {"stride", KEY_PAIR, false, 1, 4096, 1, NULL, "step of the window"},
    {"pad", KEY_PAD, false, 0, 4096, 0, NULL, "zeros around the input"},
    {"dilation", KEY_PAIR, false, 1, 4096, 1, NULL, "distance between window elements"},
    {"mult", KEY_INT, false, 1, 4096, 1, NULL, "output channels of each input channel"},
    {"layout", KEY_WORD, false, 0, 0, 0, conv_layouts, "layout of input and output"},
    {"acc", KEY_WORD, false, 0, 0, 0, conv_accs, "type of the sums"},
    {"epilogue", KEY_WORD, false, 0, 0, 0, epilogue_words, "what is applied to the sums"},
    {0},
};

static const struct template *const templates[] = {&depthwise_tile, &depthwise_direct, &depthwise_shared,
                                                   &depthwise_naive, NULL};

const struct operator operator_depthwise_conv2d = {
    .name = "depthwise_conv2d",
    .summary = "2-D convolution of each channel with its own windows",
    .formula = "y[n,k,p,q] = sum over r,s of x[n,k/mult,p*stride+r*dilation-pad,q*stride+s*dilation-pad] * w[k,0,r,s]",
    .keys = keys,
    .dtypes = 1u << DTYPE_F32 | 1u << DTYPE_F16 | 1u << DTYPE_I8,
    .check = conv_check,
    .flops = conv_flops,
    .bytes_min = conv_bytes_min,
    .tensors = conv_tensors,
    .reference = conv_reference,
    .templates = templates,
};
