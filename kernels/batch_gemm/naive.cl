/* SPDX-License-Identifier: MIT */
/* naive.cl - y[b][m,n] = sum over k of x[b][m,k] * w[b][n,k], row-major, all types. One output a work-item: the baseline. No
 * knobs. Launch: local (WG, 1, 1); groups (ceil(BATCH*M*N / WG), 1, 1). */
#ifndef M
#define BATCH 2
#define M 4
#define N 8
#define K 16
#endif

#ifndef WG
#define WG 64
#endif

KERNEL WG_SIZE(WG, 1, 1) batch_gemm_naive(GLOBAL const ELEM *RESTRICT x, GLOBAL const ELEM *RESTRICT w, Y_PARAMS)
{
    const long i = (long)GRP(0) * WG + LID(0);
    const long row = i / N, column = i / ((long)M * N) * N + i % N; /* of all rows of x, of w */
    SUM sum = 0;

    if (i >= (long)BATCH * M * N)
        return;
    for (int k = 0; k < K; k++)
        sum += LOAD1(x + row * K + k) * LOAD1(w + column * K + k);
    STORE_Y(i, 0, sum);
}
