/* SPDX-License-Identifier: MIT */
/* dense.cl - y[m,n] = sum over k of x[m,k] * w[n,k], f32 f16, all epilogues, without local memory, for Mali: one work-item computes
 * M_R rows x N_R columns (one vector, VEC = N_R), over weights packed at load: wp[n/N_R][k][n%N_R].
 * Knobs: M_T N_T work-items along m and n; M_R N_R outputs of an item; K_UNROLL.
 * Launch: local (N_T, M_T, 1); groups (ceil(M / (M_T*M_R)) * ceil(N / (N_T*N_R)), 1, 1). */
#ifndef M
#define BATCH 1
#define M 4
#define N 8
#define K 16
#endif
#ifndef M_R
#define M_T 1
#define N_T 1
#define M_R 1
#define N_R 4
#define K_UNROLL 1
#endif

#define NGROUPS CEIL_DIV(N, N_T *N_R)
#if N % N_R == 0
#define STORE_PANEL(i, k, v) STORE_YK_ALIGNED(i, k, v)
#else
#define STORE_PANEL(i, k, v) STORE_YK(i, k, v)
#endif

KERNEL WG_SIZE(64, 1, 1) dense_pack_w(GLOBAL const ELEM *RESTRICT w, GLOBAL ELEM *RESTRICT wp)
{
    const long at = (long)GRP(0) * 64 + LID(0);
    const int panel = (int)(at / ((long)K * N_R)), k = (int)(at / N_R % K), n = panel * N_R + (int)(at % N_R);

    if (panel * N_R < N)
        STORE1(wp + at, n < N ? LOAD1(w + (long)n * K + k) : 0);
}

/* Rows and panels that there are not read the last ones and are not stored. */
KERNEL WG_SIZE(N_T, M_T, 1) dense(GLOBAL const ELEM *RESTRICT x, GLOBAL const ELEM *RESTRICT wp, Y_PARAMS)
{
    const int m0 = (GRP(0) / NGROUPS * M_T + LID(1)) * M_R, panel = GRP(0) % NGROUPS * N_T + LID(0), n0 = panel * N_R;
    GLOBAL const ELEM *b = wp + (long)(n0 < N ? panel : 0) * K * N_R;
    VT acc[M_R];

    UNROLL
    for (int i = 0; i < M_R; i++)
        acc[i] = VSET(0);
    UNROLL_BY(K_UNROLL)
    for (int k = 0; k < K; k++) {
        const VT weight = VLOAD_ALIGNED(b + (long)k * N_R);

        UNROLL
        for (int i = 0; i < M_R; i++)
            acc[i] = VFMA(VSET(LOAD1(x + (long)(m0 + i < M ? m0 + i : M - 1) * K + k)), weight, acc[i]);
    }
    UNROLL
    for (int i = 0; i < M_R; i++) {
        const int m = m0 + i;
        SUM out[N_R];

        if (m >= M || n0 >= N)
            continue;
        if (n0 + N_R <= N) {
            STORE_PANEL((long)m * N + n0, n0, acc[i]);
        } else {
            PRIVATE_VSTORE(acc[i], out);
            for (int j = 0; n0 + j < N; j++)
                STORE_Y((long)m * N + n0 + j, n0 + j, out[j]);
        }
    }
}
