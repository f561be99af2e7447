/* SPDX-License-Identifier: MIT */
/* channels.cl - y[n,c,p,q] = sum over r,s of x[n,c,p*SH+r*DH-PT,q*SW+s*DW-PL] * w[c,0,r,s], all types, x and y in nhwc or in blocks
 * of channels (XL = YL), for GPUs: VEC of a pixel's channels in a vector. A work-item computes VH x PX pixels of them: each vector of
 * the input is loaded once and used for all of the tile's sums that need it. wp[r][s][c], as SUM.
 * Knobs: VEC divides YL; PX; VH; WG work-items, neighbours along channels, then along q.
 * Launch: local (WG, 1, 1); groups (ceil(items / WG), 1, 1), items NB*C/VEC * ceil(P/VH) * ceil(Q/PX). Packing: local
 * (PACK_ITEMS, 1, 1), a word an item. */
#include "conv/conv.clh"
#ifndef WG
#define WG 64
#define PX 2
#define VH 2
#endif
#ifndef PACK_ITEMS
#define PACK_ITEMS 64
#endif

#define PARTS (YL / VEC) /* of the lanes of a pixel */
#define BLOCKS (C / YL)
#define STRIPS CEIL_DIV(Q, PX)
#define CHUNKS CEIL_DIV(P, VH)
#define ITEMS ((long)NB * (C / VEC) * CHUNKS * STRIPS)
#define IN_H ((VH - 1) * SH + (R - 1) * DH + 1) /* input rows and columns of a tile */
#define IN_W ((PX - 1) * SW + (S - 1) * DW + 1)

#ifdef TUNE_CUDA
#define WEIGHTS(p) LOCAL_VLOAD_ALIGNED(p) /* which there is of any memory */
#else
#define WEIGHTS(p) SUM_VLOAD(p)
#endif

KERNEL WG_SIZE(PACK_ITEMS, 1, 1) depthwise_pack_channels(GLOBAL const WEIGHT *RESTRICT w, GLOBAL SUM *RESTRICT wp)
{
    const int i = GRP(0) * PACK_ITEMS + LID(0);

    if (i < R * S * C)
        wp[i] = LOAD1(w + (long)(i % C) * (R * S) + i / C);
}

/* The vector at a place of the image, 0 outside. x stands at the block's first pixel. */
DEVICE VT pixels_at(GLOBAL const ELEM *RESTRICT x, int row, int column, int zero)
{
    if (row < 0 || row >= H || column < 0 || column >= W)
        return VSET((SUM)0);
#ifdef UNSIGNED
    return VSUB(VLOAD_ALIGNED(x + ((long)row * W + column) * YL), VSET((SUM)zero));
#else
    return VLOAD_ALIGNED(x + ((long)row * W + column) * YL);
#endif
}

KERNEL WG_SIZE(WG, 1, 1) depthwise_channels(GLOBAL const ELEM *RESTRICT x, GLOBAL const SUM *RESTRICT wp, Y_PARAMS)
{
    const long item = (long)GRP(0) * WG + LID(0);
    const int part = (int)(item % PARTS), q0 = (int)(item / PARTS % STRIPS) * PX;
    const int p0 = (int)(item / ((long)PARTS * STRIPS) % CHUNKS) * VH;
    const long block = item / ((long)PARTS * STRIPS * CHUNKS); /* of all images */
    const int k = (int)(block % BLOCKS) * YL + part * VEC;
    VT acc[VH][PX];

    if (item >= ITEMS)
        return;
    x += block * H * W * YL + part * VEC;
    UNROLL
    for (int i = 0; i < VH; i++)
        UNROLL
        for (int j = 0; j < PX; j++)
            acc[i][j] = VSET((SUM)0);
#if VH * PX == 1 /* windows of any size */
    for (int r = 0; r < R; r++)
        for (int s = 0; s < S; s++)
            acc[0][0] = VFMA(pixels_at(x, p0 * SH + r * DH - PT, q0 * SW + s * DW - PL, ZERO_OF(0)),
                             WEIGHTS(wp + (r * S + s) * C + k), acc[0][0]);
#else
    UNROLL
    for (int row = 0; row < IN_H; row++)
        UNROLL
        for (int column = 0; column < IN_W; column++) {
            const VT pixels = pixels_at(x, p0 * SH + row - PT, q0 * SW + column - PL, ZERO_OF(0));

            UNROLL
            for (int i = 0; i < VH; i++)
                UNROLL
                for (int j = 0; j < PX; j++) {
                    const int r = row - i * SH, s = column - j * SW;

                    if (r >= 0 && r % DH == 0 && r / DH < R && s >= 0 && s % DW == 0 && s / DW < S)
                        acc[i][j] = VFMA(pixels, WEIGHTS(wp + (r / DH * S + s / DW) * C + k), acc[i][j]);
                }
        }
#endif
    UNROLL
    for (int i = 0; i < VH; i++)
        UNROLL
        for (int j = 0; j < PX; j++) {
            const long at = ((block * P + p0 + i) * Q + q0 + j) * YL + part * VEC;

            if (p0 + i < P && q0 + j < Q)
                STORE_YK_ALIGNED(at, k, acc[i][j]);
        }
}
