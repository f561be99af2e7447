/* SPDX-License-Identifier: MIT */
#include "tests/kernels/cases.h"

#include <stddef.h>

#define SHAPE "dense f32 m=5 n=19 k=37"
#define CURVED SHAPE " epilogue=bias_"
#define ROW "dense f32 m=2 n=19 k=37"

static const char *const shapes[] = {
    "dense f32 m=16 n=64 k=64",   /* square */
    "dense f32 m=13 n=37 k=51",   /* ragged */
    "dense f32 m=1 n=1 k=1",      /* tiny */
    "dense f32 m=1 n=130 k=77",   /* one row */
    "dense f32 m=3 n=45 k=70",    /* few rows */
    "dense f32 m=33 n=18 k=1100", /* long sums */
    "dense f32 m=131 n=5 k=70",   /* few columns */
    "dense f16 m=5 n=19 k=37",
    "dense f16 m=16 n=32 k=64 acc=f16 epilogue=bias_relu",
    "dense f16 m=1 n=70 k=300 acc=f16 epilogue=bias",
    "dense f16 m=26 n=70 k=150 epilogue=bias_add",
    "dense i8 m=5 n=19 k=36",
    "dense i8 m=1 n=64 k=128 epilogue=bias_relu_requant",
    "dense f32 m=7 n=21 k=33 epilogue=bias_add_relu",
    "dense f32 m=5 n=19 k=3 epilogue=bias_relu6",
    "dense f32 m=5 n=19 k=37 epilogue=bias_sigmoid",
    "dense f16 m=3 n=21 k=70 acc=f16 epilogue=bias_hard_swish",
    NULL,
};

static const struct mutant mutants[] = {
    {"dense/naive", SHAPE, "missing last term", "k < K; k++", "k < K - 1; k++"},
    {"dense/naive", SHAPE, "wrong row", "x + m * K + k", "x + (m + 1) % M * K + k"},
    {"dense/naive", SHAPE, "unguarded tail", "if (i >= M * N)", "if (i < 0)"},
    {"dense/naive", SHAPE, "m and n swapped", "STORE_Y(i, n", "STORE_Y(n * M + m, n"},
    {"dense/naive", SHAPE, "uninitialised accumulator", "SUM sum = 0;", "SUM sum = LOAD1(y + i);"},
    {"dense/naive", CURVED "sigmoid", "wrong sign", "(T)(-1.44269504f)", "(T)(1.44269504f)"},
    {"dense/naive", CURVED "sigmoid", "a term of the series missing", "p = CURVE_FMA(f, p, (T)5.55071309e-2f);", ""},
    {"dense/naive", CURVED "swish", "not 0 far below", "(T)128.0f", "(T)60.0f"},
    {"dense/naive", CURVED "swish", "without v", "((v) / gate1(v))", "((T)1.0f / gate1(v))"},
    {"dense/naive", CURVED "hard_swish", "another slope", "(T)(1.0f / 6), (T)0.5f)", "(T)(0.2f), (T)0.5f)"},
    {"dense/naive", CURVED "hard_sigmoid", "no upper bound", "(T)0.5f), (T)0.0f, (T)1.0f)",
     "(T)0.5f), (T)0.0f, (T)9e9f)"},

    {"dense/gemm_packed", SHAPE, "missing last term", "k_ < (n_k); k_++)", "k_ < (n_k) - 1; k_++)"},
    {"dense/gemm_packed", SHAPE, "wrong row", "m0 + i < M ? m0 + i", "m0 + i < M ? m0 + 1 - i % 2"},
    {"dense/gemm_packed", SHAPE, "unguarded tail", "(n) + j_ < N; j_++", "(n) + j_ < N + 1; j_++"},
    {"dense/gemm_packed", SHAPE, "transposed panel", "(k - kb)) * NR + i,", "i) * K + (k - kb),"},
    {"dense/gemm_packed", SHAPE, "uninitialised accumulator", "acc[i_][v_] = VSET(0);",
     "acc[i_][v_] = VSET(LOAD1(y));"},

    {"dense/gemm_direct", SHAPE, "missing last term", "step < STEPS; step++", "step < STEPS - 1; step++"},
    {"dense/gemm_direct", SHAPE, "wrong row", "BEGIN(A, m0,", "BEGIN(A, m0 + 1,"},
    {"dense/gemm_direct", SHAPE, "unguarded tail", "if ((m) < M && (n) + j_ < N)", "if ((m) < M)"},
    {"dense/gemm_direct", SHAPE, "transposed tile", "at_a + k * A_LD + i", "at_a + i * A_LD + k"},
    {"dense/gemm_direct", "dense f32 m=64 n=64 k=192", "no barrier before the one stage", "#if STAGES_LOCAL == 2",
     "#if 1", "dp4a",
     "wgd=64 mdimcd=16 ndimcd=16 mdimad=16 ndimbd=16 kwid=2 vwmd=1 vwnd=1 vec=4 pada=0 padb=0 stages=2 split=1"},
    {"dense/gemm_direct", SHAPE, "uninitialised accumulator", "VSET(0)", "VSET(LOAD1(y))"},

    {"dense/gemv", ROW, "missing last term", "i < K; i++", "i < K - 1; i++"},
    {"dense/gemv", ROW, "wrong row", "(long)(n < N ? n : N - 1) * K", "(long)(n + 1 < N ? n + 1 : 0) * K"},
    {"dense/gemv", ROW, "unguarded tail", "if (n < N)", "if (n < N + 1)"},
    {"dense/gemv", ROW, "m and n swapped", "STORE_Y(m * N + n, n, sum)", "STORE_Y(n * M + m, n, sum)"},
    {"dense/gemv", ROW, "uninitialised accumulator", "= VSET(0);", "= VSET(LOAD1(y));"},

    {"dense/small_batch", SHAPE, "missing last term", "k < K; k += KT)", "k < K - 1; k += KT)"},
    {"dense/small_batch", SHAPE, "wrong row", "ROW(x, m0 + i, M)", "ROW(x, m0 + i + 1, M)"},
    {"dense/small_batch", SHAPE, "unguarded tail", "if (m < M && n < N)", "if (n < N)"},
    {"dense/small_batch", SHAPE, "m and n swapped", "(long)m * N + n", "(long)n * M + m"},
    {"dense/small_batch", SHAPE, "uninitialised accumulator", "acc[i][j] = VSET(0);", "acc[i][j] = VSET(LOAD1(y));"},

    {"dense/dense", SHAPE, "missing last term", "k < K; k++)", "k < K - 1; k++)"},
    {"dense/dense", SHAPE, "wrong row", "m0 + i < M ? m0 + i", "m0 + i < M - 1 ? m0 + i + 1"},
    {"dense/dense", SHAPE, "unguarded tail", "n0 + j < N; j++", "j < N_R; j++"},
    {"dense/dense", SHAPE, "transposed panel", "STORE1(wp + at, ",
     "STORE1(wp + (long)panel * K * N_R + at % N_R * K + k, "},
    {"dense/dense", SHAPE, "uninitialised accumulator", "acc[i] = VSET(0);", "acc[i] = VSET(LOAD1(y));"},

    {"dense/gemm_tiled", SHAPE, "missing last term", "k0_ + LID(0) < K ?", "k0_ + LID(0) < K - 1 ?"},
    {"dense/gemm_tiled", SHAPE, "wrong row", "(k)*MWG + M_OF(i)", "(k)*MWG + (M_OF(i) + VWM) % MWG"},
    {"dense/gemm_tiled", SHAPE, "unguarded tail", "if ((m) < M && (n) + j_ < N)", "if ((m) < M)"},
    {"dense/gemm_tiled", SHAPE, "transposed tile", "square[LID(0) * (SQUARE + 1) + k_]",
     "square[k_ * (SQUARE + 1) + LID(0)]"},
    {"dense/gemm_tiled", SHAPE, "uninitialised accumulator", "acc[i][v] = VSET(0);",
     "acc[i][v] = VSET(LOAD1(wt + GRP(0)) + 1);"},
    {"dense/gemm_tiled", "dense f32 m=40 n=50 k=130", "a stage too early", "COPIES_WAIT(STAGES - 2)",
     "COPIES_WAIT(STAGES - 1)", "cp_async"},

    {NULL, NULL, NULL, NULL, NULL},
};

static const struct rare_config configs[] = {
    {"dense/small_batch", "dense f32 m=4 n=4 k=40", "kt=16 m_r=2 n_r=2 vec=2",
     "dp4a"}, /* as many groups along m as n */
    {"dense/gemm_packed", "dense f32 m=9 n=37 k=51",
     "vec=4 mr=4 nv=1 kc=16777216 ku=2 tiles=1 nt=1 order=0 px=0 pf=0 py=0"}, /* a term behind pairs of them */
    {"dense/gemm_packed", "dense f32 m=9 n=37 k=130",
     "vec=4 mr=4 nv=1 kc=64 ku=1 tiles=2 nt=2 order=0 px=2 pf=0 py=0"}, /* kept sums of tiles and panels */
    {NULL, NULL, NULL},
};

const struct cases cases_dense = {shapes, mutants, configs};
