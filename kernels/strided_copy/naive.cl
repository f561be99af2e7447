/* SPDX-License-Identifier: MIT */
/* naive.cl - y = elements of x in another order, see strided_copy.clh, all types. One element a work-item: the baseline. No knobs.
 * Launch: local (WG, 1, 1); groups (ceil(ELEMS / WG), 1, 1). */
#include "strided_copy/strided_copy.clh"
#ifndef WG
#define WG 64
#endif

KERNEL WG_SIZE(WG, 1, 1) strided_copy_naive(GLOBAL const RAW *RESTRICT x, GLOBAL RAW *RESTRICT y)
{
    const long i = (long)GRP(0) * WG + LID(0);
    const long r1 = i / L0, r2 = r1 / L1, r3 = r2 / L2, r4 = r3 / L3;

    if (i < ELEMS)
        y[i] = element_at(x, (int)(r4 / L4), (int)(r4 % L4), (int)(r3 % L3), (int)(r2 % L2), (int)(r1 % L1), (int)(i % L0));
}
