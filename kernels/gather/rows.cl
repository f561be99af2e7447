/* SPDX-License-Identifier: MIT */
/* rows.cl - y[o,m,i] = x[o,at[m],i], see gather.clh. A work-item moves a part of one row.
 * Knobs: VEC elements at once; RUN vectors a work-item; WG work-items.
 * Launch: local (WG, 1, 1); groups (ceil(OUTER * M * ceil(INNER / (RUN * VEC)) / WG), 1, 1). */
#include "gather/gather.clh"
#ifndef RUN
#define RUN 2
#endif
#ifndef WG
#define WG 1
#endif
#define PART (RUN * VEC)
#define PARTS CEIL_DIV(INNER, PART)

KERNEL WG_SIZE(WG, 1, 1)
gather_rows(GLOBAL const RAW *RESTRICT x, GLOBAL const ELEM *RESTRICT at, GLOBAL RAW *RESTRICT y)
{
    const long item = (long)GRP(0) * WG + LID(0), row = item / PARTS;
    const int first = (int)(item % PARTS) * PART, end = first + PART < INNER ? first + PART : INNER;
    int i = first;

    if (row >= (long)OUTER * M)
        return;
    GLOBAL const RAW *RESTRICT from = x + row_of(at, row);
    GLOBAL RAW *RESTRICT to = y + row * INNER;
    for (; i + VEC <= end; i += VEC)
        RVSTORE(RVLOAD(from + i), to + i);
    for (; i < end; i++)
        to[i] = from[i];
}
