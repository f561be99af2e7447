/* SPDX-License-Identifier: MIT */
/* naive.cl - y = the channels of a, then those of b, see concat.clh, all types and layouts. One element a work-item: the baseline.
 * No knobs. Launch: local (WG, 1, 1); groups (ceil(N / WG), 1, 1). */
#include "concat/concat.clh"

#ifndef WG
#define WG 64
#endif

KERNEL WG_SIZE(WG, 1, 1) concat_naive(CONCAT_PARAMS)
{
    const long i = (long)GRP(0) * WG + LID(0);
    const int at = (int)(i % (A + B));

    if (i < N)
        y[i] = at < A ? *FROM_A(i, at) : *FROM_B(i, at);
}
