/* SPDX-License-Identifier: MIT */
/* winograd.cl - y[n,k,p,q] = sum over c,r,s of x[n,c,p+r-PT,q+s-PL] * w[k,c,r,s] by F(M x M, 3 x 3), the register form for Mali.
 * x, y: f32 or f16 in any layout; w kcrs. U, V, products: SUM. NTP: tiles, rounded up to BNB; KP: channels k, up to BNA.
 *   U[e][k/BNA][c][BNA] = G w G^T, packed once; V[e][t/BNB][c][BNB] = B^T d B; products[e][k][t] = sum over c of U * V;
 *   y = A^T products A.
 * Knobs: M 2 4; BNA channels k and BNB tiles (a vector) a work-item multiplies; C_UNROLL channels c unrolled; YT work-items of a
 * group of the product, along k; WG_IN, WG_OUT work-items of a group of the transforms.
 * Launch: pack groups (KP, C), local 1; in local (WG_IN, 1, 1), groups (ceil(NTP * C / WG_IN)); gemm local (YT, 1, 1), groups
 * (NTP / BNB, ceil(KP / BNA / YT), AREA); out local (WG_OUT, 1, 1), groups (ceil(NB * K * NH * NW / WG_OUT)). */
#include "conv2d/winograd.clh"
#ifndef BNA
#define BNA 4
#define BNB 4
#define C_UNROLL 1
#define YT 1
#define WG_IN 1
#define WG_OUT 1
#endif

#define KT CEIL_DIV(K, BNA)
#define KP (KT * BNA)
#define TT CEIL_DIV(NT, BNB)
#define NTP (TT * BNB)
#define X_TILES NTP
#define X_CHANNELS C
#define V_PLACE_OF(t, c) (((long)((t) / BNB) * C + (c)) * BNB + (t) % BNB)
#define V_STEP ((long)NTP * C)
#define PRODUCT_STEP ((long)KP * NTP)
#include "conv2d/winograd_planes.clh"

KERNEL WG_SIZE(1, 1, 1) winograd_pack(GLOBAL const ELEM *RESTRICT w, GLOBAL SUM *RESTRICT u)
{
    const int k = GRP(0), c = GRP(1);

    TRANSFORM_WEIGHT(u + ((long)(k / BNA) * C + c) * BNA + k % BNA, (long)KP * C, w, k, c)
}

KERNEL WG_SIZE(YT, 1, 1) winograd_gemm(GLOBAL const SUM *RESTRICT u, GLOBAL const SUM *RESTRICT v,
                                       GLOBAL SUM *RESTRICT products)
{
    const int kt = GRP(1) * YT + LID(0), tt = GRP(0), e = GRP(2);
    GLOBAL const SUM *RESTRICT a = u + ((long)e * KT + kt) * C * BNA;
    GLOBAL const SUM *RESTRICT b = v + ((long)e * TT + tt) * C * BNB;
    VT acc[BNA];

    if (kt >= KT)
        return;
    UNROLL
    for (int i = 0; i < BNA; i++)
        acc[i] = VSET(0);
    UNROLL_BY(C_UNROLL)
    for (int c = 0; c < C; c++) {
        const VT tiles = SUM_VLOAD(b + c * BNB);

        UNROLL
        for (int i = 0; i < BNA; i++)
            acc[i] = VFMA(VSET(a[c * BNA + i]), tiles, acc[i]);
    }
    UNROLL
    for (int i = 0; i < BNA; i++)
        SUM_VSTORE(acc[i], products + ((long)e * KP + kt * BNA + i) * NTP + tt * BNB);
}
