/* SPDX-License-Identifier: MIT */
/* naive.cl - y = a + b, all types and layouts. One sum a work-item: the baseline. No knobs.
 * Launch: local (WG, 1, 1); groups (ceil(N / WG), 1, 1). */
#include "add/add.clh"

#ifndef WG
#define WG 64
#endif

KERNEL WG_SIZE(WG, 1, 1) add_naive(ADD_PARAMS)
{
    const long i = (long)GRP(0) * WG + LID(0);

    if (i < N)
        ADD1(i);
}
