/* SPDX-License-Identifier: MIT */
/* im2col_gemm.cl - y[n,k,pq] = sum over i of w[k,i] * col[n,i,pq], i = (c*R + r)*S + s, col the patches of x; all types, layouts, epilogues.
 * Knobs, layouts and the product: conv/panels.clh. Launch of im2col: local (COL_WG, 1, 1); groups (ceil(P*Q / NWG), C, NB). */
#include "conv/conv.clh"
#define PATCH_AT(i, pq) in_image(i, pq)

/* Where a patch element lies in its image; below 0: in the padding. */
DEVICE int in_image(int i, int pq)
{
    const int c = i / (R * S), r = i / S % R, s = i % S;
    const int h = pq / Q * SH + r * DH - PT, w = pq % Q * SW + s * DW - PL;

    return h >= 0 && h < H && w >= 0 && w < W ? (int)X_AT(0, c, h, w) : -1;
}

#include "conv/panels.clh"

/* One group a (panel, channel); the last channel's also writes the zero rows from I to IP. */
KERNEL WG_SIZE(COL_WG, 1, 1) im2col(GLOBAL const ELEM *RESTRICT x, GLOBAL ELEM *RESTRICT cols)
{
    const int tile = GRP(0), c = GRP(1), n = GRP(2);
    GLOBAL ELEM *to = cols + (long)(n * NT + tile) * IP * NWG;

    for (int j = LID(0); j < NWG; j += COL_WG) {
        const int pq = tile * NWG + j, h0 = pq / Q * SH - PT, w0 = pq % Q * SW - PL;

        for (int r = 0; r < R; r++)
            for (int s = 0; s < S; s++) {
                const int h = h0 + r * DH, w = w0 + s * DW;
                const int inside = h >= 0 && h < H && w >= 0 && w < W;

                STORE1(to + ((c * R + r) * S + s) * NWG + j, inside ? LOAD1(x + X_AT(n, c, h, w)) : (SUM)0);
            }
        for (int i = c == C - 1 ? I : IP; i < IP; i++)
            STORE1(to + i * NWG + j, (SUM)0);
    }
}
