/* SPDX-License-Identifier: MIT */
/* tile_dots.cl - y[n,c,p,q] = sum over r,s of x[n,c,p*SH+r*DH-PT,q*SW+s-PL] * w[c,0,r,s], bytes, x and y in blocks of 16
 * channels, for CPUs with vpdpbusd: four neighbours of a row are one product of a channel's lane.
 * One work-item computes ROWS rows of one block: it copies the input rows that they need into a private array, unsigned, with
 * zero points around them; then register tiles of VH x VW pixels. wp[c/16][r][s/4][c%16]: four weights of a row; sums[c]: what
 * the zero points come to, negative, 128 where x is signed.
 * Knobs: VEC = 16; VH VW pixels of a tile; ROWS rows of an item.
 * Launch: local (1, 1, 1); groups (NB * C/16 * ceil(P / ROWS), 1, 1). Packing: groups (C/16, 1, 1). */
#include "conv/conv.clh"
#if VEC == 16 && !defined(TUNE_CUDA) /* nobody else has them */
#ifndef VH
#define VH 2
#define VW 4
#define ROWS 4
#endif

#define BLOCKS (C / VEC)
#define CHUNKS CEIL_DIV(P, ROWS)
#define TILES CEIL_DIV(Q, VW)
#define FOURS CEIL_DIV(S, 4)                                           /* vectors of weights of a row */
#define IN_H ((VH - 1) * SH + (R - 1) * DH + 1)                        /* input rows of a tile */
#define STAGED ((CEIL_DIV(ROWS, VH) * VH - 1) * SH + (R - 1) * DH + 1) /* and of an item */
#define PITCH ((TILES * VW - 1) * SW + 4 * FOURS)                      /* pixels of a staged row */
#define FROM_X (W < PITCH - PL ? W : PITCH - PL)                       /* of them those of the image */
#ifdef UNSIGNED
#undef ZERO_OF
#define ZERO_OF(i) held_zero[i]
#define NOTHING (zero[0])
#define FLIP 0
#else
#define NOTHING 128
#define FLIP 128
#endif
typedef uchar pixel_bytes __attribute__((ext_vector_type(16), aligned(1)));
typedef uchar four_pixels __attribute__((ext_vector_type(64), aligned(1)));
typedef int four_lanes __attribute__((ext_vector_type(16), aligned(1)));

KERNEL WG_SIZE(1, 1, 1)
depthwise_pack_w(GLOBAL const char *RESTRICT w, GLOBAL int *RESTRICT wp, GLOBAL int *RESTRICT sums ZERO_PARAM)
{
    const int block = GRP(0);

    for (int l = 0; l < VEC; l++) {
        GLOBAL const char *from = w + (long)(block * VEC + l) * R * S;
        int sum = 0;

        for (int r = 0; r < R; r++)
            for (int t = 0; t < FOURS; t++) {
                int v = 0;

                for (int s = 4 * t; s < 4 * t + 4 && s < S; s++) {
                    v |= (int)(uchar)from[r * S + s] << (8 * (s % 4));
                    sum += from[r * S + s];
                }
                wp[((block * R + r) * FOURS + t) * VEC + l] = v;
            }
        sums[block * VEC + l] = -(NOTHING)*sum;
    }
}

/* Pixels [begin, end) of a staged row without an image. */
DEVICE void stage_nothing(int begin, int end, pixel_bytes nothing, uchar *to)
{
    for (int i = begin; i < end; i++)
        *(__private pixel_bytes *)(to + i * 16) = nothing;
}

/* Input row h of a block as it is staged. */
DEVICE void stage_row(GLOBAL const uchar *xb, int h, pixel_bytes nothing, uchar *to)
{
    GLOBAL const uchar *from = xb + (long)h * W * 16;

    if (h < 0 || h >= H) {
        stage_nothing(0, PITCH, nothing, to);
        return;
    }
    stage_nothing(0, PL, nothing, to);
    for (int i = 0; i < FROM_X; i++)
        *(__private pixel_bytes *)(to + (PL + i) * 16) =
            *(GLOBAL const pixel_bytes *)(from + i * 16) ^ (pixel_bytes)(FLIP);
    stage_nothing(PL + FROM_X, PITCH, nothing, to);
}

/* The four pixels from p as they are multiplied: a lane has those of one channel. */
DEVICE int16 lanes_of_channels(const uchar *p)
{
    const int16 rows = *(const __private four_lanes *)p;
    const int16 fours = __builtin_shufflevector(rows, rows, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const four_pixels v = __builtin_astype(fours, four_pixels);

#define TURNED(i) (i), (i) + 4, (i) + 8, (i) + 12
#define TURNED_LANE(i) TURNED(i), TURNED((i) + 1), TURNED((i) + 2), TURNED((i) + 3)
    return __builtin_astype(
        __builtin_shufflevector(v, v, TURNED_LANE(0), TURNED_LANE(16), TURNED_LANE(32), TURNED_LANE(48)), int16);
}

/* What sums begin with, the bias in it. */
#ifdef EPI_BIAS
#define FIRST (SUM_VLOAD(sums + block * VEC) + SUM_VLOAD(bias + block * VEC))
#undef VADD_BIAS_K
#define VADD_BIAS_K(v, k) (v)
#else
#define FIRST SUM_VLOAD(sums + block * VEC)
#endif

KERNEL WG_SIZE(1, 1, 1)
depthwise_tile(GLOBAL const uchar *RESTRICT x, GLOBAL const int *RESTRICT wp, GLOBAL const int *RESTRICT sums, Y_PARAMS)
{
    const int item = GRP(0), chunk = item % CHUNKS, block = item / CHUNKS % BLOCKS, n = item / (CHUNKS * BLOCKS);
    const int begin = chunk * ROWS, end = begin + ROWS < P ? begin + ROWS : P;
    const long at = (long)(n * BLOCKS + block) * P * Q * VEC;
    uchar staged[STAGED * PITCH * 16];
    int16 weight[R * FOURS], first = FIRST;
#ifdef UNSIGNED
    HOLD_ZEROS(held_zero);
#endif

    for (int row = 0; row < STAGED; row++)
        stage_row(x + (long)(n * BLOCKS + block) * H * W * VEC, begin * SH + row - PT, (pixel_bytes)((uchar)NOTHING),
                  staged + row * PITCH * 16);
    UNROLL
    for (int i = 0; i < R * FOURS; i++)
        weight[i] = SUM_VLOAD(wp + (block * R * FOURS + i) * VEC);
    for (int p0 = begin; p0 < end; p0 += VH)
        for (int t = 0; t < TILES; t++) {
            const uchar *from = staged + ((p0 - begin) * SH * PITCH + t * VW * SW) * 16;
            int16 acc[VH][VW];

            UNROLL
            for (int i = 0; i < VH * VW; i++)
                acc[i / VW][i % VW] = first;
            UNROLL
            for (int row = 0; row < IN_H; row++)
                UNROLL
                for (int j = 0; j < VW * FOURS; j++) {
                    const int16 pixels = lanes_of_channels(from + (row * PITCH + j / FOURS * SW + j % FOURS * 4) * 16);

                    UNROLL
                    for (int i = 0; i < VH; i++) {
                        const int r = row - i * SH;

                        if (r >= 0 && r % DH == 0 && r / DH < R)
                            __asm__("vpdpbusd %2, %1, %0"
                                    : "+v"(acc[i][j / FOURS])
                                    : "v"(pixels), "v"(weight[r / DH * FOURS + j % FOURS]));
                    }
                }
            UNROLL
            for (int i = 0; i < VH; i++)
                UNROLL
                for (int j = 0; j < VW; j++)
                    if (p0 + i < end && t * VW + j < Q)
                        STORE_YK(at + ((long)(p0 + i) * Q + t * VW + j) * VEC, block * VEC, acc[i][j]);
        }
}
#endif
