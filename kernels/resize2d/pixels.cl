/* SPDX-License-Identifier: MIT */
/* pixels.cl - images of another size, see resize2d.clh, f32 and f16, all layouts: VEC of a block's channels in a vector (nchw:
 * VEC 1). A work-item makes PX neighbouring outputs of each of ROWS rows.
 * Knobs: VEC divides LANES; PX; ROWS; WG work-items, neighbours along channels, then along the row.
 * Launch: local (WG, 1, 1); groups (ceil(items / WG), 1, 1), items PLANES*LANES/VEC * ceil(P/ROWS) * ceil(Q/PX). */
#include "resize2d/resize2d.clh"
#ifndef PX
#define PX 2
#define ROWS 1
#define WG 64
#endif

#define PARTS (LANES / VEC) /* of a block's lanes */
#define STRIPS CEIL_DIV(Q, PX)
#define CHUNKS CEIL_DIV(P, ROWS)
#define ITEMS ((long)PLANES * PARTS * CHUNKS * STRIPS)
#define MEAN(a, b, front, back) VFMA((a), VSET(front), VMUL((b), VSET(back)))

KERNEL WG_SIZE(WG, 1, 1) resize2d_pixels(GLOBAL const ELEM *RESTRICT x, GLOBAL ELEM *RESTRICT y)
{
    const long item = (long)GRP(0) * WG + LID(0);
    const int lane = (int)(item % PARTS) * VEC, q0 = (int)(item / PARTS % STRIPS) * PX;
    const int p0 = (int)(item / (PARTS * STRIPS) % CHUNKS) * ROWS;
    const long plane = item / ((long)PARTS * STRIPS * CHUNKS);

    if (item >= ITEMS)
        return;
    for (int p = p0; p < p0 + ROWS && p < P; p++) {
        const int row = ROW_PLACE(p), h = row / ROW_UNIT;
        GLOBAL const ELEM *from = x + (plane * H + h) * W * LANES + lane;
        GLOBAL ELEM *to = y + (plane * P + p) * Q * LANES + lane;
#if LINEAR
        const int units_h = row % ROW_UNIT;
        GLOBAL const ELEM *below = from + (units_h ? W * LANES : 0);
        const SUM above = FRONT(units_h, ROW_UNIT), under = BACK(units_h, ROW_UNIT);
#endif

        for (int q = q0; q < q0 + PX && q < Q; q++) {
            const int column = COL_PLACE(q), w = column / COL_UNIT * LANES;
#if LINEAR
            const int units_w = column % COL_UNIT, right = w + (units_w ? LANES : 0);
            const SUM front = FRONT(units_w, COL_UNIT), back = BACK(units_w, COL_UNIT);
            const VT a = MEAN(VLOAD_ALIGNED(from + w), VLOAD_ALIGNED(from + right), front, back);
            const VT b = MEAN(VLOAD_ALIGNED(below + w), VLOAD_ALIGNED(below + right), front, back);

            VSTORE_ALIGNED(MEAN(a, b, above, under), to + q * LANES);
#else
            VSTORE_ALIGNED(VLOAD_ALIGNED(from + w), to + q * LANES);
#endif
        }
    }
}
