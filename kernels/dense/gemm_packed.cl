/* gemm_packed.cl - y[m,n] = sum over k of x[m,k] * w[n,k], f32, row-major, for CPUs.
 * One work-item computes TILES tiles of MR rows x NR = NV*VEC columns of y in vector registers, with the sum over k in blocks
 * of KC (partial sums wait in y). wp[n/NR][k][n%NR] packed at load; xp[m/MR][k][m%MR] packed in the timed run when PX.
 * Knobs: VEC lanes; MR rows; NV vectors; KC block of k; KU unroll; TILES tiles of rows a work-item; WG work-items a group, along
 * the faster axis; ORDER 0: m fastest (the weights' panel stays in cache), 1: n fastest; PX pack x.
 * Launch: local (WG, 1, 1); groups (ceil(ceil(M / (MR*TILES)) * ceil(N / NR) / WG), 1, 1). */
#ifndef M
#define M 4
#define N 8
#define K 16
#endif
#ifndef MR
#define MR 4
#define NV 1
#define KC 1024
#define KU 1
#define TILES 1
#define WG 1
#define ORDER 0
#define PX 1
#endif

#define NR (NV * VEC)
#define MTILES CEIL_DIV(M, MR)
#define MGROUPS CEIL_DIV(M, MR * TILES)
#define NBLOCKS CEIL_DIV(N, NR)
#define ITEMS (MGROUPS * NBLOCKS)
#define KSTEP 64

KERNEL WG_SIZE(1, 1, 1) gemm_packed_pack_w(GLOBAL const float *RESTRICT w, GLOBAL float *RESTRICT wp)
{
    const int block = GRP(0), k0 = GRP(1) * KSTEP;

    for (int i = 0; i < NR; i++) {
        const int n = block * NR + i;

        for (int k = k0; k < k0 + KSTEP && k < K; k++)
            wp[((long)block * K + k) * NR + i] = n < N ? w[(long)n * K + k] : 0.0f;
    }
}

KERNEL WG_SIZE(1, 1, 1) gemm_packed_pack_x(GLOBAL const float *RESTRICT x, GLOBAL float *RESTRICT xp)
{
    const int tile = GRP(0), k0 = GRP(1) * KSTEP;

    for (int i = 0; i < MR; i++) {
        const int m = tile * MR + i;

        for (int k = k0; k < k0 + KSTEP && k < K; k++)
            xp[((long)tile * K + k) * MR + i] = m < M ? x[(long)m * K + k] : 0.0f;
    }
}

#if PX
#define X_AT(i, k) a[(k)*MR + (i)]
#else
#define X_AT(i, k) a[i][k]
#endif

/* One k: the products of MR values of x and NV vectors of weights. */
#define STEP(k)                                                                                                        \
    do {                                                                                                               \
        VT weight[NV];                                                                                                 \
                                                                                                                       \
        UNROLL                                                                                                         \
        for (int v = 0; v < NV; v++)                                                                                   \
            weight[v] = VLOAD(b + (k)*NR + v * VEC);                                                                   \
        UNROLL                                                                                                         \
        for (int i = 0; i < MR; i++) {                                                                                 \
            const VT value = VSET(X_AT(i, k));                                                                         \
                                                                                                                       \
            UNROLL                                                                                                     \
            for (int v = 0; v < NV; v++)                                                                               \
                acc[i][v] = VFMA(value, weight[v], acc[i][v]);                                                         \
        }                                                                                                              \
    } while (0)

/* x is xp when PX. Rows past the last one read row M-1 again and are not stored. */
KERNEL WG_SIZE(WG, 1, 1) gemm_packed(GLOBAL const float *RESTRICT x, GLOBAL const float *RESTRICT wp,
                                     GLOBAL float *RESTRICT y)
{
    const int item = GRP(0) * WG + LID(0);
#if ORDER == 0
    const int group = item % MGROUPS, block = item / MGROUPS;
#else
    const int block = item % NBLOCKS, group = item / NBLOCKS;
#endif

    if (item >= ITEMS)
        return;
    for (int kb = 0; kb < K; kb += KC) {
        const int n_k = K - kb < KC ? K - kb : KC;

        for (int tile = group * TILES; tile < group * TILES + TILES && tile < MTILES; tile++) {
            GLOBAL const float *RESTRICT b = wp + ((long)block * K + kb) * NR;
#if PX
            GLOBAL const float *RESTRICT a = x + ((long)tile * K + kb) * MR;
#else
            GLOBAL const float *RESTRICT a[MR];
#endif
            VT acc[MR][NV];

#if !PX
            UNROLL
            for (int i = 0; i < MR; i++)
                a[i] = x + (long)(tile * MR + i < M ? tile * MR + i : M - 1) * K + kb;
#endif
            UNROLL
            for (int i = 0; i < MR; i++)
                UNROLL
                for (int v = 0; v < NV; v++)
                    acc[i][v] = VSET(0.0f);
            for (int k = 0; k < n_k / KU * KU; k += KU)
                UNROLL
                for (int u = 0; u < KU; u++)
                    STEP(k + u);
#if K % KU
            for (int k = n_k / KU * KU; k < n_k; k++)
                STEP(k);
#endif
            if (block * NR + NR <= N) {
                UNROLL
                for (int i = 0; i < MR; i++)
                    if (tile * MR + i < M) {
                        GLOBAL float *row = y + (long)(tile * MR + i) * N + block * NR;

                        UNROLL
                        for (int v = 0; v < NV; v++) {
                            if (kb)
                                acc[i][v] = VADD(acc[i][v], VLOAD(row + v * VEC));
                            VSTORE(acc[i][v], row + v * VEC);
                        }
                    }
            } else {
                float out[MR][NR];

                UNROLL
                for (int i = 0; i < MR; i++)
                    UNROLL
                    for (int v = 0; v < NV; v++)
                        PRIVATE_VSTORE(acc[i][v], &out[i][v * VEC]);
                for (int i = 0; i < MR && tile * MR + i < M; i++)
                    for (int n = block * NR; n < N; n++) {
                        GLOBAL float *to = y + (long)(tile * MR + i) * N + n;

                        *to = out[i][n - block * NR] + (kb ? *to : 0.0f);
                    }
            }
        }
    }
}
