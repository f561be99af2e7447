/* SPDX-License-Identifier: MIT */
#include "tests/kernels/cases.h"

#include <stddef.h>

#define DENSE "dense f16 m=150 n=140 k=296 epilogue=bias_relu"
#define BATCH "batch_gemm i8 b=3 m=70 n=68 k=400"
#define CONV "conv2d f16 n=2 c=72 h=9 w=10 k=72 r=3 s=3 pad=1 layout=nhwc epilogue=bias"
#define ROWS_APART "conv2d f16 n=1 c=16 h=11 w=9 k=16 r=3 s=3 pad=2,1 dilation=2,1 layout=nhwc"
#define NEEDED "wgmma"

/* Warpgroups count in tiles of 64 x 64 over 128 bytes of k; rows are of whole 16 bytes. */
static const char *const shapes[] = {
    "dense f16 m=128 n=128 k=128",                     /* whole tiles */
    "dense bf16 m=70 n=66 k=72",                       /* ragged, outputs in pairs */
    "dense i8 m=65 n=133 k=208 epilogue=bias_requant", /* outputs one by one */
    "dense f16 m=300 n=264 k=64 epilogue=bias_add",    /* bands, several tiles a group */
    "batch_gemm bf16 b=3 m=65 n=72 k=136",             /* tiles that reach into the next matrix */
    CONV,                                              /* ragged on all sides */
    "conv2d bf16 n=3 c=16 h=5 w=4 k=70 r=2 s=3 pad=1,0,0,2 dilation=1,2 layout=nhwc", /* tiles over images */
    "conv2d i8 n=2 c=144 h=13 w=9 k=33 r=3 s=3 stride=2,3 pad=1 layout=nhwc epilogue=bias_requant",
    ROWS_APART,
    "conv2d u8 n=1 c=48 h=13 w=9 k=72 r=3 s=2 stride=1,2 layout=nhwc epilogue=bias_requant",
    "conv2d u8 n=1 c=32 h=6 w=7 k=16 r=3 s=2 pad=0,0,1,0 layout=nhwc", /* refused: around images boxes have zeros */
    "conv2d u8 n=1 c=32 h=7 w=6 k=16 r=2 s=3 pad=0,0,0,1 layout=nhwc",
    "dense u8 m=65 n=70 k=208 epilogue=bias_relu_requant",
    "conv2d f16 n=1 c=64 h=16 w=16 k=64 r=1 s=1 layout=nhwc epilogue=add_relu", /* whole tiles */
    NULL,
};

static const struct mutant mutants[] = {
    {"dense/wgmma", DENSE, "unguarded columns", "N % NT == 0 || (n) < N", "1", NEEDED},
    {"dense/wgmma", DENSE, "a stage read before it is there", "barrier_wait(ring.full + ring.stage, ring.parity);", "",
     NEEDED},
    {"dense/wgmma", DENSE, "a stage filled while it is read", "barrier_wait(ring.empty + ring.stage, ring.parity ^ 1);",
     "", NEEDED},
    {"dense/wgmma", DENSE, "a stage given back while it is multiplied", "WGMMA_WAIT(1);", "", NEEDED},
    {"dense/wgmma", DENSE, "barriers used before they are made", "cluster_barrier();\n    if (LID(0) >= WGS",
     "if (LID(0) >= WGS", NEEDED},
    {"dense/wgmma", DENSE, "barriers that the copy engine may not know", "barriers_made();", "", NEEDED},
    {"dense/wgmma", DENSE, "a map of w that is not asked for anew", "see_map(w_map);", "", NEEDED},
    {"conv2d/wgmma", CONV, "a map of images that is not asked for anew", "see_map(x_map);", "", NEEDED},
    {"dense/wgmma", DENSE, "sums read too early", "WGMMA_WAIT(0);", "", NEEDED},
    {"dense/wgmma", "dense f16 m=64 n=72 k=128", "eights of the next lane", "n += LID(0) % 4 * 8;",
     "n += (LID(0) % 4 ^ 1) * 8;", NEEDED},
    {"dense/wgmma", DENSE, "one piece of k twice", "b_rows + (at + k * 2)", "b_rows + (at + k / 2 * 2)", NEEDED},
    {"dense/wgmma", "dense u8 m=65 n=70 k=208 epilogue=bias_relu_requant", "weights beside the row's",
     "FOLD_TERMS + i]", "FOLD_TERMS + i / 2]", NEEDED},
    {"batch_gemm/wgmma", BATCH, "wrong matrix", "at.b * N + at.n", "at.b / 2 * N + at.n", NEEDED},
    {"batch_gemm/wgmma", BATCH, "rows of the next warp", "LID(0) / 32 % 4 * 16", "(LID(0) / 32 + 1) % 4 * 16", NEEDED},
    {"batch_gemm/wgmma", BATCH, "missing last step", "step < STEPS; step++", "step < STEPS - 1; step++", NEEDED},
    {"batch_gemm/wgmma", BATCH, "uninitialised sums", "step > 0 || k > 0", "1", NEEDED},
    {"batch_gemm/wgmma", BATCH, "boxes of too few rows", "make_map(map, room, x, BATCH * M, K_BYTES, MT)",
     "make_map(map, room, x, BATCH * M, K_BYTES, MT / 2)", NEEDED},
    {"conv2d/wgmma", CONV, "a tap of the next column", "tap % S * DW", "(tap + 1) % S * DW", NEEDED},
    {"conv2d/wgmma", ROWS_APART, "taps of rows without dilation", "tap / S * DH", "tap / S", NEEDED},
    {"conv2d/wgmma", CONV, "no padding", "at.p * SH - PT", "at.p * SH", NEEDED},
    {"conv2d/wgmma", CONV, "one image's rows in another", "(image * P + p) * Q", "(image * P + (p + image) % P) * Q",
     NEEDED},
    {"conv2d/wgmma", CONV, "the first channels for all", "step % C_STEPS * 128", "0", NEEDED},
    {"conv2d/wgmma", CONV, "unguarded pixels", "(Q % BW == 0 || q < Q)", "true", NEEDED},
    {"conv2d/wgmma", "conv2d i8 n=1 c=32 h=13 w=9 k=24 r=3 s=3 stride=2 pad=1 layout=nhwc", "rows without a stride",
     "IMAGES{1, SW, SH, 1}", "IMAGES{1, SW, 1, 1}", NEEDED},
    {NULL, NULL, NULL, NULL, NULL},
};

static const struct rare_config configs[] = {
    {"dense/wgmma", "dense f16 m=192 n=64 k=64", "mt=64 nt=64 wgs=1 stages=2 cluster=2 band=1 gather=1 turns=1",
     NEEDED}, /* whole tiles, half of a last cluster */
    {"dense/wgmma", "dense f16 m=192 n=128 k=64", "mt=64 nt=64 wgs=1 stages=2 cluster=1 band=2 gather=0 turns=1",
     NEEDED}, /* a last band that is lower */
    {NULL, NULL, NULL},
};

const struct cases cases_wgmma = {shapes, mutants, configs};
