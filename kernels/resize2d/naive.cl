/* SPDX-License-Identifier: MIT */
/* naive.cl - images of another size, see resize2d.clh, f32 and f16, all layouts. One output a work-item: the baseline. No knobs.
 * Launch: local (WG, 1, 1); groups (ceil(PLANES*LANES*P*Q / WG), 1, 1). */
#include "resize2d/resize2d.clh"
#ifndef WG
#define WG 64
#endif

KERNEL WG_SIZE(WG, 1, 1) resize2d_naive(GLOBAL const ELEM *RESTRICT x, GLOBAL ELEM *RESTRICT y)
{
    const long i = (long)GRP(0) * WG + LID(0);
    const long plane = i / ((long)P * Q * LANES);
    const int row = ROW_PLACE((int)(i / ((long)Q * LANES) % P)), column = COL_PLACE((int)(i / LANES % Q));
    const int h = row / ROW_UNIT, w = column / COL_UNIT;

    if (i < (long)PLANES * P * Q * LANES) {
        GLOBAL const ELEM *from = x + ((plane * H + h) * W + w) * LANES + i % LANES;
#if LINEAR
        const int units_h = row % ROW_UNIT, units_w = column % COL_UNIT;
        GLOBAL const ELEM *below = from + (units_h ? W * LANES : 0);
        const int right = units_w ? LANES : 0;
        const SUM front = FRONT(units_w, COL_UNIT), back = BACK(units_w, COL_UNIT);

        STORE1(y + i, MEAN1(MEAN1(LOAD1(from), LOAD1(from + right), front, back),
                            MEAN1(LOAD1(below), LOAD1(below + right), front, back), FRONT(units_h, ROW_UNIT),
                            BACK(units_h, ROW_UNIT)));
#else
        STORE1(y + i, LOAD1(from));
#endif
    }
}
