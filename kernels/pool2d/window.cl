/* SPDX-License-Identifier: MIT */
/* window.cl - y[n,c,p,q] = max or mean over r,s of x[n,c,p*SH+r-PT,q*SW+s-PL] inside the image, all types and layouts: VEC of a
 * block's channels in a vector (nchw: VEC 1). A work-item computes ROWS rows x TILES tiles of PX neighbouring outputs: each
 * element of a tile's row is loaded once and taken into all the outputs that it belongs to.
 * Knobs: VEC divides YL; PX; TILES; ROWS; WG work-items, neighbours along channels, then along q.
 * Launch: local (WG, 1, 1); groups (ceil(items / WG), 1, 1), items NB*C/VEC * ceil(P/ROWS) * ceil(Q/(PX*TILES)). */
#include "pool2d/pool.clh"
#ifndef PX
#define PX 2
#define TILES 1
#define ROWS 1
#define WG 64
#endif

#define PARTS (YL / VEC) /* of a block's lanes */
#define STRIPS CEIL_DIV(Q, PX *TILES)
#define CHUNKS CEIL_DIV(P, ROWS)
#define ITEMS ((long)NB * (C / VEC) * CHUNKS * STRIPS)
#define IN_W ((PX - 1) * SW + S)

/* PX outputs from q0, of rows [r0, r1) of the input; EDGE: some columns may lie outside, some outputs beyond Q. x stands at
 * the block's first row, y at the output row, both at the vector's lanes. */
#define TILE(EDGE)                                                                                                     \
    {                                                                                                                  \
        PVT acc[PX];                                                                                                    \
                                                                                                                       \
        UNROLL                                                                                                         \
        for (int j = 0; j < PX; j++)                                                                                   \
            acc[j] = P_SET(NOTHING);                                                                                    \
        for (int r = r0; r < r1; r++) {                                                                                \
            GLOBAL const ELEM *from = x + ((long)r * W + w0) * YL;                                                     \
                                                                                                                       \
            COLUMNS(EDGE)                                                                                              \
        }                                                                                                              \
        UNROLL                                                                                                         \
        for (int j = 0; j < PX; j++) {                                                                                 \
            const int first = w0 + j * SW;                                                                             \
            const int n = EDGE ? END(first, S, W) - BEGIN(first) : S;                                                  \
                                                                                                                       \
            if (!EDGE || q0 + j < Q)                                                                                   \
                P_VSTORE_ALIGNED(pooled(acc[j], (r1 - r0) * n), y + (q0 + j) * YL);                                      \
        }                                                                                                              \
    }
#if PX == 1
#define COLUMNS(EDGE)                                                                                                  \
    for (int i = EDGE ? BEGIN(w0) - w0 : 0; i < (EDGE ? END(w0, S, W) - w0 : S); i++)                                  \
        acc[0] = TAKE(acc[0], P_VLOAD_ALIGNED(from + i * YL));
#else
#define COLUMNS(EDGE)                                                                                                  \
    UNROLL                                                                                                             \
    for (int i = 0; i < IN_W; i++) {                                                                                   \
        if (EDGE && (w0 + i < 0 || w0 + i >= W))                                                                       \
            continue;                                                                                                  \
        const PVT pixel = P_VLOAD_ALIGNED(from + i * YL);                                                                 \
                                                                                                                       \
        UNROLL                                                                                                         \
        for (int j = 0; j < PX; j++)                                                                                   \
            if (i >= j * SW && i < j * SW + S)                                                                         \
                acc[j] = TAKE(acc[j], pixel);                                                                          \
    }
#endif

DEVICE void pool_row(GLOBAL const ELEM *RESTRICT x, GLOBAL ELEM *RESTRICT y, int p, int strip)
{
    const int h0 = p * SH - PT, r0 = BEGIN(h0), r1 = END(h0, R, H);

    for (int t = 0; t < TILES; t++) {
        const int q0 = (strip * TILES + t) * PX, w0 = q0 * SW - PL;

        if (q0 >= Q)
            return;
        if (w0 >= 0 && w0 + IN_W <= W && q0 + PX <= Q)
            TILE(0)
        else
            TILE(1)
    }
}

KERNEL WG_SIZE(WG, 1, 1) pool2d_window(GLOBAL const ELEM *RESTRICT x, GLOBAL ELEM *RESTRICT y)
{
    const long item = (long)GRP(0) * WG + LID(0);
    const int part = (int)(item % PARTS), strip = (int)(item / PARTS % STRIPS);
    const int chunk = (int)(item / (PARTS * STRIPS) % CHUNKS);
    const long block = item / ((long)PARTS * STRIPS * CHUNKS); /* of all images */

    if (item >= ITEMS)
        return;
    for (int p = chunk * ROWS; p < chunk * ROWS + ROWS && p < P; p++)
        pool_row(x + block * H * W * YL + part * VEC, y + (block * P + p) * Q * YL + part * VEC, p, strip);
}
