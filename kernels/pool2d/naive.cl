/* SPDX-License-Identifier: MIT */
/* naive.cl - y[n,c,p,q] = max or mean over r,s of x[n,c,p*SH+r-PT,q*SW+s-PL] inside the image, all types and layouts. One
 * output a work-item, straight from the definition: the baseline. No knobs.
 * Launch: local (WG, 1, 1); groups (ceil(NB*C*P*Q / WG), 1, 1). */
#include "pool2d/pool.clh"

#ifndef WG
#define WG 64
#endif

KERNEL WG_SIZE(WG, 1, 1) pool2d_naive(GLOBAL const ELEM *RESTRICT x, GLOBAL ELEM *RESTRICT y)
{
    const long i = (long)GRP(0) * WG + LID(0);
    const int lane = (int)(i % YL), q = (int)(i / YL % Q), p = (int)(i / (YL * Q) % P);
    const int block = (int)(i / ((long)YL * Q * P)), n = block / (C / YL), c = block % (C / YL) * YL + lane;
    SUM v = NOTHING;
    int taken = 0;

    if (i >= (long)NB * C * P * Q)
        return;
    for (int r = 0; r < R; r++)
        for (int s = 0; s < S; s++) {
            const int row = p * SH + r - PT, column = q * SW + s - PL;

            if (row >= 0 && row < H && column >= 0 && column < W) {
                v = TAKE1(v, LOAD1(x + X_AT(n, c, row, column)));
                taken++;
            }
        }
    STORE1(y + i, pooled1(v, taken));
}
