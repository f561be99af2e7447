/* SPDX-License-Identifier: MIT */
/* wgmma.cl - CUDA, sm_90a: y[b][m,n] = sum over k of x[b][m,k] * w[b][n,k] by warpgroups (wgmma_tiles.clh), f16 bf16
 * i8 u8, all epilogues; rows of whole 16 bytes, as they lie.
 * Knobs: MT NT tile; WGS warpgroups; STAGES; CLUSTER 1 2 blocks; BAND tiles of m that are done together through all of
 * n; GATHER 1: stores of eight outputs, f16 and bf16, N a multiple of 8. VEC: 2, or 1 for an odd N. maps: 64 words a
 * group.
 * Launch: WGS * 128 + 32 threads; BLOCKS groups, a multiple of CLUSTER, take TURNS each at the BATCH *
 * ceil(M / MT) * ceil(N / NT) tiles; shared memory STAGES * (MT + NT) * 128 + 512. */
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) && DT != 0
#ifndef MT
#define BATCH 1
#define M 4
#define N 8
#define K 16
#define MT 128
#define NT 128
#define WGS 2
#define STAGES 3
#define CLUSTER 1
#define BAND 8
#define GATHER 0
#define BLOCKS 1
#endif
#include "gemm/fold_zero.clh"
#define K_BYTES (K * (int)sizeof(ELEM))
#define STEPS CEIL_DIV(K_BYTES, 128)
#define M_UNITS CEIL_DIV(CEIL_DIV(M, MT), CLUSTER) /* tiles of a cluster */
#include "gemm/wgmma.clh"
#define UNITS (BATCH * M_UNITS * N_TILES)

struct PLACE {
    int b, m, n; /* matrix; first row and column */
};
DEVICE PLACE place_of(int unit)
{
    const TILE tile = tile_of(unit % (M_UNITS * N_TILES));

    return PLACE{unit / (M_UNITS * N_TILES), tile.m * MT, tile.n * NT};
}

DEVICE void make_x_map(BYTE *map, BYTE *room, const ELEM *x)
{
    make_map(map, room, x, BATCH * M, K_BYTES, MT);
}
DEVICE void make_w_map(BYTE *map, BYTE *room, const ELEM *w)
{
    make_map(map, room, w, BATCH * N, K_BYTES, B_BOX);
}

DEVICE void bring_stage(BYTE *to, const BYTE *x_map, const BYTE *w_map, PLACE at, int step, BITS64 *full)
{
    const int b_part = cluster_rank() * B_BOX;

    bring_box(to, x_map, step * 128, at.b * M + at.m, full, false);
    bring_box(to + (MT + b_part) * 128, w_map, step * 128, at.b * N + at.n + b_part, full, true);
}

DEVICE int output_row(PLACE at, int i, bool *in)
{
    *in = M % (MT * CLUSTER) == 0 || at.m + i < M;
    return at.b * M + at.m + i;
}
#include "gemm/wgmma_tiles.clh"
#endif
