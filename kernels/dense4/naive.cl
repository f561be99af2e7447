/* SPDX-License-Identifier: MIT */
/* naive.cl - y[m,n] = sum over k of x[m,k] * (w[n,k] - w_zero[n,k/BLOCK]) * w_scale[n,k/BLOCK], weights of 4 bits, see
 * dense4.clh; f32, f16, all epilogues. One output a work-item: the baseline. No knobs.
 * Launch: local (WG, 1, 1); groups (ceil(M*N / WG), 1, 1). */
#include "dense4/dense4.clh"
#ifndef WG
#define WG 64
#endif

KERNEL WG_SIZE(WG, 1, 1) dense4_naive(GLOBAL const ELEM *RESTRICT x, W_PARAMS, Y_PARAMS)
{
    const int i = GRP(0) * WG + LID(0);
    const int m = i / N, n = i % N;
    SUM sum = 0;

    if (i >= M * N)
        return;
    for (int k = 0; k < K; k++) {
        const int b = k / BLOCK, byte = w[((long)n * BLOCKS + b) * BLOCK_BYTES + k % BLOCK / 2];
        const int number = k % 2 ? byte >> 4 : byte & 15;
        GLOBAL const ELEM *at = x + (long)m * K + k;
#if BYTES
        const int e = step_bits(at - k % BLOCK, K - b * BLOCK < BLOCK ? K - b * BLOCK : BLOCK);
        const SUM value = (SUM)rounded(LOAD1(at), e) * STEP(e);
#else
        const SUM value = LOAD1(at);
#endif

        sum += value * ((SUM)(number - ZERO_AT(n, b)) * SCALE_AT(n, b));
    }
    STORE_Y(i, n, sum);
}
