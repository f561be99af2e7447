/* SPDX-License-Identifier: MIT */
/* gemm_tiled.cl - y[m,n] = sum over k of x[m,k] * w[n,k], f32 f16, all epilogues, for GPUs: both factors k-major and padded to
 * whole tiles, xt[k][m] (written by a launch of the timed run) and wt[k][n] (packed at load); a group computes MWG x NWG outputs.
 * Knobs: MWG NWG KWG tile; MDIMC NDIMC work-items along m and n; MDIMA NDIMB along m and n while loading; KWI unroll along k;
 * VWM VWN consecutive elements of an item (VWN is the vector of arithmetic, VEC); STRM STRN 1: an item's vectors lie MDIMC*VWM
 * (NDIMC*VWN) apart, 0: together; SA SB tiles of x, w in local memory; STAGES of them: 1; 2: the next stage waits in registers
 * while this one is used up; more: so many less one are under way without registers (CUDA's cp.async); SPLIT of k: groups write
 * part[SPLIT][m][n], then added up.
 * Launch: local (NDIMC, MDIMC, 1); groups (SPLIT * ceil(M / MWG) * ceil(N / NWG), 1, 1). Packing: local (16, 4, 1). */
#ifndef M
#define BATCH 1
#define M 4
#define N 8
#define K 16
#endif
#ifndef MWG
#define MWG 16
#define NWG 32
#define KWG 16
#define MDIMC 8
#define NDIMC 8
#define MDIMA 8
#define NDIMB 8
#define KWI 2
#define VWM 1
#define VWN 4
#define STRM 0
#define STRN 0
#define SA 1
#define SB 1
#define STAGES 1
#define SPLIT 1
#endif

#define MGROUPS CEIL_DIV(M, MWG)
#define NGROUPS CEIL_DIV(N, NWG)
#define MP (MGROUPS * MWG)
#define NP (NGROUPS * NWG)
#define K_PART (CEIL_DIV(K, KWG *SPLIT) * KWG)
#define KP (K_PART * SPLIT)
#define STEPS (K_PART / KWG)
#define WG (MDIMC * NDIMC)
#define MWI (MWG / MDIMC)
#define NVI (NWG / (NDIMC * VEC))
#define SQUARE 16 /* of packing: MP, NP and KP are multiples of it */

#include "gemm/split.clh"
#include "gemm/stages.clh"
#if DYN_LOCAL
extern __shared__ __align__(16) unsigned char dynamic_local[];
#endif

/* to[k][i] = from[i][k], zero beyond `n` rows and K, a square a group by way of local memory: both sides read and write
 * neighbours. */
#define TRANSPOSE(from, to, n, padded)                                                                                 \
    do {                                                                                                               \
        const int squares_ = (padded) / SQUARE, k0_ = GRP(0) / squares_ * SQUARE, i0_ = GRP(0) % squares_ * SQUARE;    \
                                                                                                                       \
        for (int i_ = LID(1); i_ < SQUARE; i_ += 4)                                                                    \
            square[i_ * (SQUARE + 1) + LID(0)] =                                                                       \
                i0_ + i_ < (n) && k0_ + LID(0) < K ? LOAD1((from) + (long)(i0_ + i_) * K + k0_ + LID(0)) : 0;          \
        BARRIER();                                                                                                     \
        for (int k_ = LID(1); k_ < SQUARE; k_ += 4)                                                                    \
            STORE1((to) + (long)(k0_ + k_) * (padded) + i0_ + LID(0), square[LID(0) * (SQUARE + 1) + k_]);             \
    } while (0)

KERNEL WG_SIZE(16, 4, 1) gemm_tiled_pack_w(GLOBAL const ELEM *RESTRICT w, GLOBAL ELEM *RESTRICT wt)
{
    LOCAL_ARRAY SUM square[SQUARE * (SQUARE + 1)];

    POISON_LOCAL(square, SQUARE * (SQUARE + 1), LID(1) * 16 + LID(0), 64);
    TRANSPOSE(w, wt, N, NP);
}

KERNEL WG_SIZE(16, 4, 1) gemm_tiled_pack_x(GLOBAL const ELEM *RESTRICT x, GLOBAL ELEM *RESTRICT xt)
{
    LOCAL_ARRAY SUM square[SQUARE * (SQUARE + 1)];

    POISON_LOCAL(square, SQUARE * (SQUARE + 1), LID(1) * 16 + LID(0), 64);
    TRANSPOSE(x, xt, M, MP);
}

#if STRM
#define M_OF(i) (((i) / VWM * MDIMC + LID(1)) * VWM + (i) % VWM)
#else
#define M_OF(i) (LID(1) * MWI + (i))
#endif
#if STRN
#define N_OF(v) (((v)*NDIMC + LID(0)) * VEC)
#else
#define N_OF(v) ((LID(0) * NVI + (v)) * VEC)
#endif

/* VWM rows from i on, in `value`, and vector v of columns, both of k in the stage that lies at k0 in global memory. */
#if SA
#define A_GET(k, i) LOCAL_GET(VWM, at_a + (k)*MWG + M_OF(i), value + (i))
#else
#define A_GET(k, i)                                                                                                    \
    UNROLL                                                                                                             \
    for (int j = 0; j < VWM; j++)                                                                                      \
        value[(i) + j] = LOAD1(a + (long)(k0 + (k)) * MP + M_OF(i) + j)
#endif
#if SB
#define B_AT(k, n) LOCAL_VLOAD_ALIGNED(at_b + (k)*NWG + (n))
#else
#define B_AT(k, n) VLOAD_ALIGNED(b + (long)(k0 + (k)) * NP + (n))
#endif

/* What an item fetches of a stage. */
#define PIECE_ITEMS WG
#define PIECE_ROWS KWG
#define A_TILE MWG
#define A_LD MP
#define A_ALONG MDIMA
#define A_W VWM
#define A_EACH UNROLL
#define B_TILE NWG
#define B_LD NP
#define B_ALONG NDIMB
#define B_W VEC
#define B_EACH UNROLL
#include "gemm/pieces.clh"
#define A_STAGE (SA * PIECES_STAGE(A))
#define B_STAGE (SB * PIECES_STAGE(B))
#if SA
#define STAGE_A(step, DO) PIECES(A, step, STEPS, DO)
#else
#define STAGE_A(step, DO)
#endif
#if SB
#define STAGE_B(step, DO) PIECES(B, step, STEPS, DO)
#else
#define STAGE_B(step, DO)
#endif
#define STAGE(step, DO)                                                                                                \
    do {                                                                                                               \
        STAGE_A(step, DO)                                                                                              \
        STAGE_B(step, DO)                                                                                              \
    } while (0)

#if SPLIT > 1
KERNEL WG_SIZE(NDIMC, MDIMC, 1) gemm_tiled(GLOBAL const ELEM *RESTRICT xt, GLOBAL const ELEM *RESTRICT wt,
                                           GLOBAL SUM *RESTRICT part)
#else
KERNEL WG_SIZE(NDIMC, MDIMC, 1) gemm_tiled(GLOBAL const ELEM *RESTRICT xt, GLOBAL const ELEM *RESTRICT wt, Y_PARAMS)
#endif
{
    const int id = LID(1) * NDIMC + LID(0), tile = GRP(0) % (MGROUPS * NGROUPS), slice = GRP(0) / (MGROUPS * NGROUPS);
    const int m0 = tile / NGROUPS * MWG, n0 = tile % NGROUPS * NWG;
    GLOBAL const ELEM *a = xt + (long)slice * K_PART * MP + m0, *b = wt + (long)slice * K_PART * NP + n0;
#if DYN_LOCAL
    SUM *a_tile = (SUM *)dynamic_local, *b_tile = a_tile + STAGES * A_STAGE;
#else
#if SA
    LOCAL_ALIGNED SUM a_tile[STAGES * A_STAGE];
#endif
#if SB
    LOCAL_ALIGNED SUM b_tile[STAGES * B_STAGE];
#endif
#endif
#if SA
    PIECES_BEGIN(A, a, a_tile)
#endif
#if SB
    PIECES_BEGIN(B, b, b_tile)
#endif
    VT acc[MWI][NVI];

#if SA
    POISON_LOCAL(a_tile, STAGES * A_STAGE, id, WG);
#endif
#if SB
    POISON_LOCAL(b_tile, STAGES * B_STAGE, id, WG);
#endif
    UNROLL
    for (int i = 0; i < MWI; i++)
        UNROLL
        for (int v = 0; v < NVI; v++)
            acc[i][v] = VSET(0);
    STAGES_BEGIN(STEPS);
    for (int step = 0; step < STEPS; step++) {
#if SA
        LOCAL const SUM *at_a = a_tile + step % STAGES * A_STAGE;
#endif
#if SB
        LOCAL const SUM *at_b = b_tile + step % STAGES * B_STAGE;
#endif
        const int k0 = step * KWG;

        STAGES_BEFORE(step, STEPS);
        UNROLL_BY(KWI)
        for (int k = 0; k < KWG; k++) {
            SUM value[MWI];
            VT weights[NVI];

            UNROLL
            for (int v = 0; v < NVI; v++)
                weights[v] = B_AT(k, N_OF(v));
            UNROLL
            for (int i = 0; i < MWI; i += VWM)
                A_GET(k, i);
            UNROLL
            for (int i = 0; i < MWI; i++)
                UNROLL
                for (int v = 0; v < NVI; v++)
                    acc[i][v] = VFMA(VSET(value[i]), weights[v], acc[i][v]);
        }
        STAGES_AFTER(step, STEPS);
    }
    UNROLL
    for (int i = 0; i < MWI; i++) {
        const int m = m0 + M_OF(i);

        UNROLL
        for (int v = 0; v < NVI; v++)
            PUT_VECTOR(slice, m, n0 + N_OF(v), acc[i][v]);
    }
}

#if SPLIT > 1
KERNEL WG_SIZE(64, 1, 1) gemm_tiled_add(GLOBAL const SUM *RESTRICT part, Y_PARAMS)
{
    ADD_PARTS(part);
}
#endif
