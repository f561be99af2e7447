/* SPDX-License-Identifier: MIT */
/* gemv.cl - y[m,n] = sum over k of x[m,k] * w[n,k] for few rows m, f32 f16, all epilogues: bound by reading w.
 * PACKED 0: w in place. A work-item reads ROWS streams of TURNS consecutive rows of w, vectors along k, CHAINS sums of vectors
 * a row that are added up at its end. PACKED 1: weights packed at load, wp[n/NR][k][n%NR] with NR = ROWS*VEC, vectors along n; a
 * work-item computes TURNS panels one after the other.
 * Knobs: VEC lanes; ROWS; CHAINS along k; TURNS; AHEAD bytes that a stream is asked for in advance, 0: not; PACKED.
 * Launch: local (1, 1, 1); groups (ceil(N / (NR*TURNS)), 1, 1), NR = ROWS where w is in place. */
#ifndef M
#define M 1
#define N 8
#define K 16
#endif
#ifndef ROWS
#define ROWS 4
#define CHAINS 1
#define TURNS 1
#define AHEAD 2048
#define PACKED 0
#endif

#define STEP (VEC * CHAINS)
#define LINE (64 / (int)sizeof(ELEM))
#define AHEAD_ELEMS (AHEAD / (int)sizeof(ELEM))
#define NR (ROWS * VEC)
#define PACK_STEP 64

/* Asks for what `n` elements at p will be in a while. */
#if AHEAD
#define ASK(p, n)                                                                                                      \
    UNROLL                                                                                                             \
    for (int j_ = 0; j_ < (n); j_ += LINE)                                                                             \
        PREFETCH1((p) + AHEAD_ELEMS + j_)
#else
#define ASK(p, n)
#endif

KERNEL WG_SIZE(1, 1, 1) gemv_pack_w(GLOBAL const ELEM *RESTRICT w, GLOBAL ELEM *RESTRICT wp)
{
    const int panel = GRP(0), k0 = GRP(1) * PACK_STEP;

    for (int i = 0; i < NR; i++) {
        const int n = panel * NR + i;

        for (int k = k0; k < k0 + PACK_STEP && k < K; k++)
            STORE1(wp + ((long)panel * K + k) * NR + i, n < N ? LOAD1(w + (long)n * K + k) : 0);
    }
}

#if PACKED
KERNEL WG_SIZE(1, 1, 1) gemv(GLOBAL const ELEM *RESTRICT x, GLOBAL const ELEM *RESTRICT wp, Y_PARAMS)
{
    for (int turn = 0; turn < TURNS; turn++) {
        const int n0 = (GRP(0) * TURNS + turn) * NR;
        GLOBAL const ELEM *from = wp + (long)n0 * K;
        VT acc[CHAINS][M][ROWS];
        int k = 0;

        if (n0 >= N)
            return;
        UNROLL
        for (int c = 0; c < CHAINS; c++)
            UNROLL
            for (int m = 0; m < M; m++)
                UNROLL
                for (int r = 0; r < ROWS; r++)
                    acc[c][m][r] = VSET(0);
        for (; k + CHAINS <= K; k += CHAINS)
            UNROLL
            for (int c = 0; c < CHAINS; c++) {
                ASK(from + (k + c) * NR, NR);
                UNROLL
                for (int m = 0; m < M; m++) {
                    const VT value = VSET(LOAD1(x + m * K + k + c));

                    UNROLL
                    for (int r = 0; r < ROWS; r++)
                        acc[c][m][r] = VFMA(value, VLOAD(from + (k + c) * NR + r * VEC), acc[c][m][r]);
                }
            }
        for (; k < K; k++)
            UNROLL
            for (int m = 0; m < M; m++)
                UNROLL
                for (int r = 0; r < ROWS; r++)
                    acc[0][m][r] = VFMA(VSET(LOAD1(x + m * K + k)), VLOAD(from + k * NR + r * VEC), acc[0][m][r]);
        UNROLL
        for (int m = 0; m < M; m++)
            UNROLL
            for (int r = 0; r < ROWS; r++) {
                const int n = n0 + r * VEC;
                SUM out[VEC];

                UNROLL
                for (int c = 1; c < CHAINS; c++)
                    acc[0][m][r] = VADD(acc[0][m][r], acc[c][m][r]);
                if (n + VEC <= N) {
                    STORE_YK(m * N + n, n, acc[0][m][r]);
                } else {
                    PRIVATE_VSTORE(acc[0][m][r], out);
                    for (int j = 0; n + j < N; j++)
                        STORE_Y(m * N + n + j, n + j, out[j]);
                }
            }
    }
}
#else
/* Streams past the last row read it again and store nothing. */
KERNEL WG_SIZE(1, 1, 1) gemv(GLOBAL const ELEM *RESTRICT x, GLOBAL const ELEM *RESTRICT w, Y_PARAMS)
{
    for (int turn = 0; turn < TURNS; turn++) {
        GLOBAL const ELEM *from[ROWS];
        VT acc[CHAINS][M][ROWS];
        int k = 0;

        UNROLL
        for (int r = 0; r < ROWS; r++) {
            const int n = (GRP(0) * ROWS + r) * TURNS + turn;

            from[r] = w + (long)(n < N ? n : N - 1) * K;
        }
        UNROLL
        for (int c = 0; c < CHAINS; c++)
            UNROLL
            for (int m = 0; m < M; m++)
                UNROLL
                for (int r = 0; r < ROWS; r++)
                    acc[c][m][r] = VSET(0);
        for (; k + STEP <= K; k += STEP) {
            UNROLL
            for (int r = 0; r < ROWS; r++)
                ASK(from[r] + k, STEP);
            UNROLL
            for (int c = 0; c < CHAINS; c++)
                UNROLL
                for (int r = 0; r < ROWS; r++) {
                    const VT weight = VLOAD(from[r] + k + c * VEC);

                    UNROLL
                    for (int m = 0; m < M; m++)
                        acc[c][m][r] = VFMA(VLOAD(x + m * K + k + c * VEC), weight, acc[c][m][r]);
                }
        }
        UNROLL
        for (int m = 0; m < M; m++)
            UNROLL
            for (int r = 0; r < ROWS; r++) {
                const int n = (GRP(0) * ROWS + r) * TURNS + turn;
                SUM lanes[VEC], sum = 0;

                UNROLL
                for (int c = 1; c < CHAINS; c++)
                    acc[0][m][r] = VADD(acc[0][m][r], acc[c][m][r]);
                PRIVATE_VSTORE(acc[0][m][r], lanes);
                UNROLL
                for (int j = 0; j < VEC; j++)
                    sum += lanes[j];
                for (int i = K / STEP * STEP; i < K; i++)
                    sum += LOAD1(x + m * K + i) * LOAD1(from[r] + i);
                if (n < N)
                    STORE_Y(m * N + n, n, sum);
            }
    }
}
#endif
