/* SPDX-License-Identifier: MIT */
/* spatial_pack.cl - y[n,k,p,q] = sum over c,r,s of x[n,c,p*SH+r*DH-PT,q*SW+s*DW-PL] * w[k,c,r,s], all types, layouts and epilogues.
 * Three kernels: pack x into tiles, convolve tiles, unpack y. A work-item computes VH x VW pixels x VC channels.
 * No dilation: data[n][p/VH][q/VW][c][BH][BW], BH = (VH-1)*SH+R, BW = (VW-1)*SW+S; with dilation [c][r][s][VH][VW] instead.
 * kernel_vec[k/VC][c][r][s][k%VC]; conv[n][k/VC][p/VH][q/VW][p%VH][q%VW][k%VC].
 * Knobs: VC VH VW tile; CO_T OH_T OW_T work-items of a group along k p q; CHW order of the tile's loops (0: vh vw vc, 1: vc vh
 * vw); UNROLL_R UNROLL_S; ANN_VH ANN_VW ANN_VC: 2 the one loop of the three that is a vector, 1 unrolled, 0 not.
 * Launch: packing of x: local (PACK_WG, 1, 1), groups (ceil(tiles / PACK_RUN), C, NB), unpacking: the same with (P*Q, K, NB);
 * conv: local (OW_T, OH_T, CO_T); groups (ceil(QT / OW_T), ceil(PT_ / OH_T), NB * ceil(KT / CO_T)). */
#include "conv/conv.clh"
#ifndef VC
#define VC 4
#define VH 1
#define VW 4
#define CO_T 1
#define OH_T 1
#define OW_T 1
#define CHW 0
#define UNROLL_R 1
#define UNROLL_S 1
#define ANN_VH 1
#define ANN_VW 1
#define ANN_VC 2
#endif

#define KT CEIL_DIV(K, VC)
#define PTS CEIL_DIV(P, VH)
#define QTS CEIL_DIV(Q, VW)
#if DH > 1 || DW > 1
#define TILE (R * S * VH * VW)
#define AT(r, s, i, j) ((((r) * S + (s)) * VH + (i)) * VW + (j))
#else
#define BH ((VH - 1) * SH + R)
#define BW ((VW - 1) * SW + S)
#define TILE (BH * BW)
#define AT(r, s, i, j) (((i) * SH + (r)) * BW + (j) * SW + (s))
#endif
#if UNROLL_R
#define LOOP_R UNROLL
#else
#define LOOP_R
#endif
#if UNROLL_S
#define LOOP_S UNROLL
#else
#define LOOP_S
#endif
#if ANN_VH
#define LOOP_VH UNROLL
#else
#define LOOP_VH
#endif
#if ANN_VW
#define LOOP_VW UNROLL
#else
#define LOOP_VW
#endif
#if ANN_VC == 1
#define LOOP_VC UNROLL
#else
#define LOOP_VC
#endif
/* Vectors of pixels: lane v of vector o of a tile is pixel (LANE_I, LANE_J). */
#if ANN_VH == 2
#define PIXEL_VECTORS VW
#define LOOP_VECTORS LOOP_VW
#define LANE_I(o, v) (v)
#define LANE_J(o, v) (o)
#elif ANN_VW == 2
#define PIXEL_VECTORS VH
#define LOOP_VECTORS LOOP_VH
#define LANE_I(o, v) (o)
#define LANE_J(o, v) (v)
#endif

DEVICE SUM input_at(GLOBAL const ELEM *x, int n, int c, int h, int w)
{
    return h >= 0 && h < H && w >= 0 && w < W ? LOAD1(x + X_AT(n, c, h, w)) : (SUM)0;
}

DEVICE void pack_tile(GLOBAL const ELEM *x, GLOBAL ELEM *data, int n, int c, int pt, int qt)
{
    GLOBAL ELEM *to = data + (long)(((n * PTS + pt) * QTS + qt) * C + c) * TILE;
    const int h0 = pt * VH * SH - PT, w0 = qt * VW * SW - PL;

#if DH > 1 || DW > 1
    for (int r = 0; r < R; r++)
        for (int s = 0; s < S; s++)
            for (int i = 0; i < VH; i++)
                for (int j = 0; j < VW; j++)
                    STORE1(to + AT(r, s, i, j), input_at(x, n, c, h0 + i * SH + r * DH, w0 + j * SW + s * DW));
#else
    for (int a = 0; a < BH; a++)
        for (int b = 0; b < BW; b++)
            STORE1(to + a * BW + b, input_at(x, n, c, h0 + a, w0 + b));
#endif
}

KERNEL WG_SIZE(PACK_WG, 1, 1) spatial_pack_x(GLOBAL const ELEM *RESTRICT x, GLOBAL ELEM *RESTRICT data)
{
    PACK_RUN_OF(i, PTS * QTS)
        pack_tile(x, data, GRP(2), GRP(1), i / QTS, i % QTS);
}

KERNEL WG_SIZE(1, 1, 1) spatial_pack_w(GLOBAL const ELEM *RESTRICT w, GLOBAL ELEM *RESTRICT wp)
{
    const int kt = GRP(0), c = GRP(1);

    for (int rs = 0; rs < R * S; rs++)
        for (int v = 0; v < VC; v++)
            STORE1(wp + ((long)(kt * C + c) * R * S + rs) * VC + v,
                   kt * VC + v < K ? LOAD1(w + ((long)(kt * VC + v) * C + c) * R * S + rs) : (SUM)0);
}

#ifdef PIXEL_VECTORS
/* Vector o of the tile's pixels under window element (r, s). */
DEVICE VT pixels(GLOBAL const ELEM *a, int r, int s, int o)
{
#if ANN_VW == 2 && (SW == 1 || DH > 1 || DW > 1)
    return VLOAD(a + AT(r, s, o, 0));
#else
    SUM lanes[VEC];

    UNROLL
    for (int v = 0; v < VEC; v++)
        lanes[v] = LOAD1(a + AT(r, s, LANE_I(o, v), LANE_J(o, v)));
    return PRIVATE_VLOAD(lanes);
#endif
}
#endif

KERNEL WG_SIZE(OW_T, OH_T, CO_T) spatial_pack(GLOBAL const ELEM *RESTRICT data, GLOBAL const ELEM *RESTRICT wp,
                                              GLOBAL SUM *RESTRICT conv)
{
    const int qt = GRP(0) * OW_T + LID(0), pt = GRP(1) * OH_T + LID(1);
    const int kt = GRP(2) % CEIL_DIV(KT, CO_T) * CO_T + LID(2), n = GRP(2) / CEIL_DIV(KT, CO_T);
    GLOBAL const ELEM *RESTRICT a = data + (long)((n * PTS + pt) * QTS + qt) * C * TILE;
    GLOBAL const ELEM *RESTRICT b = wp + (long)kt * C * R * S * VC;
    GLOBAL SUM *to = conv + (long)(((n * KT + kt) * PTS + pt) * QTS + qt) * VH * VW * VC;
#ifdef PIXEL_VECTORS
    VT acc[PIXEL_VECTORS][VC];
#elif ANN_VC == 2
    VT acc[VH][VW];
#else
    SUM acc[VH][VW][VC];
#endif

    if (qt >= QTS || pt >= PTS || kt >= KT)
        return;
#ifdef PIXEL_VECTORS
    LOOP_VECTORS
    for (int o = 0; o < PIXEL_VECTORS; o++)
        LOOP_VC
        for (int v = 0; v < VC; v++)
            acc[o][v] = VSET(0);
#else
    LOOP_VH
    for (int i = 0; i < VH; i++)
        LOOP_VW
        for (int j = 0; j < VW; j++) {
#if ANN_VC == 2
            acc[i][j] = VSET(0);
#else
            LOOP_VC
            for (int v = 0; v < VC; v++)
                acc[i][j][v] = 0;
#endif
        }
#endif
    for (int c = 0; c < C; c++) {
        LOOP_R
        for (int r = 0; r < R; r++) {
            LOOP_S
            for (int s = 0; s < S; s++) {
#if defined(PIXEL_VECTORS) && CHW
                LOOP_VC
                for (int v = 0; v < VC; v++) {
                    const VT weight = VSET(LOAD1(b + ((c * R + r) * S + s) * VC + v));

                    LOOP_VECTORS
                    for (int o = 0; o < PIXEL_VECTORS; o++)
                        acc[o][v] = VFMA(pixels(a + c * TILE, r, s, o), weight, acc[o][v]);
                }
#elif defined(PIXEL_VECTORS)
                LOOP_VECTORS
                for (int o = 0; o < PIXEL_VECTORS; o++) {
                    const VT x = pixels(a + c * TILE, r, s, o);

                    LOOP_VC
                    for (int v = 0; v < VC; v++)
                        acc[o][v] = VFMA(x, VSET(LOAD1(b + ((c * R + r) * S + s) * VC + v)), acc[o][v]);
                }
#elif ANN_VC == 2
                const VT weight = VLOAD(b + ((c * R + r) * S + s) * VC);

                LOOP_VH
                for (int i = 0; i < VH; i++)
                    LOOP_VW
                    for (int j = 0; j < VW; j++)
                        acc[i][j] = VFMA(VSET(LOAD1(a + c * TILE + AT(r, s, i, j))), weight, acc[i][j]);
#elif CHW
                LOOP_VC
                for (int v = 0; v < VC; v++) {
                    const SUM weight = LOAD1(b + ((c * R + r) * S + s) * VC + v);

                    LOOP_VH
                    for (int i = 0; i < VH; i++)
                        LOOP_VW
                        for (int j = 0; j < VW; j++)
                            acc[i][j][v] = FMA1(LOAD1(a + c * TILE + AT(r, s, i, j)), weight, acc[i][j][v]);
                }
#else
                LOOP_VH
                for (int i = 0; i < VH; i++)
                    LOOP_VW
                    for (int j = 0; j < VW; j++) {
                        const SUM pixel = LOAD1(a + c * TILE + AT(r, s, i, j));

                        LOOP_VC
                        for (int v = 0; v < VC; v++)
                            acc[i][j][v] = FMA1(pixel, LOAD1(b + ((c * R + r) * S + s) * VC + v), acc[i][j][v]);
                    }
#endif
            }
        }
    }
#ifdef PIXEL_VECTORS
    LOOP_VECTORS
    for (int o = 0; o < PIXEL_VECTORS; o++)
        LOOP_VC
        for (int v = 0; v < VC; v++) {
            SUM lanes[VEC];

            PRIVATE_VSTORE(acc[o][v], lanes);
            UNROLL
            for (int lane = 0; lane < VEC; lane++)
                to[(LANE_I(o, lane) * VW + LANE_J(o, lane)) * VC + v] = lanes[lane];
        }
#else
    LOOP_VH
    for (int i = 0; i < VH; i++)
        LOOP_VW
        for (int j = 0; j < VW; j++) {
#if ANN_VC == 2
            SUM_VSTORE(acc[i][j], to + (i * VW + j) * VC);
#else
            LOOP_VC
            for (int v = 0; v < VC; v++)
                to[(i * VW + j) * VC + v] = acc[i][j][v];
#endif
        }
#endif
}

KERNEL WG_SIZE(PACK_WG, 1, 1) spatial_unpack(GLOBAL const SUM *RESTRICT conv, Y_PARAMS)
{
    const int k = GRP(1), n = GRP(2);

    PACK_RUN_OF(i, P * Q)
    {
        const int p = i / Q, q = i % Q;
        const long tile = ((long)(n * KT + k / VC) * PTS + p / VH) * QTS + q / VW;

        STORE_Y(Y_AT(n, k, p, q), k, conv[((tile * VH + p % VH) * VW + q % VW) * VC + k % VC]);
    }
}
