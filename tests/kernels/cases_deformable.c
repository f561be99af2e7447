/* SPDX-License-Identifier: MIT */
#include "tests/kernels/cases.h"

#include <stddef.h>

#define SHAPE "deformable_conv2d f32 n=1 c=6 h=10 w=9 k=7 r=3 s=3 pad=1 deformable_groups=2"
#define BESIDE "deformable_conv2d f32 n=1 c=32 h=10 w=9 k=40 r=3 s=3 pad=1 deformable_groups=16"

#define BLOCKS "deformable_conv2d f32 n=1 c=16 h=8 w=8 k=10 r=3 s=3 pad=1"

static const char *const shapes[] = {
    "deformable_conv2d f32 n=1 c=16 h=8 w=8 k=32 r=3 s=3 pad=1",                                /* square */
    "deformable_conv2d f32 n=1 c=5 h=9 w=13 k=19 r=3 s=2 pad=1",                                /* ragged */
    "deformable_conv2d f32 n=1 c=1 h=1 w=1 k=1 r=1 s=1",                                        /* tiny */
    "deformable_conv2d f32 n=1 c=8 h=11 w=11 k=16 r=3 s=3 stride=2 pad=1",                      /* strided */
    "deformable_conv2d f32 n=1 c=40 h=7 w=7 k=20 r=3 s=3 pad=2 dilation=2 deformable_groups=2", /* dilated */
    "deformable_conv2d f32 n=1 c=3 h=9 w=8 k=6 r=2 s=3 stride=2,1 pad=1,0,2,1 dilation=1,2",    /* asymmetric */
    "deformable_conv2d f32 n=2 c=6 h=7 w=7 k=10 r=3 s=3 pad=1 deformable_groups=3",             /* batch */
    "deformable_conv2d f32 n=1 c=4 h=2 w=19 k=5 r=1 s=1 stride=1,2",                            /* 1x1 */
    "deformable_conv2d f16 n=1 c=6 h=6 w=5 k=9 r=3 s=3 pad=1",
    "deformable_conv2d f16 n=1 c=16 h=6 w=5 k=16 r=3 s=3 pad=1 deformable_groups=4 acc=f16",
    NULL,
};

static const struct mutant mutants[] = {
    {"deformable_conv2d/naive", SHAPE, "missing last term", "s < S; s++", "s < S - 1; s++"},
    {"deformable_conv2d/naive", SHAPE, "wrong pad", "rs / S * DH)", "rs / S * DH + 1)"},
    {"deformable_conv2d/naive", SHAPE, "unguarded tail", "if (i >= (long)NB * K * P * Q)", "if (i < 0)"},
    {"deformable_conv2d/naive", SHAPE, "r and s swapped", "W_AT(k, c, r, s))", "W_AT(k, c, s, r))"},
    {"deformable_conv2d/naive", SHAPE, "uninitialised accumulator", "SUM sum = 0;", "SUM sum = LOAD1(y + i);"},

    {"deformable_conv2d/direct", SHAPE, "missing last term", "term < STAGED; term++", "term < STAGED - 1; term++"},
    {"deformable_conv2d/direct", SHAPE, "far pixel not clamped", "x0 + 1 < W ? x0 + 1 : W - 1",
     "x0 + 1 < W ? x0 + 1 : 0"},
    {"deformable_conv2d/direct", SHAPE, "unguarded tail", "image < NB && p < P && q < Q", "image < NB && p < P"},
    {"deformable_conv2d/direct", SHAPE, "axes of the offset swapped", "LOAD1(from + P * Q)", "LOAD1(from)"},
    {"deformable_conv2d/direct", SHAPE, "uninitialised accumulator", "= SUMS_OF(0);", "= SUMS_OF(LOAD1(y));"},
    {"deformable_conv2d/direct", BESIDE, "offsets of a step ago", "offset, next, PLACE", "offset, step, PLACE", "dp4a"},
    {"deformable_conv2d/direct", BESIDE, "another group's offsets", "(BESIDE ? a.c : 0)", "0", "dp4a"},

    {"deformable_conv2d/im2col_tiled", SHAPE, "missing last term", "for (int i = 0; i < KWG; i++)",
     "for (int i = 0; i < KWG - (begin + step + 1 == STEPS_ALL) * (1 + IP - I); i++)"},
    {"deformable_conv2d/im2col_tiled", SHAPE, "outside counts as inside", "x >= 0.0f &&", "x >= -1.0f &&"},
    {"deformable_conv2d/im2col_tiled", SHAPE, "unguarded tail", "j < VEC && pq + j < PQ", "j < VEC"},
    {"deformable_conv2d/im2col_tiled", SHAPE, "r and s swapped", "(c * R * S + rs) * NWG",
     "(c * R * S + rs % S * R + rs / S) * NWG"},
    {"deformable_conv2d/im2col_tiled", SHAPE, "uninitialised accumulator", "VSET(0)", "VSET(LOAD1(y))"},

    {"deformable_conv2d/im2col_gemm", SHAPE, "missing last term", "i < end; i++)", "i < end - 1; i++)"},
    {"deformable_conv2d/im2col_gemm", SHAPE, "outside counts as inside", "x >= 0.0f &&", "x >= -1.0f &&"},
    {"deformable_conv2d/im2col_gemm", SHAPE, "unguarded tail", "m < MR && pq + m < PQ", "m < MR"},
    {"deformable_conv2d/im2col_gemm", SHAPE, "groups swapped", "* DG + group) * R * S + rs)",
     "* DG + DG - 1 - group) * R * S + rs)"},
    {"deformable_conv2d/im2col_gemm", SHAPE, "uninitialised accumulator", "acc[m][v] = VSET(0)",
     "acc[m][v] = VSET(LOAD1(y))"},
    {"deformable_conv2d/im2col_gemm", SHAPE, "channels behind the last", "c0 + l < CD ? LOAD1", "1 ? LOAD1", "cpu",
     "vec=4 mr=4 nv=1 ku=1 ib=0 tiles=1 kt=1"},
    {"deformable_conv2d/im2col_gemm", BLOCKS, "panels behind the last", "j < KT && (GRP(1) * KT + j) * NR < K;",
     "j < KT;", "cpu", "vec=4 mr=4 nv=1 ku=1 ib=64 tiles=1 kt=2"},
    {"deformable_conv2d/im2col_gemm", BLOCKS, "tiles behind the last", "t < TILES && (GRP(0) * TILES + t) * MR < PQ;",
     "t < TILES;", "cpu", "vec=4 mr=3 nv=1 ku=1 ib=64 tiles=4 kt=1"},
    {"deformable_conv2d/direct", SHAPE, "places behind the last", "inside = r < R && s < S && p < P && q < Q",
     "inside = 1", "dp4a"},

    {NULL, NULL, NULL, NULL, NULL},
};

/* Rare branches of samples.clh. */
#define DEFORMABLE "deformable_conv2d f32 n=1 h=4 w=5 r=3 s=3 pad=1 "
#define DIRECT(staged)                                                                                                 \
    "f_v=1 f_t=2 f_r=2 y_v=1 y_t=2 y_r=1 x_v=1 x_t=2 x_r=1 ry_i=1 rx_i=1 unroll_step=0 split=1 dbuf_x=0 "              \
    "dbuf_w=0 " staged
static const struct rare_config configs[] = {
    {"deformable_conv2d/direct", DEFORMABLE "c=12 k=4 deformable_groups=4", DIRECT("rc_i=4 order=0"),
     "dp4a"}, /* a group ends between an item's channels, */
    {"deformable_conv2d/direct", DEFORMABLE "c=6 k=4 deformable_groups=2", DIRECT("rc_i=2 order=0"),
     "dp4a"}, /* or between a step's */
    {"deformable_conv2d/direct", DEFORMABLE "c=12 k=4 deformable_groups=6", DIRECT("rc_i=6 order=0"),
     "dp4a"}, /* an item has more channels than a group */
    {"deformable_conv2d/direct", DEFORMABLE "c=8 k=4 deformable_groups=2", DIRECT("rc_i=2 order=5"),
     "dp4a"}, /* channels are the fastest axis, with several places */
    {"deformable_conv2d/direct", DEFORMABLE "c=4 k=4", DIRECT("rc_i=2 order=2"), "dp4a"}, /* and the one between */
    {NULL, NULL, NULL, NULL},
};

const struct cases cases_deformable = {shapes, mutants, configs};
