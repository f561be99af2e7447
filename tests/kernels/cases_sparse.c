/* SPDX-License-Identifier: MIT */
#include "tests/kernels/cases.h"

#include <stddef.h>

#define SHAPE "sparse_conv2d f32 n=1 c=5 h=6 w=30 k=7 r=3 s=3 pad=1 sparsity=0.7"
#define COPY_SHAPE "sparse_conv2d f32 n=1 c=6 h=6 w=30 k=8 r=3 s=3 pad=1 groups=2 sparsity=0.7" /* not staged */
#define DENSE_SHAPE "sparse_conv2d f32 n=1 c=5 h=10 w=9 k=7 r=3 s=3 pad=1 sparsity=0.7"

#define BATCH "sparse_conv2d f32 n=5 c=6 h=7 w=9 k=10 r=3 s=3 pad=1 sparsity=0.9"
#define WIDE "sparse_conv2d f32 n=1 c=5 h=6 w=30 k=7 r=3 s=3 pad=1 sparsity=0.5"
#define FAR "sparse_conv2d f32 n=1 c=3 h=6 w=8 k=4 r=3 s=3 pad=1,1,1,24 sparsity=0.5" /* rows behind x */
#define ALIKE "x_r=2 y_r=1 wg_x=1 wg_y=1 strip=1 flat=0 sched=0 k_t=2 values=const nz_order=crs "
#define CPU_ALIKE ALIKE "unroll_cap=4096"
#define GPU_ALIKE ALIKE "unroll_cap=500 spread=0"

static const char *const shapes[] = {
    "sparse_conv2d f32 n=1 c=16 h=16 w=16 k=32 r=3 s=3 pad=1 sparsity=0.9",                           /* square */
    "sparse_conv2d f32 n=1 c=5 h=13 w=37 k=19 r=3 s=2 pad=1 sparsity=0.8 seed=7",                     /* ragged */
    "sparse_conv2d f32 n=1 c=1 h=1 w=1 k=2 r=1 s=1 sparsity=0.5",                                     /* tiny */
    "sparse_conv2d f32 n=1 c=8 h=15 w=15 k=16 r=3 s=3 stride=2 pad=1 sparsity=0.9",                   /* strided */
    "sparse_conv2d f32 n=1 c=4 h=12 w=36 k=8 r=3 s=3 pad=2 dilation=2 sparsity=0.6",                  /* dilated */
    "sparse_conv2d f32 n=1 c=3 h=9 w=8 k=6 r=2 s=3 stride=2,1 pad=1,0,2,1 dilation=1,2 sparsity=0.5", /* asymmetric */
    "sparse_conv2d f32 n=5 c=6 h=7 w=7 k=10 r=3 s=3 pad=1 sparsity=0.9",                              /* batch */
    "sparse_conv2d f32 n=1 c=24 h=7 w=7 k=40 r=1 s=1 sparsity=0.95",                                  /* 1x1 */
    "sparse_conv2d f32 n=1 c=3 h=23 w=40 k=16 r=7 s=7 stride=2 pad=3 sparsity=0.8",                   /* 7x7 */
    "sparse_conv2d f32 n=2 c=8 h=9 w=20 k=12 r=3 s=3 pad=1 groups=2 epilogue=bias_add_relu sparsity=0.7", /* groups */
    "sparse_conv2d f32 n=16 c=4 h=6 w=6 k=8 r=5 s=5 pad=2 epilogue=bias sparsity=0.8",        /* lanes of n */
    "sparse_conv2d f32 n=1 c=8 h=9 w=20 k=12 r=3 s=3 pad=1 epilogue=bias_relu6 sparsity=0.7", /* made text, relu6 */
    "sparse_conv2d f32 n=1 c=8 h=9 w=20 k=12 r=3 s=3 pad=1 epilogue=bias_swish sparsity=0.7",
    "sparse_conv2d f32 n=1 c=40 h=8 w=18 k=30 r=3 s=3 sparsity=0.1", /* few zeros */
    NULL,
};

static const struct mutant mutants[] = {
    {"sparse_conv2d/generated", SHAPE, "missing terms", "F(s1_0,", "if (0) F(s1_0,"},
    {"sparse_conv2d/generated", SHAPE, "wrong pad", "phase / SW - PT", "phase / SW - PT + 1"},
    {"sparse_conv2d/generated", SHAPE, "unguarded tail", "q0 = LAST_AT(tx, ACROSS, GRID_Q)", "q0 = tx * ACROSS"},
    {"sparse_conv2d/generated", SHAPE, "columns one to the left", "SUM_VLOAD(source + (w0) + j)",
     "SUM_VLOAD(source + (w0) + j - (j > 1))"},
    {"sparse_conv2d/generated", COPY_SHAPE, "wrong pad", "row * SH + ph - PT", "row * SH + ph - PT + 1"},
    {"sparse_conv2d/generated", COPY_SHAPE, "columns from right to left", "from[h * W + ", "from[h * W + W - 1 - "},
    {"sparse_conv2d/generated", SHAPE, "uninitialised accumulator", "VSET(0.0f)", "VSET(y[0])"},

    {"sparse_conv2d/generated", BATCH, "images behind the last", "n < NB && h >= 0 && h < H && w >= 0",
     "h >= 0 && h < H && w >= 0", "cpu", "vec=4 n_r=1 wg_n=1 c_blk=6 layout=CHWN stage=none " CPU_ALIKE},
    {"sparse_conv2d/generated", BATCH, "images behind the last", "n0 + j < NB && h >= 0", "h >= 0", "dp4a",
     "vec=1 n_r=1 wg_n=4 c_blk=6 layout=CHWN stage=none " GPU_ALIKE},
    {"sparse_conv2d/generated", BATCH, "images behind the last", "h >= 0 && h < H && n < NB, STAGE",
     "h >= 0 && h < H, STAGE", "cpu", "vec=4 n_r=2 wg_n=2 c_blk=6 layout=NCHW stage=lmem " CPU_ALIKE},
    {"sparse_conv2d/generated", WIDE, "sums of another place", "VEC) + (e)*VEC)", "VEC))", "cpu",
     "vec=4 n_r=1 wg_n=1 c_blk=2 layout=NCHW stage=none " CPU_ALIKE},
    {"sparse_conv2d/generated", FAR, "zeros in front of a row",
     "SMALLER(columns, W - (w0)) < lo ? lo : SMALLER(columns, W - (w0))", "SMALLER(columns, W - (w0))", "dp4a",
     "vec=1 n_r=1 wg_n=1 c_blk=3 layout=NCHW stage=lmem " GPU_ALIKE},

    {"sparse_conv2d/unrolled", SHAPE, "missing terms", "F(s1_0,", "if (0) F(s1_0,", NULL},
    {"sparse_conv2d/unrolled", SHAPE, "wrong pad", "p0 * SH - PT", "p0 * SH - PT + 1", NULL},
    {"sparse_conv2d/unrolled", SHAPE, "columns one to the left", "- PL - SHIFT + column", "- PL - SHIFT + column + 1",
     NULL},
    {"sparse_conv2d/unrolled", SHAPE, "unguarded tail", "p + (row) < P &&", "p >= 0 &&", NULL},
    {"sparse_conv2d/unrolled", SHAPE, "uninitialised accumulator", "float s0_0 = 0.0f", "float s0_0 = y[0]", NULL},
    {"sparse_conv2d/unrolled", SHAPE, "a stage too early", "WAIT_SENT(STAGES - 2)", "WAIT_SENT(STAGES - 1)",
     "cp_async"},

    {"sparse_conv2d/csr", SHAPE, "missing last term", "i < row[k + 1]", "i + 1 < row[k + 1]"},
    {"sparse_conv2d/csr", SHAPE, "wrong pad", "row * SH + ph - PT", "row * SH + ph - PT + 1"},
    {"sparse_conv2d/csr", SHAPE, "unguarded tail", "q0 = LAST_AT(tx, ACROSS, Q)", "q0 = tx * ACROSS"},
    {"sparse_conv2d/csr", SHAPE, "columns from right to left", "from[h * W + ", "from[h * W + W - 1 - "},
    {"sparse_conv2d/csr", SHAPE, "uninitialised accumulator", "VSET(0.0f)", "VSET(y[0])"},

    {"sparse_conv2d/dense_direct", DENSE_SHAPE, "missing last term", "ch < CI; ch++", "ch < CI - 1; ch++"},
    {"sparse_conv2d/dense_direct", DENSE_SHAPE, "wrong pad", "p_base * SH - PT", "p_base * SH - PT + 1"},
    {"sparse_conv2d/dense_direct", DENSE_SHAPE, "unguarded tail", "if (KG % VEC == 0 || k + l < KG)", "if (1)"},
    {"sparse_conv2d/dense_direct", DENSE_SHAPE, "r and s swapped", "(r * S + s) * CI) * NR", "(s * R + r) * CI) * NR"},
    {"sparse_conv2d/dense_direct", DENSE_SHAPE, "uninitialised accumulator", "VSET((SUM)0)", "VSET((SUM)y[0])"},

    {"sparse_conv2d/dense_gemm", DENSE_SHAPE, "missing last term", "for (int i = 0; i < KWG; i++)",
     "for (int i = 0; i < KWG - (begin + step + 1 == STEPS_ALL) * (1 + IP - I); i++)"},
    {"sparse_conv2d/dense_gemm", DENSE_SHAPE, "wrong pad", "h0 = pq / Q * SH - PT", "h0 = pq / Q * SH - PT + 1"},
    {"sparse_conv2d/dense_gemm", DENSE_SHAPE, "unguarded tail", "j < VEC && pq + j < PQ", "j < VEC"},
    {"sparse_conv2d/dense_gemm", DENSE_SHAPE, "r and s swapped", "(c * R + r) * S + s) * NWG",
     "(c * S + s) * R + r) * NWG"},
    {"sparse_conv2d/dense_gemm", DENSE_SHAPE, "uninitialised accumulator", "VSET(0)", "VSET(y[0])"},

    {"sparse_conv2d/naive", DENSE_SHAPE, "missing last term", "c < CG; c++", "c < CG - 1; c++"},
    {"sparse_conv2d/naive", DENSE_SHAPE, "wrong pad", "r * DH - PT", "r * DH - PT + 1"},
    {"sparse_conv2d/naive", DENSE_SHAPE, "unguarded tail", "if (i >= (long)NB * K * P * Q)", "if (i < 0)"},
    {"sparse_conv2d/naive", DENSE_SHAPE, "r and s swapped", "W_AT(k, c, r, s))", "W_AT(k, c, s, r))"},
    {"sparse_conv2d/naive", DENSE_SHAPE, "uninitialised accumulator", "SUM sum = 0;", "SUM sum = LOAD1(y + i);"},

    {NULL, NULL, NULL, NULL, NULL},
};

const struct cases cases_sparse = {shapes, mutants};
