/* SPDX-License-Identifier: MIT */
/* lanes.cl - recurrent layers, forward (docs/operators.md), of few columns: lanes lie along hidden units, states are broadcast.
 * A panel has UNITS = NV * VEC units; its weights are [k][gate][unit], its sums [gate][unit], both with zeros behind the last unit.
 * Knobs: VEC lanes; NV vectors of units; COLS columns at once; KU unroll of k; IN_ROWS pairs of step and column at once in the
 * inputs' product; PERSIST 1: one launch runs all steps, a group has COLS columns; 2: and the inputs' product of them before that;
 * 0: a launch a step, a group has a panel of COLS columns.
 * Launch: local (1, 1, 1); lanes_in groups (panels * ceil(T * B / IN_ROWS), 1, 1), lanes_steps (PERSIST ? B / COLS : panels * B / COLS). */
#include "rnn/cell.clh"
#ifndef COLS
#define NV 1
#define COLS 1
#define KU 1
#define IN_ROWS 2
#define PERSIST 1
#endif

#define UNITS (NV * VEC)
#define PANELS CEIL_DIV(SIZE_H, UNITS)
#define SUMS (GATES * UNITS) /* of a panel and column */
#define PITCH (PANELS * SUMS)
#define PADDED (PANELS * UNITS)
#define ROWS (GATES * SIZE_H)
#define WIDTH(layer) ((layer) ? SIZE_H : SIZE_I)
#define IN_AT(layer) ((layer) ? ((long)SIZE_I + (long)((layer)-1) * SIZE_H) * PITCH : 0) /* of a layer's packed weights */
#define OUT_OF(layer) ((layer) == SIZE_L - 1 ? y : hidden + (long)(layer)*SIZE_T * STATE)
/* A gate whose recurrent sum stays apart from that of the inputs. */
#define APART(g) (GRU && (g) == 2)

/* wp, rp: [layer][panel][k][gate][unit]; bp: [layer][panel] of the inputs' sums, then of the recurrent ones that stay apart. */
KERNEL WG_SIZE(1, 1, 1)
    lanes_pack(GLOBAL const ELEM *RESTRICT w, GLOBAL const ELEM *RESTRICT w_up, GLOBAL const ELEM *RESTRICT r,
               GLOBAL const ELEM *RESTRICT bias, GLOBAL SUM *RESTRICT wp, GLOBAL SUM *RESTRICT rp, GLOBAL SUM *RESTRICT bp)
{
    const int panel = GRP(0), layer = GRP(2), width = WIDTH(layer);
    GLOBAL const ELEM *in = layer ? w_up + (long)(layer - 1) * ROWS * SIZE_H : w;
    GLOBAL const ELEM *rec = r + (long)layer * ROWS * SIZE_H, *two = bias + 2L * layer * ROWS;
    GLOBAL SUM *in_to = wp + IN_AT(layer) + (long)panel * width * SUMS;
    GLOBAL SUM *rec_to = rp + ((long)layer * PANELS + panel) * SIZE_H * SUMS, *b_to = bp + (2L * layer * PANELS + 2 * panel) * SUMS;

    for (int s = 0; s < SUMS; s++) {
        const int gate = s / UNITS, unit = panel * UNITS + s % UNITS, row = gate * SIZE_H + unit;
        const bool is = unit < SIZE_H;
        const SUM b = is ? LOAD1(two + row) : 0, more = is ? LOAD1(two + ROWS + row) : 0;

        for (int k = 0; k < width; k++)
            in_to[(long)k * SUMS + s] = is ? LOAD1(in + (long)row * width + k) : 0;
        for (int k = 0; k < SIZE_H; k++)
            rec_to[(long)k * SUMS + s] = is ? LOAD1(rec + (long)row * SIZE_H + k) : 0;
        b_to[s] = APART(gate) ? b : b + more;
        b_to[SUMS + s] = APART(gate) ? more : 0;
    }
}

/* zx [t][column][panel][gate][unit] = W x + biases, of IN_ROWS pairs of step and column from `first` on, those of n_columns
 * from `column` on; behind the last pair nothing is stored. */
#define IN_PARAMS                                                                                                      \
    GLOBAL const SUM *RESTRICT wp, GLOBAL const ELEM *RESTRICT x
#define IN_ARGS wp, x
#define T_OF(row) ((row) / n_columns)
#define COLUMN_OF(row) (column + (row) % n_columns)
DEVICE void in_of(IN_PARAMS, GLOBAL const SUM *RESTRICT bp, GLOBAL const ELEM *hidden, GLOBAL SUM *zx, int layer, int panel,
                  int first, int column, int n_columns)
{
    const int n_rows = SIZE_T * n_columns, width = WIDTH(layer);
    GLOBAL const ELEM *below = layer ? hidden + (long)(layer - 1) * SIZE_T * STATE : x;
    GLOBAL const SUM *a = wp + IN_AT(layer) + (long)panel * width * SUMS, *b = bp + (2L * layer * PANELS + 2 * panel) * SUMS;
    GLOBAL const ELEM *from[IN_ROWS];
    VT acc[IN_ROWS][GATES * NV];

    UNROLL
    for (int i = 0; i < IN_ROWS; i++) {
        const int row = first + i < n_rows ? first + i : n_rows - 1;

        from[i] = below + (long)T_OF(row) * width * SIZE_B + COLUMN_OF(row);
        UNROLL
        for (int v = 0; v < GATES * NV; v++)
            acc[i][v] = SUM_VLOAD(b + v * VEC);
    }
    UNROLL_BY(KU)
    for (int k = 0; k < width; k++) {
        SUM value[IN_ROWS];

        UNROLL
        for (int i = 0; i < IN_ROWS; i++)
            value[i] = LOAD1(from[i] + (long)k * SIZE_B);
        UNROLL
        for (int v = 0; v < GATES * NV; v++) {
            const VT weight = SUM_VLOAD(a + (long)k * SUMS + v * VEC);

            UNROLL
            for (int i = 0; i < IN_ROWS; i++)
                acc[i][v] = VFMA(VSET(value[i]), weight, acc[i][v]);
        }
    }
    UNROLL
    for (int i = 0; i < IN_ROWS; i++)
        if (first + i < n_rows)
            UNROLL
            for (int v = 0; v < GATES * NV; v++)
                SUM_VSTORE(acc[i][v], zx + ((long)T_OF(first + i) * SIZE_B + COLUMN_OF(first + i)) * PITCH + panel * SUMS + v * VEC);
}

KERNEL WG_SIZE(1, 1, 1)
    lanes_in(IN_PARAMS, GLOBAL const SUM *RESTRICT bp, GLOBAL const ELEM *RESTRICT hidden, GLOBAL SUM *RESTRICT zx, int layer)
{
    const int blocks = CEIL_DIV(SIZE_T * SIZE_B, IN_ROWS);

    in_of(IN_ARGS, bp, hidden, zx, layer, GRP(0) / blocks, GRP(0) % blocks * IN_ROWS, 0, SIZE_B);
}

/* Units from `unit` on of a state [H][B], which begins at the column. */
DEVICE void put_units(VT v, GLOBAL ELEM *to, int unit)
{
    SUM lanes[VEC];

#if SIZE_B == 1
    if (unit + VEC <= SIZE_H) {
        VSTORE(v, to + unit);
        return;
    }
#endif
    PRIVATE_VSTORE(v, lanes);
    UNROLL
    for (int j = 0; j < VEC; j++)
        if (unit + j < SIZE_H)
            STORE1(to + (unit + j) * SIZE_B, lanes[j]);
}

/* held [3][B][PADDED]: h of odd and even steps, c; of gru_reset r h in the place of c. */
#define HELD(part, column) (held + ((long)(part)*SIZE_B + (column)) * PADDED)
#if LSTM
#define C_PARAMS , GLOBAL const ELEM *RESTRICT c0, GLOBAL ELEM *RESTRICT cn
#define C_ARGS , c0, cn
#else
#define C_PARAMS
#define C_ARGS
#endif
#define STEP_PARAMS                                                                                                    \
    GLOBAL const SUM *RESTRICT rp, GLOBAL const SUM *RESTRICT bp, GLOBAL SUM *zx,                                      \
        GLOBAL const ELEM *RESTRICT h0, GLOBAL SUM *held, GLOBAL ELEM *hidden, GLOBAL ELEM *y,                         \
        GLOBAL ELEM *RESTRICT hn C_PARAMS
#define STEP_ARGS rp, bp, zx, h0, held, hidden, y, hn C_ARGS

/* The states before the first step, of COLS columns. */
DEVICE void begin(STEP_PARAMS, int layer, int column)
{
    for (int unit = 0; unit < PADDED; unit++)
        for (int i = column; i < column + COLS; i++) {
            const long at = (long)layer * STATE + unit * SIZE_B + i;

            HELD(0, i)[unit] = unit < SIZE_H ? LOAD1(h0 + at) : 0;
#if LSTM
            HELD(2, i)[unit] = unit < SIZE_H ? LOAD1(c0 + at) : 0;
#endif
        }
}

/* The cell of VEC units from `unit` on; apart: gru's candidate without the state's part, of gru_reset i's sum. */
DEVICE void cell_of(const VT *z, VT apart, STEP_PARAMS, int layer, int t, int unit, int column)
{
    const long state = (long)layer * STATE + column;
    VT next;
#if LSTM
    VT cell = SUM_VLOAD(HELD(2, column) + unit);

    next = lstm_cell(z[0], z[NV], z[2 * NV], z[3 * NV], &cell);
    SUM_VSTORE(cell, HELD(2, column) + unit);
    if (t == SIZE_T - 1)
        put_units(cell, cn + state, unit);
#elif GRU
    next = gru_cell(z[0], z[NV], apart, z[2 * NV], SUM_VLOAD(HELD(t % 2, column) + unit));
#elif GRU_RESET
    next = reset_cell(apart, z[0], SUM_VLOAD(HELD(t % 2, column) + unit));
#else
    next = plain_cell(z[0]);
#endif
    SUM_VSTORE(next, HELD((t + 1) % 2, column) + unit);
    put_units(next, OUT_OF(layer) + (long)t * STATE + column, unit);
    if (t == SIZE_T - 1)
        put_units(next, hn + state, unit);
}

#if GRU_RESET
/* Sums of COLS columns of a panel, of n vectors from `first` on, and what its weights take from `part` of held. */
DEVICE void add_products(VT *acc, int first, int n, GLOBAL const SUM *rp, GLOBAL const SUM *zx, GLOBAL const SUM *held, int layer,
                         int t, int panel, int column, int part)
{
    GLOBAL const SUM *a = rp + ((long)layer * PANELS + panel) * SIZE_H * SUMS + first * VEC;
    GLOBAL const SUM *from = zx + ((long)t * SIZE_B + column) * PITCH + panel * SUMS + first * VEC;

    UNROLL
    for (int i = 0; i < COLS; i++)
        UNROLL
        for (int v = 0; v < n; v++)
            acc[i * n + v] = SUM_VLOAD(from + i * PITCH + v * VEC);
    UNROLL_BY(KU)
    for (int k = 0; k < SIZE_H; k++) {
        SUM value[COLS];

        UNROLL
        for (int i = 0; i < COLS; i++)
            value[i] = HELD(part, column + i)[k];
        UNROLL
        for (int v = 0; v < n; v++) {
            const VT weight = SUM_VLOAD(a + (long)k * SUMS + v * VEC);

            UNROLL
            for (int i = 0; i < COLS; i++)
                acc[i * n + v] = VFMA(VSET(value[i]), weight, acc[i * n + v]);
        }
    }
}

/* Before a step of a panel and COLS columns: r h, and i's sum in the place of its inputs'. */
DEVICE void reset_of(STEP_PARAMS, int layer, int t, int panel, int column)
{
    VT acc[COLS * 2 * NV];

    add_products(acc, 0, 2 * NV, rp, zx, held, layer, t, panel, column, t % 2);
    UNROLL
    for (int i = 0; i < COLS; i++)
        UNROLL
        for (int v = 0; v < NV; v++) {
            const int unit = panel * UNITS + v * VEC;

            SUM_VSTORE(VMUL(cell_sigmoid(acc[i * 2 * NV + v]), SUM_VLOAD(HELD(t % 2, column + i) + unit)), HELD(2, column + i) + unit);
            SUM_VSTORE(acc[(i * 2 + 1) * NV + v],
                       zx + ((long)t * SIZE_B + column + i) * PITCH + panel * SUMS + (NV + v) * VEC);
        }
}

/* One step of a panel and COLS columns, behind reset_of of all panels. */
DEVICE void step_of(STEP_PARAMS, int layer, int t, int panel, int column)
{
    GLOBAL const SUM *from = zx + ((long)t * SIZE_B + column) * PITCH + panel * SUMS + NV * VEC;
    VT acc[COLS * NV];

    add_products(acc, 2 * NV, NV, rp, zx, held, layer, t, panel, column, 2);
    UNROLL
    for (int i = 0; i < COLS; i++)
        UNROLL
        for (int v = 0; v < NV; v++)
            cell_of(acc + i * NV + v, SUM_VLOAD(from + i * PITCH + v * VEC), STEP_ARGS, layer, t, panel * UNITS + v * VEC, column + i);
}
#else
/* One step of a panel and COLS columns. */
DEVICE void step_of(STEP_PARAMS, int layer, int t, int panel, int column)
{
    GLOBAL const SUM *a = rp + ((long)layer * PANELS + panel) * SIZE_H * SUMS;
    GLOBAL const SUM *b = bp + (2L * layer * PANELS + 2 * panel + 1) * SUMS;
    GLOBAL const SUM *from = zx + ((long)t * SIZE_B + column) * PITCH + panel * SUMS;
    VT acc[COLS][GATES * NV];

    UNROLL
    for (int i = 0; i < COLS; i++)
        UNROLL
        for (int v = 0; v < GATES * NV; v++)
            acc[i][v] = APART(v / NV) ? SUM_VLOAD(b + v * VEC) : SUM_VLOAD(from + i * PITCH + v * VEC);
    UNROLL_BY(KU)
    for (int k = 0; k < SIZE_H; k++) {
        SUM value[COLS];

        UNROLL
        for (int i = 0; i < COLS; i++)
            value[i] = HELD(t % 2, column + i)[k];
        UNROLL
        for (int v = 0; v < GATES * NV; v++) {
            const VT weight = SUM_VLOAD(a + (long)k * SUMS + v * VEC);

            UNROLL
            for (int i = 0; i < COLS; i++)
                acc[i][v] = VFMA(VSET(value[i]), weight, acc[i][v]);
        }
    }
    UNROLL
    for (int i = 0; i < COLS; i++)
        UNROLL
        for (int v = 0; v < NV; v++)
            cell_of(acc[i] + v, GRU ? SUM_VLOAD(from + i * PITCH + (2 * NV + v) * VEC) : acc[i][0], STEP_ARGS, layer, t,
                    panel * UNITS + v * VEC, column + i);
}
#endif

KERNEL WG_SIZE(1, 1, 1) lanes_begin(STEP_PARAMS, int layer)
{
    begin(STEP_ARGS, layer, GRP(0) * COLS);
}

#if PERSIST
#if PERSIST == 2
#define ALL_PARAMS IN_PARAMS, STEP_PARAMS
#else
#define ALL_PARAMS STEP_PARAMS
#endif
KERNEL WG_SIZE(1, 1, 1) lanes_steps(ALL_PARAMS, int layer)
{
    const int column = GRP(0) * COLS;

#if PERSIST == 2
    for (int panel = 0; panel < PANELS; panel++)
        for (int first = 0; first < SIZE_T * COLS; first += IN_ROWS)
            in_of(IN_ARGS, bp, hidden, zx, layer, panel, first, column, COLS);
#endif
    begin(STEP_ARGS, layer, column);
    for (int t = 0; t < SIZE_T; t++) {
#if GRU_RESET
        for (int panel = 0; panel < PANELS; panel++)
            reset_of(STEP_ARGS, layer, t, panel, column);
#endif
        for (int panel = 0; panel < PANELS; panel++)
            step_of(STEP_ARGS, layer, t, panel, column);
    }
}
#else
#if GRU_RESET
KERNEL WG_SIZE(1, 1, 1) lanes_reset(STEP_PARAMS, int layer, int t)
{
    reset_of(STEP_ARGS, layer, t, GRP(0) % PANELS, GRP(0) / PANELS * COLS);
}
#endif

KERNEL WG_SIZE(1, 1, 1) lanes_steps(STEP_PARAMS, int layer, int t)
{
    step_of(STEP_ARGS, layer, t, GRP(0) % PANELS, GRP(0) / PANELS * COLS);
}
#endif
