/* SPDX-License-Identifier: MIT */
/* tiled.cl - y[b][m,n] = sum over k of x[b][m,k] * w[b][n,k], row-major, all types, for GPUs: a group stages K_I columns of M_T*M_R
 * rows of x and N_T*N_R rows of w in local memory (k first); a work-item takes M_R x N_R outputs from there through registers.
 * Knobs: M_T N_T work-items; M_R N_R outputs of an item; K_I; V_K consecutive elements along k that an item fetches, which divide
 * K and K_I; PAD extra columns of the local tiles; UNROLL_STEP: the staged loop is unrolled by the largest power of two whose body
 * of M_R*N_R*(that power) products does not exceed it; UNROLL_EXPLICIT 1: it is a straight line. VEC: of arithmetic, divides N_R.
 * Launch: local (N_T, M_T, 1); groups (BATCH * ceil(M / (M_T*M_R)) * ceil(N / (N_T*N_R)), 1, 1). */
#ifndef M
#define BATCH 2
#define M 4
#define N 8
#define K 16
#endif
#ifndef M_R
#define M_T 2
#define N_T 2
#define M_R 2
#define N_R 4
#define K_I 4
#define V_K 1
#define PAD 0
#define UNROLL_BODY 1
#define UNROLL_EXPLICIT 0
#endif

#define MTILE (M_T * M_R)
#define NTILE (N_T * N_R)
#define LDA (MTILE + PAD)
#define LDB (NTILE + PAD)
#define A_ELEMS (CEIL_DIV(K_I * LDA, 8) * 8)
#define B_ELEMS (CEIL_DIV(K_I * LDB, 8) * 8)
#define NVI (N_R / VEC)
#define MGROUPS CEIL_DIV(M, MTILE)
#define NGROUPS CEIL_DIV(N, NTILE)
#define WG (M_T * N_T)
#if LDA % 4 == 0 && M_R % 4 == 0
#define A_VEC 4
#elif LDA % 2 == 0 && M_R % 2 == 0
#define A_VEC 2
#else
#define A_VEC 1
#endif
#if LDB % VEC == 0
#define B_VLOAD(p) LOCAL_VLOAD_ALIGNED(p)
#else
#define B_VLOAD(p) LOCAL_VLOAD(p)
#endif
#if UNROLL_EXPLICIT
#define LOOP_STAGED UNROLL
#else
#define LOOP_STAGED UNROLL_BY(UNROLL_BODY)
#endif

/* Vectors of a row; those of a tile that an item fetches; vector i of an item: its row, and its first column. Where an item
 * stays in its column, all that does not go along k is known before the first stage. */
#define ROW_VECTORS (K_I / V_K)
#define OWN(tile) CEIL_DIV((tile)*ROW_VECTORS, WG)
#define STAYS (WG % ROW_VECTORS == 0)
#define ROW_OF(i) (STAYS ? id / ROW_VECTORS + (i) * (WG / ROW_VECTORS) : (id + (i)*WG) / ROW_VECTORS)
#define COLUMN_OF(i) ((STAYS ? id % ROW_VECTORS : (id + (i)*WG) % ROW_VECTORS) * V_K)

/* Rows row0.. of `from`, K_I columns of them, to[k][row]; zeros beyond `rows` and K. */
#define STAGE(from, row0, rows, tile, ld, to)                                                                          \
    for (int i = 0; i < OWN(tile); i++) {                                                                              \
        const int row = ROW_OF(i), column = COLUMN_OF(i);                                                              \
        const bool own = (tile)*ROW_VECTORS % WG == 0 || row < (tile);                                                 \
        HELD held[V_K];                                                                                                \
                                                                                                                       \
        if (own && ((rows) % (tile) == 0 || (row0) + row < (rows)) && (K % K_I == 0 || kb + column < K)) {             \
            HOLD(V_K, (from) + (long)((row0) + row) * K + (kb + column), held);                                        \
        } else {                                                                                                       \
            UNROLL                                                                                                     \
            for (int j = 0; j < V_K; j++)                                                                              \
                held[j] = HOLD_ZERO;                                                                                   \
        }                                                                                                              \
        if (own) {                                                                                                     \
            UNROLL                                                                                                     \
            for (int j = 0; j < V_K; j++)                                                                              \
                (to)[(column + j) * (ld) + row] = HELD_SUM(held[j]);                                                   \
        }                                                                                                              \
    }

KERNEL WG_SIZE(N_T, M_T, 1) batch_gemm_tiled(GLOBAL const ELEM *RESTRICT x, GLOBAL const ELEM *RESTRICT w, Y_PARAMS)
{
    LOCAL_ALIGNED SUM a_tile[A_ELEMS];
    LOCAL_ALIGNED SUM b_tile[B_ELEMS];
    const int id = LID(1) * N_T + LID(0), batch = GRP(0) / (MGROUPS * NGROUPS), tile = GRP(0) % (MGROUPS * NGROUPS);
    const int m0 = tile / NGROUPS * MTILE, n0 = tile % NGROUPS * NTILE;
    GLOBAL const ELEM *a = x + (long)batch * M * K, *b = w + (long)batch * N * K;
    VT acc[M_R][NVI];

    POISON_LOCAL(a_tile, A_ELEMS, id, WG);
    POISON_LOCAL(b_tile, B_ELEMS, id, WG);
    UNROLL
    for (int i = 0; i < M_R; i++)
        UNROLL
        for (int v = 0; v < NVI; v++)
            acc[i][v] = VSET(0);
    for (int kb = 0; kb < K; kb += K_I) {
        STAGE(a, m0, M, MTILE, LDA, a_tile)
        STAGE(b, n0, N, NTILE, LDB, b_tile)
        BARRIER();
        LOOP_STAGED
        for (int k = 0; k < K_I; k++) {
            SUM value[M_R];
            VT weight[NVI];

            UNROLL
            for (int i = 0; i < M_R; i += A_VEC)
                LOCAL_GET(A_VEC, a_tile + k * LDA + LID(1) * M_R + i, value + i);
            UNROLL
            for (int v = 0; v < NVI; v++)
                weight[v] = B_VLOAD(b_tile + k * LDB + LID(0) * N_R + v * VEC);
            UNROLL
            for (int i = 0; i < M_R; i++)
                UNROLL
                for (int v = 0; v < NVI; v++)
                    acc[i][v] = VFMA(VSET(value[i]), weight[v], acc[i][v]);
        }
        BARRIER();
    }
    UNROLL
    for (int i = 0; i < M_R; i++)
        UNROLL
        for (int v = 0; v < NVI; v++) {
            const int m = m0 + LID(1) * M_R + i, n = n0 + LID(0) * N_R + v * VEC;
#if N % VEC == 0
            if (m < M && n < N)
                STORE_YK_ALIGNED((long)(batch * M + m) * N + n, 0, acc[i][v]);
#else
            SUM out[VEC];

            PRIVATE_VSTORE(acc[i][v], out);
            UNROLL
            for (int j = 0; j < VEC; j++)
                if (m < M && n + j < N)
                    STORE_Y((long)(batch * M + m) * N + n + j, 0, out[j]);
#endif
        }
}
