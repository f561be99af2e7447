/* SPDX-License-Identifier: MIT */
/* csr.cl - y[n,k,p,q] = sum over the nonzeros i of row k of xp[..offset[i]] * value[i], f32, nchw: compressed sparse rows. One
 * work-item computes Y_R rows of X_R vectors of VEC pixels of one channel; offset[i]: of nonzero i's first input behind the tile's
 * (copy.clh). Knobs: VEC, X_R, Y_R, WG work-items along q.
 * Launch: local (WG, 1, 1); groups (ceil(TILES_X / WG) * K * NB, TILES_Y, 1). Copy: a group a channel and image. */
#include "sparse_conv2d/copy.clh"
#ifndef X_R
#define X_R 1
#define Y_R 1
#define WG 1
#define TILES_X 1
#endif
#define ACROSS (X_R * VEC)

KERNEL WG_SIZE(WG, 1, 1) sparse_csr(GLOBAL const float *RESTRICT x, GLOBAL const int *RESTRICT row,
                                    GLOBAL const int *RESTRICT offset, GLOBAL const float *RESTRICT value, Y_PARAMS)
{
    const int across = CEIL_DIV(TILES_X, WG), plane = GRP(0) / across;
    const int tx = GRP(0) % across * WG + LID(0), k = plane % K, n = plane / K;
    const int q0 = LAST_AT(tx, ACROSS, Q), p0 = LAST_AT(GRP(1), Y_R, P);
    GLOBAL const float *RESTRICT a = x + (long)n * XN_STEP + (long)p0 * XR_STEP + q0;
    VT sum[Y_R * X_R];

    if (tx >= TILES_X)
        return;
    UNROLL
    for (int e = 0; e < Y_R * X_R; e++)
        sum[e] = VSET(0.0f);
    for (int i = row[k]; i < row[k + 1]; i++) {
        GLOBAL const float *RESTRICT b = a + offset[i];
        const VT v = VSET(value[i]);

        UNROLL
        for (int e = 0; e < Y_R * X_R; e++)
            sum[e] = VFMA(VLOAD(b + e / X_R * XR_STEP + e % X_R * VEC), v, sum[e]);
    }
    for (int e = 0; e < Y_R * X_R; e++) {
        const long at = (((long)n * K + k) * P + p0 + e / X_R) * Q + q0 + e % X_R * VEC;
#if Q < X_R * VEC
        float lane[VEC];

        PRIVATE_VSTORE(sum[e], lane);
        for (int l = 0; l < Q; l++)
            STORE_Y(at + l, k, lane[l]);
#else
        STORE_YQ(at, k, sum[e]);
#endif
    }
}
