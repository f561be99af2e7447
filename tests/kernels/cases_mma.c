/* SPDX-License-Identifier: MIT */
#include "tests/kernels/cases.h"

#include <stddef.h>

#define DENSE "dense f16 m=37 n=29 k=88 epilogue=bias_relu"
#define BATCH "batch_gemm i8 b=3 m=21 n=18 k=416"
#define PLAIN "conv2d f16 n=1 c=32 h=10 w=12 k=40 r=3 s=3 pad=1 epilogue=bias"
#define ROWS_APART "conv2d f16 n=1 c=16 h=11 w=9 k=16 r=3 s=3 pad=2,1 dilation=2,1 layout=nchw16c"
#define U8_CONV "conv2d u8 n=1 c=32 h=9 w=9 k=72 r=3 s=3 stride=2 pad=1 layout=nchw4c epilogue=bias_requant"
#define U8_BELOW "conv2d u8 n=1 c=16 h=6 w=7 k=16 r=3 s=2 pad=0,0,1,0 layout=nhwc"
#define U8_BESIDE "conv2d u8 n=1 c=16 h=7 w=6 k=16 r=2 s=3 pad=0,0,0,1 layout=nhwc"
#define U8_DENSE "dense u8 m=18 n=75 k=52 epilogue=bias_requant"
#define CONV "conv2d bf16 n=2 c=16 h=9 w=8 k=24 r=3 s=3 pad=1 layout=nchw16c"

/* Tensor cores count in tiles of 16 x 8 over 32 bytes of k. */
static const char *const shapes[] = {
    "dense f16 m=64 n=64 k=128",                     /* whole tiles */
    "dense bf16 m=33 n=17 k=40",                     /* ragged, rows in 16 bytes */
    "dense i8 m=18 n=35 k=52 epilogue=bias_requant", /* rows in 4 bytes */
    "dense i8 m=600 n=70 k=32",                      /* three bands of tiles, the last one lower */
    "dense f16 m=5 n=70 k=1031",                     /* rows in 2 bytes, k split */
    "dense i8 m=1 n=9 k=301",                        /* rows in single bytes, one row */
    "dense f16 m=20 n=30 k=64 acc=f16 epilogue=bias_add_relu",
    "dense f16 m=20 n=30 k=64 epilogue=bias_swish",
    "dense bf16 m=3 n=5 k=4000", /* too many terms for sums of outputs */
    "batch_gemm f16 b=3 m=18 n=20 k=48",
    "batch_gemm bf16 b=2 m=16 n=8 k=16",
    "conv2d f16 n=1 c=32 h=10 w=11 k=40 r=3 s=3 pad=1",
    "conv2d f16 n=2 c=20 h=9 w=7 k=18 r=3 s=2 stride=2,1 pad=1,0 dilation=1,2 epilogue=relu",
    "conv2d i8 n=1 c=32 h=9 w=9 k=32 r=3 s=3 stride=2 pad=1 layout=nchw4c",
    ROWS_APART,
    "conv2d i8 n=2 c=48 h=8 w=6 k=16 r=1 s=1 layout=nchw16c epilogue=bias_requant",
    "conv2d bf16 n=1 c=16 h=8 w=8 k=16 r=3 s=3 pad=1 groups=2 layout=nchw8c",
    "conv2d i8 n=1 c=3 h=12 w=12 k=20 r=7 s=7 stride=2 pad=3",
    "conv2d f16 n=1 c=64 h=7 w=7 k=16 r=3 s=3 pad=1 layout=nchw16c epilogue=add_relu",
    "conv2d f16 n=2 c=24 h=9 w=10 k=18 r=3 s=3 pad=1 layout=nhwc epilogue=bias_add_relu", /* in place */
    "conv2d i8 n=1 c=6 h=9 w=7 k=20 r=3 s=3 stride=2 pad=1 layout=nhwc",                  /* packed */
    "conv2d bf16 n=1 c=32 h=8 w=8 k=12 r=3 s=3 pad=1 groups=2 layout=nhwc",
    U8_CONV,
    U8_BELOW,
    U8_BESIDE,
    "conv2d u8 n=2 c=48 h=8 w=6 k=18 r=2 s=2 groups=3 layout=nhwc epilogue=bias_requant_add_relu", /* no padding */
    U8_DENSE,
    "dense u8 m=33 n=24 k=301",
    "conv2d f16 n=1 c=4 h=30 w=9 k=8 r=30 s=7 pad=0,3", /* a mask of over 32 bits */
    NULL,
};

static const struct mutant mutants[] = {
    {"dense/mma", DENSE, "a tail of k that is read", "K_ % KT ? left : 16", "16"},
    {"dense/mma", DENSE, "unguarded columns", "(N % NT == 0 || n0 + (j) < N)", "true"},
    {"dense/mma", DENSE, "a fragment's rows swapped", "lane_id % 16, chunk", "lane_id % 16 ^ 8, chunk"},
    {"dense/mma", DENSE, "an output's columns swapped", "column + e % 2", "column + 1 - e % 2"},
    {"dense/mma", DENSE, "a stage too early", "STAGES > 1 ? STAGES - 2 : 0", "STAGES - 1", "cp_async"},
    {"dense/mma", DENSE, "a chunk that stays in its place", "(tile + CHUNK_PLACE(lane_id / 4",
     "(tile + KT * (lane_id / 4"},
    {"dense/mma", "dense f16 m=37 n=32 k=88 epilogue=bias", "a run's first bias for all",
     "name##_held = load_wide<RUN, type>(name + (i))", "name##_held = load_wide<RUN, type>(name + (i) / 16)"},
    {"dense/mma", "dense i8 m=300 n=70 k=32", "a low band as high as others",
     "a_tiles - band < BAND ? a_tiles - band : BAND", "BAND"},
    {"dense/mma", "dense bf16 m=3 n=5 k=8000", "rows behind the last one", "(unsigned)(other - first) * K_",
     "(unsigned)(mine + i * ROW_STEP - first) * K_"},
    {"dense/mma", "dense bf16 m=33 n=17 k=40", "what is half rounded up", "0x7fff + (all >> 16 & 1)", "0x8000"},
    {"dense/mma", "dense bf16 m=33 n=17 k=40", "cut instead of rounded", "(all + 0x7fff + (all >> 16 & 1)) >> 16",
     "all >> 16"},
    {"conv2d/mma", U8_CONV, "padding without the zero point", "? window[i] + now.offset : zeros;",
     "? window[i] + now.offset : (const BYTE *)tap;"},
    {"conv2d/mma", U8_CONV, "no zero point of x", "(uint)zero[0] * (uint)sum", "0"},
    {"conv2d/mma", U8_BELOW, "padding below alone", " || (P - 1) * SH + (R - 1) * DH - PT >= H", ""},
    {"conv2d/mma", U8_BESIDE, "padding beside alone", " || (Q - 1) * SW + (S - 1) * DW - PL >= W", ""},
    {"dense/mma", U8_DENSE, "the bias of the next row", "FOLD_BIAS(k) -", "FOLD_BIAS((k + 1) % FOLD_K) -"},
    {"batch_gemm/mma", BATCH, "wrong matrix", "w + (long)b * N * K", "w + (long)(b / 2) * N * K"},
    {"batch_gemm/mma", BATCH, "missing barrier", "BARRIER(); /* the first stage", "/* the first stage"},
    {"batch_gemm/mma", BATCH, "k in half", "stage, 2 * next, lane_id", "stage, 0 * next, lane_id"},
    {"batch_gemm/mma", BATCH, "columns of the next warp", "warp_ / WM * (NI * 8) + run_column", "run_column"},
    {"batch_gemm/mma", BATCH, "uninitialised accumulator", "acc[i][j][e] = 0;", "acc[i][j][e] = e;"},
    {"conv2d/mma", CONV, "no padding", "(unsigned)(w + s * DW) < W", "w + s * DW < W"},
    {"conv2d/mma", CONV, "no dilation of columns", "r * DH, s * DW)", "r * DH, r * DW)"},
    {"conv2d/mma", ROWS_APART, "a mask of rows without dilation", "(unsigned)(h + r * DH) < H",
     "(unsigned)(h + r) < H"},
    {"conv2d/mma", CONV, "missing last tap", "tap < R * S ? WINDOW_BIT(r)", "tap < R * S - 1 ? WINDOW_BIT(r)"},
    {"conv2d/mma", CONV, "rows and columns swapped", "PIXEL_AT(pixel_) +",
     "PIXEL_AT(pixel_ - pixel_ % (P * Q) + pixel_ % Q * P + pixel_ / Q % P) +"},
    {"conv2d/mma", CONV, "a group's channels too many", "if (k < K)\n        wp[i]", "if (k < K - 1)\n        wp[i]"},
    {"conv2d/mma", PLAIN, "pixels of another chunk", "(c_out ^ p_out % TILE_CHUNKS)", "c_out"},
    {"conv2d/mma", PLAIN, "pixels of a run in one place", "i % (16 / RUN) * RUN", "0"},
    {NULL, NULL, NULL, NULL, NULL},
};

static const struct rare_config configs[] = {
    {"conv2d/mma", "conv2d f16 n=2 c=32 h=4 w=5 k=16 r=3 s=3 pad=1 epilogue=bias",
     "mt=64 nt=8 kt=64 wm=2 wn=1 stages=2 ldm=1 ahead=1 split=2 band=1", "mma_k16"}, /* parts of several images */
    {"conv2d/mma", "conv2d f16 n=1 c=64 h=7 w=7 k=32 r=3 s=3 pad=1 layout=nchw16c epilogue=bias_add_relu",
     "mt=96 nt=16 kt=32 wm=2 wn=2 stages=4 ldm=0 ahead=0 split=16 band=1", "cp_async"}, /* parts without a step */
    {"conv2d/mma", PLAIN, "mt=64 nt=16 kt=64 wm=2 wn=2 stages=1 ldm=1 ahead=1 split=1 band=1",
     "mma_f16"}, /* without cp.async: the one that asks for the most taps */
    {"dense/mma", "dense f16 m=64 n=64 k=128", "mt=64 nt=32 kt=64 wm=1 wn=1 stages=2 ldm=1 ahead=0 split=1 band=1",
     "mma_f16"}, /* without cp.async: whole tiles, eight chunks a thread, no more of k than there is */
    {"dense/mma", "dense f16 m=20 n=24 k=160", "mt=16 nt=8 kt=32 wm=1 wn=1 stages=2 ldm=0 ahead=0 split=4 band=1",
     "mma_f16"}, /* a last part with fewer steps */
    {"batch_gemm/mma", "batch_gemm f16 b=2 m=18 n=20 k=80",
     "mt=16 nt=8 kt=32 wm=1 wn=1 stages=2 ldm=0 ahead=0 split=2 band=1", "mma_f16"}, /* parts of several matrices */
    {NULL, NULL, NULL},
};

const struct cases cases_mma = {shapes, mutants, configs};
