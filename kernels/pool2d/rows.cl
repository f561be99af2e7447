/* SPDX-License-Identifier: MIT */
/* rows.cl - y[n,c,p,q] = max or mean over r,s of x[n,c,p*SH+r-PT,q*SW+s-PL] inside the image, nchw, all types, for CPUs: a
 * vector's lanes are neighbours along the row. The R rows of a window are taken together into one row in private memory,
 * contiguous loads all, with what changes nothing at both ends; then the S columns from there.
 * Knobs: VEC; ROWS rows of outputs of a work-item.
 * Launch: local (1, 1, 1); groups (NB*C * ceil(P / ROWS), 1, 1). */
#include "pool2d/pool.clh"
#ifndef ROWS
#define ROWS 4
#endif

#define CHUNKS CEIL_DIV(P, ROWS)
/* Columns that outputs see, and whole vectors of them behind the last. */
#define BUFFER ((Q - 1) * SW + S + (SW + 1) * VEC)
#define COPIED (W < BUFFER - PL ? W : BUFFER - PL) /* of a row */

/* The VEC columns from w of rows [r0, r1), taken together. */
DEVICE PVT rows_at(GLOBAL const ELEM *x, int r0, int r1, int w)
{
    PVT v = P_VLOAD(x + (long)r0 * W + w);

    for (int r = r0 + 1; r < r1; r++)
        v = TAKE(v, P_VLOAD(x + (long)r * W + w));
    return v;
}

DEVICE void take_rows(GLOBAL const ELEM *x, int r0, int r1, P1 *row)
{
#if COPIED >= VEC
    for (int w = 0; w + VEC <= COPIED; w += VEC)
        P_PRIVATE_VSTORE(rows_at(x, r0, r1, w), row + w);
#if COPIED % VEC != 0
    P_PRIVATE_VSTORE(rows_at(x, r0, r1, COPIED - VEC), row + COPIED - VEC);
#endif
#else
    for (int w = 0; w < COPIED; w++) {
        SUM v = NOTHING;

        for (int r = r0; r < r1; r++)
            v = TAKE1(v, LOAD1(x + (long)r * W + w));
        row[w] = v;
    }
#endif
}

/* VEC outputs whose windows begin at `row`. */
DEVICE PVT windows(const P1 *row)
{
    PVT v = P_SET(NOTHING);

#if SW <= 2
    UNROLL_BY(4)
    for (int s = 0; s < S; s++)
#if SW == 1 || VEC == 1
        v = TAKE(v, P_PRIVATE_VLOAD(row + s));
#else
        v = TAKE(v, P_EVEN(P_PRIVATE_VLOAD(row + s), P_PRIVATE_VLOAD(row + s + VEC)));
#endif
#else
    P1 lanes[VEC];

    UNROLL_BY(4)
    for (int s = 0; s < S; s++) {
        UNROLL
        for (int l = 0; l < VEC; l++)
            lanes[l] = row[l * SW + s];
        v = TAKE(v, P_PRIVATE_VLOAD(lanes));
    }
#endif
    return v;
}

KERNEL WG_SIZE(1, 1, 1) pool2d_rows(GLOBAL const ELEM *RESTRICT x, GLOBAL ELEM *RESTRICT y)
{
    const int begin = GRP(0) % CHUNKS * ROWS, end = begin + ROWS < P ? begin + ROWS : P;
    const long plane = GRP(0) / CHUNKS;
    P1 row[BUFFER + VEC];

    for (int i = 0; i < BUFFER + VEC; i++)
        row[i] = NOTHING;
    for (int p = begin; p < end; p++) {
        const int h0 = p * SH - PT, r0 = BEGIN(h0), r1 = END(h0, R, H);
        GLOBAL ELEM *RESTRICT to = y + (plane * P + p) * Q;

        take_rows(x + plane * H * W, r0, r1, row + PL);
#if AVG
        for (int q0 = 0; q0 < Q; q0 += VEC) {
            P1 sums[VEC];

            P_PRIVATE_VSTORE(windows(row + q0 * SW), sums);
            for (int l = 0; l < VEC && q0 + l < Q; l++) {
                const int w0 = (q0 + l) * SW - PL;

                STORE1(to + q0 + l, pooled1(sums[l], (r1 - r0) * (END(w0, S, W) - BEGIN(w0))));
            }
        }
#elif Q >= VEC
        for (int q0 = 0; q0 + VEC <= Q; q0 += VEC)
            P_VSTORE(windows(row + q0 * SW), to + q0);
#if Q % VEC != 0
        P_VSTORE(windows(row + (Q - VEC) * SW), to + Q - VEC);
#endif
#else
        {
            P1 sums[VEC];

            P_PRIVATE_VSTORE(windows(row), sums);
            for (int l = 0; l < Q; l++)
                STORE1(to + l, sums[l]);
        }
#endif
    }
}
