/* SPDX-License-Identifier: MIT */
/* naive.cl - y[n,k,p,q] = sum over c,r,s of x[n,c0+c,p*SH+r*DH-PT,q*SW+s*DW-PL] * w[k,c,r,s], all types, layouts, groups and
 * epilogues. One output a work-item, straight from the definition: the baseline. No knobs.
 * Launch: local (WG, 1, 1); groups (ceil(NB*K*P*Q / WG), 1, 1). */
#include "conv/conv.clh"

#ifndef WG
#define WG 64
#endif

KERNEL WG_SIZE(WG, 1, 1) conv2d_naive(GLOBAL const ELEM *RESTRICT x, GLOBAL const WEIGHT *RESTRICT w, Y_PARAMS)
{
    const long i = (long)GRP(0) * WG + LID(0);
    const int q = (int)(i % Q), p = (int)(i / Q % P), k = (int)(i / ((long)Q * P) % K), n = (int)(i / ((long)Q * P * K));
    const int c0 = k / KG * CG;
    SUM sum = 0;

    if (i >= (long)NB * K * P * Q)
        return;
    for (int c = 0; c < CG; c++)
        for (int r = 0; r < R; r++)
            for (int s = 0; s < S; s++) {
                const int row = p * SH + r * DH - PT, column = q * SW + s * DW - PL;

                if (row >= 0 && row < H && column >= 0 && column < W)
                    sum += (LOAD1(x + X_AT(n, c0 + c, row, column)) - (SUM)ZERO_OF(0)) * LOAD1(w + W_AT(k, c, r, s));
            }
    STORE_Y(Y_AT(n, k, p, q), k, sum);
}
