/* SPDX-License-Identifier: MIT */
/* mma.cl - CUDA: y[b][m,n] = sum over k of x[b][m,k] * w[b][n,k] by tensor cores (mma.clh), f16 bf16 i8, all
 * epilogues; x and w as they lie. WIDTH: bytes that pieces of rows are aligned to, 16 8 4 2 1.
 * Knobs: MT NT KT WM WN STAGES LDM BAND; SPLIT of k: groups write part[SPLIT][b][m][n], then added up.
 * Launch: WM * WN * 32 threads; groups SPLIT * BATCH * ceil(M / MT) * ceil(N / NT); shared memory STAGES * STAGE_BYTES.
 */
#if defined(TUNE_CUDA) && DT != 0 /* tensor cores have no f32 */
#ifndef M
#define BATCH 1
#define M 4
#define N 8
#define K 16
#endif
#include "gemm/mma_bring.clh"
#define K_BYTES (K * (int)sizeof(ELEM))
#define ROWS_FIRST 0

struct OPERANDS {
    const BYTE *x, *w; /* of this matrix of the batch */
};
typedef const BYTE *A_ROW;
typedef const BYTE *B_ROW;

DEVICE A_ROW a_row(const OPERANDS *o, int i)
{
    return i < M ? o->x + (long)i * K_BYTES : 0;
}
DEVICE B_ROW b_row(const OPERANDS *o, int i)
{
    return i < N ? o->w + (long)i * K_BYTES : 0;
}
DEVICE void a_chunk(const OPERANDS *o, A_ROW row, int at, BYTE *to)
{
    bring_chunk<WIDTH>(to, row ? row + at : o->x, row ? K_BYTES - at : 0);
}
DEVICE void b_chunk(const OPERANDS *o, B_ROW row, int at, BYTE *to)
{
    bring_chunk<WIDTH>(to, row ? row + at : o->w, row ? K_BYTES - at : 0);
}
#include "gemm/mma.clh"

#define M_TILES CEIL_DIV(M, MT)
#define N_TILES CEIL_DIV(N, NT)
#define TILES (M_TILES * N_TILES)

#if SPLIT > 1
KERNEL WG_SIZE(THREADS, 1, 1) gemm_mma(GLOBAL const ELEM *RESTRICT x, GLOBAL const ELEM *RESTRICT w,
                                       GLOBAL MMA_SUM *RESTRICT part)
#else
KERNEL WG_SIZE(THREADS, 1, 1) gemm_mma(GLOBAL const ELEM *RESTRICT x, GLOBAL const ELEM *RESTRICT w, Y_PARAMS)
#endif
{
    const int tile = GRP(0) % TILES, b = GRP(0) / TILES % BATCH, slice = GRP(0) / TILES / BATCH;
    const int first = slice * STEPS_PART;
    const OPERANDS o = {(const BYTE *)(x + (long)b * M * K), (const BYTE *)(w + (long)b * N * K)};
    MMA_SUM acc[MI][NI][4];
    int m0, n0;

    place_tile(tile, M_TILES, N_TILES, &m0, &n0);
    m0 *= MT;
    n0 *= NT;
    multiply_tiles(acc, &o, m0, n0, first, first + STEPS_PART < STEPS_ALL ? first + STEPS_PART : STEPS_ALL);
#if SPLIT > 1
#define PUT(i, j, sum)                                                                                                 \
    if (m0 + (i) < M && n0 + (j) < N)                                                                                  \
    part[(((long)slice * BATCH + b) * M + m0 + (i)) * N + n0 + (j)] = (sum)
#else
#define PUT(i, j, sum)                                                                                                 \
    if (m0 + (i) < M && n0 + (j) < N)                                                                                  \
    STORE_Y(((long)b * M + m0 + (i)) * N + n0 + (j), n0 + (j), (SUM)(sum))
#endif
    EACH_SUM(acc, PUT);
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
