/* SPDX-License-Identifier: MIT */
/* naive.cl - y[o,i] of x[o,n,i], see reduce.clh. One output a work-item: the baseline. No knobs.
 * Launch: local (WG, 1, 1); groups (ceil(OUTER*INNER / WG), 1, 1). */
#include "reduce/reduce.clh"
#ifndef WG
#define WG 64
#endif

KERNEL WG_SIZE(WG, 1, 1) reduce_naive(GLOBAL const ELEM *RESTRICT x, GLOBAL ELEM *RESTRICT y)
{
    const long i = (long)GRP(0) * WG + LID(0);

    if (i < (long)OUTER * INNER)
        STORE1(y + i, reduced(x + (i / INNER * ((long)N * INNER) + i % INNER), INNER));
}
