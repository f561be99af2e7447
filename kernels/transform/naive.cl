/* SPDX-License-Identifier: MIT */
/* naive.cl - y = x in another layout, all types: XL and YL channels together. One element a work-item: the baseline. No knobs.
 * Launch: local (WG, 1, 1); groups (ceil(NB*C*H*W / WG), 1, 1). */
#include "conv/conv.clh"
#include "glue/glue.clh"

#ifndef WG
#define WG 64
#endif

KERNEL WG_SIZE(WG, 1, 1) transform_naive(GLOBAL const RAW *RESTRICT x, GLOBAL RAW *RESTRICT y)
{
    const long i = (long)GRP(0) * WG + LID(0);
    const int lane = (int)(i % YL), pixel = (int)(i / YL % (H * W));
    const int channel = (int)(i / YL / (H * W)) * YL + lane; /* of all images */

    if (i < (long)NB * C * H * W)
        y[i] = x[((long)(channel / XL) * (H * W) + pixel) * XL + channel % XL];
}
