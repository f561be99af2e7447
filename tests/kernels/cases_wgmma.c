/* SPDX-License-Identifier: MIT */
#include "tests/kernels/cases.h"

#include <stddef.h>

#define DENSE "dense f16 m=150 n=140 k=296 epilogue=bias_relu"
#define BATCH "batch_gemm i8 b=3 m=70 n=68 k=400"
#define NEEDED "wgmma"

/* Warpgroups count in tiles of 64 x 64 over 128 bytes of k; rows are of whole 16 bytes. */
static const char *const shapes[] = {
    "dense f16 m=128 n=128 k=128",                     /* whole tiles */
    "dense bf16 m=70 n=66 k=72",                       /* ragged, outputs in pairs */
    "dense i8 m=65 n=133 k=208 epilogue=bias_requant", /* outputs one by one */
    "dense f16 m=300 n=264 k=64 epilogue=bias_add",    /* bands, several tiles a group */
    "batch_gemm bf16 b=3 m=65 n=72 k=136",             /* tiles that reach into the next matrix */
    NULL,
};

static const struct mutant mutants[] = {
    {"dense/wgmma", DENSE, "unguarded columns", "N % NT == 0 || (n) < N", "1", NEEDED},
    {"dense/wgmma", DENSE, "a stage read before it is there", "barrier_wait(ring.full + ring.stage, ring.parity);", "",
     NEEDED},
    {"dense/wgmma", DENSE, "a stage filled while it is read", "barrier_wait(ring.empty + ring.stage, ring.parity ^ 1);",
     "", NEEDED},
    {"dense/wgmma", DENSE, "sums read too early", "WGMMA_WAIT(0);", "", NEEDED},
    {"dense/wgmma", "dense f16 m=64 n=72 k=128", "eights of the next lane", "n += LID(0) % 4 * 8;",
     "n += (LID(0) % 4 ^ 1) * 8;", NEEDED},
    {"dense/wgmma", DENSE, "one piece of k twice", "b_rows + (at + k * 2)", "b_rows + (at + k / 2 * 2)", NEEDED},
    {"batch_gemm/wgmma", BATCH, "wrong matrix", "at.b * N + at.n", "at.b / 2 * N + at.n", NEEDED},
    {"batch_gemm/wgmma", BATCH, "rows of the next warp", "LID(0) / 32 % 4 * 16", "(LID(0) / 32 + 1) % 4 * 16", NEEDED},
    {"batch_gemm/wgmma", BATCH, "missing last step", "step < STEPS; step++", "step < STEPS - 1; step++", NEEDED},
    {"batch_gemm/wgmma", BATCH, "uninitialised sums", "step > 0 || k > 0", "1", NEEDED},
    {"batch_gemm/wgmma", BATCH, "boxes of too few rows", "make_map(map, room, x, BATCH * M, K_BYTES, MT)",
     "make_map(map, room, x, BATCH * M, K_BYTES, MT / 2)", NEEDED},
    {NULL, NULL, NULL, NULL, NULL},
};

const struct cases cases_wgmma = {shapes, mutants};
