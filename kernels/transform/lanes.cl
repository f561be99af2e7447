/* SPDX-License-Identifier: MIT */
/* lanes.cl - y = x in another layout, all types: XL and YL channels together. Elements are moved as bits.
 * nchw to blocks: a work-item loads VEC neighbouring pixels of each of the YL channels of a block, interleaves the vectors
 * in log2(YL) steps and stores VEC * YL neighbouring elements; blocks to nchw: the same backwards. Blocks to larger or
 * smaller blocks: vectors of the smaller one's lanes are moved as they are, VEC of them.
 * Knobs: VEC pixels at a time; RUN times, WG steps apart; WG work-items.
 * Launch: local (WG, 1, 1); groups (NB*C/L * ceil(H*W / (WG*RUN*VEC)), 1, 1), L the larger number of lanes. */
#include "conv/conv.clh"
#include "glue/raw.clh"
#ifndef WG
#define WG 1
#define RUN 4
#endif

#define AREA (H * W)
#if XL > YL /* the larger and the smaller number of lanes */
#define L XL
#define U YL
#else
#define L YL
#define U XL
#endif
#define STEP (WG * VEC)
#define PARTS CEIL_DIV(AREA, STEP *RUN)

/* Pixel `at` of all L channels. x stands at the first of them, y too. */
DEVICE void move_pixel(GLOBAL const RAW *x, GLOBAL RAW *y, int at)
{
    UNROLL
    for (int l = 0; l < L; l++)
        y[((long)(l / YL) * AREA + at) * YL + l % YL] = x[((long)(l / XL) * AREA + at) * XL + l % XL];
}

#if VEC == 1 || U > 1
/* The same for VEC pixels, in pieces of U lanes. */
DEVICE void move_pixels(GLOBAL const RAW *x, GLOBAL RAW *y, int at)
{
    UNROLL
    for (int i = 0; i < VEC; i++)
#if U == 1 && YL > 1
        GATHER(YL, x + at + i, AREA, y + (long)(at + i) * YL);
#elif U == 1
        SCATTER(XL, x + (long)(at + i) * XL, y + at + i, AREA);
#else
        UNROLL
        for (int j = 0; j < L / U; j++)
            MOVE(U, x + ((long)(j * U / XL) * AREA + at + i) * XL + j * U % XL,
                 y + ((long)(j * U / YL) * AREA + at + i) * YL + j * U % YL);
#endif
}
#elif YL > 1
DEVICE void move_pixels(GLOBAL const RAW *x, GLOBAL RAW *y, int at)
{
    RVT v[YL], w[YL];

    UNROLL
    for (int l = 0; l < YL; l++)
        v[l] = RVLOAD(x + (long)l * AREA + at);
    UNROLL
    for (int n = 1; n < YL; n *= 2) {
        UNROLL
        for (int l = 0; l < YL / 2; l++) {
            w[2 * l] = RZIP_LOW(v[l], v[l + YL / 2]);
            w[2 * l + 1] = RZIP_HIGH(v[l], v[l + YL / 2]);
        }
        UNROLL
        for (int l = 0; l < YL; l++)
            v[l] = w[l];
    }
    UNROLL
    for (int l = 0; l < YL; l++)
        RVSTORE(v[l], y + (long)at * YL + l * VEC);
}
#else
DEVICE void move_pixels(GLOBAL const RAW *x, GLOBAL RAW *y, int at)
{
    RVT v[XL], w[XL];

    UNROLL
    for (int l = 0; l < XL; l++)
        v[l] = RVLOAD(x + (long)at * XL + l * VEC);
    UNROLL
    for (int n = 1; n < XL; n *= 2) {
        UNROLL
        for (int l = 0; l < XL / 2; l++) {
            w[l] = REVEN(v[2 * l], v[2 * l + 1]);
            w[l + XL / 2] = RODD(v[2 * l], v[2 * l + 1]);
        }
        UNROLL
        for (int l = 0; l < XL; l++)
            v[l] = w[l];
    }
    UNROLL
    for (int l = 0; l < XL; l++)
        RVSTORE(v[l], y + (long)l * AREA + at);
}
#endif

KERNEL WG_SIZE(WG, 1, 1) transform_lanes(GLOBAL const RAW *RESTRICT x, GLOBAL RAW *RESTRICT y)
{
    const int first = GRP(0) % PARTS * (STEP * RUN) + LID(0) * VEC;
    const long block = (long)(GRP(0) / PARTS) * (L * AREA);

    for (int j = 0; j < RUN; j++) {
        const int at = first + j * STEP;

        if (at + VEC <= AREA) {
            move_pixels(x + block, y + block, at);
        } else {
            for (int i = at; i < AREA; i++)
                move_pixel(x + block, y + block, i);
            return;
        }
    }
}
