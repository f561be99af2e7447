/* SPDX-License-Identifier: MIT */
/* mma.cl - CUDA: y[b][m,n] = sum over k of x[b][m,k] * w[b][n,k] by tensor cores (mma.clh), f16 bf16 i8 u8, all
 * epilogues; x and w as they lie. WIDTH: bytes that pieces of rows are aligned to, 16 8 4 2 1; RUN: outputs that are
 * stored together, 1 2 4 8, a divisor of N.
 * Knobs: MT NT KT WM WN STAGES LDM AHEAD BAND; SPLIT of k: groups write part[SPLIT][b][m][n], then added up.
 * Launch: WM * WN * 32 threads; groups SPLIT * BATCH * ceil(M / MT) * ceil(N / NT); shared memory STAGES * STAGE_BYTES,
 * or what the warps' SLAB_SUMS take.
 */
#if defined(TUNE_CUDA) && DT != 0 /* tensor cores have no f32 */
#ifndef M
#define BATCH 1
#define M 4
#define N 8
#define K 16
#endif
#include "gemm/mma_bring.clh"
#include "gemm/fold_zero.clh"
#define K_BYTES (K * (int)sizeof(ELEM))
#define RUN_ROWS 0

typedef row_feed<M, MT, K_BYTES> A_FEED;
typedef row_feed<N, NT, K_BYTES> B_FEED;
#include "gemm/mma.clh"
#include "gemm/mma_store.clh"

#define M_TILES CEIL_DIV(M, MT)
#define N_TILES CEIL_DIV(N, NT)
#define TILES (M_TILES * N_TILES)

#if SPLIT > 1
KERNEL MMA_GROUP gemm_mma(GLOBAL const ELEM *RESTRICT x, GLOBAL const ELEM *RESTRICT w,
                                       GLOBAL MMA_SUM *RESTRICT part)
#else
KERNEL MMA_GROUP gemm_mma(GLOBAL const ELEM *RESTRICT x, GLOBAL const ELEM *RESTRICT w, Y_PARAMS)
#endif
{
    const int tile = GRP(0) % TILES, b = GRP(0) / TILES % BATCH, slice = GRP(0) / TILES / BATCH;
    const int first = slice * STEPS_PART;
    const int steps = (first + STEPS_PART < STEPS_ALL ? first + STEPS_PART : STEPS_ALL) - first;
    MMA_SUM acc[MI][NI][4];
    int m0, n0;

    place_tile(tile, M_TILES, N_TILES, &m0, &n0);
    m0 *= MT;
    n0 *= NT;
    multiply_tiles(acc, A_FEED(x + (long)b * M * K, m0, first * KT), B_FEED(w + (long)b * N * K, n0, first * KT), steps);
#define IS_THERE(i, j) ((M % MT == 0 || m0 + (i) < M) && (N % NT == 0 || n0 + (j) < N))
#if SPLIT > 1
#define PUT(i, j, run)                                                                                                 \
    if (IS_THERE(i, j))                                                                                                \
    STORE_RUN(part + (((long)slice * BATCH + b) * M + m0 + (i)) * N + n0 + (j), (run))
#else
#define PUT(i, j, run)                                                                                                 \
    if (IS_THERE(i, j))                                                                                                \
    STORE_RUN(((long)b * M + m0 + (i)) * N + n0 + (j), n0 + (j), (run))
#endif
    EACH_RUN(acc, PUT);
}

#if SPLIT > 1
KERNEL WG_SIZE(128, 1, 1) gemm_mma_add(GLOBAL const MMA_SUM *RESTRICT part, Y_PARAMS)
{
    const long i = (long)GRP(0) * 128 + LID(0), n = (long)BATCH * M * N;
    MMA_SUM sum = 0;

    if (i >= n)
        return;
    for (int slice = 0; slice < SPLIT; slice++)
        sum += part[slice * n + i];
    STORE_Y(i, i % N, (SUM)sum);
}
#endif
#endif
