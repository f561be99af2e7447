/* SPDX-License-Identifier: MIT */
/* i8.cl - y[n,k,p,q] = sum over c,r,s of x[n,c0+c,p*SH+r*DH-PT,q*SW+s*DW-PL] * w[k,c,r,s], int8 with int32 sums, tiles in local memory;
 * all layouts, groups and epilogues. For GPUs. Channels by fours: one product (gemm/dot.clh) multiplies four of an input pixel
 * by four of a weight. CG and KG are multiples of four.
 * x4: x as stored by 4, 8 or 16 channels, or packed to [n][c/4][h][w][4]; w4[k/4][c/4][r][s][k%4][c%4].
 * Tiles, knobs and launch: conv/strips.clh, with channels f and c counted by fours; DBUF_X DBUF_W the next stage is fetched before
 * this one is used up; DOT.
 * MATRIX: dense, as one row of M pixels: M_V M_T M_R along it, N_V N_T N_R fours of its features (N_UNIT 1: single ones; then
 * w4[k][c/4][c%4]), K_I fours of k staged.
 * Launch of packing: x: local (PACK_WG, 1, 1), groups (ceil(H*W / PACK_RUN), C/4, NB); w: one item a (k/4, c/4). */
#include "conv/conv.clh"
#include "gemm/dot.clh"
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
#ifndef DBUF_X
#define DBUF_X 0
#define DBUF_W 0
#endif
#ifndef N_UNIT
#define N_UNIT 4
#endif
#define C4 (CG / 4)
#define K4 (KG / N_UNIT)
#define F_SIZE K4
#define C_SIZE C4
#include "conv/strips.clh"

#define X4L (XL == 1 ? 4 : XL) /* channels stored together in x4 */
#define X4_AT(n, c, h, w) ((((long)((n) * (C / X4L) + (c) / X4L) * H + (h)) * W + (w)) * (X4L / 4) + (c) % X4L / 4)
#define W_STAGED (G_V * F_TILE * STAGED * N_UNIT)

#if XL == 1
KERNEL WG_SIZE(PACK_WG, 1, 1) i8_pack_x(GLOBAL const char *RESTRICT x, GLOBAL int *RESTRICT x4)
{
    const int c = GRP(1) * 4, n = GRP(2);
    GLOBAL const uchar *from = (GLOBAL const uchar *)(x + X_AT(n, c, 0, 0));
    GLOBAL int *to = x4 + X4_AT(n, c, 0, 0);

    PACK_RUN_OF(i, H * W)
        to[i] = (int)from[i] | (int)from[i + H * W] << 8 | (int)from[i + 2 * H * W] << 16 | (int)from[i + 3 * H * W] << 24;
}
#endif

KERNEL WG_SIZE(1, 1, 1) i8_pack_w(GLOBAL const char *RESTRICT w, GLOBAL int *RESTRICT w4)
{
    const int k = GRP(0) * 4, c = GRP(1) * 4;

    for (int rs = 0; rs < R * S; rs++)
        for (int i = 0; i < 4; i++) {
            int v = 0;

            for (int j = 0; j < 4; j++)
                v |= (int)(uchar)w[W_AT(k + i, c + j, rs / S, rs % S)] << (8 * j);
            w4[(((k + i) / N_UNIT * C4 + GRP(1)) * R * S + rs) * N_UNIT + (k + i) % N_UNIT] = v;
        }
}

/* Four channels of an input pixel: zero outside the image and after the last. */
DEVICE int input_at(GLOBAL const int *x4, int n, int g, int c4, int row, int column)
{
    if (n >= NB || c4 >= C4 || row < 0 || row >= H || column < 0 || column >= W)
        return 0;
    return x4[X4_AT(n, g * CG + c4 * 4, row, column)];
}

DEVICE int weight_at(GLOBAL const int *w4, int g, int f, int i, int c4, int r, int s)
{
    return f < K4 && c4 < C4 && r < R && s < S
               ? w4[((((long)(g * K4 + f) * C4 + c4) * R + r) * S + s) * N_UNIT + i]
               : 0;
}

/* Fetches stage `step` of the input or the weights into the local array `to`. */
#define STAGE_X(to, step)                                                                                              \
    for (int at = item; at < X_STAGED; at += ITEMS) {                                                                  \
        STAGED_PIXEL(at);                                                                                              \
                                                                                                                       \
        (to)[at] = input_at(x4, n0 + n, g0 + g, STEP_C(step) * RC_I + c, p0 * SH + STEP_R(step) * RY_I * DH - PT + i,  \
                            q0 * SW + STEP_S(step) * RX_I * DW - PL + j);                                              \
    }
#define STAGE_W(to, step)                                                                                              \
    for (int at = item; at < W_STAGED; at += ITEMS) {                                                                  \
        const int s = at / N_UNIT % RX_I, r = at / (N_UNIT * RX_I) % RY_I, c = at / (N_UNIT * RX_I * RY_I) % RC_I;     \
        const int f = at / (N_UNIT * STAGED) % F_TILE, g = at / (N_UNIT * STAGED * F_TILE);                            \
                                                                                                                       \
        (to)[at] = weight_at(w4, g0 + g, f0 + f, at % N_UNIT, STEP_C(step) * RC_I + c, STEP_R(step) * RY_I + r,        \
                             STEP_S(step) * RX_I + s);                                                                 \
    }

KERNEL WG_SIZE(LX, LY, LZ) conv2d_i8(GLOBAL const int *RESTRICT x4, GLOBAL const int *RESTRICT w4, OUT_PARAMS)
{
    LOCAL_ARRAY int xs[(1 + DBUF_X) * X_STAGED];
    LOCAL_ARRAY int ws[(1 + DBUF_W) * W_STAGED];
    STRIPS_PLACE;
    int acc[G_V][I_OWN][F_OWN][Y_OWN][X_OWN][N_UNIT];

    POISON_LOCAL(xs, (1 + DBUF_X) * X_STAGED, item, ITEMS);
    POISON_LOCAL(ws, (1 + DBUF_W) * W_STAGED, item, ITEMS);
    EACH_OUTPUT
    UNROLL
    for (int a = 0; a < N_UNIT; a++)
        acc[g][n][f][i][j][a] = 0;
#if DBUF_X
    STAGE_X(xs, FIRST_STEP)
#endif
#if DBUF_W
    STAGE_W(ws, FIRST_STEP)
#endif
    for (int step = FIRST_STEP; step < LAST_STEP; step++) {
#if !DBUF_X
        STAGE_X(xs, step)
#endif
#if !DBUF_W
        STAGE_W(ws, step)
#endif
        BARRIER();
#if DBUF_X
        if (step + 1 < LAST_STEP)
            STAGE_X(xs + (step + 1 - FIRST_STEP) % 2 * X_STAGED, step + 1)
#endif
#if DBUF_W
        if (step + 1 < LAST_STEP)
            STAGE_W(ws + (step + 1 - FIRST_STEP) % 2 * W_STAGED, step + 1)
#endif
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
                            LOCAL const int *image = xs + (step - FIRST_STEP) % (1 + DBUF_X) * X_STAGED +
                                                     ((OWN(n, I_T, I_R, nt) * G_V + g) * RC_I + c) * IH * IW +
                                                     r * DH * IW + s * DW;

                            UNROLL
                            for (int f = 0; f < F_OWN; f++) {
                                LOCAL const int *weight =
                                    ws + (step - FIRST_STEP) % (1 + DBUF_W) * W_STAGED +
                                    ((((g * F_TILE + OWN(f, F_T, F_R, ft)) * RC_I + c) * RY_I + r) * RX_I + s) * N_UNIT;

                                UNROLL
                                for (int i = 0; i < Y_OWN; i++)
                                    UNROLL
                                    for (int j = 0; j < X_OWN; j++) {
                                        const int pixel =
                                            image[OWN(i, Y_T, Y_R, yt) * SH * IW + OWN(j, X_T, X_R, xt) * SW];

                                        UNROLL
                                        for (int a = 0; a < N_UNIT; a++)
                                            acc[g][n][f][i][j][a] = DOT4(pixel, weight[a], acc[g][n][f][i][j][a]);
                                    }
                            }
                        }
#if !(DBUF_X && DBUF_W)
        BARRIER();
#endif
    }
    EACH_OUTPUT
    {
        OUTPUT_PLACE;
        const int k = (g0 + g) * KG + of * N_UNIT;

        if (image < NB && of < K4 && p < P && q < Q) {
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
