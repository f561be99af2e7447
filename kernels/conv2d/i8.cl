/* SPDX-License-Identifier: MIT */
/* i8.cl - y[n,k,p,q] = sum over c,r,s of x[n,c0+c,p*SH+r*DH-PT,q*SW+s*DW-PL] * w[k,c,r,s], int8, or x unsigned with a zero point
 * (UNSIGNED, gemm/fold_zero.clh), with int32 sums, tiles in local memory; all layouts, groups and epilogues. For GPUs. Channels by fours: one product (gemm/dot.clh) multiplies four of an input pixel
 * by four of a weight. CG and KG are multiples of four.
 * x: as stored by 4, 8 or 16 channels, or packed to [n][c/4][h][w][4].
 * Tiles, knobs and launch: conv/strips.clh and strips_ahead.clh, with channels f and c counted by fours; DOT.
 * MATRIX: dense, as one row of M pixels: M_V M_T M_R along it, N_V N_T N_R fours of its features (N_UNIT 1: single ones), K_I fours of
 * k staged.
 * Launch of packing x: local (PACK_WG, 1, 1), groups (ceil(H*W / PACK_RUN), C/4, NB). */
#include "conv/conv.clh"
#include "gemm/dot.clh"
#include "gemm/fold_zero.clh"
#define HELD_TYPE int
#include "gemm/held.clh"
#ifdef MATRIX
#define F_V N_V
#define F_T N_T
#define F_R N_R
#define X_V M_V
#define X_T M_T
#define X_R M_R
#define RC_I K_I
#define I_V 1
#define I_T 1
#define I_R 1
#elif !defined(F_T)
#undef C
#define C 4
#endif
#ifndef N_UNIT
#define N_UNIT 4
#endif
#define F_SIZE (KG / N_UNIT)
#define C_SIZE (CG / 4)
#define UNIT N_UNIT
#define WORD int
#define XLW (XL == 1 ? 1 : XL / 4)

#ifdef FOLDED
#define KNOW_OUTSIDE const int outside = around[FOLD_LINE]
#define OUTSIDE outside
#define OUTSIDE_SUM outside
#else
#define KNOW_OUTSIDE
#endif

/* Four channels of a weight. */
DEVICE int weight_word(GLOBAL const char *w, int k, int c, int r, int s)
{
    int v = 0;

    for (int j = 0; j < 4; j++)
        v |= (int)(uchar)w[W_AT(k, c * 4 + j, r, s)] << (8 * j);
    return v;
}
#define PACK_WORD(to, k, c, r, s) *(to) = weight_word((GLOBAL const char *)w, k, c, r, s)
#define PACK_NONE(to) *(to) = 0
#include "conv/strips.clh"
#include "conv/strips_ahead.clh"

#if XL == 1
KERNEL WG_SIZE(PACK_WG, 1, 1) i8_pack_x(GLOBAL const char *RESTRICT x, GLOBAL int *RESTRICT x4)
{
    const int c = GRP(1) * 4, n = GRP(2);
    GLOBAL const uchar *from = (GLOBAL const uchar *)(x + X_AT(n, c, 0, 0));
    GLOBAL int *to = x4 + (long)(n * (C / 4) + GRP(1)) * H * W;

    PACK_RUN_OF(i, H * W)
        to[i] = (int)from[i] | (int)from[i + H * W] << 8 | (int)from[i + 2 * H * W] << 16 | (int)from[i + 3 * H * W] << 24;
}
#endif

KERNEL WG_SIZE(LX, LY, LZ) conv2d_i8(GLOBAL const int *RESTRICT x, GLOBAL const int *RESTRICT wp, AROUND_PARAM OUT_PARAMS)
{
    KNOW_OUTSIDE;
    STAGES_LOCAL;
    STRIPS_PLACE;
    GLOBAL const int *STEPPED weights = W_FIRST;
    STAGES_HELD;
    int acc[G_V][I_OWN][F_OWN][Y_OWN][X_OWN][N_UNIT];
    KNOW_PIXELS;

    STAGES_CLEAR
    EACH_OUTPUT
    UNROLL
    for (int a = 0; a < N_UNIT; a++)
        acc[g][n][f][i][j][a] = 0;
    STAGES_BEGIN
    for (int step = FIRST_STEP; step < LAST_STEP; step++) {
        STAGE_BEGIN(step)
        LOOP_STAGED
        for (int c = 0; c < RC_I; c++)
            LOOP_STAGED
            for (int r = 0; r < RY_I; r++)
                LOOP_STAGED
                for (int s = 0; s < RX_I; s++)
                    UNROLL
                    for (int g = 0; g < G_V; g++)
                        UNROLL
                        for (int n = 0; n < I_OWN; n++) {
                            LOCAL const int *image = xs + THIS_X + ((OWN(n, I_T, I_R, nt) * G_V + g) * RC_I + c) * IH * IW + r * DH * IW +
                                                     s * DW;

                            UNROLL
                            for (int f = 0; f < F_OWN; f++) {
                                int weight[N_UNIT];

                                LOCAL_GET(N_UNIT,
                                          ws + THIS_W + (((g * RC_I + c) * RY_I + r) * RX_I + s) * W_ROW +
                                              OWN(f, F_T, F_R, ft) * N_UNIT,
                                          weight);
                                UNROLL
                                for (int i = 0; i < Y_OWN; i++)
                                    UNROLL
                                    for (int j = 0; j < X_OWN; j++) {
                                        const int pixel =
                                            image[OWN(i, Y_T, Y_R, yt) * ROW_APART * IW + OWN(j, X_T, X_R, xt) * COLUMN_APART];

                                        UNROLL
                                        for (int a = 0; a < N_UNIT; a++)
                                            acc[g][n][f][i][j][a] = DOT4(pixel, weight[a], acc[g][n][f][i][j][a]);
                                    }
                            }
                        }
        STAGE_END
    }
    EACH_OUTPUT
    {
        OUTPUT_PLACE;
        const int k = (g0 + g) * KG + of * N_UNIT;

        if (image < NB && of < F_SIZE && p < P && q < Q) {
#if VEC == 4
            PUT_YK(Y_AT(image, k, p, q), k, PRIVATE_VLOAD(acc[g][n][f][i][j]));
#else
            UNROLL
            for (int a = 0; a < N_UNIT; a++)
                PUT_Y(Y_AT(image, k + a, p, q), k + a, acc[g][n][f][i][j][a]);
#endif
        }
    }
}
