/* SPDX-License-Identifier: MIT */
/* tile.cl - y = elements of x in another order, see strided_copy.clh, all types. A work-item moves a tile of TA places along the
 * innermost dimension and TB along d1 or, with D2, along d2: the one whose neighbours lie nearest in x. So in a transposition
 * both sides use all of a cache's line; tiles without anything around are moved by loops of known length.
 * Knobs: TA TB; BY_B: the inner loop is along TB, where x is read in order, else along TA, where y is written in order; WG.
 * Launch: local (WG, 1, 1); groups (ceil(TILES / WG), 1, 1). */
#include "strided_copy/strided_copy.clh"
#ifndef TA
#define TA 8
#define TB 8
#define BY_B 0
#define WG 1
#define D2 0
#endif

#if D2
#define LB L2
#define NB_ N2
#define SB S2
#define BB B2
#define YB ((long)L0 * L1) /* elements of y from one to the next along TB */
#define LC L1              /* the dimension between them */
#else
#define LB L1
#define NB_ N1
#define SB S1
#define BB B1
#define YB ((long)L0)
#define LC L2
#endif
#define TILES_A CEIL_DIV(L0, TA)
#define TILES_B CEIL_DIV(LB, TB)
#define TILES ((long)L5 * L4 * L3 * LC * TILES_B * TILES_A)

KERNEL WG_SIZE(WG, 1, 1) strided_copy_tile(GLOBAL const RAW *RESTRICT x, GLOBAL RAW *RESTRICT y)
{
    const long tile = (long)GRP(0) * WG + LID(0);
    const long rb = tile / TILES_A, rc = rb / TILES_B, r3 = rc / LC, r4 = r3 / L3;
    const int a = (int)(tile % TILES_A) * TA, b = (int)(rb % TILES_B) * TB, c = (int)(rc % LC);
    const int i3 = (int)(r3 % L3), i4 = (int)(r4 % L4), i5 = (int)(r4 / L4);
    const int i2 = D2 ? b : c, i1 = D2 ? c : b;

    if (tile < TILES) {
        const int p5 = place_of(i5 - B5, N5), p4 = place_of(i4 - B4, N4), p3 = place_of(i3 - B3, N3);
        const int p2 = place_of(i2 - B2, N2), p1 = place_of(i1 - B1, N1);
        GLOBAL RAW *to = y + ((((long)i5 * L4 + i4) * L3 + i3) * L2 + i2) * L1 * L0 + (long)i1 * L0 + a;

        if (p5 >= 0 && p4 >= 0 && p3 >= 0 && p2 >= 0 && p1 >= 0 && a >= B0 && a + TA <= B0 + N0 && b >= BB &&
            b + TB <= BB + NB_) {
            GLOBAL const RAW *from = x + (AT + (long)p5 * S5 + (long)p4 * S4 + (long)p3 * S3 + (long)p2 * S2 +
                                          (long)p1 * S1 + (long)(a - B0) * S0);
#if BY_B
            for (int i = 0; i < TA; i++)
                for (int j = 0; j < TB; j++)
                    to[j * YB + i] = from[(long)i * S0 + (long)j * SB];
#else
            for (int j = 0; j < TB; j++)
                for (int i = 0; i < TA; i++)
                    to[j * YB + i] = from[(long)i * S0 + (long)j * SB];
#endif
        } else {
            for (int j = 0; j < TB && b + j < LB; j++)
                for (int i = 0; i < TA && a + i < L0; i++)
                    to[j * YB + i] = element_at(x, i5, i4, i3, D2 ? i2 + j : i2, D2 ? i1 : i1 + j, a + i);
        }
    }
}
