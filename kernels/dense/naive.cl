/* SPDX-License-Identifier: MIT */
/* naive.cl - y[m,n] = sum over k of x[m,k] * w[n,k], row-major, all types and epilogues. One output a work-item: the baseline. No knobs.
 * Launch: local (WG, 1, 1); groups (ceil(M*N / WG), 1, 1). */
#ifndef M
#define M 4
#define N 8
#define K 16
#endif

#ifndef WG
#define WG 64
#endif

KERNEL WG_SIZE(WG, 1, 1) dense_naive(GLOBAL const ELEM *RESTRICT x, GLOBAL const WEIGHT *RESTRICT w, Y_PARAMS)
{
    const int i = GRP(0) * WG + LID(0);
    const int m = i / N, n = i % N;
    SUM sum = 0;

    if (i >= M * N)
        return;
    for (int k = 0; k < K; k++)
        sum += (LOAD1(x + m * K + k) - (SUM)ZERO_OF(0)) * LOAD1(w + (long)n * K + k);
    STORE_Y(i, n, sum);
}
