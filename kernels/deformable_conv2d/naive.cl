/* SPDX-License-Identifier: MIT */
/* naive.cl - y[n,k,p,q] = sum over c,r,s of sample(n,c,r,s,p,q) * w[k,c,r,s], f32 and f16, nchw. One output a work-item, every
 * sample from the definition: the baseline. No knobs.
 * Launch: local (WG, 1, 1); groups (ceil(NB*K*P*Q / WG), 1, 1). */
#include "deformable_conv2d/deform.clh"

#ifndef WG
#define WG 64
#endif

KERNEL WG_SIZE(WG, 1, 1) deformable_naive(GLOBAL const ELEM *RESTRICT x, GLOBAL const ELEM *RESTRICT offset,
                                          GLOBAL const ELEM *RESTRICT w, Y_PARAMS)
{
    const long i = (long)GRP(0) * WG + LID(0);
    const int q = (int)(i % Q), p = (int)(i / Q % P), k = (int)(i / ((long)Q * P) % K), n = (int)(i / ((long)Q * P * K));
    SUM sum = 0;

    if (i >= (long)NB * K * P * Q)
        return;
    for (int c = 0; c < C; c++)
        for (int r = 0; r < R; r++)
            for (int s = 0; s < S; s++) {
                const struct place a = place_of(offset, n, c / CD, r * S + s, p, q);
                GLOBAL const ELEM *plane = x + (long)(n * C + c) * H * W;
                float sample = 0;

                for (int j = 0; j < 4; j++)
                    sample += a.share[j] * (float)LOAD1(plane + a.at[j]);
                sum += (SUM)sample * LOAD1(w + W_AT(k, c, r, s));
            }
    STORE_Y(Y_AT(n, k, p, q), k, sum);
}
