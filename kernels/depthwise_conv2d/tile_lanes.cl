/* SPDX-License-Identifier: MIT */
/* tile_lanes.cl - y[n,c,p,q] = sum over r,s of x[n,c,p*SH+r*DH-PT,q*SW+s*DW-PL] * w[c,0,r,s], all types, x and y in blocks of
 * VEC channels (XL = YL = VEC), for CPUs: a vector's lanes are the channels of a block.
 * One work-item computes ROWS rows of one block, in register tiles of VH x VW pixels: every input vector of a tile is loaded
 * once and used for all of the tile's sums that need it. Tiles at the left and right edge are unrolled with their edges as
 * constants, rows outside the image are skipped: no padded copy. wp[c/VEC][r][s][c%VEC], as SUM; bytes are multiplied as
 * floats, in which sums of 128 products are exact: products of ints take three times as long.
 * Knobs: VEC lanes; VH VW pixels of a tile; ROWS rows of an item; PF rows of input fetched ahead (0 = none).
 * Launch: local (1, 1, 1); groups (NB * C/VEC * ceil(P / ROWS), 1, 1). Packing: groups (C/VEC, 1, 1). */
#include "conv/conv.clh"
#ifndef VH
#define VH 2
#define VW 4
#define ROWS 4
#endif

#define BLOCKS (C / VEC)
#define CHUNKS CEIL_DIV(P, ROWS)
#define TILES CEIL_DIV(Q, VW)
#define IN_H ((VH - 1) * SH + (R - 1) * DH + 1) /* input rows and columns of a tile */
#define IN_W ((VW - 1) * SW + (S - 1) * DW + 1)
/* Tiles that read no column outside the image, so have all their outputs: [INNER, INNER_END). */
#define INNER_ CEIL_DIV(PL, VW * SW)
#define INNER (INNER_ < TILES ? INNER_ : TILES)
#define INNER_END_ (W + PL < IN_W ? 0 : (W + PL - IN_W) / (VW * SW) + 1)
#define INNER_END (INNER_END_ < INNER ? INNER : INNER_END_)

#if DT == 2
#define PRODUCT float
#define PRODUCTS CAT(float, VEC)
#define WEIGHTS_LOAD(p) FLOATS_LOAD(p)
#define PIXEL(p) FLOATS_OF(VSUB(VLOAD(p), VSET(ZERO_OF(0))))
#define ADD_PRODUCTS(a, b, c) fma((a), (b), (c))
#define SUMS_OF(v) CAT(convert_int, VEC)(v)
#else
#define PRODUCT SUM
#define PRODUCTS VT
#define WEIGHTS_LOAD(p) SUM_VLOAD(p)
#define PIXEL(p) VLOAD(p)
#define ADD_PRODUCTS(a, b, c) VFMA((a), (b), (c))
#define SUMS_OF(v) (v)
#endif
#ifdef UNSIGNED
#undef ZERO_OF
#define ZERO_OF(i) held_zero[i]
#endif

KERNEL WG_SIZE(1, 1, 1) depthwise_pack_w(GLOBAL const WEIGHT *RESTRICT w, GLOBAL PRODUCT *RESTRICT wp)
{
    const int block = GRP(0);

    for (int rs = 0; rs < R * S; rs++)
        for (int l = 0; l < VEC; l++)
            wp[(block * R * S + rs) * VEC + l] = LOAD1(w + (long)(block * VEC + l) * R * S + rs);
}

/* The tile of rows from p0 and columns from q0; compares columns with the image's edges when EDGE. x and y stand at the
 * channel block. */
#define TILE(q0, EDGE)                                                                                                 \
    {                                                                                                                  \
        PRODUCTS acc[VH][VW];                                                                                          \
                                                                                                                       \
        UNROLL                                                                                                         \
        for (int i = 0; i < VH; i++)                                                                                   \
            UNROLL                                                                                                     \
            for (int j = 0; j < VW; j++)                                                                               \
                acc[i][j] = (PRODUCTS)(0);                                                                             \
        UNROLL                                                                                                         \
        for (int row = 0; row < IN_H; row++) {                                                                         \
            const int h = p0 * SH + row - PT;                                                                          \
            GLOBAL const ELEM *RESTRICT from = xb + ((long)h * W + (q0)*SW - PL) * VEC;                                \
                                                                                                                       \
            if (h >= 0 && h < H) {                                                                                     \
                UNROLL                                                                                                 \
                for (int column = 0; column < IN_W; column++) {                                                        \
                    if (EDGE && ((q0)*SW - PL + column < 0 || (q0)*SW - PL + column >= W))                             \
                        continue;                                                                                      \
                    const PRODUCTS pixel = PIXEL(from + column * VEC);                                                 \
                                                                                                                       \
                    UNROLL                                                                                             \
                    for (int i = 0; i < VH; i++)                                                                       \
                        UNROLL                                                                                         \
                        for (int j = 0; j < VW; j++) {                                                                 \
                            const int r = row - i * SH, s = column - j * SW;                                           \
                                                                                                                       \
                            if (r >= 0 && r % DH == 0 && r / DH < R && s >= 0 && s % DW == 0 && s / DW < S)            \
                                acc[i][j] = ADD_PRODUCTS(pixel, weight[r / DH * S + s / DW], acc[i][j]);               \
                        }                                                                                              \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
        UNROLL                                                                                                         \
        for (int i = 0; i < VH; i++)                                                                                   \
            if (p0 + i < end) {                                                                                        \
                UNROLL                                                                                                 \
                for (int j = 0; j < VW; j++)                                                                           \
                    if (!EDGE || (q0) + j < Q)                                                                         \
                        STORE_YK(at + ((long)(p0 + i) * Q + (q0) + j) * VEC, block * VEC, SUMS_OF(acc[i][j]));         \
            }                                                                                                          \
    }

KERNEL WG_SIZE(1, 1, 1)
depthwise_tile(GLOBAL const ELEM *RESTRICT x, GLOBAL const PRODUCT *RESTRICT wp, Y_PARAMS)
{
    const int item = GRP(0), chunk = item % CHUNKS, block = item / CHUNKS % BLOCKS, n = item / (CHUNKS * BLOCKS);
    const int end = chunk * ROWS + ROWS < P ? chunk * ROWS + ROWS : P;
    const long at = (long)(n * BLOCKS + block) * P * Q * VEC;
    GLOBAL const ELEM *RESTRICT xb = x + (long)(n * BLOCKS + block) * H * W * VEC;
    PRODUCTS weight[R * S];
#ifdef UNSIGNED
    HOLD_ZEROS(held_zero);
#endif

    UNROLL
    for (int i = 0; i < R * S; i++)
        weight[i] = WEIGHTS_LOAD(wp + (block * R * S + i) * VEC);
    for (int p0 = chunk * ROWS; p0 < end; p0 += VH) {
        UNROLL
        for (int t = 0; t < INNER; t++)
            TILE(t * VW, 1)
        for (int t = INNER; t < INNER_END; t++)
            TILE(t * VW, 0)
        UNROLL
        for (int t = INNER_END; t < TILES; t++)
            TILE(t * VW, 1)
    }
}
