/* SPDX-License-Identifier: MIT */
/* rows.cl - y[o,i] of x[o,n,i], see reduce.clh. INNER 1: WG work-items take a row, its vectors in turn. Else a
 * work-item takes VEC neighbouring columns, down all rows.
 * Knobs: VEC; WG work-items, a power of two; ROWS of a group, of INNER 1.
 * Launch: local (WG, ROWS, 1); groups (ceil(OUTER / ROWS), 1, 1), or (ceil(OUTER * ceil(INNER / VEC) / WG), 1, 1). */
#include "reduce/reduce.clh"
#ifndef WG
#define WG 1
#define ROWS 1
#endif
#define M OUTER
#include "glue/reduce.clh"
#include "glue/short_rows.clh"

#if INNER == 1
#define VECTORS (N / VEC)
#define EACH_OF_THE_REST for (int i = VECTORS * VEC + FIRST; i < N; i += WG)

KERNEL WG_SIZE(WG, ROWS, 1) reduce_rows(GLOBAL const ELEM *RESTRICT x, GLOBAL ELEM *RESTRICT y)
{
#if WG > 1
    LOCAL_ARRAY float all_of_rows[ROWS * WG];
    LOCAL float *all_of_row = all_of_rows + LINE * WG;
#if LOG_SUM_EXP
    LOCAL_ARRAY float tops_of_rows[ROWS * WG];
    LOCAL float *tops_of_row = tops_of_rows + LINE * WG;
#endif
#endif
    const long row = ROW;
    GLOBAL const ELEM *RESTRICT from = x + WITHIN(row) * N;
    VT alls = VSET(START), overs = VSET(0.0f);
    float all = START, top = 0.0f;

#if LOG_SUM_EXP
    VT tops;

    top = LOAD1(from);
    tops = VSET(top);
    for (int i = FIRST; i < VECTORS; i += WG)
        tops = VMAX(tops, VLOAD(from + i * VEC));
    EACH_OF_THE_REST top = MAX1(top, LOAD1(from + i));
    ACROSS_LANES(float, PRIVATE_VSTORE, tops, MAX1, top)
    ACROSS_GROUP(tops_of_row, top, MAX1)
#endif
    for (int first = FIRST; first < VECTORS; first += PART * WG) {
        VT part = VSET(START);

        for (int i = first; i < first + PART * WG && i < VECTORS; i += WG)
            part = TAKES(part, EACHES(VLOAD(from + i * VEC), VSET(top)));
        TAKE_PARTS(alls, overs, part);
    }
    EACH_OF_THE_REST all = TAKE(all, EACH(LOAD1(from + i), top));
    ACROSS_LANES(float, PRIVATE_VSTORE, alls, TAKE, all)
    ACROSS_GROUP(all_of_row, all, TAKE)
    if (FIRST == 0)
        STORE1(y + row, RESULT(all, top));
}
#else
#define COLUMNS CEIL_DIV(INNER, VEC)

KERNEL WG_SIZE(WG, 1, 1) reduce_rows(GLOBAL const ELEM *RESTRICT x, GLOBAL ELEM *RESTRICT y)
{
    const long item = (long)GRP(0) * WG + LID(0), outer = item / COLUMNS;
    const int column = (int)(item % COLUMNS) * VEC;
    GLOBAL const ELEM *RESTRICT from = x + (outer * N * INNER + column);
    GLOBAL ELEM *RESTRICT to = y + (outer * INNER + column);
    SUM lanes_[VEC], tops_[VEC];
    VT alls = VSET(START), overs = VSET(0.0f), tops = VSET(0.0f);

    if (outer >= OUTER)
        return;
    if (column + VEC > INNER) {
        for (int l = 0; column + l < INNER; l++)
            STORE1(to + l, reduced(from + l, INNER));
        return;
    }
#if LOG_SUM_EXP
    tops = VLOAD(from);
    for (int i = 1; i < N; i++)
        tops = VMAX(tops, VLOAD(from + (long)i * INNER));
#endif
    for (int first = 0; first < N; first += PART) {
        VT part = VSET(START);

        for (int i = first; i < first + PART && i < N; i++)
            part = TAKES(part, EACHES(VLOAD(from + (long)i * INNER), tops));
        TAKE_PARTS(alls, overs, part);
    }
    PRIVATE_VSTORE(alls, lanes_);
    PRIVATE_VSTORE(tops, tops_);
    for (int l = 0; l < VEC; l++)
        lanes_[l] = RESULT(lanes_[l], tops_[l]);
    VSTORE(PRIVATE_VLOAD(lanes_), to);
}
#endif
