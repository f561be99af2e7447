/* SPDX-License-Identifier: MIT */
#include "tests/kernels/cases.h"

#include <stddef.h>

#define SHAPE "conv2d f32 n=1 c=5 h=10 w=9 k=7 r=3 s=3 pad=1"
#define STAGED "conv2d f32 n=1 c=16 h=9 w=9 k=32 r=3 s=3 pad=1" /* GPUs' defaults stage it; dp4a: no CPU */

static const char *const shapes[] = {
    "conv2d f32 n=1 c=16 h=14 w=14 k=32 r=3 s=3 pad=1",                           /* square */
    "conv2d f32 n=1 c=5 h=13 w=17 k=19 r=3 s=2 pad=1",                            /* ragged */
    "conv2d f32 n=1 c=1 h=1 w=1 k=1 r=1 s=1",                                     /* tiny */
    "conv2d f32 n=1 c=8 h=15 w=15 k=16 r=3 s=3 stride=2 pad=1",                   /* strided */
    "conv2d f32 n=1 c=4 h=12 w=12 k=8 r=3 s=3 pad=2 dilation=2",                  /* dilated */
    "conv2d f32 n=1 c=3 h=9 w=8 k=6 r=2 s=3 stride=2,1 pad=1,0,2,1 dilation=1,2", /* asymmetric */
    "conv2d f32 n=2 c=6 h=7 w=7 k=10 r=3 s=3 pad=1",                              /* batch */
    "conv2d f32 n=1 c=24 h=7 w=7 k=40 r=1 s=1",                                   /* 1x1 */
    "conv2d f32 n=1 c=5 h=31 w=29 k=19 r=1 s=1 epilogue=bias_add_relu",           /* 1x1 of many pixels */
    "conv2d f32 n=1 c=3 h=23 w=23 k=16 r=7 s=7 stride=2 pad=3",                   /* 7x7 */
    "conv2d f16 n=1 c=8 h=9 w=10 k=12 r=3 s=3 pad=1",
    "conv2d f16 n=1 c=16 h=7 w=7 k=16 r=3 s=3 pad=1 layout=nchw8c acc=f16 epilogue=bias_relu",
    "conv2d i8 n=1 c=8 h=9 w=10 k=12 r=3 s=3 pad=1",
    "conv2d i8 n=1 c=3 h=9 w=10 k=5 r=3 s=3 stride=2 pad=1",
    "conv2d i8 n=1 c=8 h=6 w=7 k=8 r=3 s=3 pad=1 layout=nchw4c epilogue=bias_add_relu_requant",
    "conv2d f32 n=1 c=32 h=9 w=10 k=32 r=3 s=3 pad=1 layout=nchw16c",
    "conv2d f32 n=2 c=3 h=9 w=10 k=16 r=3 s=3 stride=2 pad=1 layout=nchw16c epilogue=bias_relu", /* an image, blocked
                                                                                                    out */
    "conv2d f32 n=1 c=16 h=7 w=9 k=24 r=1 s=1 layout=nchw8c epilogue=bias_add_relu",
    "conv2d f32 n=1 c=5 h=8 w=9 k=7 r=3 s=3 pad=1 epilogue=bias_add_relu",
    "conv2d f32 n=1 c=16 h=7 w=9 k=24 r=1 s=1 layout=nchw8c epilogue=bias_add_hard_swish",
    "conv2d f32 n=1 c=5 h=8 w=9 k=7 r=3 s=3 pad=1 epilogue=bias_swish",
    "conv2d f16 n=1 c=8 h=8 w=9 k=16 r=1 s=1 layout=nchw8c epilogue=bias_sigmoid",
    "conv2d f32 n=1 c=12 h=8 w=9 k=18 r=3 s=3 pad=1 groups=3",
    "conv2d i8 n=1 c=16 h=7 w=7 k=32 r=3 s=3 pad=1 groups=4",
    "conv2d f32 n=1 c=32 h=9 w=17 k=64 r=3 s=3 pad=1 groups=2 layout=nchw8c epilogue=bias",
    "conv2d f32 n=1 c=32 h=5 w=6 k=32 r=3 s=3 pad=1 groups=8 layout=nchw16c", /* groups within a block of channels */
    "conv2d f32 n=2 c=32 h=15 w=15 k=32 r=1 s=1 stride=2 layout=nchw16c",
    "conv2d f32 n=1 c=16 h=20 w=33 k=20 r=5 s=1 stride=2,3 pad=2,0 layout=nchw4c epilogue=add",
    "conv2d f16 n=1 c=24 h=8 w=11 k=16 r=3 s=3 stride=1,2 pad=1 layout=nchw4c groups=2 epilogue=relu",
    NULL,
};

static const struct mutant mutants[] = {
    {"conv2d/naive", SHAPE, "missing last term", "c < CG; c++", "c < CG - 1; c++"},
    {"conv2d/naive", SHAPE, "wrong pad", "r * DH - PT", "r * DH - PT + 1"},
    {"conv2d/naive", SHAPE, "unguarded tail", "if (i >= (long)NB * K * P * Q)", "if (i < 0)"},
    {"conv2d/naive", SHAPE, "r and s swapped", "W_AT(k, c, r, s))", "W_AT(k, c, s, r))"},
    {"conv2d/naive", SHAPE, "uninitialised accumulator", "SUM sum = 0;", "SUM sum = LOAD1(y + i);"},

    {"conv2d/direct_tile", SHAPE, "missing last term", "ch < CI; ch++", "ch < CI - 1; ch++"},
    {"conv2d/direct_tile", SHAPE, "wrong pad", "p_base * SH - PT", "p_base * SH - PT + 1"},
    {"conv2d/direct_tile", SHAPE, "unguarded tail", "if (KG % VEC == 0 || k + l < KG)", "if (1)"},
    {"conv2d/direct_tile", SHAPE, "pixels not turned", "TRANSPOSE(r)\n", "\n"},
    {"conv2d/direct_tile", SHAPE, "r and s swapped", "(r * S + s) * CI) * NR", "(s * R + r) * CI) * NR"},
    {"conv2d/direct_tile", SHAPE, "border not cleared", "#define ZERO_RUN(to, n) RUN(n, ZERO_VECTOR, ZERO_ONE, to, 0)",
     "#define ZERO_RUN(to, n)"},
    {"conv2d/direct_tile", SHAPE, "uninitialised accumulator", "VSET((SUM)0)", "VSET((SUM)y[0])"},
    {"conv2d/direct_tile", "conv2d f32 n=1 c=32 h=6 w=14 k=48 r=3 s=3 pad=1 layout=nchw16c",
     "edge pixels left out twice", "ADD_TAP(acc, 1, VW)", "ADD_TAP(acc, 2, VW)"},

    {"conv2d/direct_row", SHAPE, "missing last term", "ch < CB; ch++", "ch < CB - 1; ch++"},
    {"conv2d/direct_row", SHAPE, "wrong pad", "phase / COL_PHASES - PT", "phase / COL_PHASES - PT + 1"},
    {"conv2d/direct_row", SHAPE, "unguarded tail", "(h) >= 0 && (h) < H", "(h) >= 0"},
    {"conv2d/direct_row", SHAPE, "r and s swapped", "weights + (r * S + s)", "weights + (s * R + r)"},
    {"conv2d/direct_row", "conv2d f32 n=1 c=5 h=31 w=29 k=7 r=1 s=1", "each tile of the first one's pixels",
     "COPY_INPUT(q_first + f0)", "COPY_INPUT(q_first)"},
    {"conv2d/direct_row", SHAPE, "uninitialised accumulator", "VSET((SUM)0);", "VSET((SUM)y[0]);"},

    {"conv2d/spatial_pack", SHAPE, "missing last term", "c < C; c++)", "c < C - 1; c++)"},
    {"conv2d/spatial_pack", SHAPE, "wrong pad", "h0 = pt * VH * SH - PT", "h0 = pt * VH * SH - PT + 1"},
    {"conv2d/spatial_pack", SHAPE, "unguarded tail", "w >= 0 && w < W", "w >= 0"},
    {"conv2d/spatial_pack", SHAPE, "r and s swapped", "VLOAD(b + ((c * R + r) * S + s) * VC)",
     "VLOAD(b + ((c * S + s) * R + r) * VC)"},
    {"conv2d/spatial_pack", SHAPE, "uninitialised accumulator", "acc[i][j] = VSET(0)", "acc[i][j] = VSET(to[0])"},

    {"conv2d/im2col_gemm", SHAPE, "missing last term", "for (int i = 0; i < KWG; i++)",
     "for (int i = 0; i < KWG - (begin + step + 1 == STEPS_ALL) * (1 + IP - I); i++)"},
    {"conv2d/im2col_gemm", SHAPE, "wrong pad", "h0 = pq / Q * SH - PT", "h0 = pq / Q * SH - PT + 1"},
    {"conv2d/im2col_gemm", SHAPE, "unguarded tail", "j < VEC && pq + j < PQ", "j < VEC"},
    {"conv2d/im2col_gemm", SHAPE, "r and s swapped", "(c * R + r) * S + s) * NWG", "(c * S + s) * R + r) * NWG"},
    {"conv2d/im2col_gemm", SHAPE, "uninitialised accumulator", "VSET(0)", "VSET(y[0])"},
    {"conv2d/im2col_gemm", STAGED, "stage of another buffer", "step % STAGES * A_STAGE;",
     "(step + 1) % STAGES * A_STAGE;", "dp4a"},
    {"conv2d/im2col_gemm", STAGED, "stage that stays", "from += (n);", ";", "dp4a"},
    {"conv2d/im2col_gemm", STAGED, "piece beside its place", "PIECE_ROW(F, i) * F##_TILE",
     "PIECE_ROW(F, i) * (F##_TILE + 1)", "dp4a"},

    {NULL, NULL, NULL, NULL, NULL},
};

const struct cases cases_conv2d = {shapes, mutants};
