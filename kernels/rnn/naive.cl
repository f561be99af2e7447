/* SPDX-License-Identifier: MIT */
/* naive.cl - recurrent layers by their definition (docs/operators.md), one work-item VEC columns of a result: the baseline, and the right one
 * where nothing else fits. Layouts: B fastest everywhere.
 * Launch: local (WG, 1, 1); groups (ceil(results / WG), 1, 1); a launch a step of a layer. */
#ifndef WG
#define WG 16
#endif
#include "rnn/cell.clh"

#define ITEM ((GRP(0) * WG + LID(0)) * VEC)

/* sum over k of a[k * stride] * x[k][SIZE_B] */
DEVICE VT product(GLOBAL const ELEM *a, int stride, GLOBAL const ELEM *x, int n_k)
{
    VT sum = VSET(0.0f);

    for (int k = 0; k < n_k; k++)
        sum = VFMA(VSET(LOAD1(a + k * stride)), VLOAD(x + k * SIZE_B), sum);
    return sum;
}

#if PASS == 0
#if GRU_RESET
/* Before a step: r h [H][B], which the candidate's product takes in the place of h. */
KERNEL WG_SIZE(WG, 1, 1)
    naive_reset(GLOBAL const ELEM *RESTRICT w, GLOBAL const ELEM *RESTRICT r, GLOBAL const ELEM *RESTRICT bias,
                GLOBAL const ELEM *RESTRICT below, GLOBAL const ELEM *RESTRICT h0, GLOBAL const ELEM *RESTRICT hs,
                GLOBAL ELEM *RESTRICT reset, int layer, int w_layer, int width, int t)
{
    const int item = ITEM, j = item / SIZE_B, column = item % SIZE_B;
    GLOBAL const ELEM *x = below + (long)t * width * SIZE_B + column;
    GLOBAL const ELEM *h = (t ? hs + (long)(t - 1) * STATE : h0 + (long)layer * STATE) + column;
    VT z;

    if (item >= STATE)
        return;
    z = VADD(product(w + ((long)w_layer * GATES * SIZE_H + j) * width, 1, x, width),
             product(r + ((long)layer * GATES * SIZE_H + j) * SIZE_H, 1, h, SIZE_H));
    z = VADD(z, VSET(LOAD1(bias + 2 * layer * GATES * SIZE_H + j) + LOAD1(bias + (2 * layer + 1) * GATES * SIZE_H + j)));
    VSTORE(VMUL(cell_sigmoid(z), VLOAD(h + j * SIZE_B)), reset + item);
}
#endif

/* One step of a layer: below its input [width][B] of step t, before the state of step t - 1 (or h0), after this step's; c the
 * cell state [H][B] (LSTM), first filled with c0; of gru_reset c0 is r h of this step. */
KERNEL WG_SIZE(WG, 1, 1)
    naive_step(GLOBAL const ELEM *RESTRICT w, GLOBAL const ELEM *RESTRICT r, GLOBAL const ELEM *RESTRICT bias,
               GLOBAL const ELEM *RESTRICT below, GLOBAL const ELEM *RESTRICT h0, GLOBAL ELEM *RESTRICT hs,
               GLOBAL ELEM *RESTRICT hn, GLOBAL const ELEM *RESTRICT c0, GLOBAL SUM *RESTRICT c, GLOBAL ELEM *RESTRICT cn,
               int layer, int w_layer, int width, int t)
{
    const int item = ITEM, j = item / SIZE_B, column = item % SIZE_B;
    GLOBAL const ELEM *x = below + (long)t * width * SIZE_B + column;
    GLOBAL const ELEM *h = (t ? hs + (long)(t - 1) * STATE : h0 + (long)layer * STATE) + column;
    VT zx[GATES], zh[GATES], next, cell;

    if (item >= STATE)
        return;
    for (int g = GRU_RESET; g < GATES; g++) {
        const int row = g * SIZE_H + j;
        GLOBAL const ELEM *state = GRU_RESET && g == 2 ? c0 + column : h;

        zx[g] = VADD(product(w + ((long)w_layer * GATES * SIZE_H + row) * width, 1, x, width),
                     VSET(LOAD1(bias + 2 * layer * GATES * SIZE_H + row)));
        zh[g] = VADD(product(r + ((long)layer * GATES * SIZE_H + row) * SIZE_H, 1, state, SIZE_H),
                     VSET(LOAD1(bias + (2 * layer + 1) * GATES * SIZE_H + row)));
    }
#if LSTM
    cell = t ? SUM_VLOAD(c + item) : VLOAD(c0 + (long)layer * STATE + item);
    next = lstm_cell(VADD(zx[0], zh[0]), VADD(zx[1], zh[1]), VADD(zx[2], zh[2]), VADD(zx[3], zh[3]), &cell);
    SUM_VSTORE(cell, c + item);
    if (t == SIZE_T - 1)
        VSTORE(cell, cn + (long)layer * STATE + item);
#elif GRU
    next = gru_cell(VADD(zx[0], zh[0]), VADD(zx[1], zh[1]), zx[2], zh[2], VLOAD(h + j * SIZE_B));
#elif GRU_RESET
    next = reset_cell(VADD(zx[1], zh[1]), VADD(zx[2], zh[2]), VLOAD(h + j * SIZE_B));
#else
    next = plain_cell(VADD(zx[0], zh[0]));
#endif
    VSTORE(next, hs + (long)t * STATE + item);
    if (t == SIZE_T - 1)
        VSTORE(next, hn + (long)layer * STATE + item);
}
#endif

#if PASS == 1
#include "rnn/back.clh"

/* Gradients of one step's sums: above [T][H][B] comes from the layer above, dh [H][B] is this layer's own, 0 at first. */
KERNEL WG_SIZE(WG, 1, 1)
    naive_gates(GLOBAL const ELEM *RESTRICT above, GLOBAL const SUM *RESTRICT dh, GLOBAL SUM *RESTRICT carry,
                GLOBAL ELEM *RESTRICT dgates, KEPT_PARAMS, int layer, int back)
{
    const int item = ITEM, t = SIZE_T - 1 - back;
    VT sum;

    if (item >= STATE)
        return;
    sum = VLOAD(above + (long)t * STATE + item);
    if (back)
        sum = VADD(sum, SUM_VLOAD(dh + item));
    back_unit(sum, layer, t, item, back == 0, carry, dgates, KEPT_ARGS);
}

/* dh = R^T of the step's gradients, and what the cell hands back directly; the last one is dh0. */
KERNEL WG_SIZE(WG, 1, 1)
    naive_back(GLOBAL const ELEM *RESTRICT r, GLOBAL const ELEM *RESTRICT dgates, GLOBAL const SUM *RESTRICT carry,
               GLOBAL SUM *RESTRICT dh, GLOBAL ELEM *RESTRICT dh0, int layer, int back)
{
    const int item = ITEM, j = item / SIZE_B, column = item % SIZE_B, t = SIZE_T - 1 - back;
    GLOBAL const ELEM *d = dgates + (long)(layer * SIZE_T + t) * SLOTS * STATE + column;
    GLOBAL const ELEM *u = r + (long)layer * GATES * SIZE_H * SIZE_H + j;
    VT sum;

    if (item >= STATE)
        return;
#if GRU
    sum = VADD(product(u, SIZE_H, d, 2 * SIZE_H), product(u + 2 * SIZE_H * SIZE_H, SIZE_H, d + 3 * STATE, SIZE_H));
    sum = VADD(sum, SUM_VLOAD(carry + item));
#else
    sum = product(u, SIZE_H, d, GATES * SIZE_H);
#endif
    SUM_VSTORE(sum, dh + item);
    if (t == 0)
        VSTORE(sum, dh0 + (long)layer * STATE + item);
}

/* Gradient of a layer's input [T][width][B]. */
KERNEL WG_SIZE(WG, 1, 1)
    naive_input(GLOBAL const ELEM *RESTRICT w, GLOBAL const ELEM *RESTRICT dgates, GLOBAL ELEM *RESTRICT dx, int layer,
                int w_layer, int width)
{
    const int item = ITEM, column = item % SIZE_B, i = item / SIZE_B % width, t = item / SIZE_B / width;

    if (t >= SIZE_T)
        return;
    VSTORE(product(w + (long)w_layer * GATES * SIZE_H * width + i, width,
                   dgates + (long)(layer * SIZE_T + t) * SLOTS * STATE + column, GATES * SIZE_H),
           dx + item);
}
#endif

#if PASS == 2
/* Rows [GATES*H] x columns: sum over steps and batch of dgates * x. before: x of step t is the state of step t - 1, h0 first.
 * width 0: the bias, of whose rows the second half is the recurrent one. */
KERNEL WG_SIZE(WG, 1, 1)
    naive_gradient(GLOBAL const ELEM *RESTRICT dgates, GLOBAL const ELEM *RESTRICT x, GLOBAL const ELEM *RESTRICT h0,
                   GLOBAL ELEM *RESTRICT dw, int layer, int x_layer, int dw_layer, int width, int before)
{
    const int columns = width ? width : 1, item = GRP(0) * WG + LID(0), row = item / columns, column = item % columns;
    const int part = row % (GATES * SIZE_H), recurrent = before || row >= GATES * SIZE_H;
    const int slot = part + (GRU && recurrent && part >= 2 * SIZE_H ? SIZE_H : 0);
    SUM sum = 0;

    if (row >= (width ? 1 : 2) * GATES * SIZE_H)
        return;
    for (int t = 0; t < SIZE_T; t++) {
        GLOBAL const ELEM *d = dgates + ((long)(layer * SIZE_T + t) * SLOTS * SIZE_H + slot) * SIZE_B;
        GLOBAL const ELEM *v = before && t == 0 ? h0 + (long)layer * STATE
                                                : x + (long)(x_layer * SIZE_T + t - before) * columns * SIZE_B;

        for (int b = 0; b < SIZE_B; b++)
            sum = FMA1(LOAD1(d + b), width ? LOAD1(v + column * SIZE_B + b) : (SUM)1, sum);
    }
    STORE1(dw + ((long)dw_layer * (width ? 1 : 2) * GATES * SIZE_H + row) * columns + column, sum);
}
#endif
