/* SPDX-License-Identifier: MIT */
/* naive.cl - see quantize.clh. One element a work-item: the baseline. No knobs.
 * Launch: local (WG, 1, 1); groups (ceil(N / WG), 1, 1). */
#include "quantize/quantize.clh"

#ifndef WG
#define WG 64
#endif

KERNEL WG_SIZE(WG, 1, 1) quantize_naive(QUANTIZE_PARAMS)
{
    const long i = (long)GRP(0) * WG + LID(0);

    if (i < N)
        QUANTIZE1(i);
}
