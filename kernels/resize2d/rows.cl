/* SPDX-License-Identifier: MIT */
/* rows.cl - images of another size, see resize2d.clh, f32 and f16, nchw, for CPUs: the row of x at an output row's place, in vectors
 * along it, goes into private memory with its ends repeated, so that no column's place is outside. Every PERIOD columns lie
 * alike, ADVANCE elements on: their weights are constants.
 * Knobs: VEC; ROWS rows of outputs of a work-item.
 * Launch: local (1, 1, 1); groups (PLANES * ceil(P / ROWS), 1, 1). */
#include "resize2d/resize2d.clh"
#ifndef ROWS
#define ROWS 4
#define PERIOD 2
#define ADVANCE 1
#define BEFORE 1
#define KEPT 10
#endif

#define CHUNKS CEIL_DIV(P, ROWS)
#define WHOLE (W / VEC * VEC)
/* Of output i of a period: units from the first element that is kept, the element, units behind it. */
#define UNITS(i) ((i)*COL_STEP + COL_FIRST + BEFORE * COL_UNIT)
#define AT(i) (UNITS(i) / COL_UNIT)
#define REST(i) (UNITS(i) % COL_UNIT)
#if LINEAR
#define COLUMN(row, i) MEAN1((row)[AT(i)], (row)[AT(i) + 1], FRONT(REST(i), COL_UNIT), BACK(REST(i), COL_UNIT))
#define ROW1(a, b, front, back) MEAN1(LOAD1(a), LOAD1(b), (front), (back))
#define ROWS_OF(a, b, front, back) VFMA(VLOAD(a), VSET(front), VMUL(VLOAD(b), VSET(back)))
#else
#define COLUMN(row, i) (row)[AT(i)]
#define ROW1(a, b, front, back) LOAD1(a)
#define ROWS_OF(a, b, front, back) VLOAD(a)
#endif

/* The row at a place, in units, with its ends repeated. */
DEVICE void keep_row(GLOBAL const ELEM *x, int place, SUM *row)
{
    const int h = place / ROW_UNIT, units = place % ROW_UNIT;
    GLOBAL const ELEM *a = x + (long)h * W, *b = a + (units ? W : 0);
    const SUM front = FRONT(units, ROW_UNIT), back = BACK(units, ROW_UNIT);

    for (int w = 0; w < WHOLE; w += VEC)
        PRIVATE_VSTORE(ROWS_OF(a + w, b + w, front, back), row + BEFORE + w);
    for (int w = WHOLE; w < W; w++)
        row[BEFORE + w] = ROW1(a + w, b + w, front, back);
    for (int w = 0; w < BEFORE; w++)
        row[w] = row[BEFORE];
    for (int w = BEFORE + W; w < KEPT; w++)
        row[w] = row[BEFORE + W - 1];
}

KERNEL WG_SIZE(1, 1, 1) resize2d_rows(GLOBAL const ELEM *RESTRICT x, GLOBAL ELEM *RESTRICT y)
{
    const int begin = GRP(0) % CHUNKS * ROWS, end = begin + ROWS < P ? begin + ROWS : P;
    const long plane = GRP(0) / CHUNKS;
    SUM row[KEPT];
    int kept = -1;

    for (int p = begin; p < end; p++) {
        const int place = LINEAR ? ROW_PLACE(p) : ROW_PLACE(p) / ROW_UNIT * ROW_UNIT;
        GLOBAL ELEM *RESTRICT to = y + (plane * P + p) * Q;

        if (place != kept)
            keep_row(x + plane * H * W, place, row);
        kept = place;
        for (int m = 0; m < Q / PERIOD; m++) {
            UNROLL
            for (int i = 0; i < PERIOD; i++)
                STORE1(to + m * PERIOD + i, COLUMN(row + m * ADVANCE, i));
        }
        UNROLL
        for (int i = 0; i < Q % PERIOD; i++)
            STORE1(to + Q / PERIOD * PERIOD + i, COLUMN(row + Q / PERIOD * ADVANCE, i));
    }
}
