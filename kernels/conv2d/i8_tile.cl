/* SPDX-License-Identifier: MIT */
/* i8_tile.cl - y[n,k,p,q] = sum over c,r,s of x[n,c0+c,p*SH+r*DH-PT,q*SW+s*DW-PL] * w[k,c,r,s], x int8 or, without its zero point,
 * UNSIGNED, w int8, int32 sums, for CPUs; all layouts, groups and epilogues. dense is the case of one row of M pixels with K channels stored together.
 * One work-item computes TILES tiles of VH x VW pixels x NR = NV*VK output channels in vector registers; a step multiplies
 * four channels of a pixel by four of each output channel (gemm/dot.clh).
 * wp[k block][c/B][r][s][c%B/4][NR][4]; xp[n][g][c/B][row][column][B] with zeros around and after the last channel, or x itself
 * (IN_PLACE: no padding, channels stored by fours; B = XBLOCK, else CB). A 1x1 window's packed x has its output pixels only.
 * vnni multiplies unsigned by signed: packed x holds x + 128, and sums[k] = -128 * (sum of w) is where the sums begin; in place the
 * weights hold w + 128, and 128 * (sum of x) of the pixel is taken off at the end: a work-item makes it for its own pixels where
 * their channels lie by 16 or more together (OWN_SUMS), else it is sums[n][g][pixel] of a kernel of its own. UNSIGNED: x as it is, padding is the
 * zero point z, sums[k] = -z * (sum of w), with every instruction; sdot takes x - 128, and sums[k] = (128 - z) * (sum of w). fma: xp and wp hold floats,
 * wp[..][c%B][NR]; a block has at most 1024 products (UNSIGNED: 512), whose sum is exact.
 * Knobs: VK lanes; NV vectors of channels; VH VW pixels; KT blocks of channels a work-item does for its pixels, one after the other; CB channels of a block; KU unroll of the steps of a block; US unroll
 * of the loop over s, which a tile of a whole row needs to leave out columns that are padding; TILES tiles a work-item along q; WG work-items a group; ORDER fastest axis: 0 q, p, k (weights stay in cache),
 * 1 k, q, p (input stays in cache); DOT; IN_PLACE; AHEAD steps that weights are
 * fetched ahead into the first cache, AHEAD_X blocks that input is, 0 not; NEXT: the weights of the next blocks of channels come into the
 * second cache while the tiles of these are computed, each asking for its share: whole networks have their weights farther away (ORDER 0).
 * Launch: local (WG, 1, 1); groups (ceil(NB*KBLOCKS*PTILES*QGROUPS / WG), 1, 1). Packing: one item a row; one a (k block, c block). */
#include "conv/conv.clh"
#ifndef NV
#define VK 4
#define NV 1
#define VH 1
#define VW 4
#define CB 4
#define KU 1
#define US 0
#define TILES 1
#define WG 1
#define ORDER 0
#define DOT 0
#define IN_PLACE 0
#define AHEAD 0
#define AHEAD_X 0
#define NEXT 0
#define KT 1
#define XBLOCK 4
#endif
#ifdef UNSIGNED
#define DOT_U8_A
#define DOT_U8_B 0
#define TURNED 0
#else
#define DOT_U8_B IN_PLACE
#define TURNED (DOT == 4) /* one of the factors has 128 added: vnni multiplies unsigned by signed */
#endif
#include "gemm/dot.clh"

#define FLOATS (DOT == 5)
#if IN_PLACE
#define B XBLOCK
#define PIXEL (XL / 4) /* ints from a pixel to the next */
#else
#define B CB
#define PIXEL STEPS
#endif
#if FLOATS
#define STEPS B /* of a block: channels, or fours of them */
#define OPERAND float
#else
#define STEPS (B / 4)
#define OPERAND int
#endif
#define NR (NV * VK)
#define CBLOCKS CEIL_DIV(CG, B)
#define GBLOCKS CEIL_DIV(KG, NR) /* blocks of output channels of a group, of all */
#define KBLOCKS (GROUPS * GBLOCKS)
#define GPARTS CEIL_DIV(GBLOCKS, KT) /* work-items along the blocks of a group, of all */
#define KPARTS (GROUPS * GPARTS)
/* Pixels as one row where the window is one pixel; steps of the window in x as stored. */
#if R == 1 && S == 1 && (!IN_PLACE || (SH == 1 && SW == 1))
#define ROWS 1
#define COLUMNS (P * Q)
#define STEP_H 1
#define STEP_W 1
#else
#define ROWS P
#define COLUMNS Q
#define STEP_H SH
#define STEP_W SW
#endif
#define PTILES CEIL_DIV(ROWS, VH)
#define QGROUPS CEIL_DIV(COLUMNS, VW * TILES)
#define ITEMS (NB * KPARTS * PTILES * QGROUPS)
#if IN_PLACE && R == 1 && S == 1 && SH == 1 && SW == 1
#define HP 1
#define WP (H * W)
#elif IN_PLACE
#define HP H
#define WP W
#else
#define HP ((PTILES * VH - 1) * STEP_H + (R - 1) * DH + 1)
#define WP ((QGROUPS * TILES * VW - 1) * STEP_W + (S - 1) * DW + 1)
#endif
#if US
#define UNROLL_S UNROLL
#else
#define UNROLL_S
#endif
#define OWN_SUMS (TURNED && IN_PLACE && R == 1 && S == 1 && XBLOCK == XL && XL >= 16)
#ifdef UNSIGNED
#define SUMS_OF_W 1 /* sums begin with what the zero point comes to, or the 128s */
#define FLIP (DOT == 6 ? (int)0x80808080 : 0) /* sdot has both factors signed */
#define PADDING (FLOATS ? (OPERAND)zero[0] : (OPERAND)(zero[0] * 0x01010101 ^ FLIP))
#define SHIFT ((DOT == 6 ? 128 : 0) - zero[0])
#else
#define SUMS_OF_W (TURNED && !IN_PLACE)
#define FLIP (TURNED ? (int)0x80808080 : 0) /* of packed x */
#define PADDING ((OPERAND)FLIP) /* four zeros as packed x holds them */
#define SHIFT (-128)
#endif
#if SUMS_OF_W || (TURNED && !OWN_SUMS)
#define SUMS_PARAM , GLOBAL const int *RESTRICT sums
#else
#define SUMS_PARAM
#endif

/* Taps that meet nothing but padding are left out: rows of the window for tiles of one row, its columns for tiles that are
 * a whole row of the image. So there are sums of the weights of each row, or of each tap. */
#define SKIP_ROWS (!IN_PLACE && R > 1 && VH == 1)
#define SKIP_COLUMNS (SKIP_ROWS && US && TILES == 1 && VW >= Q)
#define SUM_R (SKIP_ROWS ? R : 1)
#define SUM_S (SKIP_COLUMNS ? S : 1)
#define MEETS(i, s) (!SKIP_COLUMNS || ((i)*STEP_W + (s)*DW >= PL && (i)*STEP_W + (s)*DW < PL + W))

/* One pixel's channels c.. of group g as an operand. */
DEVICE OPERAND input_at(GLOBAL const ELEM *x, OPERAND padding, int n, int g, int c, int h, int w)
{
    const int inside = h >= 0 && h < H && w >= 0 && w < W;
#if FLOATS
    return c < CG && inside ? (float)x[X_AT(n, g * CG + c, h, w)] : padding;
#else
    int v = 0;

    if (!inside)
        return padding;
    UNROLL
    for (int i = 0; i < 4; i++)
        if (c + i < CG)
            v |= (int)(uchar)x[X_AT(n, g * CG + c + i, h, w)] << (8 * i);
    return v ^ FLIP;
#endif
}

#if !IN_PLACE
#if R == 1 && S == 1 /* only pixels that the window meets */
#define PACK_ROWS P
#define PACK_COLUMNS Q
#define PACK_H SH
#define PACK_W SW
#else
#define PACK_ROWS HP
#define PACK_COLUMNS WP
#define PACK_H 1
#define PACK_W 1
#endif

/* The part of a packed row that lies inside the image: columns begin .. end-1. */
#define INSIDE_BEGIN CEIL_DIV(PL, PACK_W)
#define INSIDE_END ((W - 1 + PL) / PACK_W + 1)

KERNEL WG_SIZE(1, 1, 1) i8_tile_pack_x(GLOBAL const ELEM *RESTRICT x, GLOBAL OPERAND *RESTRICT xp ZERO_PARAM)
{
    const OPERAND padding = PADDING;
    const int row = GRP(0), cb = GRP(1), g = GRP(2) % GROUPS, n = GRP(2) / GROUPS, h = row * PACK_H - PT;
    GLOBAL OPERAND *to =
        xp + (((long)((n * GROUPS + g) * CBLOCKS + cb) * HP) * WP + (long)row * PACK_COLUMNS) * STEPS;
    const int inside = h >= 0 && h < H && INSIDE_BEGIN < PACK_COLUMNS;
    const int begin = inside ? INSIDE_BEGIN : PACK_COLUMNS;
    const int end = inside ? (INSIDE_END < PACK_COLUMNS ? INSIDE_END : PACK_COLUMNS) : PACK_COLUMNS;

    for (int i = 0; i < begin * STEPS; i++)
        to[i] = padding;
#if !FLOATS && XL % 4 == 0 && (CG % B == 0 && XL % B == 0)
    {
        const int c = g * CG + cb * B;
        GLOBAL const int *from = (GLOBAL const int *)(x + X_AT(n, c, h, -PL));

        for (int i = begin; i < end; i++)
            UNROLL
            for (int step = 0; step < STEPS; step++)
                to[i * STEPS + step] = from[i * PACK_W * (XL / 4) + step] ^ FLIP;
    }
#elif FLOATS && XL > 1 && CG % B == 0 && XL % B == 0
    {
        GLOBAL const ELEM *from = x + X_AT(n, g * CG + cb * B, h, -PL);

        for (int i = begin; i < end; i++)
            UNROLL
            for (int step = 0; step < STEPS; step++)
                to[i * STEPS + step] = (float)from[i * PACK_W * XL + step];
    }
#elif FLOATS && XL == 1 && CG % B == 0
    for (int step = 0; step < STEPS; step++) {
        GLOBAL const ELEM *from = x + X_AT(n, g * CG + cb * B + step, h, -PL);

        for (int i = begin; i < end; i++)
            to[i * STEPS + step] = (float)from[i * PACK_W];
    }
#elif !FLOATS && XL == 1 && CG % B == 0
    for (int step = 0; step < STEPS; step++) {
        GLOBAL const uchar *from = (GLOBAL const uchar *)(x + X_AT(n, g * CG + cb * B + 4 * step, h, -PL));

        for (int i = begin; i < end; i++) {
            const int at = i * PACK_W;

            to[i * STEPS + step] = ((int)from[at] | (int)from[at + H * W] << 8 | (int)from[at + 2 * H * W] << 16 |
                                    (int)from[at + 3 * H * W] << 24) ^
                                   FLIP;
        }
    }
#else
    for (int i = begin; i < end; i++)
        for (int step = 0; step < STEPS; step++)
            to[i * STEPS + step] = input_at(x, padding, n, g, cb * B + step * (FLOATS ? 1 : 4), h, i * PACK_W - PL);
#endif
    for (int i = end * STEPS; i < PACK_COLUMNS * STEPS; i++)
        to[i] = padding;
}
#endif

/* One channel's weight for output channel k of group g: zero after the last. */
DEVICE int weight_at(GLOBAL const char *w, int g, int k, int c, int rs)
{
    return k < KG && c < CG ? w[W_AT(g * KG + k, c, rs / S, rs % S)] : 0;
}

KERNEL WG_SIZE(1, 1, 1) i8_tile_pack_w(GLOBAL const char *RESTRICT w, GLOBAL OPERAND *RESTRICT wp)
{
    const int kb = GRP(0), cb = GRP(1), g = kb / GBLOCKS, k0 = kb % GBLOCKS * NR;
    GLOBAL OPERAND *to = wp + (long)(kb * CBLOCKS + cb) * R * S * STEPS * NR;

    for (int rs = 0; rs < R * S; rs++)
        for (int step = 0; step < STEPS; step++)
            for (int i = 0; i < NR; i++) {
#if FLOATS
                to[(rs * STEPS + step) * NR + i] = (float)weight_at(w, g, k0 + i, cb * B + step, rs);
#else
                int v = 0;

                for (int j = 0; j < 4; j++)
                    v |= (int)(uchar)weight_at(w, g, k0 + i, cb * B + 4 * step + j, rs) << (8 * j);
                to[(rs * STEPS + step) * NR + i] = TURNED && IN_PLACE ? v ^ (int)0x80808080 : v;
#endif
            }
}

/* What the 128s added to x, or its zero point, come to in each sum, negative: sums[k block][SUM_R][SUM_S][NR]. */
KERNEL WG_SIZE(1, 1, 1) i8_tile_sum_w(GLOBAL const char *RESTRICT w, GLOBAL int *RESTRICT sums ZERO_PARAM)
{
    const int kb = GRP(0), g = kb / GBLOCKS, k0 = kb % GBLOCKS * NR;

    for (int tap = 0; tap < SUM_R * SUM_S; tap++)
        for (int i = 0; i < NR; i++) {
            int sum = 0;

            for (int c = 0; c < CG; c++)
                for (int rs = 0; rs < R * S; rs++)
                    if ((SUM_R == 1 || rs / S == tap / SUM_S) && (SUM_S == 1 || rs % S == tap % SUM_S))
                        sum += weight_at(w, g, k0 + i, c, rs);
            sums[(kb * SUM_R * SUM_S + tap) * NR + i] = SHIFT * sum;
        }
}

#if IN_PLACE && TURNED && !OWN_SUMS
/* What the 128s added to w come to, of 16 pixels; where there are fewer the last ones are read again from the first. */
KERNEL WG_SIZE(1, 1, 1) i8_tile_sum_x(GLOBAL const char *RESTRICT x, GLOBAL int *RESTRICT sums)
{
    const int g = GRP(1) % GROUPS, n = GRP(1) / GROUPS, n_pixels = H * W;
    const int p0 = GRP(0) * 16 + 16 <= n_pixels ? GRP(0) * 16 : n_pixels - 16;
    int parts[16 * PIXEL];

    if (n_pixels >= 16) {
        INT_V acc[PIXEL];

        UNROLL
        for (int i = 0; i < PIXEL; i++)
            acc[i] = (INT_V)0;
        for (int cb = 0; cb < CBLOCKS; cb++) {
            GLOBAL const int *from = (GLOBAL const int *)(x + X_AT(n, (g * CG + cb * B) / XL * XL, 0, p0));

            UNROLL
            for (int i = 0; i < PIXEL; i++) {
                const INT_V v = INT_VLOAD(from + 16 * i);

                __asm__("vpdpbusd %2, %1, %0" : "+v"(acc[i]) : "v"((INT_V)0x80808080), "v"(v));
            }
        }
        UNROLL
        for (int i = 0; i < PIXEL; i++)
            PRIVATE_INT_VSTORE(acc[i], parts + 16 * i);
        for (int i = GRP(0) * 16 - p0; i < 16; i++) {
            int sum = 0;

            UNROLL
            for (int j = 0; j < STEPS; j++)
                sum += parts[i * PIXEL + g * CG % XL / 4 + j];
            sums[(n * GROUPS + g) * n_pixels + p0 + i] = sum;
        }
    } else {
        for (int i = 0; i < n_pixels; i++) {
            int sum = 0;

            for (int c = 0; c < CG; c++)
                sum += x[X_AT(n, g * CG + c, 0, i)];
            sums[(n * GROUPS + g) * n_pixels + i] = 128 * sum;
        }
    }
}
#endif

#if OWN_SUMS
#define EVERY_128(type) ((type)0x80808080)
#define ADD_128(c, type, v) __asm__("vpdpbusd %2, %1, %0" : "+v"(c) : "v"(EVERY_128(type)), "v"(v))
#define PIXEL_AT(i) ((i) / VW * STEP_H * WP + (i) % VW * STEP_W)
#if XL == 16 && STEP_W == 1
#define QUADS (VW / 4) /* of neighbours in one vector */
#else
#define QUADS 0
#endif

/* extra[i] = 128 * the sum of all channels of the tile's i-th pixel; from: the first channel of the first pixel. */
DEVICE void sum_pixels(GLOBAL const int *from, int *extra)
{
#if XL == 16
    int4 rest[VH * VW];
#if QUADS
    int16 quads[VH * QUADS];
    int parts[16];
#endif

    UNROLL
    for (int i = 0; i < VH * VW; i++)
        rest[i] = (int4)(0);
#if QUADS
    UNROLL
    for (int i = 0; i < VH * QUADS; i++)
        quads[i] = (int16)(0);
#endif
    for (int cb = 0; cb < CBLOCKS; cb++, from += HP * WP * PIXEL) {
#if QUADS
        UNROLL
        for (int i = 0; i < VH * QUADS; i++) {
            const int16 v = INT_VLOAD(from + PIXEL_AT(i / QUADS * VW + i % QUADS * 4) * PIXEL);

            ADD_128(quads[i], int16, v);
        }
#endif
        UNROLL
        for (int i = 0; i < VH * VW; i++)
            if (i % VW >= QUADS * 4) {
                const int4 v = vload4(0, from + PIXEL_AT(i) * PIXEL);

                ADD_128(rest[i], int4, v);
            }
    }
#if QUADS
    UNROLL
    for (int i = 0; i < VH * QUADS; i++) {
        PRIVATE_INT_VSTORE(quads[i], parts);
        UNROLL
        for (int j = 0; j < 4; j++)
            extra[i / QUADS * VW + i % QUADS * 4 + j] =
                parts[4 * j] + parts[4 * j + 1] + parts[4 * j + 2] + parts[4 * j + 3];
    }
#endif
    UNROLL
    for (int i = 0; i < VH * VW; i++)
        if (i % VW >= QUADS * 4)
            extra[i] = rest[i].s0 + rest[i].s1 + rest[i].s2 + rest[i].s3;
#else
    for (int i = 0; i < VH * VW; i++) {
        GLOBAL const int *row = from + PIXEL_AT(i) * PIXEL;
        int16 sum = (int16)(0);
        int parts[16], rest = 0;

        for (int j = 0; j + 16 <= PIXEL; j += 16) {
            const int16 v = INT_VLOAD(row + j);

            ADD_128(sum, int16, v);
        }
        PRIVATE_INT_VSTORE(sum, parts);
        for (int j = 0; j < 16; j++)
            rest += parts[j];
        for (int j = PIXEL / 16 * 64; j < PIXEL * 4; j++)
            rest += 128 * ((GLOBAL const char *)row)[j];
        extra[i] = rest;
    }
#endif
}
#endif

#if FLOATS
typedef FLOAT_V WEIGHT_V;
#define WEIGHT_VLOAD(p) FLOAT_VLOAD(p)
#define MULTIPLY(c, a, b) c = fma((FLOAT_V)(a), (b), c)
#else
typedef INT_V WEIGHT_V;
#define WEIGHT_VLOAD(p) INT_VLOAD(p)
#define MULTIPLY(c, a, b) VDOT4(c, (a) ^ (IN_PLACE && !TURNED ? FLIP : 0), b)
#endif

/* Weights lie in the order of use, so those of AHEAD steps later are asked for without a look at the loops. */
#if AHEAD
#define AHEAD_OF(p)                                                                                                    \
    UNROLL                                                                                                             \
    for (int v = 0; v < NR; v += 16)                                                                                   \
        PREFETCH1((p) + v);
#else
#define AHEAD_OF(p)
#endif

/* A row of the tile's pixels in the block AHEAD_X blocks later, for windows of one pixel. */
#if AHEAD_X
#define AHEAD_OF_X(cb)                                                                                                 \
    UNROLL                                                                                                             \
    for (int i = 0; i < VW * STEP_W * PIXEL; i += 16)                                                                  \
        PREFETCH1(FROM((cb) + AHEAD_X) + i);
#else
#define AHEAD_OF_X(cb)
#endif

/* Lines of the next KT blocks' weights that one tap of one block of B channels asks for. */
#if NEXT
#define NEXT_LINES CEIL_DIV(STEPS * NR, 16 * PTILES * QGROUPS * TILES)
#define BLOCK_LINES (CBLOCKS * R * S * STEPS * NR / 16)
#define NEXT_OF_ITEM (TILES * KT * CBLOCKS * R * S * NEXT_LINES)
#define ASK_NEXT                                                                                                       \
    UNROLL                                                                                                             \
    for (int i = 0; i < NEXT_LINES; i++, next += next_line)                                                            \
        PREFETCH2(next);
#else
#define ASK_NEXT
#endif

/* acc += one block of B channels: the taps r_begin .. r_end-1 of the window. */
#define ADD_BLOCK(acc, cb)                                                                                             \
    AHEAD_OF_X(cb)                                                                                                     \
    for (int r = r_begin; r < r_end; r++) {                                                                            \
        UNROLL_S                                                                                                       \
        for (int s = 0; s < S; s++) {                                                                                  \
            GLOBAL const OPERAND *RESTRICT a = FROM(cb) + ((long)(r * DH) * WP + s * DW) * PIXEL;                      \
            GLOBAL const OPERAND *RESTRICT b = wp + (((long)(kb * CBLOCKS + (cb)) * R + r) * S + s) * STEPS * NR;      \
                                                                                                                       \
            ASK_NEXT                                                                                                   \
            UNROLL_BY(KU)                                                                                              \
            for (int step = 0; step < STEPS; step++) {                                                                 \
                WEIGHT_V weight[NV];                                                                                   \
                                                                                                                       \
                UNROLL                                                                                                 \
                for (int v = 0; v < NV; v++)                                                                           \
                    weight[v] = WEIGHT_VLOAD(b + step * NR + v * VK);                                                  \
                AHEAD_OF(b + (step + AHEAD) * NR)                                                                      \
                UNROLL                                                                                                 \
                for (int i = 0; i < VH * VW; i++) {                                                                    \
                    const OPERAND pixel = a[(i / VW * STEP_H * WP + i % VW * STEP_W) * PIXEL + step];                  \
                                                                                                                       \
                    UNROLL                                                                                             \
                    for (int v = 0; v < NV; v++)                                                                       \
                        if (MEETS(i, s))                                                                               \
                            MULTIPLY(acc[i][v], pixel, weight[v]);                                                     \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

/* The first operand of the tile's first pixel in block cb. */
#if IN_PLACE
#define FROM(cb)                                                                                                       \
    ((GLOBAL const int *)(x + (((long)(n * (C / XL) + (g * CG + (cb)*B) / XL) * HP + p0 * STEP_H) * WP + q0 * STEP_W) * XL + \
                          (g * CG + (cb)*B) % XL))
#else
#define FROM(cb)                                                                                                       \
    ((GLOBAL const OPERAND *)x + (((long)((n * GROUPS + g) * CBLOCKS + (cb)) * HP + p0 * STEP_H) * WP + q0 * STEP_W) * PIXEL)
#endif

/* What the sums of vector v of the block begin with beside FIRST: the bias, where no vector goes beyond it. */
#if defined(EPI_BIAS) && KG % NR == 0
#define BEGIN(v) INT_VLOAD(bias + g * KG + k0 + (v)*VK)
#undef ADD_BIAS
#undef VADD_BIAS_K
#define ADD_BIAS(v, k) (v)
#define VADD_BIAS_K(v, k) (v)
#else
#define BEGIN(v) ((INT_V)(0))
#endif

/* first[s][v]: the sums of w of the rows of the window that count. */
#if SUMS_OF_W
#define FIRST(s, v) INT_VLOAD(sums + ((kb * SUM_R + r) * SUM_S + (s)) * NR + (v)*VK)
#define BEGIN_SUMS                                                                                                     \
    INT_V first[SUM_S][NV];                                                                                            \
                                                                                                                       \
    UNROLL                                                                                                             \
    for (int v = 0; v < SUM_S * NV; v++)                                                                               \
        first[v / NV][v % NV] = (INT_V)(0);                                                                            \
    for (int r = SKIP_ROWS ? r_begin : 0; r < (SKIP_ROWS ? r_end : 1); r++)                                            \
        UNROLL                                                                                                         \
        for (int v = 0; v < SUM_S * NV; v++)                                                                           \
            first[v / NV][v % NV] += FIRST(v / NV, v % NV);                                                            \
    UNROLL                                                                                                             \
    for (int i = 0; i < VH * VW * SUM_S * NV; i++)                                                                     \
        if (MEETS(i / (SUM_S * NV), i / NV % SUM_S))                                                                   \
            acc[i / (SUM_S * NV)][i % NV] += first[i / NV % SUM_S][i % NV];
#else
#define BEGIN_SUMS
#endif

#ifdef UNSIGNED
#undef ZERO_OF
#define ZERO_OF(i) held_zero[i]
#endif

/* x is xp unless IN_PLACE; then the last tiles begin earlier instead of reading behind the image. */
KERNEL WG_SIZE(WG, 1, 1) i8_tile(GLOBAL const ELEM *RESTRICT x, GLOBAL const OPERAND *RESTRICT wp SUMS_PARAM, Y_PARAMS)
{
    const int item = GRP(0) * WG + LID(0);
#if ORDER == 0
    const int qg = item % QGROUPS, pt = item / QGROUPS % PTILES, part = item / (QGROUPS * PTILES) % KPARTS;
#else
    const int part = item % KPARTS, qg = item / KPARTS % QGROUPS, pt = item / (KPARTS * QGROUPS) % PTILES;
#endif
    const int n = item / (KPARTS * QGROUPS * PTILES), g = part / GPARTS, k_first = part % GPARTS * KT;
    const int p_first = pt * VH, p0 = IN_PLACE && p_first + VH > ROWS ? ROWS - VH : p_first;
#if SKIP_ROWS
    const int h0 = p0 * STEP_H - PT, r_begin = h0 < 0 ? CEIL_DIV(-h0, DH) : 0, r_end = h0 + (R - 1) * DH < H ? R : CEIL_DIV(H - h0, DH);
#else
    const int r_begin = 0, r_end = R;
#endif
#if NEXT
    const int kb_next = g * GBLOCKS + (k_first + KT < GBLOCKS ? k_first + KT : GBLOCKS), asked = item % (QGROUPS * PTILES) * NEXT_OF_ITEM;
    const int next_line = kb_next < KBLOCKS && asked < KT * BLOCK_LINES ? 16 : 0;
    GLOBAL const OPERAND *RESTRICT next = wp + (long)kb_next * BLOCK_LINES * 16 * (next_line > 0) + (long)asked * next_line;
#endif

#ifdef UNSIGNED
    HOLD_ZEROS(held_zero);
#endif

    if (item >= ITEMS)
        return;
    for (int tile = 0; tile < TILES; tile++) {
        const int q_first = (qg * TILES + tile) * VW, q0 = IN_PLACE && q_first + VW > COLUMNS ? COLUMNS - VW : q_first;
#if OWN_SUMS
        int extra[VH * VW];
#endif

        if (q_first >= COLUMNS)
            return;
#if OWN_SUMS
        sum_pixels(FROM(0), extra);
#endif
        for (int kg = k_first; kg < k_first + KT && kg < GBLOCKS; kg++) {
        const int kb = g * GBLOCKS + kg, k0 = kg * NR;
        INT_V acc[VH * VW][NV];

        UNROLL
        for (int i = 0; i < VH * VW; i++)
            UNROLL
            for (int v = 0; v < NV; v++)
                acc[i][v] = BEGIN(v);
        BEGIN_SUMS
        for (int cb = 0; cb < CBLOCKS; cb++) {
#if FLOATS
            FLOAT_V part[VH * VW][NV];

            UNROLL
            for (int i = 0; i < VH * VW; i++)
                UNROLL
                for (int v = 0; v < NV; v++)
                    part[i][v] = (FLOAT_V)(0.0f);
            ADD_BLOCK(part, cb)
            UNROLL
            for (int i = 0; i < VH * VW; i++)
                UNROLL
                for (int v = 0; v < NV; v++)
                    acc[i][v] += CAT(convert_int, VK)(part[i][v]);
#else
            ADD_BLOCK(acc, cb)
#endif
        }
#if TURNED && IN_PLACE
        UNROLL
        for (int i = 0; i < VH * VW; i++) {
#if OWN_SUMS
            const int more = extra[i];
#else
            int more = 0;

            for (int r = 0; r < R; r++)
                for (int s = 0; s < S; s++)
                    more += sums[((n * GROUPS + g) * HP + (p0 + i / VW) * STEP_H + r * DH) * WP + (q0 + i % VW) * STEP_W + s * DW];
#endif
            UNROLL
            for (int v = 0; v < NV; v++)
                acc[i][v] -= (INT_V)(more);
        }
#endif
        {
            int out[VH * VW][NR];

            UNROLL
            for (int i = 0; i < VH * VW; i++)
                UNROLL
                for (int v = 0; v < NV; v++)
                    PRIVATE_INT_VSTORE(acc[i][v], &out[i][v * VK]);
#if VEC > 1
            if (KG % NR == 0 || k0 + NR <= KG) {
                UNROLL
                for (int i = 0; i < VH * VW; i++)
                    if (p0 + i / VW >= p_first && q0 + i % VW >= q_first && p0 + i / VW < ROWS && q0 + i % VW < COLUMNS)
                        UNROLL
                        for (int j = 0; j < NR; j += VEC) {
                            const int k = g * KG + k0 + j;

                            STORE_YK(Y_AT(n, k, p0 + i / VW, q0 + i % VW), k, PRIVATE_VLOAD(&out[i][j]));
                        }
            } else
#endif
                for (int k = g * KG + k0; k < g * KG + k0 + NR && k < g * KG + KG; k++)
                    for (int i = p_first - p0; i < VH && p0 + i < ROWS; i++)
                        for (int j = q_first - q0; j < VW && q0 + j < COLUMNS; j++)
                            STORE_Y(Y_AT(n, k, p0 + i, q0 + j), k, out[i * VW + j][k - g * KG - k0]);
        }
        }
    }
}
