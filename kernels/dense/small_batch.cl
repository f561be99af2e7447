/* SPDX-License-Identifier: MIT */
/* small_batch.cl - y[m,n] = sum over k of x[m,k] * w[n,k] for few rows m or columns n, f32 f16, all epilogues, for GPUs: KT work-items of a
 * group share the sums over k of M_R x N_R outputs, reading rows of w next to each other; through local memory PARTS of them
 * an output add up KT / PARTS sums each, then one adds those. Groups of the same rows of the larger factor lie side by side.
 * Knobs: KT work-items along k, a power of two; N_R rows of w, M_R rows of x of a group; VEC elements read at a time.
 * Launch: local (KT, 1, 1); groups (ceil(M / M_R) * ceil(N / N_R), 1, 1). */
#ifndef M
#define BATCH 1
#define M 4
#define N 8
#define K 16
#endif
#ifndef KT
#define KT 16
#define M_R 1
#define N_R 2
#define PARTS 8
#endif

#define MGROUPS CEIL_DIV(M, M_R)
#define NGROUPS CEIL_DIV(N, N_R)
#define FEWER (MGROUPS < NGROUPS ? MGROUPS : NGROUPS)
#define ROW(from, i, n) ((from) + (long)((i) < (n) ? (i) : (n)-1) * K)
#if K % VEC == 0
#define ROW_VLOAD(p) VLOAD_ALIGNED(p)
#else
#define ROW_VLOAD(p) VLOAD(p)
#endif

KERNEL WG_SIZE(KT, 1, 1) dense_small_batch(GLOBAL const ELEM *RESTRICT x, GLOBAL const ELEM *RESTRICT w, Y_PARAMS)
{
    LOCAL_ARRAY SUM sums[M_R * N_R * KT];
    const int outside = GRP(0) / FEWER, inside = GRP(0) % FEWER;
    const int m0 = (MGROUPS < NGROUPS ? inside : outside) * M_R, n0 = (MGROUPS < NGROUPS ? outside : inside) * N_R;
    VT acc[M_R][N_R];

    UNROLL
    for (int i = 0; i < M_R; i++)
        UNROLL
        for (int j = 0; j < N_R; j++)
            acc[i][j] = VSET(0);
    for (int k = LID(0) * VEC; k + VEC <= K; k += KT * VEC)
        UNROLL
        for (int j = 0; j < N_R; j++) {
            const VT weight = ROW_VLOAD(ROW(w, n0 + j, N) + k);

            UNROLL
            for (int i = 0; i < M_R; i++)
                acc[i][j] = VFMA(ROW_VLOAD(ROW(x, m0 + i, M) + k), weight, acc[i][j]);
        }
    UNROLL
    for (int i = 0; i < M_R; i++)
        UNROLL
        for (int j = 0; j < N_R; j++) {
            SUM lanes[VEC], sum = 0;

            PRIVATE_VSTORE(acc[i][j], lanes);
            UNROLL
            for (int v = 0; v < VEC; v++)
                sum += lanes[v];
            for (int k = K / VEC * VEC + LID(0); k < K; k += KT)
                sum += LOAD1(ROW(x, m0 + i, M) + k) * LOAD1(ROW(w, n0 + j, N) + k);
            sums[(i * N_R + j) * KT + LID(0)] = sum;
        }
    BARRIER();
    for (int o = LID(0) / PARTS; o < M_R * N_R; o += KT / PARTS) {
        const int part = LID(0) % PARTS;
        SUM sum = 0;

        UNROLL
        for (int i = 0; i < KT; i += PARTS)
            sum += sums[o * KT + part + i];
        sums[o * KT + part] = sum;
    }
    BARRIER();
    for (int o = LID(0); o < M_R * N_R; o += KT) {
        const int m = m0 + o / N_R, n = n0 + o % N_R;
        SUM sum = 0;

        UNROLL
        for (int i = 0; i < PARTS; i++)
            sum += sums[o * KT + i];
        if (m < M && n < N)
            STORE_Y((long)m * N + n, n, sum);
    }
}
