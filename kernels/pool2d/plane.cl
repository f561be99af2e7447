/* SPDX-License-Identifier: MIT */
/* plane.cl - y[n,c] = max or mean of a whole plane x[n,c] (the window is the image), nchw, all types. A group of work-items
 * takes PLANES planes, one after the other: each plane is one array of H*W elements.
 * Knobs: VEC; WG work-items, a power of two; PLANES.
 * Launch: local (WG, 1, 1); groups (ceil(NB*C / PLANES), 1, 1). */
#include "pool2d/pool.clh"
#ifndef WG
#define WG 1
#define PLANES 4
#endif
#include "glue/reduce.clh"

#define AREA (H * W)
#define VECTORS (AREA / VEC)
#define TAKE_LANE(a, b) TAKE1((a), (SUM)(b))

DEVICE SUM taken(GLOBAL const ELEM *RESTRICT x)
{
    PVT v = P_SET(NOTHING), u = P_SET(NOTHING);
    SUM all = NOTHING;
    int i = LID(0) * VEC;

    for (; i < (VECTORS - WG) * VEC; i += 2 * WG * VEC) {
        v = TAKE(v, P_VLOAD(x + i));
        u = TAKE(u, P_VLOAD(x + i + WG * VEC));
    }
    if (i < VECTORS * VEC)
        v = TAKE(v, P_VLOAD(x + i));
    v = TAKE(v, u);
    ACROSS_LANES(P1, P_PRIVATE_VSTORE, v, TAKE_LANE, all)
    for (int l = VECTORS * VEC + LID(0); l < AREA; l += WG)
        all = TAKE1(all, LOAD1(x + l));
    return all;
}

KERNEL WG_SIZE(WG, 1, 1) pool2d_plane(GLOBAL const ELEM *RESTRICT x, GLOBAL ELEM *RESTRICT y)
{
#if WG > 1
    LOCAL_ARRAY SUM parts[WG];
#endif

    for (int j = 0; j < PLANES; j++) {
        const long plane = (long)GRP(0) * PLANES + j;
        SUM all;

        if (plane >= (long)NB * C)
            return;
        all = taken(x + plane * AREA);
        ACROSS_GROUP(parts, all, TAKE1)
        if (LID(0) == 0) /* which alone uses parts[0], and writes it for the next plane: no barrier between */
            STORE1(y + plane, pooled1(all, AREA));
    }
}
