/* SPDX-License-Identifier: MIT */
/* wgmma.cl - CUDA, sm_90a: a convolution in nhwc as an implicit product of matrices by warpgroups (gemm/wgmma_tiles.clh),
 * f16 bf16 i8, u8 where no window reaches beyond the image, one group, all epilogues. Rows of x are output pixels: a tile is BN images x BH rows x BW columns of
 * them, for which the copy engine brings the same box of the input for each tap (r,s) and 128 bytes of channels, zeros
 * outside of the image; y has an output pixel's K channels in a row. wp[K][R][S][channels in whole 128 bytes].
 * Knobs: BN BH BW; the others as in gemm/wgmma.cl. Launch: as there, tiles of MT = BN BH BW pixels by NT channels. */
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) && DT != 0
#include "conv/conv.clh"
#include "gemm/fold_zero.clh"
#ifndef BW
#define BN 1
#define BH 8
#define BW 16
#define NT 128
#define WGS 2
#define STAGES 3
#define CLUSTER 1
#define BAND 8
#define GATHER 0
#define BLOCKS 1
#endif
#define MT (BN * BH * BW)
#define N K
#define C_STEPS CEIL_DIV(C * (int)sizeof(ELEM), 128)
#define C_ELEMS (C_STEPS * 128 / (int)sizeof(ELEM)) /* of a tap of wp */
#define STEPS (R * S * C_STEPS)
#define W_TILES CEIL_DIV(Q, BW)
#define H_TILES CEIL_DIV(P, BH)
#define M_UNITS CEIL_DIV(W_TILES *H_TILES *CEIL_DIV(NB, BN), CLUSTER)
#include "gemm/wgmma.clh"
#define UNITS (M_UNITS * N_TILES)

KERNEL WG_SIZE(128, 1, 1) conv_wgmma_pack(GLOBAL const ELEM *RESTRICT w, GLOBAL ELEM *RESTRICT wp)
{
    const long i = (long)GRP(0) * 128 + LID(0);
    const int c = (int)(i % C_ELEMS), tap = (int)(i / C_ELEMS % (R * S)), k = (int)(i / C_ELEMS / (R * S));

    if (k < K)
        wp[i] = c < C ? w[W_AT(k, c, tap / S, tap % S)] : ELEM();
}

struct PLACE {
    int image, p, q, n; /* first pixel and channel */
};
DEVICE PLACE place_of(int unit)
{
    const TILE tile = tile_of(unit);

    return PLACE{tile.m / (W_TILES * H_TILES) * BN, tile.m / W_TILES % H_TILES * BH, tile.m % W_TILES * BW,
                 tile.n * NT};
}

DEVICE void make_x_map(BYTE *map, BYTE *room, const ELEM *x)
{
    make_image_map(map, room, x, IMAGES{C * (int)sizeof(ELEM), W, H, NB}, IMAGES{128, BW, BH, BN},
                   IMAGES{1, SW, SH, 1});
}
DEVICE void make_w_map(BYTE *map, BYTE *room, const ELEM *wp)
{
    make_map(map, room, wp, K, STEPS * 128, B_BOX);
}

DEVICE void bring_stage(BYTE *to, const BYTE *x_map, const BYTE *w_map, PLACE at, int step, BITS64 *full)
{
    const int tap = step / C_STEPS, b_part = cluster_rank() * B_BOX;
    const int w = at.q * SW - PL + tap % S * DW, h = at.p * SH - PT + tap / S * DH;

    bring_images(to, x_map, IMAGES{step % C_STEPS * 128, w, h, at.image}, full);
    bring_box(to + (MT + b_part) * 128, w_map, step * 128, at.n + b_part, full, true);
}

DEVICE int output_row(PLACE at, int i, bool *in)
{
    const int q = at.q + i % BW, p = at.p + i / BW % BH, image = at.image + i / (BW * BH);

    *in = (Q % BW == 0 || q < Q) && (P % BH == 0 || p < P) &&
          ((NB % BN == 0 && W_TILES * H_TILES * (NB / BN) % CLUSTER == 0) || image < NB);
    return (image * P + p) * Q + q;
}
#include "gemm/wgmma_tiles.clh"
#endif
