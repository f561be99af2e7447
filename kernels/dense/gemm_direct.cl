/* SPDX-License-Identifier: MIT */
/* gemm_direct.cl - y[m,n] = sum over k of x[m,k] * w[n,k], f32 f16, all epilogues, row-major, any size, no packing: tiles of x
 * and w go through local memory, transposed to k first.
 * Knobs: WGD tile of a group along m, n and k; MDIMCD NDIMCD its work-items along m and n; MDIMAD NDIMBD items along k while
 * loading x and w; KWID unroll along k; VWMD VWND consecutive elements an item loads of x and w, which divide K; VEC lanes of
 * arithmetic along n; PADA PADB extra columns of the local tiles; STAGES 2: the next tiles wait in registers while these are used
 * up; SPLIT of k: groups write part[SPLIT][m][n], then added up.
 * Launch: local (NDIMCD, MDIMCD, 1); groups (SPLIT * ceil(M / WGD) * ceil(N / WGD), 1, 1). */
#ifndef M
#define M 4
#define N 8
#define K 16
#endif
#ifndef WGD
#define WGD 8
#define MDIMCD 2
#define NDIMCD 2
#define MDIMAD 2
#define NDIMBD 2
#define KWID 2
#define VWMD 1
#define VWND 1
#define PADA 0
#define PADB 0
#define STAGES 1
#define SPLIT 1
#endif

#define NGROUPS CEIL_DIV(N, WGD)
#define TILES (CEIL_DIV(M, WGD) * NGROUPS)
#define STEPS (CEIL_DIV(K, WGD * SPLIT))
#define K_PART (STEPS * WGD)
#define WG (MDIMCD * NDIMCD)
#define MWI (WGD / MDIMCD)
#define NVI (WGD / (NDIMCD * VEC))
#define LDA (WGD + PADA)
#define LDB (WGD + PADB)
#define A_OWN (WGD * WGD / WG) /* elements of a tile that an item loads */
#if LDA % 4 == 0 && MWI % 4 == 0
#define A_VEC 4
#elif LDA % 2 == 0 && MWI % 2 == 0
#define A_VEC 2
#else
#define A_VEC 1
#endif
#if LDB % VEC == 0
#define B_AT(k, v) LOCAL_VLOAD_ALIGNED(at_b + (k)*LDB + (LID(0) * NVI + (v)) * VEC)
#else
#define B_AT(k, v) LOCAL_VLOAD(at_b + (k)*LDB + (LID(0) * NVI + (v)) * VEC)
#endif

#include "gemm/split.clh"

/* Vector i of an item's part of the rows from row0 on: into `held`, zeros beyond `rows` and K; and from there into local memory. */
#define FETCH_ONE(from, row0, rows, step, DIM, VW, i, held)                                                            \
    do {                                                                                                               \
        const int row = (row0) + id / DIM + (i) / (WGD / (DIM * VW)) * (WG / DIM);                                     \
        const int k = k_first + (step)*WGD + (id % DIM + (i) % (WGD / (DIM * VW)) * DIM) * VW;                         \
                                                                                                                       \
        if (row < (rows) && k < K) {                                                                                   \
            HOLD(VW, (from) + (long)row * K + k, (held));                                                              \
        } else {                                                                                                       \
            UNROLL                                                                                                     \
            for (int j = 0; j < VW; j++)                                                                               \
                (held)[j] = HOLD_ZERO;                                                                                 \
        }                                                                                                              \
    } while (0)
#define PUT_ONE(held, to, DIM, VW, LD, i)                                                                              \
    do {                                                                                                               \
        const int row = id / DIM + (i) / (WGD / (DIM * VW)) * (WG / DIM);                                              \
        const int column = (id % DIM + (i) % (WGD / (DIM * VW)) * DIM) * VW;                                           \
                                                                                                                       \
        UNROLL                                                                                                         \
        for (int j = 0; j < VW; j++)                                                                                   \
            (to)[(column + j) * LD + row] = HELD_SUM((held)[j]);                                                       \
    } while (0)
#define FETCH(from, row0, rows, step, DIM, VW, held)                                                                   \
    UNROLL                                                                                                             \
    for (int i = 0; i < A_OWN / VW; i++)                                                                               \
        FETCH_ONE(from, row0, rows, step, DIM, VW, i, (held) + i * VW);
#define PUT(held, to, DIM, VW, LD)                                                                                     \
    UNROLL                                                                                                             \
    for (int i = 0; i < A_OWN / VW; i++)                                                                               \
        PUT_ONE((held) + i * VW, to, DIM, VW, LD, i);
/* Vector by vector, where an item has more of them than registers (a group of one item). */
#define MOVE(from, row0, rows, step, to, DIM, VW, LD)                                                                  \
    NO_UNROLL                                                                                                          \
    for (int i = 0; i < A_OWN / VW; i++) {                                                                             \
        HELD held[VW];                                                                                                 \
                                                                                                                       \
        FETCH_ONE(from, row0, rows, step, DIM, VW, i, held);                                                           \
        PUT_ONE(held, to, DIM, VW, LD, i);                                                                             \
    }
#define FETCH_BOTH(step)                                                                                               \
    FETCH(x, m0, M, step, MDIMAD, VWMD, held_a)                                                                        \
    FETCH(w, n0, N, step, NDIMBD, VWND, held_b)
#define PUT_BOTH(step)                                                                                                 \
    PUT(held_a, a_tile + (step) % STAGES * WGD * LDA, MDIMAD, VWMD, LDA)                                               \
    PUT(held_b, b_tile + (step) % STAGES * WGD * LDB, NDIMBD, VWND, LDB)

#if SPLIT > 1
KERNEL WG_SIZE(NDIMCD, MDIMCD, 1) gemm_direct(GLOBAL const ELEM *RESTRICT x, GLOBAL const ELEM *RESTRICT w,
                                              GLOBAL SUM *RESTRICT part)
#else
KERNEL WG_SIZE(NDIMCD, MDIMCD, 1) gemm_direct(GLOBAL const ELEM *RESTRICT x, GLOBAL const ELEM *RESTRICT w,
                                              Y_PARAMS)
#endif
{
    LOCAL_ALIGNED SUM a_tile[STAGES * WGD * LDA];
    LOCAL_ALIGNED SUM b_tile[STAGES * WGD * LDB];
    const int id = LID(1) * NDIMCD + LID(0), tile = GRP(0) % TILES, slice = GRP(0) / TILES;
    const int m0 = tile / NGROUPS * WGD, n0 = tile % NGROUPS * WGD, k_first = slice * K_PART;
#if A_OWN <= 64
    HELD held_a[A_OWN], held_b[A_OWN];
#endif
    VT acc[MWI][NVI];

    POISON_LOCAL(a_tile, STAGES * WGD * LDA, id, WG);
    POISON_LOCAL(b_tile, STAGES * WGD * LDB, id, WG);
    UNROLL
    for (int i = 0; i < MWI; i++)
        UNROLL
        for (int v = 0; v < NVI; v++)
            acc[i][v] = VSET(0);
#if STAGES == 2
    FETCH_BOTH(0)
    PUT_BOTH(0)
    BARRIER();
#endif
    for (int step = 0; step < STEPS; step++) {
        LOCAL const SUM *at_a = a_tile + step % STAGES * WGD * LDA, *at_b = b_tile + step % STAGES * WGD * LDB;

#if STAGES == 2
        if (step + 1 < STEPS) {
            FETCH_BOTH(step + 1)
        }
#elif A_OWN <= 64
        FETCH_BOTH(step)
        PUT_BOTH(step)
        BARRIER();
#else
        MOVE(x, m0, M, step, a_tile, MDIMAD, VWMD, LDA)
        MOVE(w, n0, N, step, b_tile, NDIMBD, VWND, LDB)
        BARRIER();
#endif
        UNROLL_BY(KWID)
        for (int k = 0; k < WGD; k++) {
            SUM value[MWI];
            VT weights[NVI];

            UNROLL
            for (int v = 0; v < NVI; v++)
                weights[v] = B_AT(k, v);
            UNROLL
            for (int i = 0; i < MWI; i += A_VEC)
                LOCAL_GET(A_VEC, at_a + k * LDA + LID(1) * MWI + i, value + i);
            UNROLL
            for (int i = 0; i < MWI; i++)
                UNROLL
                for (int v = 0; v < NVI; v++)
                    acc[i][v] = VFMA(VSET(value[i]), weights[v], acc[i][v]);
        }
#if STAGES == 2
        if (step + 1 < STEPS) {
            PUT_BOTH(step + 1)
        }
#endif
        BARRIER();
    }
    UNROLL
    for (int i = 0; i < MWI; i++)
        UNROLL
        for (int v = 0; v < NVI; v++)
            PUT_VECTOR(slice, m0 + LID(1) * MWI + i, n0 + (LID(0) * NVI + v) * VEC, acc[i][v]);
}

#if SPLIT > 1
KERNEL WG_SIZE(64, 1, 1) gemm_direct_add(GLOBAL const SUM *RESTRICT part, Y_PARAMS)
{
    ADD_PARTS(part);
}
#endif
