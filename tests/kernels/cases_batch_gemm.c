/* SPDX-License-Identifier: MIT */
#include "tests/kernels/cases.h"

#include <stddef.h>

#define SHAPE "batch_gemm f32 b=3 m=5 n=19 k=37"

static const char *const shapes[] = {
    "batch_gemm f32 b=2 m=16 n=64 k=64",  /* square */
    "batch_gemm f32 b=3 m=13 n=37 k=51",  /* ragged */
    "batch_gemm f32 b=1 m=1 n=1 k=1",     /* tiny */
    "batch_gemm f32 b=5 m=1 n=20 k=33",   /* one row */
    "batch_gemm f32 b=2 m=33 n=1 k=20",   /* one column */
    "batch_gemm f32 b=2 m=15 n=18 k=700", /* long sums */
    "batch_gemm f16 b=3 m=5 n=19 k=37",   "batch_gemm f16 b=2 m=17 n=40 k=72 acc=f16",
    "batch_gemm i8 b=3 m=5 n=19 k=37",    NULL,
};

static const struct mutant mutants[] = {
    {"batch_gemm/naive", SHAPE, "missing last term", "k < K; k++", "k < K - 1; k++"},
    {"batch_gemm/naive", SHAPE, "wrong batch", "* N + i % N; /*", "* 0 + i % N; /*"},
    {"batch_gemm/naive", SHAPE, "unguarded tail", "if (i >= (long)BATCH * M * N)", "if (i < 0)"},
    {"batch_gemm/naive", SHAPE, "m and n swapped", "row * K + k", "column * K + k"},
    {"batch_gemm/naive", SHAPE, "uninitialised accumulator", "SUM sum = 0;", "SUM sum = LOAD1(y + i);"},

    {"batch_gemm/packed", SHAPE, "missing last term", "k_ < (n_k); k_++)", "k_ < (n_k) - 1; k_++)"},
    {"batch_gemm/packed", SHAPE, "wrong batch", "w + (long)batch * N * K", "w + (long)(batch / 2) * N * K"},
    {"batch_gemm/packed", SHAPE, "unguarded tail", "(n) + j_ < N; j_++", "(n) + j_ < N + 1; j_++"},
    {"batch_gemm/packed", SHAPE, "not transposed", "next_[2 * i_] = VZIP_LOW(row_[i_]",
     "next_[2 * i_] = VZIP_HIGH(row_[i_]"},
    {"batch_gemm/packed", SHAPE, "uninitialised accumulator", "acc[i_][v_] = VSET(0);",
     "acc[i_][v_] = VSET(LOAD1(y));"},
    {"batch_gemm/packed", SHAPE, "columns behind the last", "((n) < N ? (n) : N - 1)", "(n)"},

    {"batch_gemm/tiled", SHAPE, "missing last term", "(COLUMN(F, i) < K - slice", "(COLUMN(F, i) < K - 1 - slice"},
    {"batch_gemm/tiled", SHAPE, "wrong batch", "(batch * F##_ROWS", "(batch / 2 * F##_ROWS"},
    {"batch_gemm/tiled", SHAPE, "unguarded tail", "if ((m) < M && (n) + j_ < N)", "if ((m) < M)"},
    {"batch_gemm/tiled", SHAPE, "transposed tile", "at_a + k * A_LD + i", "at_a + i * A_LD + k"},
    {"batch_gemm/tiled", SHAPE, "uninitialised accumulator", "acc[i][v] = VSET(0);", "acc[i][v] = VSET(LOAD1(y));"},

    {NULL, NULL, NULL, NULL, NULL},
};

const struct cases cases_batch_gemm = {shapes, mutants};
