/* SPDX-License-Identifier: MIT */
/* im2col_tiled.cl - y[n,k,pq] = sum over i of w[k,i] * col[n,i,pq], i = (c*R + r)*S + s, col the samples, f32 and f16, nchw; each sample is
 * computed once and written out. For GPUs. Knobs, layouts and the product: conv/panels.clh.
 * Launch of deformable_cols: local (COL_WG, 1, 1); groups (ceil(P*Q / NWG), DG * R * S, NB): the place of a sample is computed once
 * for the channels that are shifted alike. */
#include "deformable_conv2d/deform.clh"
#include "conv/panels.clh"

KERNEL WG_SIZE(COL_WG, 1, 1)
deformable_cols(GLOBAL const ELEM *RESTRICT x, GLOBAL const ELEM *RESTRICT offset, GLOBAL ELEM *RESTRICT cols)
{
    const int tile = GRP(0), group = GRP(1) / (R * S), rs = GRP(1) % (R * S), n = GRP(2);
    GLOBAL ELEM *to = cols + (long)(n * NT + tile) * IP * NWG;

    for (int j = LID(0); j < NWG; j += COL_WG) {
        const int pq = tile * NWG + j < PQ ? tile * NWG + j : PQ - 1;
        const struct place a = place_of(offset, n, group, rs, pq / Q, pq % Q);

        for (int c = group * CD; c < (group + 1) * CD; c++) {
            GLOBAL const ELEM *plane = x + (long)(n * C + c) * H * W;
            float sum = 0;

            UNROLL
            for (int l = 0; l < 4; l++)
                sum += a.share[l] * (float)LOAD1(plane + a.at[l]);
            STORE1(to + (c * R * S + rs) * NWG + j, (SUM)sum);
        }
        for (int i = GRP(1) == DG * R * S - 1 ? I : IP; i < IP; i++)
            STORE1(to + i * NWG + j, (SUM)0);
    }
}
