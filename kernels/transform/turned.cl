/* SPDX-License-Identifier: MIT */
/* turned.cl - y = x in another layout, one of which is nhwc, all types: XL and YL channels together (nhwc: C). A group brings TC
 * channels of TP pixels into local memory in the order of x and out of it in the order of y, so that neighbours read and write
 * neighbours. Elements are moved as bits.
 * Knobs: TC, a multiple of the blocks' channels; TP; PAD elements behind a pixel's channels; WG work-items.
 * Launch: local (WG, 1, 1); groups (NB * ceil(C / TC) * ceil(H*W / TP), 1, 1). */
#include "conv/conv.clh"
#include "glue/raw.clh"
#ifndef WG
#define WG 64
#define TC 16
#define TP 16
#define PAD 1
#endif

#define AREA (H * W)
#define TILES_C CEIL_DIV(C, TC)
#define TILES_P CEIL_DIV(AREA, TP)
#define PITCH (TC + PAD)

/* For each element of the tile, in the order of a layout of LN lanes: its channel and pixel of the tile, and its `place` in the
 * image. */
#define EACH_ELEMENT(LN, BODY)                                                                                         \
    for (int i = LID(0); i < TC * TP; i += WG) {                                                                       \
        const int lanes = (LN) < TC ? (LN) : TC;                                                                       \
        const int channel = i / (lanes * TP) * lanes + i % lanes, pixel = i / lanes % TP;                              \
        const int c = c0 + channel, p = p0 + pixel;                                                                    \
        const long place = ((long)(c / (LN)) * AREA + p) * (LN) + c % (LN);                                            \
                                                                                                                       \
        if (c < C && p < AREA)                                                                                         \
            BODY;                                                                                                      \
    }

KERNEL WG_SIZE(WG, 1, 1) transform_turned(GLOBAL const RAW *RESTRICT x, GLOBAL RAW *RESTRICT y)
{
    LOCAL_ARRAY RAW tile[TP * PITCH];
    const int p0 = GRP(0) % TILES_P * TP, c0 = GRP(0) / TILES_P % TILES_C * TC;
    const long image = (long)(GRP(0) / (TILES_P * TILES_C)) * C * AREA;

    EACH_ELEMENT(XL, tile[pixel * PITCH + channel] = x[image + place])
    BARRIER();
    EACH_ELEMENT(YL, y[image + place] = tile[pixel * PITCH + channel])
}
