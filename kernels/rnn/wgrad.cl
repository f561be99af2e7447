/* SPDX-License-Identifier: MIT */
/* wgrad.cl - weight gradient of recurrent layers (docs/operators.md): dw[rows, columns] = sum over steps and batch of dgates * x,
 * one large product a matrix over K = T*B: dgates packed in panels [tile][k][MR], x and the states before in rows [k][columns],
 * both within the timed run; and dbias, sums of dgates.
 * Knobs: VEC lanes; MR rows, NV vectors of a tile; KU unroll; KC block of K (partial sums wait in memory); STACKED 1: x and the
 * state before side by side, one product; PF steps of k that cache lines are asked for ahead; WG work-items a group.
 * Launch: local (WG, 1, 1); groups (ceil(tiles * columns / WG), 1, 1), once a block of K. */
#include "rnn/cell.clh"
#ifndef WG
#define MR 4
#define NV 1
#define KU 1
#define KC 64
#define STACKED 0
#define PF 0
#define WG 1
#endif
#define WIDEST (SIZE_I > SIZE_H ? SIZE_I : SIZE_H)
#define ROWS (GATES * SIZE_H)
#define ALL_K (SIZE_T * SIZE_B)
#define TILES CEIL_DIV(SLOTS * SIZE_H, MR)
#define ITEM (GRP(0) * WG + LID(0))

/* ap[tile][k][MR] = dgates of a layer; a work-item a tile and step. */
KERNEL WG_SIZE(WG, 1, 1)
    wgrad_pack(GLOBAL const ELEM *RESTRICT dgates, GLOBAL SUM *RESTRICT ap, int layer)
{
    const int tile = ITEM / SIZE_T, t = ITEM % SIZE_T;
    GLOBAL const ELEM *from = dgates + ((long)layer * SIZE_T + t) * SLOTS * STATE;
    GLOBAL SUM *to = ap + ((long)tile * ALL_K + t * SIZE_B) * MR;

    if (tile >= TILES)
        return;
    for (int b = 0; b < SIZE_B; b++)
        for (int i = 0; i < MR; i++) {
            const int row = tile * MR + i;

            to[b * MR + i] = row < SLOTS * SIZE_H ? LOAD1(from + row * SIZE_B + b) : 0;
        }
}

/* xt[k][offset + column], rows of `pitch`: x of a layer (width columns), or with `before` the state of the step before. */
KERNEL WG_SIZE(WG, 1, 1)
    wgrad_rows(GLOBAL const ELEM *RESTRICT x, GLOBAL const ELEM *RESTRICT h0, GLOBAL SUM *RESTRICT xt, int layer, int x_layer,
               int width, int before, int offset, int pitch)
{
    const int t = ITEM / width, column = ITEM % width;
    GLOBAL const ELEM *from =
        before && t == 0 ? h0 + (long)layer * STATE : x + ((long)x_layer * SIZE_T + t - before) * width * SIZE_B;

    if (t >= SIZE_T)
        return;
    for (int b = 0; b < SIZE_B; b++)
        xt[((long)t * SIZE_B + b) * pitch + offset + column] = LOAD1(from + column * SIZE_B + b);
}

#include "gemm/micro.clh"

#define FIRST_SLOT(row) ((row) + (GRU && recurrent && (row) >= 2 * SIZE_H ? SIZE_H : 0))

/* sums[slot][column] (+)= block k0 .. of K; columns a multiple of VEC*NV. From the second block on it adds. */
KERNEL WG_SIZE(WG, 1, 1)
    wgrad_product(GLOBAL const SUM *RESTRICT ap, GLOBAL const SUM *RESTRICT xt, GLOBAL SUM *RESTRICT sums, int pitch, int k0)
{
    const int tile = ITEM % TILES, column = ITEM / TILES * NV * VEC, left = ALL_K - k0, n_k = left < KC ? left : KC;
    GLOBAL const SUM *a = ap + ((long)tile * ALL_K + k0) * MR, *b = xt + (long)k0 * pitch + column;
    GLOBAL SUM *to = sums + (long)tile * MR * pitch + column;
    VT acc[MR][NV];

    if (column >= pitch)
        return;
    UNROLL
    for (int i = 0; i < MR; i++)
        UNROLL
        for (int v = 0; v < NV; v++)
            acc[i][v] = k0 ? SUM_VLOAD(to + (long)i * pitch + v * VEC) : VSET(0.0f);
#define GEMM_A(i, k) a[(k)*MR + (i)]
#define GEMM_B(k, v) SUM_VLOAD(b + (long)(k)*pitch + (v)*VEC)
#if PF
#undef GEMM_AHEAD
#define GEMM_AHEAD(k)                                                                                                  \
    do {                                                                                                               \
        UNROLL                                                                                                         \
        for (int v_ = 0; v_ < NV; v_++)                                                                                \
            PREFETCH1(b + ((k) + PF) * (long)pitch + v_ * VEC);                                                        \
        PREFETCH1(a + ((k) + 2 * PF) * MR);                                                                            \
    } while (0)
#endif
    GEMM_RUN(acc, MR, n_k);
    UNROLL
    for (int i = 0; i < MR; i++)
        UNROLL
        for (int v = 0; v < NV; v++)
            SUM_VSTORE(acc[i][v], to + (long)i * pitch + v * VEC);
}

/* Rows of sums into dw: an element each. */
KERNEL WG_SIZE(WG, 1, 1)
    wgrad_store(GLOBAL const SUM *RESTRICT sums, GLOBAL ELEM *RESTRICT dw, int dw_layer, int width, int recurrent, int offset,
                int pitch)
{
    const int row = ITEM;

    if (row >= ROWS)
        return;
    for (int column = 0; column < width; column++)
        STORE1(dw + ((long)dw_layer * ROWS + row) * width + column, sums[(long)FIRST_SLOT(row) * pitch + offset + column]);
}

/* dbias [layer][2][rows]: sums of dgates over steps and batch. */
KERNEL WG_SIZE(WG, 1, 1) wgrad_bias(GLOBAL const ELEM *RESTRICT dgates, GLOBAL ELEM *RESTRICT dbias)
{
    const int layer = ITEM / (2 * ROWS), row = ITEM % ROWS, recurrent = ITEM / ROWS % 2;
    SUM total = 0;

    if (layer >= SIZE_L)
        return;
    for (int t = 0; t < SIZE_T; t++) {
        GLOBAL const ELEM *d = dgates + (((long)layer * SIZE_T + t) * SLOTS * SIZE_H + FIRST_SLOT(row)) * SIZE_B;
        SUM part = 0;

        for (int b = 0; b < SIZE_B; b++)
            part += LOAD1(d + b);
        total += part;
    }
    STORE1(dbias + ITEM, total);
}
