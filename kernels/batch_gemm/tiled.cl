/* tiled.cl - y[b][m,n] = sum over k of x[b][m,k] * w[b][n,k], row-major, all types, for GPUs: a group stages K_I columns of M_T*M_R
 * rows of x and N_T*N_R rows of w in local memory (k first); a work-item takes M_R x N_R outputs from there through registers.
 * Knobs: M_T N_T work-items; M_R N_R outputs of an item; K_I; UNROLL_STEP: the staged loop is unrolled by the largest power of
 * two whose body of M_R*N_R*(that power) products does not exceed it; UNROLL_EXPLICIT 1: it is a straight line.
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
#define N_R 2
#define K_I 4
#define UNROLL_BODY 1
#define UNROLL_EXPLICIT 0
#endif

#define MTILE (M_T * M_R)
#define NTILE (N_T * N_R)
#define MGROUPS CEIL_DIV(M, MTILE)
#define NGROUPS CEIL_DIV(N, NTILE)
#define WG (M_T * N_T)
#if UNROLL_EXPLICIT
#define LOOP_STAGED UNROLL
#else
#define LOOP_STAGED UNROLL_BY(UNROLL_BODY)
#endif

KERNEL WG_SIZE(N_T, M_T, 1) batch_gemm_tiled(GLOBAL const ELEM *RESTRICT x, GLOBAL const ELEM *RESTRICT w, Y_PARAMS)
{
    LOCAL_ARRAY SUM a_tile[K_I * MTILE];
    LOCAL_ARRAY SUM b_tile[K_I * NTILE];
    const int id = LID(1) * N_T + LID(0), batch = GRP(0) / (MGROUPS * NGROUPS), tile = GRP(0) % (MGROUPS * NGROUPS);
    const int m0 = tile / NGROUPS * MTILE, n0 = tile % NGROUPS * NTILE;
    GLOBAL const ELEM *a = x + (long)batch * M * K, *b = w + (long)batch * N * K;
    SUM acc[M_R][N_R];

    UNROLL
    for (int i = 0; i < M_R; i++)
        UNROLL
        for (int j = 0; j < N_R; j++)
            acc[i][j] = 0;
    for (int kb = 0; kb < K; kb += K_I) {
        for (int at = id; at < MTILE * K_I; at += WG) {
            const int m = m0 + at / K_I, k = kb + at % K_I;

            a_tile[at % K_I * MTILE + at / K_I] = m < M && k < K ? LOAD1(a + (long)m * K + k) : 0;
        }
        for (int at = id; at < NTILE * K_I; at += WG) {
            const int n = n0 + at / K_I, k = kb + at % K_I;

            b_tile[at % K_I * NTILE + at / K_I] = n < N && k < K ? LOAD1(b + (long)n * K + k) : 0;
        }
        BARRIER();
        LOOP_STAGED
        for (int k = 0; k < K_I; k++) {
            SUM value[M_R], weight[N_R];

            UNROLL
            for (int i = 0; i < M_R; i++)
                value[i] = a_tile[k * MTILE + LID(1) * M_R + i];
            UNROLL
            for (int j = 0; j < N_R; j++)
                weight[j] = b_tile[k * NTILE + LID(0) * N_R + j];
            UNROLL
            for (int i = 0; i < M_R; i++)
                UNROLL
                for (int j = 0; j < N_R; j++)
                    acc[i][j] = FMA1(value[i], weight[j], acc[i][j]);
        }
        BARRIER();
    }
    UNROLL
    for (int i = 0; i < M_R; i++)
        UNROLL
        for (int j = 0; j < N_R; j++) {
            const int m = m0 + LID(1) * M_R + i, n = n0 + LID(0) * N_R + j;

            if (m < M && n < N)
                STORE_Y(((long)batch * M + m) * N + n, 0, acc[i][j]);
        }
}
