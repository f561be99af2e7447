#include "tests/kernels/cases.h"

#include <stddef.h>

#define SHAPE "depthwise_conv2d f32 n=1 c=5 h=10 w=9 r=3 s=3 pad=1"

static const char *const shapes[] = {
    "depthwise_conv2d f32 n=1 c=16 h=14 w=14 r=3 s=3 pad=1",                             /* square */
    "depthwise_conv2d f32 n=1 c=5 h=13 w=37 r=3 s=2 pad=1",                              /* ragged */
    "depthwise_conv2d f32 n=1 c=1 h=1 w=1 r=1 s=1",                                      /* tiny */
    "depthwise_conv2d f32 n=1 c=8 h=15 w=35 r=3 s=3 stride=2 pad=1",                     /* strided */
    "depthwise_conv2d f32 n=1 c=4 h=12 w=12 r=3 s=3 pad=2 dilation=2",                   /* dilated */
    "depthwise_conv2d f32 n=1 c=3 h=9 w=8 r=2 s=3 stride=2,1 pad=1,0,2,1 dilation=1,2",  /* asymmetric */
    "depthwise_conv2d f32 n=2 c=6 h=7 w=7 r=3 s=3 stride=1,3 pad=4,5,0,6",               /* batch, wide padding */
    "depthwise_conv2d f32 n=1 c=3 h=17 w=23 r=7 s=7 stride=2 pad=3",                     /* 7x7 */
    "depthwise_conv2d f32 n=1 c=3 h=9 w=10 r=3 s=3 pad=1 mult=2 epilogue=bias_add_relu", /* multiplied */
    "depthwise_conv2d f32 n=2 c=32 h=9 w=10 r=3 s=3 pad=1 layout=nchw16c",               /* blocked */
    "depthwise_conv2d f32 n=1 c=16 h=15 w=23 r=3 s=3 stride=2 pad=1 layout=nchw16c epilogue=bias_relu",
    "depthwise_conv2d f32 n=1 c=24 h=11 w=9 r=3 s=5 pad=2,4 dilation=2,1 layout=nchw8c epilogue=bias_add_relu",
    "depthwise_conv2d f32 n=1 c=8 h=6 w=5 r=3 s=3 stride=1,2 pad=0,7,3,6 layout=nchw4c", /* wide padding */
    "depthwise_conv2d f32 n=1 c=8 h=5 w=5 r=3 s=3 pad=1 mult=2 layout=nchw8c",
    "depthwise_conv2d f16 n=1 c=5 h=9 w=20 r=3 s=3 pad=1",
    "depthwise_conv2d f16 n=1 c=16 h=9 w=10 r=3 s=3 stride=2 pad=1 layout=nchw8c acc=f16 epilogue=bias_relu",
    "depthwise_conv2d i8 n=1 c=5 h=9 w=20 r=3 s=3 pad=1",
    "depthwise_conv2d i8 n=1 c=6 h=9 w=11 r=3 s=3 stride=2 pad=1 mult=2 epilogue=bias_add_relu_requant",
    "depthwise_conv2d i8 n=1 c=16 h=9 w=10 r=3 s=3 pad=1 layout=nchw16c epilogue=bias_relu_requant",
    "depthwise_conv2d i8 n=1 c=8 h=9 w=10 r=3 s=3 pad=1 layout=nchw4c",
    NULL,
};

static const struct mutant mutants[] = {
    {"depthwise_conv2d/naive", SHAPE, "missing last term", "s < S; s++", "s < S - 1; s++"},
    {"depthwise_conv2d/naive", SHAPE, "wrong pad", "r * DH - PT", "r * DH - PT + 1"},
    {"depthwise_conv2d/naive", SHAPE, "unguarded tail", "if (i >= (long)NB * K * P * Q)", "if (i < 0)"},
    {"depthwise_conv2d/naive", SHAPE, "r and s swapped", "W_AT(k, c, r, s))", "W_AT(k, c, s, r))"},
    {"depthwise_conv2d/naive", SHAPE, "uninitialised accumulator", "SUM sum = 0;", "SUM sum = LOAD1(y + i);"},

    {NULL, NULL, NULL, NULL, NULL},
};

const struct cases cases_depthwise = {shapes, mutants};
