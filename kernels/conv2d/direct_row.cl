/* SPDX-License-Identifier: MIT */
/* direct_row.cl - y[n,k,p,q] = sum over c,r,s of x[n,c0(k)+c,p*SH+r*DH-PT,q*SW+s*DW-PL] * w[k,c,r,s], nchw and kcrs, for CPUs;
 * f32, f16 (sums in float or half); GROUPS; any epilogue. Vectors hold neighbours along a row: nothing is transposed.
 * A work-item computes a region of TP rows x RW columns for KT blocks of MR channels. CB channels of its input at a time are
 * copied to local memory: input[CB][row % SH][column % SW][ROWS][PITCH], zeros where x is not, so that each tap of the window
 * reads neighbours. The region is one run of F = (TP-1)*PITCH + RW pixels, the few between rows computed and dropped;
 * a tile of NV vectors of it x MR channels is summed in registers. wp[g][k/MR][c][r][s][c%CB][k%MR]: packed weights.
 * Knobs: VEC lanes; NV vectors and MR channels of a tile; TP rows, TQ tiles of columns (at most all Q) of a region; CB channels
 * summed in one go; KU unroll of the loop over them; KT blocks of MR channels an item; SWAP 0 = all KT blocks for a tile of
 * pixels before the next tile, 1 = all tiles for a block of channels; PF 1 = prefetching: of one long row the pixels copied next, else (SWAP) the next block's weights;
 * ORDER which items follow each other: 0 regions, 1 channels. Sums are kept in local memory between blocks of CB channels and, but for P = 1, until they are written.
 * Launch: local (1, 1, 1); groups (NB*GROUPS*KGROUPS*PREGIONS*QREGIONS, 1, 1). Packing: a group a (k block, c block, g). */
#include "conv/conv.clh"
#ifndef NV
#define NV 1
#define MR 4
#define TP 1
#define TQ 1
#define CB 2
#define KU 1
#define KT 1
#define SWAP 0
#define ORDER 0
#define PF 0
#endif
#include "conv2d/direct_copy.clh"

#define RW (Q < TQ * NV * VEC ? Q : TQ * NV * VEC)
#define KBLOCKS CEIL_DIV(KG, MR)
#define KTS (KT < KBLOCKS ? KT : KBLOCKS)
#define KGROUPS CEIL_DIV(KBLOCKS, KTS)
#define CBLOCKS CEIL_DIV(CG, CB)
#define PREGIONS CEIL_DIV(P, TP)
#define QREGIONS CEIL_DIV(Q, RW)
#define ROW_PHASES (R == 1 ? 1 : SH)
#define COL_PHASES (S == 1 ? 1 : SW)
#define ROWS (TP + (R - 1) * DH / SH)
#define PITCH (RW + (S - 1) * DW / SW)
#if P == 1 && R == 1 && S == 1 /* one long row: a panel input[CB][NV*VEC] a tile, SWAP: of all tiles, else of the one at work */
#define FLAT 1
#define RUN_COLS (NV * VEC)
#define RUNS (SWAP ? CEIL_DIV(RW, RUN_COLS) : 1)
#define PIXEL (SWAP ? CB : 0) /* distance of the tiles' pixels in local memory */
#else
#define FLAT 0
#define RUN_COLS PITCH
#define RUNS 1
#define PIXEL 1
#endif
#define PLANE (CEIL_DIV(ROWS * RUN_COLS, VEC) * VEC)
#define CHANNEL (ROW_PHASES * COL_PHASES * PLANE)
#define F ((TP - 1) * PITCH + RW)
#define FV CEIL_DIV(F, VEC)
#define BLOCK (R * S * CB * MR) /* weights that a tile needs in one go */
#define TAIL (FV % NV) /* vectors of the last tile, when it is not a whole one */

KERNEL WG_SIZE(1, 1, 1) direct_row_pack_w(GLOBAL const ELEM *RESTRICT w, GLOBAL SUM *RESTRICT wp)
{
    const int kb = GRP(0), cb = GRP(1), g = GRP(2);
    GLOBAL SUM *to = wp + (long)((g * KBLOCKS + kb) * CBLOCKS + cb) * BLOCK;

    for (int rs = 0; rs < R * S; rs++)
        for (int c = 0; c < CB; c++)
            for (int i = 0; i < MR; i++) {
                const int k = kb * MR + i, channel = cb * CB + c, inside = k < KG && channel < CG;

                to[(rs * CB + c) * MR + i] = inside ? LOAD1(w + W_AT(g * KG + k, channel, rs / S, rs % S)) : (SUM)0;
            }
}

/* One row of input of one channel: RUN_COLS columns from w0, each SW apart. */
#define COPY_ROW(to, c, h, w0)                                                                                         \
    {                                                                                                                  \
        const int inside = (c) < CG && (h) >= 0 && (h) < H;                                                            \
        const int first = inside ? max(0, min(CEIL_DIV(-(w0), SW), RUN_COLS)) : RUN_COLS;                              \
        const int last = inside ? max(first, min(CEIL_DIV(W - (w0), SW), RUN_COLS)) : RUN_COLS;                        \
        GLOBAL const ELEM *from = x + X_AT(n, g * CG + (c), inside ? (h) : 0, 0) + (w0);                               \
        LOCAL SUM *row_to = (to);                                                                                      \
                                                                                                                       \
        ZERO_RUN(row_to, first)                                                                                        \
        COPY_COLUMNS(row_to, from, first, last)                                                                        \
        row_to += last;                                                                                                \
        ZERO_RUN(row_to, RUN_COLS - last)                                                                              \
    }
#if SW == 1
#define COPY_COLUMNS(to, from, first, last) COPY_RUN((to) + (first), (from) + (first), (last) - (first))
#else
#define COPY_COLUMNS(to, from, first, last)                                                                            \
    for (int i = (first); i < (last); i++)                                                                             \
        (to)[i] = LOAD1((from) + i * SW);
#endif

#if FLAT && SW == 1 && PT == 0 && PL == 0
#define IS_WHOLE(q) ((q) + RUN_COLS <= Q && cb * CB + CB <= CG)
#else
#define IS_WHOLE(q) 0
#endif
/* CB channels from column q of y on, RUNS panels or TP rows. */
#define COPY_INPUT(q)                                                                                                  \
    for (int c = 0; c < CB; c++)                                                                                       \
        for (int phase = 0; phase < ROW_PHASES * COL_PHASES; phase++)                                                  \
            for (int row = 0; row < ROWS; row++)                                                                       \
                for (int run = 0; run < RUNS; run++) {                                                                 \
                    LOCAL SUM *run_to =                                                                                \
                        input + ((run * CB + c) * ROW_PHASES * COL_PHASES + phase) * PLANE + row * PITCH;              \
                    const int run_q = (q) + run * RUN_COLS;                                                            \
                                                                                                                       \
                    if (IS_WHOLE(run_q))                                                                               \
                        UNROLL for (int v = 0; v < NV; v++)                                                            \
                            LOCAL_VSTORE(VLOAD(x + X_AT(n, g * CG + cb * CB + c, 0, run_q) + v * VEC), run_to + v * VEC); \
                    else                                                                                               \
                        COPY_ROW(run_to, cb * CB + c, (p_first + row) * SH + phase / COL_PHASES - PT,                  \
                                 run_q * SW + phase % COL_PHASES - PL)                                                 \
                }

#define FOR_TILE(nv) UNROLL for (int m = 0; m < MR; m++) UNROLL for (int v = 0; v < (nv); v++)

#if PF && SWAP && !FLAT
#define BURST CEIL_DIV(BLOCK, 16 * CEIL_DIV(FV, NV) * R * S)
#define PREFETCH_NEXT(rs)                                                                                              \
    UNROLL for (int line = 0; line < BURST; line++)                                                                    \
        PREFETCH2(weights + BLOCK * CBLOCKS + ((f0 / (NV * VEC) * R * S + (rs)) * BURST + line) * 16);
#elif PF
#define BURST CEIL_DIV(CB * NV, KTS)
#define PREFETCH_NEXT(rs)                                                                                              \
    UNROLL for (int line = 0; line < BURST; line++)                                                                    \
    {                                                                                                                  \
        const int at = (kb - kg * KTS) * BURST + line;                                                                 \
                                                                                                                       \
        PREFETCH2(x + X_AT(n, g * CG + cb * CB + at / NV, 0, q_first + f0 + (RUNS * NV + at % NV) * VEC));             \
    }
#else
#define PREFETCH_NEXT(rs)
#endif
/* acc += CB channels, all taps of the window. */
#define ADD_BLOCK(acc, nv)                                                                                             \
    for (int r = 0; r < R; r++)                                                                                        \
        for (int s = 0; s < S; s++) {                                                                                  \
            LOCAL const SUM *a = input + f0 * PIXEL + (r * DH % SH * COL_PHASES + s * DW % SW) * PLANE + r * DH / SH * PITCH + \
                                 s * DW / SW;                                                                          \
            GLOBAL const SUM *b = weights + (r * S + s) * CB * MR;                                                     \
                                                                                                                       \
            PREFETCH_NEXT(r * S + s)                                                                                   \
            UNROLL_BY(KU)                                                                                              \
            for (int ch = 0; ch < CB; ch++) {                                                                          \
                VT pixels[nv];                                                                                         \
                                                                                                                       \
                UNROLL                                                                                                 \
                for (int v = 0; v < (nv); v++)                                                                         \
                    pixels[v] = LOCAL_VLOAD(a + ch * CHANNEL + v * VEC);                                               \
                UNROLL                                                                                                 \
                for (int m = 0; m < MR; m++) {                                                                         \
                    const VT weight = VSET(b[ch * MR + m]);                                                            \
                                                                                                                       \
                    UNROLL                                                                                             \
                    for (int v = 0; v < (nv); v++)                                                                     \
                        acc[m][v] = VFMA(weight, pixels[v], acc[m][v]);                                                \
                }                                                                                                      \
            }                                                                                                          \
        }

/* Writes a tile of one long row, as far as it is inside. */
#define STORE_FLAT(acc, nv)                                                                                            \
    if (kb * MR + MR <= KG && q_first + f0 + (nv)*VEC <= Q) {                                                          \
        const int to = Y_AT(n, g * KG + kb * MR, 0, q_first + f0);                                                     \
                                                                                                                       \
        FOR_TILE(nv) STORE_YQ(to + m * P * Q + v * VEC, g * KG + kb * MR + m, acc[m][v]);                              \
    } else {                                                                                                           \
        SUM out[MR][(nv)*VEC];                                                                                         \
                                                                                                                       \
        FOR_TILE(nv) PRIVATE_VSTORE(acc[m][v], &out[m][v * VEC]);                                                      \
        for (int m = 0; m < MR && kb * MR + m < KG; m++)                                                               \
            for (int j = 0; j < (nv)*VEC && q_first + f0 + j < Q; j++)                                                 \
                STORE_Y(Y_AT(n, g * KG + kb * MR + m, 0, q_first + f0 + j), g * KG + kb * MR + m, out[m][j]);          \
    }

/* CB channels for a tile of nv vectors from pixel f0 of the region, MR channels of block kb. */
#define DO_TILE(nv)                                                                                                    \
    {                                                                                                                  \
        GLOBAL const SUM *weights = wp + (long)((g * KBLOCKS + kb) * CBLOCKS + cb) * BLOCK;                            \
        LOCAL SUM *kept = sums + (kb - kg * KTS) * MR * FV * VEC + f0;                                                 \
        VT acc[MR][nv];                                                                                                \
                                                                                                                       \
        if (cb > 0) {                                                                                                  \
            FOR_TILE(nv) acc[m][v] = LOCAL_VLOAD(kept + m * FV * VEC + v * VEC);                                       \
        } else {                                                                                                       \
            FOR_TILE(nv) acc[m][v] = VSET((SUM)0);                                                                     \
        }                                                                                                              \
        ADD_BLOCK(acc, nv)                                                                                             \
        if (P > 1 || cb + 1 < CBLOCKS) {                                                                               \
            FOR_TILE(nv) LOCAL_VSTORE(acc[m][v], kept + m * FV * VEC + v * VEC);                                       \
        } else {                                                                                                       \
            STORE_FLAT(acc, nv)                                                                                        \
        }                                                                                                              \
    }
#if FLAT
#define COPY_TILE COPY_INPUT(q_first + f0)
#else
#define COPY_TILE
#endif
#define FOR_BLOCKS for (int kb = kg * KTS; kb < kg * KTS + KTS && kb < KBLOCKS; kb++)
#define FOR_TILES for (int f0 = 0; f0 < TAIL_FROM && f0 < f_end; f0 += NV * VEC)
#define TAIL_FROM (FV / NV * NV * VEC)

#define STORE_VECTOR(to, from, e) STORE_YQ((to) + (e), g * KG + k, LOCAL_VLOAD((from) + (e)))
#define STORE_ONE(to, from, e) STORE_Y((to) + (e), g * KG + k, (from)[e])

KERNEL WG_SIZE(1, 1, 1) direct_row(GLOBAL const ELEM *RESTRICT x, GLOBAL const SUM *RESTRICT wp, Y_PARAMS)
{
    const int item = GRP(0);
#if ORDER == 0
    const int qr = item % QREGIONS, pr = item / QREGIONS % PREGIONS, kg = item / (QREGIONS * PREGIONS) % KGROUPS;
#else
    const int kg = item % KGROUPS, qr = item / KGROUPS % QREGIONS, pr = item / (KGROUPS * QREGIONS) % PREGIONS;
#endif
    const int ng = item / (KGROUPS * QREGIONS * PREGIONS), g = ng % GROUPS, n = ng / GROUPS;
    const int p_first = pr * TP, q_first = qr * RW;
    const int f_end = min(TP - 1, P - p_first - 1) * PITCH + min(RW, Q - q_first); /* pixels of the region in y */
    LOCAL_ARRAY SUM input[RUNS * CB * CHANNEL + VEC];
#if P > 1 || CBLOCKS > 1
    LOCAL_ARRAY SUM sums[KTS * MR * FV * VEC];
#else
    LOCAL SUM *sums = input; /* not used */
#endif

    for (int cb = 0; cb < CBLOCKS; cb++) {
#if SWAP || !FLAT
        COPY_INPUT(q_first)
#endif
#if SWAP
        FOR_BLOCKS {
            FOR_TILES
                DO_TILE(NV)
#if TAIL
            const int f0 = TAIL_FROM;

            if (f0 < f_end)
                DO_TILE(TAIL)
#endif
        }
#else
        FOR_TILES {
            COPY_TILE
            FOR_BLOCKS
                DO_TILE(NV)
        }
#if TAIL
        const int f0 = TAIL_FROM;

        if (f0 < f_end) {
            COPY_TILE
            FOR_BLOCKS
                DO_TILE(TAIL)
        }
#endif
#endif
    }
#if P > 1
    for (int k = kg * KTS * MR; k < (kg + 1) * KTS * MR && k < KG; k++)
        for (int p = p_first; p < p_first + TP && p < P; p++) {
            LOCAL const SUM *from = sums + (k - kg * KTS * MR) * FV * VEC + (p - p_first) * PITCH;
            const int to = Y_AT(n, g * KG + k, p, q_first), width = min(RW, Q - q_first);

            RUN(width, STORE_VECTOR, STORE_ONE, to, from)
        }
#endif
}
