/* SPDX-License-Identifier: MIT */
#include "tests/kernels/cases.h"

#include <stddef.h>

#define SHAPE "depthwise_conv2d f32 n=1 c=5 h=10 w=9 r=3 s=3 pad=1"
#define WIDE "depthwise_conv2d f32 n=1 c=5 h=10 w=37 r=3 s=3 pad=1"
#define BLOCKED "depthwise_conv2d f32 n=1 c=32 h=9 w=10 r=3 s=3 pad=1 layout=nchw16c"

#define U8_SHARED "depthwise_conv2d u8 n=1 c=6 h=9 w=11 r=3 s=3 stride=2 pad=1 mult=2 epilogue=bias_relu_requant"
#define NHWC "depthwise_conv2d f32 n=2 c=20 h=9 w=10 r=3 s=3 pad=1 layout=nhwc"

#define STRIDED "depthwise_conv2d f32 n=1 c=8 h=15 w=35 r=3 s=3 stride=2 pad=1"
#define LANES(own) "c_t=1 y_t=1 x_t=1 " own

static const char *const shapes[] = {
    "depthwise_conv2d f32 n=2 c=32800 h=2 w=1 r=1 s=1",      /* groups of more planes than CUDA has along y and z */
    "depthwise_conv2d f32 n=1 c=16 h=14 w=14 r=3 s=3 pad=1", /* square */
    "depthwise_conv2d f32 n=1 c=5 h=13 w=37 r=3 s=2 pad=1",  /* ragged */
    "depthwise_conv2d f32 n=1 c=1 h=1 w=1 r=1 s=1",          /* tiny */
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
    "depthwise_conv2d f32 n=1 c=16 h=9 w=10 r=1 s=1 layout=nchw16c epilogue=bias_relu6",
    "depthwise_conv2d f32 n=1 c=16 h=9 w=10 r=5 s=5 pad=2 layout=nchw16c epilogue=bias_swish",
    NHWC,
    "depthwise_conv2d f32 n=1 c=6 h=15 w=23 r=3 s=3 stride=2 pad=1 layout=nhwc epilogue=bias_relu6",
    "depthwise_conv2d f32 n=1 c=8 h=9 w=8 r=2 s=3 stride=2,1 pad=1,0,2,1 dilation=1,2 layout=nhwc "
    "epilogue=bias_add_relu",
    "depthwise_conv2d f32 n=1 c=5 h=5 w=5 r=3 s=3 pad=1 mult=2 layout=nhwc",
    "depthwise_conv2d f32 n=1 c=4 h=40 w=40 r=12 s=11 pad=5 layout=nhwc", /* more window than is unrolled */
    "depthwise_conv2d f16 n=1 c=24 h=9 w=10 r=3 s=3 stride=2 pad=1 layout=nhwc acc=f16 epilogue=bias_relu",
    "depthwise_conv2d i8 n=1 c=12 h=9 w=10 r=3 s=3 pad=1 layout=nhwc epilogue=bias_relu_requant",
    "depthwise_conv2d u8 n=1 c=20 h=9 w=10 r=5 s=3 stride=2 pad=1 layout=nhwc epilogue=bias_requant_add_relu",
    "depthwise_conv2d f16 n=1 c=5 h=9 w=20 r=3 s=3 pad=1 epilogue=hard_sigmoid",
    "depthwise_conv2d f16 n=1 c=5 h=9 w=20 r=3 s=3 pad=1",
    "depthwise_conv2d f16 n=1 c=16 h=9 w=10 r=3 s=3 stride=2 pad=1 layout=nchw8c acc=f16 epilogue=bias_relu",
    "depthwise_conv2d i8 n=1 c=5 h=9 w=20 r=3 s=3 pad=1",
    "depthwise_conv2d i8 n=1 c=6 h=9 w=11 r=3 s=3 stride=2 pad=1 mult=2 epilogue=bias_add_relu_requant",
    "depthwise_conv2d i8 n=1 c=16 h=9 w=10 r=3 s=3 pad=1 layout=nchw16c epilogue=bias_relu_requant",
    "depthwise_conv2d i8 n=1 c=8 h=9 w=10 r=3 s=3 pad=1 layout=nchw4c",
    "depthwise_conv2d i8 n=2 c=32 h=12 w=5 r=2 s=5 pad=0,2,1,3 dilation=2,1 layout=nchw16c epilogue=bias", /* by fours
                                                                                                            */
    "depthwise_conv2d u8 n=1 c=5 h=9 w=20 r=3 s=3 pad=1 epilogue=bias_requant_add_relu",
    "depthwise_conv2d u8 n=1 c=16 h=9 w=10 r=3 s=3 stride=2 pad=1 layout=nchw16c epilogue=bias_relu_requant",
    U8_SHARED,
    "depthwise_conv2d f32 n=1 c=2 h=40 w=40 r=12 s=11 pad=5", /* more window than is unrolled */
    NULL,
};

static const struct mutant mutants[] = {
    {"depthwise_conv2d/naive", SHAPE, "missing last term", "s < S; s++", "s < S - 1; s++"},
    {"depthwise_conv2d/naive", SHAPE, "wrong pad", "r * DH - PT", "r * DH - PT + 1"},
    {"depthwise_conv2d/naive", SHAPE, "unguarded tail", "if (i >= (long)NB * K * P * Q)", "if (i < 0)"},
    {"depthwise_conv2d/naive", SHAPE, "r and s swapped", "W_AT(k, c, r, s))", "W_AT(k, c, s, r))"},
    {"depthwise_conv2d/naive", SHAPE, "uninitialised accumulator", "SUM sum = 0;", "SUM sum = LOAD1(y + i);"},

    {"depthwise_conv2d/tile", SHAPE, "missing last term", "s < S; s++", "s < S - 1; s++"},
    {"depthwise_conv2d/tile", SHAPE, "wrong pad", "* SH + row - PT", "* SH + row - PT + 1"},
    {"depthwise_conv2d/tile", SHAPE, "unguarded tail", "l < Q % VEC", "l < VEC"},
    {"depthwise_conv2d/tile", SHAPE, "r and s swapped", "weight[r / DH * S + s]", "weight[s * S + r / DH]"},
    {"depthwise_conv2d/tile", SHAPE, "uninitialised accumulator", "acc[i][j] = VSET(0)", "acc[i][j] = VSET(LOAD1(y))"},

    {"depthwise_conv2d/tile", BLOCKED, "missing last term", "s / DW < S)", "s / DW < S - 1)"},
    {"depthwise_conv2d/tile", BLOCKED, "wrong pad", "* SH + row - PT", "* SH + row - PT + 1"},
    {"depthwise_conv2d/tile", BLOCKED, "unguarded edge", "h >= 0 && h < H", "h >= 0"},
    {"depthwise_conv2d/tile", BLOCKED, "r and s swapped", "weight[r / DH * S + s / DW]", "weight[s / DW * S + r / DH]"},
    {"depthwise_conv2d/tile", BLOCKED, "uninitialised accumulator", "acc[i][j] = (PRODUCTS)(0)",
     "acc[i][j] = (PRODUCTS)(LOAD1(y))"},

    {"depthwise_conv2d/direct", SHAPE, "missing last term", "s < S; s++", "s < S - 1; s++"},
    {"depthwise_conv2d/direct", SHAPE, "wrong pad", "h = row - PT", "h = row - PT + 1"},
    {"depthwise_conv2d/direct", SHAPE, "unguarded tail", "p < P && q + VEC <= Q", "p < P"},
    {"depthwise_conv2d/direct", SHAPE, "lanes behind the last channel", "k + l * LANE_C < K", "k < K", NULL,
     LANES("c_r=2 y_r=1 x_r=1 ann_c=2 ann_y=0 ann_x=0")},
    {"depthwise_conv2d/direct", SHAPE, "lanes behind the last row", "p + l * LANE_Y < P", "p < P", NULL,
     LANES("c_r=1 y_r=4 x_r=1 ann_c=0 ann_y=2 ann_x=0")},
    {"depthwise_conv2d/direct", STRIDED, "lanes of another row", "row + l * LANE_Y * SH", "row + l * LANE_Y", NULL,
     LANES("c_r=1 y_r=4 x_r=1 ann_c=0 ann_y=2 ann_x=0")},
    {"depthwise_conv2d/direct", SHAPE, "r and s swapped", "k0 + c, r * S + s)", "k0 + c, s * S + r)"},
    {"depthwise_conv2d/direct", SHAPE, "uninitialised accumulator", "acc[c][i][j] = VSET(0)",
     "acc[c][i][j] = VSET(LOAD1(y))"},

    {"depthwise_conv2d/channels", NHWC, "missing last term", "s / DW < S)", "s / DW < S - 1)"},
    {"depthwise_conv2d/channels", NHWC, "wrong pad", "p0 * SH + row - PT", "p0 * SH + row - PT + 1"},
    {"depthwise_conv2d/channels", NHWC, "unguarded tail", "if (p0 + i < P && q0 + j < Q)", "if (p0 + i < P)"},
    {"depthwise_conv2d/channels", NHWC, "r and s swapped", "(r / DH * S + s / DW) * C", "(s / DW * S + r / DH) * C"},
    {"depthwise_conv2d/channels", NHWC, "uninitialised accumulator", "acc[i][j] = VSET((SUM)0)",
     "acc[i][j] = VLOAD(y)"},
    {"depthwise_conv2d/channels", BLOCKED, "weights of the first block", "(int)(block % BLOCKS) * YL", "0"},
    {"depthwise_conv2d/channels", NHWC, "unguarded edge", "column < 0 || ", ""},

    {"depthwise_conv2d/shared", SHAPE, "missing last term", "s < S; s++", "s < S - 1; s++"},
    {"depthwise_conv2d/shared", SHAPE, "wrong pad", "p0 * SH - PT", "p0 * SH - PT + 1"},
    {"depthwise_conv2d/shared", WIDE, "unguarded tail", "image < NB && p < P && q < Q", "image < NB && p < P"},
    {"depthwise_conv2d/shared", SHAPE, "r and s swapped", "ws[(r * S + s) * W_ROW", "ws[(s * S + r) * W_ROW"},
    {"depthwise_conv2d/shared", SHAPE, "uninitialised accumulator", "acc[g][n][f][i][j] = 0",
     "acc[g][n][f][i][j] = LOAD1(y)"},
    {"depthwise_conv2d/shared", U8_SHARED, "padding without the zero point", "return (SUM)0;", "return -zero_of_x;"},
    {"depthwise_conv2d/shared", U8_SHARED, "unsigned weights", "((v) << 24 >> 24)", "(v)"},
    {"depthwise_conv2d/shared", SHAPE, "place in another row", "a.at += (uint)ROW_STEP * W - IW * COLUMN_STEP;", ""},

    {NULL, NULL, NULL, NULL, NULL},
};

const struct cases cases_depthwise = {shapes, mutants};
