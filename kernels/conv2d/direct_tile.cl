/* direct_tile.cl - y[n,k,p,q] = sum over c,r,s of x[n,c,p*SH+r*DH-PT,q*SW+s*DW-PL] * w[k,c,r,s], f32, nchw and kcrs, for CPUs.
 * One work-item computes TILES tiles of VH x VW pixels x NR = NV*VEC output channels in vector registers.
 * xp[n][c/CB][row][column][c%CB]: input padded by zeros so far that no tile needs a guard; wp[k/NR][c/CB][r][s][c%CB][k%NR].
 * Knobs: VEC lanes; NV vectors of channels; VH VW pixels; CB channels of a block; KU unroll of the loop over them; US unroll
 * of the loop over s; TILES tiles a work-item, one after the other along q; PASS 1 = a block of channels is done for all tiles
 * before the next one, so that its weights stay in the first cache; WG work-items a group; ORDER which axis is fastest:
 * 0 q then p then k (weights stay in cache), 1 k then q then p (input stays in cache), 2 p then q then k.
 * Launch: local (WG, 1, 1); groups (ceil(NB*KBLOCKS*PTILES*QGROUPS / WG), 1, 1). Packing: one item a row; one a (k block, c block). */
#include "conv/conv.clh"
#ifndef NV
#define NV 1
#define VH 1
#define VW 4
#define CB 4
#define KU 1
#define US 0
#define TILES 1
#define PASS 0
#define WG 1
#define ORDER 0
#endif

#define NR (NV * VEC)
#define CBLOCKS CEIL_DIV(C, CB)
#define KBLOCKS CEIL_DIV(K, NR)
#define PTILES CEIL_DIV(P, VH)
#define QGROUPS CEIL_DIV(Q, VW * TILES)
#define HP ((PTILES * VH - 1) * SH + (R - 1) * DH + 1)
#define WP ((QGROUPS * TILES * VW - 1) * SW + (S - 1) * DW + 1)
#define ITEMS (NB * KBLOCKS * PTILES * QGROUPS)
#if US
#define UNROLL_S UNROLL
#else
#define UNROLL_S
#endif

KERNEL WG_SIZE(1, 1, 1) direct_tile_pack_x(GLOBAL const float *RESTRICT x, GLOBAL float *RESTRICT xp)
{
    const int row = GRP(0), cb = GRP(1), n = GRP(2), h = row - PT;
    GLOBAL float *to = xp + ((long)(n * CBLOCKS + cb) * HP + row) * WP * CB;

    for (int c = 0; c < CB; c++) {
        const int channel = cb * CB + c;
        GLOBAL const float *from = x + ((n * C + channel) * H + h) * W - PL;
        const int inside = channel < C && h >= 0 && h < H;
        const int begin = inside ? (PL < WP ? PL : WP) : WP, end = inside ? (PL + W < WP ? PL + W : WP) : WP;

        for (int i = 0; i < begin; i++)
            to[i * CB + c] = 0.0f;
        for (int i = begin; i < end; i++)
            to[i * CB + c] = from[i];
        for (int i = end; i < WP; i++)
            to[i * CB + c] = 0.0f;
    }
}

KERNEL WG_SIZE(1, 1, 1) direct_tile_pack_w(GLOBAL const float *RESTRICT w, GLOBAL float *RESTRICT wp)
{
    const int kb = GRP(0), cb = GRP(1);
    GLOBAL float *to = wp + (long)(kb * CBLOCKS + cb) * R * S * CB * NR;

    for (int rs = 0; rs < R * S; rs++)
        for (int c = 0; c < CB; c++)
            for (int i = 0; i < NR; i++) {
                const int k = kb * NR + i, channel = cb * CB + c;

                to[(rs * CB + c) * NR + i] = k < K && channel < C ? w[(k * C + channel) * R * S + rs] : 0.0f;
            }
}

typedef VT tile_sum[VH * VW][NV];

/* acc += one block of CB channels: all taps of the window. */
#define ADD_BLOCK(acc, cb, q0)                                                                                         \
    for (int r = 0; r < R; r++) {                                                                                      \
        UNROLL_S                                                                                                       \
        for (int s = 0; s < S; s++) {                                                                                  \
            GLOBAL const float *RESTRICT a =                                                                           \
                xp + (((long)(n * CBLOCKS + (cb)) * HP + p0 * SH + r * DH) * WP + (q0)*SW + s * DW) * CB;              \
            GLOBAL const float *RESTRICT b = wp + (((long)(kb * CBLOCKS + (cb)) * R + r) * S + s) * CB * NR;           \
                                                                                                                       \
            UNROLL_BY(KU)                                                                                              \
            for (int ch = 0; ch < CB; ch++) {                                                                          \
                VT weight[NV];                                                                                         \
                                                                                                                       \
                UNROLL                                                                                                 \
                for (int v = 0; v < NV; v++)                                                                           \
                    weight[v] = VLOAD(b + ch * NR + v * VEC);                                                          \
                UNROLL                                                                                                 \
                for (int i = 0; i < VH; i++)                                                                           \
                    UNROLL                                                                                             \
                    for (int j = 0; j < VW; j++) {                                                                     \
                        const VT pixel = VSET(a[(i * SH * WP + j * SW) * CB + ch]);                                    \
                                                                                                                       \
                        UNROLL                                                                                         \
                        for (int v = 0; v < NV; v++)                                                                   \
                            acc[i * VW + j][v] = VFMA(pixel, weight[v], acc[i * VW + j][v]);                           \
                    }                                                                                                  \
            }                                                                                                          \
        }                                                                                                              \
    }

/* Writes one tile, the part of it that lies inside the output. */
#define STORE_TILE(acc, q0)                                                                                            \
    {                                                                                                                  \
        float out[VH * VW][NR];                                                                                        \
                                                                                                                       \
        UNROLL                                                                                                         \
        for (int i = 0; i < VH * VW; i++)                                                                              \
            UNROLL                                                                                                     \
            for (int v = 0; v < NV; v++)                                                                               \
                PRIVATE_VSTORE(acc[i][v], &out[i][v * VEC]);                                                            \
        for (int k = kb * NR; k < kb * NR + NR && k < K; k++)                                                          \
            for (int i = 0; i < VH && p0 + i < P; i++)                                                                 \
                for (int j = 0; j < VW && (q0) + j < Q; j++)                                                           \
                    y[((n * K + k) * P + p0 + i) * Q + (q0) + j] = out[i * VW + j][k - kb * NR];                       \
    }

KERNEL WG_SIZE(WG, 1, 1) direct_tile(GLOBAL const float *RESTRICT xp, GLOBAL const float *RESTRICT wp,
                                     GLOBAL float *RESTRICT y)
{
    const int item = GRP(0) * WG + LID(0);
#if ORDER == 0
    const int qg = item % QGROUPS, pt = item / QGROUPS % PTILES, kb = item / (QGROUPS * PTILES) % KBLOCKS;
#elif ORDER == 1
    const int kb = item % KBLOCKS, qg = item / KBLOCKS % QGROUPS, pt = item / (KBLOCKS * QGROUPS) % PTILES;
#else
    const int pt = item % PTILES, qg = item / PTILES % QGROUPS, kb = item / (QGROUPS * PTILES) % KBLOCKS;
#endif
    const int n = item / (KBLOCKS * QGROUPS * PTILES), p0 = pt * VH, first = qg * TILES * VW;
#if PASS
    tile_sum sums[TILES];
#endif

    if (item >= ITEMS)
        return;
#if PASS
    for (int cb = 0; cb < CBLOCKS; cb++)
        for (int tile = 0; tile < TILES; tile++) {
            tile_sum acc;

            UNROLL
            for (int i = 0; i < VH * VW; i++)
                UNROLL
                for (int v = 0; v < NV; v++)
                    acc[i][v] = cb ? sums[tile][i][v] : VSET(0.0f);
            ADD_BLOCK(acc, cb, first + tile * VW)
            UNROLL
            for (int i = 0; i < VH * VW; i++)
                UNROLL
                for (int v = 0; v < NV; v++)
                    sums[tile][i][v] = acc[i][v];
        }
    for (int tile = 0; tile < TILES; tile++)
        STORE_TILE(sums[tile], first + tile * VW)
#else
    for (int tile = 0; tile < TILES; tile++) {
        tile_sum acc;

        UNROLL
        for (int i = 0; i < VH * VW; i++)
            UNROLL
            for (int v = 0; v < NV; v++)
                acc[i][v] = VSET(0.0f);
        for (int cb = 0; cb < CBLOCKS; cb++)
            ADD_BLOCK(acc, cb, first + tile * VW)
        STORE_TILE(acc, first + tile * VW)
    }
#endif
}
