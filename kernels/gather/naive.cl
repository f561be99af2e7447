/* SPDX-License-Identifier: MIT */
/* naive.cl - y[o,m,i] = x[o,at[m],i], see gather.clh. One element a work-item: the baseline. No knobs.
 * Launch: local (WG, 1, 1); groups (ceil(OUTER * M * INNER / WG), 1, 1). */
#include "gather/gather.clh"
#ifndef WG
#define WG 64
#endif

KERNEL WG_SIZE(WG, 1, 1)
gather_naive(GLOBAL const RAW *RESTRICT x, GLOBAL const ELEM *RESTRICT at, GLOBAL RAW *RESTRICT y)
{
    const long i = (long)GRP(0) * WG + LID(0);

    if (i < (long)OUTER * M * INNER)
        y[i] = x[row_of(at, i / INNER) + i % INNER];
}
