/* SPDX-License-Identifier: MIT */
/* direct_tile.cl - y[n,k,p,q] = sum over c,r,s of x[n,c0(k)+c,p*SH+r*DH-PT,q*SW+s*DW-PL] * w[k,c,r,s], for CPUs; x and y in
 * nchw or in blocks of XL, YL channels, w in kcrs; f32, f16 (sums in float or half); GROUPS; any epilogue.
 * Vectors hold channels of y: a tile of VH x VW pixels x NR = NV*VEC channels is summed in registers, tile by tile over a
 * region of TP x TQ tiles. One work-item computes KT blocks of NR channels of one region of one image and group.
 * wp[g][k/NR][c/CI][r][s][c%CI][k%NR]: weights packed beforehand. CI channels stand together: a block of x, or CB of nchw.
 * Knobs: VEC lanes; NV vectors of channels; VH VW pixels of a tile; CB channels summed by a tile in one go; KU unroll of the
 * loop over CI channels; US unroll of the loop over s; TP TQ tiles of a region; KT blocks of NR channels an item;
 * PASS 1 = CB channels are summed for all tiles of the region before the next CB, so that their weights stay in the first
 * cache; PACK 1 = the region's input is copied to local memory, with zeros around it (CB channels at a time where PASS),
 * 0 = x is read where it lies (no padding); ORDER which items follow each other: 0 regions (their weights stay in cache), 1 channels (their input does).
 * SKIP 1 = taps that see a first or last pixel in the padding leave it out.
 * PF 1 = each tile asks for its part of the weights that are needed after those at work: the next block of channels' or,
 * where PASS, what the pass or the item goes on with.
 * Where y is nchw a region's sums of NR channels are kept in local memory until they are turned into rows.
 * A tile that would pass the edge is moved back inside and writes only what its neighbour does not.
 * Launch: local (1, 1, 1); groups (NB*GROUPS*KGROUPS*PREGIONS*QREGIONS, 1, 1). Packing: a group a (k block, c block, g). */
#include "conv/conv.clh"
#include "conv/turned.clh"
#ifndef NV
#define NV 1
#define VH 1
#define VW 4
#define CB 4
#define KU 1
#define US 0
#define TP 1
#define TQ 2
#define KT 1
#define PASS 0
#define PACK 1
#define SKIP 1
#define ORDER 0
#define PF 0
#endif

#define NR (NV * VEC)
#define KBLOCKS CEIL_DIV(KG, NR)
#define KGROUPS CEIL_DIV(KBLOCKS, KT)
#define CBLOCKS CEIL_DIV(CG, CB)
#define PREGIONS CEIL_DIV(P, TP *VH)
#define QREGIONS CEIL_DIV(Q, TQ *VW)
#if XL > 1 && CG % XL == 0
#define CI XL
#define PIXEL CI /* distances of neighbours along a row of input, and of channels */
#define CHANNEL 1
#else
#define CI CB
#define PIXEL 1
#define CHANNEL (ROWS * COLS)
#endif
#if PACK
#define ROW_STEP (R == 1 ? SH : 1) /* rows and columns of x between neighbours in local memory */
#define COL_STEP (S == 1 ? SW : 1)
#define ROWS ((TP * VH - 1) * NEXT_ROW + (R - 1) * DH + 1)
#define COLS ((TQ * VW - 1) * NEXT_COL + (S - 1) * DW + 1)
#define INPUT LOCAL const SUM
#define ROW0(p) (((p) - p_base) * NEXT_ROW) /* of `input`: what the first tap of output row p reads */
#define COL0(q) (((q) - q_base) * NEXT_COL)
#else
#define ROW_STEP 1
#define COL_STEP 1
#define ROW0(p) ((p) * SH - PT)
#define COL0(q) ((q) * SW - PL)
#define ROWS H
#define COLS W
#define INPUT GLOBAL const ELEM
#endif
#define NEXT_ROW (SH / ROW_STEP) /* of `input`, between neighbouring outputs */
#define NEXT_COL (SW / COL_STEP)
#if PACK && PASS
#define COPIED CB /* channels in local memory */
#else
#define COPIED (CBLOCKS * CB)
#endif
#if PASS
#define PASS_CHANNEL c
#else
#define PASS_CHANNEL 0
#endif
/* Packed weights of block kb from channel c on, which is a multiple of CB. */
#define WEIGHTS(kb, c) (wp + (((long)(g * KBLOCKS + (kb)) * CBLOCKS * CB) + (c)) * R * S * NR)
#if US
#define UNROLL_S UNROLL
#else
#define UNROLL_S
#endif
#define FOR_TILE                                                                                                       \
    UNROLL for (int i = 0; i < VH; i++) UNROLL for (int j = 0; j < VW; j++) UNROLL for (int v = 0; v < NV; v++)

KERNEL WG_SIZE(1, 1, 1) direct_tile_pack_w(GLOBAL const ELEM *RESTRICT w, GLOBAL ELEM *RESTRICT wp)
{
    const int kb = GRP(0), ci = GRP(1), g = GRP(2);
    GLOBAL ELEM *to = wp + (long)((g * KBLOCKS + kb) * (CBLOCKS * CB / CI) + ci) * R * S * CI * NR;

    for (int rs = 0; rs < R * S; rs++)
        for (int c = 0; c < CI; c++)
            for (int i = 0; i < NR; i++) {
                const int k = kb * NR + i, channel = ci * CI + c, inside = k < KG && channel < CG;

                STORE1(to + (rs * CI + c) * NR + i,
                       inside ? LOAD1(w + W_AT(g * KG + k, channel, rs / S, rs % S)) : (SUM)0);
            }
}

#if PACK
#include "conv2d/direct_copy.clh"
#if COL_STEP == 1 && PIXEL == XL
#define COPY_PIXELS(to, from, n) COPY_RUN(to, from, (n) * PIXEL)
#else
#define COPY_PIXELS(to, from, n)                                                                                       \
    for (int i = 0; i < (n); i++)                                                                                      \
        COPY_RUN((to) + i * PIXEL, (from) + i * COL_STEP * XL, PIXEL)
#endif
/* A row of input of PIXEL channels from channel c of the group: COLS columns of x from w0 on, zeros where x is not. */
#define COPY_ROW(to, c, h, w0)                                                                                         \
    {                                                                                                                  \
        const int inside = (c) < CG && (h) >= 0 && (h) < H;                                                            \
        const int first = inside ? max(0, min(CEIL_DIV(-(w0), COL_STEP), COLS)) : COLS;                                \
        const int last = inside ? max(first, min(CEIL_DIV(W - (w0), COL_STEP), COLS)) : COLS;                          \
        GLOBAL const ELEM *from = x + X_AT(n, g * CG + (c), inside ? (h) : 0, 0) + (w0) * XL + first * COL_STEP * XL;  \
        LOCAL SUM *row_to = (to);                                                                                      \
                                                                                                                       \
        ZERO_RUN(row_to, first * PIXEL)                                                                                \
        row_to += first * PIXEL;                                                                                       \
        COPY_PIXELS(row_to, from, last - first)                                                                        \
        row_to += (last - first) * PIXEL;                                                                              \
        ZERO_RUN(row_to, (COLS - last) * PIXEL)                                                                        \
    }
#define COPY_INPUT(c_first)                                                                                            \
    for (int c_to = 0; c_to < COPIED; c_to += PIXEL)                                                                   \
        for (int row = 0; row < ROWS; row++)                                                                           \
            COPY_ROW(input + (c_to * ROWS + row * PIXEL) * COLS, (c_first) + c_to, p_base * SH - PT + row * ROW_STEP,             \
                     q_base * SW - PL)
#endif

typedef VT tile_sum[VH * VW][NV];

/* acc += CI channels of one tap, for the pixels from j0 up to before j1 of each row. */
#define ADD_TAP(acc, j0, j1)                                                                                           \
    UNROLL_BY(KU)                                                                                                      \
    for (int ch = 0; ch < CI; ch++) {                                                                                  \
        VT weight[NV];                                                                                                 \
                                                                                                                       \
        UNROLL                                                                                                         \
        for (int v = 0; v < NV; v++)                                                                                   \
            weight[v] = VLOAD(b + ch * NR + v * VEC);                                                                  \
        UNROLL                                                                                                         \
        for (int i = 0; i < VH; i++)                                                                                   \
            UNROLL                                                                                                     \
            for (int j = j0; j < j1; j++) {                                                                            \
                const VT pixel = VSET(PIXEL_AT(a + (i * NEXT_ROW * COLS + j * NEXT_COL) * PIXEL + ch * CHANNEL));                  \
                                                                                                                       \
                UNROLL                                                                                                 \
                for (int v = 0; v < NV; v++)                                                                           \
                    acc[i * VW + j][v] = VFMA(pixel, weight[v], acc[i * VW + j][v]);                                   \
            }                                                                                                          \
    }
#if SKIP
#define ADD_TAP_INSIDE(acc)                                                                                            \
    if (q0 * SW + s * DW < PL) {                                                                                       \
        ADD_TAP(acc, 1, VW)                                                                                            \
    } else if ((q0 + VW - 1) * SW + s * DW - PL >= W) {                                                                \
        ADD_TAP(acc, 0, VW - 1)                                                                                        \
    } else {                                                                                                           \
        ADD_TAP(acc, 0, VW)                                                                                            \
    }
#else
#define ADD_TAP_INSIDE(acc) ADD_TAP(acc, 0, VW)
#endif

/* acc += CB channels from channel c of the group, which is channel at_c of the input; all taps of the window. */
#define ADD_BLOCK(acc, c, at_c)                                                                                        \
    for (int ci = 0; ci < CB; ci += CI)                                                                                \
        for (int r = r_first; r < r_last; r++) {                                                                       \
            UNROLL_S                                                                                                   \
            for (int s = 0; s < S; s++) {                                                                              \
                INPUT *a = input + (((at_c) + ci) * ROWS + (row0 + r * DH) * PIXEL) * COLS + (col0 + s * DW) * PIXEL;  \
                GLOBAL const ELEM *b = weights + (((c) + ci) * R * S + (r * S + s) * CI) * NR;                         \
                                                                                                                       \
                PREFETCH_NEXT(((PASS ? 0 : (c)) + ci) / CI * R * S + r * S + s)                                        \
                ADD_TAP_INSIDE(acc)                                                                                    \
            }                                                                                                          \
        }
#if PACK
#define PIXEL_AT(p) (*(p))
#else
#define PIXEL_AT(p) LOAD1(p)
#endif

#if PF
#define LINE (64 / (int)sizeof(ELEM))
#define BURST CEIL_DIV(CI * NR, LINE * TP * TQ) /* lines to ask for at a tap */
#define TAPS ((PASS ? CB : CBLOCKS * CB) / CI * R * S) /* of a tile with the weights at work */
#define LAST_PART (CEIL_DIV(CI * NR, LINE * BURST) - 1) /* tiles behind this one ask for the same again */
#define PREFETCH_NEXT(tap)                                                                                             \
    UNROLL for (int line = 0; line < BURST; line++)                                                                    \
        PREFETCH2(ahead + ((tap) * BURST + line) * LINE);
#else
#define PREFETCH_NEXT(tap)
#endif

#define FOR_PART                                                                                                       \
    UNROLL for (int i = 0; i < VH; i++) UNROLL for (int j = 0; j < VW; j++) if (p0 + i >= p1 && q0 + j >= q1)          \
        UNROLL for (int v = 0; v < NV; v++)
/* Writes the part of the tile at (p0, q0) that begins at (p1, q1): to y, or to z, whose NR channels are turned when they are whole. */
#if YL == 1
#define REGION_W (TQ * VW < Q ? TQ * VW : Q)
#define STORE_TILE(acc)                                                                                                \
    FOR_PART LOCAL_VSTORE(acc[i * VW + j][v], z + ((p0 + i - p_first) * REGION_W + q0 + j - q_first) * NR + v * VEC);
#elif VEC <= YL && KG % VEC == 0
#define STORE_TILE(acc)                                                                                                \
    FOR_PART                                                                                                           \
    {                                                                                                                  \
        const int k = kb * NR + v * VEC;                                                                               \
                                                                                                                       \
        if (k < KG)                                                                                                    \
            STORE_YK(Y_AT(n, g * KG + k, p0 + i, q0 + j), g * KG + k, acc[i * VW + j][v]);                             \
    }
#else
#define STORE_TILE(acc)                                                                                                \
    FOR_PART                                                                                                           \
    {                                                                                                                  \
        SUM out[VEC];                                                                                                  \
                                                                                                                       \
        PRIVATE_VSTORE(acc[i * VW + j][v], out);                                                                       \
        for (int l = 0; l < VEC && kb * NR + v * VEC + l < KG; l++) {                                                  \
            const int k = g * KG + kb * NR + v * VEC + l;                                                              \
                                                                                                                       \
            STORE_Y(Y_AT(n, k, p0 + i, q0 + j), k, out[l]);                                                            \
        }                                                                                                              \
    }
#endif

#if YL == 1
/* Writes the region at (p, q), NR channels from k on. */
DEVICE void store_region(LOCAL const SUM *RESTRICT z, int n, int g, int k, int p, int q, Y_PARAMS)
{
    const int rows = min(TP * VH, P - p), columns = min(REGION_W, Q - q);

    for (int v = 0; v < NR && k + v < KG; v += VEC)
        if (REGION_W == Q)
            store_turned(z + v, NR, rows * Q, n, g, k + v, p, q, Y_ARGS);
        else
            for (int i = 0; i < rows; i++)
                store_turned(z + i * REGION_W * NR + v, NR, columns, n, g, k + v, p + i, q, Y_ARGS);
}
#endif

KERNEL WG_SIZE(1, 1, 1) direct_tile(GLOBAL const ELEM *RESTRICT x, GLOBAL const ELEM *RESTRICT wp, Y_PARAMS)
{
    const int item = GRP(0);
#if ORDER == 0
    const int qr = item % QREGIONS, pr = item / QREGIONS % PREGIONS, kg = item / (QREGIONS * PREGIONS) % KGROUPS;
#else
    const int kg = item % KGROUPS, qr = item / KGROUPS % QREGIONS, pr = item / (KGROUPS * QREGIONS) % PREGIONS;
#endif
    const int ng = item / (KGROUPS * QREGIONS * PREGIONS), g = ng % GROUPS, n = ng / GROUPS;
    const int kb_end = min(kg * KT + KT, KBLOCKS);
    const int p_first = pr * TP * VH, q_first = qr * TQ * VW; /* of the region; its tiles may begin a little before */
#if PACK
    const int p_base = min(p_first, P - VH), q_base = min(q_first, Q - VW);
    LOCAL_ARRAY SUM input[COPIED * ROWS * COLS];
#else
    GLOBAL const ELEM *input = x + (n * C + g * CG) * H * W;
#endif
#if YL == 1
    LOCAL_ARRAY SUM z[TP * VH * REGION_W * NR];
#endif
#if PASS
    LOCAL_ARRAY SUM sums[KT * TP * TQ * VH * VW * NR];

    for (int c = 0; c < CBLOCKS * CB; c += CB) {
#endif
#if PACK
        COPY_INPUT(PASS_CHANNEL)
#endif
        for (int kb = kg * KT; kb < kb_end; kb++) {
            GLOBAL const ELEM *RESTRICT weights = WEIGHTS(kb, 0);
#if PF
            GLOBAL const ELEM *next = PASS && kb + 1 < kb_end                     ? WEIGHTS(kb + 1, PASS_CHANNEL)
                                      : PASS && PASS_CHANNEL + CB < CBLOCKS * CB ? WEIGHTS(kg * KT, PASS_CHANNEL + CB)
                                                                                  : WEIGHTS(min(kb + 1, KBLOCKS - 1), 0);
#endif

            for (int tile = 0; tile < TP * TQ; tile++) {
                const int p1 = p_first + tile / TQ * VH, q1 = q_first + tile % TQ * VW;
                const int p0 = min(p1, P - VH), q0 = min(q1, Q - VW);
                const int row0 = ROW0(p0), col0 = COL0(q0);
                const int r_first = max(0, CEIL_DIV(PT - (p0 + VH - 1) * SH, DH)); /* rows of the window that see x */
                const int r_last = min(R, CEIL_DIV(H + PT - p0 * SH, DH));
                tile_sum acc;
#if PF
                GLOBAL const ELEM *ahead = next + min(tile, LAST_PART) * TAPS * BURST * LINE;
#endif

                if (p1 >= P || q1 >= Q)
                    continue;
#if PASS
                LOCAL SUM *kept = sums + ((kb - kg * KT) * TP * TQ + tile) * VH * VW * NR;

                if (c > 0) {
                    FOR_TILE acc[i * VW + j][v] = LOCAL_VLOAD(kept + (i * VW + j) * NR + v * VEC);
                } else {
                    FOR_TILE acc[i * VW + j][v] = VSET((SUM)0);
                }
                ADD_BLOCK(acc, c, PACK ? 0 : c)
                if (c + CB < CG) {
                    FOR_TILE LOCAL_VSTORE(acc[i * VW + j][v], kept + (i * VW + j) * NR + v * VEC);
                } else
                    STORE_TILE(acc)
#else
                FOR_TILE acc[i * VW + j][v] = VSET((SUM)0);
                for (int c = 0; c < CBLOCKS * CB; c += CB)
                    ADD_BLOCK(acc, c, c)
                STORE_TILE(acc)
#endif
            }
#if YL == 1
            if (!PASS || PASS_CHANNEL + CB >= CG)
                store_region(z, n, g, kb * NR, p_first, q_first, Y_ARGS);
#endif
        }
#if PASS
    }
#endif
}
